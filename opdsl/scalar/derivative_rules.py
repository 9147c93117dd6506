"""The rules of derivatives: what each operation sends back to its operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from opdsl.scalar.growing_graph import GrowingGraph
from opdsl.scalar.operations import OPERATIONS

__all__ = ["RULES", "WITHOUT_GRADIENT", "Guard", "Guarded", "Guards"]


class Guard(NamedTuple):
    """A condition under which a gradient counts: the node is true, or it is false."""

    condition: int
    is_true: bool


Guards: TypeAlias = tuple[Guard, ...]


class Guarded(NamedTuple):
    """A gradient that counts under conditions only."""

    guards: Guards
    value: int


Sent: TypeAlias = "tuple[int | Guarded | None, ...]"
Rule: TypeAlias = "Callable[[GrowingGraph, int, tuple[int, ...], int], Sent]"

# A number that is finite in single precision, too.
_LARGE = 2.0**127


def _factor(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """A function of one operand: the gradient times what ``make`` gives for the operand and the result."""

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        return (b.multiply(gradient, b.conjugate(make(b, arguments[0], result))),)

    return rule


def _growing(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """The same of a function that overflows: 0, as what comes into ``1 / (1 + exp(-x))`` left of -710, stays 0.

    An infinite slope is replaced by a large one; of the last function of all it stays infinite.
    """

    def rule(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        slope = make(b, arguments[0], result)
        if not b.is_complex and b.nodes[gradient].op != "parameter":
            slope = b.select(b.add("isinf", slope), b.number(_LARGE), slope)
        return (b.multiply(gradient, b.conjugate(slope)),)

    return rule


def _quotient(make: Callable[[GrowingGraph, int, int], int]) -> Rule:
    """The same, the gradient divided by what ``make`` gives."""

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
    """All to the operand that is taken, a half to each of equal ones; a NaN gets all, and its partner too."""

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
    """0 at 0, however steep what follows is there: ``sqrt(abs(x))``. A NaN that comes in from outside stays one."""
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
    """As PyTorch's ``pow_backward``: nothing comes back where the exponent is 0, or the base of a logarithm is 0."""
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
    """Divided twice by the distance, since its square would underflow; at the origin nothing comes back."""
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
    """As PyTorch's: a step from the first operand, none where both are equal."""
    return Guarded((Guard(b.add("equal", *arguments), False),), gradient), None


def _fmod(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * trunc(x / y)``"""
    return gradient, b.negative(b.multiply(gradient, b.add("trunc", b.divide(*arguments))))


def _ieee_remainder(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * round(x / y)``"""
    return gradient, b.negative(b.multiply(gradient, b.add("round", b.divide(*arguments))))


def _remainder(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * (x // y)``, which is not the rounded quotient where one of them is infinite"""
    return gradient, b.negative(b.multiply(gradient, b.add("floor_divide", *arguments)))


def _row_sum(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    (x,) = arguments
    return (gradient if x in b.varies else b.multiply(gradient, b.add("row_count", x)),)


def _row_mean(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    (x,) = arguments
    return (b.divide(gradient, b.add("row_count", x)) if x in b.varies else gradient,)


def _row_extremum(b: GrowingGraph, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Equal parts to all elements that are the extremum, as PyTorch's ``amax``; to all NaN where there is one."""
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
    """``sqrt(x * x - 1)``; of complex numbers on the branch of ``acosh``, which that square loses left of 0."""
    if not b.is_complex:
        return b.add("sqrt", b.add("subtract", b.square(x), b.number(1)))
    return b.multiply(b.add("sqrt", b.add("subtract", x, b.number(1))), b.add("sqrt", _one_plus(b, x)))


def _gaussian(scale: float) -> Rule:
    return _factor(lambda b, x, _: b.multiply(b.add("exp", b.negative(b.square(x))), b.number(scale)))


def _is_inexact(name: str) -> bool:
    """Return whether a dtype is of floating-point or complex numbers."""
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

# Steps, and what is no number: their derivative is 0 wherever there is one.
WITHOUT_GRADIENT: Final = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if operation.rule in ("comparison", "bitwise", "shift", "truth", "logical", "logical_not", "predicate", "rounding")
) | {"floor_divide", "trunc_divide", "to_integer", "largest", "row_count", "row_index"}
