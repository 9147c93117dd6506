"""Tests of elementary functions against mpmath at denormal, small and huge arguments: the first row of numerics.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy
import pytest

import opdsl

EVERYWHERE, ABOVE, WITHIN, FROM_ONE = "everywhere", "above 0", "within 1", "from 1"
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "exp": (mpmath.exp, EVERYWHERE),
    "exp2": (lambda x: mpmath.mpf(2) ** x, EVERYWHERE),
    "expm1": (mpmath.expm1, EVERYWHERE),
    "log": (mpmath.log, ABOVE),
    "log2": (lambda x: mpmath.log(x, 2), ABOVE),
    "log10": (mpmath.log10, ABOVE),
    "log1p": (mpmath.log1p, ABOVE),
    "sin": (mpmath.sin, EVERYWHERE),
    "cos": (mpmath.cos, EVERYWHERE),
    "tan": (mpmath.tan, EVERYWHERE),
    "asin": (mpmath.asin, WITHIN),
    "acos": (mpmath.acos, WITHIN),
    "atan": (mpmath.atan, EVERYWHERE),
    "sinh": (mpmath.sinh, EVERYWHERE),
    "cosh": (mpmath.cosh, EVERYWHERE),
    "tanh": (mpmath.tanh, EVERYWHERE),
    "asinh": (mpmath.asinh, EVERYWHERE),
    "acosh": (mpmath.acosh, FROM_ONE),
    "atanh": (mpmath.atanh, WITHIN),
    "erf": (mpmath.erf, EVERYWHERE),
    "erfc": (mpmath.erfc, EVERYWHERE),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), EVERYWHERE),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), ABOVE),
}


def points(kind: type[Any], where: str) -> Any:
    form = numpy.finfo(kind)
    small = [form.smallest_subnormal * kind(times) for times in (1, 3, 1000)]
    small += [form.tiny, *(kind(10.0) ** kind(power) for power in range(-37, -1, 3))]
    result = numpy.array([*small, *numpy.linspace(0.03, 0.97, 40), *numpy.geomspace(1.01, 80, 40)], kind)
    result = result if where == ABOVE else numpy.concatenate([result, -result])
    return result[abs(result) < 1] if where == WITHIN else result[result > 1] if where == FROM_ONE else result


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_are_off_by_two_units(name: str, kind: type[Any]) -> None:
    definition, where = FUNCTIONS[name]
    arguments, form = points(kind, where), numpy.finfo(kind)
    values = getattr(opdsl, name)(opdsl.from_numpy(arguments.copy())).numpy()
    wrong = []
    with mpmath.workdps(60):
        for point, value in zip(arguments, values, strict=True):
            exact = definition(mpmath.mpf(float(point)))
            if abs(exact) < float(form.max) * (1 - 4 * float(form.eps)):
                unit = float(form.eps) * max(abs(exact), float(form.tiny))
                if not abs(mpmath.mpf(float(value)) - exact) <= 2 * unit:
                    wrong.append((float(point), float(value), float(exact)))
    assert not wrong, wrong[:5]
