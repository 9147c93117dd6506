"""Operators over named dimensions, as users write them, and equal functions in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy
import torch
from torch.nn import functional

import opdsl
from opdsl import Library, Tensor, dim, dims, formula

lib = Library("dims_benchmarked")


@lib.op
@formula
def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute attention in which each position attends to itself and to earlier ones."""
    i, j, d, e = dims(4)
    s = (q[..., i, d] * k[..., j, d]).sum(d) / q.shape[-1] ** 0.5
    s = s if j <= i else opdsl.tensor(-math.inf)
    return (s.softmax(j) * v[..., j, e]).sum(j).order(..., i, e)


def causal_text(q: Any, k: Any, v: Any) -> Any:
    """Compute ``causal_attention`` in PyTorch."""
    s = q @ k.mT / q.shape[-1] ** 0.5
    s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    return s.softmax(-1) @ v


@lib.op
@formula
def grouped_attention(q: Tensor, k: Tensor, v: Tensor, group: int = 4) -> Tensor:
    """Compute attention in which each group of query heads shares one head of keys and values."""
    h, i, j, d, e = dims(5)
    s = (q[h, i, d] * k[h // group, j, d]).sum(d) / q.shape[-1] ** 0.5
    return (s.softmax(j) * v[h // group, j, e]).sum(j).order(h, i, e)


def grouped_text(q: Any, k: Any, v: Any) -> Any:
    """Compute ``grouped_attention`` in PyTorch."""
    keys, values = k.repeat_interleave(4, 0), v.repeat_interleave(4, 0)
    return (q @ keys.mT / q.shape[-1] ** 0.5).softmax(-1) @ values


@lib.op
@formula
def local_attention(q: Tensor, k: Tensor, v: Tensor, window: int = 8) -> Tensor:
    """Compute attention to the last ``window`` positions."""
    i, d, e = dims(3)
    o = dim(window)
    s = (q[..., i, d] * k.outside(0.0)[..., i - o, d]).sum(d) / q.shape[-1] ** 0.5
    s = s if i - o >= 0 else opdsl.tensor(-math.inf)
    return (s.softmax(o) * v.outside(0.0)[..., i - o, e]).sum(o).order(..., i, e)


def local_text(q: Any, k: Any, v: Any) -> Any:
    """Compute ``local_attention`` in PyTorch."""
    keys, values = (functional.pad(operand, (0, 0, 7, 0)).unfold(-2, 8, 1).flip(-1) for operand in (k, v))
    s = (q[..., None] * keys).sum(-2) / q.shape[-1] ** 0.5
    outside = torch.arange(q.shape[-2])[:, None] < torch.arange(8)
    return (s.masked_fill(outside, -math.inf).softmax(-1)[..., None, :] * values).sum(-1)


@lib.op
@formula
def rotated(x: Tensor, theta: float = 10000.0) -> Tensor:
    """Apply rotary position embeddings, which rotate pairs of neighboring elements."""
    t, i = dims(2)
    angle = t * opdsl.exp((i // 2) * (-2.0 * math.log(theta) / x.shape[-1]))
    turned = x[..., t, i ^ 1] * opdsl.sin(angle)
    return (x[..., t, i] * opdsl.cos(angle) + (turned if i % 2 == 1 else -turned)).order(..., t, i)


def rotated_text(x: Any) -> Any:
    """Compute ``rotated`` in PyTorch."""
    frequency = torch.exp(torch.arange(0, x.shape[-1] // 2) * (-2.0 * math.log(10000.0) / x.shape[-1]))
    angle = torch.arange(x.shape[-2])[:, None] * frequency
    c, s = angle.cos(), angle.sin()
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack([first * c - second * s, second * c + first * s], -1).flatten(-2)


@lib.op
@formula
def cross_entropy(x: Tensor, target: Tensor, ignore: int = -100) -> Tensor:
    """Compute the mean cross entropy over targets that are not ignored."""
    n, c = dims(2)
    lse, t = x[n, c].logsumexp(c), target[n]
    picked = x[n, t] if t != ignore else lse
    return (lse - picked).sum(n) / opdsl.where(t != ignore, 1.0, 0.0).sum(n)


@lib.op
@formula
def depthwise(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel with its own causal filter."""
    c, t, k = dims(3, [x.shape[-2], x.shape[-1], weight.shape[-1]])
    return (x.outside(0.0)[..., c, t + k - (weight.shape[-1] - 1)] * weight[c, k]).sum(k).order(..., c, t)


def depthwise_text(x: Any, weight: Any) -> Any:
    """Compute ``depthwise`` in PyTorch."""
    padded = functional.pad(x, (weight.shape[-1] - 1, 0))
    return functional.conv1d(padded, weight[:, None], groups=weight.shape[0])


@lib.op
@formula
def conv2d(x: Tensor, weight: Tensor) -> Tensor:
    """Compute a 2-d convolution with 3x3 windows and a padding of 1."""
    o, c, i, j, u, v = dims(6, [*weight.shape[:2], *x.shape[-2:], *weight.shape[2:]])
    return (x.outside(0.0)[..., c, i + u - 1, j + v - 1] * weight[o, c, u, v]).sum((c, u, v)).order(..., o, i, j)


@lib.op
@formula
def strided(x: Tensor, weight: Tensor) -> Tensor:
    """Compute a 1-d convolution with stride 2."""
    size = (x.shape[-1] - weight.shape[-1]) // 2 + 1
    o, c, t, k = dims(4, [*weight.shape[:2], size, weight.shape[-1]])
    return (x[..., c, 2 * t + k] * weight[o, c, k]).sum((c, k)).order(..., o, t)


@lib.op
@formula
def distances(x: Tensor, y: Tensor) -> Tensor:
    """Compute the L1 distance of each point of ``x`` from each point of ``y``."""
    i, j, k = dims(3)
    return opdsl.abs(x[..., i, k] - y[..., j, k]).sum(k).order(..., i, j)


@lib.op
@formula
def bilinear(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Sample an image at fractional coordinates by bilinear interpolation."""
    c, p = dims(2)
    down, right = opdsl.floor(y[p]), opdsl.floor(x[p])
    wy, wx = y[p] - down, x[p] - right
    r, q = down.to(opdsl.int64), right.to(opdsl.int64)
    seen = image.outside(0.0)
    above = seen[c, r, q] * (1 - wx) + seen[c, r, q + 1] * wx
    below = seen[c, r + 1, q] * (1 - wx) + seen[c, r + 1, q + 1] * wx
    return (above * (1 - wy) + below * wy).order(c, p)


def bilinear_text(image: Any, y: Any, x: Any) -> Any:
    """Compute ``bilinear`` in PyTorch."""
    _, height, width = image.shape
    grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1)[None, None]
    return functional.grid_sample(image[None], grid, align_corners=True)[0, :, 0]


@lib.op
@formula
def message_passing(x: Tensor, source: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Sum the weighted features of source nodes over the edges of each target node."""
    e, c = dims(2)
    message = x[source[e], c] * weight[e]
    return opdsl.scatter(opdsl.zeros(*x.shape, dtype=x.dtype), (target[e], c), message, reduce="sum")


@lib.op
@formula
def bag(weight: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
    """Average the rows of each bag, as ``embedding_bag`` does."""
    s, c = dims(2, [offsets.shape[0] - 1, weight.shape[1]])
    u = dim(range(offsets[s], offsets[s + 1]))
    return weight[ids[u], c].mean(u).order(s, c)


@lib.op
@formula
def mixture(y: Tensor, logits: Tensor) -> Tensor:
    """Sum the outputs of experts, weighted by the softmax of a gate."""
    n, e, c = dims(3)
    return (logits[n, e].softmax(e) * y[n, e, c]).sum(e).order(n, c)


@lib.op
@formula
def linear_gelu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Compute the GELU of a matrix product plus a bias."""
    h = x @ weight + bias
    return 0.5 * h * (1.0 + opdsl.erf(h * 0.7071067811865476))


class Written(NamedTuple):
    """Operator to measure, an equal function in PyTorch, and the arguments of both."""

    operator: Callable[..., Any]
    text: Callable[..., Any]
    arrays: tuple[numpy.ndarray[Any, Any], ...]


def operators() -> Mapping[str, Written]:
    """Return the operators to measure, by their label in tables."""
    draws = numpy.random.default_rng(0)

    def normal(*shape: int) -> numpy.ndarray[Any, Any]:
        return draws.normal(size=shape).astype(numpy.float32)

    def whole(below: int, count: int) -> numpy.ndarray[Any, Any]:
        return draws.integers(0, below, count)

    def between(count: int) -> numpy.ndarray[Any, Any]:
        return draws.uniform(1, 126, count).astype(numpy.float32)

    heads = tuple(normal(8, 256, 64) for _ in range(3))
    groups = normal(16, 128, 32), normal(4, 128, 32), normal(4, 128, 32)
    offsets = numpy.unique(numpy.concatenate([[0], whole(20_000, 999), [20_000]]))
    edges = normal(2_000, 64), whole(2_000, 20_000), whole(2_000, 20_000), normal(20_000)
    return {
        "causal attention": Written(causal_attention, causal_text, heads),
        "grouped attention": Written(grouped_attention, grouped_text, groups),
        "local attention": Written(local_attention, local_text, tuple(normal(8, 256, 32) for _ in range(3))),
        "rotary positions": Written(rotated, rotated_text, (normal(8, 512, 64),)),
        "cross entropy": Written(cross_entropy, functional.cross_entropy, (normal(2048, 1000), whole(1000, 2048))),
        "depthwise convolution": Written(depthwise, depthwise_text, (normal(4, 256, 1024), normal(256, 4))),
        "convolution 3 x 3": Written(
            conv2d, lambda x, w: functional.conv2d(x, w, padding=1), (normal(2, 16, 32, 32), normal(32, 16, 3, 3))
        ),
        "convolution in steps": Written(
            strided, lambda x, w: functional.conv1d(x, w, stride=2), (normal(4, 32, 512), normal(64, 32, 5))
        ),
        "distances": Written(distances, lambda x, y: torch.cdist(x, y, p=1), (normal(256, 64), normal(256, 64))),
        "bilinear reads": Written(bilinear, bilinear_text, (normal(32, 128, 128), between(20_000), between(20_000))),
        "message passing": Written(
            message_passing,
            lambda x, source, target, w: torch.zeros_like(x).index_add(0, target, x[source] * w[:, None]),
            edges,
        ),
        "mean of bags": Written(
            bag,
            lambda w, ids, at: functional.embedding_bag(ids, w, at[:-1], mode="mean"),
            (normal(5_000, 64), whole(5_000, 20_000), offsets),
        ),
        "mixture of experts": Written(
            mixture,
            lambda y, logits: (logits.softmax(-1)[..., None] * y).sum(1),
            (normal(1_000, 8, 128), normal(1_000, 8)),
        ),
        "linear and gelu": Written(
            linear_gelu,
            lambda x, w, b: functional.gelu(x @ w + b),
            (normal(512, 512), normal(512, 512) / 20, normal(512)),
        ),
    }
