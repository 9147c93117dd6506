"""LLVM text of loops over places.

A unit of work is a tile of a row of the result: neighbours along one dimension, the lane. Positions that step evenly
along it tell between which lanes all that is read lies inside: these are computed without tests, in vectors, the others
with them. What is folded is in registers where turns are few, and in memory for all lanes of a tile where they are
many; over long windows the innermost loop runs along these instead.

Where values are added at positions, units are the indices that every position passes on: no two units write one place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from opdsl.backends.cpu.indexed_form import KEPT, TILE, IndexedForm
from opdsl.backends.cpu.indexed_lanes import HINTS, SELDOM, Lanes, Row
from opdsl.backends.cpu.indexed_steps import NONE, Step, is_even, steps_of
from opdsl.backends.cpu.indexed_values import added, initial, is_better, multiplied
from opdsl.backends.cpu.loops import ACCESS, METADATA, PARALLEL, Loop
from opdsl.backends.cpu.operands import load_lane, load_operand, store_lane, store_operand
from opdsl.backends.cpu.storage import DECLARATIONS, REGISTER
from opdsl.backends.cpu.vector_text import ATTRIBUTES, When
from opdsl.kernels.calls import IndexedAccess
from opdsl.scalar.indexed import SKIP


def module_ir(form: IndexedForm) -> str:
    """The module of a kernel: ``void indexed(frame, begin, end)``."""
    from opdsl.backends.cpu.printer import declarations, function_ir

    kernel = (_Adding if form.loop.writes else _Folding if form.loop.fold else _Storing)(form)
    text = kernel.print()
    functions = [function_ir(graph, name) for name, graph in kernel.functions.items()]
    declared = {line for graph in kernel.functions.values() for line in declarations(graph)}
    declared |= {*DECLARATIONS, "declare i64 @llvm.smin.i64(i64, i64)", "declare i64 @llvm.smax.i64(i64, i64)"}
    declared |= {"declare i64 @llvm.abs.i64(i64, i1)"}
    return "\n".join([*functions, text, *sorted(declared), ATTRIBUTES, METADATA, HINTS])


class _Storing(Lanes):
    """Nothing is folded."""

    def body(self) -> None:
        """See ``Lanes.body``."""

        if self.stages is None:
            self._row()
        else:
            self.keep()
            self.repeat(self._row)

    def _row(self, repeated: Sequence[str] = ()) -> None:
        def compute() -> None:
            with ExitStack() as stack:
                self.store_results(self.value(self.read_all(stack)))

        self.lanes(compute, repeated=repeated)

    def neighbours(self, dimension: int, begin: str, end: str) -> None:
        """See ``Places.neighbours``. What is kept is computed once where it is the same for all; else for as many
        as there is room for, so that what they read at one place of the repeated dimension is still in the cache.
        """
        text, stages = self.text, self.stages
        if stages is None or (dimension in stages.depends and self._is_side_by_side(self.form.repeated)):
            super().neighbours(dimension, begin, end)
            return

        def rows(begin: str, end: str, body: Callable[[], None]) -> None:
            with Loop(text, self.name("row"), begin, end) as row:
                self.places[dimension] = row.counter
                body()

        if dimension not in stages.depends:
            self.places[dimension] = begin
            self.keep()
            rows(begin, end, lambda: self.repeat(self._row))
            return
        width = text.larger(text.sub(self.end, self.begin), 1)
        with Loop(text, "block", begin, end, text.divide(KEPT, width)) as block:
            last = text.smaller(text.add(block.counter, block.step), end)

            def found() -> str:
                return text.mul(text.sub(self.places[dimension], block.counter), width)

            def row(repeated: Sequence[str]) -> None:
                self.row_kept = found()
                self._row(repeated)

            rows(block.counter, last, lambda: self.keep(found()))
            self.repeat(lambda repeated: rows(block.counter, last, lambda: row(repeated)))

    def _is_side_by_side(self, dimension: int) -> bool:
        """Whether what is read at uneven steps lies side by side along a dimension."""
        steps = steps_of(self.loop, self.graph, dimension - self.form.leading)
        for k, access in enumerate(self.loop.reads):
            side = self.form.dense[access.array] - self.form.leading
            if self.even[k] is None and 0 <= side < access.dims and steps[k][side] == Step(1, None):
                return True
        return False


class _Folding(Lanes):
    """Few turns in registers, for each lane by itself; many, and what may lie outside, in memory for all lanes of a
    tile.
    """

    @property
    def accumulators(self) -> list[str]:
        """Their types."""
        return [*self.loop.folded, *["int64"] * self.loop.with_place]

    def prepare(self) -> None:
        """See ``Lanes.prepare``."""
        self.memory = [self.text.value(f"alloca {REGISTER[kind]}, i64 {TILE}, align 64") for kind in self.accumulators]

    def body(self) -> None:
        """See ``Lanes.body``."""
        text = self.text
        if self.form.inwards:
            self._one_by_one()
            return
        if not self._is_unrolled():
            self._in_memory(lambda: self.lanes(self._fold))
            return
        low, high = self._inside_in_all_turns()
        indices = range(self.dims, self.count)
        turns = [
            dict(zip(indices, map(str, each), strict=True)) for each in itertools.product(*map(range, self.form.turns))
        ]
        kind = self.inside_kind(PARALLEL)
        self.run("inside", low, high, self._in_registers, is_inside=True, kind=kind, turns=turns)
        if self.has_border:
            begin, end = self.begin, self.end
            with Loop(text, self.name("side"), "0", "2") as side:
                is_first = text.is_("eq", side.counter, 0)
                self.begin, self.end = text.choose(is_first, begin, high), text.choose(is_first, low, end)
                self._in_memory(self._border)

    def _is_unrolled(self) -> bool:
        """Whether turns are few, and lie all inside where the first and the last one do."""
        if not self.form.turns:
            return False
        along = [steps_of(self.loop, self.graph, self.loop.at + index) for index in range(self.loop.over)]
        for k, access in enumerate(self.loop.reads):
            if access.margin is None:
                continue
            if self.even[k] is None:
                if access.margin == SKIP:
                    return False
                continue
            indices = range(self.loop.at, self.loop.at + self.loop.over)
            if not all(is_even(self.loop, self.graph, self.limits, k, index) for index in indices):
                return False
            for dim in range(access.dims):
                steps = [each[k][dim] for each in along]
                if len(steps) - steps.count(NONE) > 1:
                    return False
        return True

    def _inside_in_all_turns(self) -> Row:
        """Between which lanes of a tile everything lies inside, whatever the turn."""
        begin, end = self.begin, self.end
        for turn in ([0] * self.loop.over, [each - 1 for each in self.form.turns]):
            self.places[self.dims :] = map(str, turn)
            self.begin, self.end = self.row()
        found = Row(self.begin, self.end)
        self.begin, self.end = begin, end
        return found

    def _one_by_one(self) -> None:
        """A tile: lane after lane, all turns of each."""
        text, loop = self.text, self.loop
        first = [*(initial(loop.fold, kind) for kind in loop.folded), *["-1"] * loop.with_place]
        with Loop(text, self.name("lane"), self.begin, self.end) as lane:
            self.places[self.form.lane] = lane.counter
            found = self._nested(self.dims, first, "0")
            self.places[self.dims :] = ["0"] * loop.over
            self.store_results(found)

    def _nested(self, index: int, before: Sequence[str], turn: str) -> list[str]:
        """What is folded, with all turns of a dimension and those within."""
        text = self.text
        is_last = index == self.count - 1
        low, high = "0", self.sizes[index]
        if is_last:
            tile, lane = (self.begin, self.end), self.along
            self.begin, self.end, self.along = low, high, index
            low, high = self.row()
            self.is_inside = True
            self.anchor()
        with Loop(text, self.name("turn"), low, high) as loop:
            carried = [loop.carry(kind, each) for kind, each in zip(self.accumulators, before, strict=True)]
            self.places[index] = loop.counter
            turn = text.add(text.mul(turn, self.sizes[index]), loop.counter)
            if is_last:
                with ExitStack() as stack:
                    values = self._taken(stack, turn)
                is_first = text.is_("slt", carried[1], 0) if self.loop.with_place else ""
                loop.hand_on(self._joined(carried, values, is_first, is_seldom=True))
            else:
                loop.hand_on(self._nested(index + 1, carried, turn))
        if is_last:
            (self.begin, self.end), self.along = tile, lane
        return loop.results

    def _in_registers(self) -> None:
        """A lane: all turns, one after another."""
        loop = self.loop
        found = [initial(loop.fold, kind) for kind in loop.folded] if loop.fold == "sum" else []
        for turn, place in enumerate(itertools.product(*map(range, self.form.turns))):
            self.places[self.dims :] = map(str, place)
            with ExitStack() as stack:
                values = self._taken(stack, str(turn))
            found = self._joined(found, values) if found else values
        self.places[self.dims :] = ["0"] * loop.over
        self.store_results(found)

    def _taken(self, stack: ExitStack, turn: str) -> list[str]:
        """The values of a turn, and its place."""
        values = self.value(self.read_all(stack))
        return [*values, turn] if len(values) < len(self.accumulators) else values

    def _joined(
        self, before: Sequence[str], values: Sequence[str], is_first: str = "", *, is_seldom: bool = False
    ) -> list[str]:
        """What is folded, with the values of a turn more.

        is_seldom: whether a largest value is another one so seldom that a branch is worth it.
        """
        text, loop = self.text, self.loop
        if loop.fold == "sum":
            return [added(text, kind, *pair) for kind, *pair in zip(loop.values, before, values, strict=True)]
        taken = is_better(text, loop.fold, loop.values[0], values[0], before[0], is_first)
        if is_seldom and loop.with_place:
            return self._branched(taken, before, values)
        return [
            text.value(f"select i1 {taken}, {REGISTER[kind]} {value}, {REGISTER[kind]} {best}")
            for kind, value, best in zip(self.accumulators, values, before, strict=True)
        ]

    def _branched(self, taken: str, before: Sequence[str], values: Sequence[str]) -> list[str]:
        text, here = self.text, self.name("taken")
        text.line(f"  br label %{here}_test\n{here}_test:")
        text.line(f"  br i1 {taken}, label %{here}, label %{here}_end{SELDOM}\n{here}:")
        text.line(f"  br label %{here}_end\n{here}_end:")
        return [
            text.value(f"phi {REGISTER[kind]} [ {value}, %{here} ], [ {best}, %{here}_test ]")
            for kind, value, best in zip(self.accumulators, values, before, strict=True)
        ]

    def _in_memory(self, lanes: Callable[[], None]) -> None:
        """A tile: turn after turn, all lanes of each."""
        text, loop = self.text, self.loop
        first_values = [*(initial(loop.fold, kind) for kind in loop.folded), *["-1"] * loop.with_place]
        count = text.sub(self.end, self.begin)
        with Loop(text, self.name("reset"), "0", count, kind=PARALLEL) as lane:
            for kind, array, first in zip(self.accumulators, self.memory, first_values, strict=True):
                store_lane(text, kind, array, lane.counter, first)
        with ExitStack() as stack:
            turn = "0"
            for index in range(self.dims, self.count):
                over = stack.enter_context(Loop(text, self.name("over"), "0", self.sizes[index]))
                self.places[index] = over.counter
                turn = text.add(text.mul(turn, self.sizes[index]), over.counter)
            self.turn = turn
            lanes()
        with Loop(text, self.name("finish"), self.begin, self.end, kind=PARALLEL) as lane:
            self.places[self.form.lane] = lane.counter
            self.places[self.dims :] = ["0"] * loop.over
            self.store_results(self._kept(lane.counter))

    def _border(self) -> None:
        self.run("border", self.begin, self.end, self._fold, is_inside=False, kind=PARALLEL)

    def _kept(self, lane: str) -> list[str]:
        """What is kept in memory for a lane."""
        here = self.text.sub(lane, self.begin)
        arrays = zip(self.accumulators, self.memory, strict=True)
        return [load_lane(self.text, kind, array, here) for kind, array in arrays]

    def _fold(self) -> None:
        """Take the values of a turn in."""
        text = self.text
        with ExitStack() as stack:
            values = self._taken(stack, self.turn)
            lane = self.places[self.form.lane]
            before = self._kept(lane)
            is_first = text.is_("slt", before[1], 0) if self.loop.with_place else ""
            after = self._joined(before, values, is_first)
            for kind, array, value in zip(self.accumulators, self.memory, after, strict=True):
                store_lane(text, kind, array, text.sub(lane, self.begin), value)


class _Adding(Lanes):
    """Values are added at positions."""

    def body(self) -> None:
        """See ``Lanes.body``."""
        with ExitStack() as stack:
            for index in range(self.count):
                if index not in (*self.form.units, self.form.lane, self.form.repeated):
                    each = stack.enter_context(Loop(self.text, self.name("over"), "0", self.sizes[index]))
                    self.places[index] = each.counter
            if self.stages is None:
                self.lanes(self.add, is_independent=self._is_independent())
                return
            tile = stack.enter_context(Loop(self.text, self.name("tile"), "0", self.lane_size, TILE))
            self.begin = tile.counter
            self.end = self.text.smaller(self.text.add(self.begin, TILE), self.lane_size)
            self.keep()
            if self.stages.factors:
                self._sum()
            else:
                is_independent = self._is_independent()
                self.repeat(lambda each: self.lanes(self.add, is_independent=is_independent, repeated=each))

    def prepare(self) -> None:
        """See ``Lanes.prepare``."""
        if self.stages is not None and self.stages.factors:
            kinds = self.loop.values
            self.memory = [self.text.value(f"alloca {REGISTER[kind]}, i64 {TILE}, align 64") for kind in kinds]

    def _sum(self) -> None:
        """Sum what is added at one place before it is added there."""
        text, stages, writes = self.text, self.stages, len(self.loop.reads)
        assert stages is not None, "sums are kept as well"
        arrays = list(zip(self.loop.values, self.memory, strict=True))
        with Loop(text, self.name("reset"), "0", text.sub(self.end, self.begin), kind=PARALLEL) as lane:
            for kind, array in arrays:
                store_lane(text, kind, array, lane.counter, initial("sum", kind))

        def compute() -> None:
            with ExitStack() as stack:
                values = self.value(self.read_all(stack))
                here = text.sub(self.places[self.form.lane], self.begin)
                for (kind, array), value in zip(arrays, values, strict=True):
                    store_lane(text, kind, array, here, added(text, kind, load_lane(text, kind, array, here), value))

        def write() -> None:
            here = text.sub(self.places[self.form.lane], self.begin)
            for k, ((kind, array), factor) in enumerate(zip(arrays, stages.factors, strict=True)):
                total = load_lane(text, kind, array, here)
                if factor is not None:
                    total = multiplied(text, kind, total, self.kept[factor])
                self._add(writes + k, total, [])

        self.repeat(lambda each: self.lanes(compute, repeated=each))
        self.places[self.form.repeated] = "poison"
        self.run("sums", self.begin, self.end, write, is_inside=False, kind="")

    def _is_independent(self) -> bool:
        """Whether no two lanes write one place."""
        if len(self.loop.writes) > 1:
            return False
        steps = self.even[len(self.loop.reads)]
        led = self.form.lane < self.form.leading and self.loop.writes[0].leads
        is_moving = steps is not None and any(each != NONE and each.factor is None for each in steps)
        return led or (is_moving and self.loop.writes[0].margin in (None, SKIP))

    def add(self) -> None:
        """Add the values of a turn."""
        with ExitStack() as stack:
            read = self.read_all(stack)
            for k, value in enumerate(self.value(read), start=len(self.loop.reads)):
                self._add(k, value, read)

    def _add(self, k: int, value: str, read: Sequence[str]) -> None:
        text, (output,) = self.text, self.form.outputs
        with ExitStack() as stack:
            if self.is_inside and self.even[k] is not None:
                address = self._anchored(k)
            else:
                access = self.loop.writes[k - len(self.loop.reads)]
                address = self.address(k, self._written(k, access, read, stack))
            before = load_operand(text, output, address, ACCESS)
            store_operand(text, output, address, added(text, output.value, before, value))

    def _written(self, k: int, access: IndexedAccess, read: Sequence[str], stack: ExitStack) -> Sequence[str]:
        """Where a value is added that may lie outside."""
        positions, sizes = self.positions(k, read), self.sizes_of(k, read)
        if access.margin == SKIP:
            stack.enter_context(When(self.text, self.name("skip"), self.inside(positions, sizes)))
        elif access.margin is not None:
            return self.repeated(str(access.margin), positions, sizes)
        return positions
