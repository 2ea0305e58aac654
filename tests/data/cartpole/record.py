#!/usr/bin/env python3
"""Records CartPole-v1 of Gymnasium, for tests/rl/env/cartpole_test.cpp.

    pip install gymnasium numpy mpmath
    python record.py FOLDER          writes FOLDER/scalar.txt and FOLDER/vector.txt
    python record.py --verify FOLDER replays them, exit code 1 when a bit differs

Gymnasium calls numpy's sin and cos of a float64, and numpy calls the C library's. Those are not correctly rounded:
glibc 2.36 is off by a bit for 0.3 % of the angles in [-0.25, 0.25] (sin; cos 0.02 %), and for other angles on a
processor without FMA, so Gymnasium itself gives other bits on other machines. A recording is therefore kept only if
at each angle it visits the C library, the C library told to do without FMA, and the correctly rounded value agree;
action sequences are drawn until that holds. What is left is the same on every machine with a decent libm.

Numbers are the raw bits in hexadecimal: 16 digits a float64, 8 digits a float32.
scalar.txt: `recording NAME seed S`, then `start x x_dot theta theta_dot` after a reset (only the first is seeded) and
`step action terminated truncated x x_dot theta theta_dot`, all float64.
vector.txt: `recording NAME seed S envs N`, then `start obs*4` for each environment, and for each step and environment
`step action terminated truncated obs*4 [final obs*4]`, all float32, same-step autoreset.
"""

import itertools
import math
import os
import platform
import subprocess
import sys

WITHOUT_FMA = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"}


def sin_cos(angles):
    return [(math.sin(a), math.cos(a)) for a in angles]


if sys.argv[1:] == ["--sincos"]:  # the child that answers for a C library without FMA
    for s, c in sin_cos(float.fromhex(line) for line in sys.stdin):
        print(s.hex(), c.hex())
    sys.exit(0)

import gymnasium as gym  # noqa: E402
import mpmath  # noqa: E402
import numpy as np  # noqa: E402

mpmath.mp.prec = 200


def bits64(values):
    return " ".join(f"{v:016x}" for v in np.asarray(values, np.float64).view(np.uint64).tolist())


def bits32(values):
    return " ".join(f"{v:08x}" for v in np.asarray(values, np.float32).view(np.uint32).tolist())


def same_everywhere(angles):
    """True when every libm that rounds these angles' sines and cosines decently gives the same bits."""
    for a in angles:
        here = (float(np.sin(np.float64(a))), float(np.cos(np.float64(a))))
        if here != (float(mpmath.sin(mpmath.mpf(a))), float(mpmath.cos(mpmath.mpf(a)))):
            return False
    child = subprocess.run([sys.executable, __file__, "--sincos"], env=WITHOUT_FMA, check=True, text=True,
                           capture_output=True, input="\n".join(a.hex() for a in angles))
    without_fma = [tuple(map(float.fromhex, line.split())) for line in child.stdout.splitlines()]
    return without_fma == sin_cos(angles)


def balance(state):
    """A controller that keeps the pole up: linear in the state, all or nothing."""
    x, x_dot, theta, theta_dot = state
    return int(0.1 * x + 0.3 * x_dot + 3.0 * theta + theta_dot > 0.0)


def record_scalar(seed, policy, steps):
    """Steps one environment; policy(step of the recording, state) gives the action. Returns lines and angles."""
    env = gym.make("CartPole-v1")
    observation, _ = env.reset(seed=seed)
    lines, angles, ended = [f"start {bits64(env.unwrapped.state)}"], [], (False, False)
    for step in range(steps):
        state = [float(v) for v in env.unwrapped.state]
        angles.append(state[2])
        action = policy(step, state)
        observation, reward, terminated, truncated, _ = env.step(action)
        assert reward == 1.0
        assert bits32(observation) == bits32(np.float32(env.unwrapped.state))
        lines.append(f"step {action} {int(terminated)} {int(truncated)} {bits64(env.unwrapped.state)}")
        ended = (terminated, truncated)
        if terminated or truncated:
            env.reset()
            lines.append(f"start {bits64(env.unwrapped.state)}")
    return lines, angles, ended


def coin(key):
    rng = np.random.default_rng(key)
    return lambda step, state: int(rng.integers(2))


def first_portable(candidates):
    for name, seed, policy, steps, accept in candidates:
        lines, angles, ended = record_scalar(seed, policy, steps)
        if accept(lines, ended) and same_everywhere(angles):
            return [f"recording {name} seed {seed}"] + lines
    raise SystemExit("no recording is the same on every machine: widen the search")


def always(lines, ended):
    return True


def never_fell(lines, ended):
    return not any(line.startswith("step") and line.split()[2] == "1" for line in lines[:501])


def both_at_500(lines, ended):
    return len([line for line in lines if line.startswith("start")]) == 2 and ended == (True, True)


def scalar_recordings():
    for seed in (0, 42):
        yield first_portable([("always_right", seed, lambda step, state: 1, 40, always)])
    for seed in (0, 1, 42, 123456789, 2**40 + 7, 2**64 - 1):
        yield first_portable(("random", seed, coin(key), 200, always) for key in range(300))
    yield first_portable(("balance", seed, lambda step, state: balance(state), 520, never_fell)
                         for seed in range(300))
    yield first_portable(("falls_at_500", seed, lambda step, state, k=k: balance(state) if step < k else 1, 500,
                          both_at_500) for seed, k in itertools.product(range(300), range(484, 496)))


def record_vector(seed, envs, steps, key, policy):
    env = gym.make_vec("CartPole-v1", num_envs=envs, vectorization_mode="sync",
                       vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP})
    observations, _ = env.reset(seed=seed)
    states = lambda: [[float(v) for v in e.unwrapped.state] for e in env.envs]
    lines, angles = [f"start {bits32(row)}" for row in observations], []
    rng = np.random.default_rng(key)
    for _ in range(steps):
        before = states()
        angles += [s[2] for s in before]
        actions = np.array([policy(rng, i, s) for i, s in enumerate(before)])
        observations, rewards, terminated, truncated, info = env.step(actions)
        assert (rewards == 1.0).all()
        for i in range(envs):
            done = terminated[i] or truncated[i]
            final = f" final {bits32(info['final_obs'][i])}" if done else ""
            lines.append(f"step {actions[i]} {int(terminated[i])} {int(truncated[i])} {bits32(observations[i])}{final}")
    return lines, angles


def vector_recording(name, envs, steps, policy):
    for seed in range(7, 3000):
        lines, angles = record_vector(seed, envs, steps, seed, policy)
        if same_everywhere(angles):
            return [f"recording {name} seed {seed} envs {envs}"] + lines
    raise SystemExit("no recording is the same on every machine: widen the search")


def mixed(rng, i, state):
    """Environment 0 is balanced until the time limit, the others fall again and again."""
    return balance(state) if i == 0 else int(rng.integers(2))


def write(path, what, recordings):
    versions = f"gymnasium {gym.__version__}, numpy {np.__version__}, {' '.join(platform.libc_ver())}, " \
               f"{platform.machine()}, Python {platform.python_version()}"
    with open(path, "w", encoding="ascii") as file:
        file.write(f"# {what} of CartPole-v1, recorded by record.py with {versions}\n")
        for lines in recordings:
            file.write("\n".join(lines) + "\n")


def verify_scalar(path):
    """Replays scalar.txt through Gymnasium as it is installed here."""
    env = gym.make("CartPole-v1")
    seed = None
    for number, line in enumerate(open(path, encoding="ascii"), 1):
        word = line.split()
        if word[0] == "recording":
            seed = int(word[3])
            continue
        if word[0] == "start":
            env.reset(seed=seed)
            seed, found = None, word[:1]
        elif word[0] == "step":
            _, _, terminated, truncated, _ = env.step(int(word[1]))
            found = [word[0], word[1], str(int(terminated)), str(int(truncated))]
        else:
            continue
        if found + bits64(env.unwrapped.state).split() != word:
            raise SystemExit(f"{path}:{number}: differs here")


def main():
    if sys.argv[1] == "--verify":
        verify_scalar(os.path.join(sys.argv[2], "scalar.txt"))
        print("the same bits here")
        return
    write(os.path.join(sys.argv[1], "scalar.txt"), "Single environments", scalar_recordings())
    verify_scalar(os.path.join(sys.argv[1], "scalar.txt"))
    write(os.path.join(sys.argv[1], "vector.txt"), "Batches",
          [vector_recording("random", 3, 60, lambda rng, i, state: int(rng.integers(2))),
           vector_recording("mixed", 2, 505, mixed)])


main()
