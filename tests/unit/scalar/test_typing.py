"""Tests of types in scalar functions: promotion as in PyTorch, weak literals, the floating-point dtype of the
kernel.
"""

import itertools
import math

import pytest
import torch

from opdsl.scalar import ScalarType, read
from opdsl.scalar.types import promote

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(TYPES, TYPES)))
def test_promotion_is_torchs(first, second):
    expected = torch.promote_types(getattr(torch, first), getattr(torch, second))
    assert f"torch.{promote(ScalarType(first), ScalarType(second)).value}" == str(expected)


def result(function, **types):
    return read(function).specialise(types).result_types[0].value


@pytest.mark.parametrize("kind", [kind for kind in TYPES if not kind.startswith("complex")])
def test_literals_are_weak_as_in_torch(kind):
    ones = torch.ones(1, dtype=getattr(torch, kind))
    assert f"torch.{result(lambda x: x + 1, x=kind)}" == str((ones + 1).dtype)
    assert f"torch.{result(lambda x: x * 0.5, x=kind)}" == str((ones * 0.5).dtype)
    assert f"torch.{result(lambda x: x / 2, x=kind)}" == str((ones / 2).dtype)
    assert f"torch.{result(lambda x: math.exp(x), x=kind)}" == str(torch.exp(ones).dtype)
    assert f"torch.{result(lambda x: x < 0.5, x=kind)}" == "torch.bool"


def test_literal_takes_the_kernels_precision():
    assert result(lambda x: 1.0 if x > 0 else 0.0, x="float64") == "float64"
    assert result(lambda x: (x > 0) * 0.1, x="float64") == "float64"
    assert result(lambda x, n: n * 0.1, x="float64", n="int64") == "float64"


def test_default_float_of_integers():
    assert read(lambda x: x / 2).specialise({"x": "int32"}, default_float="float64").result_types == ("float64",)


def test_results_can_be_cast():
    graph = read(lambda x: x > 0).specialise({"x": "float32"}, results=["int32"])
    assert graph.result_types == ("int32",)


def test_conversions():
    assert result(lambda x: int(x), x="float32") == "int64"
    assert result(lambda x: int(x), x="int8") == "int64"
    assert result(lambda x: int(x), x="uint64") == "uint64"
    assert result(lambda x: float(x), x="int8") == "float32"
    assert result(lambda x: bool(x), x="float64") == "bool"
    assert result(lambda x: round(x), x="float64") == "float64"


def test_literal_out_of_range_compares_as_it_is():
    assert str(read(lambda x: x < 300).specialise({"x": "uint8"})).endswith("return True")
    assert str(read(lambda x: x == -1).specialise({"x": "uint8"})).endswith("return False")
    assert str(read(lambda x: x > -1).specialise({"x": "uint8"})).endswith("return True")


def test_literal_out_of_range_in_extrema_is_the_bound():
    assert "min(x, 127)" in str(read(lambda x: min(x, 1000)).specialise({"x": "int8"}))


def test_fingerprint_is_of_what_is_computed():
    first = read(lambda x, y: x * y + 1).specialise({"x": "float32", "y": "float32"})
    same = read(lambda a, b: a * b + 1.0).specialise({"a": "float32", "b": "float32"})
    other = read(lambda x, y: x * y + 2).specialise({"x": "float32", "y": "float32"})
    assert first.fingerprint == same.fingerprint
    assert first.fingerprint != other.fingerprint
    assert first.fingerprint != read(lambda x, y: x * y + 1).specialise({"x": "float64", "y": "float32"}).fingerprint


def test_simplification_keeps_ieee():
    assert "0.0 * x" in str(read(lambda x: 0.0 * x).specialise({"x": "float32"}))
    assert "x + 0.0" in str(read(lambda x: x + 0.0).specialise({"x": "float32"}))
    for function in (
        lambda x: x * 1.0,
        lambda x: x - 0.0,
        lambda x: x / 1,
        lambda x: -(-x),  # noqa: B002
        lambda x: x if True else 2,
    ):
        assert str(read(function).specialise({"x": "float32"})).endswith("return x")


def test_equal_expressions_are_shared():
    graph = read(lambda x: math.exp(x) / (1 + math.exp(x))).specialise({"x": "float32"})
    assert [node.op for node in graph.nodes].count("exp") == 1
