"""Tests of primitives: each corresponds to a library operator, and a body that combines them is one scalar function."""

from __future__ import annotations

import math
import subprocess
import sys
from types import FunctionType
from typing import Any

import pytest

import opdsl
from opdsl import primitives
from opdsl._attributes import aten
from opdsl.declare.primitives import rule_of_body
from opdsl.dispatch import registry
from opdsl.primitives import Primitive
from opdsl.scalar.primitives import Applied, Operand
from opdsl.schema import parse_schema

NAMES = sorted(name for name, var in vars(primitives).items() if isinstance(var, Primitive))
UNARY = parse_schema("f(Tensor self) -> Tensor")
BINARY = parse_schema("f(Tensor self, Tensor other) -> Tensor")


def of_library(function: Any) -> FunctionType:
    """Mark a function as one of the library's modules, and return it."""
    function.__module__ = "opdsl.aten.pointwise.example"
    assert isinstance(function, FunctionType)
    return function


@pytest.mark.parametrize("name", NAMES)
def test_its_operator_is_a_formula_of_it(name: str) -> None:
    assert callable(aten[name])  # loads it
    declarations = [overload.declaration for overload in registry.packets[f"aten::{name}"].overloads.values()]
    declared = [
        declaration
        for declaration in declarations
        if declaration is not None and name in declaration.function.__code__.co_names
    ]
    assert [rule_of_body(declaration.function, declaration.main.schema) for declaration in declared] not in ([], [None])


def test_called_with_tensors_it_is_the_operator() -> None:
    result = primitives.hypot(opdsl.tensor([3.0, 5.0]), opdsl.tensor([4.0, 12.0]))
    assert result.tolist() == [5.0, 13.0]


def test_a_sum_takes_the_number_that_scales() -> None:
    assert primitives.sub(opdsl.tensor([7.0]), opdsl.tensor([2.0]), 3).tolist() == [1.0]


def test_formulas_of_users_may_call_them() -> None:
    with opdsl.Library("primitive_users") as lib:

        @lib.op
        @opdsl.formula
        def slope(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor:
            return primitives.atan2(self, other) * 2.0

        assert slope(opdsl.tensor([1.0]), opdsl.tensor([1.0])).tolist() == pytest.approx([math.pi / 2])


def test_calls_in_calls_are_one_rule() -> None:
    @of_library
    def inverse_root(self: Any) -> Any:
        return primitives.div(1.0, primitives.sqrt(self))

    rule = rule_of_body(inverse_root, UNARY)
    assert rule is not None
    assert rule.expression == Applied("divide", (1.0, Applied("sqrt", (Operand(0),))))
    assert rule.promote == "int_to_float"


def test_operands_may_stand_in_another_order() -> None:
    @of_library
    def swapped(self: Any, other: Any) -> Any:
        return primitives.remainder(other, self)

    rule = rule_of_body(swapped, BINARY)
    assert rule is not None
    assert rule.nonzero == (0,)


def _with_arithmetic(self: Any, other: Any) -> Any:
    return primitives.exp(self) * other


def _that_chooses(self: Any, other: Any) -> Any:
    return primitives.exp(self) if self else primitives.log(other)


def _that_compares(self: Any, other: Any) -> Any:
    return primitives.exp(self) if self == other else primitives.log(other)


def _promoted_in_steps(self: Any, other: Any) -> Any:
    return primitives.mul(primitives.sqrt(self), other)


def _with_a_method(self: Any, other: Any) -> Any:
    return primitives.exp(self.abs())


@pytest.mark.parametrize("body", [_with_arithmetic, _that_chooses, _that_compares, _promoted_in_steps, _with_a_method])
def test_other_bodies_are_read_from_their_text(body: Any) -> None:
    own = FunctionType(body.__code__, globals(), body.__name__, body.__defaults__)
    assert rule_of_body(of_library(own), BINARY) is None


def test_bodies_of_arguments_that_may_be_none_are_read_from_their_text() -> None:
    @of_library
    def perhaps(self: Any, other: Any = None) -> Any:
        return primitives.exp(self) if other is None else primitives.log(self)

    assert rule_of_body(perhaps, parse_schema("f(Tensor self, Scalar? other=None) -> Tensor")) is None


@pytest.mark.parametrize(
    ("name", "integers", "expected"),
    [
        ("exp2", [3], [8.0]),
        ("rsqrt", [4, 16], [0.5, 0.25]),
        ("reciprocal", [2, 4], [0.5, 0.25]),
        ("isnan", [1], [False]),
        ("abs", [-2, 2], [2, 2]),
    ],
)
def test_integers_are_promoted_as_the_rule_says(name: str, integers: list[int], expected: list[object]) -> None:
    assert aten[name](opdsl.tensor(integers)).tolist() == expected


def test_the_package_has_them_in_a_fresh_process() -> None:
    code = "import opdsl; print(opdsl.primitives.exp2(opdsl.tensor([3.0])).tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[8.0]"
