"""LLVM text of row kernels: a loop over the row for each stage of a row function.

Two forms. Along: one row after another, and loops over the elements of the row, which vectorise. Across: as many rows
as there are lanes at once, and loops over the rows, for rows whose neighbours lie closer than their elements.

What a row is folded in depends on its length and the form alone: blocks of elements one after another, and in a block
the lanes of the processor's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu.loops import ACCESS, ATTRIBUTES, CONTIGUOUS, METADATA, Operand, load_operand, store_operand
from opdsl.backends.cpu.nests import PARALLEL, SMALLER, Loop, Operands, call, load_lane, smaller, store_lane
from opdsl.backends.cpu.storage import DECLARATIONS, REGISTER, Text
from opdsl.scalar.rows import RowProgram, Stage
from opdsl.scalar.types import FLOAT, ScalarType

SYMBOL = "row"

# Rows at once, across.
LANES = 64

# Elements of a row that are folded before the fold is added to the others'.
_BLOCK_ALONG = 4096
_BLOCK_ACROSS = 128

# Bytes of the next row that are fetched ahead, and of a line of the cache.
_FETCHED = 8192
_LINE = 64


class RowSignature(NamedTuple):
    """What a row kernel is compiled for, beside the function.

    inputs: arrays, then numbers. outputs: the results.
    layout: a letter for each operand.
    across: which form it has.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    layout: str
    across: bool

    def __str__(self) -> str:
        inputs = " ".join(f"{each.dtype or 'number'}:{each.value}" for each in self.inputs)
        outputs = " ".join(f"{each.dtype}:{each.value}" for each in self.outputs)
        return f"{inputs} -> {outputs} {self.layout} {'across' if self.across else 'along'}"


def module_ir(
    program: RowProgram, signature: RowSignature, functions: Sequence[str], declarations: Sequence[str]
) -> str:
    """The module of a row kernel.

    Args:
        functions: LLVM text of ``@stage0``, ``@stage1`` ..., ``@elements`` and ``@rows``.
        declarations: what they need declared.
    """
    kernel = (_Across if signature.across else _Along)(program, signature)
    text = kernel.print()
    declared = sorted({*declarations, *DECLARATIONS, SMALLER, *kernel.declared})
    return "\n".join([*functions, text, *declared, ATTRIBUTES, METADATA])


class _Kernel:
    """A row kernel under construction.

    arrays: how many of the inputs are arrays.
    of_elements, of_rows: the places of the outputs that there are for each element, and for each row.
    declared: what its own text needs declared.
    """

    def __init__(self, program: RowProgram, signature: RowSignature) -> None:
        self.program, self.signature = program, signature
        self.text = Text()
        self.text.line(f"define void @{SYMBOL}(ptr %operands, i64 %count, ptr %strides) #0 {{\nentry:")
        self.operands = Operands(self.text, [*signature.inputs, *signature.outputs], signature.layout)
        self.arrays = sum(not each.is_number for each in signature.inputs)
        self.of_elements = [o for o, is_element in enumerate(program.is_element) if is_element]
        self.of_rows = [o for o, is_element in enumerate(program.is_element) if not is_element]
        self.declared: set[str] = set()
        self.fold_types = [kind for stage in program.stages for kind in _fold_types(stage)]
        self.kept_types = [kind for stage in program.stages for kind in _kept_types(stage)]

    def print(self) -> str:
        """The whole kernel."""
        self.body()
        self.text.line("  ret void\n}")
        return str(self.text)

    def body(self) -> None:
        """What stands in the kernel."""
        raise NotImplementedError

    def arguments(
        self, elements: Sequence[str], index: str, folds: Sequence[str], kept: Sequence[str]
    ) -> list[tuple[str, str]]:
        """The arguments of a stage."""
        inputs = self.signature.inputs
        numbers = [self.operands.numbers[k] for k in range(self.arrays, len(inputs))]
        values = [*elements, *numbers]
        given = [(each.value, value) for each, value in zip(inputs, values, strict=True)]
        given += [("int64", self.operands.length), ("int64", index)]
        given += zip(self.fold_types, folds, strict=False)
        given += zip(self.kept_types, kept, strict=False)
        return given

    def elements(self, singles: dict[int, str], places: dict[int, str], strides: dict[int, str], i: str) -> list[str]:
        """The values of the arrays for an element of the innermost loop."""
        return [
            singles[k]
            if k in singles
            else load_operand(self.text, each, self.operands.element(k, places, strides, i), ACCESS)
            for k, each in enumerate(self.signature.inputs[: self.arrays])
        ]

    def no_elements(self) -> list[str]:
        """What stands for elements where none is used."""
        return ["poison"] * self.arrays

    def folded(self, op: str, kind: str, first: str, second: str) -> str:
        """Two parts of a fold as one."""
        register, scalar = REGISTER[kind], ScalarType(kind)
        if op == "row_sum":
            instruction = "fadd reassoc" if scalar.category == FLOAT else "add"
            return self.text.value(f"{instruction} {register} {first}, {second}")
        name = op.removeprefix("row_")
        if scalar.category == FLOAT:
            symbol = f"@llvm.{name}imum.f{scalar.bits}"
        else:
            symbol = f"@llvm.{'s' if scalar.is_signed else 'u'}{name}.{register}"
        self.declared.add(f"declare {register} {symbol}({register}, {register})")
        flags = "nsz " if scalar.category == FLOAT else ""
        return self.text.value(f"call {flags}{register} {symbol}({register} {first}, {register} {second})")

    def results(self, name: str, outputs: Sequence[int], given: Sequence[tuple[str, str]]) -> list[str]:
        """The results of some outputs."""
        return call(self.text, name, given, [self.signature.outputs[o].value for o in outputs])

    def store_outputs(self, outputs: Sequence[int], places: Sequence[str], values: Sequence[str]) -> None:
        """Store the results of some outputs."""
        for o, index, value in zip(outputs, places, values, strict=True):
            store_operand(self.text, self.signature.outputs[o], index, value)


class _Along(_Kernel):
    """One row after another."""

    def body(self) -> None:
        """See ``_Kernel.body``."""
        text, operands = self.text, self.operands
        self.arrays_kept = [
            text.value(f"alloca {REGISTER[kind]}, i64 {operands.length}, align 64") for kind in self.kept_types
        ]
        with Loop(text, "r", "0", "%count") as row:
            self.places = operands.moved(operands.bases, operands.kept, row.counter)
            self.same = operands.singles(self.arrays, self.places)
            self.folds: list[str] = []
            self.kept: list[str] = []
            for index, stage in enumerate(self.program.stages):
                self.stage(f"stage{index}", stage)
                if index == 0:
                    self.fetch_next()
            self.finish()

    def fetch_next(self) -> None:
        """Have the beginning of the next row brought from memory while this one, which is near, is computed."""
        text, operands = self.text, self.operands
        if operands.layout[0] != CONTIGUOUS:
            return
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        ahead = text.value(f"getelementptr i8, ptr {self.places[0]}, i64 {operands.kept[0]}")
        size = text.value(f"mul i64 {operands.length}, {operands.along[0]}")
        with Loop(text, "line", "0", smaller(text, size, str(_FETCHED)), _LINE) as line:
            address = text.value(f"getelementptr i8, ptr {ahead}, i64 {line.counter}")
            text.line(f"  call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def values(self, i: str) -> list[tuple[str, str]]:
        """The arguments of a stage for an element."""
        kept = [load_lane(self.text, kind, array, i) for kind, array in zip(self.kept_types, self.kept, strict=False)]
        return self.arguments(self.elements(self.same, self.places, self.operands.along, i), i, self.folds, kept)

    def stage(self, name: str, stage: Stage) -> None:
        """Fold the row."""
        text, types = self.text, _fold_types(stage)
        storing = self.arrays_kept[len(self.kept) : len(self.kept) + stage.kept]
        neutral = [_neutral(op, kind) for op, kind in zip(stage.folds, types, strict=True)]
        with Loop(text, f"{name}_block", "0", self.operands.length, _BLOCK_ALONG) as block:
            totals = [block.carry(kind, first) for kind, first in zip(types, neutral, strict=True)]
            far = text.value(f"add nuw nsw i64 {block.counter}, {_BLOCK_ALONG}")
            end = smaller(text, far, self.operands.length)
            with Loop(text, f"{name}_element", block.counter, end, kind=PARALLEL) as element:
                parts = [element.carry(kind, first) for kind, first in zip(types, neutral, strict=True)]
                results = call(text, name, self.values(element.counter), [*types, *_kept_types(stage)])
                element.hand_on(self.all_folded(stage, parts, results))
                for kind, array, value in zip(_kept_types(stage), storing, results[len(types) :], strict=True):
                    store_lane(text, kind, array, element.counter, value)
            block.hand_on(self.all_folded(stage, totals, element.results))
        self.folds += block.results
        self.kept += storing

    def all_folded(self, stage: Stage, first: Sequence[str], second: Sequence[str]) -> list[str]:
        """Two parts of each fold as one."""
        return [
            self.folded(op, kind, *pair)
            for op, kind, *pair in zip(stage.folds, _fold_types(stage), first, second, strict=False)
        ]

    def finish(self) -> None:
        """Write the results."""
        text, inputs, along = self.text, len(self.signature.inputs), self.operands.along
        if self.of_elements:
            with Loop(text, "element", "0", self.operands.length, kind=PARALLEL) as element:
                i = element.counter
                results = self.results("elements", self.of_elements, self.values(i))
                places = [self.operands.element(inputs + o, self.places, along, i) for o in self.of_elements]
                self.store_outputs(self.of_elements, places, results)
        if self.of_rows:
            given = self.arguments(self.no_elements(), "0", self.folds, ["poison"] * len(self.kept))
            results = self.results("rows", self.of_rows, given)
            self.store_outputs(self.of_rows, [self.places[inputs + o] for o in self.of_rows], results)


class _Across(_Kernel):
    """Several rows at once."""

    def body(self) -> None:
        """See ``_Kernel.body``."""
        text, operands = self.text, self.operands
        self.totals, self.parts = (
            [text.value(f"alloca {REGISTER[kind]}, i64 {LANES}, align 64") for kind in self.fold_types]
            for _ in range(2)
        )
        room = text.value(f"mul i64 {operands.length}, {LANES}")
        self.arrays_kept = [text.value(f"alloca {REGISTER[kind]}, i64 {room}, align 64") for kind in self.kept_types]
        with Loop(text, "t", "0", "%count", LANES) as tile:
            left = text.value(f"sub i64 %count, {tile.counter}")
            self.lanes = smaller(text, left, str(LANES))
            self.places = operands.moved(operands.bases, operands.kept, tile.counter)
            done = kept = 0
            for index, stage in enumerate(self.program.stages):
                self.stage(f"stage{index}", stage, done, kept)
                done, kept = done + len(stage.folds), kept + stage.kept
            self.finish(done, kept)

    def values(self, row: _Row, folds: int, kept: int, w: str) -> list[tuple[str, str]]:
        """The arguments of a stage for an element of a lane."""
        elements = self.elements(row.same, row.places, self.operands.kept, w)
        lane = self.text.value(f"add i64 {row.lane}, {w}")
        values = [
            load_lane(self.text, kind, array, lane)
            for kind, array in zip(self.kept_types[:kept], self.arrays_kept, strict=False)
        ]
        return self.arguments(elements, row.here, self.folds_of(folds, w), values)

    def folds_of(self, folds: int, w: str) -> list[str]:
        """What has been folded for a lane."""
        return [
            load_lane(self.text, kind, array, w)
            for kind, array in zip(self.fold_types[:folds], self.totals, strict=False)
        ]

    def row(self, i: str) -> _Row:
        """The i-th elements of all lanes."""
        places = self.operands.moved(self.places, self.operands.along, i)
        same, lane = self.operands.singles(self.arrays, places), self.text.value(f"mul i64 {i}, {LANES}")
        return _Row(i, places, same, lane)

    def stage(self, name: str, stage: Stage, done: int, kept: int) -> None:
        """Fold the rows of all lanes."""
        text, types = self.text, _fold_types(stage)
        totals, parts = (each[done : done + len(types)] for each in (self.totals, self.parts))
        self.reset(f"{name}_reset", stage, totals)
        with Loop(text, f"{name}_block", "0", self.operands.length, _BLOCK_ACROSS) as block:
            self.reset(f"{name}_begin", stage, parts)
            far = text.value(f"add nuw nsw i64 {block.counter}, {_BLOCK_ACROSS}")
            end = smaller(text, far, self.operands.length)
            with Loop(text, f"{name}_element", block.counter, end) as element:
                row = self.row(element.counter)
                with Loop(text, f"{name}_lane", "0", self.lanes, kind=PARALLEL) as lane:
                    w = lane.counter
                    given = self.values(row, done, kept, w)
                    results = call(text, name, given, [*types, *_kept_types(stage)])
                    self.fold_into(stage, parts, results, w)
                    at = text.value(f"add i64 {row.lane}, {w}")
                    storing = zip(_kept_types(stage), self.arrays_kept[kept:], results[len(types) :], strict=False)
                    for kind, array, value in storing:
                        store_lane(text, kind, array, at, value)
            with Loop(text, f"{name}_total", "0", self.lanes, kind=PARALLEL) as lane:
                w = lane.counter
                part = [load_lane(text, kind, array, w) for kind, array in zip(types, parts, strict=True)]
                self.fold_into(stage, totals, part, w)

    def fold_into(self, stage: Stage, arrays: Sequence[str], values: Sequence[str], w: str) -> None:
        """Fold values into those of a lane."""
        for op, kind, array, value in zip(stage.folds, _fold_types(stage), arrays, values, strict=False):
            before = load_lane(self.text, kind, array, w)
            store_lane(self.text, kind, array, w, self.folded(op, kind, before, value))

    def reset(self, name: str, stage: Stage, arrays: Sequence[str]) -> None:
        """Begin folds anew."""
        with Loop(self.text, name, "0", self.lanes, kind=PARALLEL) as lane:
            for op, kind, array in zip(stage.folds, _fold_types(stage), arrays, strict=True):
                store_lane(self.text, kind, array, lane.counter, _neutral(op, kind))

    def finish(self, folds: int, kept: int) -> None:
        """Write the results."""
        text, inputs, across = self.text, len(self.signature.inputs), self.operands.kept
        if self.of_elements:
            with Loop(text, "element", "0", self.operands.length) as element:
                row = self.row(element.counter)
                with Loop(text, "lane", "0", self.lanes, kind=PARALLEL) as lane:
                    w = lane.counter
                    results = self.results("elements", self.of_elements, self.values(row, folds, kept, w))
                    places = [self.operands.element(inputs + o, row.places, across, w) for o in self.of_elements]
                    self.store_outputs(self.of_elements, places, results)
        if self.of_rows:
            with Loop(text, "last", "0", self.lanes, kind=PARALLEL) as lane:
                w = lane.counter
                given = self.arguments(self.no_elements(), "0", self.folds_of(folds, w), ["poison"] * kept)
                moved = self.operands.moved(self.places, across, w)
                results = self.results("rows", self.of_rows, given)
                self.store_outputs(self.of_rows, [moved[inputs + o] for o in self.of_rows], results)


class _Row(NamedTuple):
    """The elements of all lanes at one position of their rows.

    here: the position. places: where they lie.
    same: the values of the inputs that all lanes share. lane: their first place in what is
    kept.
    """

    here: str
    places: dict[int, str]
    same: dict[int, str]
    lane: str


def _fold_types(stage: Stage) -> list[str]:
    return [str(kind) for kind in stage.graph.result_types[: len(stage.folds)]]


def _kept_types(stage: Stage) -> list[str]:
    return [str(kind) for kind in stage.graph.result_types[len(stage.folds) :]]


def _neutral(op: str, kind: str) -> str:
    """What a fold begins with."""
    scalar = ScalarType(kind)
    if op == "row_sum":
        return "0.0" if scalar.category == FLOAT else "0"
    if scalar.category == FLOAT:
        return "0xFFF0000000000000" if op == "row_max" else "0x7FF0000000000000"
    return str(scalar.bounds[0 if op == "row_max" else 1])
