"""Tests of complex scalar functions: types, lowering to pairs of real values, compiled code against interpreter and
PyTorch.
"""

import cmath
import itertools
import math

import numpy as np
import pytest
import torch

from opdsl.errors import ScalarFunctionError
from opdsl.scalar import evaluate, lower, read
from opdsl.scalar.operations import OPERATIONS
from tests.unit.scalar.harness import Compiled

KINDS = ["complex64", "complex128"]
REAL = {"complex64": "float32", "complex128": "float64"}
UNARY = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "exp": lambda x: cmath.exp(x),
    "log": lambda x: cmath.log(x),
    "log10": lambda x: cmath.log10(x),
    "log2": lambda x: math.log2(x),
    "sqrt": lambda x: cmath.sqrt(x),
    "tanh": lambda x: cmath.tanh(x),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "reciprocal": lambda x: 1.0 / x,
    "square": lambda x: x**2,
    "isnan": lambda x: math.isnan(x),
    "isinf": lambda x: math.isinf(x),
    "isfinite": lambda x: math.isfinite(x),
    "logical_not": lambda x: not x,
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "logical_and": lambda x, y: bool(x and y),
}
# PyTorch divides by the complex number log(2) on processors without AVX2, which makes NaN of infinite parts.
THEIRS = {"log2": lambda x: torch.view_as_complex(torch.view_as_real(torch.log(x)) / math.log(2))}
# The error of the exponential is amplified where its sum with 1 is small.
LOOSE = {"sigmoid": 100}
ORDERED = {
    "`<`": lambda x: x < 1,
    "`max`": lambda x: max(x, 0),
    "`floor`": lambda x: math.floor(x),
    "`//`": lambda x: x // 2,
    "`%`": lambda x: x % 2,
    "`erf`": lambda x: math.erf(x),
    "`atan2`": lambda x: math.atan2(x, 1.0),
}


def edges(kind, *more):
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -40.0, 100.0, 1e-3, 0.999999, np.inf, -np.inf, np.nan, *more]
    return np.array([complex(real, y) for real in parts for y in parts], dtype=kind)


def spread(kind, count=2000):
    """Return random complex numbers of many magnitudes, and of magnitudes near 1."""
    random = np.random.default_rng(0)
    far = 30 if kind == "complex64" else 250
    sizes = np.concatenate([10 ** random.uniform(-far, far, count), 10 ** random.uniform(-2, 2, count)])
    sizes = np.concatenate([sizes, 1 + random.normal(size=count) * 10 ** random.uniform(-7, -1, count)])
    angles = random.uniform(-np.pi, np.pi, sizes.size)
    angles[::3] = random.normal(size=angles[::3].size) * 1e-4
    return (sizes * np.exp(1j * angles)).astype(kind)


def graph(function, kind):
    scalar = read(function)
    return scalar.specialise(dict.fromkeys(scalar.parameters, kind))


def assert_parts(actual, expected, tolerance):
    """Check that NaN and infinite parts are equal, and other parts have small errors relative to the larger part."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.dtype == bool:
        np.testing.assert_array_equal(actual, expected)
        return
    mine, theirs = (np.stack([one.real, one.imag], -1) for one in (actual, expected))
    odd = ~np.isfinite(theirs)
    np.testing.assert_array_equal(mine[odd], theirs[odd])
    size = np.where(odd, 0, np.abs(theirs)).max(-1, keepdims=True)
    assert (np.abs(mine - theirs)[~odd] <= np.broadcast_to(size * tolerance, odd.shape)[~odd]).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_unary_agrees_with_torch(name, kind):
    info = np.finfo(REAL[kind])
    values = np.concatenate([edges(kind, info.max, info.tiny, info.smallest_subnormal), spread(kind)])
    expected = THEIRS.get(name, getattr(torch, name))(torch.from_numpy(values)).numpy()
    assert_parts(Compiled(graph(UNARY[name], kind))(values), expected, LOOSE.get(name, 8) * info.eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_agrees_with_torch(name, kind):
    first, second = (array.ravel() for array in np.meshgrid(edges(kind), edges(kind)))
    expected = getattr(torch, name)(torch.from_numpy(first), torch.from_numpy(second)).numpy()
    if name == "add":  # torch.add multiplies by alpha, which makes NaN of infinite parts
        expected = first + second
    if name == "sub":
        expected = first - second
    assert_parts(Compiled(graph(BINARY[name], kind))(first, second), expected, 8 * np.finfo(REAL[kind]).eps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY)
def test_the_interpreter_agrees_with_compiled_code(name, kind):
    typed = graph(UNARY[name], kind)
    values = np.concatenate([edges(kind), spread(kind)])
    assert_parts(
        Compiled(typed)(values), evaluate(typed, {"x": values})[0], LOOSE.get(name, 8) * np.finfo(REAL[kind]).eps
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BINARY)
def test_the_interpreter_agrees_on_pairs(name, kind):
    typed = graph(BINARY[name], kind)
    first, second = (array.ravel() for array in np.meshgrid(edges(kind), edges(kind)))
    result = evaluate(typed, {"x": first, "y": second})[0]
    assert_parts(Compiled(typed)(first, second), result, 8 * np.finfo(REAL[kind]).eps)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "reciprocal"])
def test_complex64_is_accurate(name):
    """Results in complex64 are within 5e-7 of those in complex128, relative to their magnitude."""
    values = spread("complex64")
    exact = getattr(torch, name)(torch.from_numpy(values).to(torch.complex128)).numpy()
    result = Compiled(graph(UNARY[name], "complex64"))(values)
    inside = (np.abs(exact) < 1e38) & (np.abs(exact) > 1e-37)
    assert (np.abs(result - exact)[inside] <= 5e-7 * np.abs(exact)[inside]).all()


def test_powers():
    values = spread("complex128")[2000:]
    typed = graph(lambda x, y: x**y, "complex128")
    exponents = np.full(values.shape, 0.5 - 1.5j)
    expected = torch.pow(torch.from_numpy(values), torch.from_numpy(exponents)).numpy()
    assert_parts(Compiled(typed)(values, exponents), expected, 1e-13)


@pytest.mark.parametrize("name", ORDERED)
def test_what_complex_numbers_do_not_have(name):
    with pytest.raises(ScalarFunctionError, match=f"{name} of complex numbers does not exist") as refused:
        graph(ORDERED[name], "complex64")
    assert "There are +, -, *, /" in str(refused.value)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_lowered_graphs_are_real(name):
    lowered = lower(graph((UNARY | BINARY)[name], "complex64"))
    assert all(not node.type.value.startswith("complex") for node in lowered.nodes)
    assert all(node.op in OPERATIONS or node.op in ("parameter", "constant", "cast") for node in lowered.nodes)


def test_parts_are_parameters_and_results():
    lowered = lower(graph(lambda z, w: (z * w, z == w), "complex64"))
    assert [name for name, _ in lowered.parameters] == ["z.real", "z.imag", "w.real", "w.imag"]
    assert [kind.value for kind in lowered.result_types] == ["float32", "float32", "bool"]


def test_several_results_beside_a_real_parameter():
    def function(z, x, flag):
        return z * x, x + 1, z if flag else 1j

    typed = read(function).specialise({"z": "complex64", "x": "float32", "flag": "bool"})
    z, x, flag = np.array([1 + 2j, -3j], "complex64"), np.array([2.0, 0.5], "float32"), np.array([True, False])
    product, more, chosen = Compiled(typed)(z, x, flag)
    assert (product.tolist(), more.tolist(), chosen.tolist()) == ([2 + 4j, -1.5j], [3.0, 1.5], [1 + 2j, 1j])


REAL_TARGETS = ["bool", "int8", "int32", "int64", "float32", "float64"]
REAL_SOURCES = ["bool", "uint8", "int64", "float32"]


@pytest.mark.parametrize(
    ("source", "target"),
    [*itertools.product(REAL, [*REAL_TARGETS, *REAL]), *itertools.product(REAL_SOURCES, REAL)],
)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_casts(source, target):
    values = np.array([0, 1, 3, 100]).astype(source)
    if source in REAL:
        values = values + np.array([0, 1j, -2j, 0.5]).astype(source)
    typed = read(lambda x: x).specialise({"x": source}, results=[target])
    expected = torch.from_numpy(values).to(getattr(torch, target)).numpy()
    np.testing.assert_array_equal(Compiled(typed)(values), expected)
    np.testing.assert_array_equal(evaluate(typed, {"x": values})[0], expected)


def test_literals_are_weak():
    typed = read(lambda x: x * 2j + 1).specialise({"x": "complex64"})
    assert typed.result_types[0].value == "complex64"
    np.testing.assert_array_equal(Compiled(typed)(np.array([1j], "complex64")), [-1])
