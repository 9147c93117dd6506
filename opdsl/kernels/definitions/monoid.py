"""Typed scalar functions of a monoid, from which reductions and scans are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar

import numpy

from opdsl.errors import DTypeError, RoundedResultError, UnsupportedDTypeError
from opdsl.kernels.iteration.numbers import BOUNDS

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, Scanning
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph

T = TypeVar("T")

_SAY_WHAT_IS_MEANT = (
    'Choose one: promote="int_to_float" computes integers as floating-point numbers, promote="floating" refuses them, '
    "int(...) rounds."
)


def read_function(function: FunctionType | ScalarFunction, known: Mapping[str, object] | None = None) -> ScalarFunction:
    """Read a scalar function, unless it is read already.

    Args:
        function: the function.
        known: constants for parameters, by name; names that the function does not have are ignored.
    """
    from opdsl.scalar import ScalarFunction, read
    from opdsl.scalar.calls import parameter_names
    from opdsl.scalar.source import function_source

    if isinstance(function, ScalarFunction):
        return function
    names = parameter_names(function_source(function)) if known else ()
    return read(function, constants={name: value for name, value in (known or {}).items() if name in names})


@lru_cache(maxsize=512)
def in_order(function: ScalarFunction, parameters: tuple[str, ...]) -> ScalarFunction:
    """Return a function with its parameters in another order."""
    from opdsl.scalar import ScalarFunction

    if function.parameters == parameters:
        return function
    return ScalarFunction(
        function.name, parameters, {}, function.nodes, function.places, function.results, function.source
    )


def fits(function: ScalarFunction, parameters: int, results: int) -> bool:
    """Return whether a function takes ``parameters`` values and returns ``results`` values."""
    return len(function.parameters) == parameters and len(function.results) == results


def initial(value: bool | int | float | complex, kind: str) -> bool | int | float | complex:
    """Convert an initial accumulator to a type; for integers, infinities become the bounds of the type.

    Raises:
        RoundedResultError: an integer type cannot represent the number.
    """
    if kind == "bool":
        return bool(value) if isinstance(value, complex) else value > 0
    if kind == "float32" and not isinstance(value, complex):
        with numpy.errstate(over="ignore"):
            return float(numpy.float32(value))
    if kind == "complex64":
        with numpy.errstate(over="ignore"):
            return complex(numpy.complex64(value))
    if kind not in BOUNDS or isinstance(value, complex):
        return value
    if isinstance(value, float) and math.isinf(value):
        return BOUNDS[kind][value > 0]
    least, most = BOUNDS[kind]
    if not least <= value <= most or int(value) != value:
        raise RoundedResultError(f"init={value} is no {kind}. {_SAY_WHAT_IS_MEANT}")
    return int(value)


def require_exact(function: ScalarFunction, types: Mapping[str, str], results: Sequence[str]) -> None:
    """Raise if a function's floating-point results would be rounded to integers.

    Args:
        function: the function.
        types: of its parameters.
        results: the types of its results.

    Raises:
        RoundedResultError: a result would be rounded; the message underlines it.
        ScalarFunctionError: an operation does not exist for the types.
    """
    from opdsl.scalar.rounding import rounded_results

    for index in rounded_results(function, types, results):
        source, node = function.places[function.results[index]]
        problem = f"this is a floating-point number, which {results[index]} would round"
        raise RoundedResultError(str(source.error(node, problem, _SAY_WHAT_IS_MEANT)))


def refuse_rounding(prepare: Callable[[], T]) -> T | None:
    """Call a function that specializes a definition for integers, and let only errors of rounded results through.

    An author then sees these errors at the declaration; other errors are raised when the operator is called.

    Args:
        prepare: specializes the functions for integers.

    Returns:
        Its result; None if integers are not supported.

    Raises:
        RoundedResultError: a function would round its results.
    """
    try:
        return prepare()
    except (DTypeError, UnsupportedDTypeError) as error:
        if isinstance(error.__cause__, RoundedResultError):
            raise error.__cause__ from None
        return None


def not_neutral(functions: Folding | Scanning) -> str:
    """Return a message if initial accumulators change when they are combined with themselves; an empty string if they
    do not.

    Elements are reduced in chunks, each of which begins with the initial accumulators.
    """
    from opdsl.scalar.interpreter import evaluate

    names = [parameter for parameter, _ in functions.combine.parameters]
    arrays = evaluate(functions.combine, dict(zip(names, functions.init * 2, strict=True)))
    starts = [numpy.asarray(one).astype(other.dtype) for one, other in zip(functions.init, arrays, strict=True)]
    pairs = zip(starts, arrays, strict=True)
    if all(numpy.array_equal(one, other, equal_nan=one.dtype.kind in "fc") for one, other in pairs):
        return ""
    twice = _shown([array.item() for array in arrays])
    return (
        f"init={_shown(functions.init)} combined with itself is {twice}, but each part of a fold begins with it. Use "
        "the identity of combine, and let finish add the rest"
    )


def _shown(values: Sequence[object]) -> str:
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"


def typed(function: ScalarFunction | None, types: Sequence[str], results: Sequence[str]) -> TypedGraph:
    """Specialize a scalar function for the types of its parameters, in order; for None, build the one that returns its
    first parameters.

    Raises:
        ScalarFunctionError: an operation does not exist for the types, or would round its results.
    """
    if function is not None:
        by_name = dict(zip(function.parameters, types, strict=False))
        require_exact(function, by_name, results)
        return function.specialise(by_name, results=results)
    from opdsl.scalar.builder import GraphBuilder
    from opdsl.scalar.types import ScalarType

    builder = GraphBuilder()
    parameters = [builder.parameter(f"a{index}", ScalarType(kind)) for index, kind in enumerate(types)]
    pairs = zip(parameters, results, strict=False)
    return builder.finish("identity", [builder.cast(index, ScalarType(kind)) for index, kind in pairs])
