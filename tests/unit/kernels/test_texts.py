"""Tests of string arguments that choose branches of rows, scans and reductions: each case is a kernel without the
branch.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import opdsl
from opdsl import Ints, Library, Tensor, errors, formula, primitives
from opdsl.scalar.intrinsics import row_max, row_mean, row_sum
from opdsl.testing import Sample, check_op

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("plans_at_once")
lib = Library("test_texts")


@lib.op(out=True)
def scaled(self: Tensor, kind: str = "mean", eps: float = 0.0) -> Tensor:
    """Return rows divided by one of their norms."""
    ...


@scaled.meta
def scaled_meta(ctx, self):
    ctx.set_output(0, self.shape, like=self)
    return (self.ndim - 1,)


def scaled_row(self, kind, eps):
    if kind == "max":
        return self / (row_max(abs(self)) + eps)
    total = row_sum(self * self) if kind == "sum" else row_mean(self * self)
    return self / math.sqrt(total + eps)


SCALED = primitives.rows(scaled_row, promote="floating")


@scaled.formula
def scaled_formula(self: Tensor, kind: str, eps: float) -> Tensor:
    return SCALED(self, kind, eps)


BY_HAND = {
    "max": lambda x: x / abs(x).max(-1, keepdims=True),
    "sum": lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
    "mean": lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True)),
    "anything": lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True)),
}


def lift(x, norm):
    return abs(x) if norm == "one" else x * x


def finish(total, count, norm, over):
    result = total / count if over == "n" else total
    return math.sqrt(result) if norm == "two" else result


def plus(a, b):
    return a + b


FOLDED = primitives.fold(plus, init=0, lift=lift, finish=finish, promote="int_to_float")


@lib.op(out=True)
@formula
def folded(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False, *, norm: str, over: str = "n") -> Tensor:
    """Return a norm, or its square, of the sum or the mean of elements."""
    return FOLDED(self, dim, keepdim, norm=norm, over=over)


def carried_step(h, self, decay, mode):
    if mode == "max":
        return max(h * decay, self)
    return h * decay + self * (1 - decay)


CARRIED = primitives.scan(carried_step, init=0.0, promote="int_to_float")


@lib.op(out=True)
@formula
def carried(self: Tensor, decay: float, dim: int, mode: str) -> Tensor:
    """Return a running mean, or a running maximum that decays."""
    return CARRIED(self, decay, dim, mode)


SO_FAR = primitives.scan(lambda a, b, which: max(a, b) if which == "most" else a + b, init=0)


@lib.op(out=True)
@formula
def so_far(self: Tensor, dim: int, *, which: str) -> Tensor:
    """Return the running maximum, or the running sum."""
    return SO_FAR(self, dim, which=which)


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("kind", BY_HAND)
def test_rows(kind: str) -> None:
    x = array(3, 7)
    for _ in range(3):
        np.testing.assert_allclose(scaled(opdsl.tensor(x), kind).numpy(), BY_HAND[kind](x), rtol=1e-12)


def test_reductions() -> None:
    x = array(3, 7)
    for norm, expected in {"one": abs(x).mean(1), "two": np.sqrt((x * x).mean(1)), "": (x * x).mean(1)}.items():
        np.testing.assert_allclose(folded(opdsl.tensor(x), 1, norm=norm).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(folded(opdsl.tensor(x), norm="two", over="").item(), np.linalg.norm(x), rtol=1e-12)


def test_scans() -> None:
    x = array(4, 9)
    largest, mean = np.zeros((4, 9)), np.zeros((4, 9))
    for k in range(9):
        before = (largest[:, k - 1], mean[:, k - 1]) if k else (0.0, 0.0)
        largest[:, k], mean[:, k] = np.maximum(before[0] * 0.5, x[:, k]), before[1] * 0.5 + x[:, k] * 0.5
    for mode, expected in {"max": largest, "mean": mean, "max ": mean}.items():
        np.testing.assert_allclose(carried(opdsl.tensor(x), 0.5, 1, mode).numpy(), expected, rtol=1e-12)
    ours = opdsl.tensor(x)
    np.testing.assert_allclose(so_far(ours, 1, which="most").numpy(), np.maximum.accumulate(np.maximum(x, 0), 1))
    np.testing.assert_allclose(so_far(ours, 1, which="sum").numpy(), x.cumsum(1), rtol=1e-12)


def test_laws_and_gradients() -> None:
    x = opdsl.tensor(array(3, 4))
    check_op(scaled, [Sample(x, kind, 0.1) for kind in ("max", "sum", "mean")])
    check_op(folded, [Sample(x, 1, norm=norm) for norm in ("one", "two", "")])
    check_op(carried, [Sample(x, 0.5, 1, mode) for mode in ("max", "mean")])
    check_op(so_far, [Sample(x, 1, which=which) for which in ("most", "sum")])


def test_second_gradients_agree_with_pytorch() -> None:
    x = array(2, 5)
    ours, theirs = opdsl.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    (first,) = opdsl.autograd.grad([(scaled(ours, "sum") ** 3).sum()], [ours], create_graph=True)
    normed = theirs / (theirs * theirs).sum(-1, keepdim=True).sqrt()
    (expected,) = torch.autograd.grad((normed**3).sum(), theirs, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), expected.detach().numpy(), rtol=1e-9)
    (first**2).sum().backward()
    (expected**2).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-9)


def test_the_derivative_of_each_case_can_be_read() -> None:
    source = str(scaled.derivative_source)
    assert "# kind='max'" in source
    assert "# else" in source


def test_other_texts_may_be_cut_into_pieces_alike() -> None:
    assert "row" in str(scaled.sharding())


LOOPS = {
    "rows": primitives.rows(lambda self, mode: self + mode if mode == "a" else self),
    "fold": primitives.fold(plus, init=0, lift=lambda x, mode: x + mode),
    "scan": primitives.scan(lambda h, self, mode: h + self + mode, init=0.0),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_what_no_case_can_hold_is_refused_where_it_is_declared(kind: str) -> None:
    loop = LOOPS[kind]
    with Library("wrong_texts") as own:

        @own.op
        def wrong(self: Tensor, dim: int, mode: str) -> Tensor: ...

        if kind == "rows":
            wrong.meta(lambda ctx, self: (ctx.set_output(0, self.shape, like=self), (0,))[1])
        with pytest.raises(errors.ScalarFunctionError):

            @wrong.formula
            def wrong_formula(self: Tensor, dim: int, mode: str) -> Tensor:
                return loop(self, dim, mode)


@lib.op(out=True)
def weighted(self: Tensor, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Return rows normalized to mean square 1, multiplied by a weight if there is one."""
    ...


weighted.meta(lambda ctx, self: (ctx.set_output(0, self.shape, like=self), (self.ndim - 1,))[1])


def weighted_row(self, weight, eps):
    normed = self / math.sqrt(row_mean(self * self) + (0.5 if eps is None else eps))
    return normed if weight is None else normed * weight


WEIGHTED = primitives.rows(weighted_row, promote="floating")


@weighted.formula
def weighted_formula(self: Tensor, weight: Tensor | None, eps: float | None) -> Tensor:
    return WEIGHTED(self, weight, eps)


def corrected(total, count, correction):
    return total / count if correction is None else total / (count - correction)


SPREAD = primitives.fold(plus, init=0, lift=lambda x: x * x, finish=corrected, promote="int_to_float")


@lib.op
@formula
def spread(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False, *, correction: float | None) -> Tensor:
    """Return the mean of squares, or their sum divided by the count minus a correction."""
    return SPREAD(self, dim, keepdim, correction=correction)


SUMMED = primitives.scan(
    lambda h, self, decay: h + self if decay is None else h * decay + self, init=0.0, promote="int_to_float"
)


@lib.op
@formula
def summed(self: Tensor, dim: int, decay: float | None = None) -> Tensor:
    """Return running sums, optionally with decay."""
    return SUMMED(self, dim, decay)


def test_what_is_none_chooses_a_branch() -> None:
    x, weight = array(3, 4), array(4)
    for eps in (None, 0.1):
        normed = x / np.sqrt((x * x).mean(-1, keepdims=True) + (0.5 if eps is None else eps))
        np.testing.assert_allclose(weighted(opdsl.tensor(x), eps=eps).numpy(), normed, rtol=1e-12)
        result = weighted(opdsl.tensor(x), opdsl.tensor(weight), eps)
        np.testing.assert_allclose(result.numpy(), normed * weight, rtol=1e-12)
    for correction in (None, 1.0):
        expected = (x * x).sum(1) / (4 - (correction or 0))
        np.testing.assert_allclose(spread(opdsl.tensor(x), 1, correction=correction).numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(summed(opdsl.tensor(x), 1).numpy(), x.cumsum(1), rtol=1e-12)
    np.testing.assert_allclose(summed(opdsl.tensor(x), 1, 0.0).numpy(), x, rtol=1e-12)


def test_laws_where_arguments_are_none() -> None:
    x, weight = opdsl.tensor(array(3, 4)), opdsl.tensor(array(4))
    check_op(weighted, [Sample(x), Sample(x, weight), Sample(x, weight, 0.1)])
    check_op(spread, [Sample(x, 1, correction=None), Sample(x, 1, correction=1.0)])
    check_op(summed, [Sample(x, 1), Sample(x, 1, 0.5)])
