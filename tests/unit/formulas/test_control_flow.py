"""Tests of control flow in formulas: conditions on elements select per element, conditions on numbers before anything
runs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, errors, formula

lib = Library("formula_control")


@lib.op
@formula
def elu_formula(self: Tensor, alpha: float = 1.0) -> Tensor:
    if self > 0:
        return self
    return alpha * (opdsl.exp(self) - 1)


@lib.op
@formula
def nested(self: Tensor) -> Tensor:
    y = self
    if self > 1:
        if self > 2:
            y = y * 10
        else:
            y = y * 100
    elif not self:
        y = y - 5
    return y


@lib.op
@formula
def chained(self: Tensor) -> Tensor:
    return self if 0 < self <= 2 else -1


@lib.op
@formula
def logical(self: Tensor, other: Tensor) -> Tensor:
    return self if (self and other) or not (self or other > 2) else other


@lib.op
@formula
def halved_until(self: Tensor) -> Tensor:
    y = self
    for step in range(4):
        if y < 1:
            break
        if step == 1:
            continue
        y = y / 2
    return y


@lib.op
@formula
def collatz(self: Tensor) -> Tensor:
    """Return the number of steps of Collatz' sequence to 1."""
    n = self
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@lib.op
@formula
def root(self: Tensor, tolerance: float = 1e-12) -> Tensor:
    """Return square roots, computed by Newton's method."""
    x = self
    while abs(x * x - self) > tolerance * self:
        x = 0.5 * (x + self / x)
    return x


@lib.op
@formula
def extremes(self: Tensor, other: Tensor) -> Tensor:
    return max(self, other, 0) - min(self, 1.5) + round(self)


@lib.op
@formula
def guarded_root(self: Tensor) -> Tensor:
    return opdsl.sqrt(self) if self > 0 else 0.0


def python_nested(x):
    if x > 1:
        return x * 10 if x > 2 else x * 100
    return x if x else x - 5


@pytest.mark.parametrize("value", [-2.0, 0.0, 0.5, 1.5, 3.0, math.nan, math.inf])
def test_choices_are_those_of_python(value):
    x = opdsl.tensor([value], dtype=opdsl.float64)
    expected = [
        value if value > 0 else math.exp(value) - 1,
        python_nested(value),
        value if 0 < value <= 2 else -1,
    ]
    actual = [elu_formula(x).item(), nested(x).item(), chained(x).item()]
    assert np.allclose(actual, expected, rtol=1e-15, equal_nan=True)


@pytest.mark.parametrize("one", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("other", [0.0, 1.0, 3.0])
def test_logic_is_that_of_python(one, other):
    expected = one if (one and other) or not (one or other > 2) else other
    actual = logical(opdsl.tensor(one, dtype=opdsl.float64), opdsl.tensor(other, dtype=opdsl.float64)).item()
    assert actual == expected or (math.isnan(actual) and math.isnan(expected))


def python_halved(x):
    for step in range(4):
        if x < 1:
            break
        if step == 1:
            continue
        x = x / 2
    return x


def test_loops_end_and_skip_for_each_element():
    values = [0.5, 1.0, 3.0, 9.0, 40.0]
    assert halved_until(opdsl.tensor(values)).tolist() == [python_halved(number) for number in values]


def python_collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_elements_count_their_turns():
    values = list(range(1, 30))
    result = collatz(opdsl.tensor(values))
    assert result.dtype is opdsl.int64
    assert result.tolist() == [python_collatz(number) for number in values]


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
@pytest.mark.parametrize("dtype", [opdsl.float32, opdsl.float64])
def test_loops_take_numbers_and_dtypes(shape, dtype):
    x = opdsl.rand(shape, dtype=dtype) + 1
    result = root(x, 1e-6)
    assert (result.dtype, result.shape) == (dtype, shape)
    assert np.allclose(result.numpy(), np.sqrt(x.numpy()), rtol=1e-6)


def test_builtins_are_of_elements():
    x, y = np.array([-1.5, 0.5, 2.5]), np.array([1.0, -1.0, 0.0])
    expected = np.maximum(np.maximum(x, y), 0) - np.minimum(x, 1.5) + np.round(x)
    assert extremes(opdsl.tensor(x), opdsl.tensor(y)).tolist() == expected.tolist()


def test_conditions_guard_gradients():
    x = opdsl.tensor([-1.0, 0.0, 4.0], requires_grad=True)
    guarded_root(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.25]


def test_what_overflows_on_the_other_side_does_not_reach_gradients():
    x = opdsl.tensor([-1.0, 1000.0], requires_grad=True)
    elu_formula(x, 2.0).sum().backward()
    assert np.allclose(x.grad.numpy(), [2 * math.exp(-1), 1.0])


def test_a_formula_that_is_declared_again_has_its_own_gradient():
    slopes = []
    for factor in (2.0, 3.0):

        def scaled(x, factor=factor):
            return x * factor

        with Library("formula_again") as local:

            @local.op
            @formula
            def twice(self: Tensor) -> Tensor:
                return scaled(self)

            x = opdsl.ones(2, requires_grad=True)
            twice(x).sum().backward()
            slopes.append(x.grad.tolist())
    assert slopes == [[2.0, 2.0], [3.0, 3.0]]


@formula
def common_divisor(one: Tensor, other: Tensor) -> Tensor:
    while other != 0:
        one, other = other, one % other
    return one


def test_a_loop_divides_by_what_it_ends_at():
    divisor = lib.op(common_divisor)
    one, other = opdsl.tensor([12, 0, 7, 35]), opdsl.tensor([18, 5, 0, 21])
    assert divisor(one, other).tolist() == [6, 5, 7, 7]


@lib.op
@formula
def quotients(self: Tensor, other: Tensor) -> Tensor:
    while self > 0:
        self = self // other
    return self


def test_a_loop_divides_by_nothing_else_that_may_be_0():
    assert quotients(opdsl.tensor([8.0]), opdsl.tensor([4.0])).tolist() == [0.0]
    with pytest.raises(errors.FormulaError, match=r"divides integers by elements that may be 0"):
        quotients(opdsl.tensor([8]), opdsl.tensor([4]))


def halved_to_a_limit(self: Tensor, limit: float = 1.0) -> Tensor:
    while self > limit:
        self = self * 0.5
    return self


def turns_counted(self: Tensor) -> Tensor:
    turns = 0
    while self > 1:
        self = self * 0.5
        turns += 1
    return self * turns


def sum_halved(self: Tensor) -> Tensor:
    total = self.sum(-1)
    while total > 1:
        total = total * 0.5
    return total


@pytest.mark.parametrize(
    "function", [halved_to_a_limit, turns_counted, sum_halved], ids=lambda function: function.__name__
)
def test_gradients_through_a_loop_that_elements_end_are_refused_by_name(function):
    with Library("formula_loop_gradients") as local:
        operator = local.op(formula(function))
        computed = operator(opdsl.tensor([4.0, 9.0], requires_grad=True))
        with pytest.raises(
            errors.MissingDerivativeError, match=rf"Declare that of the operator \(@{function.__name__}"
        ):
            computed.sum().backward()
