"""Tests of operators from papers on attention, routing and quantization, as formulas, compared with NumPy and
PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.interop.torch import register
from opdsl.testing import gradcheck

lib = Library("papers_of_attention")


@lib.op
@formula
def gated_delta(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, alpha: Tensor) -> Tensor:
    """Compute the gated delta rule (Yang et al., 2024): a scan whose state is a matrix and whose step folds it."""
    t, d, e = dims(3)

    def step(state: Tensor, k: Tensor, v: Tensor, beta: Tensor, alpha: Tensor) -> Tensor:
        kept = alpha * state
        return kept + beta * (v - (kept * k).sum(d)) * k

    start = opdsl.zeros(k.shape[-1], v.shape[-1], dtype=k.dtype)
    states = opdsl.scan(step, start[d, e], k[..., t, d], v[..., t, e], beta[..., t], alpha[..., t], along=t)
    return (states * q[..., t, d]).sum(d).order(..., t, e)


@lib.op
@formula
def differential_attention(q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, v: Tensor, weight: float = 0.5) -> Tensor:
    """Compute attention by the difference of two attention maps (Ye et al., 2024)."""
    s, t, d, e = dims(4)
    scale = 1 / math.sqrt(q1.shape[-1])
    one = ((q1[..., s, d] * k1[..., t, d]).sum(d) * scale).softmax(t)
    other = ((q2[..., s, d] * k2[..., t, d]).sum(d) * scale).softmax(t)
    return ((one - weight * other) * v[..., t, e]).sum(t).order(..., s, e)


@lib.op
@formula
def forgetting_attention(q: Tensor, k: Tensor, v: Tensor, log_forget: Tensor) -> Tensor:
    """Compute causal attention whose scores decay by accumulated forget gates (Lin et al., 2025)."""
    i, j, d, e = dims(4)
    total = log_forget.cumsum(-1)
    scores = (q[..., i, d] * k[..., j, d]).sum(d) / q.shape[-1] ** 0.5 + total[..., i] - total[..., j]
    scores = scores if j <= i else opdsl.tensor(-math.inf)
    return (scores.softmax(j) * v[..., j, e]).sum(j).order(..., i, e)


@lib.op
@formula
def entmax_bisected(self: Tensor) -> Tensor:
    """Compute 1.5-entmax by bisection (Peters et al., 2019)."""
    x = self / 2
    high = x.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(40):
        middle = (low + high) / 2
        mass = opdsl.clamp_min(x - middle, 0.0).square().sum(-1, keepdim=True)
        low, high = opdsl.where(mass >= 1, middle, low), opdsl.where(mass >= 1, high, middle)
    p = opdsl.clamp_min(x - low, 0.0).square()
    return p / p.sum(-1, keepdim=True)


@lib.op
@formula
def scalar_quantized(self: Tensor, levels: int = 5) -> tuple[Tensor, Tensor]:
    """Compute finite scalar quantization with straight-through gradients, and its codes (Mentzer et al., 2023)."""
    half = (levels - 1) / 2
    bounded = opdsl.tanh(self) * half
    rounded = bounded + (bounded.round() - bounded).detach()
    c = dim(self.shape[-1])
    digits = (rounded.detach() + half).to(opdsl.int64)
    return rounded / half, (digits[..., c] * levels**c).sum(c)


@lib.op
@formula
def balance_loss(logits: Tensor) -> Tensor:
    """Compute the loss that balances the load of experts (Fedus et al., 2021)."""
    n, e = dims(2)
    p = logits[n, e].softmax(e)
    tokens, experts = logits.shape
    hits = opdsl.scatter(opdsl.zeros(experts, dtype=logits.dtype), (p.argmax(e),), 1.0, reduce="sum")
    return experts * (hits[e] / tokens * p.mean(n)).sum(e)


@lib.op
@formula
def matrix_nms(boxes: Tensor, scores: Tensor) -> Tensor:
    """Reduce scores of boxes by their overlaps with better boxes (Wang et al., 2020)."""
    i, j = dims(2)
    area = (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])
    width = (opdsl.minimum(boxes[i, 2], boxes[j, 2]) - opdsl.maximum(boxes[i, 0], boxes[j, 0])).clamp(min=0)
    height = (opdsl.minimum(boxes[i, 3], boxes[j, 3]) - opdsl.maximum(boxes[i, 1], boxes[j, 1])).clamp(min=0)
    overlap = width * height / (area + area.order(i)[j] - width * height)
    is_better = scores[j] > scores[i]
    overlap = overlap if is_better else 0.0
    most = overlap.amax(j)
    decay = (1 - overlap) / (1 - most.order(i)[j]) if is_better else opdsl.tensor(math.inf)
    return (scores[i] * opdsl.minimum(decay.amin(j), opdsl.tensor(1.0))).order(i)


@lib.op
@formula
def turned_by_halves(x: Tensor) -> Tensor:
    """Apply rotary position embeddings to pairs of the two halves of channels (Su et al., 2021)."""
    t, c = dim(), dim(x.shape[-1])
    half = x.shape[-1] // 2
    angle = t.to(x.dtype) * opdsl.exp((c % half).to(x.dtype) * (-math.log(10000.0) / half))
    other = x[..., t, (c + half) % x.shape[-1]]
    turned = opdsl.where(c < half, -other, other)
    return (x[..., t, c] * opdsl.cos(angle) + turned * opdsl.sin(angle)).order(..., t, c)


@lib.op
@formula
def turned_in_part(x: Tensor, cos: Tensor, sin: Tensor, ids: Tensor, rotary: int = 4) -> Tensor:
    """Apply rotary position embeddings from tables to the first channels only (Black et al., 2022)."""
    b, t, h, c = dims(4)
    half, near, at = rotary // 2, x.outside("replicate"), ids[b, t]
    other = -near[b, t, h, c + half] if c < half else near[b, t, h, c - half]
    turned = x[b, t, h, c] * cos.outside(1.0)[at, c % half] + other * sin.outside(0.0)[at, c % half]
    return (turned if c < rotary else x[b, t, h, c]).order(b, t, h, c)


@lib.op
@formula
def retention(q: Tensor, k: Tensor, v: Tensor, decay: Tensor) -> Tensor:
    """Compute attention whose weights decay with distance (Sun et al., 2023)."""
    h, i, j, d, e = dims(5)
    weight = decay[h] ** (i - j) if i >= j else 0.0
    scores = (q[..., h, i, d] * k[..., h, j, d]).sum(d) * weight
    return (scores * v[..., h, j, e]).sum(j).order(..., h, i, e)


def numbers(*shape: int, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


def inputs(*arrays: Any) -> list[Tensor]:
    return [opdsl.from_numpy(np.ascontiguousarray(array)).requires_grad_() for array in arrays]


def test_gated_delta() -> None:
    q, k, v = numbers(7, 3, seed=0), numbers(7, 3, seed=1), numbers(7, 4, seed=2)
    beta, alpha = np.random.default_rng(3).uniform(size=(2, 7))
    state, wanted = np.zeros((3, 4)), []
    for t in range(7):
        state = alpha[t] * state
        state = state + beta[t] * np.outer(k[t], v[t] - k[t] @ state)
        wanted.append(q[t] @ state)
    arguments = inputs(q, k, v, beta, alpha)
    assert np.allclose(gated_delta(*arguments).detach().numpy(), wanted)
    assert gradcheck(gated_delta, arguments)


def test_differential_attention() -> None:
    arrays = [numbers(2, 3, 4, seed=at) for at in range(5)]
    q1, k1, q2, k2, v = map(torch.from_numpy, arrays)
    wanted = ((q1 @ k1.mT / 2).softmax(-1) - 0.5 * (q2 @ k2.mT / 2).softmax(-1)) @ v
    arguments = inputs(*arrays)
    assert np.allclose(
        differential_attention(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]).detach().numpy(),
        wanted.numpy(),
    )
    assert gradcheck(differential_attention, arguments)


def test_forgetting_attention() -> None:
    arrays = [numbers(2, 4, 3, seed=at) for at in range(3)]
    log_forget = -np.random.default_rng(4).uniform(size=(2, 4))
    q, k, v = map(torch.from_numpy, arrays)
    total = torch.from_numpy(log_forget).cumsum(-1)
    scores = q @ k.mT / 3**0.5 + total[..., :, None] - total[..., None, :]
    wanted = scores.masked_fill(~torch.ones(4, 4, dtype=torch.bool).tril(), -math.inf).softmax(-1) @ v
    arguments = inputs(*arrays, log_forget)
    assert np.allclose(forgetting_attention(*arguments).detach().numpy(), wanted.numpy())
    assert gradcheck(forgetting_attention, arguments)


def test_entmax() -> None:
    p = entmax_bisected(opdsl.tensor([[1.0, 2.0, 0.1]], dtype=opdsl.float64))
    threshold = (3 - 7**0.5) / 4  # the threshold of two kept elements: (0.5 - t) ** 2 + (1 - t) ** 2 = 1
    assert np.allclose(p.numpy(), [[(0.5 - threshold) ** 2, (1 - threshold) ** 2, 0]], atol=1e-10)


def test_scalar_quantization() -> None:
    x = numbers(3, 2, seed=0)
    (arguments,) = inputs(x)
    value, codes = scalar_quantized(arguments)
    value.sum().backward()
    digits = np.round(np.tanh(x) * 2)
    assert np.allclose(value.detach().numpy(), digits / 2)
    assert codes.tolist() == ((digits + 2) @ [1, 5]).tolist()
    assert arguments.grad is not None
    assert np.allclose(arguments.grad.numpy(), 1 - np.tanh(x) ** 2)


def test_balance_loss() -> None:
    x = numbers(6, 4, seed=0)
    p = torch.from_numpy(x).softmax(-1)
    share = torch.bincount(p.argmax(-1), minlength=4).double() / 6
    (arguments,) = inputs(x)
    assert np.allclose(balance_loss(arguments).item(), (4 * (share * p.mean(0)).sum()).item(), rtol=1e-13)
    assert gradcheck(balance_loss, (arguments,))


def overlapping(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Compute ``matrix_nms`` in PyTorch."""
    corners = torch.minimum(boxes[:, None, 2:], boxes[:, 2:]) - torch.maximum(boxes[:, None, :2], boxes[:, :2])
    common = corners.clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    is_better = scores > scores[:, None]
    overlap = torch.where(is_better, common / (area[:, None] + area - common), 0.0)
    decay = torch.where(is_better, (1 - overlap) / (1 - overlap.amax(1)), math.inf).amin(1)
    return scores * decay.clamp(max=1)


def test_matrix_nms() -> None:
    corner = np.random.default_rng(0).uniform(0.0, 1.0, size=(6, 2))
    boxes = np.concatenate([corner, corner + 0.3 + np.random.default_rng(1).uniform(0.0, 1.0, size=(6, 2))], 1)
    arrays = boxes, np.random.default_rng(2).uniform(0.1, 0.9, size=6)
    ours, theirs = inputs(*arrays), [torch.from_numpy(array).requires_grad_() for array in arrays]
    actual, wanted = matrix_nms(ours[0], ours[1]), overlapping(theirs[0], theirs[1])
    assert np.allclose(actual.detach().numpy(), wanted.detach().numpy())
    first = opdsl.autograd.grad([actual.sum()], ours, create_graph=True)
    wanted_first = torch.autograd.grad(wanted.sum(), theirs, create_graph=True)
    assert all(
        np.allclose(one.detach().numpy(), other.detach().numpy())
        for one, other in zip(first, wanted_first, strict=True)
    )
    (second,) = opdsl.autograd.grad([first[0].square().sum()], ours[:1])
    (wanted_second,) = torch.autograd.grad(wanted_first[0].square().sum(), theirs[:1])
    assert np.allclose(second.numpy(), wanted_second.numpy())


def test_turned_by_halves() -> None:
    for length in (1, 3):
        x = torch.from_numpy(numbers(2, length, 6, seed=0))
        frequency = torch.exp(torch.arange(3, dtype=x.dtype) * (-math.log(10000.0) / 3)).repeat(2)
        angle = torch.arange(length)[:, None] * frequency
        wanted = x * angle.cos() + torch.cat([-x[..., 3:], x[..., :3]], -1) * angle.sin()
        (arguments,) = inputs(x.numpy())
        assert np.allclose(turned_by_halves(arguments).detach().numpy(), wanted.numpy())


def test_turned_in_part() -> None:
    compiled = opdsl.compile(lambda *arguments: turned_in_part(*arguments))
    cos, sin = numbers(9, 2, seed=0), numbers(9, 2, seed=1)
    for length in (1, 3):
        x, ids = numbers(2, length, 2, 6, seed=2), np.random.default_rng(3).integers(0, 9, size=(2, length))
        of_cos, of_sin = (np.tile(table[ids], 2)[:, :, None] for table in (cos, sin))
        head, rest = x[..., :4], x[..., 4:]
        turned = head * of_cos + np.concatenate([-head[..., 2:], head[..., :2]], -1) * of_sin
        arguments = [opdsl.from_numpy(array) for array in (x, cos, sin, ids)]
        for function in (turned_in_part, compiled):
            assert np.allclose(function(*arguments).numpy(), np.concatenate([turned, rest], -1))


def retained(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """Compute ``retention`` in PyTorch."""
    apart = torch.arange(q.shape[-2])[:, None] - torch.arange(q.shape[-2])
    weights = torch.where(apart >= 0, decay[:, None, None] ** apart.clamp(min=0), 0.0)
    return (q @ k.mT * weights) @ v


def test_retention_with_symbolic_sizes() -> None:
    register(retention)
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *arguments: torch.ops.papers_of_attention.retention(*arguments),
        fullgraph=True,
        dynamic=True,
        backend="aot_eager",
    )
    for batch, length in ((2, 4), (3, 5)):
        q, k, v = (torch.from_numpy(numbers(batch, 2, length, 3, seed=seed)) for seed in range(3))
        decay = torch.tensor([0.5, 0.9], dtype=torch.float64)
        torch.testing.assert_close(compiled(q, k, v, decay), retained(q, k, v, decay))
