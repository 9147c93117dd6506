"""Tests of ragged ranges, ``opdsl.dim(range(offsets[s], offsets[s + 1]))``, against loops of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import DimError, PositionError
from opdsl.testing import gradcheck

lib = Library("ragged")

FOLDS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0) if len(x) else np.full(x.shape[1:], np.nan),
    "prod": lambda x: x.prod(0),
    "amax": lambda x: x.max(0) if len(x) else np.full(x.shape[1:], -np.inf),
    "amin": lambda x: x.min(0) if len(x) else np.full(x.shape[1:], np.inf),
    "any": lambda x: (x != 0).any(0),
    "all": lambda x: (x != 0).all(0),
    "count_nonzero": lambda x: (x != 0).sum(0),
    "logsumexp": lambda x: np.log(np.exp(x).sum(0)) if len(x) else np.full(x.shape[1:], -np.inf),
}


@lib.op
@formula
def folded(x: Tensor, offsets: Tensor, how: str = "sum") -> Tensor:
    s, d = dims(2)
    u = dim(range(offsets[s], offsets[s + 1]))
    return getattr(opdsl, how)(x[u, d], u).order(s, d)


@lib.op
@formula
def softmax_of_ranges(x: Tensor, offsets: Tensor, log: bool = False) -> Tensor:
    s = dims(1)
    u = dim(range(offsets[s], offsets[s + 1]))
    return (x[..., u].log_softmax(u) if log else x[..., u].softmax(u)).order(..., u)


@lib.op
@formula
def sparse_product(values: Tensor, columns: Tensor, offsets: Tensor, dense: Tensor) -> Tensor:
    """Return the product of a matrix in compressed sparse rows and a dense matrix."""
    r, n = dims(2)
    u = dim(range(offsets[r], offsets[r + 1]))
    return (values[u] * dense[columns[u], n]).sum(u).order(r, n)


@lib.op
@formula
def sparse_diagonal(values: Tensor, columns: Tensor, offsets: Tensor, dense: Tensor) -> Tensor:
    """Return the diagonal of a sparse matrix times the transpose of a dense one; row and column differ within a
    range.
    """
    r = dims(1)
    u = dim(range(offsets[r], offsets[r + 1]))
    return (values[u] * dense[r, columns[u]]).sum(u).order(r)


@lib.op
@formula
def ragged_attention(q: Tensor, k: Tensor, v: Tensor, starts: Tensor, stops: Tensor) -> Tensor:
    """Return attention of one query per sequence to the keys of that sequence: decoding with packed caches."""
    b, d, e = dims(3)
    u = dim(range(starts[b], stops[b]))
    p = ((q[b, d] * k[u, d]).sum(d) / q.shape[-1] ** 0.5).softmax(u)
    return (p * v[u, e]).sum(u).order(b, e)


@lib.op
@formula
def carried(
    x: Tensor, decay: Tensor, start: Tensor, offsets: Tensor, reverse: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    s, d = dims(2)
    u = dim(range(offsets[s], offsets[s + 1]))
    step = lambda h, a, x: a * h + x  # noqa: E731
    states = opdsl.scan(step, start[s, d], decay[s], x[u, d], along=u, reverse=reverse)
    last = opdsl.fold(step, start[s, d], decay[s], x[u, d], over=u)
    most = opdsl.fold(lambda m, x: opdsl.maximum(m, x), 0.0, x[u, d], over=u)
    return states.order(u, d), last.order(s, d), most.order(s, d)


@lib.op
@formula
def carried_by_turns(x: Tensor, start: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    s, d = dims(2)
    u = dim(range(offsets[s], offsets[s + 1]))
    step = lambda h, x: x * h.sum(d) / 3 + h  # noqa: E731
    states = opdsl.scan(step, start[s, d], x[u, d], along=u)
    return states.order(u, d), opdsl.fold(step, start[s, d], x[u, d], over=u).order(s, d)


OFFSETS = [[0, 2, 2, 6], [1, 1, 4, 5], [0, 6], [0, 0, 0], [0], [3, 4, 6]]


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


def pieces(x: Any, offsets: list[int]) -> list[Any]:
    return [x[a:b] for a, b in pairwise(offsets)]


def rows(parts: list[Any], width: int) -> Any:
    return np.array(parts) if parts else np.zeros((0, width))


def of(array: Any) -> Tensor:
    return opdsl.from_numpy(np.ascontiguousarray(array))


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("how", FOLDS)
def test_folds(how: str, offsets: list[int]) -> None:
    x = numbers(6, 3)
    x[2, 1] = 0
    wanted = rows([FOLDS[how](piece) for piece in pieces(x, offsets)], 3)
    for _ in range(3):
        got = folded(of(x), opdsl.tensor(offsets), how)
        assert got.shape == wanted.shape
        assert np.allclose(got.numpy(), wanted, rtol=1e-13, equal_nan=True)
    if how in ("sum", "mean", "prod", "amax", "logsumexp") and offsets == [1, 1, 4, 5] and how != "mean":
        sure = opdsl.tensor([1, 2, 4, 5])
        assert gradcheck(lambda x: folded(x, sure, how), (of(x).requires_grad_(),))


@pytest.mark.parametrize(("dtype", "wide"), [("int32", "int64"), ("bool", "int64"), ("float16", "float16")])
def test_dtypes_are_those_of_a_sum(dtype: str, wide: str) -> None:
    x = opdsl.ones(4000, 1, dtype=getattr(opdsl, dtype))
    got = folded(x, opdsl.tensor([0, 3000, 4000]))
    assert (got.dtype.name, got.tolist()) == (wide, [[3000], [1000]])  # 16 bits are added in float32
    assert folded(opdsl.tensor([[3], [-7], [5]], dtype=opdsl.int8), opdsl.tensor([0, 0, 3]), "amax").tolist() == [
        [-128],
        [5],
    ]


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("log", [False, True])
def test_softmax(offsets: list[int], log: bool) -> None:
    x, wanted = numbers(2, 6), np.zeros((2, 6))
    for a, b in pairwise(offsets):
        e = np.exp(x[:, a:b])
        wanted[:, a:b] = np.log(e / e.sum(1, keepdims=True)) if log else e / e.sum(1, keepdims=True)
    at = opdsl.tensor(offsets)
    assert np.allclose(softmax_of_ranges(of(x), at, log).numpy(), wanted, rtol=1e-13)
    if len(offsets) == 4:
        assert gradcheck(lambda x: softmax_of_ranges(x, at, log), (of(x).requires_grad_(),))
    assert np.allclose(opdsl.vmap(lambda x: softmax_of_ranges(x, at, log))(of(np.stack([x, x])))[1].numpy(), wanted)


@pytest.mark.parametrize("offsets", [[0, 2, 2, 5], [0, 5, 5, 5], [0, 0, 0, 0]], ids=str)
def test_sparse_products(offsets: list[int]) -> None:
    values, columns, dense = numbers(5), np.array([0, 2, 1, 1, 3]), numbers(4, 4, seed=1)
    matrix = np.zeros((3, 4))
    for row, (a, b) in enumerate(pairwise(offsets)):
        for u in range(a, b):
            matrix[row, columns[u]] += values[u]
    at, where = opdsl.tensor(offsets), of(columns)
    assert np.allclose(sparse_product(of(values), where, at, of(dense)).numpy(), matrix @ dense)
    assert np.allclose(sparse_diagonal(of(values), where, at, of(dense[:3])).numpy(), (matrix * dense[:3]).sum(1))
    inputs = (of(values).requires_grad_(), of(dense).requires_grad_())
    assert gradcheck(lambda v, d: sparse_product(v, where, at, d), inputs)
    compiled = opdsl.compile(lambda v, d: sparse_product(v, where, at, d) * 2)
    assert np.allclose(compiled(*inputs).detach().numpy(), 2 * matrix @ dense)


def test_attention_over_packed_caches() -> None:
    q, k, v, starts, stops = numbers(3, 4), numbers(9, 4), numbers(9, 2), [0, 2, 5], [2, 4, 9]
    wanted = []
    for b, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        e = np.exp(k[start:stop] @ q[b] / 2)
        wanted.append(e @ v[start:stop] / e.sum())
    ends = opdsl.tensor(starts), opdsl.tensor(stops, dtype=opdsl.int32)
    inputs = [of(one).requires_grad_() for one in (q, k, v)]
    assert np.allclose(ragged_attention(*inputs, *ends).detach().numpy(), wanted)
    assert gradcheck(lambda q, k, v: ragged_attention(q, k, v, *ends), inputs)


def recurrence(x: Any, decay: Any, start: Any, offsets: list[int], reverse: bool) -> tuple[Any, Any, Any]:
    states, last, most = np.zeros_like(x), start.copy(), np.zeros_like(start)
    for s, (a, b) in enumerate(pairwise(offsets)):
        carry = start[s].copy()
        for p in range(a, b):
            last[s], most[s] = decay[s] * last[s] + x[p], np.maximum(most[s], x[p])
        for p in reversed(range(a, b)) if reverse else range(a, b):
            carry = states[p] = decay[s] * carry + x[p]
    return states, last, most


@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_and_folds_of_ones_own(offsets: list[int], reverse: bool) -> None:
    count = len(offsets) - 1
    arrays = numbers(6, 2), numbers(count, seed=1), numbers(count, 2, seed=2)
    at = opdsl.tensor(offsets)
    for got, wanted in zip(carried(*map(of, arrays), at, reverse), recurrence(*arrays, offsets, reverse), strict=True):
        assert np.allclose(got.numpy(), wanted, rtol=1e-13)
    if count == 3:
        assert gradcheck(lambda x, d, s: carried(x, d, s, at, reverse), [of(one).requires_grad_() for one in arrays])


def test_steps_that_fold_begin_anew_with_each_range() -> None:
    offsets, x, start = [0, 2, 2, 5], numbers(6, 2), numbers(3, 2, seed=2)
    states, last = np.zeros_like(x), start.copy()
    for s, (a, b) in enumerate(pairwise(offsets)):
        for p in range(a, b):
            states[p] = last[s] = x[p] * last[s].sum() / 3 + last[s]
    inputs = of(x).requires_grad_(), of(start).requires_grad_()
    got = carried_by_turns(*inputs, opdsl.tensor(offsets))
    assert np.allclose(got[0].detach().numpy(), states)
    assert np.allclose(got[1].detach().numpy(), last)
    assert gradcheck(lambda x, s: carried_by_turns(x, s, opdsl.tensor(offsets)), inputs)


@pytest.mark.parametrize("offsets", [[0, 3, 2, 6], [-1, 2, 6], [0, 2, 7], [7, 7]], ids=str)
def test_ranges_out_of_order_or_outside_are_refused_at_each_call(offsets: list[int]) -> None:
    x = of(numbers(6, 3))
    for _ in range(3):
        with pytest.raises(PositionError, match="the ranges of the dim u are not consecutive in a dimension"):
            folded(x, opdsl.tensor(offsets))
        assert folded(x, opdsl.tensor([0, 6])).shape == (1, 3)


def test_elements_outside_all_ranges_are_never_read() -> None:
    """Elements outside all ranges are never read: they may be NaN or indices out of bounds."""
    offsets, columns = opdsl.tensor([1, 2, 4]), opdsl.tensor([-9, 0, 2, 1, 99])
    values = opdsl.tensor([float("nan"), 1.0, 2.0, 3.0, -1.0], dtype=opdsl.float64, requires_grad=True)
    dense = of(numbers(3, 2)).requires_grad_()

    def text(values: Tensor, dense: Tensor) -> Tensor:
        return sparse_product(opdsl.log(values), columns, offsets, dense)

    for _ in range(3):
        values.grad = dense.grad = None
        text(values, dense).sum().backward()
        assert values.grad is not None
        assert dense.grad is not None
        sums, logs = dense.detach().sum(1).numpy(), np.log([1.0, 2.0, 3.0])
        # the logarithm of the unread elements is outside of the formula, so the caller gets 0 times infinity there
        assert np.allclose(values.grad.numpy()[1:4], np.array([sums[0], sums[2] / 2, sums[1] / 3]))
        assert np.allclose(dense.grad.numpy(), np.array([logs[0], logs[2], logs[1]])[:, None])
    with Library("ragged_padding") as local:

        @local.op
        @formula
        def normalized(x: Tensor, weight: Tensor, offsets: Tensor) -> Tensor:
            s, d = dims(2)
            u = dim(range(offsets[s], offsets[s + 1]))
            row = x[u, d] / x[u, d].square().sum(d).sqrt() * weight[d]
            return row.sum(u).order(s, d)

        x = numbers(5, 2)
        x[0], x[4] = np.nan, 0
        inputs = of(x).requires_grad_(), of(numbers(2)).requires_grad_()
        normalized(*inputs, offsets).sum().backward()
        assert np.isfinite(inputs[1].grad.numpy()).all()
        assert inputs[0].grad.numpy()[[0, 4]].tolist() == [[0, 0], [0, 0]]


def test_second_gradients_and_tangents() -> None:
    at = opdsl.tensor([0, 2, 2, 5])
    x = of(numbers(6, 2)).requires_grad_()

    def first(x: Tensor) -> Tensor:
        y = folded(x, at, "logsumexp")[2] + carried(x, of(numbers(3)), of(numbers(3, 2)), at)[1].square().sum(0)
        (gradient,) = opdsl.autograd.grad(y.sum(), [x], create_graph=True)
        return gradient

    assert gradcheck(first, (x,))
    tangent = of(numbers(6, 2, seed=5))
    _, pushed = opdsl.autograd.functional.jvp(lambda x: folded(x, at, "prod"), (x.detach(),), (tangent,))
    step = 1e-6
    moved = [folded(x.detach() + sign * step * tangent, at, "prod").numpy() for sign in (1, -1)]
    assert np.allclose(pushed.numpy(), (moved[0] - moved[1]) / (2 * step), atol=1e-7)


def refused(text: Callable[..., Tensor]) -> str:
    with Library("ragged_refusals") as local:
        operator = local.op(formula(text))
        with pytest.raises(DimError) as error:
            operator(opdsl.ones(6), opdsl.tensor([0, 2, 6]))
    return str(error.value)


def test_what_ranges_cannot_be_is_refused() -> None:
    def number(x: Tensor, offsets: Tensor) -> Tensor:
        s = dims(1)
        u = dim(range(1, offsets[s]))
        return x[u].sum(u).order(s)

    def floats(x: Tensor, offsets: Tensor) -> Tensor:
        s = dims(1)
        u = dim(range(x[s], x[s + 1]))
        return x[u].sum(u).order(s)

    def median(x: Tensor, offsets: Tensor) -> Tensor:
        s = dims(1)
        u = dim(range(offsets[s], offsets[s + 1]))
        return x[u].argmax(u).order(s)

    def unfolded(x: Tensor, offsets: Tensor) -> Tensor:
        s = dims(1)
        u = dim(range(offsets[s], offsets[s + 1]))
        return x[u].order(s)

    def several(x: Tensor, offsets: Tensor) -> Tensor:
        s, t = dims(2)
        u = dim(range(offsets[s], offsets[t]))
        return x[u].sum(u).order(s)

    def lengths(x: Tensor, offsets: Tensor) -> Tensor:
        s = dims(1)
        u = dim(range(offsets[s]))
        return x[u].sum(u).order(s)

    assert "both ends have to be elements over a dim, or neither (got a number and one)" in refused(number)
    assert "expected two ends, both elements over a dim (got 1)" in refused(lengths)
    assert "the ends have to be integers (got opdsl.float32)" in refused(floats)
    assert "argmax along u, whose ranges depend on elements: only all, amax" in refused(median)
    assert "does not vary along (s,), but along (u,)" in refused(unfolded)
    assert "both ends have to vary along the same dim (got (s, t))" in refused(several)


def test_offsets_of_nothing_are_refused() -> None:
    with pytest.raises(DimError, match="a vector of offsets needs one element more than there are ranges"):
        folded(opdsl.ones(3, 1), opdsl.zeros(0, dtype=opdsl.int64))


def test_the_ends_of_ranges_are_read_from_a_vector() -> None:
    with pytest.raises(DimError, match=r"the ends have to be read from a vector \(got a tensor of shape \[2, 3\]\)"):
        folded(of(numbers(6, 3)), opdsl.tensor([[0, 1, 2], [2, 4, 6]]))
