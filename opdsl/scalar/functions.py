"""Table of the Python functions that a scalar function may call, and the operations that they become."""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import opdsl.scalar.intrinsics as intrinsics
from opdsl.scalar.operations import OF_ROWS

__all__ = ["FUNCTIONS", "STATIC", "Fold"]

Add: TypeAlias = Callable[..., Any]


class Fold:
    """Conversion of a function call to graph nodes.

    fewest, most: the smallest and largest number of positional arguments; ``most`` is None if there is no limit.
    build: takes a function that adds a node, and the arguments.
    """

    __slots__ = ("build", "fewest", "most")

    def __init__(self, build: Callable[..., Any], fewest: int, most: int | None) -> None:
        self.build = build
        self.fewest = fewest
        self.most = most

    def problem(self, count: int, keywords: Mapping[str, Any]) -> str | None:
        """Return the fault of a call with ``count`` arguments and some keywords, or None."""
        if keywords:
            return f"it does not take {', '.join(keywords)}= here"
        if count < self.fewest or (self.most is not None and count > self.most):
            wanted = (
                f"{self.fewest}" if self.fewest == self.most else f"{self.fewest} to {self.most or 'any number of'}"
            )
            return f"it takes {wanted} arguments here (got {count})"
        return None


def _direct(op: str, arity: int) -> Fold:
    return Fold(lambda add, *operands: add(op, *operands), arity, arity)


def _reduced(op: str) -> Fold:
    """Return the converter of a variadic function, such as ``max``, which applies the operation ``op`` to two operands
    at a time.
    """

    def build(add: Add, first: Any, *others: Any) -> Any:
        for other in others:
            first = add(op, first, other)
        return first

    return Fold(build, 2, None)


def _log(add: Add, value: Any, base: Any = None) -> Any:
    if base is None:
        return add("log", value)
    bottom = add("log", base)
    return add("divide", add("log", value), bottom)


_UNARY: Final = [
    "sqrt",
    "exp",
    "exp2",
    "expm1",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "cbrt",
    "floor",
    "ceil",
    "trunc",
    "isnan",
    "isinf",
    "isfinite",
]

FUNCTIONS: Final[dict[Any, Fold]] = {
    **{getattr(math, function_name): _direct(function_name, 1) for function_name in _UNARY},
    **{
        getattr(cmath, function_name): _direct(function_name, 1)
        for function_name in _UNARY
        if hasattr(cmath, function_name)
    },
    math.log: Fold(_log, 1, 2),
    cmath.log: Fold(_log, 1, 2),
    math.fabs: Fold(lambda add, value: add("absolute", add("to_floating", value)), 1, 1),
    math.pow: Fold(lambda add, base, exponent: add("power", add("to_floating", base), exponent), 2, 2),
    math.atan2: _direct("atan2", 2),
    math.hypot: _direct("hypot", 2),
    math.copysign: _direct("copysign", 2),
    math.fmod: _direct("fmod", 2),
    math.remainder: _direct("ieee_remainder", 2),
    math.nextafter: _direct("nextafter", 2),
    math.degrees: Fold(lambda add, value: add("multiply", add("to_floating", value), 180.0 / math.pi), 1, 1),
    math.radians: Fold(lambda add, value: add("multiply", add("to_floating", value), math.pi / 180.0), 1, 1),
    intrinsics.conjugate: _direct("conjugate", 1),
    cmath.phase: Fold(lambda add, value: add("atan2", add("imag", value), add("real", value)), 1, 1),
    intrinsics.rounded: _direct("rounded", 1),
    intrinsics.largest: _direct("largest", 1),
    intrinsics.double: _direct("to_double", 1),
    intrinsics.fma: _direct("fma", 3),
    intrinsics.trunc_divide: _direct("trunc_divide", 2),
    **{getattr(intrinsics, function_name): _direct(function_name, 1) for function_name in sorted(OF_ROWS)},
    builtins.abs: _direct("absolute", 1),
    builtins.min: _reduced("minimum"),
    builtins.max: _reduced("maximum"),
    builtins.round: _direct("round", 1),
    builtins.pow: _direct("power", 2),
    builtins.divmod: Fold(lambda add, *pair: (add("floor_divide", *pair), add("remainder", *pair)), 2, 2),
    builtins.int: _direct("to_integer", 1),
    builtins.float: _direct("to_floating", 1),
    builtins.bool: _direct("to_bool", 1),
    builtins.complex: Fold(lambda add, real, imag=0: add("complex", real, imag), 1, 2),
}

# Functions that may be called only on values that are known while tracing.
STATIC: Final = frozenset({range, len, reversed, enumerate, zip, tuple, sorted, sum, str})
