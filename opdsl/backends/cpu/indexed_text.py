"""LLVM text of loops over places.

A unit of work is a tile of a row of the result: neighbours along one dimension, the lane. Positions that step evenly
along it tell between which lanes all that is read lies inside: these are computed without tests, in vectors, the others
with them. What is folded is in memory for all lanes of a tile, so that the innermost loop runs along the lane.

Where values are added at positions, units are the indices that every position passes on: no two units write one place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.indexed_stages import Stages, staged
from opdsl.backends.cpu.indexed_steps import NONE, Step, clipped, is_even, specialised, steps_of
from opdsl.backends.cpu.loops import ACCESS, METADATA, Operand, load_operand, number, store_operand
from opdsl.backends.cpu.nests import PARALLEL, Loop, call, load_lane, store_lane
from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, REGISTER
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, When
from opdsl.kernels.calls import IndexedAccess, IndexedLoop
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.indexed import SKIP
from opdsl.scalar.types import COMPLEX, FLOAT, ScalarType

SYMBOL = "indexed"

TILE = 256
"""Lanes of a tile."""

_SLOTS, _SLOT_SIZE = 16, 16

# !4 forbids vectors, see ``loops.METADATA``.
_ONE_BY_ONE = ", !llvm.loop !6"
_SELDOM = ", !prof !7"
_HINTS = """!6 = distinct !{!6, !4}
!7 = !{!"branch_weights", i32 1, i32 1000}"""


class IndexedForm(NamedTuple):
    """What a kernel is compiled for.

    loop: what is computed.
    leading: dimensions of the result before those that have indices.
    arrays, outputs: how operands are stored.
    own: how many dimensions of its own each array has.
    dense: for each array and output the dimension along which elements lie side by side; -1 for none.
    lane: the dimension of the result along which the innermost loop runs.
    units: those that are counted through from outside.
    turns: the ranges of what is folded, where they are so few that a kernel has the code of each; else ().
    steps: whole numbers that lanes are multiplied with, as places among the parameters and values, which are few.
    inwards: whether the innermost loop runs along what is folded last instead of along the lane.
    repeated: the dimension that something is kept for while it is gone through, see ``Stages``; -1 for none.
    """

    loop: IndexedLoop
    leading: int
    arrays: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    own: tuple[int, ...]
    dense: tuple[int, ...]
    lane: int
    units: tuple[int, ...]
    turns: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    inwards: bool
    repeated: int

    def __str__(self) -> str:
        loop = self.loop
        finish = "" if loop.finish is None else loop.finish.fingerprint
        rest = (loop.at, loop.over, loop.words, loop.numbers, loop.reads, loop.writes, loop.fold, loop.with_place)
        return f"indexed {loop.graph.fingerprint} {finish} {rest} {tuple(self)[1:]}"


def module_ir(form: IndexedForm) -> str:
    """The module of a kernel: ``void indexed(frame, begin, end)``."""
    from opdsl.backends.cpu.printer import declarations, function_ir

    kernel = (_Adding if form.loop.writes else _Folding if form.loop.fold else _Storing)(form)
    text = kernel.print()
    functions = [function_ir(graph, name) for name, graph in kernel.functions.items()]
    declared = {line for graph in kernel.functions.values() for line in declarations(graph)}
    declared |= {*DECLARATIONS, "declare i64 @llvm.smin.i64(i64, i64)", "declare i64 @llvm.smax.i64(i64, i64)"}
    declared |= {"declare i64 @llvm.abs.i64(i64, i1)"}
    return "\n".join([*functions, text, *sorted(declared), ATTRIBUTES, METADATA, _HINTS])


def own_units(loop: IndexedLoop, leading: int, lane: int) -> tuple[int, ...]:
    """The dimensions that every write passes on, so that different ones write different places."""
    found = [d for d in range(leading) if all(each.leads for each in loop.writes)]
    for index in range(loop.at):
        places = [[d for d in range(each.dims) if loop.graph.results[each.first + d] == index] for each in loop.writes]
        if all(places) and len({each[0] for each in places}) == 1:
            found.append(leading + index)
    return tuple(each for each in found if each != lane)


class _Row(NamedTuple):
    """What is the same for all lanes of a tile, in one turn.

    low, high: the lanes between which everything lies inside.
    """

    low: str
    high: str


class _Kernel:
    """A kernel under construction.

    functions: the graphs that it calls, by name.
    places: the index of each dimension of the result, and of what is folded; the lane's is set in its loop.
    along: which of them the innermost loop runs along.
    limits: what positions stay below, see ``Clipped``.
    """

    def __init__(self, form: IndexedForm) -> None:
        self.form, self.loop = form, form.loop
        self.graph, self.limits = clipped(self.loop, specialised(self.loop.graph, form.steps))
        self.functions: dict[str, TypedGraph] = {}
        self.stem = ""
        self.stages = self._staged()
        self.kept = self._nothing_kept
        self.kinds = [str(kind) for _, kind in self.graph.parameters]
        self.text = Function(Machine("float32", 1, ()), f"void @{SYMBOL}(ptr %frame, i64 %begin, i64 %end)")
        self.dims = form.leading + self.loop.at
        self.count = self.dims + self.loop.over
        self.places: list[str] = [""] * self.count
        self._names = 0
        self.along = form.lane
        self._even: dict[int, list[list[Step] | None]] = {}
        self._anchors: dict[tuple[object, ...], tuple[str, str | int]] = {}
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            self._part(f"place{k}_", self.graph.results[access.first : access.first + access.dims])
            self._part(f"limit{k}_", [node for _, node in self._limits_of(access)])
        self.values = self.graph.results[sum(each.dims for each in (*self.loop.reads, *self.loop.writes)) :]
        self._part("value_", self.values)
        if self.loop.finish is not None:
            self.functions["finish"] = self.loop.finish

    def _staged(self) -> Stages | None:
        """The two parts of the graph, the second of which becomes that of the kernel; None where it has one."""
        if self.form.repeated < 0:
            return None
        found = staged(self.loop, self.graph, self.form.leading, self.form.lane, self.form.repeated)
        assert found is not None, "the form says so"
        self.graph = found.early
        for k in found.read_early:
            access = self.loop.reads[k]
            self._part(f"early_place{k}_", self.graph.results[access.first : access.first + access.dims])
        self._part("kept_", found.kept)
        self.graph = found.late
        return found

    @property
    def _nothing_kept(self) -> list[str]:
        return [] if self.stages is None else ["poison"] * len(self.stages.kinds)

    def _part(self, name: str, results: Sequence[int]) -> None:
        """A function of some results of the graph."""
        if results:
            builder = GraphBuilder()
            positions = builder.inline(self.graph)
            self.functions[name] = builder.finish(name, [positions[at] for at in results])

    def _limits_of(self, access: IndexedAccess) -> list[tuple[int, int]]:
        """The dimensions along which an access has limits of its own, and these."""
        return [(d, self.limits[access.first + d]) for d in range(access.dims) if access.first + d in self.limits]

    # ------------------------------------------------------------------------------------------------- what there is

    def print(self) -> str:
        """The whole kernel."""
        text, form = self.text, self.form
        plan = text.value("load ptr, ptr %frame")
        self._next = builtin.HEADER
        self.sizes = [self._word(plan) for _ in range(self.count)]
        self.words = [self._word(plan) for _ in range(self.loop.words)]
        self.strides: list[list[str]] = []
        self.own: list[list[str]] = []
        for own in form.own:
            self.strides.append([self._word(plan) for _ in range(form.leading + own)])
            self.own.append([self._word(plan) for _ in range(own)])
        written = self.loop.writes[0].dims if self.loop.writes else self.loop.at
        for _ in form.outputs:
            self.strides.append([self._word(plan) for _ in range(form.leading + written)])
            self.own.append([self._word(plan) for _ in range(written)] if self.loop.writes else [])
        self._constant_strides()
        count = len(form.arrays)
        self.bases = [self._slot(k) for k in range(count)]
        self.numbers = [number(text, kind, self._slot_place(count + k)) for k, kind in enumerate(self._number_kinds())]
        self.bases += [self._slot(count + len(self.numbers) + k) for k in range(len(form.outputs))]
        self.outside = {k: self._outside(each) for k, each in enumerate(self.loop.reads)}
        if self.stages is not None:
            self.early = [text.value(f"alloca {REGISTER[kind]}, i64 {TILE}, align 64") for kind in self.stages.kinds]
        self.prepare()
        with Loop(text, "unit", "%begin", "%end") as unit:
            self.located(unit.counter)
            self.body()
        return text.end()

    def _outside(self, access: IndexedAccess) -> str:
        """Where what lies outside of a tensor is in memory; nowhere where it is no number."""
        if access.margin is None or isinstance(access.margin, str):
            return ""
        operand = self.form.arrays[access.array]
        address = self.text.value(f"alloca [{_SLOT_SIZE} x i8], align {_SLOT_SIZE}")
        store_operand(self.text, operand, address, _constant(access.margin, operand.value))
        return address

    def _word(self, plan: str) -> str:
        self._next += 1
        return self.text.word(plan, self._next - 1)

    def _constant_strides(self) -> None:
        """Strides that are known, so that loads and stores are of neighbours."""
        operands = (*self.form.arrays, *self.form.outputs)
        for operand, strides, dense in zip(operands, self.strides, self.form.dense, strict=True):
            if dense >= 0:
                strides[dense] = str(MEMORY[operand.dtype].itemsize)

    def _number_kinds(self) -> list[str]:
        first = self.loop.at + self.loop.over + self.loop.words
        return self.kinds[first : first + self.loop.numbers]

    def _slot_place(self, k: int) -> str:
        return self.text.value(f"getelementptr i8, ptr %frame, i64 {_SLOTS + _SLOT_SIZE * k}")

    def _slot(self, k: int) -> str:
        return self.text.value(f"load ptr, ptr {self._slot_place(k)}")

    def name(self, stem: str) -> str:
        """A name that no block has yet."""
        self._names += 1
        return f"{stem}{self._names}"

    @property
    def lane_size(self) -> str:
        """How many lanes there are."""
        return self.sizes[self.form.lane]

    def prepare(self) -> None:
        """What stands before all units."""

    def located(self, unit: str) -> None:
        """The indices of a unit."""
        text, rest = self.text, unit
        self.begin, self.end = "0", self.lane_size
        if not self.loop.writes:
            tiles = text.ceiling(self.lane_size, TILE)
            self.begin = text.mul(text.remainder(rest, tiles), TILE)
            self.end = text.smaller(text.add(self.begin, TILE), self.lane_size)
            rest = text.divide(rest, tiles)
        for position, each in enumerate(reversed(self.form.units)):
            is_last = position == len(self.form.units) - 1
            self.places[each] = rest if is_last else text.remainder(rest, self.sizes[each])
            if not is_last:
                rest = text.divide(rest, self.sizes[each])

    def body(self) -> None:
        """What is done in a unit."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------------- places

    @property
    def first_parameters(self) -> list[str]:
        """The indices and numbers, as arguments of all functions."""
        indices = self.places[self.form.leading :]
        return [*indices, *self.words, *self.numbers, *self.kept]

    def arguments(self, read: Sequence[str]) -> list[tuple[str, str]]:
        """The arguments of a function; what has not been read yet is of no account."""
        given = [*self.first_parameters, *read]
        given += ["poison"] * (len(self.kinds) - len(given))
        return list(zip(self.kinds, given, strict=True))

    def positions(self, k: int, read: Sequence[str]) -> list[str]:
        """Where an element lies along the dimensions that are its own."""
        access = (*self.loop.reads, *self.loop.writes)[k]
        if not access.dims:
            return []
        return call(self.text, f"{self.stem}place{k}_", self.arguments(read), ["int64"] * access.dims)

    def operand_of(self, k: int) -> int:
        """Which operand an access is of."""
        reads = len(self.loop.reads)
        return self.loop.reads[k].array if k < reads else len(self.form.arrays)

    def led(self, operand: int, leads: bool) -> str:
        """The address of an operand at the leading dimensions."""
        address = self.bases[operand]
        for d in range(self.form.leading if leads else 0):
            address = self.moved(address, self.places[d], self.strides[operand][d])
        return address

    def moved(self, address: str, steps: str, stride: str) -> str:
        """An address some steps farther."""
        return self.text.value(f"getelementptr i8, ptr {address}, i64 {self.text.mul(steps, stride)}")

    def address(self, k: int, positions: Sequence[str]) -> str:
        """Where an element lies."""
        operand = self.operand_of(k)
        access = (*self.loop.reads, *self.loop.writes)[k]
        address = self.led(operand, access.leads)
        for position, stride in zip(positions, self.strides[operand][self.form.leading :], strict=True):
            address = self.moved(address, position, stride)
        return address

    @property
    def even(self) -> list[list[Step] | None]:
        """For each access how far its positions step in the innermost loop; None where they do not step evenly."""
        if self.along not in self._even:
            index = self.along - self.form.leading
            self._even[self.along] = [
                [each for each in steps if each is not None]
                if is_even(self.loop, self.graph, self.limits, k, index)
                else None
                for k, steps in enumerate(steps_of(self.loop, self.graph, index))
            ]
        return self._even[self.along]

    def sizes_of(self, k: int, read: Sequence[str] = ()) -> list[str]:
        """What positions of an access stay below."""
        sizes = list(self.own[self.operand_of(k)])
        limits = self._limits_of((*self.loop.reads, *self.loop.writes)[k])
        if limits:
            found = call(self.text, f"limit{k}_", self.arguments(read), ["int64"] * len(limits))
            for (dim, _), limit in zip(limits, found, strict=True):
                sizes[dim] = self.text.larger(self.text.smaller(sizes[dim], limit), 0)
        return sizes

    def row(self) -> _Row:
        """Between which lanes of a tile everything that steps evenly lies inside."""
        text = self.text
        low, high = self.begin, self.end
        lane = self.places[self.along]
        self.places[self.along] = "0"
        is_inside = ""
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            steps = self.even[k]
            if access.margin is None or steps is None:
                continue
            positions = self.positions(k, [])
            for position, step, size in zip(positions, steps, self.sizes_of(k), strict=True):
                if step == NONE:
                    tested = text.is_("ult", position, size)
                    is_inside = text.value(f"and i1 {is_inside}, {tested}") if is_inside else tested
                    continue
                size_of_step: int | str = abs(step.places)
                if step.factor is not None:
                    factor = self.arguments([])[step.factor][1]
                    is_forward = text.is_("sgt", factor, 0)
                    is_inside = text.value(f"and i1 {is_inside}, {is_forward}") if is_inside else is_forward
                    size_of_step = text.mul(text.larger(factor, 1), abs(step.places))
                # position + step * lane >= 0, and < size
                before = text.sub(0, position) if step.places > 0 else text.sub(position, text.sub(size, 1))
                behind = text.sub(size, position) if step.places > 0 else text.add(position, 1)
                low = text.larger(low, self._quotient_up(before, size_of_step))
                high = text.smaller(high, self._quotient_up(behind, size_of_step))
        self.places[self.along] = lane
        if low is self.begin and high is self.end and not is_inside:
            return _Row(low, high)
        low = text.smaller(low, self.end)
        high = text.larger(high, low)
        if is_inside:
            low, high = text.choose(is_inside, low, self.end), text.choose(is_inside, high, self.end)
        return _Row(low, high)

    def _quotient_up(self, value: str, divisor: int | str) -> str:
        """``ceil(value / divisor)``, no less than 0."""
        kept = self.text.larger(value, 0)
        return kept if divisor == 1 else self.text.ceiling(kept, divisor)

    # --------------------------------------------------------------------------------------------------------- lanes

    def lanes(self, compute: Callable[[], None], *, is_independent: bool = True) -> None:
        """Compute all lanes of a tile: those inside without tests, the others with them."""
        text = self.text
        low, high = self.row()
        kind = PARALLEL if is_independent else ""
        if self.has_border:
            with Loop(text, self.name("side"), "0", "2") as side:
                is_first = text.is_("eq", side.counter, 0)
                begin = text.choose(is_first, self.begin, high)
                end = text.choose(is_first, low, self.end)
                self.run("border", begin, end, compute, is_inside=False, kind="")
        self.run("inside", low, high, compute, is_inside=True, kind=self.inside_kind(kind))

    @property
    def has_border(self) -> bool:
        """Whether there may be lanes of which something lies outside, which are told by where they are."""
        accesses = enumerate((*self.loop.reads, *self.loop.writes))
        return any(each.margin is not None and self.even[k] is not None for k, each in accesses)

    def inside_kind(self, kind: str) -> str:
        """How the loop over lanes inside is compiled: where elements lie apart by a step that is not known, or at
        places that are kept, vectors are slower to load than elements one by one, unless these are tested as well.
        """
        steps = [each for access in self.even for each in access or ()]
        written = [each for access in self.even[len(self.loop.reads) :] for each in access or ()]
        is_apart = any(each.factor is not None for each in steps) or any(abs(each.places) > 1 for each in written)
        is_untested = self.stages is not None and all(each.margin is None for each in self.loop.reads)
        return _ONE_BY_ONE if is_apart or is_untested else kind

    def run(
        self,
        stem: str,
        begin: str,
        end: str,
        compute: Callable[[], None],
        *,
        is_inside: bool,
        kind: str,
        turns: Sequence[Sequence[str]] = (),
    ) -> None:
        """Compute some lanes.

        turns: the places of what is folded that are computed for each lane; none for those at hand.
        """
        self.is_inside = is_inside
        for turn in turns or [self.places[self.dims :]] if is_inside else ():
            self.places[self.dims :] = turn
            self.anchor()
        with Loop(self.text, self.name(stem), begin, end, kind=kind) as lane:
            self.places[self.form.lane] = lane.counter
            self._take_kept()
            compute()
        self.kept = self._nothing_kept

    def _take_kept(self) -> None:
        if self.stages is not None:
            here = self.text.sub(self.places[self.form.lane], self.begin)
            self.kept = [load_lane(self.text, *each, here) for each in zip(self.stages.kinds, self.early, strict=True)]

    def repeat(self, compute: Callable[[], None]) -> None:
        """Compute a tile for all places of the dimension that something is kept for."""
        text, stages = self.text, self.stages
        assert stages is not None, "there is such a dimension"
        self.stem, self.places[self.form.repeated] = "early_", "poison"
        with Loop(text, self.name("keep"), self.begin, self.end, kind=PARALLEL) as lane:
            self.places[self.form.lane] = lane.counter
            read: list[str] = []
            for k, access in enumerate(self.loop.reads):
                if k not in stages.read_early:
                    read.append("poison")
                    continue
                positions = self.positions(k, read)
                is_tested = access.margin is not None
                read.append(self._tested(k, positions, read, ExitStack()) if is_tested else self._load(k, positions))
            values = call(text, "kept_", self.arguments(read), stages.kinds)
            here = text.sub(lane.counter, self.begin)
            for kind, array, value in zip(stages.kinds, self.early, values, strict=True):
                store_lane(text, kind, array, here, value)
        self.stem = ""
        with Loop(text, self.name("repeated"), "0", self.sizes[self.form.repeated]) as loop:
            self.places[self.form.repeated] = loop.counter
            compute()

    def anchor(self) -> None:
        """Find where what steps evenly in the innermost loop begins, and how far it steps: in bytes, or elements where
        these are a number.
        """
        text, there = self.text, self.places[self.along]
        self.places[self.along] = "0"
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            steps, operand = self.even[k], self.operand_of(k)
            if steps is None:
                continue
            strides = self.strides[operand]
            own = strides[self.form.leading :]
            moved = [(stride, self.places_of(step)) for stride, step in zip(own, steps, strict=True) if step != NONE]
            if self.along < self.form.leading and access.leads:
                moved.append((strides[self.along], 1))
            distance = text.add("0", *(text.mul(stride, steps) for stride, steps in moved))
            size = MEMORY[(*self.form.arrays, *self.form.outputs)[operand].dtype].itemsize
            step = int(distance) // size if distance.lstrip("-").isdigit() and int(distance) % size == 0 else distance
            self._anchors[k, *self.places] = self.address(k, self.positions(k, [])), step
        self.places[self.along] = there

    def places_of(self, step: Step) -> str | int:
        """How many places a step is."""
        if step.factor is None:
            return step.places
        return self.text.mul(step.places, self.arguments([])[step.factor][1])

    def _anchored(self, k: int) -> str:
        """Where an access that steps evenly is."""
        lane = self.places[self.along]
        key = (k, *self.places[: self.along], "0", *self.places[self.along + 1 :])
        address, step = self._anchors[key]
        if isinstance(step, str):
            return self.moved(address, lane, step)
        # Steps that do not wrap, so that neighbours are loaded as vectors.
        size = MEMORY[(*self.form.arrays, *self.form.outputs)[self.operand_of(k)].dtype].itemsize
        moved = lane if step == 1 else self.text.value(f"mul nsw i64 {lane}, {step}") if step else "0"
        return self.text.value(f"getelementptr inbounds [{size} x i8], ptr {address}, i64 {moved}")

    def read_all(self, stack: ExitStack) -> list[str]:
        """Everything that is read, one after another; what is left out leaves the rest of a turn."""
        read: list[str] = []
        for k, access in enumerate(self.loop.reads):
            operand = self.form.arrays[access.array]
            if self.stages is not None and k not in self.stages.read_late:
                read.append("poison")
                continue
            if self.is_inside and self.even[k] is not None:
                read.append(load_operand(self.text, operand, self._anchored(k), ACCESS))
                continue
            positions = self.positions(k, read)
            is_tested = access.margin is not None
            read.append(self._tested(k, positions, read, stack) if is_tested else self._load(k, positions))
        return read

    def _load(self, k: int, positions: Sequence[str]) -> str:
        operand = self.form.arrays[self.loop.reads[k].array]
        return load_operand(self.text, operand, self.address(k, positions), ACCESS)

    def _tested(self, k: int, positions: Sequence[str], read: Sequence[str], stack: ExitStack) -> str:
        """What is read at a place that may lie outside."""
        text, sizes, access = self.text, self.sizes_of(k, read), self.loop.reads[k]
        if isinstance(access.margin, str) and access.margin != SKIP:
            return self._load(k, self.repeated(access.margin, positions, sizes))
        inside = self.inside(positions, sizes)
        if access.margin == SKIP:
            stack.enter_context(When(text, self.name("skip"), inside))
            return self._load(k, positions)
        # A place in memory that holds what lies outside: loads from where it is chosen make vectors, branches do not.
        address = self.text.value(f"select i1 {inside}, ptr {self.address(k, positions)}, ptr {self.outside[k]}")
        return load_operand(text, self.form.arrays[access.array], address, ACCESS)

    def inside(self, positions: Sequence[str], sizes: Sequence[str]) -> str:
        """Whether all positions lie inside."""
        tests = [self.text.is_("ult", *pair) for pair in zip(positions, sizes, strict=True)]
        found = tests[0] if tests else "true"
        for each in tests[1:]:
            found = self.text.value(f"and i1 {found}, {each}")
        return found

    def repeated(self, margin: str, positions: Sequence[str], sizes: Sequence[str]) -> list[str]:
        """The places inside that those outside repeat."""
        return [_REPEATED[margin](self.text, *pair) for pair in zip(positions, sizes, strict=True)]

    def value(self, read: Sequence[str]) -> list[str]:
        """The values of a turn."""
        return call(self.text, "value_", self.arguments(read), list(self.loop.values))

    def store_results(self, values: Sequence[str]) -> None:
        """Store the results of a place, after what finishes them."""
        loop, outputs = self.loop, self.form.outputs
        more = values[len(loop.folded) :]
        if loop.finish is not None:
            kinds = [str(kind) for _, kind in loop.finish.parameters]
            at = self.places[self.form.leading : self.dims]
            given = [*values[: len(loop.folded)], *at, *self.words, *self.numbers]
            types = [str(kind) for kind in loop.finish.result_types]
            values = [*call(self.text, "finish", list(zip(kinds, given, strict=True)), types), *more]
        first = len(self.form.arrays)
        for k, (output, value) in enumerate(zip(outputs, values, strict=True)):
            address = self.bases[first + k]
            for d in range(self.dims):
                address = self.moved(address, self.places[d], self.strides[first + k][d])
            store_operand(self.text, output, address, value)


class _Storing(_Kernel):
    """Nothing is folded."""

    def body(self) -> None:
        """See ``_Kernel.body``."""

        def compute() -> None:
            with ExitStack() as stack:
                self.store_results(self.value(self.read_all(stack)))

        if self.stages is None:
            self.lanes(compute)
        else:
            self.repeat(lambda: self.lanes(compute))


class _Folding(_Kernel):
    """Few turns in registers, for each lane by itself; many, and what may lie outside, in memory for all lanes of a
    tile.
    """

    @property
    def accumulators(self) -> list[str]:
        """Their types."""
        return [*self.loop.folded, *["int64"] * self.loop.with_place]

    def prepare(self) -> None:
        """See ``_Kernel.prepare``."""
        self.memory = [self.text.value(f"alloca {REGISTER[kind]}, i64 {TILE}, align 64") for kind in self.accumulators]

    def body(self) -> None:
        """See ``_Kernel.body``."""
        text = self.text
        if self.form.inwards:
            self._one_by_one()
            return
        if not self._is_unrolled():
            self._in_memory(lambda: self.lanes(self._fold))
            return
        low, high = self._inside_in_all_turns()
        turns = [[*map(str, each)] for each in itertools.product(*map(range, self.form.turns))]
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

    def _inside_in_all_turns(self) -> _Row:
        """Between which lanes of a tile everything lies inside, whatever the turn."""
        begin, end = self.begin, self.end
        for turn in ([0] * self.loop.over, [each - 1 for each in self.form.turns]):
            self.places[self.dims :] = map(str, turn)
            self.begin, self.end = self.row()
        found = _Row(self.begin, self.end)
        self.begin, self.end = begin, end
        return found

    def _one_by_one(self) -> None:
        """A tile: lane after lane, all turns of each."""
        text, loop = self.text, self.loop
        first = [*(_initial(loop.fold, kind) for kind in loop.folded), *["-1"] * loop.with_place]
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
        found = [_initial(loop.fold, kind) for kind in loop.folded] if loop.fold == "sum" else []
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
            return [_added(text, kind, *pair) for kind, *pair in zip(loop.values, before, values, strict=True)]
        taken = _is_better(text, loop.fold, loop.values[0], values[0], before[0], is_first)
        if is_seldom and loop.with_place:
            return self._branched(taken, before, values)
        return [
            text.value(f"select i1 {taken}, {REGISTER[kind]} {value}, {REGISTER[kind]} {best}")
            for kind, value, best in zip(self.accumulators, values, before, strict=True)
        ]

    def _branched(self, taken: str, before: Sequence[str], values: Sequence[str]) -> list[str]:
        text, here = self.text, self.name("taken")
        text.line(f"  br label %{here}_test\n{here}_test:")
        text.line(f"  br i1 {taken}, label %{here}, label %{here}_end{_SELDOM}\n{here}:")
        text.line(f"  br label %{here}_end\n{here}_end:")
        return [
            text.value(f"phi {REGISTER[kind]} [ {value}, %{here} ], [ {best}, %{here}_test ]")
            for kind, value, best in zip(self.accumulators, values, before, strict=True)
        ]

    def _in_memory(self, lanes: Callable[[], None]) -> None:
        """A tile: turn after turn, all lanes of each."""
        text, loop = self.text, self.loop
        initial = [_initial(loop.fold, kind) for kind in loop.folded]
        initial += ["-1"] * loop.with_place
        count = text.sub(self.end, self.begin)
        with Loop(text, self.name("reset"), "0", count, kind=PARALLEL) as lane:
            for kind, array, first in zip(self.accumulators, self.memory, initial, strict=True):
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


class _Adding(_Kernel):
    """Values are added at positions."""

    def body(self) -> None:
        """See ``_Kernel.body``."""
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
            self.repeat(lambda: self.lanes(self.add, is_independent=self._is_independent()))

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
        text, (output,) = self.text, self.form.outputs
        with ExitStack() as stack:
            read = self.read_all(stack)
            values = self.value(read)
            for k, (access, value) in enumerate(zip(self.loop.writes, values, strict=True), start=len(self.loop.reads)):
                with ExitStack() as inner:
                    if self.is_inside and self.even[k] is not None:
                        address = self._anchored(k)
                    else:
                        address = self.address(k, self._written(k, access, read, inner))
                    before = load_operand(text, output, address, ACCESS)
                    store_operand(text, output, address, _added(text, output.value, before, value))

    def _written(self, k: int, access: IndexedAccess, read: Sequence[str], stack: ExitStack) -> Sequence[str]:
        """Where a value is added that may lie outside."""
        positions, sizes = self.positions(k, read), self.sizes_of(k, read)
        if access.margin == SKIP:
            stack.enter_context(When(self.text, self.name("skip"), self.inside(positions, sizes)))
        elif access.margin is not None:
            return self.repeated(str(access.margin), positions, sizes)
        return positions


# ---------------------------------------------------------------------------------------------------- what is computed


def _constant(value: object, kind: str) -> str:
    """A number as a constant of LLVM."""
    from opdsl.backends.cpu.folds import constants
    from opdsl.kernels.definitions.monoid import initial

    assert isinstance(value, (bool, int, float, complex)), "margins are numbers"
    (found,) = constants((initial(value, kind),), (kind,))
    return found


def _initial(fold: str, kind: str) -> str:
    return _constant({"sum": 0, "max": -float("inf"), "min": float("inf")}[fold], kind)


def _added(text: Function, kind: str, first: str, second: str) -> str:
    scalar = ScalarType(kind)
    if scalar.category == COMPLEX:
        from opdsl.backends.cpu.storage import PART, pair, parts

        sums = [
            text.value(f"fadd {REGISTER[PART[kind]]} {a}, {b}")
            for a, b in zip(parts(text, kind, first), parts(text, kind, second), strict=True)
        ]
        return pair(text, kind, sums)
    if kind == "bool":
        return text.value(f"or i8 {first}, {second}")
    instruction = "fadd reassoc" if scalar.category == FLOAT else "add"
    return text.value(f"{instruction} {REGISTER[kind]} {first}, {second}")


def _is_better(text: Function, fold: str, kind: str, value: str, best: str, first: str) -> str:
    """Whether a value takes the place of the best so far: it is beyond it, is NaN, or comes first."""
    scalar, register = ScalarType(kind), REGISTER[kind]
    if scalar.category == FLOAT:
        # "unordered or greater" holds for every NaN; one that has been found gives way to later ones only.
        relation = "ogt" if fold == "max" else "olt"
        beyond = text.value(f"fcmp {relation} {register} {value}, {best}")
        is_nan = text.value(f"fcmp uno {register} {value}, {value}")
        found = text.value(f"or i1 {beyond}, {is_nan}")
    else:
        sign = "s" if scalar.is_signed else "u"
        found = text.value(f"icmp {sign}{'gt' if fold == 'max' else 'lt'} {register} {value}, {best}")
    return text.value(f"or i1 {found}, {first}") if first else found


def _replicated(text: Function, position: str, size: str) -> str:
    return text.smaller(text.larger(position, 0), text.sub(size, 1))


def _reflected(text: Function, position: str, size: str) -> str:
    """Mirrored at the first and at the last element, as often as it takes."""
    last = text.sub(size, 1)
    period = text.larger(text.mul(last, 2), 1)
    found = text.remainder(text.value(f"call i64 @llvm.abs.i64(i64 {position}, i1 false)"), period)
    return text.choose(text.is_("sgt", found, last), text.sub(period, found), found)


def _wrapped(text: Function, position: str, size: str) -> str:
    found = text.value(f"srem i64 {position}, {size}")
    return text.choose(text.is_("slt", found, 0), text.add(found, size), found)


_REPEATED: dict[str, Callable[[Function, str, str], str]] = {
    "replicate": _replicated,
    "reflect": _reflected,
    "circular": _wrapped,
}
