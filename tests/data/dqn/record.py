"""Records DQN gradient steps as PyTorch computes them, in f64, for tests/rl/algo/dqn_test.cpp.

python3 record.py > torch.txt        (written with torch 1.13.0, Debian 12's python3-torch)

Smooth L1 loss (Mnih et al. 2015), with and without double Q-learning (van Hasselt et al. 2016), global gradient clipping,
Adam. A line is a name and numbers. Three settings, two steps each; the target network stays.
"""
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
B, D, A, H = 16, 4, 3, 8
STEPS = 2


def show(name, *tensors):
    numbers = torch.cat([torch.as_tensor(t, dtype=torch.float64).detach().reshape(-1) for t in tensors])
    print(name, *[repr(x) for x in numbers.tolist()])


def f32(tensor):
    """A value that f32 holds exactly, so that both sides start from the same numbers."""
    return tensor.to(torch.float32).to(torch.float64)


def new_network():
    sizes = [(D, H), (H, H), (H, A)]
    return [p for i, o in sizes for p in (f32(torch.randn(i, o) / math.sqrt(i)), f32(torch.randn(o) * 0.1))]


def forward(network, x):
    w1, b1, w2, b2, w3, b3 = network
    return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


observations, next_observations = f32(torch.randn(B, D)), f32(torch.randn(B, D))
actions = torch.randint(0, A, (B,))
rewards = f32(torch.randn(B) * 1.5)  # so that some errors are over 1, where the loss is linear
terminated = (torch.rand(B) < 0.3).double()
online_start, target = new_network(), new_network()

for name, tensor in [("observations", observations), ("actions", actions), ("rewards", rewards),
                     ("terminated", terminated), ("next_observations", next_observations)]:
    show(name, tensor)
show("online", *online_start)
show("target", *target)

SETTINGS = {
    "double": dict(double=True, max_norm=1e9, lr=1e-2),
    "single": dict(double=False, max_norm=1e9, lr=1e-2),
    # Under 1 % of the gradient's length, and an epsilon that Adam does not hide that behind.
    "clipped": dict(double=True, max_norm=0.01, lr=1e-2),
}
GAMMA = 0.9
for setting, s in SETTINGS.items():
    online = [p.clone().requires_grad_() for p in online_start]
    adam = torch.optim.Adam(online, lr=s["lr"], eps=1e-3)
    for step in range(STEPS):
        with torch.no_grad():
            future = forward(target, next_observations)
            if s["double"]:
                best = forward(online, next_observations).argmax(-1, keepdim=True)
                value = future.gather(1, best)[:, 0]
            else:
                value = future.max(-1).values
            goal = rewards + GAMMA * (1 - terminated) * value
        taken = forward(online, observations).gather(1, actions[:, None])[:, 0]
        loss = F.smooth_l1_loss(taken, goal)
        adam.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(online, s["max_norm"])
        adam.step()
        show(f"{setting}/metrics/{step}", loss, taken.mean(), norm)
    show(f"{setting}/online", *online)
