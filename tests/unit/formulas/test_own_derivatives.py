"""Tests of declared derivatives that replace those derived from formulas and bodies, wherever the operator is
called.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.formulas.showing import kernels_of
from opdsl.testing import gradcheck

lib = Library("own_derivatives")


@lib.op(inplace=True)
@formula
def doubled(self: Tensor) -> Tensor:
    return self * 2.0


@lib.op
@formula
def scaled(self: Tensor, factor: float = 2.0) -> Tensor:
    return self * factor


@lib.op
@formula
def stretched(self: Tensor, factor: float = 2.0) -> Tensor:
    return self * (factor + 1.0)  # a computed number, which needs a separate kernel in programs


@lib.op
@formula
def shares(self: Tensor) -> Tensor:
    return self / self.sum(0, keepdim=True)


@lib.op
@opdsl.traceable
def added(self: Tensor) -> Tensor:
    return self + self


OWN: list[Callable[[Tensor], Tensor]] = [doubled, scaled, stretched, shares, added]
for operator in OWN:
    operator.derivative(self=lambda grad: grad * 10.0)  # type: ignore[attr-defined]


@lib.op
@formula
def of_elements(self: Tensor) -> Tensor:
    return scaled(doubled(self), 3.0) + 1.0


def gradient(function: Callable[[Tensor], Tensor]) -> list[float]:
    x = opdsl.tensor([1.0, 2.0], requires_grad=True)
    function(x).sum().backward()
    assert x.grad is not None
    return x.grad.tolist()


@pytest.mark.parametrize("operator", OWN, ids=lambda operator: operator.__name__)
def test_a_call_has_the_operators_own_gradient(operator: Callable[[Tensor], Tensor]) -> None:
    assert gradient(operator) == [10.0, 10.0]


@pytest.mark.parametrize("operator", OWN, ids=lambda operator: operator.__name__)
def test_a_program_that_calls_it_has_its_own_gradient(operator: Callable[[Tensor], Tensor]) -> None:
    assert gradient(opdsl.compile(lambda x: operator(x) * 2.0)) == [20.0, 20.0]


@pytest.mark.parametrize("operator", OWN, ids=lambda operator: operator.__name__)
def test_a_formula_that_calls_it_has_its_own_gradient(operator: Callable[[Tensor], Tensor]) -> None:
    with Library("own_derivatives_outer") as local:

        @local.op
        @formula
        def outer(self: Tensor) -> Tensor:
            return operator(self) + 1.0

        assert gradient(outer) == [10.0, 10.0]


def test_a_variant_in_place_has_it() -> None:
    in_place = doubled.variants["inplace"]
    assert gradient(lambda x: in_place(x.clone())) == [10.0, 10.0]


def test_formulas_with_derivatives_of_their_own_are_parts_of_one_kernel() -> None:
    assert of_elements(opdsl.tensor([1.0, 2.0])).tolist() == [7.0, 13.0]
    assert {title.rpartition(": ")[2] for title, _ in kernels_of(of_elements.operator)} == {"1 kernel"}
    assert gradient(of_elements) == [100.0, 100.0]


def test_a_formula_that_only_leaves_an_argument_out_is_followed_in_programs_as_in_calls() -> None:
    with Library("own_derivatives_left_out") as local:

        @local.op
        @formula
        def weighted(self: Tensor, weight: Tensor) -> Tensor:
            return self * weight.sum(0, keepdim=True)

        weighted.non_differentiable("weight")
        weight = opdsl.tensor([1.0, 2.0])
        assert gradient(lambda x: weighted(x, weight)) == [3.0, 3.0]
        assert gradient(opdsl.compile(lambda x: weighted(x, weight))) == [3.0, 3.0]


@lib.op(inplace=True, out=True)
@formula
def weighted_shares(self: Tensor, weight: Tensor) -> Tensor:
    return self * weight / (self * weight).sum(0, keepdim=True)


@lib.op(inplace=True)
def of_a_body(self: Tensor, weight: Tensor) -> Tensor:
    return self * opdsl.sin(weight) + self.sum()


@pytest.mark.parametrize("function", [weighted_shares, of_a_body], ids=["formula", "body"])
def test_variants_in_place_of_what_folds_have_gradients_of_both_orders(function: Callable[..., Tensor]) -> None:
    in_place = function.variants["inplace"]  # type: ignore[attr-defined]
    x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=opdsl.float64, requires_grad=True)
    weight = opdsl.tensor([0.5, 0.75], dtype=opdsl.float64, requires_grad=True)
    assert gradcheck(lambda x, weight: in_place(x * 1.0, weight), (x, weight))

    def first(x: Tensor, weight: Tensor) -> Tensor:
        y = in_place(x * x, weight).square().sum()
        return opdsl.cat([one.reshape(-1) for one in opdsl.autograd.grad(y, [x, weight], create_graph=True)])

    assert gradcheck(first, (x, weight))
    for _ in range(3):  # repeated calls in which only one argument requires a gradient
        (alone,) = opdsl.autograd.grad(in_place(x.detach().clone(), weight).square().sum(), [weight])
        (wanted,) = opdsl.autograd.grad(function(x.detach(), weight).square().sum(), [weight])
        assert opdsl.allclose(alone, wanted)


def test_what_is_written_in_place_keeps_the_rest_of_its_history() -> None:
    x = opdsl.tensor([1.0, 2.0, 3.0], dtype=opdsl.float64, requires_grad=True)

    def text(x: Tensor) -> Tensor:
        y = x * 2
        weighted_shares.variants["inplace"](y, opdsl.ones(3, dtype=opdsl.float64))  # type: ignore[attr-defined]
        return y.sin_() * x

    assert gradcheck(text, (x,))
    with pytest.raises(opdsl.errors.RequiresGradError, match=r"out=\.\.\. arguments don't support automatic"):
        weighted_shares(x, opdsl.ones(3).double(), out=opdsl.empty(0).double())  # type: ignore[call-arg]


@lib.op
@formula
def straight(self: Tensor) -> Tensor:
    """Return the square; its declared gradient is a hundred times the gradient of the result."""
    return self * self


straight.derivative("self")(lambda grad, self: grad * 100.0)


@lib.op
@formula
def straight_and_sum(self: Tensor) -> Tensor:
    return straight(self) + straight(self).sum(-1, keepdim=True)


@lib.op
@formula
def straight_of_differences(self: Tensor, other: Tensor) -> Tensor:
    i, j, k = dims(3)
    return straight(self[i, k] - other[j, k]).sum(k).order(i, j)


def test_kernels_of_rows_take_declared_derivatives() -> None:
    x = opdsl.ones(2, 3, requires_grad=True)
    straight_and_sum(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[400.0] * 3] * 2


def test_kernels_of_places_take_declared_derivatives() -> None:
    x = opdsl.ones(2, 3, requires_grad=True)
    straight_of_differences(x, opdsl.zeros(4, 3)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[400.0] * 3] * 2
