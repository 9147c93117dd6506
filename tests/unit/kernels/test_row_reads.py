"""Tests of formulas that read rows at indices that vary within a row, as ``self[..., i ^ 1]``, and fold them."""

from __future__ import annotations

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, dims, errors, formula
from opdsl.testing import Sample, check_op
from tests.unit.kernels import interpreted_backend

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("plans_at_once")
lib = Library("test_row_reads")


@lib.op(out=True)
@formula
def normed_and_turned(self: Tensor, cos: Tensor, sin: Tensor, kind: str = "pairs", eps: float = 0.1) -> Tensor:
    """Return rows normalized to mean square 1, with pairs of elements rotated: neighbors, or elements of both
    halves.
    """
    i, n = opdsl.dim(), self.shape[-1]
    x, half = self[..., i], n // 2
    other = self[..., i ^ 1] if kind == "pairs" else self[..., (i + half) % n]
    is_second = i % 2 == 1 if kind == "pairs" else i >= half
    turned = x * cos[i] + (other if is_second else -other) * sin[i]
    return (turned / opdsl.sqrt(x.square().mean(i) + eps)).order(..., i)


def turned_by_torch(x, cos, sin, kind: str, eps: float):
    if kind == "pairs":
        other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    else:
        first, second = x.chunk(2, -1)
        other = torch.cat((-second, first), -1)
    return (x * cos + other * sin) / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


@lib.op(out=True)
@formula
def permuted(self: Tensor, where: Tensor, by: int = 0) -> Tensor:
    """Return elements of rows at indices that are elements of another tensor's rows, plus a number."""
    size = self.shape[-1]
    n, i = dims(2, [None, size])
    return self[n, (where[n, size - 1 - i] + by) % size].order(n, i)


@lib.op
@formula
def planes_reversed(self: Tensor) -> Tensor:
    """Return a tensor with its last two dimensions reversed."""
    height, width = self.shape[-2:]
    i, j = dims(2, [height, width])
    return self[..., height - 1 - i, width - 1 - j].order(..., i, j)


@lib.op(out=True)
@formula
def at_the_top(self: Tensor, by: int) -> Tensor:
    """Return the element at the index that the largest element of a row determines."""
    n, i = dims(2)
    largest = self[n, i].amax(i)
    return self[n, largest + by].order(n).unsqueeze(-1).expand(self.shape)


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape)


@pytest.mark.parametrize("kind", ["pairs", "halves"])
@pytest.mark.parametrize("shape", [(8,), (3, 6), (2, 5, 4), (2, 300)])
def test_pairs_agree_with_pytorch_with_gradients(kind: str, shape: tuple[int, ...]) -> None:
    x, angle = array(*shape), array(shape[-1])
    theirs = torch.tensor(x, requires_grad=True)
    expected = turned_by_torch(theirs, torch.tensor(np.cos(angle)), torch.tensor(np.sin(angle)), kind, 0.1)
    weight = np.cos(np.arange(x.size)).reshape(shape)
    (expected * torch.tensor(weight)).sum().backward()
    for _ in range(3):
        ours = opdsl.tensor(x, requires_grad=True)
        actual = normed_and_turned(ours, opdsl.tensor(np.cos(angle)), opdsl.tensor(np.sin(angle)), kind)
        np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-13)
        (actual * opdsl.tensor(weight)).sum().backward()
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "bfloat16"])
def test_places_that_are_read_themselves(dtype: str) -> None:
    x = opdsl.tensor(np.arange(12).reshape(2, 6)).to(getattr(opdsl, dtype))
    where = opdsl.tensor([[0, 5, 1, 4, 2, 3], [5, 5, 0, 0, 1, 1]])
    for by in (0, 1, -1):
        places = (where.numpy()[:, ::-1] + by) % 6
        expected = np.take_along_axis(np.arange(12).reshape(2, 6), places, 1)
        np.testing.assert_array_equal(permuted(x, where, by).to(opdsl.int64).numpy(), expected)


def test_rows_of_several_dimensions() -> None:
    x = array(2, 3, 4)
    np.testing.assert_array_equal(planes_reversed(opdsl.tensor(x)).numpy(), x[:, ::-1, ::-1])
    view = opdsl.tensor(x.T.copy()).permute(2, 1, 0)
    np.testing.assert_array_equal(planes_reversed(view).numpy(), x[:, ::-1, ::-1])
    np.testing.assert_array_equal(planes_reversed(opdsl.zeros(0, 3, 4)).shape, (0, 3, 4))


def test_places_that_follow_from_folds() -> None:
    x = opdsl.tensor([[0, 2, 1], [1, 1, 0]])
    np.testing.assert_array_equal(at_the_top(x, 0).numpy(), [[1, 1, 1], [1, 1, 1]])
    np.testing.assert_array_equal(at_the_top(x, -1).numpy(), [[2, 2, 2], [1, 1, 1]])


def test_laws() -> None:
    x, angle = opdsl.tensor(array(3, 4)), opdsl.tensor(array(4))
    check_op(normed_and_turned, [Sample(x, angle.cos(), angle.sin(), kind) for kind in ("pairs", "halves")])
    check_op(permuted, [Sample(x, opdsl.tensor([[3, 0, 0, 1]] * 3), 1)])


def test_other_backends_find_the_same() -> None:
    x, angle = opdsl.tensor(array(3, 6)), opdsl.tensor(array(6))
    with interpreted_backend.installed():
        there = opdsl.Device(interpreted_backend.DEVICE)
        actual = normed_and_turned(x.to(there), angle.cos().to(there), angle.sin().to(there), "halves")
        expected = normed_and_turned(x, angle.cos(), angle.sin(), "halves")
        np.testing.assert_allclose(actual.cpu().numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("by", [1, -3])
def test_places_outside_are_refused_and_nothing_is_written(by: int) -> None:
    x, target = opdsl.tensor([[0, 2, 1], [1, 1, 0]]), opdsl.tensor([[7, 7, 7], [7, 7, 7]])
    at_the_top(x, 0)
    for _ in range(3):
        with pytest.raises(errors.PositionError, match=r"the read \[n, .*, but the dimension has size 3"):
            at_the_top(x, by)
        with pytest.raises(errors.PositionError, match=f"range from {1 + by} to {2 + by}"):
            at_the_top.variants["out"](x, by, out=target)
        assert target.numpy().tolist() == [[7, 7, 7], [7, 7, 7]]


def test_shapes_need_no_elements() -> None:
    x = opdsl.empty(3, 6, device="meta")
    assert normed_and_turned(x, x[0], x[0]).shape == (3, 6)
    assert normed_and_turned.meta(opdsl.empty(3, 6), opdsl.empty(6), opdsl.empty(6)).shape == (3, 6)


def test_new_sizes_and_plans() -> None:
    for size in (4, 6, 8, 6, 4):
        x = array(2, size)
        np.testing.assert_array_equal(planes_reversed(opdsl.tensor(x)).numpy(), x[::-1, ::-1])
