"""Tests of reading Python into graphs: the result of each graph is that of the function itself."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from opdsl.scalar import evaluate, read
from opdsl.scalar.intrinsics import fma

COEFFICIENTS = (0.5, -1.5, 2.0)
SCALE = np.float32(0.25)


class Bounds(NamedTuple):
    low: int
    high: int


def horner(x):
    result = 0.0
    for coefficient in COEFFICIENTS:
        result = result * x + coefficient
    return result


def early_return(x):
    if x < 0:
        return -x
    if x > 10:
        y = 10.0
    elif x == 3:
        return 3.5
    else:
        y = x * 2
    return y + 1


def branches_assign(x):
    low, high = (1.0, 2.0) if x < 1 else (3.0, 4.0)
    if x > 2 and not x > 4:
        low = low + x
    return high - low


def augmented(x):
    total = 0.0
    for k in range(1, 4):
        total += x**k / k
    return total


def chained(x):
    return 1.0 if 0 < x <= 2 else -1.0


def calls(x):
    return horner(x) + clamp(x, high=2.0) * SCALE


def clamp(x, low=-1.0, *, high=1.0):
    return min(max(x, low), high)


def logic(x):
    return (x > 1 and x < 3) or x == -2


def choice_by_and(x):
    return x and 1.0 / (x + 0.5)


def mathematics(x):
    return math.sqrt(abs(x)) + math.copysign(math.pi, x) + math.floor(x) + math.fmod(x, 2.0) + fma(x, 2.0, 1.0)


def annotated_locals(x: float) -> float:
    """Return ``x + 1`` by a local variable with an annotation."""
    y: float = x + 1
    return y


FUNCTIONS = [
    horner, early_return, branches_assign, augmented, chained, calls, logic, choice_by_and, mathematics,
    annotated_locals,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_graph_agrees_with_the_function(function):
    values = [-3.0, -2.0, -0.25, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.0, 12.0]
    (result,) = evaluate(read(function).specialise({"x": "float64"}), {"x": values})
    assert result.astype(float).tolist() == pytest.approx([float(function(value)) for value in values])


def test_lambda_is_found():
    double, triple = (lambda x: x * 2), (lambda x: x * 3)
    assert str(read(triple).specialise({"x": "float32"})).endswith("t0: float32 = x * 3.0\n    return t0")
    assert str(read(double).specialise({"x": "float32"})).endswith("t0: float32 = x * 2.0\n    return t0")


def test_closure_constant():
    def scaled(factor):
        def function(x):
            return x * factor

        return function

    assert evaluate(read(scaled(3)).specialise({"x": "int32"}), {"x": 2}) == (6,)


def test_fields_of_a_named_tuple():
    bounds = Bounds(low=1, high=5)

    def clamped(x):
        return min(max(x, bounds.low), bounds.high)

    assert evaluate(read(clamped).specialise({"x": "int64"}), {"x": 9}) == (5,)


def test_several_results():
    def both(x):
        return x + 1, x > 0

    graph = read(both).specialise({"x": "float32"})
    assert graph.result_types == ("float32", "bool")


def test_constants_choose_a_branch():
    def activation(x, mode):
        if mode == "double":
            return x * 2
        return x * 3

    function = read(activation, constants={"mode": "double"})
    assert function.parameters == ("x",)
    assert evaluate(function.specialise({"x": "int64"}), {"x": 4}) == (8,)


def test_none_is_known():
    def scaled(x, factor=None):
        return x if factor is None else x * factor

    assert str(read(scaled, parameters=["x"]).specialise({"x": "float32"})).endswith("return x")
    assert len(read(scaled).specialise({"x": "float32", "factor": "float32"}).nodes) == 3


def test_decorators_do_not_move_the_source():
    def decorator(function):
        return function

    @decorator
    def function(
        x,
        y=(
            2
        ),
    ):  # fmt: skip
        text = """
unindented
"""
        return x + y if text else x

    assert read(function).parameters == ("x", "y")
    assert read(function).defaults == {"y": 2}


def test_scalar_functions_call_read_ones():
    inner = read(clamp)

    def outer(x):
        return inner(x * 2)

    assert evaluate(read(outer).specialise({"x": "float32"}), {"x": 5.0}) == (1.0,)


def test_show_reads_like_a_program():
    assert str(read(clamp).specialise({"x": "int8", "low": "int8", "high": "int8"})) == (
        "def clamp(x: int8, low: int8, high: int8) -> int8:\n"
        "    t0: int8 = max(x, low)\n"
        "    t1: int8 = min(t0, high)\n"
        "    return t1"
    )
