"""Tests of formulas that call an overridden operator: their kernels compute the declared operator, not the override."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.dispatch.overrides.overriding import overrides


@pytest.fixture
def served() -> Iterator[list[object]]:
    """Override ``add`` by a kernel that returns zeros, and yield the list of the calls that it serves."""
    calls: list[object] = []

    def other_result(self: Tensor, other: Tensor, *, alpha: object = 1) -> Tensor:
        calls.append(alpha)
        return self.new_zeros(self.shape)

    override = opdsl.register_op_override(
        "other", "aten", "add.Tensor", "CPU", None, other_result, unconditional_override=True
    )
    yield calls
    overrides.remove(override)


def squared_and(self: Tensor, by: float = 1.0) -> Tensor:
    return self * self + by


@pytest.fixture
def declared() -> Iterator[Callable[..., Callable[..., Tensor]]]:
    with Library("overridden_within") as lib:
        yield lambda function: lib.op()(formula(function))


def test_a_formula_of_elements_is_read(served, declared):
    operator = declared(squared_and)
    assert operator(opdsl.tensor([1.0, 2.0])).tolist() == [2.0, 5.0]
    assert served == []


def test_gradients_of_the_formula_are_read_too(served, declared):
    operator = declared(squared_and)
    x = opdsl.tensor([1.0, 2.0], requires_grad=True)
    operator(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]


def test_calls_of_the_operator_itself_reach_the_override(served):
    assert (opdsl.ones(2) + 1).tolist() == [0.0, 0.0]
    assert len(served) == 1
