"""Operands of loops, and LLVM IR that loads, stores and converts their elements."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu.loops import ACCESS
from opdsl.backends.cpu.storage import MEMORY, PART, REGISTER, Text, convert, load, store

if TYPE_CHECKING:
    from opdsl.scalar.graph import Number


class Operand(NamedTuple):
    """Input or output of a loop, with its stored and its computed type.

    dtype: the dtype in memory (``float32``); empty for a Python number.
    value: the scalar type of the function's parameter or result.
    """

    dtype: str
    value: str

    @property
    def is_number(self) -> bool:
        """Return whether the operand is a Python number, the same for all elements."""
        return not self.dtype


def constant(value: Number, kind: str) -> str:
    """Return a number of a scalar type as an LLVM constant."""
    if kind in PART:
        number, part = complex(value), REGISTER[PART[kind]]
        return f"{{ {part} {constant(number.real, PART[kind])}, {part} {constant(number.imag, PART[kind])} }}"
    assert not isinstance(value, complex)
    if kind in ("float32", "float64"):
        return f"0x{struct.pack('>d', float(value)).hex()}"
    return str(int(value))


def constants(values: Sequence[Number], kinds: Sequence[str]) -> tuple[str, ...]:
    """Return numbers of scalar types as LLVM constants."""
    return tuple(constant(value, kind) for value, kind in zip(values, kinds, strict=True))


def number(text: Text, kind: str, slot: str) -> str:
    """Emit the load of a number from a frame (a double, a pair of doubles, or an i64), converted to a scalar type."""
    if kind in PART:
        return convert(text, load(text, "complex128", slot), "complex128", kind)
    wide = "float64" if kind in ("float32", "float64") else "int64"
    return convert(text, text.value(f"load {REGISTER[wide]}, ptr {slot}"), wide, kind)


def load_operand(text: Text, operand: Operand, address: str, suffix: str) -> str:
    """Emit the load of an element, converted to the type that the function takes."""
    loaded = load(text, operand.dtype, address, suffix)
    return convert(text, loaded, MEMORY[operand.dtype].value, operand.value)


def store_operand(text: Text, operand: Operand, address: str, value: str) -> None:
    """Emit the store of a function's result as an element, converted to its dtype."""
    stored = convert(text, value, operand.value, MEMORY[operand.dtype].value)
    store(text, operand.dtype, address, stored, ACCESS)
