"""LLVM text of loops over places.

A unit of work is a tile of a row of the result: neighbours along one dimension, the lane. Positions that step evenly
along it tell between which lanes all that is read lies inside: these are computed without tests, in vectors, the others
with them. What is folded is in memory for all lanes of a tile, so that the innermost loop runs along the lane.

Where values are added at positions, units are the indices that every position passes on: no two units write one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import NamedTuple

from opdsl.backends.cpu import builtin
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

# Numbers that lanes are multiplied with for which there are loops of their own.
_STEPS = (1,)

# !4 forbids vectors, see ``loops.METADATA``.
_ONE_BY_ONE = ", !llvm.loop !6"
_HINTS = "!6 = distinct !{!6, !4}"


class IndexedForm(NamedTuple):
    """What a kernel is compiled for.

    loop: what is computed.
    leading: dimensions of the result before those that have indices.
    arrays, outputs: how operands are stored.
    own: how many dimensions of its own each array has.
    dense: for each array and output the dimension along which elements lie side by side; -1 for none.
    lane: the dimension of the result along which the innermost loop runs.
    units: those that are counted through from outside.
    """

    loop: IndexedLoop
    leading: int
    arrays: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    own: tuple[int, ...]
    dense: tuple[int, ...]
    lane: int
    units: tuple[int, ...]

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
    """

    def __init__(self, form: IndexedForm) -> None:
        self.form, self.loop = form, form.loop
        self.graph = self.loop.graph
        self.functions: dict[str, TypedGraph] = {}
        self.kinds = [str(kind) for _, kind in self.graph.parameters]
        self.text = Function(Machine("float32", 1, ()), f"void @{SYMBOL}(ptr %frame, i64 %begin, i64 %end)")
        self.dims = form.leading + self.loop.at
        self.count = self.dims + self.loop.over
        self.places: list[str] = [""] * self.count
        self._names = 0
        self.steps = self._factors()
        self.step: int | str = ""
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            self._part(f"place{k}_", self.graph.results[access.first : access.first + access.dims])
        self.values = self.graph.results[sum(each.dims for each in (*self.loop.reads, *self.loop.writes)) :]
        self._part("value_", self.values)
        if self.loop.finish is not None:
            self.functions["finish"] = self.loop.finish

    def _part(self, name: str, results: Sequence[int]) -> None:
        """A function of some results of the graph, and those for steps that there are loops of their own for."""
        for step in (None, *(_STEPS if self.steps else ())) if results else ():
            builder = GraphBuilder()
            given = [builder.parameter(str(text), kind) for text, kind in self.graph.parameters]
            if step is not None:
                for at in self.steps:
                    given[at] = builder.constant(step, ScalarType.INT64)
            positions = builder.inline(self.graph, given)
            self.functions[f"{name}{step or ''}"] = builder.finish(name, [positions[at] for at in results])

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
        return [*indices, *self.words, *self.numbers]

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
        return call(self.text, f"place{k}_{self.step}", self.arguments(read), ["int64"] * access.dims)

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

    def _factors(self) -> list[int]:
        """The whole numbers that lanes are multiplied with in positions, as places among the parameters."""
        found = {each.factor for steps in self.even if steps is not None for each in steps if each.factor is not None}
        return sorted(found)

    @cached_property
    def even(self) -> list[list[_Step] | None]:
        """For each access how far its positions step from lane to lane; None where they do not step evenly, or where
        it depends on what is read before.
        """
        found: list[list[_Step] | None] = []
        lane = self.form.lane - self.form.leading
        for access in (*self.loop.reads, *self.loop.writes):
            results = self.graph.results[access.first : access.first + access.dims]
            known: dict[int, _Step | None] = {}
            steps = [_steps(self.graph, at, lane, len(self.kinds) - len(self.loop.reads), known) for at in results]
            even = [each for each in steps if each is not None]
            found.append(even if len(even) == len(steps) else None)
        return found

    def is_tested(self, k: int) -> bool:
        """Whether each lane has to be tested by itself, between the lanes where others lie inside."""
        access = (*self.loop.reads, *self.loop.writes)[k]
        return access.margin is not None and self.even[k] is None

    def row(self) -> _Row:
        """Between which lanes of a tile everything that steps evenly lies inside."""
        text = self.text
        low, high = self.begin, self.end
        lane = self.places[self.form.lane]
        self.places[self.form.lane] = "0"
        is_inside = ""
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            steps = self.even[k]
            if access.margin is None or steps is None:
                continue
            positions = self.positions(k, [])
            for position, step, size in zip(positions, steps, self.own[self._sized(k)], strict=True):
                if step == _NONE:
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
        self.places[self.form.lane] = lane
        if low is self.begin and high is self.end and not is_inside:
            return _Row(low, high)
        low = text.smaller(low, self.end)
        high = text.larger(high, low)
        if is_inside:
            low, high = text.choose(is_inside, low, self.end), text.choose(is_inside, high, self.end)
        return _Row(low, high)

    def _sized(self, k: int) -> int:
        return self.operand_of(k)

    def _quotient_up(self, value: str, divisor: int | str) -> str:
        """``ceil(value / divisor)``, no less than 0."""
        kept = self.text.larger(value, 0)
        return kept if divisor == 1 else self.text.ceiling(kept, divisor)

    # --------------------------------------------------------------------------------------------------------- lanes

    def lanes(self, compute: Callable[[], None], *, is_independent: bool = True) -> None:
        """Compute all lanes of a tile: those inside without tests, the others with them."""
        text = self.text
        row = self.row()
        has_border = any(
            each.margin is not None and self.even[k] is not None
            for k, each in enumerate((*self.loop.reads, *self.loop.writes))
        )
        if has_border:
            with Loop(text, self.name("side"), "0", "2") as side:
                is_first = text.is_("eq", side.counter, 0)
                begin = text.choose(is_first, self.begin, row.high)
                end = text.choose(is_first, row.low, self.end)
                self._run("border", begin, end, compute, is_inside=False, kind="")
        kind = PARALLEL if is_independent else ""
        low, high = row
        for step in _STEPS if self.steps else ():
            # Loops of their own for steps that are known, whose loads are of neighbours.
            fits = [text.is_("eq", self.arguments([])[each][1], step) for each in self.steps]
            is_step = fits[0]
            for each in fits[1:]:
                is_step = text.value(f"and i1 {is_step}, {each}")
            self.step = step
            self._run("inside", text.choose(is_step, low, high), high, compute, is_inside=True, kind=kind)
            low = text.choose(is_step, high, low)
        self.step = ""
        # Vectors of elements that lie apart are slower to load than these are one by one.
        self._run("inside", low, high, compute, is_inside=True, kind=_ONE_BY_ONE if self.steps else kind)

    def _run(self, stem: str, begin: str, end: str, compute: Callable[[], None], *, is_inside: bool, kind: str) -> None:
        self.is_inside = is_inside
        with Loop(self.text, self.name(stem), begin, end, kind=kind) as lane:
            self.places[self.form.lane] = lane.counter
            compute()

    def read_all(self, stack: ExitStack) -> list[str]:
        """Everything that is read, one after another; what is left out leaves the rest of a turn."""
        read: list[str] = []
        for k, access in enumerate(self.loop.reads):
            positions = self.positions(k, read)
            needs_test = access.margin is not None and (not self.is_inside or self.is_tested(k))
            read.append(self._tested(k, access, positions, stack) if needs_test else self._load(k, positions))
        return read

    def _load(self, k: int, positions: Sequence[str]) -> str:
        operand = self.form.arrays[self.loop.reads[k].array]
        return load_operand(self.text, operand, self.address(k, positions), ACCESS)

    def _tested(self, k: int, access: IndexedAccess, positions: Sequence[str], stack: ExitStack) -> str:
        """What is read at a place that may lie outside."""
        text, sizes = self.text, self.own[self.operand_of(k)]
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
        return call(self.text, f"value_{self.step}", self.arguments(read), list(self.loop.values))

    def store_results(self, values: Sequence[str]) -> None:
        """Store the results of a place, after what finishes them."""
        loop, outputs = self.loop, self.form.outputs
        more = values[len(loop.values) :]
        if loop.finish is not None:
            kinds = [str(kind) for _, kind in loop.finish.parameters]
            at = self.places[self.form.leading : self.dims]
            given = [*values[: len(loop.values)], *at, *self.words, *self.numbers]
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

        self.lanes(compute)


class _Folding(_Kernel):
    """Accumulators of all lanes of a tile in memory."""

    @property
    def accumulators(self) -> list[str]:
        """Their types."""
        return [*self.loop.values, *["int64"] * self.loop.with_place]

    def prepare(self) -> None:
        """See ``_Kernel.prepare``."""
        self.memory = [self.text.value(f"alloca {REGISTER[kind]}, i64 {TILE}, align 64") for kind in self.accumulators]

    def body(self) -> None:
        """See ``_Kernel.body``."""
        text, loop = self.text, self.loop
        initial = [_initial(loop.fold, kind) for kind in loop.values]
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
            self.lanes(self.fold)
        with Loop(text, self.name("finish"), self.begin, self.end, kind=PARALLEL) as lane:
            self.places[self.form.lane] = lane.counter
            for index in range(self.dims, self.count):
                self.places[index] = "0"
            here = text.sub(lane.counter, self.begin)
            found = [
                load_lane(text, kind, array, here) for kind, array in zip(self.accumulators, self.memory, strict=True)
            ]
            self.store_results(found)

    def fold(self) -> None:
        """Take the values of a turn in."""
        text, loop = self.text, self.loop
        with ExitStack() as stack:
            values = self.value(self.read_all(stack))
            here = text.sub(self.places[self.form.lane], self.begin)
            before = [
                load_lane(text, kind, array, here) for kind, array in zip(self.accumulators, self.memory, strict=True)
            ]
            if loop.fold == "sum":
                after = [_added(text, kind, *pair) for kind, *pair in zip(loop.values, before, values, strict=True)]
            else:
                (kind,) = loop.values
                first = text.is_("slt", before[1], 0) if loop.with_place else ""
                taken = _is_better(text, loop.fold, kind, values[0], before[0], first)
                after = [text.value(f"select i1 {taken}, {REGISTER[kind]} {values[0]}, {REGISTER[kind]} {before[0]}")]
                if loop.with_place:
                    after.append(text.choose(taken, self.turn, before[1]))
            for kind, array, value in zip(self.accumulators, self.memory, after, strict=True):
                store_lane(text, kind, array, here, value)


class _Adding(_Kernel):
    """Values are added at positions."""

    def body(self) -> None:
        """See ``_Kernel.body``."""
        with ExitStack() as stack:
            for index in range(self.count):
                if index not in self.form.units and index != self.form.lane:
                    each = stack.enter_context(Loop(self.text, self.name("over"), "0", self.sizes[index]))
                    self.places[index] = each.counter
            self.lanes(self.add, is_independent=self._is_independent())

    def _is_independent(self) -> bool:
        """Whether no two lanes write one place."""
        if len(self.loop.writes) > 1:
            return False
        steps = self.even[len(self.loop.reads)]
        led = self.form.lane < self.form.leading and self.loop.writes[0].leads
        is_moving = steps is not None and any(each != _NONE and each.factor is None for each in steps)
        return led or (is_moving and self.loop.writes[0].margin in (None, SKIP))

    def add(self) -> None:
        """Add the values of a turn."""
        text, (output,) = self.text, self.form.outputs
        target = len(self.form.arrays)
        with ExitStack() as stack:
            read = self.read_all(stack)
            values = self.value(read)
            for k, (access, value) in enumerate(zip(self.loop.writes, values, strict=True), start=len(self.loop.reads)):
                with ExitStack() as inner:
                    positions = self.positions(k, read)
                    if access.margin is not None and (not self.is_inside or self.is_tested(k)):
                        if access.margin == SKIP:
                            inside = self.inside(positions, self.own[target])
                            inner.enter_context(When(text, self.name("skip"), inside))
                        else:
                            positions = self.repeated(str(access.margin), positions, self.own[target])
                    address = self.address(k, positions)
                    before = load_operand(text, output, address, ACCESS)
                    store_operand(text, output, address, _added(text, output.value, before, value))


# ---------------------------------------------------------------------------------------------------- what is computed


class _Step(NamedTuple):
    """How far a position steps from lane to lane.

    places: how many. factor: the parameter that they are multiplied with; None for none.
    """

    places: int
    factor: int | None


_NONE = _Step(0, None)


def _steps(graph: TypedGraph, at: int, lane: int, first_read: int, known: dict[int, _Step | None]) -> _Step | None:
    """How far a position steps; None where that is not known, or where it depends on what is read."""
    if at in known:
        return known[at]
    node = graph.nodes[at]
    found: _Step | None
    if node.op == "parameter":
        found = None if at >= first_read else _Step(1, None) if at == lane else _NONE
    elif node.op == "constant":
        found = _NONE
    else:
        given = [_steps(graph, each, lane, first_read, known) for each in node.arguments]
        found = _combined(graph, node.op, node.arguments, given)
    known[at] = found
    return found


def _combined(graph: TypedGraph, op: str, arguments: Sequence[int], given: Sequence[_Step | None]) -> _Step | None:
    """How far a result steps whose operands step so far."""
    steps = [each for each in given if each is not None]
    if len(steps) < len(given):
        return None
    if all(each == _NONE for each in steps):
        return _NONE
    if op == "negative":
        return steps[0]._replace(places=-steps[0].places)
    if op in ("add", "subtract"):
        sign = 1 if op == "add" else -1
        first, second = steps
        if _NONE in steps:
            return first if second == _NONE else second._replace(places=sign * second.places)
        total = first.places + sign * second.places
        return _Step(total, first.factor) if first.factor == second.factor and total else None
    if op == "multiply":
        for one, other in ((0, 1), (1, 0)):
            node = graph.nodes[arguments[other]]
            if steps[other] != _NONE:
                continue
            if node.op == "constant" and isinstance(node.value, int) and node.value:
                return steps[one]._replace(places=steps[one].places * node.value)
            if node.op == "parameter" and steps[one].factor is None:
                return steps[one]._replace(factor=arguments[other])
    return None


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
    instruction = "fadd" if scalar.category == FLOAT else "add"
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
