#!/usr/bin/env python3
"""The groups of bench/trainer_throughput in PyTorch, on the processor, with as many threads.

  torch_trainer_throughput.py [--threads N] [--filter REGEX] [--variants eager,compile] [--min-time S] [--repetitions N]

Prints JSON with the fields of Google Benchmark that bench/compare.py reads. Variants: `eager`, for convolutions the
faster of the contiguous and the channels-last layout; `compile`, torch.compile of the loss's forward and backward, with
the fused optimiser: of the train steps and the convolution network in f32 alone, for each takes seconds to compile.

The work is what the groups of thrust do: the same networks, losses, batch sizes and optimisers, on tensors made before.
"""
import argparse
import gc
import json
import math
import os
import re
import statistics
import sys
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--variants", default="eager")
    parser.add_argument("--min-time", type=float, default=0.3)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


OPTIONS = parse()
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(OPTIONS.threads)

import torch  # noqa: E402  after the variables that it reads
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(OPTIONS.threads)


def count(module):
    return sum(p.numel() for p in module.parameters())


def require(module, parameters):
    if count(module) != parameters:
        raise SystemExit(f"error: {count(module)} parameters, not {parameters}: not the network that was meant")


class Adam:
    """torch.optim.Adam in its fastest form: fused where this torch has it for the processor, else foreach."""

    def __new__(cls, parameters, **settings):
        parameters = list(parameters)
        try:
            return torch.optim.Adam(parameters, fused=True, **settings)
        except (RuntimeError, TypeError):
            return torch.optim.Adam(parameters, foreach=True, **settings)


# ------------------------------------------------------------------------------------------------------------ small networks

class ActorCritic(nn.Module):
    """4-64-64 tanh, shared, heads of 2 and 1."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.policy(h), self.value(h).squeeze(-1)


def log_prob_and_entropy(logits, actions):
    log_p = F.log_softmax(logits, -1)
    return log_p.gather(1, actions[:, None]).squeeze(1), -(log_p.exp() * log_p).sum(-1)


def a2c_train_step(compiled):
    net = ActorCritic()
    require(net, 4675)
    optimiser = Adam(net.parameters(), lr=7e-4, eps=1e-5)
    observations, actions = torch.randn(64, 4), torch.randint(2, (64,))
    advantages, returns = torch.randn(64), torch.randn(64)

    def loss_of():
        logits, value = net(observations)
        log_prob, entropy = log_prob_and_entropy(logits, actions)
        return -(advantages * log_prob).mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * entropy.mean()

    return gradient_step(loss_of, net, optimiser, compiled, clip=0.5)


def ppo_loss(net, observations, actions, old_log_probs, advantages, returns, values):
    logits, value = net(observations)
    log_prob, entropy = log_prob_and_entropy(logits, actions)
    ratio = (log_prob - old_log_probs).exp()
    normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy = -torch.min(normal * ratio, normal * ratio.clamp(0.8, 1.2)).mean()
    moved = values + (value - values).clamp(-0.2, 0.2)
    critic = 0.5 * torch.max((value - returns) ** 2, (moved - returns) ** 2).mean()
    return policy + 0.5 * critic - 0.01 * entropy.mean()


def ppo_train_step(compiled):
    net = ActorCritic()
    require(net, 4675)
    optimiser = Adam(net.parameters(), lr=3e-4, eps=1e-5)
    batch = (torch.randn(64, 4), torch.randint(2, (64,)), torch.full((64,), -math.log(2)), torch.randn(64),
             torch.randn(64), torch.randn(64))
    return gradient_step(lambda: ppo_loss(net, *batch), net, optimiser, compiled, clip=0.5)


def q_network():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def dqn_update(net, target, optimiser, ring, compiled):
    """One Double-DQN update on a batch of 64 that is drawn from the ring."""
    observations, next_observations, actions, rewards, terminated = ring

    def loss_of():
        rows = torch.randint(len(rewards), (64,))
        with torch.no_grad():
            following = next_observations[rows]
            best = net(following).argmax(1, keepdim=True)
            goal = rewards[rows] + 0.99 * (1 - terminated[rows]) * target(following).gather(1, best).squeeze(1)
        q = net(observations[rows]).gather(1, actions[rows, None]).squeeze(1)
        return F.smooth_l1_loss(q, goal)

    return gradient_step(loss_of, net, optimiser, compiled, clip=10.0)


def dqn_train_step(compiled):
    net, target = q_network(), q_network()
    require(net, 4610)
    ring = (torch.randn(10_000, 4), torch.randn(10_000, 4), torch.randint(2, (10_000,)), torch.randn(10_000),
            torch.zeros(10_000))
    return dqn_update(net, target, Adam(net.parameters(), lr=1e-3), ring, compiled)


def gradient_step(loss_of, net, optimiser, compiled, clip=None):
    parameters = list(net.parameters())
    loss_of = torch.compile(loss_of) if compiled else loss_of

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of().backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)
        optimiser.step()

    return step


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))


class Sac:
    """One update of SB3's sac.py: temperature, twin critics, actor, Polyak averaging; batch of 64 from the ring."""

    def __init__(self, compiled, rows=10_000):
        self.actor, self.critics, self.targets = mlp(3, 2), [mlp(4, 1), mlp(4, 1)], [mlp(4, 1), mlp(4, 1)]
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.critic_parameters = [p for q in self.critics for p in q.parameters()]
        self.target_parameters = [p for q in self.targets for p in q.parameters()]
        self.actor_optimiser = Adam(self.actor.parameters(), lr=3e-4)
        self.critic_optimiser = Adam(self.critic_parameters, lr=3e-4)
        self.alpha_optimiser = Adam([self.log_alpha], lr=3e-4)
        self.ring = [torch.randn(rows, 3), torch.randn(rows, 3), torch.rand(rows, 1) * 2 - 1, torch.randn(rows),
                     torch.zeros(rows)]
        wrap = torch.compile if compiled else lambda f: f
        self.critic_loss, self.actor_loss = wrap(self.critic_loss), wrap(self.actor_loss)

    def act(self, observations):
        mean, log_std = self.actor(observations).chunk(2, -1)
        log_std = log_std.clamp(-20, 2)
        noise = torch.randn_like(mean)
        raw = mean + noise * log_std.exp()
        action = torch.tanh(raw)
        log_prob = (-0.5 * noise ** 2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        return action, log_prob - torch.log(1 - action ** 2 + 1e-6).sum(-1)

    def critic_loss(self, observations, following, actions, rewards, terminated):
        with torch.no_grad():
            action, log_prob = self.act(following)
            pair = torch.cat([following, action], 1)
            value = torch.min(self.targets[0](pair), self.targets[1](pair)).squeeze(1)
            goal = rewards + 0.99 * (1 - terminated) * (value - self.log_alpha.exp() * log_prob)
        pair = torch.cat([observations, actions], 1)
        return sum(0.5 * F.mse_loss(q(pair).squeeze(1), goal) for q in self.critics)

    def actor_loss(self, observations):
        action, log_prob = self.act(observations)
        pair = torch.cat([observations, action], 1)
        value = torch.min(self.critics[0](pair), self.critics[1](pair)).squeeze(1)
        loss = (self.log_alpha.exp().detach() * log_prob - value).mean()
        return loss, log_prob.detach()

    def step(self):
        rows = torch.randint(len(self.ring[0]), (64,))
        batch = [column[rows] for column in self.ring]
        self.critic_optimiser.zero_grad(set_to_none=True)
        self.critic_loss(*batch).backward()
        self.critic_optimiser.step()

        for parameter in self.critic_parameters:  # the actor's loss goes through the critics, not into them
            parameter.requires_grad_(False)
        self.actor_optimiser.zero_grad(set_to_none=True)
        loss, log_prob = self.actor_loss(batch[0])
        loss.backward()
        self.actor_optimiser.step()
        for parameter in self.critic_parameters:
            parameter.requires_grad_(True)

        self.alpha_optimiser.zero_grad(set_to_none=True)
        (-(self.log_alpha.exp() * (log_prob - 1.0)).mean()).backward()
        self.alpha_optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.target_parameters, self.critic_parameters, 0.005)


def sac_train_step(compiled):
    return Sac(compiled).step


# ------------------------------------------------------------------------------------------------------------- convolutions

class Nature(nn.Module):
    def __init__(self, policy):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                  nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
        self.head = nn.Linear(512, 18)
        self.value = nn.Linear(512, 1) if policy else None

    def forward(self, x):
        h = self.body(x)
        return (self.head(h), self.value(h)) if self.value is not None else self.head(h)


def nature_net(policy, batch, layout):
    net = Nature(policy).to(memory_format=layout)
    require(net, 1_693_875 if policy else 1_693_362)
    return net, torch.randn(batch, 4, 84, 84).contiguous(memory_format=layout)


def nature_forward(policy, batch, layout, compiled, bf16):
    net, frames = nature_net(policy, batch, layout)
    net.eval()
    forward = torch.compile(net) if compiled else net

    def step():
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            forward(frames)

    return step


def nature_train_step(policy, batch, layout, compiled, bf16):
    net, frames = nature_net(policy, batch, layout)
    optimiser = Adam(net.parameters(), lr=2.5e-4)

    def loss_of():
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            outputs = net(frames)
        if not policy:
            return (outputs.float() ** 2).mean()
        log_p = F.log_softmax(outputs[0].float(), -1)
        entropy = -(log_p.exp() * log_p).sum(-1)
        return -log_p.mean() + (outputs[1].float() ** 2).mean() - 0.01 * entropy.mean()

    return gradient_step(loss_of, net, optimiser, compiled)


# ------------------------------------------------------------------------------------------------- environments and whole loops

def vector_env(identifier, number):
    import gymnasium
    return gymnasium.make_vec(identifier, num_envs=number, vectorization_mode="vector_entry_point")


def sync_env(identifier, number):
    import gymnasium
    # An environment that ended begins anew in the same step, so that every step is one of the task.
    return gymnasium.make_vec(identifier, num_envs=number, vectorization_mode="sync",
                              vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})


def cartpole_env_step(_):
    import numpy
    envs = vector_env("CartPole-v1", 1024)
    envs.reset(seed=1)
    actions = numpy.random.default_rng(1).integers(0, 2, (16, 1024))
    state = {"next": 0}

    def step():
        envs.step(actions[state["next"]])
        state["next"] = (state["next"] + 1) % 16

    return step


def rollout_and_update(compiled, update):
    """16 CartPoles x 5 steps, generalised advantages, then `update(net, optimiser, batch of 80)`."""
    import numpy
    envs = sync_env("CartPole-v1", 16)
    net = ActorCritic()
    optimiser = Adam(net.parameters(), lr=3e-4, eps=1e-5)
    act = torch.compile(net) if compiled else net
    state = {"observations": torch.as_tensor(envs.reset(seed=1)[0])}

    def iterate():
        columns = [[] for _ in range(6)]  # observations, actions, log-probabilities, values, rewards, dones
        with torch.no_grad():
            for _ in range(5):
                logits, value = act(state["observations"])
                log_p = F.log_softmax(logits, -1)
                action = torch.multinomial(log_p.exp(), 1)
                following, reward, ended, cut, _ = envs.step(action.squeeze(1).numpy())
                row = (state["observations"], action.squeeze(1), log_p.gather(1, action).squeeze(1), value,
                       torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(numpy.logical_or(ended, cut)).float())
                for column, value in zip(columns, row):
                    column.append(value)
                state["observations"] = torch.as_tensor(following)
            bootstrap = act(state["observations"])[1]
        observations, actions, log_probs, values, rewards, dones = (torch.stack(column) for column in columns)
        advantages, last = torch.zeros_like(rewards), torch.zeros(16)
        for t in reversed(range(5)):
            following = bootstrap if t == 4 else values[t + 1]
            delta = rewards[t] + 0.99 * following * (1 - dones[t]) - values[t]
            advantages[t] = last = delta + 0.99 * 0.95 * (1 - dones[t]) * last
        batch = (observations.flatten(0, 1), actions.flatten(), log_probs.flatten(), advantages.flatten(),
                 (advantages + values).flatten(), values.flatten())
        update(net, optimiser, batch)

    return iterate


def ppo_cartpole(compiled):
    def update(net, optimiser, batch):
        order = torch.randperm(80)
        for rows in order.split(40):
            optimiser.zero_grad(set_to_none=True)
            ppo_loss(net, *(column[rows] for column in batch)).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimiser.step()

    return rollout_and_update(compiled, update)


def a2c_cartpole(compiled):
    def update(net, optimiser, batch):
        optimiser.zero_grad(set_to_none=True)
        logits, value = net(batch[0])
        log_prob, entropy = log_prob_and_entropy(logits, batch[1])
        loss = -(batch[3] * log_prob).mean() + 0.5 * F.mse_loss(value, batch[4]) - 0.01 * entropy.mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimiser.step()

    return rollout_and_update(compiled, update)


def dqn_cartpole(compiled):
    import gymnasium
    env = gymnasium.make("CartPole-v1")
    net, target = q_network(), q_network()
    ring = [torch.randn(10_000, 4), torch.randn(10_000, 4), torch.randint(2, (10_000,)), torch.randn(10_000),
            torch.zeros(10_000)]
    learn = dqn_update(net, target, Adam(net.parameters(), lr=1e-3), ring, compiled)
    state = {"observation": torch.as_tensor(env.reset(seed=1)[0]), "next": 0}

    def iterate():
        for _ in range(16):
            with torch.no_grad():
                action = int(net(state["observation"][None]).argmax())
            following, reward, ended, cut, _ = env.step(action)
            following, row = torch.as_tensor(following), state["next"]
            for column, value in zip(ring, (state["observation"], following, action, reward, float(ended))):
                column[row] = value
            state["next"] = (row + 1) % 10_000
            state["observation"] = torch.as_tensor(env.reset()[0]) if ended or cut else following
            learn()

    return iterate


def sac_pendulum(compiled):
    import gymnasium
    env = gymnasium.make("Pendulum-v1")
    sac = Sac(compiled)
    state = {"observation": torch.as_tensor(env.reset(seed=1)[0]), "next": 0}

    def iterate():
        for _ in range(16):
            with torch.no_grad():
                action = sac.act(state["observation"][None])[0][0]
            following, reward, ended, cut, _ = env.step(2.0 * action.numpy())
            following, row = torch.as_tensor(following, dtype=torch.float32), state["next"]
            for column, value in zip(sac.ring, (state["observation"], following, action, float(reward), float(ended))):
                column[row] = value
            state["next"] = (row + 1) % 10_000
            state["observation"] = torch.as_tensor(env.reset()[0]) if ended or cut else following
            sac.step()

    return iterate


# ------------------------------------------------------------------------------------------------------------------ the table

SMALL = {"a2c_train_step/{}/b64": a2c_train_step, "ppo_train_step/{}/b64": ppo_train_step,
         "dqn_train_step/{}/b64": dqn_train_step, "sac_train_step/{}/b64": sac_train_step,
         "a2c_cartpole_steps_per_sec/{}/b80": a2c_cartpole, "ppo_cartpole_steps_per_sec/{}/b80": ppo_cartpole,
         "dqn_cartpole_steps_per_sec/{}/b64": dqn_cartpole, "sac_pendulum_steps_per_sec/{}/b64": sac_pendulum}
LAYOUTS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def entries():
    """(id, [(what it is, how to make it)]): of several ways the fastest counts."""
    for variant in OPTIONS.variants.split(","):
        name, compiled = f"torch_{variant}", variant == "compile"
        for pattern, make in SMALL.items():
            if compiled and "steps_per_sec" in pattern:
                continue
            yield pattern.format(name), [("", lambda make=make: make(compiled))]
        for kind in ("policy", "qnet"):
            for batch in (32, 256):
                for part, make in (("forward", nature_forward), ("train_step", nature_train_step)):
                    for suffix, bf16 in (("", False), ("-bf16", True))[:1 if compiled else 2]:
                        ways = [(layout, lambda make=make, form=form, kind=kind, batch=batch, bf16=bf16:
                                 make(kind == "policy", batch, form, compiled, bf16)) for layout, form in LAYOUTS.items()
                                if layout == "channels_last" or not compiled]
                        yield f"nature_dqn_{kind}_{part}/{name}{suffix}/b{batch}", ways
        if not compiled:
            yield "cartpole_env_step/gymnasium/b1024", [("", lambda: cartpole_env_step(False))]


def time_of(step, seconds):
    """Seconds of one step: the mean over as many as last `seconds`."""
    runs = 1
    while True:
        start = time.perf_counter()
        for _ in range(runs):
            step()
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return elapsed / runs
        runs = max(runs + 1, min(runs * 10, int(1.2 * runs * seconds / max(elapsed, 1e-9))))


def measure(identifier, ways):
    best = None
    for what, make in ways:
        torch.manual_seed(1)
        gc.collect()
        start = time.perf_counter()
        step = make()
        step()
        setup = time.perf_counter() - start
        for _ in range(2):
            step()
        samples = [time_of(step, OPTIONS.min_time) for _ in range(OPTIONS.repetitions)]
        found = {"name": identifier, "run_type": "iteration", "real_time": 1e6 * statistics.median(samples),
                 "time_unit": "us", "setup_ms": 1e3 * setup, "backend_threads": OPTIONS.threads, "way": what}
        if best is None or found["real_time"] < best["real_time"]:
            best = found
    return best


def main():
    wanted = re.compile(OPTIONS.filter)
    results = []
    for identifier, ways in entries():
        if not wanted.search(identifier):
            continue
        if OPTIONS.list:
            print(identifier)
            continue
        try:
            results.append(measure(identifier, ways))
        except Exception as failure:  # a variant that this torch lacks must not hide the others
            results.append({"name": identifier, "error_occurred": True, "error_message": f"{failure}"[:500]})
        print(f"{results[-1]['name']} {results[-1].get('real_time', 'failed')}", file=sys.stderr, flush=True)
    if not OPTIONS.list:
        json.dump({"context": {"torch": torch.__version__, "threads": OPTIONS.threads,
                               "capability": torch.backends.cpu.get_cpu_capability()}, "benchmarks": results}, sys.stdout)
        print()


if __name__ == "__main__":
    main()
