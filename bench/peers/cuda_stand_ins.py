#!/usr/bin/env python3
"""cuda_stand_ins.py TORCH_LIB_FOLDER: lets PyTorch's Linux wheel load on a machine without CUDA.

The wheel links some gigabytes of CUDA libraries that no processor benchmark ever calls, and the loader wants them
nevertheless. For each that is missing this puts a shared library of the same name beside torch's own, whose functions
end the process when they are called: nothing can quietly run in them.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def missing_of(libraries):
    missing = set()
    for library in libraries:
        for line in lines_of("ldd", library):
            match = re.match(r"\s*(\S+) => not found", line)
            if match:
                missing.add(match.group(1))
    return missing


def undefined_of(libraries):
    """(symbol, version or "") that some library wants and none of them defines."""
    wanted, defined = set(), set()
    for library in libraries:
        for line in lines_of("nm", "-D", library):
            match = re.match(r"(?:[0-9a-f]+)?\s+(\w) (\S+)$", line)
            if not match:
                continue
            name, _, version = match.group(2).partition("@")
            if match.group(1) == "U":
                wanted.add((name, version.lstrip("@")))
            elif match.group(1) not in "wv":
                defined.add(name)
    return {(name, version) for name, version in wanted if name not in defined}


def versions_of(libraries):
    """Version -> the file that has to define it."""
    versions, file = {}, ""
    for library in libraries:
        for line in lines_of("readelf", "-W", "-V", library):
            match = re.search(r"File: (\S+)", line)
            if match:
                file = match.group(1)
            match = re.search(r"Name: (\S+)\s+Flags: \S+\s+Version", line)
            if match:
                versions[match.group(1)] = file
    return versions


def build(folder, name, symbols):
    """symbols: version -> names; "" is no version."""
    with tempfile.TemporaryDirectory() as scratch:
        source, script = pathlib.Path(scratch, "stand_in.c"), pathlib.Path(scratch, "versions")
        names = sorted(set().union(*symbols.values())) if symbols else []
        source.write_text("#include <stdlib.h>\n" + "".join(f"void {each}(void) {{ abort(); }}\n" for each in names))
        command = ["cc", "-shared", "-fPIC", "-O0", "-w", "-fno-builtin", f"-Wl,-soname,{name}", "-o", folder / name, source]
        versioned = {version: each for version, each in symbols.items() if version}
        if versioned:
            script.write_text("".join(f"{version} {{ global: {'; '.join(sorted(each))}; }};\n"
                                      for version, each in sorted(versioned.items()) if each))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = [file for file in sorted(folder.glob("*.so*")) if not file.is_symlink()]
    missing = missing_of(libraries)
    if not missing:
        print("cuda stand-ins: none needed")
        return
    versions = versions_of(libraries)
    symbols = collections.defaultdict(lambda: collections.defaultdict(set))
    for name, version in undefined_of(libraries):
        file = versions.get(version, "") if version else ""
        if file in missing:
            symbols[file][version].add(name)
        elif not version and re.match(r"(cu|nccl|nv|Nv)", name):
            for each in missing:  # whose it is cannot be told
                symbols[each][""].add(name)
    for name in sorted(missing):
        build(folder, name, symbols.get(name, {}))
    print(f"cuda stand-ins: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()
