#!/usr/bin/env python3
"""RLtools on its own Pendulum, compiled for this machine with OpenBLAS: SAC 10 k and PPO 300 k steps, its own settings.

SAC: the Python package's defaults, two layers of 64, batches of 100. PPO: rl/zoo/pendulum-v1/ppo.h of RLtools, 4 environments x
1,024 steps, two epochs in batches of 256. RLtools compiles with -O3 -march=native -ffast-math; compiling is not timed.
"""
import pathlib
import tempfile

from learning_clock import Clock, LONG, options, report

CHOSEN = options(__doc__, ("sac", "ppo"))

import rltools  # noqa: E402  after the variables that OpenBLAS reads

ENVIRONMENT = """
#include <rl_tools/rl/environments/pendulum/operations_cpu.h>
template <typename T, typename TI>
using ENVIRONMENT_FACTORY = rl_tools::rl::environments::Pendulum<rl_tools::rl::environments::pendulum::Specification<T, TI>>;
"""


def compiled():
    # A folder that stays the same, for the compiler's command is what the package's cache knows a build by.
    folder = pathlib.Path(tempfile.gettempdir(), "thrust_bench_rltools_pendulum")
    folder.mkdir(exist_ok=True)
    (folder / "environment.h").write_text(ENVIRONMENT)
    environment = {"path": str(folder), "observation_dim": 3, "action_dim": 1}
    if CHOSEN.algorithm == "sac":
        steps = CHOSEN.steps or 10_000
        return steps, rltools.SAC(environment, STEP_LIMIT=steps, enable_evaluation=False, force_blas=True,
                                  interface_name=f"pendulum_{steps}")
    rollouts = (CHOSEN.steps or 300_000) // 4096 + (1 if not CHOSEN.steps else 0)
    return rollouts * 4096, rltools.PPO(
        environment, STEP_LIMIT=rollouts, N_ENVIRONMENTS=4, ON_POLICY_RUNNER_STEPS_PER_ENV=1024, BATCH_SIZE=256,
        N_EPOCHS=2, GAMMA=0.95, ACTION_ENTROPY_COEFFICIENT=1.0, enable_evaluation=False, force_blas=True,
        interface_name=f"pendulum_{rollouts}")


def mean_return(state, episodes):
    import gymnasium
    import numpy
    env, total = gymnasium.make("Pendulum-v1"), 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1_000_000 + episode)
        cut = False
        while not cut:
            action = numpy.clip(state.action(observation.astype(numpy.float32)), -1, 1)
            observation, reward, _, cut, _ = env.step(2.0 * numpy.asarray(action, numpy.float32).reshape(1))
            total += reward
    return total / episodes


def main():
    import contextlib
    import sys
    with contextlib.redirect_stdout(sys.stderr):
        steps, module = compiled()
        state = module.State(CHOSEN.seed)
        clock = Clock()
        clock.start()
        while not state.step():
            pass
        clock.stop()
        final = mean_return(state, LONG)
    import importlib.metadata
    report(f"{CHOSEN.algorithm}_pendulum_rltools", "rltools", CHOSEN, clock, steps, final=final,
           versions=f"rltools {importlib.metadata.version('rltools')}")


if __name__ == "__main__":
    main()
