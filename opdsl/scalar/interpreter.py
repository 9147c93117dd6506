"""Reference interpreter: runs a typed graph on NumPy arrays with exactly the semantics that the printers must have.

It defines the meaning of every operation; the printers are tested against it. It is slow, and used in production code
only for constant folding.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from opdsl.scalar.formats import NARROW, FloatFormat
from opdsl.scalar.graph import Loop, Node, Number, TypedGraph
from opdsl.scalar.narrow_values import widen
from opdsl.scalar.operations import LIBM
from opdsl.scalar.types import COMPLEX, INTEGER, ScalarType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray

__all__ = ["apply", "evaluate"]

Evaluator: TypeAlias = Callable[..., Array]


def evaluate(graph: TypedGraph, values: Mapping[str, Any]) -> tuple[Array, ...]:
    """Run a typed graph on NumPy arrays, element by element, and return its results.

    graph: the graph; a lowered one is run operation by operation like compiled code.
    values: for each parameter an array or number, converted to the parameter's type.
    Returns: one array for each result.
    """
    computed: list[Any] = []  # an array for each node, for a loop a list of arrays
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.op == "parameter":
                computed.append(np.asarray(values[str(node.value)]).astype(node.type.value))
            elif isinstance(node.value, Loop):
                computed.append(_loop(node.value, [computed[at] for at in node.arguments]))
            elif node.op == "item":
                computed.append(computed[node.arguments[0]][node.value])
            else:
                computed.append(_run(node, [computed[at] for at in node.arguments]))
    shape = np.broadcast_shapes(*(array.shape for array in computed if not isinstance(array, list)))
    return tuple(np.broadcast_to(computed[at], shape) for at in graph.results)


def apply(op: str, values: Sequence[Any], types: Sequence[ScalarType], kind: ScalarType) -> Number:
    """Compute one operation on numbers.

    op: the operation.
    values, types: the operands.
    kind: the result's type.
    """
    operands = [np.asarray(value, dtype=type_.value) for value, type_ in zip(values, types, strict=True)]
    with np.errstate(all="ignore"):
        number: Number = _run(Node(op, (), kind), operands).item()
    return number


def _run(node: Node, operands: list[Array]) -> Array:
    if node.op == "constant":
        return np.asarray(node.value, dtype=node.type.value)
    if node.op == "cast":
        return _cast(operands[0], node.type)
    return np.asarray(_EVALUATORS[node.op](*operands)).astype(node.type.value, copy=False)


def _loop(loop: Loop, operands: list[Array]) -> list[Array]:
    """Run a loop for all elements together; elements whose loop has ended keep their values."""
    count = len(loop.carried)
    goes_on, carried, same = operands[0], operands[1 : count + 1], operands[count + 1 :]
    names = [parameter for parameter, _ in loop.body.parameters]
    turn = 0
    while goes_on.any() and turn != loop.most:
        more, *arrays = evaluate(loop.body, dict(zip(names, [*carried, *same], strict=True)))
        carried = [np.where(goes_on, *pair) for pair in zip(arrays, carried, strict=True)]
        goes_on = goes_on & more
        turn += 1
    return carried


def _cast(operand: Array, kind: ScalarType) -> Array:
    """Convert an array to a type; floats become integers by truncation and saturation, NaN 0; complex to real drops a
    part.
    """
    if operand.dtype.kind == "c" and kind.category != COMPLEX:
        operand = operand.real
    if operand.dtype.kind != "f" or kind.category != INTEGER:
        return operand.astype(kind.value)
    low, high = kind.bounds
    whole = np.trunc(np.nan_to_num(operand, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = np.where((whole > low) & (whole < float(high)), whole, 0)
    converted = inside.astype(kind.value)
    converted = np.where(whole >= float(high), np.asarray(high, kind.value), converted)
    return np.where(whole <= float(low), np.asarray(low, kind.value), converted)


def _maximum(first: Array, second: Array) -> Array:
    """Return the larger operand; the first if it is NaN; the second if both are equal (which matters for -0.0
    and 0.0).
    """
    return np.where((first != first) | (first > second), first, second)


def _minimum(first: Array, second: Array) -> Array:
    """Return the smaller operand; the first if it is NaN; the second if both are equal."""
    return np.where((first != first) | (first < second), first, second)


def _multiply(first: Array, second: Array) -> Array:
    """Return the product; complex products are computed without FMA, which NumPy's loops use for some lengths."""
    if first.dtype.kind != "c":
        return np.multiply(first, second)
    real = first.real * second.real - first.imag * second.imag
    product = np.empty(real.shape, first.dtype)
    product.real, product.imag = real, first.real * second.imag + first.imag * second.real
    return product


def _floor_divide(first: Array, second: Array) -> Array:
    """Return the quotient rounded down; integers divided by 0 give 0; floats follow PyTorch's
    ``div_floor_floating``.
    """
    if first.dtype.kind != "f":
        return np.floor_divide(first, second)
    modulus = np.fmod(first, second)
    quotient = (first - modulus) / second
    quotient = np.where((modulus != 0) & ((second < 0) != (modulus < 0)), quotient - 1, quotient)
    floor = np.floor(quotient)
    floor = np.where(quotient - floor > 0.5, floor + 1, floor)
    floor = np.where(quotient != 0, floor, np.copysign(np.zeros_like(first), first / second))
    return np.where(second == 0, first / second, floor)


def _quotient(first: Array, second: Array) -> Array:
    """Return the integer quotient truncated towards zero; the divisor is not 0."""
    floor = np.floor_divide(first, second)
    return np.where((floor * second != first) & ((first < 0) != (second < 0)), floor + 1, floor)


def _remainder(first: Array, second: Array) -> Array:
    """Return the remainder with the divisor's sign; integers divided by 0 give 0; floats follow PyTorch's
    ``remainder``.
    """
    if first.dtype.kind != "f":
        return np.remainder(first, second)
    modulus = np.fmod(first, second)
    return np.where((modulus != 0) & ((second < 0) != (modulus < 0)), modulus + second, modulus)


def _power(base: Array, exponent: Array) -> Array:
    """Return C's ``pow``; of complex numbers by exp and log.

    Integers wrap; a negative exponent gives 1/base truncated (0 for base 0), as PyTorch's ``powi``.
    """
    if base.dtype.kind in "fu":
        return np.power(base, exponent)
    if base.dtype.kind == "c":
        return np.asarray(np.exp(exponent * np.log(base)))
    whole = np.power(base, np.maximum(exponent, 0))
    parity = np.where(exponent % 2 == 0, 1, -1)
    inverse = np.where(base == 1, 1, np.where(base == -1, parity, 0))
    return np.where(exponent < 0, inverse, whole).astype(base.dtype)


def _shift_left(value: Array, amount: Array) -> Array:
    """Shift left; an amount that is negative or not below the width gives 0, as in PyTorch."""
    bits = value.dtype.itemsize * 8
    inside = (amount >= 0) & (amount < bits)
    return np.where(inside, np.left_shift(value, np.where(inside, amount, 0).astype(value.dtype)), 0)


def _shift_right(value: Array, amount: Array) -> Array:
    """Shift right; an amount that is negative or not below the width gives all sign bits, as in PyTorch."""
    bits = value.dtype.itemsize * 8
    inside = (amount >= 0) & (amount < bits)
    shifted = np.right_shift(value, np.where(inside, amount, bits - 1).astype(value.dtype))
    return shifted if value.dtype.kind == "i" else np.where(inside, shifted, 0)


def _complex(real: Array, imaginary: Array) -> Array:
    combined = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), f"c{2 * real.dtype.itemsize}")
    combined.real, combined.imag = real, imaginary
    return combined


def _round_bfloat16(value: Array) -> Array:
    bits = value.view("uint32")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(value), value, rounded.astype("uint32").view("float32"))


def _nearest(narrow: FloatFormat, value: Array) -> Array:
    """Return the nearest numbers of a format of 8 bits, found in the list of all; ties go to those whose bits are
    even.
    """
    numbers = widen(np.arange(narrow.infinite + 1, dtype="uint8"), narrow.name)
    if narrow.has_infinity:
        numbers[-1] = 2.0 * numbers[-2] - numbers[-3]  # numbers from the middle on become infinite
    magnitude = np.abs(value)
    upper = np.clip(np.searchsorted(numbers, magnitude), 1, narrow.infinite)
    middle = (numbers[upper - 1] + numbers[upper]) / 2  # exact in float32
    is_upper = (magnitude > middle) | ((magnitude == middle) & (upper % 2 == 0))
    chosen = widen(np.where(is_upper, upper, upper - 1).astype("uint8"), narrow.name)
    return np.where(np.isnan(value), value, np.copysign(chosen, value))


def _nextafter_bfloat16(value: Array, other: Array) -> Array:
    """Return the next bfloat16 after each value, computed on the bits as integers, which are in the same order."""
    bits = (value.view("uint32") >> 16).astype("int64")
    order = np.where(bits & 0x8000, -(bits & 0x7FFF), bits)
    moved = order + np.sign(other - value).astype("int64")
    moved_bits = np.where(moved < 0, -moved | 0x8000, moved)
    zero = np.where(moved == 0, np.signbit(value).astype("int64") << 15, moved_bits)
    adjacent = (zero << 16).astype("uint32").view("float32")
    return np.where(value == other, other, np.where(np.isnan(value) | np.isnan(other), value + other, adjacent))


def _bits_right_logical(value: Array, amount: Array) -> Array:
    unsigned = np.dtype(f"uint{value.dtype.itemsize * 8}")
    return np.asarray(np.right_shift(value.view(unsigned), amount.view(unsigned)).view(value.dtype))


def _approximate_exp2(value: Array) -> Array:
    power = np.exp2(value)
    return np.where(power < np.finfo(value.dtype).tiny, value.dtype.type(0), power)


def _bits(value: Array) -> Array:
    return np.asarray(value.view(f"int{value.dtype.itemsize * 8}"))


def _from_bits(value: Array) -> Array:
    return value.view(f"float{value.dtype.itemsize * 8}")


def _fma(first: Array, second: Array, third: Array) -> Array:
    if first.dtype.kind != "f":
        return first * second + third
    one = _fused(first.dtype.itemsize)
    flat = np.frompyfunc(one, 3, 1)(first, second, third)
    return np.asarray(flat, dtype=first.dtype)


@cache
def _fused(size: int) -> Callable[..., float]:
    """Return a correctly rounded scalar fma: the C library's, or one by exact fractions if that cannot be called."""
    try:
        return _from_libm("fmaf" if size == 4 else "fma", 3, size == 8)
    except (AttributeError, OSError, TypeError):
        return _exact_fused if size == 8 else lambda *operands: float(np.float32(_exact_fused(*operands)))


def _from_libm(name: str, arity: int, double: bool) -> Callable[..., float]:
    """Return a function of the process's C library that takes and returns Python numbers."""
    ctypes = importlib.import_module("ctypes")  # imported late: slow to import, and seldom needed
    function = ctypes.CDLL(None)[name]
    number = ctypes.c_double if double else ctypes.c_float
    function.restype = number
    function.argtypes = [number] * arity
    return lambda *operands: float(function(*map(float, operands)))


def _exact_fused(first: float, second: float, third: float) -> float:
    if not all(map(np.isfinite, (first, second, third))) or 0 in (first, second):
        return float(first * second + third)
    from fractions import Fraction

    exact = Fraction(float(first)) * Fraction(float(second)) + Fraction(float(third))
    return float(exact) if exact else float(first * second + third)


def _libm(name: str) -> Evaluator:
    """Return a function of the C library, by way of NumPy if it has the function."""
    known = {
        "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
        "atanh": np.arctanh, "atan2": np.arctan2,
    }  # fmt: skip
    function = known.get(name) or getattr(np, name, None)
    if function is not None:
        return lambda *operands: function(*operands)
    return lambda *operands: _call_libm(LIBM[name], operands)


def _call_libm(name: str, operands: tuple[Array, ...]) -> Array:
    double = operands[0].dtype.itemsize == 8
    function = _from_libm(name if double else name + "f", len(operands), double)
    flat = np.frompyfunc(function, len(operands), 1)(*operands)
    return np.asarray(flat, dtype=operands[0].dtype)


_EVALUATORS: Final[dict[str, Evaluator]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": _multiply,
    "divide": np.divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "quotient": _quotient,
    "fmod": np.fmod,
    "fma": _fma,
    "maximum": _maximum,
    "minimum": _minimum,
    "negative": np.negative,
    "absolute": np.abs,
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": np.imag,
    "power": _power,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "invert": np.invert,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "bits_left": np.left_shift,
    "bits_right": np.right_shift,
    "bits_right_logical": _bits_right_logical,
    "approximate_exp2": _approximate_exp2,
    "approximate_divide": np.divide,
    "round_float16": lambda value: value.astype("float16").astype(value.dtype),
    "round_bfloat16": _round_bfloat16,
    "round_float8_e5m2": partial(_nearest, NARROW["float8_e5m2"]),
    "round_float8_e4m3fn": partial(_nearest, NARROW["float8_e4m3fn"]),
    "nextafter_float16": lambda value, other: np.nextafter(value.astype("float16"), other.astype("float16")),
    "nextafter_bfloat16": _nextafter_bfloat16,
    "select": np.where,
    "rare": np.where,
    "complex": _complex,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "sqrt": np.sqrt,
    "copysign": np.copysign,
    "bits": _bits,
    "from_bits": _from_bits,
    **{function_name: _libm(function_name) for function_name in LIBM if function_name != "power"},
}
