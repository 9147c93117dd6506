"""Tests of mathematical functions against mpmath: errors within the bounds of ``formulas.ACCURACY``, and exact special
values.

Errors are measured against mpmath at 120 bits, over samples of all magnitudes.
"""

import itertools
import math
import zlib

import mpmath
import numpy as np
import pytest

from opdsl.scalar import lower, read
from opdsl.scalar.interpreter import evaluate
from opdsl.scalar.mathematics.coarse import COARSE, has_steps
from opdsl.scalar.mathematics.formulas import ACCURACY
from tests.unit.scalar.harness import Compiled

COUNT = {"float32": 3000, "float64": 2000}
ORACLES = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "lgamma": mpmath.loggamma,
}
EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-45,
    -1e-45,
    5e-324,
    1e-38,
    -1e-38,
    3e38,
    -3e38,
]


def function_of(name, arity):
    if name == "power":
        return lambda x, y: math.pow(x, y)
    target = getattr(math, name)
    if arity == 2:
        return lambda x, y: target(x, y)
    return lambda x: target(x)


def samples(name, kind):
    """Return random bit patterns, and arguments near the special points of functions."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    count = COUNT[kind]
    bits = np.int32 if kind == "float32" else np.int64
    with np.errstate(all="ignore"):
        parts = [
            random.integers(np.iinfo(bits).min, np.iinfo(bits).max, count, dtype=bits).view(kind),
            random.normal(0, 1, count), random.normal(0, 30, count), random.uniform(-1, 1, count),
            1 + random.normal(0, 0.1, count), random.normal(0, 300, count),
            np.exp(random.uniform(-90, 90, count)), EDGES,
        ]  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=kind) for part in parts])


def exact(name, operands):
    """Return a function's value to 120 bits as a pair of doubles, value and rest; NaN where it has no real value."""
    oracle = ORACLES.get(name) or getattr(mpmath, name)
    try:
        with mpmath.workprec(120):
            value = oracle(*(mpmath.mpf(float(one)) for one in operands))
            if isinstance(value, mpmath.mpc):
                return math.nan, 0.0
            high = float(value)
            return high, float(value - mpmath.mpf(high)) if math.isfinite(high) else 0.0
    except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.ComplexResult):
        return math.nan, 0.0


def errors(result, expected, rest, kind):
    """Return the errors of results in units in the last place of the exact values."""
    info = np.finfo(kind)
    magnitude = np.maximum(np.abs(expected), info.tiny)
    unit = np.exp2(np.floor(np.log2(magnitude)) - info.nmant)
    return np.abs((result.astype(np.longdouble) - expected) - rest) / unit


BINARY = ["power", "atan2", "hypot"]
UNARY = sorted(name for name in ACCURACY if name not in BINARY)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_accuracy(name, kind):
    values = samples(name, kind)
    values = values[np.isfinite(values) & (values != 0)]
    if name == "erfc":
        values = values[np.abs(values) < 40]  # mpmath is slow for results that underflow
    if name == "lgamma":
        values = values[values > 0]  # near its negative zeros terms cancel: see the tests of special functions
    actual = Compiled(read(function_of(name, 1)).specialise({"x": kind}))(values)
    expected, rest = np.array([exact(name, (value,)) for value in values]).T
    with np.errstate(all="ignore"):
        rounded = expected.astype(kind)
    number = np.isfinite(rounded)
    assert errors(actual[number], expected[number], rest[number], kind).max() <= ACCURACY[name][kind]
    np.testing.assert_array_equal(actual[np.isinf(rounded)], rounded[np.isinf(rounded)])


@pytest.mark.parametrize("name", sorted(COARSE.keys() - {"divide"}))
def test_accuracy_for_results_of_16_bits(name):
    """Errors are an eighth of a unit in the last place of float16; results below 2**-30 need not be relative."""
    values = samples(name, "float32")
    values = values[np.isfinite(values) & (values != 0) & ((name != "erfc") | (np.abs(values) < 40))]
    graph = lower(read(function_of(name, 1)).specialise({"x": "float32"}), coarse=True)
    with np.errstate(all="ignore"):
        (actual,) = evaluate(graph, {"x": values})
    expected, _ = np.array([exact(name, (value,)) for value in values]).T
    number = np.abs(expected) < 65504.0  # the largest of float16
    error = np.abs(actual[number] - expected[number])
    assert (error <= np.maximum(2.0**-15 * np.abs(expected[number]), 2.0**-30)).all()
    assert (actual[expected > np.finfo(np.float32).max] == np.inf).all()


def test_one_and_an_error_function_are_a_complement():
    """Near -4, where the sum cancels, ``1 + erf(x)`` keeps its accuracy in graphs for results of 16 bits."""
    graph = lower(read(lambda x: 1.0 + math.erf(x)).specialise({"x": "float32"}), coarse=True)
    values = np.linspace(-4, 4, 101, dtype=np.float32)
    (result,) = evaluate(graph, {"x": values})
    np.testing.assert_allclose(result, [float(mpmath.erfc(-float(number))) for number in values], rtol=2.0**-15)


@pytest.mark.parametrize(
    ("function", "is_exact"),
    [
        (lambda x, y: x / y, False),
        (lambda x, y: 1.0 if x / y < 3.0 else 0.0, True),
        (lambda x, y: x / y if x < y else 0.0, False),
    ],
)
def test_what_is_compared_is_not_approximated(function, is_exact):
    graph = lower(read(function).specialise({"x": "float32", "y": "float32"}), coarse=True)
    assert ("approximate_divide" not in [node.op for node in graph.nodes]) is is_exact


@pytest.mark.parametrize(
    ("function", "steps"),
    [(lambda x: math.floor(x / 3.0), True), (lambda x: math.exp(x), False), (lambda x: float(int(x * 2.0)), True)],
)
def test_rounding_to_integers_is_a_step(function, steps):
    assert has_steps(read(function).specialise({"x": "float32"})) is steps


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_accuracy(name, kind):
    random = np.random.default_rng(3)
    count = COUNT[kind]
    spread = 80 if kind == "float32" else 700
    x = np.concatenate([np.exp(random.normal(0, 3, count)), np.exp(random.uniform(-spread, spread, count)),
                        1 + random.normal(0, 1e-3, count)]).astype(kind)  # fmt: skip
    y = np.concatenate([random.normal(0, 5, count), random.uniform(-1.2, 1.2, count),
                        random.normal(0, 3e4, count)]).astype(kind)  # fmt: skip
    actual = Compiled(read(function_of(name, 2)).specialise({"x": kind, "y": kind}))(x, y)
    expected, rest = np.array([exact(name, pair) for pair in zip(x, y, strict=True)]).T
    with np.errstate(all="ignore"):
        rounded = expected.astype(kind)
    number = np.isfinite(rounded)
    assert errors(actual[number], expected[number], rest[number], kind).max() <= ACCURACY[name][kind]
    np.testing.assert_array_equal(actual[np.isinf(rounded)], rounded[np.isinf(rounded)])


NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
# Functions that NumPy does not have.
KNOWN = {
    "erf": {0.0: 0.0, np.inf: 1.0, -np.inf: -1.0, 1e30: 1.0, 1e-40: 1.1283791670955126e-40},
    "erfc": {0.0: 1.0, np.inf: 0.0, -np.inf: 2.0, 1e30: 0.0, -1e30: 2.0},
    "lgamma": {
        **dict.fromkeys([0.0, -0.0, np.inf, -np.inf, -1.0, -7.0, -3e38], np.inf),
        1.0: 0.0,
        2.0: 0.0,
        -1e-38: 87.49823353377374,
        1e30: 6.807755278982137e31,
    },
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_edges(name, kind):
    values = np.array(EDGES, dtype=kind)
    run = Compiled(read(function_of(name, 1)).specialise({"x": kind}))
    if name in KNOWN:
        assert np.isnan(run([np.nan]))
        points = np.array(list(KNOWN[name]), dtype=kind)
        np.testing.assert_allclose(run(points), np.array(list(KNOWN[name].values()), dtype=kind), rtol=1e-6, atol=1e-44)
        return
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY.get(name, name))(values)
    actual = run(values)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-44)
    zeros = np.flatnonzero(~np.isnan(expected[:2]))
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    np.inf,
    -np.inf,
    np.nan,
    1e30,
    -1e30,
    2.0**24 + 2,
    -3e9,
]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "oracle"), [("power", np.power), ("atan2", np.arctan2), ("hypot", np.hypot), ("nextafter", np.nextafter)]
)
def test_special_pairs(name, oracle, kind):
    x, y = (np.array(column, dtype=kind) for column in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    with np.errstate(all="ignore"):
        expected = oracle(x, y)
    actual = Compiled(read(function_of(name, 2)).specialise({"x": kind, "y": kind}))(x, y)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("name", ["exp", "tanh", "log"])
def test_results_do_not_depend_on_the_position(name):
    run = Compiled(read(function_of(name, 1)).specialise({"x": "float32"}))
    values = samples(name, "float32")[:1003]
    whole = run(values)
    for start in (1, 5, 1000):
        np.testing.assert_array_equal(run(values[start:]), whole[start:])


@pytest.mark.parametrize(("kind", "most"), [("float32", 38), ("float64", 308)])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, kind, most):
    """Trigonometric functions of huge arguments are accurate, which needs many digits of pi for argument reduction."""
    random = np.random.default_rng(7)
    values = (10 ** random.uniform(3, most, 500) * random.choice([-1, 1], 500)).astype(kind)
    values = np.concatenate([values, np.array([1e5, 1e9, 1e22, 10.0**most], dtype=kind)])
    result = Compiled(read(function_of(name, 1)).specialise({"x": kind}))(values)
    with mpmath.workprec(1200):
        expected = [getattr(mpmath, name)(mpmath.mpf(float(number))) for number in values]
        parts = [(float(number), float(number - mpmath.mpf(float(number)))) for number in expected]
    exact_values, rest = np.array(parts).T
    assert errors(result, exact_values, rest, kind).max() <= ACCURACY[name][kind]
