"""Elementwise functions of the array API: operators of opdsl by the standard's names, with its promotion rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from opdsl._attributes import aten
from opdsl.array_api.data_types import Numbers, as_tensor_of, promoted
from opdsl.runtime import Tensor

Function = TypeVar("Function", bound=Callable[..., Tensor])


class Unary(Protocol):
    """Elementwise function of one tensor."""

    def __call__(self, x: Tensor, /) -> Tensor: ...


class Binary(Protocol):
    """Elementwise function of two tensors, or of a tensor and a Python number."""

    def __call__(self, x1: Numbers, x2: Numbers, /) -> Tensor: ...


def _unary(name: str, doc: str, of: str, example: str, printed: str, operator: str = "") -> Unary:
    """Build a unary function from its name, the parts of its docstring with an example, and the operator that it
    calls.
    """

    def function(x: Tensor, /) -> Tensor:
        return aten[operator or name](x)

    return _documented(function, name, f"{doc}\n\nArgs:\n    x: {of}.", f"xp.asarray({example})", printed)


def _binary(name: str, doc: str, of: str, left: str, right: str, printed: str, operator: str = "") -> Binary:
    """Build a binary function, see ``_unary``; both arguments are promoted first."""

    def function(x1: Numbers, x2: Numbers, /) -> Tensor:
        return aten[operator or name](*promoted(x1, x2))

    takes = f"Args:\n    x1, x2: {of}; tensors that broadcast, or a tensor and a Python number."
    return _documented(function, name, f"{doc}\n\n{takes}", f"xp.asarray({left}), {right}", printed)


def _documented(function: Function, name: str, doc: str, text: str, printed: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n>>> from opdsl import array_api as xp\n>>> xp.{name}({text})\n{printed}\n"
    return function


abs = _unary(
    "abs",
    "Return the absolute value, which is real for complex numbers.",
    "numbers",
    "[-1.5, 2.0]",
    "tensor([1.5000, 2.0000])",
)
acos = _unary(
    "acos", "Return the inverse cosine.", "floating-point or complex numbers", "[1.0, 0.0]", "tensor([0.0000, 1.5708])"
)
acosh = _unary(
    "acosh",
    "Return the inverse hyperbolic cosine.",
    "floating-point or complex numbers",
    "[1.0, 2.0]",
    "tensor([0.0000, 1.3170])",
)
asin = _unary(
    "asin", "Return the inverse sine.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([0.0000, 1.5708])"
)
asinh = _unary(
    "asinh",
    "Return the inverse hyperbolic sine.",
    "floating-point or complex numbers",
    "[0.0, 1.0]",
    "tensor([0.0000, 0.8814])",
)
atan = _unary(
    "atan", "Return the inverse tangent.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([0.0000, 0.7854])"
)
atanh = _unary(
    "atanh",
    "Return the inverse hyperbolic tangent.",
    "floating-point or complex numbers",
    "[0.0, 0.5]",
    "tensor([0.0000, 0.5493])",
)
bitwise_invert = _unary(
    "bitwise_invert",
    "Invert every bit; compute ``not`` for bools.",
    "integers or bools",
    "[0, 5]",
    "tensor([-1, -6])",
    "bitwise_not",
)
ceil = _unary("ceil", "Round up to an integer.", "real numbers", "[1.2, -1.2]", "tensor([ 2., -1.])")
conj = _unary("conj", "Return the complex conjugate.", "numbers", "[1.0 + 2.0j]", "tensor([1.-2.j])", "conj_physical")
cos = _unary("cos", "Return the cosine.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([1.0000, 0.5403])")
cosh = _unary(
    "cosh",
    "Return the hyperbolic cosine.",
    "floating-point or complex numbers",
    "[0.0, 1.0]",
    "tensor([1.0000, 1.5431])",
)
exp = _unary(
    "exp", "Return the exponential.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([1.0000, 2.7183])"
)
floor = _unary("floor", "Round down to an integer.", "real numbers", "[1.2, -1.2]", "tensor([ 1., -2.])")
imag = _unary(
    "imag", "Return the imaginary part of complex numbers.", "complex numbers", "[1.0 + 2.0j]", "tensor([2.])"
)
isfinite = _unary(
    "isfinite",
    "Return whether each element is neither infinite nor NaN.",
    "numbers",
    "[1.0, xp.inf, xp.nan]",
    "tensor([ True, False, False])",
)
isinf = _unary(
    "isinf",
    "Return whether each element is infinite.",
    "numbers",
    "[1.0, xp.inf, xp.nan]",
    "tensor([False,  True, False])",
)
isnan = _unary(
    "isnan", "Return whether each element is NaN.", "numbers", "[1.0, xp.inf, xp.nan]", "tensor([False, False,  True])"
)
log = _unary(
    "log",
    "Return the natural logarithm.",
    "floating-point or complex numbers",
    "[1.0, 10.0]",
    "tensor([0.0000, 2.3026])",
)
log1p = _unary(
    "log1p",
    "``log(1 + x)``, exact near 0.",
    "floating-point or complex numbers",
    "[0.0, 1e-10]",
    "tensor([0.0000e+00, 1.0000e-10])",
)
log2 = _unary(
    "log2", "Return the logarithm to base 2.", "floating-point or complex numbers", "[1.0, 8.0]", "tensor([0., 3.])"
)
log10 = _unary(
    "log10", "Return the logarithm to base 10.", "floating-point or complex numbers", "[1.0, 100.0]", "tensor([0., 2.])"
)
logical_not = _unary(
    "logical_not", "Return ``not x`` for each element.", "bools", "[True, False]", "tensor([False,  True])"
)
negative = _unary("negative", "Return ``-x``.", "numbers", "[1, -2]", "tensor([-1,  2])")
positive = _unary("positive", "Return ``x`` unchanged, as ``+x``.", "numbers", "[1, -2]", "tensor([ 1, -2])")
real = _unary("real", "Return the real part.", "numbers", "[1.0 + 2.0j]", "tensor([1.])")
reciprocal = _unary(
    "reciprocal", "``1 / x``.", "floating-point or complex numbers", "[2.0, -4.0]", "tensor([ 0.5000, -0.2500])"
)
signbit = _unary(
    "signbit",
    "Return whether the sign bit is set, as it is for -0.0.",
    "floating-point numbers",
    "[1.0, -0.0]",
    "tensor([False,  True])",
)
sin = _unary("sin", "Return the sine.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([0.0000, 0.8415])")
sinh = _unary(
    "sinh", "Return the hyperbolic sine.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([0.0000, 1.1752])"
)
sqrt = _unary(
    "sqrt", "Return the square root.", "floating-point or complex numbers", "[4.0, 2.0]", "tensor([2.0000, 1.4142])"
)
square = _unary("square", "``x * x``.", "numbers", "[3, -2]", "tensor([9, 4])")
tan = _unary(
    "tan", "Return the tangent.", "floating-point or complex numbers", "[0.0, 1.0]", "tensor([0.0000, 1.5574])"
)
trunc = _unary("trunc", "Round towards 0 to an integer.", "real numbers", "[1.7, -1.7]", "tensor([ 1., -1.])")

add = _binary("add", "``x1 + x2``.", "numbers", "[1, 2]", "0.5", "tensor([1.5000, 2.5000])")
atan2 = _binary(
    "atan2",
    "Return the angle of the point ``(x2, x1)``.",
    "real numbers",
    "[1.0, 1.0]",
    "xp.asarray([1.0, -1.0])",
    "tensor([0.7854, 2.3562])",
)
bitwise_and = _binary(
    "bitwise_and", "``x1 & x2``: the bits that are set in both.", "integers or bools", "[6, 5]", "3", "tensor([2, 1])"
)
bitwise_left_shift = _binary(
    "bitwise_left_shift",
    "``x1 << x2``: the bits of ``x1``, shifted to the left.",
    "integers",
    "[1, 3]",
    "2",
    "tensor([ 4, 12])",
)
bitwise_or = _binary(
    "bitwise_or", "``x1 | x2``: the bits that are set in either.", "integers or bools", "[6, 5]", "3", "tensor([7, 7])"
)
bitwise_right_shift = _binary(
    "bitwise_right_shift",
    "``x1 >> x2``: the bits of ``x1``, shifted to the right; the sign is kept.",
    "integers",
    "[8, -8]",
    "2",
    "tensor([ 2, -2])",
)
bitwise_xor = _binary(
    "bitwise_xor",
    "``x1 ^ x2``: the bits that are set in exactly one of both.",
    "integers or bools",
    "[6, 5]",
    "3",
    "tensor([5, 6])",
)
copysign = _binary(
    "copysign",
    "Return ``x1`` with the sign of ``x2``.",
    "floating-point numbers",
    "[1.0, 2.0]",
    "-0.0",
    "tensor([-1., -2.])",
)
divide = _binary(
    "divide",
    "``x1 / x2``, of a floating-point dtype for integers, too.",
    "numbers",
    "[1, 2]",
    "4",
    "tensor([0.2500, 0.5000])",
)
equal = _binary(
    "equal",
    "Return whether elements are equal: ``x1 == x2``.",
    "numbers or bools",
    "[1, 2]",
    "2",
    "tensor([False,  True])",
    "eq",
)
greater = _binary(
    "greater",
    "Return whether elements of ``x1`` are greater: ``x1 > x2``.",
    "real numbers",
    "[1, 2]",
    "1",
    "tensor([False,  True])",
)
greater_equal = _binary(
    "greater_equal",
    "Return whether elements of ``x1`` are greater or equal: ``x1 >= x2``.",
    "real numbers",
    "[1, 2]",
    "2",
    "tensor([False,  True])",
)
hypot = _binary(
    "hypot",
    "Return the length of the vector ``(x1, x2)``, without overflow.",
    "floating-point numbers",
    "[3.0, 5.0]",
    "xp.asarray([4.0, 12.0])",
    "tensor([ 5., 13.])",
)
less = _binary(
    "less",
    "Return whether elements of ``x1`` are less: ``x1 < x2``.",
    "real numbers",
    "[1, 2]",
    "2",
    "tensor([ True, False])",
)
less_equal = _binary(
    "less_equal",
    "Return whether elements of ``x1`` are less or equal: ``x1 <= x2``.",
    "real numbers",
    "[1, 2]",
    "1",
    "tensor([ True, False])",
)
logaddexp = _binary(
    "logaddexp",
    "``log(exp(x1) + exp(x2))``, without overflow.",
    "floating-point numbers",
    "[0.0, 1000.0]",
    "xp.asarray([0.0, 1000.0])",
    "tensor([6.9315e-01, 1.0007e+03])",
)
logical_and = _binary(
    "logical_and",
    "Return ``x1 and x2`` for each pair of elements.",
    "bools",
    "[True, True]",
    "xp.asarray([True, False])",
    "tensor([ True, False])",
)
logical_or = _binary(
    "logical_or",
    "Return ``x1 or x2`` for each pair of elements.",
    "bools",
    "[False, False]",
    "xp.asarray([True, False])",
    "tensor([ True, False])",
)
logical_xor = _binary(
    "logical_xor",
    "Return whether exactly one element of each pair is true.",
    "bools",
    "[True, True]",
    "xp.asarray([True, False])",
    "tensor([False,  True])",
)
maximum = _binary(
    "maximum",
    "Return the larger element of each pair; NaN if either is NaN.",
    "real numbers",
    "[1.0, xp.nan]",
    "2.0",
    "tensor([2., nan])",
)
minimum = _binary(
    "minimum",
    "Return the smaller element of each pair; NaN if either is NaN.",
    "real numbers",
    "[1.0, xp.nan]",
    "2.0",
    "tensor([1., nan])",
)
multiply = _binary("multiply", "``x1 * x2``.", "numbers", "[2, 3]", "4", "tensor([ 8, 12])")
nextafter = _binary(
    "nextafter",
    "Return the next representable number after ``x1`` in the direction of ``x2``.",
    "floating-point numbers",
    "[1.0]",
    "2.0",
    "tensor([1.0000])",
)
not_equal = _binary(
    "not_equal",
    "Return whether elements are unequal: ``x1 != x2``.",
    "numbers or bools",
    "[1, 2]",
    "2",
    "tensor([ True, False])",
)
pow = _binary("pow", "``x1 ** x2``.", "numbers", "[2, 3]", "2", "tensor([4, 9])")
subtract = _binary("subtract", "``x1 - x2``.", "numbers", "[1, 2]", "0.5", "tensor([0.5000, 1.5000])")


def expm1(x: Tensor, /) -> Tensor:
    """``exp(x) - 1``, accurate near 0; for a complex 0 it is 0 with the sign of the imaginary part.

    Args:
        x: floating-point or complex numbers.

    >>> from opdsl import array_api as xp
    >>> xp.expm1(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    output = aten.expm1(x)
    return aten.where(x == 0, aten.complex(aten.zeros_like(x.real), x.imag), output) if x.dtype.is_complex else output


def tanh(x: Tensor, /) -> Tensor:
    """Return the hyperbolic tangent. For complex infinities its imaginary part is a 0 with the sign of ``imag(x)``, not
    as in C.

    Args:
        x: floating-point or complex numbers.

    >>> from opdsl import array_api as xp
    >>> xp.tanh(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    output = aten.tanh(x)
    if not x.dtype.is_complex:
        return output
    ends = aten.complex(aten.sgn(x.real), aten.copysign(aten.zeros_like(x.real), x.imag))
    return aten.where(aten.isinf(x.real), ends, output)


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1; for complex numbers ``x / abs(x)``, or 0 for 0. For NaN it is NaN, where PyTorch returns 0.

    Args:
        x: numbers.

    >>> from opdsl import array_api as xp
    >>> xp.sign(xp.asarray([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    output = aten.sgn(x)
    return aten.where(aten.isnan(x), x, output) if x.dtype.is_floating_point else output


def floor_divide(x1: Numbers, x2: Numbers, /) -> Tensor:
    """Return the quotient, rounded down; with infinities that of ``x1 / x2``, where PyTorch returns NaN or -1.

    Args:
        x1, x2: real numbers; tensors that broadcast, or a tensor and a Python number.

    >>> from opdsl import array_api as xp
    >>> xp.floor_divide(xp.asarray([7.0, -7.0]), 2)
    tensor([ 3., -4.])
    """
    left, right = promoted(x1, x2)
    output = aten.floor_divide(left, right)
    if not output.dtype.is_floating_point:
        return output
    return aten.where(aten.logical_or(aten.isinf(left), aten.isinf(right)), aten.floor(left / right), output)


def remainder(x1: Numbers, x2: Numbers, /) -> Tensor:
    """Return the remainder of the division, with the sign of the divisor, also for a remainder of 0.

    Args:
        x1, x2: real numbers; tensors that broadcast, or a tensor and a Python number.

    >>> from opdsl import array_api as xp
    >>> xp.remainder(xp.asarray([7, -7]), 3)
    tensor([1, 2])
    """
    left, right = promoted(x1, x2)
    output = aten.remainder(left, right)
    return aten.where(output == 0, aten.copysign(output, right), output) if output.dtype.is_floating_point else output


def round(x: Tensor, /) -> Tensor:
    """Return the nearest integer, the even one of two; for complex numbers that of both parts.

    Args:
        x: numbers.

    >>> from opdsl import array_api as xp
    >>> xp.round(xp.asarray([0.5, 1.5, -1.2]))
    tensor([ 0.,  2., -1.])
    """
    return aten.complex(aten.round(x.real), aten.round(x.imag)) if x.dtype.is_complex else aten.round(x)


def clip(x: Tensor, /, min: float | Tensor | None = None, max: float | Tensor | None = None) -> Tensor:
    """Limit the elements to the range from ``min`` to ``max``; the dtype is that of ``x``.

    Args:
        x: real numbers.
        min, max: the limits: numbers, tensors that broadcast, or None for no limit.

    >>> from opdsl import array_api as xp
    >>> xp.clip(xp.asarray([-3, 0, 5]), -1, 2)
    tensor([-1,  0,  2])
    """
    if min is None and max is None:
        return x.clone()
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = (None if number is None else as_tensor_of(number, x.dtype, x) for number in (min, max))
    return aten.clamp(x, min, max)
