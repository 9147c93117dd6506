"""Tests of ``g.adjoint(f, "self")``: operators that are each other's gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, errors
from opdsl.autograd import grad
from opdsl.testing import gradcheck


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("adjoints") as library:
        yield library


def every(lib: Library):
    """Declare an operator that selects strided elements and its transpose, whose kernels no gradient can be derived
    from.
    """

    @lib.op(kernel=True)
    def every(self: Tensor, step: int, scale: float = 1.0) -> Tensor:
        return opdsl.tensor(self.detach().numpy()[::step] * scale)

    @lib.op(kernel=True)
    def every_backward(grad: Tensor, input_sizes: list[int], stride: int, scale: float) -> Tensor:
        spread = np.zeros(input_sizes)
        spread[::stride] = grad.detach().numpy() * scale
        return opdsl.tensor(spread)

    return every, every_backward


def test_gradients_of_both_are_the_other(lib: Library) -> None:
    take, put = every(lib)
    put.adjoint(take, "self", stride="step")
    x = opdsl.tensor(np.arange(7.0), requires_grad=True)
    y = opdsl.tensor(np.arange(3.0), requires_grad=True)
    assert gradcheck(lambda tensor: take(tensor, 3, 2.0), (x,))
    assert gradcheck(lambda tensor: put(tensor, [7], 3, 2.0), (y,))


def test_gradients_of_gradients_and_tangents(lib: Library) -> None:
    take, put = every(lib)
    put.adjoint(take, "self", stride="step")
    x = opdsl.tensor(np.arange(7.0), requires_grad=True)
    (first,) = grad([(take(x, 3) ** 3).sum()], [x], create_graph=True)
    (second,) = grad([first.sum()], [x])
    expected = np.zeros(7)
    expected[::3] = 6 * np.arange(0.0, 7, 3)
    np.testing.assert_allclose(second.numpy(), expected)
    tangent = opdsl.autograd.functional.jvp(
        lambda tensor: take(tensor, 3, 2.0), (x.detach(),), (opdsl.ones(7).double(),)
    )
    np.testing.assert_allclose(tangent[1].numpy(), [2.0, 2.0, 2.0])


def test_functions_of_arguments_say_what_the_other_lacks(lib: Library) -> None:
    @lib.op(kernel=True)
    def rolled(self: Tensor, by: int) -> Tensor:
        return opdsl.tensor(np.roll(self.detach().numpy(), by))

    rolled.adjoint(rolled, "self", by=lambda by: -by)
    x = opdsl.tensor(np.arange(5.0), requires_grad=True)
    assert gradcheck(lambda tensor: rolled(tensor, 2), (x,))
    assert "by_of(by)" in str(rolled.derivative_source)


def test_a_tensor_that_only_gives_its_shape_has_the_gradient_0(lib: Library) -> None:
    @lib.op(kernel=True)
    def total(self: Tensor) -> Tensor:
        return opdsl.tensor(self.detach().numpy().sum())

    @lib.op(kernel=True)
    def total_backward(grad: Tensor, self: Tensor) -> Tensor:
        return opdsl.tensor(np.full(self.shape, grad.item()))

    total_backward.adjoint(total, "self")
    x, g = opdsl.ones(3).double().requires_grad_(), opdsl.tensor(2.0).double().requires_grad_()
    of_g, of_x = grad([total_backward(g, x).sum()], [g, x])
    assert of_g.item() == 3
    assert of_x.numpy().tolist() == [0, 0, 0]


def test_a_view_keeps_its_own_gradient(lib: Library) -> None:
    source = str(opdsl.ops.aten.select_backward.derivative_source)
    assert "select(self=grad, dim=dim, index=index)" in source
    assert "select_backward" not in str(opdsl.ops.aten.select.int.derivative_source)


WRONG = {
    "an argument of neither": (
        {"wide": "step"},
        "neither has an argument 'wide'. They have grad, input_sizes, stride, scale, self, step.",
    ),
    "no function of Python": ({"stride": len}, "stride=<built-in function len> is no name and no function"),
    "an argument that follows from nothing": ({}, r"there is no argument 'stride' from which its 'stride' follows"),
    "a function of what is no argument": ({"stride": lambda other: other}, "there is no argument 'other' from which"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_and_nothing_attached(name: str, lib: Library) -> None:
    take, put = every(lib)
    inputs, message = WRONG[name]
    with pytest.raises(errors.KernelSignatureError, match=message):
        put.adjoint(take, "self", **inputs)
    with pytest.raises(errors.KernelSignatureError, match="has no tensor 'step'"):
        put.adjoint(take, "step")
    x = opdsl.ones(3).double().requires_grad_()
    with pytest.raises(errors.MissingDerivativeError):
        take(x, 2).sum().backward()
