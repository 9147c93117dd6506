"""Tests of derivatives that are attached after calls, and of in-place writes without gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import KernelSignatureError, MissingDerivativeError


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("late_derivatives") as lib:
        yield lib


@pytest.fixture
def product(library: Library) -> Any:
    """Return an operator without a derivative, after it has been called."""

    @library.op
    def product(self: Tensor, other: Tensor) -> Tensor: ...

    @product.kernel("CPU", "Meta")
    def product_kernel(self, other):
        return self * other

    with pytest.raises(MissingDerivativeError):
        gradients(product)
    return product


def gradients(product: Any) -> list[Any]:
    """Return the gradients of the arguments 2 and 3, which the first call and calls by plans have in common."""
    result = []
    for _ in range(4):
        one, other = (opdsl.tensor([number], requires_grad=True) for number in (2.0, 3.0))
        product(one, other).sum().backward()
        result.append([None if operand.grad is None else operand.grad.tolist() for operand in (one, other)])
    assert all(slopes == result[0] for slopes in result)
    return result[0]


def test_formulas_that_are_attached_after_calls_hold(product: Any) -> None:
    product.derivative(self=lambda grad, other: grad * other)
    with pytest.raises(
        MissingDerivativeError,
        match=r"is not implemented \(of other\)\. Declare it with @product.derivative\(\"other\"\)",
    ):
        gradients(product)
    product.derivative(other=lambda grad, self: grad * self)
    assert gradients(product) == [[3.0], [2.0]]


def test_arguments_that_are_left_out_after_calls_pass_no_gradient_on(product: Any) -> None:
    product.derivative(self=lambda grad, other: grad * other)
    product.non_differentiable("other")
    assert gradients(product) == [[3.0], None]


def test_formulas_that_do_not_fit_leave_those_before(product: Any) -> None:
    product.derivative(self=lambda grad, other: grad * other)
    with pytest.raises(KernelSignatureError):
        product.derivative(other=lambda grad, unknown: grad)
    product.non_differentiable("other")
    assert gradients(product) == [[3.0], None]


@pytest.mark.parametrize("is_view", [False, True])
def test_what_is_written_in_place_forgets_what_it_was(library: Library, is_view: bool) -> None:
    threefold = primitives.elements(lambda x, y: 3.0 * y)

    @library.op(inplace=True)
    @formula
    def replaced(self: Tensor, by: Tensor) -> Tensor:
        return threefold(self, by)

    replaced.non_differentiable("self")
    replaced.derivative(by=lambda grad: grad * 3.0)
    write = replaced.variants["inplace"]
    for _ in range(4):
        x, by = opdsl.ones(2, requires_grad=True), opdsl.ones(1, requires_grad=True)
        y = x * 5.0
        write(y[:1] if is_view else y[:2], by)
        y.sum().backward()
        assert x.grad is not None and by.grad is not None
        assert (x.grad.tolist(), by.grad.tolist()) == (([0.0, 5.0], [3.0]) if is_view else ([0.0, 0.0], [6.0]))
