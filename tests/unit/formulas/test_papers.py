"""Tests of operators from papers, written as formulas: values against loops of NumPy, gradients against finite
differences.
"""

from __future__ import annotations

import numpy as np

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.testing import gradcheck

lib = Library("formula_papers")


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(np.random.default_rng(seed).standard_normal(shape))


@lib.op
@formula
def wkv(k: Tensor, v: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Return the time mixing of RWKV (Peng et al., 2023)."""
    t, c = dims(2)

    def step(carry: tuple[Tensor, Tensor], key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        total, count = carry
        decay = opdsl.exp(-opdsl.exp(w[c]))
        return total * decay + opdsl.exp(key) * value, count * decay + opdsl.exp(key)

    total, count = opdsl.scan(step, (0.0, 0.0), k[..., t, c], v[..., t, c], along=t)
    before = total.order(t).outside(0.0)[t - 1], count.order(t).outside(0.0)[t - 1]
    bonus = opdsl.exp(u[c] + k[..., t, c])
    return ((before[0] + bonus * v[..., t, c]) / (before[1] + bonus)).order(..., t, c)


def test_wkv() -> None:
    inputs = numbers(4, 2), numbers(4, 2, seed=1), numbers(2, seed=2), numbers(2, seed=3)
    k, v, w, u = (input.numpy() for input in inputs)
    total, count, wanted = np.zeros(2), np.zeros(2), []
    for t in range(4):
        bonus, decay = np.exp(u + k[t]), np.exp(-np.exp(w))
        wanted.append((total + bonus * v[t]) / (count + bonus))
        total, count = total * decay + np.exp(k[t]) * v[t], count * decay + np.exp(k[t])
    assert np.allclose(wkv(*inputs).numpy(), np.stack(wanted), rtol=1e-12)
    assert gradcheck(wkv, tuple(input.requires_grad_() for input in inputs))


@lib.op
@formula
def windowed_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return attention to two neighbors on both sides (Beltagy et al., 2020)."""
    i, c, e = dims(3)
    w = dim(range(-2, 3))
    scores = (q[..., i, c] * k.outside(0.0)[..., i + w, c]).sum(c)
    there = (i + w >= 0) & (i + w < q.shape[-2])
    weights = opdsl.where(there, scores, -1e30).softmax(w)
    return (weights * v.outside(0.0)[..., i + w, e]).sum(w).order(..., i, e)


def test_windowed_attention() -> None:
    inputs = numbers(6, 4), numbers(6, 4, seed=1), numbers(6, 3, seed=2)
    q, k, v = (input.numpy() for input in inputs)
    wanted = []
    for i in range(6):
        near = slice(max(i - 2, 0), i + 3)
        weights = np.exp(k[near] @ q[i])
        wanted.append(weights @ v[near] / weights.sum())
    assert np.allclose(windowed_attention(*inputs).numpy(), np.stack(wanted), rtol=1e-12)
    assert gradcheck(windowed_attention, tuple(input.requires_grad_() for input in inputs))


@lib.op
@formula
def roi_means(x: Tensor, top: Tensor, left: Tensor) -> Tensor:
    """Return the means of channels over regions of 2 x 2 (Girshick, 2015)."""
    r, c = dims(2)
    h, w = dims(2, [2, 2])
    return x[c, top[r] + h, left[r] + w].mean((h, w)).order(r, c)


def test_roi_means() -> None:
    x, top, left = numbers(2, 5, 5), opdsl.tensor([0, 3]), opdsl.tensor([1, 3])
    wanted = [x.numpy()[:, a : a + 2, b : b + 2].mean((1, 2)) for a, b in ((0, 1), (3, 3))]
    assert np.allclose(roi_means(x, top, left).numpy(), np.stack(wanted), rtol=1e-12)
    assert gradcheck(lambda x: roi_means(x, top, left), (x.requires_grad_(),))


@lib.op
@formula
def switch_layer(x: Tensor, gate: Tensor, experts: Tensor) -> Tensor:
    """Return each token processed by the expert with the highest gate (Fedus et al., 2021)."""
    n, c, o, e = dims(4)
    logits = (x[n, c] * gate[c, e]).sum(c)
    best, weight = logits.argmax(e), logits.softmax(e).amax(e)
    return ((x[n, c] * experts[best, c, o]).sum(c) * weight).order(n, o)


def test_switch_layer() -> None:
    inputs = numbers(5, 4), numbers(4, 3, seed=1), numbers(3, 4, 2, seed=2)
    x, gate, experts = (input.numpy() for input in inputs)
    weights = np.exp(x @ gate) / np.exp(x @ gate).sum(1, keepdims=True)
    wanted = np.stack([row @ experts[p.argmax()] * p.max() for row, p in zip(x, weights, strict=True)])
    assert np.allclose(switch_layer(*inputs).numpy(), wanted, rtol=1e-12)
    assert gradcheck(switch_layer, tuple(input.requires_grad_() for input in inputs))


@lib.op
@formula
def segment_softmax(x: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return the softmax within each segment, as in graph attention (Velickovic et al., 2018)."""
    n = dim()
    most = opdsl.scatter(opdsl.full((count,), -1e30, dtype=x.dtype), (segment[n],), x[n], reduce="amax")
    e = opdsl.exp(x[n] - most[segment[n]])
    total = opdsl.scatter(opdsl.zeros(count, dtype=x.dtype), (segment[n],), e, reduce="sum")
    return (e / total[segment[n]]).order(n)


def test_segment_softmax() -> None:
    x, segment = numbers(6), opdsl.tensor([0, 0, 2, 2, 2, 1])
    e, places = np.exp(x.numpy()), segment.numpy()
    wanted = e / np.array([e[places == at].sum() for at in places])
    assert np.allclose(segment_softmax(x, segment, 4).numpy(), wanted, rtol=1e-12)
    assert gradcheck(lambda x: segment_softmax(x, segment, 4), (x.requires_grad_(),))


@lib.op
@formula
def viterbi(emission: Tensor, transition: Tensor) -> Tensor:
    """Return the score of the best path through a chain, by a step that folds (Viterbi, 1967)."""
    t, a, b = dims(3)

    def step(score: Tensor, emitted: Tensor) -> Tensor:
        return (score + transition[a, b]).amax(a).order(b)[a] + emitted

    return opdsl.scan(step, emission[0][a], emission[1:][t, a], along=t).order(t)[-1].amax(a)


def test_viterbi() -> None:
    inputs = numbers(5, 3), numbers(3, 3, seed=1)
    emission, transition = (input.numpy() for input in inputs)
    score = emission[0]
    for row in emission[1:]:
        score = (score[:, None] + transition).max(0) + row
    assert np.allclose(viterbi(*inputs).item(), score.max(), rtol=1e-12)
    assert gradcheck(viterbi, tuple(input.requires_grad_() for input in inputs))
