"""Tests of special functions against mpmath at hard arguments: near poles and zeros, denormal, and huge.

Errors are in units in the last place of the value, or of its largest term where terms cancel.
``docs/howto/numerics.md`` states the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

import opdsl

KINDS = (numpy.float32, numpy.float64)


def beside(centres: Any, kind: type[Any], count: int = 3) -> Any:
    """Return given numbers with the next floating-point numbers below and above them."""
    result = [numpy.asarray(centres, kind)]
    for limit in (-numpy.inf, numpy.inf):
        numbers = result[0]
        for _ in range(count):
            numbers = numpy.nextafter(numbers, kind(limit))
            result.append(numbers)
    return numpy.unique(numpy.concatenate(result))


def small(kind: type[Any]) -> Any:
    """Return denormal numbers, the smallest normal ones, and small powers of ten, with both signs."""
    form = numpy.finfo(kind)
    sizes = [form.smallest_subnormal * kind(times) for times in (1, 2, 3, 5, 1000)]
    sizes += [form.tiny, form.tiny / kind(2), *(kind(10.0) ** kind(power) for power in range(-37, 0, 4))]
    return numpy.array([*sizes, *(-size for size in sizes)], kind)


def around_poles(kind: type[Any]) -> Any:
    """Return arguments next to 0 and the negative integers, and between them."""
    poles = -numpy.arange(0.0, 41.0)
    apart = [poles + shift for shift in (0.5, -0.25, 1e-2, -1e-2, 1e-4, -1e-4)]
    result = numpy.concatenate([beside(poles, kind), *(part.astype(kind) for part in apart), small(kind)])
    return result[(result != numpy.floor(result))]


def positive(kind: type[Any]) -> Any:
    """Return arguments above 0."""
    sizes = small(kind)
    return numpy.concatenate([sizes[sizes > 0], numpy.geomspace(0.1, 1e3, 30, dtype=kind)])


def to_nearest(x: Any) -> Any:
    return x - mpmath.nint(x)


def zeta_scale(s: int) -> Callable[[Any], Any]:
    """Return the magnitude of Hurwitz' zeta function below 0: the term of the nearest pole."""
    return lambda q: abs(to_nearest(q)) ** -s if q < 0 else 0


def polygamma_scale(n: int) -> Callable[[Any], Any]:
    return lambda x: mpmath.factorial(n) * zeta_scale(n + 1)(x)


def zeta(s: float) -> Callable[[Any], Any]:
    return lambda q: opdsl.special.zeta(opdsl.full(q.shape, s, dtype=q.dtype), q)


def slope(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that computes the derivative of a function by the backward pass."""

    def of(x: Any) -> Any:
        x = x.detach().requires_grad_()
        function(x).backward(opdsl.ones_like(x))
        return x.grad

    return of


def nothing(x: Any) -> Any:
    return 0


def one(x: Any) -> Any:
    return 1


def reflected(x: Any) -> Any:
    """Return the magnitude of ``digamma``: the term of the nearest pole, but at least 1."""
    return max(1, abs(mpmath.pi / mpmath.tan(mpmath.pi * x))) if x < 0 else 1


def beside_one(kind: type[Any]) -> Any:
    """Return arguments just below 1, around 0, and some between."""
    apart = numpy.array([1 - 10.0**-power for power in range(1, 16)], kind)
    result = numpy.concatenate([beside([1.0], kind), apart, small(kind)])
    return result[abs(result) < 1]


def inverse_of_erf(y: Any) -> Any:
    """Compute the inverse of erf, from 0.5 on by Newton's method for erfc."""
    if abs(y) < mpmath.mpf(0.5):
        return mpmath.erfinv(y)
    rest = 1 - abs(y)
    x = mpmath.sqrt(-mpmath.log(rest * (2 - rest)))
    for _ in range(60):
        x += (mpmath.erfc(x) - rest) * mpmath.exp(x * x) * mpmath.sqrt(mpmath.pi) / 2
    return x if y > 0 else -x


# The function, its definition, the arguments, the magnitude of its largest term, and the tolerance in units in the last
# place.
CASES: dict[str, tuple[Any, Any, Any, Any, float]] = {
    "digamma": (opdsl.digamma, mpmath.digamma, around_poles, reflected, 6),
    "slope of lgamma": (slope(opdsl.lgamma), mpmath.digamma, around_poles, reflected, 6),
    "lgamma": (
        opdsl.lgamma,
        lambda x: mpmath.loggamma(x).real,
        around_poles,
        lambda x: 1 + abs(mpmath.loggamma(1 - x).real),  # the other side of the reflection formula
        6,
    ),
    "trigamma": (lambda x: opdsl.polygamma(1, x), lambda x: mpmath.polygamma(1, x), around_poles, nothing, 8),
    "slope of digamma": (slope(opdsl.digamma), lambda x: mpmath.polygamma(1, x), around_poles, nothing, 8),
    "polygamma(2)": (
        lambda x: opdsl.polygamma(2, x),
        lambda x: mpmath.polygamma(2, x),
        around_poles,
        polygamma_scale(2),
        8,
    ),
    "polygamma(5)": (
        lambda x: opdsl.polygamma(5, x),
        lambda x: mpmath.polygamma(5, x),
        around_poles,
        polygamma_scale(5),
        12,
    ),
    "zeta(2)": (zeta(2), lambda q: mpmath.zeta(2, q), around_poles, zeta_scale(2), 8),
    "zeta(3)": (zeta(3), lambda q: mpmath.zeta(3, q), around_poles, zeta_scale(3), 8),
    "zeta(20)": (zeta(20), lambda q: mpmath.zeta(20, q), around_poles, zeta_scale(20), 16),
    "slope of zeta(3)": (slope(zeta(3)), lambda q: -3 * mpmath.zeta(4, q), around_poles, zeta_scale(4), 24),
    "zeta(2.5)": (zeta(2.5), lambda q: mpmath.zeta(2.5, q), positive, nothing, 8),
    "erf": (opdsl.erf, mpmath.erf, small, nothing, 2),
    "erfinv": (opdsl.erfinv, inverse_of_erf, beside_one, nothing, 3),
    "expm1": (opdsl.expm1, mpmath.expm1, small, nothing, 2),
    "log": (opdsl.log, mpmath.log, positive, nothing, 2),
    "k0": (
        opdsl.special.modified_bessel_k0,
        lambda x: mpmath.besselk(0, x),
        lambda kind: positive(kind)[:14],
        nothing,
        8,
    ),
    "k1": (
        opdsl.special.modified_bessel_k1,
        lambda x: mpmath.besselk(1, x),
        lambda kind: positive(kind)[:14],
        nothing,
        8,
    ),
    "y0": (opdsl.special.bessel_y0, lambda x: mpmath.bessely(0, x), lambda kind: positive(kind)[:14], one, 8),
    "i1": (opdsl.special.i1, lambda x: mpmath.besseli(1, x), small, nothing, 8),
    "ndtr": (
        opdsl.special.ndtr,
        mpmath.ncdf,
        lambda kind: numpy.linspace(-12, 6, 90).astype(kind),
        lambda x: x * x * mpmath.ncdf(x),  # the change of the result by rounding the argument
        8,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_where_functions_are_hard(name: str, kind: type[Any]) -> None:
    function, definition, points, scale, units = CASES[name]
    form = numpy.finfo(kind)
    arguments = points(kind)
    values = function(opdsl.from_numpy(arguments.copy())).numpy()
    wrong = []
    with mpmath.workdps(50):
        for point, value in zip(arguments, values, strict=True):
            exact = mpmath.mpf(definition(mpmath.mpf(float(point))))
            if abs(exact) > float(form.max) * (1 - 8 * float(form.eps)):
                is_right = numpy.isinf(value) and (value > 0) == (exact > 0)
            else:
                size = max(abs(exact), scale(mpmath.mpf(float(point))), float(form.tiny))
                is_right = numpy.isfinite(value) and abs(mpmath.mpf(float(value)) - exact) <= units * form.eps * size
            if not is_right:
                wrong.append((float(point), float(value), float(exact)))
    assert not wrong, f"{len(wrong)} of {len(arguments)} are off: {wrong[:5]}"


@pytest.mark.parametrize("kind", KINDS)
def test_at_poles(kind: type[Any]) -> None:
    poles = opdsl.from_numpy(-numpy.arange(1.0, 40.0).astype(kind))
    assert opdsl.lgamma(poles).isinf().all().item()
    assert opdsl.digamma(poles).isnan().all().item()
    assert (opdsl.polygamma(1, poles) == opdsl.inf).all().item()
    assert (zeta(3)(poles) == opdsl.inf).all().item()
    assert zeta(3)(opdsl.from_numpy(numpy.array([-numpy.inf], kind))).tolist() == [opdsl.inf]
    zeros = opdsl.from_numpy(numpy.array([0.0, -0.0], kind))
    assert opdsl.digamma(zeros).tolist() == [-opdsl.inf, opdsl.inf]
    assert opdsl.polygamma(1, zeros).tolist() == [opdsl.inf] * 2
    assert opdsl.special.modified_bessel_k0(zeros).tolist() == [opdsl.inf] * 2
