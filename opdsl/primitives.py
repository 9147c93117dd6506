"""Primitives that formulas are lowered to: scalar operations as functions of tensors, and loops over scalar functions.

The library's own operators are formulas of them: the body of ``exp`` is ``return primitives.exp(self)``, and ``cumsum``
calls a ``scan``. Called with tensors, a scalar operation calls the operator of the library that it defines; user code
should call that operator.

>>> import opdsl
>>> from opdsl import primitives
>>> primitives.exp2(opdsl.tensor([3.0]))
tensor([8.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from opdsl.loop_bodies import LOOPS, Loop, LoopCall, Parameter, Unread, draw, elements, fold, positions, rows, scan
from opdsl.scalar.primitives import Applied, Expression, Operand, Rule, operation

if TYPE_CHECKING:
    from opdsl.runtime import Tensor

    Value: TypeAlias = Tensor | int | float | complex

__all__ = [
    "LOOPS",
    "Binary",
    "Call",
    "Loop",
    "LoopCall",
    "Parameter",
    "Primitive",
    "Scaled",
    "Ternary",
    "Unary",
    "Unread",
    "draw",
    "elements",
    "fold",
    "positions",
    "rows",
    "scan",
]


class Call(Unread):
    """Record of a call of a primitive in the body of a formula.

    Args:
        rule: of the primitive.
        operands: parameters, further calls and numbers.
    """

    __slots__ = ("operands", "rule")

    def __init__(self, rule: Rule, operands: tuple[object, ...]) -> None:
        self.rule = rule
        self.operands = operands


class Primitive:
    """Scalar operation as a function of tensors.

    Args:
        operator: the name of the library's operator that it defines.
        rule: the computation; by default the scalar operation with the operator's name.
    """

    __slots__ = ("operator", "rule")

    def __init__(self, operator: str, rule: Rule | None = None) -> None:
        self.operator = operator
        self.rule = rule or Rule(operation(operator))

    def __repr__(self) -> str:
        return f"<primitive {self.operator}>"

    def call(self, *operands: object, **numbers: object) -> Any:
        """Return the operator's result, or a record of the call while a formula is being analyzed."""
        known = (*operands, *numbers.values())
        if any(isinstance(argument, Unread) for argument in known):
            return Call(self.rule, known)
        return importlib.import_module("opdsl._attributes").aten[self.operator](*operands, **numbers)


class Unary(Primitive):
    """Primitive with one operand."""

    __slots__ = ()

    def __call__(self, x: Tensor, /) -> Tensor:
        """Return the operation applied to each element."""
        return cast("Tensor", self.call(x))


class Binary(Primitive):
    """Primitive with two operands, which broadcast and are promoted to a common dtype."""

    __slots__ = ()

    def __call__(self, x: Value, y: Value, /) -> Tensor:
        """Return the operation applied to each pair of elements."""
        return cast("Tensor", self.call(x, y))


class Ternary(Primitive):
    """Primitive with three operands, which broadcast and are promoted to a common dtype."""

    __slots__ = ()

    def __call__(self, x: Value, y: Value, z: Value, /) -> Tensor:
        """Return the operation applied to each triple of elements."""
        return cast("Tensor", self.call(x, y, z))


class Scaled(Primitive):
    """Primitive with two operands, the second of which is multiplied by a number."""

    __slots__ = ()

    def __call__(self, x: Value, y: Value, alpha: complex, /) -> Tensor:
        """Return the operation applied to each pair of elements."""
        return cast("Tensor", self.call(x, y, alpha=alpha))


def _floating(name: str) -> Rule:
    """Return the rule of a floating-point operation, for which integers are converted."""
    return Rule(operation(name), "int_to_float")


def _integer(name: str, *kinds: str) -> Rule:
    """Return the rule of an operation on integers and on further kinds of dtypes."""
    return Rule(operation(name), dtypes=("integer", *kinds))


_ALL = ("bool", "integer", "floating", "complex", "stored")


def _truth(name: str, dtypes: tuple[str, ...] = ()) -> Rule:
    """Return the rule of an operation with boolean result."""
    return Rule(operation(name), "bool", dtypes=dtypes)


def _remainder(name: str) -> Rule:
    """Return the rule of a remainder operation; the divisor is rounded to its dtype first."""
    expression = Applied(name, (_X, Applied("rounded", (_Y,))))
    return Rule(expression, nonzero=(1,), dtypes=("integer", "floating"))


def _sum(factor: Expression) -> Rule:
    """Return the rule of a sum whose second operand is multiplied by a factor, with a single rounding."""
    return Rule(Applied("fma", (factor, _Y, _X)), rounded=(0, 1, 2), numbers=(2,))


_X, _Y, _ALPHA = Operand(0), Operand(1), Operand(2)
_TRUTHS = (Applied("to_bool", (_X,)), Applied("to_bool", (_Y,)))

# Arithmetic.
add = Scaled("add", _sum(_ALPHA))
sub = Scaled("sub", _sum(Applied("negative", (_ALPHA,))))
neg = Unary("neg", Rule(operation("negative")))
mul = Binary("mul", Rule(operation("multiply")))
div = Binary("div", _floating("divide"))
fmod = Binary("fmod", _remainder("fmod"))
remainder = Binary("remainder", _remainder("remainder"))
maximum = Binary("maximum")
minimum = Binary("minimum")
abs = Unary("abs", Rule(operation("absolute"), "complex_to_real", dtypes=_ALL[1:]))

# Comparisons, choice and truth.
eq = Binary("eq", _truth("equal", _ALL))
ne = Binary("ne", _truth("not_equal", _ALL))
lt = Binary("lt", _truth("less"))
le = Binary("le", _truth("less_equal"))
gt = Binary("gt", _truth("greater"))
ge = Binary("ge", _truth("greater_equal"))
_CHOICE = Applied("select", (Applied("truth", (_X,)), _Y, Operand(2)))
where = Ternary("where", Rule(_CHOICE, keep=(0,), dtypes=_ALL))
logical_and = Binary("logical_and", Rule(Applied("logical_and", _TRUTHS), "bool"))
logical_or = Binary("logical_or", Rule(Applied("logical_or", _TRUTHS), "bool"))
logical_xor = Binary("logical_xor", Rule(Applied("not_equal", _TRUTHS), "bool"))
logical_not = Unary("logical_not", _truth("logical_not"))
isnan = Unary("isnan", _truth("isnan", _ALL))
isinf = Unary("isinf", _truth("isinf"))
isfinite = Unary("isfinite", _truth("isfinite"))
isreal = Unary("isreal", Rule(Applied("equal", (Applied("imag", (_X,)), 0)), "bool"))

# Bits.
bitwise_and = Binary("bitwise_and", _integer("bitwise_and", "bool"))
bitwise_or = Binary("bitwise_or", _integer("bitwise_or", "bool"))
bitwise_xor = Binary("bitwise_xor", _integer("bitwise_xor", "bool"))
bitwise_not = Unary("bitwise_not", _integer("invert", "bool"))
bitwise_left_shift = Binary("bitwise_left_shift", _integer("shift_left"))
bitwise_right_shift = Binary("bitwise_right_shift", _integer("shift_right"))

# Rounding and signs.
floor = Unary("floor", _integer("floor", "floating"))
ceil = Unary("ceil", _integer("ceil", "floating"))
trunc = Unary("trunc", _integer("trunc", "floating"))
round = Unary("round", _integer("round", "floating"))
copysign = Binary("copysign", _floating("copysign"))
nextafter = Binary("nextafter", Rule(operation("nextafter"), dtypes=("floating",)))

# Mathematics.
sqrt = Unary("sqrt", _floating("sqrt"))
exp = Unary("exp", _floating("exp"))
exp2 = Unary("exp2", _floating("exp2"))
expm1 = Unary("expm1", _floating("expm1"))
log = Unary("log", _floating("log"))
log2 = Unary("log2", _floating("log2"))
log10 = Unary("log10", _floating("log10"))
log1p = Unary("log1p", _floating("log1p"))
sin = Unary("sin", _floating("sin"))
cos = Unary("cos", _floating("cos"))
tan = Unary("tan", _floating("tan"))
asin = Unary("asin", _floating("asin"))
acos = Unary("acos", _floating("acos"))
atan = Unary("atan", _floating("atan"))
atan2 = Binary("atan2", _floating("atan2"))
sinh = Unary("sinh", _floating("sinh"))
cosh = Unary("cosh", _floating("cosh"))
tanh = Unary("tanh", _floating("tanh"))
asinh = Unary("asinh", _floating("asinh"))
acosh = Unary("acosh", _floating("acosh"))
atanh = Unary("atanh", _floating("atanh"))
hypot = Binary("hypot", Rule(operation("hypot"), dtypes=("floating",)))
erf = Unary("erf", _floating("erf"))
erfc = Unary("erfc", _floating("erfc"))
lgamma = Unary("lgamma", Rule(operation("lgamma"), "int_to_float", dtypes=("floating",)))
