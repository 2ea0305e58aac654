"""What the learning runs share: threads pinned before anything is imported, a clock that stops for evaluations."""
import argparse
import json
import os
import time

MARK = 475.0
EVALUATIONS = 50  # in a run, until one is over the mark
SHORT, LONG = 10, 100  # episodes of an evaluation on the way, and of the last


def options(description, algorithms=None):
    parser = argparse.ArgumentParser(description=description)
    if algorithms:
        parser.add_argument("algorithm", choices=algorithms)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="another budget than the published one")
    chosen = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(chosen.threads)
    return chosen


class Clock:
    def __init__(self):
        self.seconds, self._since = 0.0, None

    def start(self):
        self._since = time.perf_counter()

    def stop(self):
        self.seconds += time.perf_counter() - self._since
        self._since = None


class Marks:
    """When an evaluation first reached MARK. `evaluate(episodes)` gives a mean return; it is not timed."""

    def __init__(self, clock, evaluate, total):
        self.clock, self.evaluate, self.every = clock, evaluate, max(1, total // EVALUATIONS)
        self.step = self.seconds = None
        self._next = self.every

    def at(self, step):
        if self.step is not None or step < self._next:
            return
        self._next = step + self.every
        self.clock.stop()
        if self.evaluate(SHORT) >= MARK:
            self.step, self.seconds = step, self.clock.seconds
        self.clock.start()


def report(work, system, chosen, clock, steps, marks=None, final=None, **more):
    print(json.dumps({"work": work, "system": system, "threads": chosen.threads, "seed": chosen.seed,
                      "seconds": clock.seconds, "steps": steps, "mark": MARK if marks else None,
                      "mark_step": marks.step if marks else None, "mark_seconds": marks.seconds if marks else None,
                      "final_return": final, **more}))
