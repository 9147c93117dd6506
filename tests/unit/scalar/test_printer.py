"""Tests that compiled code agrees with the interpreter bit for bit, and with PyTorch."""

import itertools
import math

import numpy as np
import pytest
import torch

from opdsl.backends.cpu.printer import declarations, function_ir, rare_ir
from opdsl.scalar import evaluate, lower, read
from opdsl.scalar.lowering import split_rare
from tests.unit.scalar.harness import Compiled, assembly

INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint64"]
FLOATS = ["float32", "float64"]
REAL = ["bool", *INTEGERS, *FLOATS]


def edges(kind):
    """Return values at the limits of a dtype and some between."""
    if kind == "bool":
        return np.array([False, True])
    if kind in FLOATS:
        info = np.finfo(kind)
        values = [0.0, -0.0, 1, -1, 0.5, -2.5, 3, 7.25, 1e10, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny]
        return np.array([*values, info.smallest_subnormal, 2.5, 1.5, -0.5], dtype=kind)
    info = np.iinfo(kind)
    return (
        np.array([info.min, info.max, 0, 1, 2, 3, 5, 7, info.max // 2, info.max - 1], dtype=kind)
        if (info.min == 0)
        else np.array([info.min, info.max, info.min + 1, 0, 1, -1, 2, -2, 3, -7, 7], dtype=kind)
    )


def pairs(kind):
    first, second = zip(*itertools.product(edges(kind), edges(kind)), strict=True)
    return np.array(first, dtype=kind), np.array(second, dtype=kind)


BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "true_divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "fmod": lambda x, y: math.fmod(x, y),
    "maximum": lambda x, y: max(x, y),
    "minimum": lambda x, y: min(x, y),
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "logical_and": lambda x, y: bool(x and y),
    "logical_or": lambda x, y: bool(x or y),
    "copysign": lambda x, y: math.copysign(x, y),
}
BITS = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": lambda x, y: x << y,
    "bitwise_right_shift": lambda x, y: x >> y,
}
UNARY = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "floor": lambda x: math.floor(x),
    "ceil": lambda x: math.ceil(x),
    "trunc": lambda x: math.trunc(x),
    "round": lambda x: round(x),
    "sqrt": lambda x: math.sqrt(x),
    "isnan": lambda x: math.isnan(x),
    "isinf": lambda x: math.isinf(x),
    "isfinite": lambda x: math.isfinite(x),
    "logical_not": lambda x: not x,
    "square": lambda x: x**2,
    "reciprocal": lambda x: x**-1.0,
}
BOOL_HAS_NONE = {
    "subtract",
    "floor_divide",
    "remainder",
    "fmod",
    "neg",
    "square",
    "bitwise_left_shift",
    "bitwise_right_shift",
}


def same(result, expected):
    """Check that results are equal bit for bit, except for the payload of NaN."""
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        number = ~np.isnan(result)
        np.testing.assert_array_equal(np.signbit(result)[number], np.signbit(expected)[number])


def one_by_one(name):
    """Return PyTorch's function applied to single elements: its vector code is wrong for fmod of large quotients."""
    function = getattr(torch, name)

    def run(*operands):
        return torch.cat([function(*(one.reshape(1) for one in row)) for row in zip(*operands, strict=True)])

    return run


VECTOR_CODE_DIFFERS = {"fmod", "remainder"}

# PyTorch has few kernels for unsigned dtypes; NumPy names some functions differently.
UNSIGNED = {"uint16", "uint32", "uint64"}
IN_NUMPY = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
IN_NUMPY |= {"neg": "negative", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}


def oracle_of(name, kind=""):
    if kind in UNSIGNED and hasattr(np, IN_NUMPY.get(name, name)) and name not in ("true_divide", "sqrt", "reciprocal"):
        function = getattr(np, IN_NUMPY.get(name, name))
        return lambda *operands: torch.from_numpy(function(*(operand.numpy() for operand in operands)))
    if name == "sqrt":
        return lambda x: torch.from_numpy(np.sqrt(x.numpy() if x.is_floating_point() else x.float().numpy()))
    return one_by_one(name) if name in VECTOR_CODE_DIFFERS else getattr(torch, name)


def check(function, kind, operands, oracle, *, skip=None):
    """Check compiled code and the interpreter, on the graph and the lowered graph, against an oracle."""
    names = ("x", "y")[: len(operands)]
    graph = read(function).specialise(dict.fromkeys(names, kind))
    values = dict(zip(names, operands, strict=True))
    actual = Compiled(graph)(*operands)
    same(actual, evaluate(graph, values)[0])
    same(actual, evaluate(lower(graph), values)[0])
    keep = slice(None) if skip is None else ~skip
    with np.errstate(all="ignore"):
        expected = oracle(*(torch.from_numpy(operand[keep]) for operand in operands)).numpy()
    np.testing.assert_array_equal(actual[keep], expected)


CASES = [
    (name, kind) for name, kind in itertools.product(BINARY, REAL) if not (kind == "bool" and name in BOOL_HAS_NONE)
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_binary(name, kind):
    x, y = pairs(kind)
    traps = name in ("floor_divide", "remainder", "fmod") and kind in INTEGERS
    overflow = (y == -1) & (x == np.iinfo(kind).min) if traps else False
    check(BINARY[name], kind, (x, y), oracle_of(name, kind), skip=((y == 0) | overflow) if traps else None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [c for c in itertools.product(BITS, ["bool", *INTEGERS]) if c[1] != "bool" or c[0] not in BOOL_HAS_NONE],
)
def test_bits(name, kind):
    check(BITS[name], kind, pairs(kind), oracle_of(name, kind))


@pytest.mark.parametrize(
    ("name", "kind"),
    [c for c in itertools.product(UNARY, REAL) if c[1] != "bool" or c[0] in ("sqrt", "logical_not", "isnan")],
)
def test_unary(name, kind):
    check(UNARY[name], kind, (edges(kind),), oracle_of(name, kind))


@pytest.mark.parametrize("kind", INTEGERS)
def test_division_by_zero_is_zero_and_wraps(kind):
    graph = read(lambda x, y: (x // y, x % y)).specialise({"x": kind, "y": kind})
    low = np.iinfo(kind).min
    quotient, rest = Compiled(graph)(
        np.array([5, 0, low, low], kind), np.array([0, 0, 0, low + 1 if low == 0 else -1], kind)
    )
    assert quotient[:3].tolist() == [0, 0, 0]
    assert rest[:3].tolist() == [0, 0, 0]
    assert (quotient[3], rest[3]) == ((low, 0) if low else (0, 0))


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_power(kind):
    x, y = pairs(kind)
    y = (y % 23).astype(kind)
    check(lambda x, y: x**y, kind, (x, y), oracle_of("pow", kind))


@pytest.mark.parametrize(
    ("base", "exponent", "expected"), [(2, -1, 0), (1, -3, 1), (-1, -3, -1), (-1, -2, 1), (0, -1, 0)]
)
def test_integer_power_with_a_negative_exponent(base, exponent, expected):
    graph = read(lambda x, y: x**y).specialise({"x": "int32", "y": "int32"})
    assert Compiled(graph)([base], [exponent]).tolist() == [expected]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, -2])
def test_known_power_is_torchs(exponent):
    check(lambda x: x**exponent, "float32", (edges("float32"),), lambda x: torch.pow(x, exponent))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(REAL, REAL)))
def test_casts(source, target):
    graph = read(lambda x: x).specialise({"x": source}, results=[target])
    values = edges(source)
    actual = Compiled(graph)(values)
    same(actual, evaluate(graph, {"x": values})[0])
    inside = np.ones(values.shape, bool)
    if source in FLOATS and target in INTEGERS:
        inside = np.abs(values) < 2.0**30  # PyTorch's own cast is undefined beyond
        if target == "uint64":
            inside &= values >= 0  # the code that stores elements wraps negative values
    expected = torch.from_numpy(values).to(getattr(torch, target)).numpy()
    np.testing.assert_array_equal(actual[inside], expected[inside])


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_cast_saturates(kind):
    info = np.iinfo(kind)
    result = Compiled(read(lambda x: x).specialise({"x": "float32"}, results=[kind]))([np.nan, np.inf, -np.inf, 1e30])
    assert result.tolist() == [0, info.max, info.min, info.max]


def test_bool_inside_and_outside():
    graph = read(lambda x, y: (x > 0) == y).specialise({"x": "float32", "y": "bool"})
    result = Compiled(graph)([1.0, 1.0, -1.0], np.array([True, False, False]))
    assert result.dtype == np.bool_
    assert result.tolist() == [True, False, True]
    assert function_ir(graph, "f").startswith("define internal i8 @f(float %p0, i8 %p1) alwaysinline")


def test_several_results_are_a_struct():
    graph = read(lambda x: (x + 1, x > 0)).specialise({"x": "float32"})
    assert "define internal { float, i8 } @g(float %p0)" in function_ir(graph, "g")
    first, second = Compiled(graph)([1.0, -1.0])
    assert (first.tolist(), second.tolist()) == ([2.0, 0.0], [True, False])


def test_library_calls_are_declared():
    graph = read(lambda x: math.cbrt(x) + math.gamma(x)).specialise({"x": "float32"})
    assert {line.split("@")[1].split("(")[0] for line in declarations(graph)} == {"cbrtf", "tgammaf"}


@pytest.mark.parametrize(
    "function",
    [lambda x: x + 1, lambda x: math.exp(x), lambda x: math.tanh(x), lambda x: math.log1p(x), lambda x: math.erf(x),
     lambda x: math.lgamma(x), lambda x: max(x, 0.0), lambda x: x if x > 0 else 0.01 * x],
    ids=["add", "exp", "tanh", "log1p", "erf", "lgamma", "relu", "leaky"],
)  # fmt: skip
@pytest.mark.parametrize("kind", FLOATS)
def test_loops_vectorise(function, kind):
    text = assembly(read(function).specialise({"x": kind}))
    assert "ymm" in text or "zmm" in text or "xmm" not in text
    assert "call" not in text


RARE = {
    "sin": (lambda x: math.sin(x), np.array([0.5, 1e30, -3e38, np.inf, np.nan, 12345.0])),
    "fmod": (lambda x: math.fmod(x, 0.7), np.array([0.5, 1e30, -1e20, np.inf, np.nan, 7.5])),
}


@pytest.mark.parametrize("name", RARE)
@pytest.mark.parametrize("kind", FLOATS)
def test_rare_arguments_are_right_among_common_ones(name, kind):
    function, special = RARE[name]
    values = np.linspace(-50, 50, 5000).astype(kind)
    values[2000 : 2000 + special.size] = special
    graph = read(function).specialise({"x": kind})
    with np.errstate(all="ignore"):
        operands = [values.astype("float64")] + ([np.array(0.7, kind).astype("float64")] if name == "fmod" else [])
        expected = getattr(np, name)(*operands).astype(kind)
    np.testing.assert_allclose(Compiled(graph)(values), expected, rtol=3e-7 if kind == "float32" else 1e-14, atol=1e-45)


@pytest.mark.parametrize(
    ("function", "operands"),
    [
        (lambda x: math.sin(x), [np.nan]),
        (lambda x, y: math.fmod(x, y), [1.0, 0.0]),
        (lambda x, y: x % y, [np.nan, 3.0]),
        (lambda x, y: x // y, [3.0, np.nan]),
    ],
    ids=["sin", "fmod by zero", "remainder of nan", "floor_divide by nan"],
)
def test_what_gives_nan_is_not_rare(function, operands):
    scalar = read(function)
    _, rare = split_rare(lower(scalar.specialise(dict.fromkeys(scalar.parameters, "float32"))))
    values = {name: np.array([value], "f4") for name, value in zip(scalar.parameters, operands, strict=True)}
    assert evaluate(rare, values)[0].tolist() == [False]


def test_only_graphs_with_rare_parts_have_variants():
    assert rare_ir(read(lambda x: math.exp(x)).specialise({"x": "float32"}), "f") is None
    text = rare_ir(read(lambda x: math.sin(x)).specialise({"x": "float32"}), "f")
    assert "define internal float @f.fast(float %p0)" in text
    assert "define internal i8 @f.rare(float %p0)" in text
    assert "@sinf" not in text


def test_rare_of_rare_holds_when_either_does():
    function, values = (lambda x: math.cos(math.sin(x) * 1e6)), np.linspace(-3, 3, 3000)
    values[1500] = 1e300
    graph = read(function).specialise({"x": "float64"})
    np.testing.assert_allclose(Compiled(graph)(values), np.cos(np.sin(values) * 1e6), rtol=0, atol=1e-8)
