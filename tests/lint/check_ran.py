#!/usr/bin/env python3
"""check_ran.py JUNIT_FILE LABEL: fails when CTest ran none of a label's tests, or skipped them all.

A run in which everything was skipped is green for CTest; for us it is a run that proved nothing.
"""
import sys
import xml.etree.ElementTree as ElementTree


def main():
    path, label = sys.argv[1:]
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    if not any(case.get("status") in ("run", "fail") for case in cases):
        print(f"error: of {len(cases)} tests labelled {label} not one ran", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
