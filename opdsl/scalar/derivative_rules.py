"""Differentiation rules: for each operation the gradients of its operands, given the gradient of its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from opdsl.scalar.growing_graph import GrowingGraph
from opdsl.scalar.operations import OPERATIONS

__all__ = ["RULES", "WITHOUT_GRADIENT", "Guard", "Guarded", "Guards"]


class Guard(NamedTuple):
    """Condition under which a gradient counts: a node of type bool is true, or is false."""

    condition: int
    is_true: bool


Guards: TypeAlias = tuple[Guard, ...]


class Guarded(NamedTuple):
    """Gradient that counts only under conditions."""

    guards: Guards
    value: int


Sent: TypeAlias = "tuple[int | Guarded | None, ...]"
Rule: TypeAlias = "Callable[[GrowingGraph, int, tuple[int, ...], int], Sent]"

# A large number that is finite in float32, too.
_LARGE = 2.0**127


def _factor(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """Return the rule of a unary function whose slope is ``make(operand, result)``: the gradient times the slope."""

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        return (b.multiply(gradient, b.conjugate(make(b, arguments[0], result))),)

    return rule


def _growing(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """Return the rule of a unary function that may overflow: the gradient times the slope, where 0 times infinity has
    to be 0.

    An infinite slope is replaced by a large one, so that in ``1 / (1 + exp(-x))`` left of -710 the gradient 0 stays 0.
    If the function is the outermost one, its slope stays infinite.
    """

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        slope = make(b, arguments[0], result)
        if not b.is_complex and b.nodes[gradient].op != "parameter":
            slope = b.select(b.add("isinf", slope), b.number(_LARGE), slope)
        return (b.multiply(gradient, b.conjugate(slope)),)

    return rule


def _quotient(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """Return the rule of a unary function whose gradient is divided by ``make(operand, result)``."""

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        return (b.divide(gradient, b.conjugate(make(b, arguments[0], result))),)

    return rule


def _multiply(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y = arguments
    return b.multiply(gradient, b.conjugate(y)), b.multiply(gradient, b.conjugate(x))


def _divide(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    y = b.conjugate(arguments[1])
    slope = b.square(result) if b.value(arguments[0]) == 1 else b.divide(result, arguments[1])
    return b.divide(gradient, y), b.negative(b.multiply(gradient, b.conjugate(slope)))


def _fma(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y, _ = arguments
    return b.multiply(gradient, b.conjugate(y)), b.multiply(gradient, b.conjugate(x)), gradient


def _extremum(comparison: str) -> Rule:
    """Return the rule of maximum or minimum: the chosen operand gets the gradient, equal ones half each, with NaN both
    all.
    """

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        x, y = arguments
        tied = b.add("equal", x, y)
        shared = b.select(tied, b.multiply(gradient, b.number(0.5)), gradient)
        return (
            Guarded((Guard(b.add(comparison, x, y), False),), shared),
            Guarded((Guard(b.add(comparison, y, x), False),), shared),
        )

    return rule


def _choice(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    condition = arguments[0]
    return None, Guarded((Guard(condition, True),), gradient), Guarded((Guard(condition, False),), gradient)


def _absolute(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradient of ``abs``: 0 at 0 even if the incoming one is infinite (``sqrt(abs(x))``); NaN from outside
    stays.
    """
    (x,) = arguments
    if b.is_complex:
        return (
            Guarded(
                (Guard(b.add("equal", result, b.number(0)), False),),
                b.multiply(b.add("real", gradient), b.divide(x, result)),
            ),
        )
    zero = b.number(0)
    flat = b.multiply(gradient, zero) if b.nodes[gradient].op == "parameter" else zero
    above, below = b.add("greater", x, zero), b.add("less", x, zero)
    return (b.select(above, gradient, b.select(below, b.negative(gradient), flat)),)


def _power(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradients of a power as PyTorch's ``pow_backward``: the base gets 0 if the exponent is 0, the
    exponent gets 0 if the base is 0 (and a real exponent is not negative).
    """
    base, exponent = arguments
    less = b.value(exponent)
    reduced = b.number(less - 1) if less is not None else b.add("subtract", exponent, b.number(1))
    slope = b.multiply(exponent, b.add("power", base, reduced))
    for_base = b.multiply(gradient, b.conjugate(slope))
    logarithm = b.multiply(result, b.add("log", base))
    for_exponent = b.multiply(gradient, b.conjugate(logarithm))
    flat = Guard(b.add("equal", exponent, b.number(0)), False)
    if less is not None:
        return (None if less == 0 else for_base), None
    vanishing = b.add("equal", base, b.number(0))
    if not b.is_complex:
        vanishing = b.add("logical_and", vanishing, b.add("greater_equal", exponent, b.number(0)))
    return Guarded((flat,), for_base), Guarded((Guard(vanishing, False),), for_exponent)


def _atan2(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradients of atan2 by dividing twice by the distance, whose square could underflow; both are 0 at the
    origin.
    """
    y, x = arguments
    distance = b.add("hypot", x, y)
    scaled = b.divide(gradient, distance)
    somewhere = (Guard(b.add("equal", distance, b.number(0)), False),)
    numbers = (b.divide(b.multiply(scaled, x), distance), b.negative(b.divide(b.multiply(scaled, y), distance)))
    return Guarded(somewhere, numbers[0]), Guarded(somewhere, numbers[1])


def _hypot(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y = arguments
    return b.multiply(gradient, b.divide(x, result)), b.multiply(gradient, b.divide(y, result))


def _copysign(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x = arguments[0]
    return Guarded((Guard(b.add("equal", x, b.number(0)), False),), b.multiply(gradient, b.divide(result, x))), None


def _nextafter(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradient as PyTorch does: the first operand gets it, unless both operands are equal."""
    return Guarded((Guard(b.add("equal", *arguments), False),), gradient), None


def _fmod(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradients of ``x - y * trunc(x / y)``."""
    return gradient, b.negative(b.multiply(gradient, b.add("trunc", b.divide(*arguments))))


def _ieee_remainder(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradients of ``x - y * round(x / y)``."""
    return gradient, b.negative(b.multiply(gradient, b.add("round", b.divide(*arguments))))


def _remainder(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradients of ``x - y * (x // y)``; ``x // y`` differs from the rounded quotient if one of them is
    infinite.
    """
    return gradient, b.negative(b.multiply(gradient, b.add("floor_divide", *arguments)))


def _row_sum(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    (x,) = arguments
    return (gradient if x in b.varies else b.multiply(gradient, b.add("row_count", x)),)


def _row_mean(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    (x,) = arguments
    return (b.divide(gradient, b.add("row_count", x)) if x in b.varies else gradient,)


def _row_extremum(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Compute the gradient of a row's extremum: equal shares for all elements that are the extremum or NaN, as in
    PyTorch's ``amax``.
    """
    (x,) = arguments
    if x not in b.varies:
        return (gradient,)
    taken = b.add("logical_or", b.add("equal", x, result), b.add("isnan", x))
    count = b.add("row_sum", b.select(taken, b.number(1.0), b.number(0.0)))
    return (Guarded((Guard(taken, True),), b.divide(gradient, count)),)


def _one_plus(b: GrowingGraph, value: int) -> int:
    return b.add("add", value, b.number(1))


def _one_minus(b: GrowingGraph, value: int) -> int:
    return b.add("subtract", b.number(1), value)


def _acosh_divisor(b: GrowingGraph, x: int, result: int) -> int:
    """Return ``sqrt(x * x - 1)``; for complex numbers as a product of roots, which is on the branch of ``acosh`` left
    of 0 too.
    """
    if not b.is_complex:
        return b.add("sqrt", b.add("subtract", b.square(x), b.number(1)))
    return b.multiply(b.add("sqrt", b.add("subtract", x, b.number(1))), b.add("sqrt", _one_plus(b, x)))


def _gaussian(scale: float) -> Rule:
    return _factor(lambda b, x, _: b.multiply(b.add("exp", b.negative(b.square(x))), b.number(scale)))


def _is_inexact(name: str) -> bool:
    """Return whether a dtype is a floating-point or complex one."""
    return "float" in name or "complex" in name


RULES: Final[dict[str, Rule]] = {
    "add": lambda b, gradient, arguments, result: (gradient, gradient),
    "subtract": lambda b, gradient, arguments, result: (gradient, b.negative(gradient)),
    "multiply": _multiply,
    "divide": _divide,
    "fma": _fma,
    "negative": lambda b, gradient, arguments, result: (b.negative(gradient),),
    "to_floating": lambda b, gradient, arguments, result: (gradient,),
    "to_double": lambda b, gradient, arguments, result: (gradient,),
    "rounded": lambda b, gradient, arguments, result: (gradient,),
    "convert": lambda b, gradient, arguments, result: (gradient if _is_inexact(str(b.nodes[result].value)) else None,),
    "conjugate": lambda b, gradient, arguments, result: (b.conjugate(gradient),),
    "real": lambda b, gradient, arguments, result: (b.complex(b.add("real", gradient), b.number(0)),),
    "imag": lambda b, gradient, arguments, result: (b.complex(b.number(0), b.add("real", gradient)),),
    "complex": lambda b, gradient, arguments, result: (b.add("real", gradient), b.add("imag", gradient)),
    "maximum": _extremum("less"),
    "minimum": _extremum("greater"),
    "row_sum": _row_sum,
    "row_mean": _row_mean,
    "row_max": _row_extremum,
    "row_min": _row_extremum,
    "select": _choice,
    "absolute": _absolute,
    "power": _power,
    "fmod": _fmod,
    "remainder": _remainder,
    "ieee_remainder": _ieee_remainder,
    "atan2": _atan2,
    "hypot": _hypot,
    "copysign": _copysign,
    "nextafter": _nextafter,
    "sqrt": _quotient(lambda b, x, result: b.multiply(result, b.number(2))),
    "cbrt": _quotient(lambda b, x, result: b.multiply(b.square(result), b.number(3))),
    "exp": _growing(lambda b, x, result: result),
    "exp2": _growing(lambda b, x, result: b.multiply(result, b.number(math.log(2)))),
    "expm1": _growing(lambda b, x, result: b.add("exp", x)),  # result + 1 would lose the digits of large negative x
    "log": _quotient(lambda b, x, result: x),
    "log2": _quotient(lambda b, x, result: b.multiply(x, b.number(math.log(2)))),
    "log10": _quotient(lambda b, x, result: b.multiply(x, b.number(math.log(10)))),
    "log1p": _quotient(lambda b, x, result: _one_plus(b, x)),
    "sin": _factor(lambda b, x, result: b.add("cos", x)),
    "cos": _factor(lambda b, x, result: b.negative(b.add("sin", x))),
    "tan": _factor(lambda b, x, result: _one_plus(b, b.square(result))),
    "asin": _quotient(lambda b, x, result: b.add("sqrt", _one_minus(b, b.square(x)))),
    "acos": _quotient(lambda b, x, result: b.negative(b.add("sqrt", _one_minus(b, b.square(x))))),
    "atan": _quotient(lambda b, x, result: _one_plus(b, b.square(x))),
    "sinh": _growing(lambda b, x, result: b.add("cosh", x)),
    "cosh": _factor(lambda b, x, result: b.add("sinh", x)),
    "tanh": _factor(lambda b, x, result: _one_minus(b, b.square(result))),
    "asinh": _quotient(lambda b, x, result: b.add("sqrt", _one_plus(b, b.square(x)))),
    "acosh": _quotient(_acosh_divisor),
    "atanh": _quotient(lambda b, x, result: _one_minus(b, b.square(x))),
    "erf": _gaussian(2 / math.sqrt(math.pi)),
    "erfc": _gaussian(-2 / math.sqrt(math.pi)),
}

# Step functions and operations whose results are not real numbers: their derivative is 0 where it exists.
WITHOUT_GRADIENT: Final = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if operation.rule in ("comparison", "bitwise", "shift", "truth", "logical", "logical_not", "predicate", "rounding")
) | {"floor_divide", "trunc_divide", "to_integer", "largest", "row_count", "row_index"}
