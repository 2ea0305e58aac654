#!/usr/bin/env python3
"""mutant_test.py whole|parts SUITE PLUGIN REFERENCE OP SAYS [ALSO...]: the suite blames OP.

OP is an operation, or contract/CASE. `parts`: all cases of OP and ALSO, and every operation on small and on special values.
Of the rows of the table no other than OP and ALSO may have failures; programs and the contract are not looked at when OP
is an operation, since they use it."""
import json
import subprocess
import sys


def main():
    extent, suite, plugin, reference, op, says, *also = sys.argv[1:]
    command = [suite, "--plugin", plugin, "--reference", reference, "--jobs", "2", "--json"]
    if extent == "parts":
        for name in ("*/shapes", "*/special", *(name if "/" in name else name + "/*" for name in (op, *also))):
            command += ["--filter", name]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 1:
        print(f"the suite exits with {run.returncode}, expected 1\n{run.stderr}")
        return 1
    failed = [case for case in json.loads(run.stdout)["cases"] if case["result"] == "failed"]
    ops = sorted({case["area"] for case in failed if case["dtype"]})
    named = {*ops, *(case["name"] for case in failed)}
    print(f"{len(failed)} cases failed; ops: {' '.join(ops) or 'none'}")
    for case in failed[:10]:
        print(f"  {case['name']}: {case['detail'][:200]}")
    problems = [] if op in named else [f"{op} is not among the failures"]
    if not any(says in case["detail"] for case in failed if op in (case["area"], case["name"])):
        problems.append(f"no failure of {op} says '{says}'")
    problems += [f"{other} is blamed for a fault of {op}" for other in ops if other not in (op, *also)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
