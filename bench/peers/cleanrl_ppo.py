#!/usr/bin/env python3
"""PPO on CartPole-v1 as CleanRL's ppo.py does it, in PyTorch: 4 environments x 128 steps, 4 epochs of 4 minibatches, 500 k.

CleanRL's package cannot be installed with today's Python and Gymnasium, so this loop is written anew after its published
algorithm and settings (Huang et al. 2022): the same networks, losses, order of work and environment steps one by one.
What it logs is left out, which makes it a little faster than the original.
"""
from learning_clock import Clock, Marks, LONG, options, report

CHOSEN = options(__doc__)

import gymnasium  # noqa: E402  after the variables that torch reads
import numpy  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributions import Categorical  # noqa: E402

torch.set_num_threads(CHOSEN.threads)

ENVS, STEPS, MINIBATCHES, EPOCHS = 4, 128, 4, 4
BATCH = ENVS * STEPS
RATE, GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, NORM = 2.5e-4, 0.99, 0.95, 0.2, 0.01, 0.5, 0.5


def layer(inputs, outputs, gain=2 ** 0.5):
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def network(outputs, gain):
    return nn.Sequential(layer(4, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, outputs, gain))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic, self.actor = network(1, 1.0), network(2, 0.01)

    def act(self, observations, actions=None):
        policy = Categorical(logits=self.actor(observations))
        actions = policy.sample() if actions is None else actions
        return actions, policy.log_prob(actions), policy.entropy(), self.critic(observations).flatten()


def mean_return(agent, episodes):
    envs = gymnasium.make_vec("CartPole-v1", num_envs=episodes, vectorization_mode="vector_entry_point")
    observations, _ = envs.reset(seed=1_000_000)
    totals, going = numpy.zeros(episodes), numpy.ones(episodes, bool)
    while going.any():  # the first episode of each
        with torch.no_grad():
            actions = agent.actor(torch.as_tensor(observations)).argmax(1).numpy()
        observations, rewards, ended, cut, _ = envs.step(actions)
        totals += rewards * going
        going &= ~(ended | cut)
    return float(totals.mean())


def advantages_of(agent, rewards, dones, values, following, next_done):
    with torch.no_grad():
        next_value, last = agent.critic(following).flatten(), 0.0
        advantages = torch.zeros_like(rewards)
        for t in reversed(range(STEPS)):
            alive = 1.0 - (next_done if t == STEPS - 1 else dones[t + 1])
            value = next_value if t == STEPS - 1 else values[t + 1]
            delta = rewards[t] + GAMMA * value * alive - values[t]
            advantages[t] = last = delta + GAMMA * LAMBDA * alive * last
    return advantages


def update(agent, optimiser, observations, actions, log_probs, advantages, returns, values):
    order = numpy.arange(BATCH)
    for _ in range(EPOCHS):
        numpy.random.shuffle(order)
        for start in range(0, BATCH, BATCH // MINIBATCHES):
            rows = order[start:start + BATCH // MINIBATCHES]
            _, log_prob, entropy, value = agent.act(observations[rows], actions[rows])
            log_ratio = log_prob - log_probs[rows]
            ratio = log_ratio.exp()
            with torch.no_grad():
                _ = ((ratio - 1) - log_ratio).mean(), ((ratio - 1.0).abs() > CLIP).float().mean().item()
            chosen = advantages[rows]
            chosen = (chosen - chosen.mean()) / (chosen.std() + 1e-8)
            policy_loss = torch.max(-chosen * ratio, -chosen * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            clipped = values[rows] + (value - values[rows]).clamp(-CLIP, CLIP)
            value_loss = 0.5 * torch.max((value - returns[rows]) ** 2, (clipped - returns[rows]) ** 2).mean()
            loss = policy_loss - ENTROPY * entropy.mean() + VALUE * value_loss
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), NORM)
            optimiser.step()


def main():
    total = CHOSEN.steps or 500_000
    numpy.random.seed(CHOSEN.seed)
    torch.manual_seed(CHOSEN.seed)
    torch.use_deterministic_algorithms(True)
    envs = gymnasium.make_vec("CartPole-v1", num_envs=ENVS, vectorization_mode="sync",
                              wrappers=[gymnasium.wrappers.RecordEpisodeStatistics],
                              # As the loop below expects: an environment that ended has begun anew in the same step.
                              vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})
    agent = Agent()
    optimiser = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    clock = Clock()
    marks = Marks(clock, lambda episodes: mean_return(agent, episodes), total)

    observations = torch.zeros(STEPS, ENVS, 4)
    actions, log_probs, rewards, dones, values = (torch.zeros(STEPS, ENVS) for _ in range(5))
    clock.start()
    following, done = torch.as_tensor(envs.reset(seed=CHOSEN.seed)[0]), torch.zeros(ENVS)
    updates = total // BATCH
    for number in range(updates):
        optimiser.param_groups[0]["lr"] = RATE * (1.0 - number / updates)
        for t in range(STEPS):
            observations[t], dones[t] = following, done
            with torch.no_grad():
                action, log_probs[t], _, values[t] = agent.act(following)
            actions[t] = action
            reached, reward, ended, cut, _ = envs.step(action.numpy())
            rewards[t] = torch.as_tensor(reward)
            following, done = torch.as_tensor(reached), torch.as_tensor(numpy.logical_or(ended, cut)).float()
        advantages = advantages_of(agent, rewards, dones, values, following, done)
        update(agent, optimiser, observations.flatten(0, 1), actions.flatten(), log_probs.flatten(),
               advantages.flatten(), (advantages + values).flatten(), values.flatten())
        marks.at((number + 1) * BATCH)
    clock.stop()
    report("ppo_cartpole_cleanrl", "cleanrl's settings in torch", CHOSEN, clock, updates * BATCH, marks,
           mean_return(agent, LONG), versions=f"torch {torch.__version__}, gymnasium {gymnasium.__version__}")


if __name__ == "__main__":
    main()
