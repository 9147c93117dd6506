"""The scalar functions of a monoid, typed: what reductions and scans are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from opdsl.kernels.numbers import BOUNDS

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph


def read_function(function: FunctionType | ScalarFunction) -> ScalarFunction:
    """A scalar function, read if it is not yet."""
    from opdsl.scalar import ScalarFunction, read

    return function if isinstance(function, ScalarFunction) else read(function)


def fits(function: ScalarFunction, parameters: int, results: int) -> bool:
    """Whether a function takes and returns so many values."""
    return len(function.parameters) == parameters and len(function.results) == results


def initial(value: bool | int | float | complex, kind: str) -> bool | int | float | complex:
    """An initial accumulator of a type: infinities are the bounds of integers."""
    if kind == "bool":
        return bool(value) if isinstance(value, complex) else value > 0
    if kind not in BOUNDS or isinstance(value, complex):
        return value
    if isinstance(value, float) and math.isinf(value):
        return BOUNDS[kind][value > 0]
    return int(value)


def typed(function: ScalarFunction | None, types: Sequence[str], results: Sequence[str]) -> TypedGraph:
    """A function typed by place; without one, the function that returns its first parameters."""
    if function is not None:
        return function.specialise(dict(zip(function.parameters, types, strict=False)), results=results)
    from opdsl.scalar.builder import GraphBuilder
    from opdsl.scalar.types import ScalarType

    builder = GraphBuilder()
    given = [builder.parameter(f"a{place}", ScalarType(kind)) for place, kind in enumerate(types)]
    pairs = zip(given, results, strict=False)
    return builder.finish("identity", [builder.cast(place, ScalarType(kind)) for place, kind in pairs])
