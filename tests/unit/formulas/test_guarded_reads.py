"""Tests of reads under a condition, which are not made where it is false, against loops of NumPy."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import FormulaError, PositionError
from opdsl.testing import gradcheck

lib = Library("formula_guards")


@lib.op
@formula
def picked_losses(x: Tensor, target: Tensor, ignore: int = -100) -> Tensor:
    """Return the negative log-probabilities of targets, and 0 for ignored targets."""
    n, c = dims(2)
    log_probability = x[n, c].log_softmax(c).order(c)
    return (-log_probability[target[n]] if target[n] != ignore else 0.0).order(n)


@lib.op
@formula
def looked_up(table: Tensor, ids: Tensor) -> Tensor:
    """Return the logarithms of table entries at ids, and 0 where an id is negative."""
    return opdsl.log(table[ids]) if ids >= 0 else 0.0


@lib.op
@formula
def differences(x: Tensor) -> Tensor:
    i = dim()
    return (x[i] - x[i - 1] if i > 0 else x[i]).order(i)


@lib.op
@formula
def reached(x: Tensor, at: Tensor) -> Tensor:
    """Return elements under several conditions, the last of which reads an element as well."""
    i = dim()
    p = at[i]
    if 0 <= p < x.shape[0] and x[p] > 0:
        root = x[p].sqrt()
    else:
        root = p.to(x.dtype) * 0
    return root.order(i)


def test_ignored_targets_are_not_read() -> None:
    x = opdsl.from_numpy(numpy.random.default_rng(0).standard_normal((4, 3))).requires_grad_()
    target = opdsl.tensor([0, -100, 2, 1])
    shifted = x.detach().numpy() - numpy.log(numpy.exp(x.detach().numpy()).sum(1, keepdims=True))
    wanted = [-shifted[0, 0], 0.0, -shifted[2, 2], -shifted[3, 1]]
    numpy.testing.assert_allclose(picked_losses(x, target).detach().numpy(), wanted, rtol=1e-12)
    assert gradcheck(lambda x: picked_losses(x, target), (x,))
    with pytest.raises(PositionError, match="computed indices range from 0 to 3"):
        picked_losses(x, opdsl.tensor([0, -100, 3, 1]))
    with pytest.raises(PositionError, match="computed indices range from -101 to 2"):
        picked_losses(x, opdsl.tensor([0, -101, 2, 1]))


def test_gradients_are_guarded_too() -> None:
    table = opdsl.tensor([0.0, 2.0, 4.0], requires_grad=True)
    computed = looked_up(table, opdsl.tensor([[-7, 1], [2, -1]]))
    numpy.testing.assert_allclose(computed.detach().numpy(), [[0, numpy.log(2)], [numpy.log(4), 0]], rtol=1e-6)
    computed.sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [0.0, 0.5, 0.25]


@pytest.mark.parametrize("size", [0, 1, 4])
def test_neighbours_beside_the_end(size: int) -> None:
    x = numpy.random.default_rng(1).standard_normal(size)
    assert numpy.array_equal(differences(opdsl.from_numpy(x)).numpy(), numpy.diff(x, prepend=0) if size else x)


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=5))
def test_conditions_of_conditions(positions: list[int]) -> None:
    x = numpy.array([4.0, -1.0, 9.0, 0.0])
    wanted = [x[p] ** 0.5 if 0 <= p < 4 and x[p] > 0 else 0.0 for p in positions]
    leaf = opdsl.from_numpy(x).requires_grad_()
    actual = reached(leaf, opdsl.tensor(positions))
    assert actual.tolist() == wanted
    actual.sum().backward()
    counts = [positions.count(p) / (2 * x[p] ** 0.5) if x[p] > 0 else 0.0 for p in range(4)]
    assert leaf.grad is not None
    assert leaf.grad.tolist() == counts


POSITIONS = ("i ^ 1", "i // 2", "(i * 3 + 1) % 4", "opdsl.minimum(i + 2, i * 0 + 3)", "opdsl.where(i > 1, i - 2, i)")


@pytest.mark.parametrize("text", POSITIONS)
def test_positions_of_integer_arithmetic(text: str) -> None:
    i = dim(4)
    x = opdsl.from_numpy(numpy.random.default_rng(2).standard_normal(4))
    at = eval(text, {"opdsl": opdsl, "i": i})
    places = eval(text.replace("opdsl", "numpy"), {"numpy": numpy, "i": numpy.arange(4)})
    assert numpy.array_equal(x[at].order(i).numpy(), x.numpy()[places])


def test_dims_that_are_left_are_named() -> None:
    with Library("formula_guards_left") as local, pytest.raises(FormulaError, match="varies along dims: i"):

        @local.op
        @formula
        def wrong(x: Tensor) -> Tensor:
            i = dim()
            return x[i] * 2
