"""Tests of fingerprints of author kernels: equal for equal code, different for any change of the computation."""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.backends.cpu.fingerprint import fingerprint
from opdsl.dispatch import DispatchKey
from opdsl.kernels import StructuredDefinition, StructuredKernel

opdsl.add  # noqa: B018  loads the operators


def function(text: str, **names: Any) -> FunctionType:
    """Return the function ``f`` that a text defines, with given globals."""
    exec(text, names)
    name = names["f"]
    assert isinstance(name, FunctionType)
    return name


def closure(value: Any) -> FunctionType:
    def f(x: Any) -> Any:
        return x * value

    assert isinstance(f, FunctionType)
    return f


def test_equal_text() -> None:
    assert fingerprint(function("def f(x): return x + 1")) == fingerprint(function("\n\ndef f(x): return x + 1"))


@pytest.mark.parametrize(
    "other",
    [
        function("def f(x): return x + 2"),
        function("def f(x): return x - 1"),
        function("def f(x, y): return x + 1"),
        function("def f(x, y=1): return x + y"),
        function("def f(x): return x + 1.0"),
        function("def f(x): return x + c", c=1),
    ],
)
def test_different_functions(other: FunctionType) -> None:
    assert fingerprint(function("def f(x): return x + 1")) != fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (1, 1.0), ((1, 2), (2, 1)), (numpy.arange(3), numpy.arange(4))])
def test_values_of_globals_and_closures(one: Any, other: Any) -> None:
    assert fingerprint(function("def f(x): return x + c", c=one)) != fingerprint(
        function("def f(x): return x + c", c=other)
    )
    assert fingerprint(closure(one)) != fingerprint(closure(other))
    assert fingerprint(closure(one)) == fingerprint(closure(one))


def test_functions_that_it_calls() -> None:
    one, other = function("def f(x): return x"), function("def f(x): return -x")
    outer = "def f(x): return g(x)"
    assert fingerprint(function(outer, g=one)) != fingerprint(function(outer, g=other))


def test_recursion() -> None:
    assert fingerprint(function("def f(x): return f(x - 1) if x else 0"))


def test_modules() -> None:
    assert fingerprint(function("def f(x): return m.sin(x)", m=math)) != fingerprint(
        function("def f(x): return m.sin(x)", m=numpy)
    )


def test_inner_functions() -> None:
    text = "def f(x):\n  def g(y): return y + c\n  return g(x)"
    assert fingerprint(function(text, c=1)) != fingerprint(function(text, c=2))


def test_value_without_a_text_has_no_fingerprint() -> None:
    assert fingerprint(function("def f(x): return c", c=object())) is None


def test_attributes_are_no_globals() -> None:
    text = "import math\ndef f(x): return x * math.pi"
    assert fingerprint(function(text, pi=object())) == fingerprint(function(text)) is not None


def test_the_kernels_of_operators_have_one() -> None:
    kernels = [
        operator.entry(DispatchKey("CPU")).kernel for operator in opdsl.registry if operator.name.startswith("opdsl::")
    ]
    defined = [kernel.definition for kernel in kernels if isinstance(kernel, StructuredKernel)]
    own = [
        definition.kernels["CPU"]
        for definition in defined
        if isinstance(definition, StructuredDefinition) and "CPU" in definition.kernels
    ]
    compiled = [kernel.function for kernel in own if kernel.compiled]
    assert "pair_distances_cpu" in [kernel.__name__ for kernel in compiled]
    assert [kernel.__name__ for kernel in compiled if fingerprint(kernel) is None] == []
