"""Records SAC gradient steps as PyTorch computes them, in f64, for tests/rl/algo/sac_test.cpp.

python3 record.py > torch.txt        (written with torch 1.13.0, Debian 12's python3-torch)

The steps and their order are those of Stable-Baselines3's SAC.train(): temperature, critics, actor against the new critics,
targets. The density of an action is torch.distributions' own, by its TanhTransform. A line is a name and numbers. Two
settings, three steps each.
"""
import math

import torch
from torch.distributions import Independent, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

torch.set_default_dtype(torch.float64)
torch.manual_seed(13)
B, D, A, H = 12, 3, 2, 8
STEPS = 3
GAMMA, TAU = 0.95, 0.1


def show(name, *tensors):
    numbers = torch.cat([torch.as_tensor(t, dtype=torch.float64).detach().reshape(-1) for t in tensors])
    print(name, *[repr(x) for x in numbers.tolist()])


def f32(tensor):
    """A value that f32 holds exactly, so that both sides start from the same numbers."""
    return tensor.to(torch.float32).to(torch.float64)


def new_network(inputs, outputs):
    sizes = [(inputs, H), (H, H), (H, outputs)]
    return [p for i, o in sizes for p in (f32(torch.randn(i, o) / math.sqrt(i)), f32(torch.randn(o) * 0.1))]


def forward(network, x):
    w1, b1, w2, b2, w3, b3 = network
    return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def sample(actor, observations, noise):
    mean, log_std = forward(actor, observations).chunk(2, -1)
    std = log_std.clamp(-20, 2).exp()
    density = TransformedDistribution(Normal(mean, std), TanhTransform(cache_size=1))
    u = mean + std * noise
    action = density.transforms[0](u)
    return action, Independent(density, 1).log_prob(action)


def critic(network, observations, actions):
    return forward(network, torch.cat([observations, actions], -1))[:, 0]


observations, next_observations = f32(torch.randn(B, D)), f32(torch.randn(B, D))
actions = f32(torch.rand(B, A) * 2 - 1)
rewards = f32(torch.randn(B))
terminated = (torch.rand(B) < 0.3).double()
noise = [f32(torch.randn(2, B, A)) for _ in range(STEPS)]
actor_start = new_network(D, 2 * A)
critic_starts = [new_network(D + A, 1) for _ in range(2)]
target_starts = [new_network(D + A, 1) for _ in range(2)]

for name, tensor in [("observations", observations), ("actions", actions), ("rewards", rewards),
                     ("terminated", terminated), ("next_observations", next_observations)]:
    show(name, tensor)
for step in range(STEPS):
    show(f"noise/{step}", noise[step])
show("actor", *actor_start)
for i in range(2):
    show(f"critic{i + 1}", *critic_starts[i])
    show(f"target{i + 1}", *target_starts[i])

SETTINGS = {
    "learned": dict(alpha=0.5, learn=True, max_norm=None, lr=3e-3),
    "fixed": dict(alpha=0.2, learn=False, max_norm=0.05, lr=1e-2),
}
for setting, s in SETTINGS.items():
    actor = [p.clone().requires_grad_() for p in actor_start]
    critics = [[p.clone().requires_grad_() for p in c] for c in critic_starts]
    targets = [[p.clone() for p in t] for t in target_starts]
    log_alpha = torch.tensor(math.log(s["alpha"]), requires_grad=True)
    actor_adam = torch.optim.Adam(actor, lr=s["lr"], eps=1e-5)
    critic_adam = torch.optim.Adam(critics[0] + critics[1], lr=s["lr"], eps=1e-5)
    alpha_adam = torch.optim.Adam([log_alpha], lr=s["lr"], eps=1e-5)
    for step in range(STEPS):
        alpha = log_alpha.exp().detach()
        now, log_prob = sample(actor, observations, noise[step][1])
        if s["learn"]:
            alpha_adam.zero_grad()
            (-(log_alpha * (log_prob - A).detach()).mean()).backward()
            alpha_adam.step()
        with torch.no_grad():
            following, following_log_prob = sample(actor, next_observations, noise[step][0])
            least = torch.min(*[critic(t, next_observations, following) for t in targets])
            goal = rewards + GAMMA * (1 - terminated) * (least - alpha * following_log_prob)
        values = [critic(c, observations, actions) for c in critics]
        critic_loss = 0.5 * sum(((v - goal) ** 2).mean() for v in values)
        critic_adam.zero_grad()
        critic_loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(critics[0] + critics[1], s["max_norm"] or 1e9)
        critic_adam.step()
        worth = torch.min(*[critic(c, observations, now) for c in critics])
        actor_loss = (alpha * log_prob - worth).mean()
        actor_adam.zero_grad()
        actor_loss.backward()
        torch.nn.utils.clip_grad_norm_(actor, s["max_norm"] or 1e9)
        actor_adam.step()
        with torch.no_grad():
            for c, t in zip(critics, targets):
                for p, q in zip(c, t):
                    q.mul_(1 - TAU).add_(TAU * p)
        show(f"{setting}/metrics/{step}", critic_loss, actor_loss, alpha, -log_prob.mean(), torch.min(*values).mean(), norm)
    show(f"{setting}/actor", *actor)
    show(f"{setting}/log_alpha", log_alpha)
    for i in range(2):
        show(f"{setting}/critic{i + 1}", *critics[i])
        show(f"{setting}/target{i + 1}", *targets[i])
