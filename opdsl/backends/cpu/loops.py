"""LLVM text of row kernels: a loop over the innermost dimension around a printed scalar function.

A row kernel is ``void (operands, count, strides)`` with a count of at least 1 (``walk.ll`` calls it). It is printed for
a layout: for each operand whether it is contiguous in a row, a single element, or strided.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, REGISTER, Text, convert, load, store

CONTIGUOUS, SINGLE, STRIDED, NUMBER = "c", "s", "x", "n"

_SLOT_SIZE = 16
ACCESS = ", !llvm.access.group !0"
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

# Elements are independent of each other: an output may be an input, element for element, and nothing else overlaps.
METADATA = '!0 = distinct !{}\n!1 = distinct !{!1, !2}\n!2 = !{!"llvm.loop.parallel_accesses", !0}'


class Operand(NamedTuple):
    """One input or output of a loop.

    dtype: how it is stored (``float32``); empty for a Python number.
    value: the scalar type of the function's parameter or result.
    """

    dtype: str
    value: str

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number, the same for all elements."""
        return not self.dtype


class Signature(NamedTuple):
    """What a pointwise loop is compiled for, beside the function: its operands.

    inputs, outputs: in the order of the function's parameters and results.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    def __str__(self) -> str:
        inputs = " ".join(f"{each.dtype or 'number'}:{each.value}" for each in self.inputs)
        outputs = " ".join(f"{each.dtype}:{each.value}" for each in self.outputs)
        return f"{inputs} -> {outputs}"


def symbol(layout: str) -> str:
    """The name of the row kernel for a layout, a letter for each operand."""
    return f"row_{layout}"


def module_ir(signature: Signature, layouts: Collection[str], function: str, declarations: Collection[str]) -> str:
    """The module with a row kernel for each layout.

    Args:
        layouts: a letter for each operand: ``c`` contiguous, ``s`` single, ``x`` strided, ``n`` number.
        function: LLVM text that defines ``@function`` over the operands' value types.
        declarations: what that text needs declared, one line each.
    """
    rows = [_row(signature, layout) for layout in layouts]
    return "\n".join([function, *sorted({*declarations, *DECLARATIONS}), *rows, ATTRIBUTES, METADATA])


def _row(signature: Signature, layout: str) -> str:
    text = Text()
    text.line(f"define void @{symbol(layout)}(ptr %operands, i64 %count, ptr %strides) #0 {{\nentry:")
    inputs = signature.inputs
    places = [_slot(text, k) for k in range(len(signature.operands))]
    fixed = {k: _fixed(text, each, places[k]) for k, each in enumerate(inputs) if layout[k] in (NUMBER, SINGLE)}
    moving = {k: _address(text, places[k]) for k in range(len(places)) if k not in fixed}
    steps = {k: _stride(text, k) for k in moving if layout[k] == STRIDED}
    text.line("  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    at = {k: _element(text, signature.operands[k], base, steps.get(k)) for k, base in moving.items()}
    loaded = {k: load_operand(text, each, at[k], ACCESS) for k, each in enumerate(inputs) if k in moving}
    values = [(fixed | loaded)[k] for k in range(len(inputs))]
    for o, (output, value) in enumerate(zip(signature.outputs, _call(text, signature, values), strict=True)):
        store_operand(text, output, at[len(inputs) + o], value)
    text.line("  %next = add nuw nsw i64 %i, 1")
    text.line("  %more = icmp ult i64 %next, %count")
    text.line("  br i1 %more, label %loop, label %end, !llvm.loop !1\nend:\n  ret void\n}")
    return str(text)


def _slot(text: Text, k: int) -> str:
    return text.value(f"getelementptr i8, ptr %operands, i64 {_SLOT_SIZE * k}")


def _fixed(text: Text, operand: Operand, slot: str) -> str:
    """A number, or an element that is the same for the whole row."""
    if operand.is_number:
        return number(text, operand.value, slot)
    return load_operand(text, operand, _address(text, slot), "")


def _address(text: Text, slot: str) -> str:
    return text.value(f"load ptr, ptr {slot}")


def _stride(text: Text, k: int) -> str:
    return text.value(f"load i64, ptr {text.value(f'getelementptr i64, ptr %strides, i64 {k}')}")


def number(text: Text, kind: str, slot: str) -> str:
    """A number of a frame, which holds doubles and i64, as a value of a scalar type."""
    wide = "float64" if kind in ("float32", "float64") else "int64"
    return convert(text, text.value(f"load {REGISTER[wide]}, ptr {slot}"), wide, kind)


def _element(text: Text, operand: Operand, base: str, stride: str | None) -> str:
    if stride is None:
        return text.value(f"getelementptr {MEMORY[operand.dtype].llvm}, ptr {base}, i64 %i")
    return text.value(f"getelementptr i8, ptr {base}, i64 {text.value(f'mul i64 %i, {stride}')}")


def load_operand(text: Text, operand: Operand, address: str, suffix: str) -> str:
    """An element as the type in which the function takes it."""
    loaded = load(text, operand.dtype, address, suffix)
    return convert(text, loaded, MEMORY[operand.dtype].value, operand.value)


def store_operand(text: Text, operand: Operand, address: str, value: str) -> None:
    """Store a result of the function as an element."""
    stored = convert(text, value, operand.value, MEMORY[operand.dtype].value)
    store(text, operand.dtype, address, stored, ACCESS)


def _call(text: Text, signature: Signature, values: list[str]) -> list[str]:
    """The function's results; it is called once all operands are read, before anything is written."""
    arguments = ", ".join(f"{REGISTER[each.value]} {v}" for each, v in zip(signature.inputs, values, strict=True))
    types = [REGISTER[output.value] for output in signature.outputs]
    if len(types) == 1:
        return [text.value(f"call {types[0]} @function({arguments})")]
    returned = f"{{ {', '.join(types)} }}"
    result = text.value(f"call {returned} @function({arguments})")
    return [text.value(f"extractvalue {returned} {result}, {o}") for o in range(len(types))]
