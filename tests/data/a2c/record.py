"""Records A2C updates as PyTorch computes them, in f64, for tests/rl/algo/a2c_test.cpp.

python3 record.py > torch.txt        (written with torch 1.13.1, Debian 12's python3-torch)

Loss and clipping are those of Stable-Baselines3's a2c.py, the optimisers torch's RMSprop (alpha 0.99, eps 1e-5) and
Adam, and TensorFlow 1's RMSprop written out (eps inside the root, mean square from 1). Actions are discrete, or normal
with deviations that do not depend on the observation. A line is a name and numbers. Two updates of each setting.
"""
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
B, D, A, H = 12, 4, 3, 8


def show(name, *tensors):
    numbers = torch.cat([torch.as_tensor(t, dtype=torch.float64).detach().reshape(-1) for t in tensors])
    print(name, *[repr(x) for x in numbers.tolist()])


def f32(tensor):
    """A value that f32 holds exactly, so that both sides start from the same numbers."""
    return tensor.to(torch.float32).to(torch.float64)


def layers(sizes):
    return [p for i, o in zip(sizes, sizes[1:]) for p in (f32(torch.randn(i, o) / math.sqrt(i)), f32(torch.randn(o) * 0.1))]


def tanh_layers(weights, x):
    for w, b in zip(weights[::2], weights[1::2]):
        x = torch.tanh(x @ w + b)
    return x


class TensorFlowRmsprop:
    def __init__(self, parameters, lr, decay=0.99, eps=1e-5):
        self.parameters, self.lr, self.decay, self.eps = parameters, lr, decay, eps
        self.square = [torch.ones_like(p) for p in parameters]

    @torch.no_grad()
    def step(self):
        for p, v in zip(self.parameters, self.square):
            v.mul_(self.decay).add_((1 - self.decay) * p.grad**2)
            p.sub_(self.lr * p.grad / torch.sqrt(v + self.eps))


observations = f32(torch.randn(B, D))
choices = torch.randint(0, A, (B,))
torques = f32(torch.randn(B, A))
advantages = f32(torch.randn(B) * 2 + 0.5)
returns = f32(torch.randn(B) * 3)
trunks = [layers([D, H, H]), layers([D, H, H])]
heads = [layers([H, A]), layers([H, 1])]
log_std = f32(torch.randn(A) * 0.3)

show("observations", observations)
show("actions", choices)
show("box_actions", torques)
show("advantages", advantages)
show("returns", returns)
show("policy", *trunks[0], *heads[0])
show("value", *trunks[1], *heads[1])
show("log_std", log_std)

SETTINGS = {
    "rmsprop": dict(shared=False, continuous=False, ent=0.01, vf=0.5, norm=False, max_norm=0.5, lr=7e-3),
    "rmsprop_tf": dict(shared=True, continuous=False, ent=0.0, vf=0.25, norm=True, max_norm=1e9, lr=7e-3),
    "adam": dict(shared=True, continuous=True, ent=0.02, vf=0.5, norm=False, max_norm=0.5, lr=1e-2),
}

for name, s in SETTINGS.items():
    # With a shared trunk it is the policy's.
    used = [trunks[0], heads[0], heads[1]] + ([] if s["shared"] else [trunks[1]])
    policy_trunk, policy_head, value_head, *rest = [[p.clone().requires_grad_() for p in part] for part in used]
    value_trunk = policy_trunk if s["shared"] else rest[0]
    spread = log_std.clone().requires_grad_()
    parameters = policy_trunk + policy_head + value_head + ([] if s["shared"] else value_trunk)
    if s["continuous"]:
        parameters = parameters + [spread]
    if name == "rmsprop":
        optimiser = torch.optim.RMSprop(parameters, lr=s["lr"], alpha=0.99, eps=1e-5)
    elif name == "adam":
        optimiser = torch.optim.Adam(parameters, lr=s["lr"], eps=1e-5)
    else:
        optimiser = TensorFlowRmsprop(parameters, s["lr"])
    for step in range(2):
        output = tanh_layers(policy_trunk, observations) @ policy_head[0] + policy_head[1]
        value = (tanh_layers(value_trunk, observations) @ value_head[0] + value_head[1])[:, 0]
        if s["continuous"]:
            policy = torch.distributions.Independent(torch.distributions.Normal(output, spread.exp().expand(B, A)), 1)
            log_prob = policy.log_prob(torques)
        else:
            policy = torch.distributions.Categorical(logits=output)
            log_prob = policy.log_prob(choices)
        given = (advantages - advantages.mean()) / (advantages.std() + 1e-8) if s["norm"] else advantages
        policy_loss = -(given * log_prob).mean()
        value_loss = F.mse_loss(returns, value)
        entropy = policy.entropy().mean()
        loss = policy_loss - s["ent"] * entropy + s["vf"] * value_loss
        for p in parameters:
            p.grad = None
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, s["max_norm"])
        show(f"{name}/metrics/{step}", policy_loss, value_loss, entropy, loss, norm)
        optimiser.step()
    show(f"{name}/policy", *policy_trunk, *policy_head)
    show(f"{name}/value_head", *value_head)
    if not s["shared"]:
        show(f"{name}/value_trunk", *value_trunk)
    if s["continuous"]:
        show(f"{name}/log_std", spread)
