"""Loops within loops as LLVM text, for kernels that go along a dimension: rows and scans.

Such a kernel is ``void (operands, count, strides)``, which ``walk`` calls for ``count`` kept elements in a row.
Behind the strides of that dimension lie the length of the other one and the operands' strides along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu.builtin import Table
from opdsl.backends.cpu.loops import ACCESS, CONTIGUOUS, NUMBER, SINGLE, STRIDED, Operand, load_operand, number
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.walk import WalkPlan
from opdsl.backends.cpu.storage import MEMORY, PART, REGISTER, Text, load_pair, store_pair

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec, RowCall

PARALLEL = ", !llvm.loop !1"

_SLOT_SIZE = 16

# Fewer kept elements side by side than this are not worth loops across them.
_FEWEST_ACROSS = 8


class Loop:
    """A loop over a range that may be empty; ``with`` it, print the body.

    Args:
        name: of the counter, unique in its function.
        begin, end, step: of the counter.
        kind: what follows the branch back, such as ``PARALLEL``.

    results: after the loop, what ``carry`` carried through it.
    """

    def __init__(self, text: Text, name: str, begin: str, end: str, step: int | str = 1, kind: str = "") -> None:
        self.text, self.name, self.begin, self.end, self.step, self.kind = text, name, begin, end, step, kind
        self.results: list[str] = []
        self._carried: list[tuple[int, str, str]] = []
        self._next: list[str] = []

    def __enter__(self) -> Loop:
        n, line = self.name, self.text.line
        line(f"  br label %{n}_head\n{n}_head:\n  %{n}_any = icmp slt i64 {self.begin}, {self.end}")
        line(f"  br i1 %{n}_any, label %{n}_loop, label %{n}_end\n{n}_loop:")
        line(f"  %{n} = phi i64 [ {self.begin}, %{n}_head ], [ %{n}_next, %{n}_latch ]")
        return self

    @property
    def counter(self) -> str:
        """The counter's value."""
        return f"%{self.name}"

    def carry(self, kind: str, first: str) -> str:
        """A value of a scalar type that each round hands to the next; at the beginning of the body."""
        name = f"%{self.name}_carried{len(self._carried)}"
        self._carried.append((len(self.text.lines), REGISTER[kind], first))
        self.text.line("")
        return name

    def hand_on(self, values: Sequence[str]) -> None:
        """What the next round gets for the values that are carried."""
        self._next = list(values)

    def __exit__(self, *_: object) -> None:
        n, line = self.name, self.text.line
        line(f"  br label %{n}_latch\n{n}_latch:\n  %{n}_next = add nuw nsw i64 {self.counter}, {self.step}")
        line(f"  %{n}_more = icmp slt i64 %{n}_next, {self.end}")
        line(f"  br i1 %{n}_more, label %{n}_loop, label %{n}_end{self.kind}\n{n}_end:")
        for index, ((at, kind, first), value) in enumerate(zip(self._carried, self._next, strict=True)):
            ends = f"phi {kind} [ {first}, %{n}_head ], [ {value}, %{n}_latch ]"
            self.text.lines[at] = f"  %{n}_carried{index} = {ends}"
            self.results.append(f"%{n}_result{index}")
            line(f"  %{n}_result{index} = {ends}")


def call(text: Text, name: str, arguments: Sequence[tuple[str, str]], results: Sequence[str]) -> list[str]:
    """Call a printed function.

    Args:
        arguments: scalar types and values.
        results: scalar types.
    """
    given = ", ".join(f"{REGISTER[kind]} {value}" for kind, value in arguments)
    types = [REGISTER[kind] for kind in results]
    if len(types) == 1:
        return [text.value(f"call {types[0]} @{name}({given})")]
    returned = f"{{ {', '.join(types)} }}"
    together = text.value(f"call {returned} @{name}({given})")
    return [text.value(f"extractvalue {returned} {together}, {k}") for k in range(len(types))]


def load_lane(text: Text, kind: str, array: str, lane: str) -> str:
    """An element of an array of values."""
    address = text.value(f"getelementptr {REGISTER[kind]}, ptr {array}, i64 {lane}")
    return (
        load_pair(text, kind, address, ACCESS)
        if kind in PART
        else text.value(f"load {REGISTER[kind]}, ptr {address}{ACCESS}")
    )


def store_lane(text: Text, kind: str, array: str, lane: str, value: str) -> None:
    """Store an element of an array of values."""
    address = text.value(f"getelementptr {REGISTER[kind]}, ptr {array}, i64 {lane}")
    if kind in PART:
        store_pair(text, kind, address, value, ACCESS)
    else:
        text.line(f"  store {REGISTER[kind]} {value}, ptr {address}{ACCESS}")


class Operands:
    """The operands of a kernel, as it finds them at its beginning.

    Args:
        text: the kernel's, still in its first block.
        operands: inputs, then outputs.
        layout: a letter for each, by how it steps in the innermost loop.

    length: of the dimension that is gone along.
    bases, kept, along: for each operand that is no number its address, its stride from one kept element to the next,
        and its stride along the dimension.
    numbers: the values of the numbers, by place.
    """

    def __init__(self, text: Text, operands: Sequence[Operand], layout: str) -> None:
        self.text, self.operands, self.layout = text, operands, layout
        count = len(operands)
        self.length = self._word(count)
        self.bases: dict[int, str] = {}
        self.kept: dict[int, str] = {}
        self.along: dict[int, str] = {}
        self.numbers: dict[int, str] = {}
        for k, operand in enumerate(operands):
            slot = text.value(f"getelementptr i8, ptr %operands, i64 {_SLOT_SIZE * k}")
            if operand.is_number:
                self.numbers[k] = number(text, operand.value, slot)
                continue
            self.bases[k] = text.value(f"load ptr, ptr {slot}")
            self.kept[k], self.along[k] = self._word(k), self._word(count + 1 + k)

    def _word(self, place: int) -> str:
        return self.text.value(f"load i64, ptr {self.text.value(f'getelementptr i64, ptr %strides, i64 {place}')}")

    def moved(self, places: dict[int, str], strides: dict[int, str], steps: str) -> dict[int, str]:
        """Where the operands lie some steps farther."""
        found = {}
        for k, index in places.items():
            distance = self.text.value(f"mul i64 {strides[k]}, {steps}")
            found[k] = self.text.value(f"getelementptr i8, ptr {index}, i64 {distance}")
        return found

    def singles(self, inputs: int, places: dict[int, str]) -> dict[int, str]:
        """The values of the inputs that are the same in the whole innermost loop."""
        return {
            k: load_operand(self.text, self.operands[k], places[k], "")
            for k in range(inputs)
            if self.layout[k] == SINGLE
        }

    def element(self, k: int, places: dict[int, str], strides: dict[int, str], i: str) -> str:
        """Where element i of the innermost loop lies."""
        if self.layout[k] == CONTIGUOUS:
            memory = MEMORY[self.operands[k].dtype].llvm
            return self.text.value(f"getelementptr {memory}, ptr {places[k]}, i64 {i}")
        return self.text.value(
            f"getelementptr i8, ptr {places[k]}, i64 {self.text.value(f'mul i64 {i}, {strides[k]}')}"
        )


def smaller(text: Text, first: str, second: str) -> str:
    """The smaller of two i64."""
    return text.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {second})")


SMALLER = "declare i64 @llvm.smin.i64(i64, i64)"


def runs_across(call: RowCall) -> bool:
    """Whether loops across kept elements beat loops along the dimension: those that lie closer are stepped through."""
    if not call.kept or call.kept[-1] < _FEWEST_ACROSS or call.length == 1:
        return bool(call.kept) and call.kept[-1] >= _FEWEST_ACROSS
    closer = [
        abs(spec.strides[-2]) < abs(spec.strides[-1])
        for spec in (*call.inputs, *call.outputs)
        if spec.strides is not None and len(spec.strides) > 1 and any(spec.strides)
    ]
    return sum(closer) * 2 > len(closer)


def layout_of(specs: Sequence[OperandSpec], dimension: int) -> str:
    """A letter for each operand, by its stride in a dimension, counted from the last."""
    return "".join(_letter(spec, dimension) for spec in specs)


def _letter(spec: OperandSpec, dimension: int) -> str:
    if spec.strides is None:
        return NUMBER
    stride = spec.strides[dimension] if len(spec.strides) >= -dimension else 0
    return {spec.dtype.itemsize: CONTIGUOUS, 0: SINGLE}.get(stride, STRIDED)


def nest_details(kernel: int, call: RowCall, *more: int) -> list[int | Table]:
    """The words of a plan that the walk reads, and behind its strides those that the kernel reads, ``more`` last."""
    operands = (*call.inputs, *call.outputs)
    sizes = call.kept or (1,)
    strides = [spec.strides or (0,) * (len(call.kept) + 1) for spec in operands]
    steps = [each[d] if call.kept else 0 for d in range(len(sizes)) for each in strides]
    along = [each[-1] for each in strides]
    return words(
        WalkPlan,
        row=kernel,
        operands=len(operands),
        dimensions=len(sizes),
        sizes=Table(sizes),
        strides=Table([*steps, call.length, *along, *more]),
    )


def kept_elements(call: RowCall) -> int:
    """How many kept elements there are."""
    return math.prod(call.kept)
