"""Gamma functions and their derivatives (``lgamma``, ``digamma``, ``polygamma``, ``mvlgamma``), and the Hurwitz zeta
function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.blocks import blocks
from opdsl.aten._shared.entries import UNARY
from opdsl.aten.create.like_factories import full_like
from opdsl.aten.create.ranges import arange
from opdsl.aten.special.entropy import SPECIAL, cast_into, number_overload
from opdsl.declare import Inplace, Library, Out, formula, op, traceable
from opdsl.dispatch import get_default_dtype
from opdsl.kernels import check
from opdsl.runtime import Tensor, float32, promote_types
from opdsl.schema import Alias

inner = Library("opdsl")


def bernoulli_numbers(count: int) -> list[Fraction]:
    """Return ``count`` Bernoulli numbers B(2), B(4), ... (DLMF 24.5.3)."""
    fractions = [Fraction(1)]
    for n in range(1, 2 * count + 1):
        total = sum(math.comb(n + 1, k) * fraction for k, fraction in enumerate(fractions))
        fractions.append(-Fraction(total) / (n + 1))
    return fractions[2::2]


BERNOULLI = bernoulli_numbers(12)


def series_of_square(variable: float, coefficients: tuple[float, ...]) -> float:
    """Return the value of a polynomial, given its coefficients from the lowest power up."""
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * variable + coefficient
    return value


# ---------------------------------------------------------------------------------------------------------- lgamma, psi

# psi(x) = log(x) - 1/(2x) - sum of B(2k) / (2k x**(2k)), DLMF 5.11.2; accurate from 10 on.
DIGAMMA = tuple(float(fraction / (2 * (k + 1))) for k, fraction in enumerate(BERNOULLI[:8]))
ASYMPTOTIC_FROM = 10


def digamma_positive(x: Any) -> Any:
    """Return the digamma function of a positive number, from the asymptotic series at a larger one (DLMF 5.5.2)."""
    total: Any = 0.0
    for _ in range(ASYMPTOTIC_FROM):
        low = x < ASYMPTOTIC_FROM
        total = total + 1.0 / x if low else total
        x = x + 1.0 if low else x
    square = 1.0 / (x * x)
    return math.log(x) - 0.5 / x - square * series_of_square(square, DIGAMMA) - total


def from_nearest(x: Any) -> Any:
    """Return the exact difference of a number and the nearest integer, which determines values near poles."""
    return x - round(x)


def digamma_scalar_function(x: Any) -> Any:
    # Below 0 by reflection, DLMF 5.5.4.
    distance = from_nearest(x)
    positive = digamma_positive(1.0 - x if x < 0 else x)
    reflected = positive - math.pi / math.tan(math.pi * distance)
    below = math.nan if distance == 0 else reflected
    return math.copysign(math.inf, -x) if x == 0 else below if x < 0 else positive


@op("aten::lgamma", **{**UNARY, "inplace": Inplace(variants="method")})
@formula
def lgamma(self: Tensor) -> Tensor:
    """Return the logarithm of the gamma function's magnitude."""
    return primitives.lgamma(self)


lgamma.derivative(self=lambda grad, self: grad * self.digamma())


digamma_elements = primitives.elements(digamma_scalar_function, promote="int_to_float", dtypes="floating")


@op("aten::digamma", **{**UNARY, "inplace": Inplace(variants="method")})
@formula
def digamma(self: Tensor) -> Tensor:
    """Return the derivative of ``lgamma``; NaN at negative integers."""
    return digamma_elements(self)


digamma.derivative(self=lambda grad, self: grad * self.polygamma(1))

# ----------------------------------------------------------------------------------------------------------------- zeta


# The Euler-Maclaurin formula (DLMF 25.11.5) replaces the sum after this many terms.
DIRECT = 9
MACLAURIN = tuple(float(fraction / math.factorial(2 * k + 2)) for k, fraction in enumerate(BERNOULLI))


def zeta_positive(s: Any, q: Any) -> Any:
    total, k = 0.0, 0.0
    for _ in range(DIRECT):
        term = (q + k) ** -s
        total += term
        k += 1
        if term < total * 2.0**-60:
            break
    w = q + float(DIRECT)
    power = w**-s
    rest = power * (w / (s - 1.0) + 0.5)
    term = power * s / w
    for k in range(len(MACLAURIN)):
        rest = rest + MACLAURIN[k] * term
        term = term * ((s + (2.0 * k + 1.0)) / w) * ((s + (2.0 * k + 2.0)) / w)
    return total if power == 0 else total + rest


def zeta_function(s: Any, q: Any) -> Any:
    """Return the Hurwitz zeta function of a number.

    For negative ``q`` the term nearest to 0 is computed separately; the terms before it are, up to their sign, a
    difference of two such sums.
    """
    distance = from_nearest(q)
    sign = -1.0 if s % 2.0 == 1.0 else 1.0
    positive = zeta_positive(s, 1.0 + distance if q < 0 else q)
    nearest = (sign if distance < 0 else 1.0) * abs(distance) ** -s
    below = nearest + sign * (zeta_positive(s, 1.0 - distance) - zeta_positive(s, 1.0 - q))
    whole = q <= 0 and q == math.floor(q)
    outside = s < 1 or (q < 0 and s != math.floor(s))
    regular = positive + below if q < 0 else positive
    return math.inf if s == 1 else math.nan if s < 1 else math.inf if whole else math.nan if outside else regular


def zeta_slope(grad: Any, self: Any, other: Tensor) -> Any:
    return grad * -self * special_zeta(self + 1.0, other)


special_zeta_elements = primitives.elements(zeta_function, promote="int_to_float", dtypes=("float32", "float64"))


@op("aten::special_zeta", tags="pointwise", out=True, **SPECIAL)
@formula
def special_zeta(self: Tensor, other: Tensor) -> Tensor:
    """Return the Hurwitz zeta function: the sum of ``(other + k) ** -self`` over k = 0, 1, 2, ..."""
    return special_zeta_elements(self, other)


special_zeta.derivative(other=zeta_slope)
special_zeta.number_overload("self", "self_scalar", **number_overload("special_zeta", "self_scalar"))

zeta_number = special_zeta.number_overload("other", "other_scalar", **number_overload("special_zeta", "other_scalar"))
zeta_number.non_differentiable("self")


# ------------------------------------------------------------------------------------------------------------ polygamma


@op("aten::polygamma", variants="method, function", tags="pointwise", out=True)
def polygamma(n: int, self: Tensor) -> Tensor:
    """Return the ``n``-th derivative of ``digamma``."""
    ...


polygamma.derivative(self=lambda grad, n, self: grad * polygamma(n + 1, self))
polygamma.meta(reads_numbers=False)(lambda ctx, n: check(n >= 0, "polygamma(n, x) does not support negative n."))


# psi'(x) = 1/x + 1/(2x**2) + sum of B(2k) / x**(2k + 1), DLMF 5.15.8.
TRIGAMMA = tuple(float(fraction) for fraction in BERNOULLI[:8])


def trigamma_scalar_function(self: Any) -> Any:
    """Return the derivative of the digamma function; below 1/2 by reflection (DLMF 5.15.6)."""
    low = self < 0.5
    x = 1.0 - self if low else self
    total: Any = 0.0
    for _ in range(ASYMPTOTIC_FROM):
        small = x < ASYMPTOTIC_FROM
        total = total + 1.0 / (x * x) if small else total
        x = x + 1.0 if small else x
    square = 1.0 / (x * x)
    expansion = total + (1.0 + square * series_of_square(square, TRIGAMMA)) / x + 0.5 * square
    sine = math.sin(math.pi * from_nearest(self))
    return math.pi * math.pi / (sine * sine) - expansion if low else expansion


def polygamma_scalar_function(n: Any, self: Any) -> Any:
    sign = 1.0 if n % 2 == 1 else -1.0
    order = n + 1.0
    return sign * math.gamma(order) * zeta_function(order, self)


trigamma_elements = primitives.elements(trigamma_scalar_function, promote="int_to_float", dtypes="floating")
polygamma_elements = primitives.elements(polygamma_scalar_function, promote="int_to_float", dtypes="floating")


@polygamma.formula(when={"n": 0})
def digamma_again(self: Tensor) -> Tensor:
    return digamma_elements(self)


@polygamma.formula(when={"n": 1})
def trigamma(self: Tensor) -> Tensor:
    return trigamma_elements(self)


@polygamma.formula
def polygamma_of_order(n: int, self: Tensor) -> Tensor:
    return polygamma_elements(n, self)


@op("aten::polygamma_", kernel="CompositeExplicitAutograd", variants="method", tags="pointwise")
def polygamma_(self: Tensor[Alias("a", write=True)], n: int) -> Tensor[Alias("a", write=True)]:
    """Write ``polygamma(n, self)`` into ``self``."""
    return cast_into(self, polygamma(n, self))


polygamma_.derivative(self=lambda grad, self, n: grad * polygamma(n + 1, self))


# ------------------------------------------------------------------------------------------------------------- mvlgamma


# Up to this many terms are added by one kernel; more terms in chunks with this many elements times terms. Signals are
# handled between kernels, so that long computations can be interrupted.
_TERMS, _ELEMENTS = 64, 1 << 22


def log_gammas_scalar(self: Any, first: Any, count: Any, start: Any) -> Any:
    total = start
    for k in range(count):
        total = total + math.lgamma(self - 0.5 * (first + k))
    return total


log_gammas_elements = primitives.elements(log_gammas_scalar, promote="int_to_float", dtypes="floating")


@inner.op("opdsl::log_gammas")
@formula
def log_gammas(self: Tensor, first: int, count: int, start: float = 0.0) -> Tensor:
    """Return ``start`` plus the sum of ``lgamma(self - k / 2)`` over ``count`` integers ``k`` from ``first`` on."""
    return log_gammas_elements(self, first, count, start)


log_gammas.derivative(self=lambda grad, self, first, count: grad * sum_of_digammas(self, first, count))


def sum_of_digammas(self: Tensor, first: int, count: int) -> Tensor:
    """Return the derivative of ``log_gammas``."""
    dtype = self.dtype if self.dtype.is_floating_point else get_default_dtype()
    terms = 0.0 - arange(first, first + count, dtype=dtype, device=self.device) * 0.5
    return (self.unsqueeze(-1) + terms).digamma().sum(-1)


def pieces(self: Tensor, p: int) -> Iterator[tuple[int, int]]:
    """Yield the first term and the number of terms of each chunk that one kernel adds up."""
    share = _TERMS if p <= _TERMS else max(_ELEMENTS // max(self.numel(), 1), 1)
    return ((block.start, block.stop - block.start) for block in blocks(p, share))


@op(
    "aten::mvlgamma",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags="pointwise",
    inplace=Inplace(variants="method", tags="pointwise"),
    out=Out(cast="safe"),
)
@traceable
def mvlgamma(self: Tensor, p: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    check(p >= 1, "p has to be greater than or equal to 1")
    start = math.log(math.pi) * 0.25 * p * (p - 1)
    if p <= _TERMS:
        return log_gammas(self, 0, p, start)
    kept = self.dtype if self.dtype.is_floating_point else get_default_dtype()
    wide = self.to(promote_types(kept, float32))
    total = full_like(wide, start)
    for first, count in pieces(self, p):
        total = total + log_gammas(wide, first, count)
    return total.to(kept)


@mvlgamma.derivative("self")
def mvlgamma_derivative(grad, self, p):
    slopes = None
    for first, count in pieces(self, p):
        part = sum_of_digammas(self, first, count)
        slopes = part if slopes is None else slopes + part
    return grad * slopes
