#!/usr/bin/env python3
"""Records Pendulum-v1 of Gymnasium, for tests/rl/env/pendulum_test.cpp.

    pip install gymnasium numpy mpmath
    python record.py > pendulum.txt

As for CartPole (../cartpole/record.py), a recording is kept only if at each angle it visits the C library's sine and
cosine are the correctly rounded ones, which makes it the same on every machine with a decent libm; torques are drawn
until that holds.

Numbers are the raw bits in hexadecimal: 16 digits a float64, 8 digits a float32. A line `recording NAME seed S`, then
`start theta theta_dot` after a reset (only the first is seeded) and
`step torque reward truncated theta theta_dot cos sin speed`: torque, reward and observation float32, the state float64.
"""
import platform

import gymnasium as gym
import mpmath
import numpy as np

mpmath.mp.prec = 200


def bits64(values):
    return " ".join(f"{v:016x}" for v in np.asarray(values, np.float64).view(np.uint64).tolist())


def bits32(values):
    return " ".join(f"{v:08x}" for v in np.atleast_1d(np.asarray(values, np.float32)).view(np.uint32).tolist())


def rounds_well(angle):
    a = mpmath.mpf(angle)
    return np.sin(np.float64(angle)) == float(mpmath.sin(a)) and np.cos(np.float64(angle)) == float(mpmath.cos(a))


def record(seed, key, torque_of, steps):
    env = gym.make("Pendulum-v1")
    rng = np.random.default_rng(key)
    env.reset(seed=seed)
    lines = [f"start {bits64(env.unwrapped.state)}"]
    for step in range(steps):
        if not rounds_well(float(env.unwrapped.state[0])):
            return None
        torque = np.array([torque_of(rng, step, env.unwrapped.state)], np.float32)
        observation, reward, terminated, truncated, _ = env.step(torque)
        assert not terminated
        lines.append(f"step {bits32(torque)} {bits32(np.float32(reward))} {int(truncated)} "
                     f"{bits64(env.unwrapped.state)} {bits32(observation)}")
        if truncated:
            env.reset()
            lines.append(f"start {bits64(env.unwrapped.state)}")
    return lines


POLICIES = {
    "random": lambda rng, step, state: rng.uniform(-2.0, 2.0),
    "beyond": lambda rng, step, state: rng.uniform(-5.0, 5.0),  # mostly clipped
    "spin": lambda rng, step, state: 2.0 * np.sign(state[1]) * rng.uniform(0.9, 1.0),  # many turns either way
}

print(f"# Pendulum-v1, recorded by record.py with gymnasium {gym.__version__}, numpy {np.__version__}, "
      f"{' '.join(platform.libc_ver())}, {platform.machine()}, Python {platform.python_version()}")
for name, seeds in [("random", (0, 42, 2**40 + 7)), ("beyond", (1, 2)), ("spin", (3, 4, 5, 6))]:
    for seed in seeds:
        lines = next(filter(None, (record(seed, key, POLICIES[name], 250) for key in range(2000))))
        print(f"recording {name} seed {seed}")
        print("\n".join(lines))
