#!/usr/bin/env python3
"""cli_page_test.py THRUST PAGE: docs/cli.md names every command and option of the binary, and none that it lacks."""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
COMMANDS = ("backends", "train", "eval", "bench", "program", "conformance", "version")


def help_of(binary, *command):
    return subprocess.run([binary, *command, "--help"], check=True, capture_output=True, text=True).stdout


def section_of(page, command):
    """The page from the heading that names the command to the next heading of that level."""
    match = re.search(rf"^## `thrust {command}\b.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return match.group(0) if match else ""


def hyper_parameter_problems(binary, section):
    """The column that says which algorithms an option is of, against what the help of each algorithm lists."""
    algorithms = ("ppo", "a2c", "dqn", "sac")
    offered = {name: set(OPTION.findall(help_of(binary, "train", name))) for name in algorithms}
    rows = re.findall(r"^\| (`--[^|]*`) \| (all|`[^|]*`) \| [^|]+ \|$", section, re.MULTILINE)
    problems = [] if len(rows) > 20 else [f"the table of hyper-parameters was not understood: {rows}"]
    for options, of in rows:
        described = set(algorithms) if of == "all" else set(re.findall(r"`([a-z0-9]+)`", of))
        for option in OPTION.findall(options):
            real = {name for name in algorithms if option in offered[name]}
            if real != described:
                problems.append(f"{option} is of {sorted(real)}, not of {sorted(described)}")
    return problems


def main():
    binary, page_file = sys.argv[1:]
    page = pathlib.Path(page_file).read_text(encoding="utf-8")
    problems = []
    for command in COMMANDS:
        offered = set(OPTION.findall(help_of(binary, command))) - {"--help"}
        described = set(OPTION.findall(section_of(page, command)))
        if command == "train" and len(offered) < 20:
            problems.append(f"the help of train was not understood: {sorted(offered)}")
        if command == "train":
            problems += hyper_parameter_problems(binary, section_of(page, command))
        problems += [f"thrust {command}: {name} is not described" for name in sorted(offered - described)]
        problems += [f"thrust {command}: there is no {name}" for name in sorted(described - offered - {"--help"})]
    for problem in problems:
        print(f"{page_file}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
