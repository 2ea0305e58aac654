#!/usr/bin/env python3
"""Checks what compilers and clang-format do not: who includes whom, sizes, dead code, names, headers that stand alone.

  tests/lint/check_tree.py [--no-headers] [--compiler g++] [--compile-commands FILE] [ROOT]

Prints `FILE:LINE: RULE: what is wrong`, one a line; warnings do not fail. check_tree_test.py has a bad example of each.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

CODE = {".c", ".h", ".cpp", ".hpp", ".def"}
TEXT = CODE | {".py", ".sh", ".cmake", ".md", ".json", ".map"}
SKIPPED_FOLDERS = {".git", "build", "runs", ".cache", ".venv", "__pycache__"}
DATA = "tests/data/"  # recorded by other programs, with their own habits

# Who may include whom; a folder that is not here (tests, examples) may include everything. The conformance suite
# is given to authors with the sdk, and is a host: it builds programs with core.
MAY_INCLUDE = {
    "sdk/conformance": {"sdk/conformance", "core", "sdk"},
    "sdk": {"sdk"},
    "plugins": {"plugins", "sdk"},
    "core": {"core", "sdk"},
    "rl": {"rl", "core", "sdk"},
    "bench": {"bench", "rl", "core", "sdk"},
    "cli": {"cli", "bench", "rl", "core", "sdk", "sdk/conformance"},
}
# The part of sdk that the host's side shares; thrt/sdk/ is for plugins.
HOST_SDK = re.compile(r"^thrt/(abi\.h|describe\.h|philox\.h|ops\.def|ir/.+)$")
HOST = {"core", "rl", "bench", "cli", "sdk/conformance"}

MAX_FILE, WARN_FILE, MAX_FUNCTION = 800, 500, 150
EXPLAINS_LENGTH = re.compile(r"long because", re.IGNORECASE)
BAD_STEMS = {"util", "utils", "helper", "helpers", "common", "manager", "misc"}
BAD_WORDS = [
    (re.compile(r"\bnamespace\s+(\w+::)*thrust\b|\bthrust::"), "NVIDIA's library has the namespace thrust; ours is thrt"),
    (re.compile(r"#\s*define\s+THRUST_"), "NVIDIA's library has the prefix THRUST_ for macros; ours is THRT_"),
    (re.compile(r"#\s*if\s+0\b"), "code switched off by #if 0"),
]
UNOWNED = re.compile(r"\b(TODO|FIXME|XXX)\b")
# A line of a // comment that is a statement, not prose.
DEAD_CODE = re.compile(
    r"^(?:(?:return\b|(?:if|for|while|switch)\s*\(|else\b|do\b).*[;{]"
    r"|[\w:<>,*&\s]*\w\s*(?:\[[^\]]*\])?\s*[-+*/|&^]?=[^=].*;"
    r"|(?:[\w:]+(?:\.|->))*[\w:]+\([^()]*(?:\([^()]*\)[^()]*)*\);"
    r"|(?:[\w:<>]+[*&]?\s+)?[\w:]+\(.*\)\s*(?:const\s*)?(?:noexcept\s*)?\{"
    r"|#\s*(?:include|define|if|ifdef|ifndef|endif)\b.*"
    r"|[{}]+;?)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MISSING_INCLUDE = re.compile(r"fatal error: ['\"]?([^'\":]+)['\"]?(?:: No such file| file not found)")


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str
    fails: bool = True

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}{'' if self.fails else ' (warning)'}: {self.text}"


def files_of(root):
    """All files below root, relative with forward slashes, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        found += [pathlib.Path(folder, name).relative_to(root).as_posix() for name in names]
    return sorted(found)


def without_comments(text, keep_strings=False):
    """The text with comments, and by default the insides of strings, blanked; lines stay where they are."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)

    def blank(match):
        token = match.group(0)
        if token[0] != "/":
            return token if keep_strings else '""' + "\n" * token.count("\n")
        return "\n" * token.count("\n") + " "

    return pattern.sub(blank, text)


# ------------------------------------------------------------------------------------------------- who includes whom

def layer_of(path):
    """The folder of MAY_INCLUDE that a file belongs to, or its top folder."""
    parts = path.split("/")
    two = "/".join(parts[:2])
    return two if two in MAY_INCLUDE else parts[0]


class Includes:
    def __init__(self, files):
        self.files = set(files)
        self.public = {}  # "thrt/abi.h" -> "sdk/include/thrt/abi.h"
        for path in files:
            parts = path.split("/")
            if "include" in parts[:-1] and layer_of(path) in MAY_INCLUDE:
                self.public["/".join(parts[parts.index("include") + 1:])] = path

    def resolve(self, source, name):
        """The file of this tree that an include means, or None for one of another project."""
        top = layer_of(source)
        for base in (os.path.dirname(source), "", top):
            candidate = os.path.normpath(os.path.join(base, name))
            if candidate in self.files:
                return candidate
        return self.public.get(name)

    def check(self, source, text):
        top = layer_of(source)
        if top not in MAY_INCLUDE:
            return
        for number, line in enumerate(without_comments(text, keep_strings=True).split("\n"), 1):
            match = INCLUDE.match(line)
            target = match and self.resolve(source, match.group(2))
            if not target:
                continue
            name, target_top = match.group(2), layer_of(target)
            if target_top not in MAY_INCLUDE[top]:
                allowed = ", ".join(sorted(MAY_INCLUDE[top]))
                yield Finding(source, number, "include", f"{top} may not include {name} of {target_top}, only {allowed}")
            elif target_top == "sdk" and top in HOST and not HOST_SDK.match(name):
                yield Finding(source, number, "include", f"{name} is for plugins; {top} shares only abi.h, describe.h, philox.h, ir/")
            elif top == "plugins" and target_top == top and source.split("/")[1] != target.split("/")[1]:
                yield Finding(source, number, "include", f"{name} belongs to another plugin")
            elif target_top != top and target not in self.public.values():
                yield Finding(source, number, "include", f"{name} is private to {target_top}")


# ---------------------------------------------------------------------------------------------------- sizes and shape

SCOPE = re.compile(r"^(?:export\s+)?(?:inline\s+)?namespace\b|^extern\s*\"\"$|\b(?:class|struct|union|enum)\b(?!.*\)\s*$)")


def functions_of(text):
    """(first line, lines) of each brace block that is a function: one whose parents are namespaces and classes only."""
    code = without_comments(text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.MULTILINE)
    stack, head, line = [], [], 1  # stack: (is a scope, first line)
    for char in code:
        if char == "\n":
            line += 1
        if char == "{":
            # Template parameters hide the word class; what an initialiser holds is no code.
            words = re.sub(r"template\s*<[^{};]*?>(?=\s*[\w:\[~])", "", "".join(head)).strip()
            outer = all(scope for scope, _ in stack)
            is_scope = outer and bool(SCOPE.search(words)) and "(" not in re.sub(r"(alignas|__attribute__)\s*\(.*?\)", "", words)
            is_table = outer and re.search(r"(?<!operator)=\s*$", words) is not None
            stack.append((is_scope or (None if is_table else False), line))
            head = []
        elif char == "}":
            if stack:
                kind, first = stack.pop()
                if kind is False and all(scope for scope, _ in stack):
                    yield first, line - first + 1
            head = []
        elif char == ";":
            head = []
        else:
            head.append(char)


def check_sizes(path, text):
    lines = text.count("\n")
    if lines > MAX_FILE:
        yield Finding(path, 1, "size", f"{lines} lines; split it, {MAX_FILE} is the most")
    elif lines > WARN_FILE and not EXPLAINS_LENGTH.search("\n".join(text.split("\n")[:25])):
        yield Finding(path, 1, "size", f"{lines} lines; split it, or say at its top 'long because ...'", fails=False)
    if not path.endswith(".def"):
        for first, length in functions_of(text):
            if length > MAX_FUNCTION:
                yield Finding(path, first, "function", f"{length} lines; split it, {MAX_FUNCTION} is the most")


# ------------------------------------------------------------------------------------------------------ text and names

def check_text(path, text):
    if "\r" in text:
        yield Finding(path, 1, "text", "carriage returns")
    if text and not text.endswith("\n"):
        yield Finding(path, text.count("\n") + 1, "text", "no newline at the end")
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield Finding(path, number, "text", "white space at the end of the line")
        if "\t" in line:
            yield Finding(path, number, "text", "a tab")


def check_names(path):
    word = re.split(r"[_\-]", pathlib.PurePosixPath(path).stem.lower())[-1]  # common_subexpression is fine
    if word in BAD_STEMS:
        yield Finding(path, 1, "name", f"'{word}' says nothing about what is in the file")


def check_code(path, text):
    for number, line in enumerate(without_comments(text, keep_strings=True).split("\n"), 1):
        plain = without_comments(line)
        for pattern, why in BAD_WORDS:
            if pattern.search(plain):
                yield Finding(path, number, "word", why)
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"^\s*//+(\s*)(.*?)\s*$", line)
        # Indented comments of a header are examples of its use.
        example = comment and path.endswith((".h", ".hpp")) and len(comment.group(1)) >= 3
        if comment and not example and DEAD_CODE.match(comment.group(2)):
            yield Finding(path, number, "dead code", f"'{comment.group(2)}' is commented out: delete it")
        if UNOWNED.search(line):
            yield Finding(path, number, "word", "open work belongs in docs/roadmap.md, not in code")
    if path.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield Finding(path, 1, "header", "no #pragma once")


# ----------------------------------------------------------------------------------------------- headers that stand alone

def system_includes(compile_commands):
    """-isystem folders and -I folders outside the tree that the build found for other projects' headers."""
    flags = set()
    for entry in json.loads(pathlib.Path(compile_commands).read_text()):
        words = entry["command"].split()
        flags |= {words[i + 1] for i, word in enumerate(words[:-1]) if word == "-isystem"}
    return sorted(flags)


def compile_header(root, path, compiler, system):
    """(finding or None, what it needs that is not here or None)"""
    top = layer_of(path)
    owners = sorted(set(MAY_INCLUDE) | {top})
    includes = [f"-I{root / owner / 'include'}" for owner in owners if (root / owner / "include").is_dir()]
    includes += [f"-I{folder}" for folder in (root, root / top, (root / path).parent)]
    if top == "plugins":
        includes.append(f"-I{root.joinpath(*path.split('/')[:2])}")
    for folder in system:
        includes += ["-isystem", folder]
    command = [compiler, "-x", "c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
               '-DTHRT_TEST_DATA=""', '-DTHRT_BUILD_DIR=""', '-DTHRT_TEST_CXX=""', *includes, "-"]
    done = subprocess.run(command, input=f'#include "{root / path}"\n', capture_output=True, text=True)
    if done.returncode == 0:
        return None, None
    missing = MISSING_INCLUDE.search(done.stderr)
    if missing and not missing.group(1).startswith("thrt/") and not (root / missing.group(1)).exists():
        return None, missing.group(1)
    own = re.search(r"#error (.*)", done.stderr)
    if own:  # one that is compiled several ways says so itself
        return None, own.group(1)
    first = next((line for line in done.stderr.split("\n") if "error" in line), done.stderr[:200])
    return Finding(path, 1, "header", f"does not compile alone: {first}"), None


def check_headers(root, files, compiler, system):
    headers = [path for path in files if path.endswith((".h", ".hpp")) and not path.startswith(DATA)]
    skipped = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda path: compile_header(root, path, compiler, system), headers))
    for path, (finding, missing) in zip(headers, results):
        if finding:
            yield finding
        if missing:
            skipped.append(path)
            print(f"{path}: not compiled alone, needs: {missing}")
    if headers and len(skipped) == len(headers):
        yield Finding(".", 1, "header", "not one header could be compiled")


# ------------------------------------------------------------------------------------------------------------------- main

def check_tree(root, compiler=None, system=()):
    root = pathlib.Path(root).resolve()
    files = files_of(root)
    includes = Includes(files)
    findings = []
    for path in files:
        suffix = pathlib.PurePosixPath(path).suffix
        if path.startswith(DATA) or (suffix not in TEXT and path.split("/")[-1] != "CMakeLists.txt"):
            continue
        text = (root / path).read_bytes().decode("utf-8", errors="replace")
        findings += [*check_text(path, text), *check_names(path)]
        if suffix in CODE:
            findings += [*includes.check(path, text), *check_sizes(path, text), *check_code(path, text)]
    if compiler:
        findings += check_headers(root, files, compiler, list(system))
    return findings, len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--compiler", default="c++", help="compiles each header alone (default: %(default)s)")
    parser.add_argument("--compile-commands", help="a build's compile_commands.json, for other projects' include folders")
    parser.add_argument("--no-headers", action="store_true", help="do not compile the headers")
    options = parser.parse_args()
    system = system_includes(options.compile_commands) if options.compile_commands else []
    findings, count = check_tree(options.root, None if options.no_headers else options.compiler, system)
    for finding in findings:
        print(finding)
    failures = sum(finding.fails for finding in findings)
    print(f"check_tree: {count} files, {failures} failures, {len(findings) - failures} warnings")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
