"""The innermost loop of a loop over places: which lanes lie inside, and what is read for each, as LLVM text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from opdsl.backends.cpu.indexed_places import Places
from opdsl.backends.cpu.indexed_steps import NONE, Step
from opdsl.backends.cpu.indexed_values import REPEATED, constant
from opdsl.backends.cpu.loops import ACCESS, PARALLEL, Loop, call
from opdsl.backends.cpu.operands import load_lane, load_operand, store_lane, store_operand
from opdsl.backends.cpu.storage import MEMORY, REGISTER
from opdsl.backends.cpu.vector_text import When
from opdsl.kernels.calls import IndexedAccess
from opdsl.scalar.indexed import SKIP

# !4 forbids vectors, see ``loops.METADATA``.
ONE_BY_ONE = ", !llvm.loop !6"
SELDOM = ", !prof !7"
# One vector at once, for loops of so many instructions that several gain nothing, and leave most of a row over.
IN_ORDER = ", !llvm.loop !8"
HINTS = """!6 = distinct !{!6, !4}
!7 = !{!"branch_weights", i32 1, i32 1000}
!8 = distinct !{!8, !2, !9}
!9 = !{!"llvm.loop.interleave.count", i32 1}"""

# What is read for a lane of several places at once, and of how many at most: far rows may share lines of the cache.
_AT_ONCE, _MOST_WAYS = 8, 4


def is_repeated(access: IndexedAccess) -> bool:
    """Whether what lies outside is one of the elements inside."""
    return isinstance(access.margin, str) and access.margin != SKIP


class Row(NamedTuple):
    """What is the same for all lanes of a tile, in one turn.

    low, high: the lanes between which everything lies inside.
    """

    low: str
    high: str


class Lanes(Places):
    """A kernel that goes along lanes.

    row_kept: where what is kept for the row at hand begins.
    """

    row_kept = "0"

    def row(self) -> Row:
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
                if step == NONE and is_repeated(access):
                    continue  # see ``anchor``
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
            return Row(low, high)
        low = text.smaller(low, self.end)
        high = text.larger(high, low)
        if is_inside:
            low, high = text.choose(is_inside, low, self.end), text.choose(is_inside, high, self.end)
        return Row(low, high)

    def _quotient_up(self, value: str, divisor: int | str) -> str:
        """``ceil(value / divisor)``, no less than 0."""
        kept = self.text.larger(value, 0)
        return kept if divisor == 1 else self.text.ceiling(kept, divisor)

    # --------------------------------------------------------------------------------------------------------- lanes

    def lanes(self, compute: Callable[[], None], *, is_independent: bool = True, repeated: Sequence[str] = ()) -> None:
        """Compute all lanes of a tile: those inside without tests, the others with them.

        repeated: the places of the dimension that something is kept for that are computed for each lane; none for that
            at hand.
        """
        text = self.text
        low, high = self.row()
        kind = PARALLEL if is_independent else ""
        if self.has_border:
            with Loop(text, self.name("side"), "0", "2") as side:
                is_first = text.is_("eq", side.counter, 0)
                begin = text.choose(is_first, self.begin, high)
                end = text.choose(is_first, low, self.end)
                self.run("border", begin, end, compute, is_inside=False, kind="")

        def several() -> None:
            for self.places[self.form.repeated] in repeated:
                compute()

        turns = [{self.form.repeated: each} for each in repeated]
        kind = self.inside_kind(kind)
        self.run("inside", low, high, several if repeated else compute, is_inside=True, kind=kind, turns=turns)

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
        if is_apart or is_untested:
            return ONE_BY_ONE
        return IN_ORDER if kind else kind

    def run(
        self,
        stem: str,
        begin: str,
        end: str,
        compute: Callable[[], None],
        *,
        is_inside: bool,
        kind: str,
        turns: Sequence[Mapping[int, str]] = (),
    ) -> None:
        """Compute some lanes.

        turns: the places, by dimension, that are computed for each lane; none for those at hand.
        """
        self.is_inside = is_inside
        for turn in turns or [{}] if is_inside else ():
            for dimension, place in turn.items():
                self.places[dimension] = place
            self.anchor()
        with Loop(self.text, self.name(stem), begin, end, kind=kind) as lane:
            self.places[self.form.lane] = lane.counter
            self._take_kept()
            compute()
        self.kept = self._nothing_kept

    def _take_kept(self) -> None:
        if self.stages is not None:
            here = self.text.add(self.text.sub(self.places[self.form.lane], self.begin), self.row_kept)
            self.kept = [load_lane(self.text, *each, here) for each in zip(self.stages.kinds, self.early, strict=True)]
            self.offset = {k: load_lane(self.text, "int64", array, here) for k, array in self.offsets.items()}

    def keep(self, first: str = "0") -> None:
        """Compute what is kept for the lanes of a tile, from a place on."""
        text, stages = self.text, self.stages
        assert stages is not None, "there is such a dimension"
        self.stem, self.places[self.form.repeated] = "early_", "poison"
        with Loop(text, self.name("keep"), self.begin, self.end, kind=IN_ORDER) as lane:
            self.places[self.form.lane] = lane.counter
            read: list[str] = []
            for k, access in enumerate(self.loop.reads):
                if k not in stages.read_early:
                    read.append("poison")
                    continue
                positions = self.positions(k, read)
                is_tested = access.margin is not None
                read.append(self._tested(k, positions, read, ExitStack()) if is_tested else self._load(k, positions))
            values = call(text, "kept_", self.arguments(read), stages.kinds) if stages.kinds else []
            here = text.add(text.sub(lane.counter, self.begin), first)
            for kind, array, value in zip(stages.kinds, self.early, values, strict=True):
                store_lane(text, kind, array, here, value)
            for k, dims in stages.located.items():
                store_lane(text, "int64", self.offsets[k], here, self._offset(k, dims, self.positions(k, read)))
        self.stem = ""

    def repeat(self, compute: Callable[[Sequence[str]], None]) -> None:
        """Compute something for all places of the dimension that something is kept for: for several at once, which it
        is given, so that what is kept is loaded for these together.
        """
        assert self.stages is not None, "there is such a dimension"
        text, size = self.text, self.sizes[self.form.repeated]
        reads = max(1, len(self.stages.read_late))
        ways = 1 if self.has_border else min(_MOST_WAYS, max(1, _AT_ONCE // reads))
        first = "0"
        for count in (ways, 1) if ways > 1 else (1,):
            with Loop(text, self.name("repeated"), first, text.sub(size, count - 1), count) as loop:
                self.places[self.form.repeated] = loop.counter
                compute([text.add(loop.counter, each) for each in range(count)])
            first = text.sub(size, text.remainder(size, count))

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
            apart = int(distance) // size if distance.lstrip("-").isdigit() and int(distance) % size == 0 else distance
            positions = self.positions(k, [])
            if is_repeated(access):  # what is the same for all lanes may lie outside
                repeated = self.repeated(str(access.margin), positions, self.sizes_of(k))
                pairs = zip(positions, repeated, steps, strict=True)
                positions = [inside if step == NONE else position for position, inside, step in pairs]
            self._anchors[k, *self.places] = self.address(k, positions), apart
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
            if self.stages is not None and k in self.stages.located:
                read.append(self._at_offset(k, self.stages.located[k]))
                continue
            positions = self.positions(k, read)
            is_tested = access.margin is not None
            read.append(self._tested(k, positions, read, stack) if is_tested else self._load(k, positions))
        return read

    def _offset(self, k: int, dims: frozenset[int], positions: Sequence[str]) -> str:
        """How far from the beginning an element is by some of its positions; -1 where it lies outside."""
        text, access = self.text, self.loop.reads[k]
        strides = self.strides[access.array][self.form.leading :]
        chosen, sizes = ([values[d] for d in sorted(dims)] for values in (positions, self.sizes_of(k)))
        if is_repeated(access):
            chosen = self.repeated(str(access.margin), chosen, sizes)
        pairs = zip(chosen, (strides[d] for d in sorted(dims)), strict=True)
        found = text.add("0", *(text.mul(*pair) for pair in pairs))
        return found if isinstance(access.margin, str | None) else text.choose(self.inside(chosen, sizes), found, -1)

    def _at_offset(self, k: int, dims: frozenset[int]) -> str:
        """What is read where an offset is kept."""
        text, access, offset = self.text, self.loop.reads[k], self.offset[k]
        operand = self.form.arrays[access.array]
        positions, sizes, strides = self.positions(k, []), self.sizes_of(k), self.strides[access.array]
        rest = [d for d in range(access.dims) if d not in dims]
        same, limits = ([values[d] for d in rest] for values in (positions, sizes))
        if is_repeated(access):
            same = self.repeated(str(access.margin), same, limits)
        address = self.led(access.array, access.leads)
        for d, position in zip(rest, same, strict=True):
            address = self.moved(address, position, strides[self.form.leading + d])
        if isinstance(access.margin, str | None):
            return load_operand(text, operand, text.value(f"getelementptr i8, ptr {address}, i64 {offset}"), ACCESS)
        # Vectors are loaded from one address and many offsets: where nothing lies inside, that is the margin's.
        is_outside = text.is_("slt", offset, 0)
        is_any = self.inside([*same, *("0" for _ in dims)], [*limits, *(sizes[d] for d in sorted(dims))])
        begin = text.value(f"select i1 {is_any}, ptr {address}, ptr {self.outside[k]}")
        inner = text.choose(is_any, text.larger(offset, 0), 0)
        value = load_operand(text, operand, text.value(f"getelementptr i8, ptr {begin}, i64 {inner}"), ACCESS)
        register, margin = REGISTER[operand.value], constant(access.margin, operand.value)
        return text.value(f"select i1 {is_outside}, {register} {margin}, {register} {value}")

    def _load(self, k: int, positions: Sequence[str]) -> str:
        operand = self.form.arrays[self.loop.reads[k].array]
        return load_operand(self.text, operand, self.address(k, positions), ACCESS)

    def _tested(self, k: int, positions: Sequence[str], read: Sequence[str], stack: ExitStack) -> str:
        """What is read at a place that may lie outside."""
        text, sizes, access = self.text, self.sizes_of(k, read), self.loop.reads[k]
        if is_repeated(access):
            return self._load(k, self.repeated(str(access.margin), positions, sizes))
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
        return [REPEATED[margin](self.text, *pair) for pair in zip(positions, sizes, strict=True)]

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
