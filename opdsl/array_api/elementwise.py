"""Functions of each element: the operators of opdsl by the standard's names, with its promotion."""

from __future__ import annotations

from typing import Protocol

from opdsl._attributes import aten
from opdsl.array_api.data_types import Numbers, as_tensor_of, promoted
from opdsl.runtime import Tensor


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Tensor, /) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors, or of one and a Python number."""

    def __call__(self, x1: Numbers, x2: Numbers, /) -> Tensor: ...


def _unary(name: str, doc: str, operator: str = "") -> Unary:
    def function(x: Tensor, /) -> Tensor:
        return aten[operator or name](x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _binary(name: str, doc: str, operator: str = "") -> Binary:
    def function(x1: Numbers, x2: Numbers, /) -> Tensor:
        return aten[operator or name](*promoted(x1, x2))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


abs = _unary("abs", "The absolute value; of complex numbers a real one.")
acos = _unary("acos", "The inverse cosine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
asin = _unary("asin", "The inverse sine.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
atan = _unary("atan", "The inverse tangent.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")
bitwise_invert = _unary("bitwise_invert", "Every bit turned over; ``not`` for bools.", "bitwise_not")
ceil = _unary("ceil", "The least integer that is not smaller.")
conj = _unary("conj", "The complex conjugate.", "conj_physical")
cos = _unary("cos", "The cosine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
exp = _unary("exp", "The exponential.")
floor = _unary("floor", "The greatest integer that is not larger.")
imag = _unary("imag", "The imaginary part of complex numbers.")
isfinite = _unary("isfinite", "Whether it is neither infinite nor NaN.")
isinf = _unary("isinf", "Whether it is infinite.")
isnan = _unary("isnan", "Whether it is NaN.")
log = _unary("log", "The natural logarithm.")
log1p = _unary("log1p", "``log(1 + x)``, exact near 0.")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
logical_not = _unary("logical_not", "``not``.")
negative = _unary("negative", "The negative.")
positive = _unary("positive", "The same.")
real = _unary("real", "The real part.")
reciprocal = _unary("reciprocal", "``1 / x``.")
signbit = _unary("signbit", "Whether the sign bit is set, that of -0.0 too.")
sin = _unary("sin", "The sine.")
sinh = _unary("sinh", "The hyperbolic sine.")
sqrt = _unary("sqrt", "The square root.")
square = _unary("square", "``x * x``.")
tan = _unary("tan", "The tangent.")
tanh = _unary("tanh", "The hyperbolic tangent.")
trunc = _unary("trunc", "The integer next to it towards 0.")

add = _binary("add", "The sum.")
atan2 = _binary("atan2", "The angle of the point ``(x2, x1)``.")
bitwise_and = _binary("bitwise_and", "The bits that both have.")
bitwise_left_shift = _binary("bitwise_left_shift", "The bits of the first, moved to the left.")
bitwise_or = _binary("bitwise_or", "The bits that either has.")
bitwise_right_shift = _binary("bitwise_right_shift", "The bits of the first, moved to the right; the sign stays.")
bitwise_xor = _binary("bitwise_xor", "The bits that one of both has.")
copysign = _binary("copysign", "The first with the sign of the second.")
divide = _binary("divide", "The quotient; of integers a floating-point one.")
equal = _binary("equal", "Whether both are equal.", "eq")
greater = _binary("greater", "Whether the first is greater.")
greater_equal = _binary("greater_equal", "Whether the first is greater, or both are equal.")
hypot = _binary("hypot", "The length of the vector ``(x1, x2)``, without overflow.")
less = _binary("less", "Whether the first is less.")
less_equal = _binary("less_equal", "Whether the first is less, or both are equal.")
logaddexp = _binary("logaddexp", "``log(exp(x1) + exp(x2))``, without overflow.")
logical_and = _binary("logical_and", "``and``.")
logical_or = _binary("logical_or", "``or``.")
logical_xor = _binary("logical_xor", "Whether one of both is true.")
maximum = _binary("maximum", "The larger one; NaN where either is.")
minimum = _binary("minimum", "The smaller one; NaN where either is.")
multiply = _binary("multiply", "The product.")
nextafter = _binary("nextafter", "The number next to the first, towards the second.")
not_equal = _binary("not_equal", "Whether both are unequal.")
pow = _binary("pow", "The first to the power of the second.")
subtract = _binary("subtract", "The difference.")


def expm1(x: Tensor, /) -> Tensor:
    """``exp(x) - 1``, exact near 0; of a complex 0 it is 0, with the sign of the imaginary part."""
    made = aten.expm1(x)
    return aten.where(x == 0, aten.complex(aten.zeros_like(x.real), x.imag), made) if x.dtype.is_complex else made


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers ``x / abs(x)``, and 0 for 0; NaN of NaN, where PyTorch has 0."""
    made = aten.sgn(x)
    return aten.where(aten.isnan(x), x, made) if x.dtype.is_floating_point else made


def floor_divide(x1: Numbers, x2: Numbers, /) -> Tensor:
    """The quotient, rounded down; beside infinities it is that of ``x1 / x2``, where PyTorch has NaN or -1."""
    left, right = promoted(x1, x2)
    made = aten.floor_divide(left, right)
    if not made.dtype.is_floating_point:
        return made
    return aten.where(aten.logical_or(aten.isinf(left), aten.isinf(right)), aten.floor(left / right), made)


def remainder(x1: Numbers, x2: Numbers, /) -> Tensor:
    """What remains of the division, with the sign of the divisor, that of a 0 too."""
    left, right = promoted(x1, x2)
    made = aten.remainder(left, right)
    return aten.where(made == 0, aten.copysign(made, right), made) if made.dtype.is_floating_point else made


def round(x: Tensor, /) -> Tensor:
    """The integer next to it, the even one of two; both parts of complex numbers."""
    return aten.complex(aten.round(x.real), aten.round(x.imag)) if x.dtype.is_complex else aten.round(x)


def clip(x: Tensor, /, min: float | Tensor | None = None, max: float | Tensor | None = None) -> Tensor:
    """The elements, those below ``min`` and above ``max`` replaced by these; the dtype is that of ``x``.

    >>> from opdsl import array_api as xp
    >>> xp.clip(xp.asarray([-3, 0, 5]), -1, 2)
    tensor([-1,  0,  2])
    """
    if min is None and max is None:
        return x.clone()
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = (None if each is None else as_tensor_of(each, x.dtype, x) for each in (min, max))
    return aten.clamp(x, min, max)
