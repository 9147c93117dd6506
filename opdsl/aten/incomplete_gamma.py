"""The incomplete gamma functions.

A series, a continued fraction, and for huge ``self`` the uniform expansion (DLMF 8.7.1, 8.9.2, 8.12), in double
precision. How many terms they need depends on the operands. On the CPU each element has its own
(``incomplete_gamma_elements``); here whole tensors take as many as any of their elements needs, for other devices.
"""

from __future__ import annotations

import math
from typing import Any

from opdsl.aten.comparison import where
from opdsl.aten.entries import UNARY
from opdsl.aten.incomplete_gamma_elements import incomplete_gamma
from opdsl.aten.likes import ones_like, zeros_like
from opdsl.declare import Inplace, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import copy_
from opdsl.runtime import Tensor, cpu, float64

INCOMPLETE: dict[str, Any] = {
    **UNARY,
    "device_check": "ExactSame",
    "inplace": Inplace(variants="method"),
    "structured_inherits": "TensorIteratorBase",
}

EPSILON = 2.0**-53
# Of results that are rounded to 24 bits.
SINGLE_EPSILON = 2.0**-32
TINY = 2.0**-1000
# From here on the series have thousands of terms, and two of the expansion are enough.
HUGE = 1e6
# So many steps are taken between looks at what is left.
STEPS = 16

# The first term of the expansion in powers of eta, DLMF 8.12.11.
EXPANSION = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600)


def powers_over_gamma(a: Tensor, x: Tensor) -> Tensor:
    """``x**a * exp(-x) / gamma(a + 1)``; of large ``a`` with Stirling's series, whose large terms cancel beforehand."""
    direct = (a * x.log() - x - (a + 1).lgamma()).exp()
    large = where(a >= 16, a, 16.0)
    distance = (x - large) / large
    inverse = 1 / large
    square = inverse * inverse
    stirling = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    near = -large * (distance - distance.log1p())
    exponent = where(distance.abs() <= 0.5, near, large * (x / large).log() + (large - x))
    scaled = (exponent - stirling).exp() / (2 * math.pi * large).sqrt()
    return where(a >= 16, scaled, direct)


def below_series(a: Tensor, x: Tensor) -> Tensor:
    """The sum of ``x**n / ((a + 1) ... (a + n))``."""
    total = term = ones_like(x)
    place = a
    while bool((term > total * EPSILON).any()):
        for _ in range(STEPS):
            place = place + 1
            term = term * (x / place)
            total = total + term
    return total


def above_fraction(a: Tensor, x: Tensor) -> Tensor:
    """The continued fraction of ``gamma(a, x) * exp(x) / x**a``, by Lentz' method (DLMF 8.9.2, 3.10)."""
    bottom = x + 1 - a
    numerator = ones_like(x) / TINY
    denominator = 1 / bottom
    found = denominator
    change = zeros_like(x)
    step = 0
    while bool(((change - 1).abs() > 2 * EPSILON).any()):
        for _ in range(STEPS):
            step += 1
            factor = (a - step) * step
            bottom = bottom + 2
            inverse = factor * denominator + bottom
            denominator = 1 / where(inverse.abs() < TINY, TINY, inverse)
            numerator = bottom + factor / numerator
            numerator = where(numerator.abs() < TINY, TINY, numerator)
            change = numerator * denominator
            found = found * change
    return found


def above_series(a: Tensor, x: Tensor) -> Tensor:
    """The upper function for small arguments, whose complement would cancel (DLMF 8.7.3)."""
    total = zeros_like(x)
    power = ones_like(x)
    for n in range(1, 32):
        power = power * (-x / n)
        total = total + power / (a + n)
    logarithm = a * x.log()
    return -(logarithm - (a + 1).lgamma()).expm1() - (logarithm - a.lgamma()).exp() * total


def uniform(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The lower and the upper function of huge ``a``: those of a normal variable, and a correction."""
    distance = (x - a) / a
    half = distance - distance.log1p()
    eta = (2 * half).sqrt().copysign(distance)
    near = zeros_like(eta)
    for coefficient in reversed(EXPANSION):
        near = near * eta + coefficient
    small = eta.abs() < 0.1
    far = 1 / where(small, 1.0, distance) - 1 / where(small, 1.0, eta)
    rest = (-a * half).exp() / (2 * math.pi * a).sqrt() * where(small, near, far)
    bend = eta * (a / 2).sqrt()
    return (-bend).erfc() / 2 - rest, bend.erfc() / 2 + rest


def both(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The lower and the upper function; operands for which a method is not meant become harmless ones."""
    regular = (a > 0) * (x > 0) * a.isfinite() * x.isfinite()
    huge = regular * (a > HUGE)
    regular = regular * (a <= HUGE)
    is_small = (x <= 1.1) * where(x <= 0.5, -0.4 / x.log() >= a, x * 1.1 >= a) * regular
    is_above = (x > 1) * (x > a) * regular * is_small.logical_not()
    is_below = regular * is_above.logical_not()
    scale = powers_over_gamma(where(regular, a, 1.0), where(regular, x, 1.0))
    lower = scale * below_series(where(is_below, a, 1.0), where(is_below, x, 0.0))
    upper = scale * a * above_fraction(where(is_above, a, 1.0), where(is_above, x, 2.0))
    small = above_series(where(is_small, a, 1.0), where(is_small, x, 1.0))
    upper = where(is_small, small, where(is_above, upper, 1 - lower))
    lower = where(is_above, 1 - upper, lower)
    huge_lower, huge_upper = uniform(where(huge, a, HUGE), where(huge, x, HUGE))
    return where(huge, huge_lower, lower), where(huge, huge_upper, upper)


def at_the_edges(a: Tensor, x: Tensor, found: Tensor, all_above: float) -> Tensor:
    """What the functions are at 0 and infinity, and NaN below; ``all_above`` is that of an endless ``a``."""
    none, every = 1 - all_above, all_above
    found = where(a.isnan() + x.isnan(), math.nan, found)
    found = where(x.isinf(), none, found)
    found = where(a.isinf(), where(x.isinf(), math.nan, ones_like(x) * every), found)
    found = where(x == 0, every, found)
    found = where(a == 0, where(x > 0, ones_like(x) * none, math.nan), found)
    return where((a < 0) + (x < 0), math.nan, found)


def incomplete_meta(ctx: Any, self: Tensor, other: Tensor) -> None:
    ctx.build(self, other)
    if not ctx.iteration.common.is_floating_point:
        raise UnsupportedDTypeError(f"\"igamma\" not implemented for '{ctx.iteration.common.scalar_type}'")


def write_incomplete(self: Tensor, other: Tensor, upper: bool, out: Tensor) -> None:
    """Write one of the functions."""
    a, x = self.to(float64), other.to(float64)
    if out.device is not cpu:
        copy_(out, at_the_edges(a, x, both(a, x)[upper], float(upper)))
        return
    order, argument = (each.expand(out.shape).reshape((-1,)).contiguous() for each in (a, x))
    precision = EPSILON if out.dtype is float64 else SINGLE_EPSILON
    copy_(out, incomplete_gamma(order, argument, upper, precision).view(out.shape))


def density(self: Tensor, other: Tensor) -> Tensor:
    """The lower function's derivative."""
    return ((self - 1) * other.log() - other - self.lgamma()).exp()


@op("aten::igamma", **{**INCOMPLETE, "variants": "method, function"})
def igamma(self: Tensor, other: Tensor) -> Tensor:
    """The lower incomplete gamma function of order ``self``, over the gamma function."""
    ...


igamma.meta(incomplete_meta)


@igamma.out_kernel("CPU", "CUDA", compiled=False)
def igamma_out_kernel(self, other, out):
    write_incomplete(self, other, False, out)


@igamma.derivative("other")
def igamma_derivative(grad, self, other):
    return grad * density(self, other)


@op("aten::igammac", **{**INCOMPLETE, "variants": "method, function"})
def igammac(self: Tensor, other: Tensor) -> Tensor:
    """The upper incomplete gamma function of order ``self``, over the gamma function."""
    ...


igammac.meta(incomplete_meta)


@igammac.out_kernel("CPU", "CUDA", compiled=False)
def igammac_out_kernel(self, other, out):
    write_incomplete(self, other, True, out)


@igammac.derivative("other")
def igammac_derivative(grad, self, other):
    return -grad * density(self, other)
