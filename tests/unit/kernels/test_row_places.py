"""Tests of formulas that read a row at one index per row, ``x[n, at[n]]``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, dims, errors, formula, primitives
from opdsl.scalar.intrinsics import row_index, row_max
from opdsl.testing import Sample, check_op
from tests.unit.kernels import interpreted_backend

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("plans_at_once")
lib = Library("test_row_places")


@lib.op(out=True)
@formula
def cross_entropy(self: Tensor, target: Tensor) -> Tensor:
    """Return the negative log-likelihood of each row's target class."""
    n, c = dims(2)
    x = self[n, c]
    top = x.amax(c)
    return (top + opdsl.log(opdsl.exp(x - top).sum(c)) - self[n, target[n, 0]]).order(n).unsqueeze(1)


@lib.op(out=True)
@formula
def leveled(self: Tensor, at: int, dim: int = -1) -> Tensor:
    """Return the distances of a row's elements from one of them, in units of last minus first element, plus the
    index.
    """
    i, rows = opdsl.dim(), self.movedim(dim, -1)
    way = rows[..., -1] - rows[..., 0]
    return ((rows[..., i] - rows[..., at]) / way + i).order(..., i).movedim(-1, dim)


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


def leveled_by_hand(x: np.ndarray, at: int, axis: int) -> np.ndarray:
    rows = np.moveaxis(x, axis, -1)
    result = (rows - rows[..., at : at + 1]) / (rows[..., -1:] - rows[..., :1]) + np.arange(rows.shape[-1])
    return np.moveaxis(result, -1, axis)


@pytest.mark.parametrize("shape", [(1, 2), (3, 5), (4, 300), (300, 4), (2, 3, 70)])
@pytest.mark.parametrize("dim", [0, -1])
def test_places_that_numbers_say(shape: tuple[int, ...], dim: int) -> None:
    x = array(*shape)
    if shape[dim] < 2:
        return
    for at in (0, shape[dim] - 1, 0):
        np.testing.assert_allclose(leveled(opdsl.tensor(x), at, dim).numpy(), leveled_by_hand(x, at, dim), rtol=1e-12)
    view = opdsl.tensor(x.T.copy()).permute(*range(x.ndim)[::-1])
    np.testing.assert_allclose(leveled(view, 1, dim).numpy(), leveled_by_hand(x, 1, dim), rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 3000), (300, 4)])
def test_places_in_a_tensor_and_gradients(shape: tuple[int, int]) -> None:
    x, target = array(*shape), np.random.default_rng(0).integers(0, shape[1], shape[0])
    theirs = torch.tensor(x, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(theirs, torch.tensor(target), reduction="none")
    loss.sum().backward()
    for _ in range(3):
        ours = opdsl.tensor(x, requires_grad=True)
        computed = cross_entropy(ours, opdsl.tensor(target[:, None]))
        np.testing.assert_allclose(computed.detach().numpy()[:, 0], loss.detach().numpy(), rtol=1e-10)
        computed.sum().backward()
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_laws() -> None:
    x = opdsl.tensor(array(3, 4))
    check_op(leveled, [Sample(x, 1), Sample(x, 2, 0)])
    check_op(cross_entropy, [Sample(x, opdsl.tensor([[0], [3], [1]]))])


def test_other_backends_find_the_same() -> None:
    x, target = opdsl.tensor(array(3, 5)), opdsl.tensor([[4], [0], [2]])
    with interpreted_backend.installed():
        there = opdsl.Device(interpreted_backend.DEVICE)
        for ours, theirs in (
            (leveled(x, 2), leveled(x.to(there), 2)),
            (cross_entropy(x, target), cross_entropy(x.to(there), target.to(there))),
        ):
            np.testing.assert_allclose(theirs.cpu().numpy(), ours.numpy(), rtol=1e-12)


def test_a_plan_checks_indices_for_other_lengths() -> None:
    for length in (8, 7, 6):
        x = array(2, length)
        np.testing.assert_allclose(leveled(opdsl.tensor(x), 5).numpy(), leveled_by_hand(x, 5, 1), rtol=1e-12)
    with pytest.raises(errors.OpdslError, match="index 5 is out of bounds"):
        leveled(opdsl.tensor(array(2, 5)), 5)


@pytest.mark.parametrize("target", [[[0], [5]], [[-1], [0]]])
def test_places_of_formulas_are_checked(target: list[list[int]]) -> None:
    cross_entropy(opdsl.tensor(array(2, 5)), opdsl.tensor([[0], [4]]))
    for _ in range(3):
        with pytest.raises(errors.PositionError, match=r"indices range from .* but the dimension has size 5"):
            cross_entropy(opdsl.tensor(array(2, 5)), opdsl.tensor(target))


@pytest.mark.parametrize("body", [lambda self, at: self[at], lambda self, at: abs(self)[int(row_max(self))]])
def test_rows_that_read_at_places_are_refused(body: Any) -> None:
    loop = primitives.rows(body)
    with Library("late") as own:

        @own.op
        def wrong(self: Tensor, at: int) -> Tensor: ...

        wrong.meta(lambda ctx, self: (ctx.set_output(0, self.shape, like=self), (0,))[1])
        with pytest.raises(errors.ScalarFunctionError, match=r"(?s)cannot index.*Write a formula over dims"):

            @wrong.formula
            def wrong_formula(self: Tensor, at: int) -> Tensor:
                return loop(self, at)


@pytest.mark.parametrize(
    "function, message",
    [(lambda x: x + row_index(x), "row_index folds a row"), (lambda x: x[0], "cannot index")],
)
def test_places_stand_in_rows_only(function: Any, message: str) -> None:
    loop = primitives.elements(function)
    with Library("late") as own, pytest.raises(errors.ScalarFunctionError, match=message):

        @own.op
        @formula
        def wrong(self: Tensor) -> Tensor:
            return loop(self)


@lib.op
@formula
def picked(self: Tensor, places: Tensor) -> Tensor:
    """Return elements of rows at indices that differ between elements, times the sum of the row."""
    n, i = dims(2)
    return (self[n, places[n, i]] * self[n, i].sum(i)).order(n, i)


def test_a_tensor_of_places_of_elements() -> None:
    generator = np.random.default_rng(4)
    values, places = generator.standard_normal((3, 4)), generator.integers(0, 4, (3, 4))
    x, y = opdsl.from_numpy(values.copy()).requires_grad_(), torch.tensor(values, requires_grad=True)
    actual = picked(x, opdsl.from_numpy(places))
    wanted = y.gather(1, torch.from_numpy(places)) * y.sum(1, keepdim=True)
    np.testing.assert_allclose(actual.detach().numpy(), wanted.detach().numpy())
    (slopes,) = opdsl.autograd.grad([(actual * actual).sum()], [x], create_graph=True)
    (other,) = torch.autograd.grad((wanted * wanted).sum(), [y], create_graph=True)
    np.testing.assert_allclose(slopes.detach().numpy(), other.detach().numpy())
    (curvature,) = opdsl.autograd.grad([(slopes * slopes).sum()], [x])
    np.testing.assert_allclose(curvature.numpy(), torch.autograd.grad((other * other).sum(), [y])[0].numpy())
