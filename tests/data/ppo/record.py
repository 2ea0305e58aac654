"""Records PPO gradient steps as PyTorch computes them, in f64, for tests/rl/algo/ppo_test.cpp.

python3 record.py > torch.txt        (written with torch 1.13.0, Debian 12's python3-torch)

The loss is that of Schulman et al. 2017 with the details of "The 37 Implementation Details of Proximal Policy
Optimization" (Huang et al. 2022): per-minibatch advantage normalisation, value clipping, entropy bonus, global gradient
clipping, Adam with eps 1e-5. A line is a name and numbers. Two settings, two steps each.
"""
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)
M, D, A, H = 16, 4, 3, 8
STEPS = 2


def show(name, *tensors):
    numbers = torch.cat([torch.as_tensor(t, dtype=torch.float64).detach().reshape(-1) for t in tensors])
    print(name, *[repr(x) for x in numbers.tolist()])


def f32(tensor):
    """A value that f32 holds exactly, so that both sides start from the same numbers."""
    return tensor.to(torch.float32).to(torch.float64)


def new_network(out):
    sizes = [(D, H), (H, H), (H, out)]
    return [p for i, o in sizes for p in (f32(torch.randn(i, o) / math.sqrt(i)), f32(torch.randn(o) * 0.1))]


def forward(network, x):
    w1, b1, w2, b2, w3, b3 = network
    return torch.tanh(torch.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


observations = f32(torch.randn(M, D))
actions = torch.randint(0, A, (M,))
policy_start, value_start = new_network(A), new_network(1)
with torch.no_grad():
    logits = forward(policy_start, observations)
    # Old probabilities a little off the present ones, so that some ratios are clipped.
    old = F.log_softmax(logits + 0.3 * torch.randn(M, A), -1).gather(1, actions[:, None])[:, 0]
    log_probs = f32(old)
    values = f32(forward(value_start, observations)[:, 0] + 0.3 * torch.randn(M))
advantages = f32(torch.randn(M) * 2 + 0.5)
returns = f32(values + advantages)

for name, tensor in [("observations", observations), ("actions", actions), ("log_probs", log_probs),
                     ("values", values), ("advantages", advantages), ("returns", returns)]:
    show(name, tensor)
show("policy", *policy_start)
show("value", *value_start)

SETTINGS = {
    "full": dict(clip_vloss=True, norm_adv=True, ent=0.01, vf=0.5, max_norm=0.5, lr=3e-3, clip=0.2),
    "plain": dict(clip_vloss=False, norm_adv=False, ent=0.0, vf=1.0, max_norm=1e9, lr=1e-2, clip=0.1),
}
for setting, s in SETTINGS.items():
    policy = [p.clone().requires_grad_() for p in policy_start]
    value = [p.clone().requires_grad_() for p in value_start]
    adam = torch.optim.Adam(policy + value, lr=s["lr"], eps=1e-5)
    for step in range(STEPS):
        log_p = F.log_softmax(forward(policy, observations), -1)
        log_ratio = log_p.gather(1, actions[:, None])[:, 0] - log_probs
        ratio = log_ratio.exp()
        adv = advantages
        if s["norm_adv"]:
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        policy_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - s["clip"], 1 + s["clip"])).mean()
        v = forward(value, observations)[:, 0]
        squares = (v - returns) ** 2
        if s["clip_vloss"]:
            moved = values + (v - values).clamp(-s["clip"], s["clip"])
            squares = torch.max(squares, (moved - returns) ** 2)
        value_loss = 0.5 * squares.mean()
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        loss = policy_loss - s["ent"] * entropy + s["vf"] * value_loss
        kl = ((ratio - 1) - log_ratio).mean()
        clipped = ((ratio - 1).abs() > s["clip"]).double().mean()
        adam.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(policy + value, s["max_norm"])
        adam.step()
        show(f"{setting}/metrics/{step}", policy_loss, value_loss, entropy, loss, kl, clipped, norm)
    show(f"{setting}/policy", *policy)
    show(f"{setting}/value", *value)
