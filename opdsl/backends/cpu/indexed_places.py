"""Where the operands of a loop over places lie: sizes and strides, positions and addresses, as LLVM text."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.indexed_form import KEPT, SYMBOL, IndexedForm
from opdsl.backends.cpu.indexed_stages import Stages, staged
from opdsl.backends.cpu.indexed_steps import Step, clipped, is_even, specialised, steps_of
from opdsl.backends.cpu.indexed_values import constant
from opdsl.backends.cpu.loops import Loop, call
from opdsl.backends.cpu.operands import number, store_operand
from opdsl.backends.cpu.storage import MEMORY, REGISTER
from opdsl.backends.cpu.vector_text import Function, Machine
from opdsl.kernels.calls import IndexedAccess
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph

_SLOTS, _SLOT_SIZE = 16, 16


class Places:
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
        first = sum(each.dims for each in (*self.loop.reads, *self.loop.writes))
        self._part("value_", self.graph.results[first : first + len(self.loop.values)])
        if self.loop.finish is not None:
            self.functions["finish"] = self.loop.finish

    def _staged(self) -> Stages | None:
        """The two parts of the graph, the second of which becomes that of the kernel; None where it has one."""
        if self.form.repeated < 0:
            return None
        found = staged(self.loop, self.graph, self.form.leading, self.form.lane, self.form.repeated)
        assert found is not None, "the form says so"
        self.graph = found.early
        for k in (*found.read_early, *found.located):
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
            self.early = [text.value(f"alloca {REGISTER[kind]}, i64 {KEPT}, align 64") for kind in self.stages.kinds]
            self.offsets = {k: text.value(f"alloca i64, i64 {KEPT}, align 64") for k in self.stages.located}
        self.prepare()
        self._units()
        return text.end()

    def _outside(self, access: IndexedAccess) -> str:
        """Where what lies outside of a tensor is in memory; nowhere where it is no number."""
        if access.margin is None or isinstance(access.margin, str):
            return ""
        operand = self.form.arrays[access.array]
        address = self.text.value(f"alloca [{_SLOT_SIZE} x i8], align {_SLOT_SIZE}")
        store_operand(self.text, operand, address, constant(access.margin, operand.value))
        return address

    def _word(self, plan: str) -> str:
        self._next += 1
        return self.text.word(plan, self._next - 1)

    def _constant_strides(self) -> None:
        """Strides that are known, so that loads and stores are of neighbours. The others are sums, with a 0 that LLVM
        does not see through: else it makes vectors for strides of one byte alone, and computes all others one by one.
        """
        zero = self.text.value(f"lshr i64 {self.sizes[0]}, 63")
        operands = (*self.form.arrays, *self.form.outputs)
        for operand, strides, dense in zip(operands, self.strides, self.form.dense, strict=True):
            strides[:] = [self.text.add(each, zero) for each in strides]
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

    def _units(self) -> None:
        """All units: a loop over neighbours along one dimension, so that what is the same for them is found once, in
        one that counts the others without divisions, which take as long as a short row.
        """
        text, inner = self.text, self.form.units[-1:]
        tiles = [] if self.loop.writes else [text.ceiling(self.lane_size, self.form.tile)]
        sizes = [*(self.sizes[each] for each in inner), *tiles]
        sizes += [self.sizes[each] for each in reversed(self.form.units[:-1])]
        first, rest = [], "%begin"
        for size in sizes:
            divisor = text.larger(size, 1)  # nothing divides by 0 where there is nothing to do
            first.append(text.remainder(rest, divisor))
            rest = text.divide(rest, divisor)
        with Loop(text, "outer", "%begin", "%end") as outer:
            counters = [outer.carry("int64", each) for each in first]
            left = text.sub("%end", outer.counter)
            outer.step = text.smaller(text.sub(sizes[0], counters[0]), left) if inner else "1"
            self._located(counters[len(inner) :])
            if inner:
                self.neighbours(inner[0], counters[0], text.add(counters[0], outer.step))
                outer.hand_on(["0", *self._stepped(counters[1:], sizes[1:])])
            else:
                self.body()
                outer.hand_on(self._stepped(counters, sizes))

    def _stepped(self, counters: Sequence[str], sizes: Sequence[str]) -> list[str]:
        """What is counted, one farther."""
        text, found, step = self.text, [], "1"
        for counter, size in zip(counters, sizes, strict=True):
            stepped = text.add(counter, step)
            is_over = text.is_("eq", stepped, size)
            found.append(text.choose(is_over, 0, stepped))
            step = text.value(f"zext i1 {is_over} to i64")
        return found

    def _located(self, counters: Sequence[str]) -> None:
        """The lanes of units, and their indices but for the innermost one."""
        text, indices = self.text, list(counters)
        self.begin, self.end = "0", self.lane_size
        if not self.loop.writes:
            self.begin = text.mul(indices.pop(0), self.form.tile)
            self.end = text.smaller(text.add(self.begin, self.form.tile), self.lane_size)
        for dimension, index in zip(reversed(self.form.units[:-1]), indices, strict=True):
            self.places[dimension] = index

    def neighbours(self, dimension: int, begin: str, end: str) -> None:
        """Units side by side along a dimension."""
        with Loop(self.text, "unit", begin, end) as unit:
            self.places[dimension] = unit.counter
            self.body()

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
