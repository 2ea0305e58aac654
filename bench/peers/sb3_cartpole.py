#!/usr/bin/env python3
"""Stable-Baselines3 on CartPole-v1 with RL Baselines3 Zoo's published settings: PPO 100 k, DQN 50 k, A2C 500 k steps."""
from learning_clock import Clock, Marks, LONG, options, report

CHOSEN = options(__doc__, ("ppo", "dqn", "a2c"))

import gymnasium  # noqa: E402  after the variables that torch reads
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3 import A2C, DQN, PPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402

torch.set_num_threads(CHOSEN.threads)

SETTINGS = {  # hyperparams/{ppo,dqn,a2c}.yml of RL Baselines3 Zoo
    "ppo": (PPO, 100_000, 8, {"n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20,
                              "ent_coef": 0.0, "learning_rate": lambda left: 1e-3 * left,
                              "clip_range": lambda left: 0.2 * left}),
    "dqn": (DQN, 50_000, 1, {"learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000,
                             "gamma": 0.99, "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128,
                             "exploration_fraction": 0.16, "exploration_final_eps": 0.04,
                             "policy_kwargs": {"net_arch": [256, 256]}}),
    "a2c": (A2C, 500_000, 8, {"ent_coef": 0.0}),
}


def mean_return(model, episodes):
    env = gymnasium.make("CartPole-v1")
    total = 0.0
    for episode in range(episodes):
        observation, _ = env.reset(seed=1_000_000 + episode)
        ended = cut = False
        while not (ended or cut):
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, ended, cut, _ = env.step(int(action))
            total += reward
    return total / episodes


class Watch(BaseCallback):
    def __init__(self, marks):
        super().__init__()
        self.marks = marks

    def _on_step(self):
        self.marks.at(self.num_timesteps)
        return True


def main():
    algorithm, steps, envs, settings = SETTINGS[CHOSEN.algorithm]
    steps = CHOSEN.steps or steps
    model = algorithm("MlpPolicy", make_vec_env("CartPole-v1", n_envs=envs, seed=CHOSEN.seed), seed=CHOSEN.seed,
                      device="cpu", **settings)
    clock = Clock()
    marks = Marks(clock, lambda episodes: mean_return(model, episodes), steps)
    clock.start()
    model.learn(steps, callback=Watch(marks))
    clock.stop()
    report(f"{CHOSEN.algorithm}_cartpole_zoo", "sb3", CHOSEN, clock, steps, marks, mean_return(model, LONG),
           versions=f"stable-baselines3 {stable_baselines3.__version__}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
