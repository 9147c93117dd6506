"""Printer of the loop IR's simple statements as LLVM IR, with the values, addresses and loop indices that they use."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import attrs

from opdsl.backends.cpu.loops import ACCESS, SMALLER, Loop, call, smaller
from opdsl.backends.cpu.margin_text import BOUNDS
from opdsl.backends.cpu.operands import Operand, load_operand, number, store_operand
from opdsl.backends.cpu.storage import MEMORY, REGISTER, Text, convert
from opdsl.kernels.loops.model import (
    Argument,
    Bound,
    For,
    Index,
    Inside,
    Length,
    Load,
    Offset,
    Part,
    Parts,
    Program,
    Scalar,
    Size,
    Statement,
    Steps,
    Store,
    Update,
    blocks_of,
    graphs_of,
    locals_of,
)
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import FLOAT, INTEGER, ScalarType

__all__ = ["COUNT", "Place", "StatementText"]

COUNT = -1
"""Index in a table of words that denotes the number of iterations of the outermost loop."""

_SLOT_SIZE = 16

# Bytes of a cache line.
_LINE = 64


class Place(NamedTuple):
    """Operand of a kernel, and a byte offset from its address."""

    operand: int
    offset: int = 0


class StatementText(abc.ABC):
    """Base class of printers of loop IR programs as LLVM kernels; subclasses emit loops.

    operands: the operands of parameters, and of words that are arguments. table: the index in ``strides`` of the other
        words.
    lanes: for each of the neighboring iterations that are computed together, the LLVM value of each name.
    types: the type of each value, by name. depths: the loop depth at which each value is defined.
    near: the names of per-point arrays (``Local``), which are on the stack.
    functions: the name of each graph's function.
    outside: stack slots with the out-of-bounds values of guarded loads, by array and value.
    summands: the terms of indices that are sums. They are added to an address one after another, because LLVM could not
        split a sum that it also needs as a vector of indices.
    """

    def __init__(self, program: Program, symbol: str, operands: Mapping[str, Place], table: Mapping[str, int]) -> None:
        self.program, self.arrays = program, program.arrays
        self.functions = {graph: f"function_{k}" for k, graph in enumerate(graphs_of(program.body))}
        self.declared = {SMALLER}
        self.text = text = Text()
        self.types: dict[str, ScalarType] = {}
        self.depths: dict[str, int] = {}
        self.depth = self.loops = 0
        self.bases: dict[str, str] = {}
        self.summands: dict[str, tuple[str, ...]] = {}
        self.lanes: list[dict[str, str]] = [{}]
        self.outside: dict[tuple[str, object], str] = {}
        self.head(symbol, operands, table)
        self.rooms: list[str] = []
        self.near = {local.array.name for local in locals_of(program.body)}
        for local in locals_of(program.body):
            sizes = [self.size(extent) for extent in local.array.sizes]
            whole = functools.reduce(lambda one, other: text.value(f"mul i64 {one}, {other}"), sizes)
            memory = MEMORY[local.array.dtype.name]
            # Padding by a cache line: stack arrays of equal size would otherwise map to the same cache sets.
            apart = _LINE // memory.itemsize
            whole = str(int(whole) + apart) if whole.isdigit() else text.value(f"add i64 {whole}, {apart}")
            self.bases[local.array.name] = self.room(memory.llvm, whole)
        self.begin = len(text.lines)
        text.line("")

    def head(self, symbol: str, operands: Mapping[str, Place], table: Mapping[str, int]) -> None:
        """Emit the beginning of the kernel, which loads its words and operands."""
        text = self.text
        text.line(f"define void @{symbol}(ptr %operands, i64 %count, ptr %strides) #0 {{\nentry:")
        for word, at in table.items():
            address = f"getelementptr i64, ptr %strides, i64 {at}"
            value = "%count" if at == COUNT else text.value(f"load i64, ptr {text.value(address)}")
            self.give(word, ScalarType.INT64, [value])
        parameters = {parameter.name: parameter for parameter in self.program.parameters}
        for name, place in operands.items():
            slot = text.value(f"getelementptr i8, ptr %operands, i64 {_SLOT_SIZE * place.operand}")
            parameter = parameters.get(name, Scalar(name, ScalarType.INT64))
            if isinstance(parameter, Scalar):
                self.give(parameter.name, parameter.type, [number(text, parameter.type.value, slot)])
            else:
                base = text.value(f"load ptr, ptr {slot}")
                self.bases[name] = self.moved(base, place.offset)

    def moved(self, base: str, offset: int | str) -> str:
        """Emit the addition of a byte offset to an address."""
        return self.text.value(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def room(self, kind: str, size: object) -> str:
        """Reserve stack memory of a thread, and return its address."""
        room = f"%room{len(self.rooms)}"
        self.rooms.append(f"  {room} = alloca {kind}, i64 {size}, align 64")
        return room

    # -------------------------------------------------------------------------------------------------------- values

    def give(self, name: str, kind: ScalarType, values: Sequence[str]) -> None:
        """Record the type of a value and its LLVM value in each lane."""
        self.types[name], self.depths[name] = kind, self.depth
        for lane, value in zip(self.lanes, values, strict=True):
            lane[name] = value

    def known(self, names: Sequence[Argument], lane: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return the types and LLVM values of names in a lane."""
        return [
            (ScalarType.INT64.value, str(name)) if isinstance(name, int) else (self.types[name].value, lane[name])
            for name in names
        ]

    def condition(self, name: str, lane: Mapping[str, str]) -> str:
        """Emit the conversion of a bool (i8) to an i1."""
        return self.text.value(f"icmp ne i8 {lane[name]}, 0")

    def size(self, size: Size) -> str:
        """Emit the computation of a size, and return its LLVM value."""
        text = self.text
        if isinstance(size, Parts):
            whole, turns = self.size(size.size), self.size(size.turns)
            if not size.are_whole:
                whole = text.value(f"add i64 {whole}, {text.value(f'sub i64 {turns}, 1')}")
            return text.value(f"udiv i64 {whole}, {turns}")
        if isinstance(size, Length):
            turns = self.size(size.turns)
            begin = text.value(f"mul i64 {self.size(size.number)}, {turns}")
            return smaller(text, text.value(f"sub i64 {self.size(size.size)}, {begin}"), turns)
        return str(size) if isinstance(size, int) else self.lanes[0][size]

    def index(self, index: Argument, lane: Mapping[str, str]) -> str:
        """Return the LLVM value of an integer argument in a lane."""
        return str(index) if isinstance(index, int) else lane[index]

    def begins(self, part: Part | None) -> list[str]:
        """Emit the computation of the index at which a part of a loop's range begins; return one value for each
        lane.
        """
        if part is None:
            return ["0"] * len(self.lanes)
        turns = self.size(part.turns)
        numbers = [lane[part.number] if isinstance(part.number, str) else self.size(part.number) for lane in self.lanes]
        return [self.text.value(f"mul i64 {number}, {turns}") for number in numbers]

    def turns(self, size: Size, part: Part | None, begin: str) -> str:
        """Emit the computation of the number of iterations in a part of a range, which all lanes share."""
        whole = self.size(size)
        if part is None:
            return whole
        return smaller(self.text, self.text.value(f"sub i64 {whole}, {begin}"), self.size(part.turns))

    def address(self, array: str, index: Sequence[Index], lane: Mapping[str, str]) -> str:
        """Emit the computation of an element's address; terms of outer loops come first, so that LLVM hoists them."""
        strides = self.arrays[array].strides
        base, kind = self.bases[array], MEMORY[self.arrays[array].dtype.name].llvm
        firsts = [size.first if isinstance(size, Steps) else size for size in index]
        for size, stride in sorted(
            zip(firsts, strides, strict=True), key=lambda pair: self.depths.get(str(pair[0]), 0)
        ):
            if size == 0 or stride == 0:
                continue
            step = "i8" if isinstance(stride, str) and array not in self.near else kind
            for place in self.summands.get(self.index(size, lane), (self.index(size, lane),)):
                offset = place if stride == 1 else self.text.value(f"mul i64 {place}, {self.size(stride)}")
                base = self.text.value(f"getelementptr {step}, ptr {base}, i64 {offset}")
        steps = [(size, stride) for size, stride in zip(index, strides, strict=True) if isinstance(size, Steps)]
        return self.stepped_to(base, array, steps, lane) if steps else base

    def stepped_to(self, address: str, array: str, steps: Sequence[tuple[Steps, Size]], lane: Mapping[str, str]) -> str:
        """Emit the addition of an offset to an address, for indices that step evenly along a loop."""
        memory, (turn,) = MEMORY[self.arrays[array].dtype.name], {lane[step.along] for step, _ in steps}
        if all(isinstance(step.by, int) and isinstance(stride, int) for step, stride in steps):
            # No-wrap arithmetic, so that LLVM can load neighbors as vectors.
            places = sum(step.by * stride for step, stride in steps)  # type: ignore[misc,operator]
            moved = turn if places == 1 else self.text.value(f"mul nsw i64 {turn}, {places}")
            return self.text.value(f"getelementptr inbounds [{memory.itemsize} x i8], ptr {address}, i64 {moved}")
        distance = "0"
        for step, stride in steps:
            size = str(stride * memory.itemsize) if isinstance(stride, int) else self.size(stride)
            by = self.text.value(f"mul i64 {size}, {self.index(step.by, lane)}")
            distance = self.text.value(f"add i64 {distance}, {by}")
        return self.text.value(f"getelementptr i8, ptr {address}, i64 {self.text.value(f'mul i64 {turn}, {distance}')}")

    # ---------------------------------------------------------------------------------------------------- statements

    def load(self, load: Load, suffix: str) -> None:
        """Emit the load of an element, unless it was hoisted out of the loop."""
        if load.name in self.lanes[0]:
            return
        operand = Operand(self.arrays[load.array].dtype.name, load.type.value)
        values = [load_operand(self.text, operand, self.read_at(load, lane), suffix) for lane in self.lanes]
        register, is_number = REGISTER[load.type.value], load.type.category in (FLOAT, INTEGER)
        if load.array in self.near and is_number and MEMORY[operand.dtype].llvm == register:
            # Without freeze LLVM would turn a select of the value into a masked store, which is slow to load again.
            values = [self.text.value(f"freeze {register} {value}") for value in values]
        self.give(load.name, load.type, values)

    def read_at(self, load: Load, lane: Mapping[str, str]) -> str:
        """Emit the computation of the address from which an element is loaded."""
        text, place, far = self.text, self.address(load.array, load.index, lane), self.far(load, lane)
        if load.inside is not None:
            # Out of bounds the load reads a stack slot with the outside value: LLVM vectorizes that, unlike a branch.
            inside, outside = self.condition(load.inside, lane), self.outside[load.array, load.outside]
            place = text.value(f"select i1 {inside}, ptr {place}, ptr {outside}")
            far = far and text.value(f"select i1 {inside}, i64 {far}, i64 0")
        return self.moved(place, far)

    def far(self, access: Load | Update, lane: Mapping[str, str]) -> str:
        """Return the additional byte offset of an access as an i64, or "" if it has none."""
        if access.offset is None:
            return ""
        return convert(self.text, lane[access.offset], self.types[access.offset].value, "int64")

    def offset(self, offset: Offset) -> None:
        """Emit the computation of an element's byte offset (an ``Offset`` statement)."""
        array, texts = self.arrays[offset.array], []
        itemsize, register = MEMORY[array.dtype.name].itemsize, REGISTER[offset.type.value]
        for lane in self.lanes:
            far = "0"
            for place, stride in zip(offset.index, array.strides, strict=True):
                if place != 0 and stride != 0:
                    assert isinstance(stride, (int, str)), "a stride is whole"
                    step = self.whole(stride * itemsize if isinstance(stride, int) else stride, offset.type, lane)
                    part = self.text.value(f"mul {register} {self.whole(place, offset.type, lane)}, {step}")
                    far = self.text.value(f"add {register} {far}, {part}")
            if offset.inside is not None:
                inside = self.condition(offset.inside, lane)
                far = self.text.value(f"select i1 {inside}, {register} {far}, {register} 0")
            texts.append(far)
        self.give(offset.name, offset.type, texts)

    def store(self, store: Store) -> None:
        """Emit the store of an element."""
        operand = Operand(self.arrays[store.array].dtype.name, self.types[store.value].value)
        for lane in self.lanes:
            store_operand(self.text, operand, self.address(store.array, store.index, lane), lane[store.value])

    def load_inside(self, load: Load, condition: str) -> None:
        """Emit the load of an element under a condition; the value is zero where it does not hold."""
        text, label = self.text, self.fresh()
        text.line(f"  br label %{label}_test\n{label}_test:")
        text.line(f"  br i1 {condition}, label %{label}_then, label %{label}_end\n{label}_then:")
        self.load(load, ACCESS)
        text.line(f"  br label %{label}_end\n{label}_end:")
        word = self.lanes[0][load.name]
        value = f"phi {REGISTER[load.type.value]} [ {word}, %{label}_then ], [ zeroinitializer, %{label}_test ]"
        self.give(load.name, load.type, [text.value(value)])

    def store_inside(self, store: Store, condition: str) -> None:
        """Emit the store of an element under a condition, as a load, a select and a store without branches."""
        kind = self.types[store.value]
        there = Load(f"{store.array}_there", store.array, store.index, kind)
        self.load(there, ACCESS)
        (lane,) = self.lanes
        register = REGISTER[kind.value]
        chosen = self.text.value(
            f"select i1 {condition}, {register} {lane[store.value]}, {register} {lane[there.name]}"
        )
        self.give(f"{store.array}_chosen", kind, [chosen])
        self.store(attrs.evolve(store, value=f"{store.array}_chosen"))

    def compute(
        self, graph: TypedGraph, arguments: Sequence[Sequence[tuple[str, str]]], names: Sequence[str]
    ) -> list[list[str]]:
        """Emit calls of a graph's function for the arguments of each lane, and return the results of each lane."""
        kinds = [kind.value for kind in graph.result_types]
        texts = [call(self.text, self.functions[graph], texts, kinds) for texts in arguments]
        for k, (name, kind) in enumerate(zip(names, graph.result_types, strict=False)):
            self.give(name, kind, [values[k] for values in texts])
        return texts

    def bound(self, bound: Bound) -> None:
        """Emit the mapping of an index into bounds (a ``Bound`` statement)."""
        if bound.how == "trusted":
            self.indices(bound.name, self.begins(bound.part), [lane[bound.place] for lane in self.lanes])
            return
        size = self.size(bound.size)
        texts = [BOUNDS[bound.how](self.text, lane[bound.place], size) for lane in self.lanes]
        self.give(bound.name, ScalarType.INT64, texts)

    def inside(self, inside: Inside) -> None:
        """Emit the bounds check of an index (an ``Inside`` statement)."""
        texts = []
        for lane in self.lanes:
            pairs = zip(inside.index, inside.sizes, strict=True)
            tests = [self.is_below(place, size, lane) for place, size in pairs]
            holds = functools.reduce(lambda one, other: self.text.value(f"and i1 {one}, {other}"), tests, "true")
            texts.append(self.text.value(f"zext i1 {holds} to i8"))
        self.give(inside.name, ScalarType.BOOL, texts)

    def is_below(self, place: Argument, size: Size, lane: Mapping[str, str]) -> str:
        """Emit the comparison of an index with a size or limit, which is converted to the integer type of the index."""
        kind = self.types.get(str(place), ScalarType.INT64)
        assert isinstance(size, (int, str)), "a dimension is whole"
        limit = self.whole(size, kind, lane)
        return self.text.value(f"icmp ult {REGISTER[kind.value]} {self.whole(place, kind, lane)}, {limit}")

    def whole(self, value: Argument, kind: ScalarType, lane: Mapping[str, str]) -> str:
        """Return an integer as the LLVM value of another integer type, emitting a conversion if it is a name."""
        if isinstance(value, int):
            return str(value)
        return convert(self.text, lane[value], self.types[value].value, kind.value)

    def update(self, update: Update) -> None:
        """Emit an update of an element that no other thread updates, as a load, a call and a store."""
        kind, before = update.there, []
        dtype, (scalar_type,) = self.arrays[update.array].dtype.name, update.graph.result_types
        for lane in self.lanes:
            place = self.moved(self.address(update.array, update.index, lane), self.far(update, lane))
            there = kind.value, load_operand(self.text, Operand(dtype, kind.value), place, ACCESS)
            texts = [there if name is None else self.known([name], lane)[0] for name in update.arguments]
            (value,) = call(self.text, self.functions[update.graph], texts, [scalar_type.value])
            store_operand(self.text, Operand(dtype, scalar_type.value), place, value)
            before.append(there[1])
        if update.name is not None:
            self.give(update.name, kind, before)

    # ---------------------------------------------------------------------------------------------------- iterations

    @abc.abstractmethod
    def block(self, statements: Sequence[Statement]) -> None:
        """Emit statements in order."""

    def fresh(self) -> str:
        """Return a new name for a loop or a branch."""
        self.loops += 1
        return f"loop{self.loops}"

    @contextmanager
    def within(self, body: Sequence[Statement], *own: str | None) -> Iterator[None]:
        """Return a context manager that emits a block with its own scope, after the loads that can be hoisted out
        of it.

        Args:
            body: of the block, which runs at least once.
            own: the names of its indices.
        """
        outer = self.lanes
        self.lanes = [dict(lane) for lane in outer]
        for load in self.same_in_all(body, own):
            self.load(load, "")
        self.depth += 1
        yield
        self.depth -= 1
        self.lanes = outer

    @contextmanager
    def looped(self, loop: Loop, body: Sequence[Statement], *own: str | None) -> Iterator[Loop]:
        """Return a context manager that emits a loop, after the loads that can be hoisted out of it.

        The hoisted loads run only if the loop has an iteration.

        Args:
            loop: the loop.
            body: of the loop.
            own: the names of its indices.
        """
        outer = self.lanes
        self.lanes = [dict(lane) for lane in outer]
        same = self.same_in_all(body, own)

        def ahead() -> None:
            self.depth -= 1
            for load in same:
                self.load(load, "")
            self.depth += 1

        loop.ahead = ahead if same else None
        self.depth += 1
        with loop:
            yield loop
        self.depth -= 1
        self.lanes = outer

    def same_in_all(self, body: Sequence[Statement], own: Sequence[str | None]) -> list[Load]:
        """Return the loads in a loop's body that can be hoisted: they read the same element in all iterations, and no
        iteration writes its array.
        """
        written = _written(body)
        return [
            statement
            for statement in body
            if isinstance(statement, Load) and statement.array not in written and self.is_same(statement, own)
        ]

    def is_same(self, load: Load, own: Sequence[str | None]) -> bool:
        """Return whether a load reads the same element in all iterations of a loop."""
        steps = zip(load.index, self.arrays[load.array].strides, strict=True)
        if load.inside or load.offset or any(isinstance(index, Steps) for index in load.index):
            return False
        moving = [index for index, stride in steps if stride != 0 and isinstance(index, str)]
        return not any(index in own or index not in self.lanes[0] for index in moving)

    @contextmanager
    def turns_of(self, outer: For, begin: str, extent: tuple[str, str], kind: str, count: str = "") -> Iterator[Loop]:
        """Return a context manager that emits a loop over a range of another loop's iterations; ``count`` is that of
        ``Loop``.
        """
        loop = Loop(self.text, self.fresh(), *extent, kind=kind)
        loop.count = count
        with self.looped(loop, outer.body, outer.index, outer.place):
            turn = self.turn(loop, extent[1], is_reverse=outer.is_reverse)
            self.located(outer, begin, [turn])
            yield loop

    def turn(self, loop: Loop, turns: str, *, is_reverse: bool) -> str:
        """Emit the computation of the current iteration's number, counted from the end if the loop is reversed."""
        if not is_reverse:
            return loop.counter
        return self.text.value(f"sub i64 {self.text.value(f'sub i64 {turns}, 1')}, {loop.counter}")

    def located(self, loop: For, begin: str, turns: Sequence[str]) -> None:
        """Emit the index of an iteration, and its index within its part, and record them in each lane."""
        self.indices(loop.index, [begin] * len(turns), turns)
        if loop.place is not None:
            self.give(loop.place, ScalarType.INT64, turns)

    @contextmanager
    def called(self, graph: TypedGraph, name: str) -> Iterator[None]:
        """Return a context manager in which a graph is computed by another function."""
        before = self.functions[graph]
        self.functions[graph] = name
        yield
        self.functions[graph] = before

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Return a context manager that emits statements under a condition."""
        label = self.fresh()
        self.text.line(f"  br i1 {condition}, label %{label}_then, label %{label}_end\n{label}_then:")
        yield
        self.text.line(f"  br label %{label}_end\n{label}_end:")

    def indices(self, index: str, begins: Sequence[str], turns: Sequence[str]) -> None:
        """Emit the index of an iteration, which is counted from the beginning of a part, and record it in each lane."""
        pairs = zip(begins, turns, strict=True)
        values = []
        for begin, turn in pairs:
            values.append(turn if begin == "0" else self.text.value(f"add i64 {begin}, {turn}"))
            if begin != "0":
                self.summands[values[-1]] = begin, *self.summands.get(turn, (turn,))
        self.give(index, ScalarType.INT64, values)


def _written(body: Sequence[Statement]) -> set[str]:
    """Return the names of arrays that statements write, also those nested in others."""
    arrays = {statement.array for statement in body if isinstance(statement, (Store, Update))}
    return arrays.union(*(_written(block) for statement in body for block in blocks_of(statement)))
