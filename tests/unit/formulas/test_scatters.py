"""Tests of writes at computed indices, against loops of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import DeviceError, DimError, PositionError
from opdsl.testing import gradcheck

lib = Library("formula_scatters")

COMBINE: dict[str | None, Callable[[Any, Any], Any]] = {
    "sum": lambda old, new: old + new,
    "prod": lambda old, new: old * new,
    "amax": max,
    "amin": min,
    None: lambda old, new: new,
}


@lib.op
@formula
def histogram_formula(self: Tensor, bins: int, low: float, high: float) -> Tensor:
    """Return the number of elements in each of ``bins`` bins of equal width."""
    i = dim()
    at = ((self[i] - low) / (high - low) * bins).floor().to(opdsl.int64).clamp(0, bins - 1)
    return opdsl.scatter(opdsl.zeros(bins, dtype=opdsl.int64), (at,), 1, reduce="sum")


@lib.op
@formula
def combined_experts(tokens: Tensor, outputs: Tensor, owner: Tensor, weight: Tensor) -> Tensor:
    """Add the weighted rows of experts to the rows of the tokens that they belong to."""
    n, c = dims(2)
    return opdsl.scatter(tokens, (owner[n], c), outputs[n, c] * weight[n], reduce="sum")


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(seed).standard_normal(shape))


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(sorted(COMBINE, key=str)), st.integers(1, 3), st.integers(1, 3), st.integers(0, 4))
def test_scatters_are_loops(reduce: str | None, height: int, width: int, count: int) -> None:
    n, c = dims(2)
    base, src = numbers(height, width, 2), numbers(count, width, 2, seed=1)
    random = numpy.random.default_rng(count)
    at = random.permutation(height)[:count] if reduce is None else random.integers(0, height, count)
    count = len(at)
    src = src[:count]
    wanted = base.numpy().copy()
    for turn in range(count):
        for column in range(width):
            for last in range(2):
                old, new = wanted[at[turn], column, last], src.numpy()[turn, column, last]
                wanted[at[turn], column, last] = COMBINE[reduce](old, new)
    scattered = opdsl.scatter(base, (opdsl.from_numpy(at)[n], c), src[n, c], reduce=reduce)
    numpy.testing.assert_allclose(scattered.numpy(), wanted, rtol=1e-12)
    behind = opdsl.scatter(base.movedim(0, 2), (c, ..., opdsl.from_numpy(at)[n]), src[n, c], reduce=reduce)
    numpy.testing.assert_allclose(behind.movedim(2, 0).numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_gradients(reduce: Any) -> None:
    ids = opdsl.tensor([0, 2, 2])

    def run(base: Tensor, src: Tensor) -> Tensor:
        i = dim()
        return opdsl.scatter(base, (ids[i],), src[i], reduce=reduce)

    assert gradcheck(run, (numbers(3).requires_grad_(), numbers(3, seed=1).requires_grad_()))


def test_unique_writes_have_gradients() -> None:
    def run(base: Tensor, src: Tensor) -> Tensor:
        i = dim()
        return opdsl.scatter(base, (opdsl.tensor([2, 0])[i],), src[i])

    assert gradcheck(run, (numbers(3).requires_grad_(), numbers(2, seed=1).requires_grad_()))


def test_formulas_scatter() -> None:
    x = numpy.random.default_rng(0).random(50)
    assert histogram_formula(opdsl.from_numpy(x), 5, 0.0, 1.0).tolist() == numpy.histogram(x, 5, (0, 1))[0].tolist()
    tokens, outputs, weight = numbers(3, 2), numbers(4, 2, seed=1), numbers(4, seed=2)
    owner = opdsl.tensor([0, 2, 2, 1])
    wanted = tokens.numpy().copy()
    numpy.add.at(wanted, owner.numpy(), outputs.numpy() * weight.numpy()[:, None])
    numpy.testing.assert_allclose(combined_experts(tokens, outputs, owner, weight).numpy(), wanted, rtol=1e-12)
    leaves = tuple(leaf.requires_grad_() for leaf in (tokens, outputs, weight))
    assert gradcheck(lambda tokens, outputs, weight: combined_experts(tokens, outputs, owner, weight), leaves)


def test_skipped_turns_are_not_written() -> None:
    i, u = dims(2, [3, 2])
    x = opdsl.tensor([1, 2, 3])
    scattered = opdsl.scatter(opdsl.zeros(2, dtype=opdsl.int64), (u,), x.outside("skip")[i + u], reduce="sum")
    assert scattered.tolist() == [6, 5]


@pytest.mark.parametrize("at", [[0, 3], [0, -1]])
@pytest.mark.parametrize("reduce", ["sum", "amax", None])
def test_positions_outside_are_refused(at: list[int], reduce: Any) -> None:
    i, base = dim(), opdsl.zeros(3)
    with pytest.raises(PositionError, match="is out of bounds"):
        opdsl.scatter(base, (opdsl.tensor(at)[i],), 1.0, reduce=reduce)
    assert base.tolist() == [0.0, 0.0, 0.0]


def test_positions_that_come_twice_are_refused_without_reduce() -> None:
    i = dim()
    with pytest.raises(PositionError, match="is repeated"):
        opdsl.scatter(opdsl.zeros(3), (opdsl.tensor([1, 1])[i],), 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opdsl.scatter(x[i], (i,), x[i], reduce='sum')", "without dims"),
        ("opdsl.scatter(x, (ids[i],), x[i], reduce='mean')", "reduce is one of"),
        ("opdsl.scatter(x, (x[i],), x[i], reduce='sum')", "integer tensors"),
        ("opdsl.scatter(x, (i, i), x[i], reduce='sum')", "an index for each dimension"),
        ("opdsl.scatter(ids, (ids[i],), x[i], reduce='sum')", "Convert them"),
        ("opdsl.scatter(x, (i,), opdsl.ones(3, 2)[i], reduce='sum')", "positional dimensions"),
    ],
)
def test_mistakes_say_what_would_do(text: str, message: str) -> None:
    scope = {"opdsl": opdsl, "x": opdsl.ones(3), "ids": opdsl.tensor([0, 1, 2]), "i": dim()}
    with pytest.raises(DimError, match=message):
        eval(text, scope)


def test_whole_rows_are_written_by_one_position_each() -> None:
    e, c, d = dims(3)
    base, ids = opdsl.zeros(4, 3, 2), opdsl.tensor([1, 3, 1])
    src = opdsl.arange(18.0).reshape(3, 3, 2)
    scattered = opdsl.scatter(base, (ids[e], c, d), src[e, c, d], reduce="sum")
    wanted = numpy.zeros((4, 3, 2))
    numpy.add.at(wanted, [1, 3, 1], numpy.arange(18.0).reshape(3, 3, 2))
    assert numpy.array_equal(scattered.numpy(), wanted)


def test_rows_in_front_of_positions() -> None:
    e, c = dims(2)
    base, ids = opdsl.ones(3, 4), opdsl.tensor([1, 3, 1, 0, 0])
    src = opdsl.arange(15.0).reshape(3, 5)
    scattered = opdsl.scatter(base, (c, ids[e]), src[c, e], reduce="amax")
    wanted = numpy.ones((3, 4))
    numpy.maximum.at(wanted.T, [1, 3, 1, 0, 0], numpy.arange(15.0).reshape(3, 5).T)
    assert numpy.array_equal(scattered.numpy(), wanted)


def test_a_number_is_written_into_whole_rows() -> None:
    e, c = dims(2)
    scattered = opdsl.scatter(opdsl.zeros(3, 2), (opdsl.tensor([2, 0, 2])[e], c), 1.0, reduce="sum")
    assert scattered.tolist() == [[1, 1], [0, 0], [2, 2]]


def test_a_dim_that_positions_are_computed_of_is_no_row() -> None:
    i, j = dims(2)
    src = opdsl.arange(9.0).reshape(3, 3)
    scattered = opdsl.scatter(opdsl.zeros(3, 3), ((i + j) % 3, j), src[i, j], reduce="sum")
    wanted = numpy.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            wanted[(a + b) % 3, b] += 3 * a + b
    assert numpy.array_equal(scattered.numpy(), wanted)


def test_a_base_elsewhere_is_refused() -> None:
    i = dim()
    x, ids = opdsl.empty(3, device="meta"), opdsl.zeros(3, dtype=opdsl.int64, device="meta")
    with pytest.raises(DeviceError, match=r"base is on cpu, .* on meta"):
        opdsl.scatter(opdsl.zeros(4), (ids[i],), x[i], reduce="sum")
