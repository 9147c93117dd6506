"""Printers of type conversions as LLVM IR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from opdsl.scalar.types import FLOAT, INTEGER, ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import Node

__all__ = ["bitcast", "cast"]

_LOW, _HIGH = ScalarType.INT32.bounds


class Printer(Protocol):
    """Interface of a printer of scalar graphs, for one element or for a vector of elements at once."""

    declared: set[str]

    def type(self, kind: ScalarType) -> str:
        """Return the LLVM type of a value, a vector type if the printer works on vectors."""
        ...

    def mangled(self, kind: ScalarType) -> str:
        """Return the spelling of a value's type in the name of an intrinsic."""
        ...

    def constant(self, kind: str, text: str) -> str:
        """Return a constant of a type, repeated for each element of a vector."""
        ...

    def line(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""
        ...


def bitcast(printer: Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """Emit a reinterpretation of the bits of a value as another type."""
    return printer.line(f"bitcast {printer.type(kind)} {arguments[0]} to {printer.type(node.type)}")


def cast(printer: Printer, node: Node, kind: ScalarType, arguments: list[str]) -> str:
    """Emit a conversion by value; floats saturate to the range of an integer type, and NaN becomes 0."""
    source, target = printer.type(kind), printer.type(node.type)
    if kind.category == FLOAT and node.type is ScalarType.INT32:
        return _clamped(printer, kind, arguments[0])
    if kind.category == FLOAT and node.type.category == INTEGER:
        sign = "s" if node.type.is_signed else "u"
        symbol = f"@llvm.fpto{sign}i.sat.{printer.mangled(node.type)}.{printer.mangled(kind)}"
        printer.declared.add(f"declare {target} {symbol}({source})")
        return printer.line(f"call {target} {symbol}({source} {arguments[0]})")
    if kind.category == FLOAT:
        instruction = "fpext" if node.type.bits > kind.bits else "fptrunc"
    elif node.type.category == FLOAT:
        instruction = "sitofp" if kind.is_signed else "uitofp"
    elif node.type.bits == kind.bits:
        return arguments[0]
    else:
        instruction = "trunc" if node.type.bits < kind.bits else "sext" if kind.is_signed else "zext"
    return printer.line(f"{instruction} {source} {arguments[0]} to {target}")


def _clamped(printer: Printer, kind: ScalarType, value: str) -> str:
    """Emit a saturating conversion of a float to int32 by vectorizable instructions; LLVM's intrinsic would be expanded
    per element.
    """
    source, target, boolean = (printer.type(scalar_type) for scalar_type in (kind, ScalarType.INT32, ScalarType.BOOL))
    register, below = ("double", _HIGH) if kind is ScalarType.FLOAT64 else ("float", _HIGH - 127)
    least, most, beyond = (printer.constant(register, f"{number}.0") for number in (_LOW, below, _HIGH + 1))

    def chosen(condition: str, one: str, other: str) -> str:
        return printer.line(f"select {boolean} {printer.line(f'fcmp {condition}')}, {one}, {other}")

    kept = chosen(f"ogt {source} {value}, {least}", f"{source} {value}", f"{source} {least}")
    kept = chosen(f"olt {source} {kept}, {most}", f"{source} {kept}", f"{source} {most}")
    line = printer.line(f"fptosi {source} {kept} to {target}")
    last, zero = (f"{target} {printer.constant('i32', str(number))}" for number in (_HIGH, 0))
    line = chosen(f"oge {source} {value}, {beyond}", last, f"{target} {line}")
    return chosen(f"ord {source} {value}, {value}", f"{target} {line}", zero)
