"""Records what PyTorch computes, in f64, for tests/core/nn: optimisers, clipping, losses, activations, distributions.

python3 record.py > torch.txt        (written with torch 1.13.0, Debian 12's python3-torch)

A line is a name and numbers.
"""
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(20240501)
STEPS = 12


def show(name, *tensors):
    numbers = torch.cat([torch.as_tensor(t, dtype=torch.float64).reshape(-1) for t in tensors])
    print(name, *[repr(x) for x in numbers.tolist()])


def optimisers():
    start = torch.randn(3)
    slopes = torch.randn(STEPS, 3) * torch.tensor([1.0, 30.0, 1e-3])
    show("start", start)
    show("gradients", slopes)
    variants = {
        "adam": lambda p: torch.optim.Adam([p], lr=0.01),
        "adam_ppo": lambda p: torch.optim.Adam([p], lr=3e-4, eps=1e-5),
        "adamw": lambda p: torch.optim.AdamW([p], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1),
        "sgd": lambda p: torch.optim.SGD([p], lr=0.01),
        "sgd_momentum": lambda p: torch.optim.SGD([p], lr=0.01, momentum=0.9),
        "sgd_nesterov": lambda p: torch.optim.SGD([p], lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
        "rmsprop": lambda p: torch.optim.RMSprop([p], lr=0.01),
        "rmsprop_momentum": lambda p: torch.optim.RMSprop([p], lr=0.01, alpha=0.9, eps=1e-5, momentum=0.8),
    }
    for name, make in variants.items():
        p = start.clone().requires_grad_()
        optimiser = make(p)
        path = []
        for slope in slopes:
            p.grad = slope.clone()
            optimiser.step()
            path.append(p.detach().clone())
        show("optimiser/" + name, *path)


def clipping():
    for name, most in (("clip_active", 0.5), ("clip_idle", 1e3)):
        a, b = torch.zeros(2, 3, requires_grad=True), torch.zeros(4, requires_grad=True)
        a.grad, b.grad = torch.arange(6.0).reshape(2, 3) - 2.5, torch.tensor([0.1, -0.2, 0.3, 4.0])
        norm = torch.nn.utils.clip_grad_norm_([a, b], most)
        show(name, norm, a.grad, b.grad)


def gradient(loss, x):
    return torch.autograd.grad(loss, x, retain_graph=True)[0]


def losses():
    x = torch.tensor([-3.0, -0.9, -0.2, 0.1, 0.6, 2.5], requires_grad=True)
    z = torch.tensor([0.5, -1.0, 0.4, 0.0, 1.5, -0.5])
    y = torch.tensor([0.0, 1.0, 0.3, 0.7, 1.0, 0.0])
    f = torch.nn.functional
    show("x", x.detach())
    show("z", z)
    show("y", y)
    for name, each in {
        "mse": lambda r: f.mse_loss(x, z, reduction=r),
        "mae": lambda r: f.l1_loss(x, z, reduction=r),
        "huber": lambda r: f.huber_loss(x, z, delta=0.7, reduction=r),
        "smooth_l1": lambda r: f.smooth_l1_loss(x, z, reduction=r),
        "bce": lambda r: f.binary_cross_entropy_with_logits(x, y, reduction=r),
    }.items():
        show("loss/" + name, each("mean"), each("none").detach(), gradient(each("mean"), x))
    wide = (x * 40.0).detach().requires_grad_()
    wide_loss = f.binary_cross_entropy_with_logits(wide, y)
    show("loss/bce_wide", wide_loss, gradient(wide_loss, wide))
    for name, activation in {
        "relu": f.relu,
        "leaky_relu": f.leaky_relu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "gelu": f.gelu,
        "silu": f.silu,
        "softplus": f.softplus,
        "elu": f.elu,
    }.items():
        show("activation/" + name, activation(x).detach(), gradient(activation(x).sum(), x))


def rows():
    x = torch.randn(4, 5).mul(2.0).requires_grad_()
    labels = torch.tensor([3, 0, 4, 1])
    show("rows", x.detach())
    loss = torch.nn.functional.cross_entropy(x, labels)
    show("cross_entropy", loss, gradient(loss, x))
    distribution = torch.distributions.Categorical(logits=x)
    show("categorical/log_prob", distribution.log_prob(labels).detach(), gradient(distribution.log_prob(labels).sum(), x))
    show("categorical/entropy", distribution.entropy().detach(), gradient(distribution.entropy().sum(), x))
    weight, bias = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    upstream = torch.randn(4, 5)
    y = torch.nn.functional.layer_norm(x, (5,), weight, bias)
    show("layer_norm/inputs", weight, bias, upstream)
    show("layer_norm/outputs", y.detach(), *torch.autograd.grad((y * upstream).sum(), (x, weight, bias)))


optimisers()
clipping()
losses()
rows()
