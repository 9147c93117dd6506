"""Tests of scans whose steps fold or read elsewhere, against loops of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import DimError
from opdsl.testing import gradcheck

lib = Library("folding_steps")

X, W = np.random.default_rng(0).normal(size=(2, 4, 3))


def given(*arrays: Any) -> list[Tensor]:
    return [opdsl.from_numpy(np.ascontiguousarray(array)) for array in arrays]


def centered(x: Any, w: Any) -> Any:
    """Return the states of a scan in NumPy whose step centers the state, scales it by a row of weights, and
    adds a row.
    """
    state, states = np.zeros(x.shape[1]), []
    for row, weight in zip(x, w, strict=True):
        state = (state - state.mean()) * weight + row
        states.append(state)
    return np.stack(states)


@lib.op
@formula
def closes_over_a_dim(x: Tensor, w: Tensor) -> Tensor:
    t, i = dims(2)
    return opdsl.scan(lambda h, v: (h - h.mean(i)) * w[t, i] + v, 0.0, x[t, i], along=t).order(t, i)


@lib.op
@formula
def closes_over_a_value(x: Tensor, w: Tensor) -> Tensor:
    t, i = dims(2)
    weight = w[t, i]
    return opdsl.scan(lambda h, v: (h - h.mean(i)) * weight + v, 0.0, x[t, i], along=t).order(t, i)


@lib.op
@formula
def closes_over_a_tensor(x: Tensor, w: Tensor) -> Tensor:
    return opdsl.scan(lambda h, v: (h - h.mean(-1, keepdim=True)) * w + v, 0.0, x, along=0)


@pytest.mark.parametrize("operator", [closes_over_a_dim, closes_over_a_value, closes_over_a_tensor])
def test_what_a_step_closes_over_is_read_at_its_turn(operator: Any) -> None:
    assert np.allclose(operator(*given(X, W)).numpy(), centered(X, W), rtol=1e-12)


@pytest.mark.parametrize("operator", [closes_over_a_dim, closes_over_a_value, closes_over_a_tensor])
def test_gradients_of_what_a_step_closes_over(operator: Any) -> None:
    assert gradcheck(operator, [leaf.requires_grad_() for leaf in given(X, W)])


@pytest.mark.parametrize("operator", [closes_over_a_dim, closes_over_a_value, closes_over_a_tensor])
def test_no_turns(operator: Any) -> None:
    result = operator(*given(X[:0], W[:0]))
    assert (result.shape, result.dtype) == ((0, 3), opdsl.float64)


@lib.op
@formula
def largest_so_far(x: Tensor) -> Tensor:
    t, i = dims(2)
    return opdsl.scan(lambda h, v: opdsl.maximum(h, v.amax(i)), -1e30, x[t, i], along=t).order(t)


def test_a_result_varies_along_the_dims_of_what_steps_give() -> None:
    assert np.array_equal(largest_so_far(*given(X)).numpy(), np.maximum.accumulate(X.max(1)))


@lib.op
@formula
def in_reverse(x: Tensor) -> Tensor:
    t, i = dims(2)
    return opdsl.scan(lambda h, v: h - h.mean(i) + v * t, 0.0, x[t, i], along=t, reverse=True).order(t, i)


def test_a_dim_is_the_position_of_the_turn() -> None:
    weighted = (X * np.arange(4)[:, None])[::-1]
    assert np.allclose(in_reverse(*given(X)).numpy(), centered(weighted, np.ones((4, 3)))[::-1], rtol=1e-12)


@lib.op
@formula
def filtered(x: Tensor, b: Tensor, a: Tensor) -> Tensor:
    """Return the output of a second-order filter, in transposed direct form II."""
    t, c = dims(2)

    def step(carry: tuple[Tensor, Tensor, Tensor], v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        _, first, second = carry
        y = b[0] * v + first
        return y, b[1] * v - a[1] * y + second, b[2] * v - a[2] * y

    y, _, _ = opdsl.scan(step, (0.0, 0.0, 0.0), x[c, t], along=t)
    return y.order(c, t)


def test_a_step_reads_an_element_of_what_it_closes_over() -> None:
    from scipy.signal import lfilter

    b, a = np.array([0.5, 0.3, -0.2]), np.array([1.0, -0.4, 0.1])
    assert np.allclose(filtered(*given(X, b, a)).numpy(), lfilter(b, a, X), rtol=1e-12)


@lib.op
@formula
def most_likely(start: Tensor, moves: Tensor, sees: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
    """Return the result of the forward algorithm for a hidden Markov model, and the number of its steps."""
    t, s, r = dims(3)

    def step(carry: tuple[Tensor, Tensor], seen: Tensor) -> tuple[Tensor, Tensor]:
        alpha, count = carry
        return (alpha.order(s)[r] + moves[r, s]).logsumexp(r) + sees[s, seen], count + 1

    alpha, count = opdsl.fold(step, (start[s], 0), observed[t], over=t)
    return alpha.order(s), count


def test_carried_values_vary_along_different_dims() -> None:
    start, moves, sees = np.log(W[0] ** 2), np.log(X[:3] ** 2), np.log(W[:3] ** 2)
    alpha = start
    for seen in (2, 0, 1):
        alpha = np.log(np.exp(alpha[:, None] + moves).sum(0)) + sees[:, seen]
    result, count = most_likely(*given(start, moves, sees, np.array([2, 0, 1])))
    assert np.allclose(result.numpy(), alpha, rtol=1e-12)
    assert count.item() == 3


@lib.op
@formula
def since_first(x: Tensor) -> Tensor:
    t, i = dims(2)

    def step(carry: tuple[Tensor, Tensor], v: Tensor) -> tuple[Tensor, Any]:
        total, has_begun = carry
        return opdsl.where(has_begun, total + v.mean(i), 0.0), True

    total, _ = opdsl.scan(step, (0.0, False), x[t, i], along=t)
    return total.order(t)


def test_a_step_gives_a_truth_of_python() -> None:
    means = X.mean(1)
    assert np.allclose(since_first(*given(X)).numpy(), np.cumsum(means) - means[0], rtol=1e-12, atol=1e-15)


@lib.op
@formula
def visited(order: Tensor) -> Tensor:
    t = dim()
    i = dim(order.shape[0])
    start = opdsl.zeros(order.shape[0], dtype=opdsl.bool)
    return opdsl.fold(lambda seen, at: seen | (i == at) & ~seen.order(i)[at], start[i], order[t], over=t).order(i)


def test_nothing_is_read_where_there_are_no_turns() -> None:
    result = visited(opdsl.zeros(0, dtype=opdsl.int64))
    assert (result.shape, result.dtype) == ((0,), opdsl.bool)


@lib.op
@formula
def ragged(x: Tensor, w: Tensor, decay: Tensor, offsets: Tensor) -> Tensor:
    s, i = dims(2)
    u = dim(range(offsets[s], offsets[s + 1]))
    start = opdsl.zeros(x.shape[1], dtype=x.dtype)[i]
    return opdsl.scan(lambda h, v: (h - h.mean(i)) * w[u, i] + v * decay[s], start, x[u, i], along=u).order(u, i)


def test_a_step_along_ranges_closes_over_dims() -> None:
    decay = np.array([0.5, 2.0, -1.0])
    parts = [centered(decay[s] * X[a:b], W[a:b]) for s, (a, b) in enumerate(((0, 1), (1, 1), (1, 4))) if a < b]
    result = ragged(*given(X, W, decay, np.array([0, 1, 1, 4])))
    assert np.allclose(result.numpy(), np.concatenate(parts), rtol=1e-12)


def test_numbers_vary_along_no_dims() -> None:
    t, s = dims(2)
    with pytest.raises(DimError, match=r"use a tensor that does as init"):
        opdsl.fold(lambda h, v: h.order(s)[0] + v, 0.0, opdsl.ones(3)[t], over=t)


def test_other_ways_to_all_positions_are_refused() -> None:
    t, i = dims(2)
    x, start = opdsl.ones(2, 3), opdsl.zeros(3)
    helper = {"weight": x[t, i]}
    with pytest.raises(DimError, match=r"result of a step varies along \(t,\)"):
        opdsl.scan(lambda h, v: h.mean(i) * helper["weight"] + v, start[i], x[t, i], along=t)
