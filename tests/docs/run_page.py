#!/usr/bin/env python3
"""Follows a page of docs/ as a reader would: runs its commands in an empty folder and compares what they print.

  tests/docs/run_page.py [--folder DIR] [--root] [--replace OLD=NEW]... PAGE.md

Of the page's fenced blocks, in order:
  console  a line that starts with "$ " is a command (it goes on after a backslash at the line's end); the lines after it
           are what it prints, where "..." stands for any text within a line, and alone on a line for any lines. With no
           such lines, the output may be anything. A command fails when its exit status is not 0.
  console root  the same, and only with --root: what changes the whole system
  diff     is applied with `patch -p1`
Other blocks are read only. All commands run in one folder after another as `cd` says; the environment is the caller's.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class PageError(Exception):
    pass


class Step(NamedTuple):
    line: int       # of the page, from 1
    command: str
    expected: list  # lines, or empty for anything
    stdin: str = ""


def dedent(text, indent):
    return [line[len(indent):] if line.startswith(indent) else line for line in text.split("\n")[:-1]]


def console_steps(lines, first_line):
    steps = []
    continued = False
    for number, line in enumerate(lines, first_line):
        if continued:
            steps[-1] = steps[-1]._replace(command=steps[-1].command[:-1] + line.lstrip("> "))
        elif line.startswith("$ "):
            steps.append(Step(number, line[2:], []))
        elif steps:
            steps[-1].expected.append(line)
            continue
        else:
            raise PageError(f"line {number}: a console block begins with a command, '$ ...'")
        continued = steps[-1].command.endswith("\\")
    return steps


def steps_of(page, as_root=False):
    """The commands of a page. Throws PageError for a block that cannot be followed."""
    steps = []
    for match in FENCE.finditer(page):
        first_line = page.count("\n", 0, match.start()) + 2
        indent, language, text = match.groups()
        if language == "console" or (language == "console root" and as_root):
            steps += console_steps(dedent(text, indent), first_line)
        elif language == "diff":
            steps.append(Step(first_line, "patch -p1", [], "\n".join(dedent(text, indent)) + "\n"))
    return steps


def matches(expected, printed):
    """Whether what was printed (lines) is what the page shows (lines with "...")."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def follow(page_text, folder, as_root=False):
    """Runs all steps. Throws PageError for the first that does something else than the page says."""
    where = str(folder)
    steps = steps_of(page_text, as_root)
    if not steps:
        raise PageError("the page has no commands")
    for step in steps:
        with tempfile.NamedTemporaryFile("r") as place:
            script = f"cd -- '{where}' || exit 125\n{step.command}\nstatus=$?\npwd > '{place.name}'\nexit $status\n"
            done = subprocess.run(["bash", "-c", script], input=step.stdin, text=True, timeout=900,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            where = place.read().rstrip("\n") or where
        print(f"$ {step.command}\n{done.stdout}", end="", flush=True)
        if done.returncode != 0:
            raise PageError(f"line {step.line}: `{step.command}` ended with {done.returncode}")
        if step.expected and not matches(step.expected, done.stdout.rstrip("\n").split("\n")):
            raise PageError(f"line {step.line}: `{step.command}` printed something else than the page's\n"
                            + "\n".join(step.expected))
    return len(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, help="where to run; must be empty; default: a temporary one")
    parser.add_argument("--root", action="store_true", help="also run the blocks that change the system")
    parser.add_argument("--replace", action="append", default=[], metavar="OLD=NEW",
                        help="in all blocks: for an installation in another place than the page's")
    arguments = parser.parse_args()
    page = arguments.page.read_text()
    for old, _, new in (replacement.partition("=") for replacement in arguments.replace):
        page = page.replace(old, new)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            sys.exit(f"error: {folder} is not empty")
        try:
            count = follow(page, folder.resolve(), arguments.root)
        except PageError as error:
            sys.exit(f"error: {arguments.page}: {error}")
    print(f"{arguments.page}: {count} commands did what the page says")


if __name__ == "__main__":
    main()
