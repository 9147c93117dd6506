"""Typing rules of operations: the type of a result, and the types to which operands are converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opdsl.scalar.formats import FORMATS
from opdsl.scalar.graph import Number
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.typed_builder import Literal, Operand, Refused, TypedBuilder, Value
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType, with_category

__all__ = ["RULES", "rounded", "truth"]


def _arithmetic(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if op == "fma" and kind.category != FLOAT:
        return _arithmetic(typer, "add", [_arithmetic(typer, "multiply", [*values[:2]]), values[2]])
    if kind.category == BOOL:
        if op not in _BOOLEAN:
            symbol = OPERATIONS[op].symbol
            raise Refused(f"`{symbol}` of bools does not exist (PyTorch has none)", "Convert with int(...) first.")
        op = _BOOLEAN[op]
    return typer.node(op, values, kind)


_BOOLEAN: Final = {"add": "bitwise_or", "multiply": "bitwise_and", "maximum": "bitwise_or", "minimum": "bitwise_and"}


def _extremum(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add a typed ``max`` or ``min`` node; a literal beyond an integer type's bounds is replaced by the bound."""
    kind = typer.common(operands)
    if kind.category == INTEGER:
        low, high = kind.bounds
        operands = [
            Literal(min(max(int(operand.value.real), low), high)) if isinstance(operand, Literal) else operand
            for operand in operands
        ]
    return _arithmetic(typer, op, operands)


def _absolute(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.node(op, [value], value.type.real)


def _conjugate(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add a typed conjugate; that of a real number is the number itself."""
    value = typer.settle(operands[0])
    return typer.node(op, [value], value.type) if value.type.category == COMPLEX else value


def _floating(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    return typer.node(op, values, kind)


def _trunc_divide(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add a typed truncated quotient; integers never pass through floating point, where they would lose digits.

    A quotient of 16-bit numbers is rounded to 16 bits before it is truncated, as in PyTorch.
    """
    (numerator, divisor), kind = typer.together(operands)
    if kind.category >= FLOAT:
        quotient = rounded(typer, "rounded", [typer.node("divide", [numerator, divisor], kind)])
        return typer.node("trunc", [quotient], kind)
    divisible = _arithmetic(typer, "subtract", [numerator, _arithmetic(typer, "fmod", [numerator, divisor])])
    return _arithmetic(typer, "floor_divide", [divisible, divisor])


def _power(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add a typed power; for some known exponents it becomes the operations that PyTorch computes instead."""
    (base, exponent), kind = typer.together(operands)
    known = typer.builder.constant_value(exponent.position)
    if kind.category == BOOL and known is not None:
        return base if known else typer.cast(Literal(True), kind)
    if kind.category == BOOL:
        raise Refused("`**` of bools does not exist (PyTorch has none)", "Convert with int(...) first.")
    if kind.category == INTEGER and isinstance(known, int) and known >= 0:
        return _repeated(typer, base, known)
    recipe = _POWERS.get(known) if kind.category >= FLOAT and known is not None else None
    return recipe(typer, base) if recipe else typer.node(op, [base, exponent], kind)


def _repeated(typer: TypedBuilder, base: Value, exponent: int) -> Value:
    """Return an integer power as repeated squaring."""
    value: Value | None = None
    while exponent:
        if exponent & 1:
            value = base if value is None else typer.node("multiply", [value, base], base.type)
        exponent >>= 1
        if exponent:
            base = typer.node("multiply", [base, base], base.type)
    return typer.cast(Literal(1), base.type) if value is None else value


def _inverse(typer: TypedBuilder, value: Value) -> Value:
    return typer.node("divide", [typer.cast(Literal(1), value.type), value], value.type)


_POWERS: Final[dict[Number, Callable[[TypedBuilder, Value], Value]]] = {
    0: lambda typer, base: typer.cast(Literal(1), base.type),
    1: lambda typer, base: base,
    2: lambda typer, base: _repeated(typer, base, 2),
    3: lambda typer, base: _repeated(typer, base, 3),
    0.5: lambda typer, base: typer.node("sqrt", [base], base.type),
    -0.5: lambda typer, base: _inverse(typer, typer.node("sqrt", [base], base.type)),
    -1: _inverse,
    -2: lambda typer, base: _inverse(typer, _repeated(typer, base, 2)),
}


def _comparison(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add a typed comparison; if an integer type cannot hold a literal, the result is a constant instead of a wrapped
    comparison.
    """
    kind = typer.common(operands)
    if kind.category == INTEGER:
        low, high = kind.bounds
        for at, operand in enumerate(operands):
            if isinstance(operand, Literal) and not low <= operand.value.real <= high:
                return _decided(typer, op, literal_first=at == 0, literal_is_larger=operand.value.real > high)
    values, _ = typer.together(operands)
    return typer.node(op, values, ScalarType.BOOL)


def _decided(typer: TypedBuilder, op: str, *, literal_first: bool, literal_is_larger: bool) -> Value:
    first_is_larger = literal_first == literal_is_larger
    truth = op == "not_equal" or op.startswith("greater" if first_is_larger else "less")
    return typer.cast(Literal(truth), ScalarType.BOOL)


def _bitwise(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if kind.category > INTEGER:
        raise Refused(f"`{OPERATIONS[op].symbol}` needs integers or bools (got {kind.value})", "Convert with int(...).")
    return typer.node(op, values, kind)


def _shift(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands)
    if kind.category != INTEGER:
        raise Refused(f"`{OPERATIONS[op].symbol}` needs integers (got {kind.value})", "Convert with int(...).")
    return typer.node(op, values, kind)


def _select(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands[1:])
    return typer.node(op, [truth(typer, "truth", operands[:1]), *values], kind)


def truth(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    return typer.cast(typer.settle(operands[0]), ScalarType.BOOL)


def _logical(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add typed ``and`` or ``or``: ``a and b`` is ``b if a else a``, as in Python."""
    first, second = operands
    if typer.common(operands) is ScalarType.BOOL:
        return _bitwise(typer, "bitwise_and" if op == "logical_and" else "bitwise_or", operands)
    return _select(typer, "select", [first, second, first] if op == "logical_and" else [first, first, second])


def _logical_not(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    return typer.node("invert", [truth(typer, op, operands)], ScalarType.BOOL)


def _predicate(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    if value.type.category < FLOAT:
        return typer.cast(Literal(op == "isfinite"), ScalarType.BOOL)
    return typer.node(op, [value], ScalarType.BOOL)


def rounded(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Round a value to the dtype of storage: computations in float32 for a 16-bit dtype are rounded to it,
    others stay.
    """
    value = typer.settle(operands[0])
    if typer.storage is None or value.type is not ScalarType.FLOAT32:
        return value
    return typer.node(f"round_{typer.storage}", [value], value.type)


def _largest(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    kind = typer.settle(operands[0]).type.real
    stored = typer.storage if typer.storage and kind is ScalarType.FLOAT32 else kind.value
    return typer.cast(Literal(kind.bounds[1] if kind.category <= INTEGER else FORMATS[stored].largest), kind)


def _neighbour(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    narrow = typer.storage is not None and kind is ScalarType.FLOAT32
    return typer.node(f"{op}_{typer.storage}" if narrow else op, values, kind)


def _part(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    """Add the real or imaginary part of a value; for a real number these are the number itself and 0."""
    value = typer.settle(operands[0])
    if value.type.category == COMPLEX:
        return typer.node(op, [value], value.type.real)
    return value if op == "real" else typer.cast(Literal(0), value.type)


def _complex(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    if kind.category == COMPLEX:
        raise Refused("`complex` takes real parts", "Take the parts of complex numbers with .real and .imag.")
    return typer.node(op, values, with_category(kind, COMPLEX, kind))


def _to_integer(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    # 64 bits wide, so that later computations do not wrap as narrower integers would.
    return typer.cast(value, value.type if value.type is ScalarType.UINT64 else ScalarType.INT64)


def _to_floating(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.cast(value, value.type if value.type.category == FLOAT else typer.floating.real)


def _to_double(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return typer.cast(value, ScalarType.COMPLEX128 if value.type.category == COMPLEX else ScalarType.FLOAT64)


def _rounding(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    return value if value.type.category < FLOAT else typer.node(op, [value], value.type)


def _row(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    value = typer.settle(operands[0])
    if value.type.category in (BOOL, COMPLEX):
        is_bool = value.type.category == BOOL
        advice = "Convert with int(...) first." if is_bool else "Fold real and imaginary parts: x.real, x.imag."
        raise Refused(f"`{OPERATIONS[op].symbol}` of {value.type.value} does not exist", advice)
    return typer.node(op, [value], value.type)


def _row_mean(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    (value,), _ = typer.together(operands, FLOAT)
    return _row(typer, op, [value])


def _row_count(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    values, kind = typer.together(operands, FLOAT)
    return typer.node(op, values, kind)


def _row_index(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    return typer.node(op, [typer.settle(operands[0])], ScalarType.INT64)


def _lowered(typer: TypedBuilder, op: str, operands: list[Operand]) -> Value:
    raise AssertionError(f"{op} is made by lowering only")


RULES: Final[dict[str, Callable[[TypedBuilder, str, list[Operand]], Value]]] = {
    "arithmetic": _arithmetic,
    "extremum": _extremum,
    "absolute": _absolute,
    "conjugate": _conjugate,
    "floating": _floating,
    "trunc_divide": _trunc_divide,
    "power": _power,
    "comparison": _comparison,
    "bitwise": _bitwise,
    "shift": _shift,
    "select": _select,
    "truth": truth,
    "logical": _logical,
    "logical_not": _logical_not,
    "predicate": _predicate,
    "part": _part,
    "rounded": rounded,
    "largest": _largest,
    "neighbour": _neighbour,
    "complex": _complex,
    "to_integer": _to_integer,
    "to_floating": _to_floating,
    "to_double": _to_double,
    "rounding": _rounding,
    "convert": _lowered,
    "row": _row,
    "row_mean": _row_mean,
    "row_count": _row_count,
    "row_index": _row_index,
    "lowered": _lowered,
}
"""Rules by the names that ``OPERATIONS`` has for them."""
