"""Tests of special functions against mpmath in both precisions, with errors in units in the last place of the largest
values.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

import opdsl

LIMITS = {numpy.float32: 2.0**-23, numpy.float64: 2.0**-52}
POSITIVE = numpy.concatenate([numpy.linspace(0.01, 40.0, 23), numpy.geomspace(1e-6, 1e-2, 5)])
BOTH = numpy.concatenate([POSITIVE, -POSITIVE])


def of_order(function: Callable[..., Any], order: int) -> Callable[[Any], Any]:
    return lambda x: function(order, x)


def scaled(function: Callable[..., Any], order: int, sign: int) -> Callable[[Any], Any]:
    return lambda x: function(order, x) * mpmath.exp(sign * abs(x))


# The function, its definition, arguments, and the tolerance in units in the last place.
CASES: dict[str, tuple[Callable[[Any], Any], Any, float]] = {
    "i0": (of_order(mpmath.besseli, 0), BOTH, 4),
    "special_i0e": (scaled(mpmath.besseli, 0, -1), BOTH, 5),
    "special_i1": (of_order(mpmath.besseli, 1), BOTH, 6),
    "special_i1e": (scaled(mpmath.besseli, 1, -1), BOTH, 5),
    "special_modified_bessel_k0": (of_order(mpmath.besselk, 0), POSITIVE, 6),
    "special_modified_bessel_k1": (of_order(mpmath.besselk, 1), POSITIVE, 6),
    "special_scaled_modified_bessel_k0": (scaled(mpmath.besselk, 0, 1), POSITIVE, 6),
    "special_scaled_modified_bessel_k1": (scaled(mpmath.besselk, 1, 1), POSITIVE, 6),
    "special_erfcx": (lambda x: mpmath.erfc(x) * mpmath.exp(x * x), numpy.append(POSITIVE, [-0.5, -3.0, -8.5]), 8),
    "special_ndtri": (
        lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
        numpy.array([1e-12, 1e-4, 0.01, 0.12, 0.13, 0.3, 0.49, 0.7, 0.875, 0.9, 0.99]),
        4,
    ),
    "special_spherical_bessel_j0": (lambda x: mpmath.sin(x) / x, BOTH, 3),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), POSITIVE, 4),
}

# Functions with zeros, whose errors are small relative to the values around a zero.
WAVES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "special_bessel_j0": (of_order(mpmath.besselj, 0), BOTH),
    "special_bessel_j1": (of_order(mpmath.besselj, 1), BOTH),
    "special_bessel_y0": (of_order(mpmath.bessely, 0), POSITIVE[1:23]),
    "special_bessel_y1": (of_order(mpmath.bessely, 1), POSITIVE[1:23]),
    "special_airy_ai": (mpmath.airyai, BOTH[abs(BOTH) < 10]),
    "digamma": (mpmath.digamma, POSITIVE),
    "lgamma": (lambda x: mpmath.loggamma(x).real, -numpy.linspace(0.01, 12.0, 97)[:-1]),
}


def exact(function: Callable[[Any], Any], arguments: Any) -> Any:
    with mpmath.workdps(60):
        return numpy.array([float(function(mpmath.mpf(float(point)))) for point in arguments])


def ours(name: str, arguments: Any) -> Any:
    return getattr(opdsl.ops.aten, name)(opdsl.from_numpy(arguments)).numpy().astype(numpy.float64)


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", CASES)
def test_few_units_in_the_last_place(name: str, kind: type[Any]) -> None:
    function, arguments, units = CASES[name]
    arguments = arguments.astype(kind)
    wanted = exact(function, arguments)
    inside = abs(wanted) > numpy.finfo(kind).tiny
    error = abs(ours(name, arguments) - wanted)[inside] / abs(wanted)[inside]
    assert float(error.max()) <= units * LIMITS[kind]


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", WAVES)
def test_errors_near_zeros_are_small_relative_to_the_amplitude(name: str, kind: type[Any]) -> None:
    function, arguments = WAVES[name]
    arguments = arguments.astype(kind)
    wanted = exact(function, arguments)
    assert float((abs(ours(name, arguments) - wanted) / numpy.maximum(abs(wanted), 1)).max()) <= 24 * LIMITS[kind]


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_polygamma(order: int) -> None:
    arguments = numpy.concatenate([POSITIVE, [-0.3, -2.6, -7.2]])
    wanted = exact(lambda x: mpmath.polygamma(order, x), arguments)
    actual = opdsl.polygamma(order, opdsl.from_numpy(arguments)).numpy()
    numpy.testing.assert_allclose(actual, wanted, rtol=1e-12)


@pytest.mark.parametrize("exponent", [1.5, 2.0, 7.0, 30.0])
def test_zeta(exponent: float) -> None:
    wanted = exact(lambda q: mpmath.zeta(exponent, q), POSITIVE)
    actual = opdsl.ops.aten.special_zeta(exponent, opdsl.from_numpy(POSITIVE)).numpy()
    numpy.testing.assert_allclose(actual, wanted, rtol=1e-14)


def test_mantissas_and_exponents_are_those_of_numpy() -> None:
    arguments = numpy.array([1.0, -3.0, 0.1, 5e-324, -1e-310, 1e308, 0.0, -0.0, numpy.inf, -numpy.inf])
    mantissa, exponent = opdsl.frexp(opdsl.from_numpy(arguments))
    wanted = numpy.frexp(arguments)
    assert mantissa.tolist() == wanted[0].tolist()
    assert exponent.tolist() == wanted[1].tolist()


def test_drawn_slopes_are_kept_and_lie_between_the_bounds() -> None:
    x = opdsl.from_numpy(numpy.linspace(-1, 1, 64))
    noise = opdsl.zeros_like(x)
    result = opdsl.ops.aten.rrelu_with_noise(x, noise, 0.25, 0.5, True).numpy()
    slopes = noise.numpy()
    assert (slopes[32:] == 1).all()
    assert ((slopes[:32] >= 0.25) & (slopes[:32] < 0.5)).all()
    assert len(set(slopes[:32].tolist())) > 16
    numpy.testing.assert_array_equal(result, x.numpy() * slopes)


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma_functions(upper: bool) -> None:
    order = numpy.array([0.01, 0.3, 0.9, 1.0, 3.5, 15.0, 40.0, 40.0, 40.0, 900.0, 1e5])
    bound = numpy.array([0.2, 1.05, 3.0, 0.7, 2.0, 15.5, 0.5, 39.0, 90.0, 880.0, 1.002e5])
    with mpmath.workdps(60):
        pairs = [(mpmath.mpf(float(a)), mpmath.mpf(float(x))) for a, x in zip(order, bound, strict=True)]
        limits = [(x, mpmath.inf) if upper else (0, x) for _, x in pairs]
        wanted = [
            float(mpmath.gammainc(a, *ends, regularized=True)) for (a, _), ends in zip(pairs, limits, strict=True)
        ]
    function = opdsl.igammac if upper else opdsl.igamma
    actual = function(opdsl.from_numpy(order), opdsl.from_numpy(bound)).numpy()
    numpy.testing.assert_allclose(actual, wanted, rtol=1e-11)


def test_incomplete_gamma_functions_of_huge_order_are_the_integrals() -> None:
    order, bound = 4e6, 3.999e6
    with mpmath.workdps(40):
        size = mpmath.loggamma(order)
        edges = [mpmath.mpf(order + at * 2000) for at in range(1, 11)]
        wanted = float(mpmath.quad(lambda t: mpmath.exp((order - 1) * mpmath.log(t) - t - size), [bound, *edges]))
    a, x = opdsl.from_numpy(numpy.array([order])), opdsl.from_numpy(numpy.array([bound]))
    assert opdsl.igammac(a, x).item() == pytest.approx(wanted, rel=1e-10)
    assert opdsl.igamma(a, x).item() == pytest.approx(1 - wanted, rel=1e-10)


@pytest.mark.parametrize("count", [1, 3, 64, 65, 500])
def test_logarithms_of_gamma_functions_of_several_variables(count: int) -> None:
    arguments = numpy.array([400.25, 1000.0])
    with mpmath.workdps(60):
        halves = [mpmath.mpf(k) / 2 for k in range(count)]
        start = mpmath.log(mpmath.pi) * count * (count - 1) / 4
        wanted = [float(start + sum(mpmath.loggamma(point - half) for half in halves)) for point in arguments]
        slopes = [float(sum(mpmath.digamma(point - half) for half in halves)) for point in arguments]
    x = opdsl.from_numpy(arguments).requires_grad_()
    for _ in range(3):
        actual = opdsl.mvlgamma(x, count)
        numpy.testing.assert_allclose(actual.detach().numpy(), wanted, rtol=1e-13)
    actual.sum().backward()
    numpy.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-12)


ENDLESS = """
import os, signal, threading, time
import opdsl

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
opdsl.mvlgamma(opdsl.ones(3) * 100, 100)
begin = time.monotonic()
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    {call}
except KeyboardInterrupt:
    print("ended after", time.monotonic() - begin - 0.2)
"""


@pytest.mark.parametrize(
    "call",
    [
        "opdsl.mvlgamma(opdsl.ones(3), 2**31)",
        "opdsl.mvlgamma(opdsl.ones(100_000), 2**31)",
        "opdsl.ones(3).mvlgamma_(2**31 - 1)",
    ],
)
def test_many_variables_are_given_up_on_a_signal(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS.format(call=call)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith("ended after"), done.stdout + done.stderr
