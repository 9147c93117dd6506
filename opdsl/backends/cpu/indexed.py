"""Kernels for indexed loops, which read or write arrays at computed indices: the choice of a schedule, and the plan of
a call.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.pointwise import number_input, planned_outputs
from opdsl.kernels.calls import IndexedCall, OperandSpec
from opdsl.kernels.loops import place_schedules
from opdsl.kernels.loops.joining import joined
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.peeling import certain
from opdsl.kernels.loops.place_schedules import Repeated, is_repeated
from opdsl.kernels.loops.rewriting import specialised
from opdsl.kernels.loops.stepping import STILL, Step, steps_along
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.symbol import largest
from opdsl.scalar.indexed import MARGINS, SKIP
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedAccess, IndexedLoop

SYMBOL = "indexed"

# The number of points of a tile: with values kept in memory for each point, and without.
_TILE, _LONG_TILE = 256, 4096

# Step factors with specialized kernels, in which loads are vectorized.
_STEPS = (1, 2)

# The smallest size of a folded dimension for which the innermost loop may run along it.
_LONG = 4

# The most iterations of a fold that are unrolled.
_MOST_TURNS = 16

# The fewest elements that fill vectors.
_FILLING = 8

# The first offset that int32 cannot hold.
_FAR = 1 << 31

# Represents a dimension in arrays whose single element is repeated along all dimensions.
_REPEATED = -2

# Placeholder of an unknown stride or size.
_ANY = 1 << 20


class _Layout(NamedTuple):
    """Layout of a call's operands, which together with the function determines its loops.

    leading: batch dimensions of the result, before those that have indices in the function.
    arrays, outputs: the dtypes of operands, and the dimension along which elements are contiguous; -1 for none, or
        ``_REPEATED``.
    own: the number of indexed dimensions of each array, and of an output that is added to.
    """

    leading: int
    arrays: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    own: tuple[int, ...]


class _Form(NamedTuple):
    """Key by which the kernel of an indexed loop is compiled.

    lane: the index of the innermost loop.
    units: the indices of the outermost loops, whose points are divided among threads.
    known: words that are replaced by numbers, or by other words.
    inwards: see ``place_schedules.folding``.
    repeated: see ``place_schedules.staging``.
    """

    loop: IndexedLoop
    layout: _Layout
    lane: str
    units: tuple[str, ...]
    known: tuple[tuple[str, int | str], ...]
    inwards: bool
    repeated: Repeated | None

    @property
    def tile(self) -> int:
        """Return the number of points of a tile."""
        return _TILE if self.loop.fold or self.repeated else _LONG_TILE

    def __str__(self) -> str:
        loop = self.loop
        finish = "" if loop.finish is None else loop.finish.fingerprint
        rest = (loop.at, loop.over, loop.words, loop.numbers, loop.reads, loop.writes, loop.fold, loop.with_place)
        return f"indexed {loop.graph.fingerprint} {finish} {rest} {tuple(self)[1:]}"


def indexed(loop: IndexedLoop, call: IndexedCall) -> Kernel:
    """Compile the kernel of an indexed loop for a call's dtypes and layout, or find it, and plan the call.

    Args:
        loop: the computation.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    one, placed = joined(loop, call if call.leading or loop.at else _in_one_place(call))
    form = _form(one, placed)
    code = _code(form)
    sizes = dict(zip(_indices(form.layout.leading, one), (*placed.leading, *placed.sizes), strict=True))
    units = math.prod(sizes[unit] for unit in form.units)
    if not loop.writes:
        units *= (sizes[form.lane] + form.tile - 1) // form.tile
    total = math.prod(sizes.values())
    cost = largest(1, total * graph_cost(loop.graph))
    work = Work(
        loop=code.address(SYMBOL),
        elements=units,
        grain=grain_of(cost, units, 1) if units > 1 else 0,
        details=_details(placed),
    )
    inputs = [builtin.ARRAY] * len(call.dimensions)
    kinds = [str(kind) for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    inputs += [number_input(kind) for kind in kinds[first : first + loop.numbers]]
    return builtin.builtin(f"{loop.name}_cpu", work, inputs, planned_outputs(call), [code])


def _in_one_place(call: IndexedCall) -> IndexedCall:
    """Return a call with a scalar result as an equivalent call with a leading dimension of size 1."""
    arrays, rest = call.inputs[: len(call.dimensions)], call.inputs[len(call.dimensions) :]
    led, outputs = (
        tuple(spec._replace(strides=(0, *(spec.strides or ()))) for spec in specs) for specs in (arrays, call.outputs)
    )
    return call._replace(leading=(1,), inputs=(*led, *rest), outputs=outputs)


def _indices(leading: int, loop: IndexedLoop) -> tuple[str, ...]:
    """Return the names of the indices of a program's loops, outermost first."""
    counts = {"l": leading, "i": loop.at, "j": loop.over}
    return tuple(f"{prefix}{k}" for prefix, count in counts.items() for k in range(count))


def _details(call: IndexedCall) -> list[int]:
    """Return the words of a plan that the kernel reads: sizes, integer arguments, then strides and sizes of each
    operand.
    """
    details = [*call.leading, *call.sizes, *call.words]
    for spec, own in zip(call.inputs, call.dimensions, strict=False):
        details += [*(spec.strides or ()), *own]
    for spec in call.outputs:
        details += [*(spec.strides or ()), *call.written]
    return details


def _words(form: _Form) -> list[str]:
    """Return the names of the words of ``_details``, in the same order."""
    loop, layout = form.loop, form.layout
    words = [f"{index}_n" for index in _indices(layout.leading, loop)]
    words += [f"word{k}" for k in range(loop.words)]
    names = [f"a{k}" for k in range(len(layout.arrays))] + [f"out{k}" for k in range(len(layout.outputs))]
    own = [*layout.own[: len(layout.arrays)], *(layout.own[len(layout.arrays) :] or [loop.at] * len(layout.outputs))]
    for name, dims in zip(names, own, strict=True):
        words += [f"{name}_s{d}" for d in range(layout.leading + dims)]
        if name.startswith("a") or loop.writes:
            words += [f"{name}_n{d}" for d in range(dims)]
    return words


# --------------------------------------------------------------------------------------------------------------- forms


def _form(loop: IndexedLoop, call: IndexedCall) -> _Form:
    layout = _layout_of(loop, call)
    leading = layout.leading
    indices = _indices(leading, loop)
    dims = leading + loop.at
    sizes = (*call.leading, *call.sizes[: loop.at])
    lane = max((d for d, size in enumerate(sizes) if not _is_one(size)), default=dims - 1)
    written = layout.outputs[-1][1]
    if loop.writes and 0 <= written < leading and all(write.leads for write in loop.writes):
        lane = written
    if not loop.writes and layout.outputs[0][1] >= 0:
        lane = layout.outputs[0][1]
    program = _program(loop, layout)
    known = _known_steps(loop, program, call, {indices[lane], indices[dims + loop.over - 1]})
    accesses = _accesses(loop, layout, known)
    turns = call.sizes[loop.at :]
    is_long = bool(loop.over) and turns[-1] >= _LONG
    same = _same_sizes(loop, call)
    inwards = (is_long or accesses.skips_unevenly(indices[lane])) and accesses.runs_along_turns(indices[lane], same)
    if inwards and loop.writes:
        lane = dims + loop.over - 1
    units = own_units(loop, leading) if loop.writes else tuple(range(dims))
    is_few = all(type(turn) is int for turn in turns) and 1 <= math.prod(turns) <= _MOST_TURNS and bool(loop.fold)
    if is_few:
        known += tuple((f"j{k}_n", turn) for k, turn in enumerate(turns))
    known += tuple((name, dict(known).get(size, size)) for name, size in same.items())
    repeated = _repeated(loop, accesses, indices[lane], call)
    taken = (indices[lane], repeated and repeated.along)
    counted = tuple(indices[unit] for unit in units if indices[unit] not in taken)
    return _Form(loop, layout, indices[lane], counted, known, inwards, repeated)


def _repeated(loop: IndexedLoop, accesses: _Accesses, lane: str, call: IndexedCall) -> Repeated | None:
    """Return a dimension of the result along which computed array indices repeat, if computing them only once pays.

    Returns None if an array is empty, where an out-of-bounds index has no element to point to.
    """
    is_empty = any(size == 0 for own in call.dimensions for size in own)
    if loop.over or is_empty or any(read.margin == SKIP for read in loop.reads):
        return None
    indices = _indices(len(call.leading), loop)
    repeated = accesses.repeated(lane)
    sizes = dict(zip(indices, (*call.leading, *call.sizes), strict=True))
    index = next((index for index in reversed(indices) if index in repeated and sizes[index] >= 2), None)
    if index is None:
        return None
    inwards = not loop.writes and accesses.lies_along(lane, index) and bool(sizes[index] >= _FILLING)
    return Repeated(index, ScalarType.INT64 if accesses.lies_far(lane, call) else ScalarType.INT32, inwards)


def _layout_of(loop: IndexedLoop, call: IndexedCall) -> _Layout:
    leading = call.leading
    dimensions = [(*leading, *own) for own in call.dimensions]
    results = (*leading, *(call.written if loop.writes else call.sizes[: loop.at]))
    arrays = tuple((spec.dtype.name, _side(spec, sizes)) for spec, sizes in zip(call.inputs, dimensions, strict=False))
    outputs = tuple((spec.dtype.name, _side(spec, results)) for spec in call.outputs)
    own = tuple(len(dimension) for dimension in call.dimensions) + (len(call.written),) * (
        len(outputs) if loop.writes else 0
    )
    return _Layout(len(leading), arrays, outputs, own)


def _side(spec: OperandSpec, sizes: Sequence[int]) -> int:
    """Return the dimension along which elements are contiguous; -1 for none, ``_REPEATED`` for a single repeated
    element.
    """
    strides = spec.strides or ()
    if strides and all(type(stride) is int and stride == 0 for stride in strides):
        return _REPEATED
    dims = [d for d, size in enumerate(sizes) if strides[d] == spec.dtype.itemsize and not _is_one(size)]
    return max(dims, default=-1)


def _is_one(size: int) -> bool:
    return type(size) is int and size == 1


@functools.lru_cache(maxsize=4096)
def _program(loop: IndexedLoop, layout: _Layout) -> Program:
    """Return the loops that all calls of a layout share, built from a call with placeholder sizes."""
    from opdsl.kernels.loops import indexed as over_places

    kinds = [kind for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    numbers = tuple(OperandSpec(to_dtype(kind.value), None) for kind in kinds[first : first + loop.numbers])
    count = len(layout.arrays)
    dims = [*layout.own[:count], *(layout.own[count:] or [loop.at] * len(layout.outputs))]
    specs = [
        _spec(to_dtype(dtype), layout.leading + own, side)
        for (dtype, side), own in zip((*layout.arrays, *layout.outputs), dims, strict=True)
    ]
    call = IndexedCall(
        (_ANY,) * layout.leading,
        (_ANY,) * (loop.at + loop.over),
        (_ANY,) * loop.words,
        (*specs[:count], *numbers),
        tuple((_ANY,) * own for own in layout.own[:count]),
        tuple(specs[count:]),
        (_ANY,) * (layout.own[-1] if loop.writes else 0),
        (None,) * len(layout.outputs),
    )
    return over_places.indexed(loop, call, trusted=True).program


def _spec(dtype: DType, dims: int, side: int) -> OperandSpec:
    if side == _REPEATED:
        return OperandSpec(dtype, (0,) * dims)
    return OperandSpec(dtype, tuple(dtype.itemsize * (1 if d == side else _ANY) for d in range(dims)))


def _known_steps(
    loop: IndexedLoop, program: Program, call: IndexedCall, indices: set[str]
) -> tuple[tuple[str, int | str], ...]:
    """Return the integer arguments that scale a loop index in accesses and have one of the values with specialized
    kernels.
    """
    steps = [step for index in indices for step in steps_along(program.body, index).values()]
    factors = {step.factor for step in steps if step is not None and step.factor is not None}
    words = {f"word{k}": value for k, value in enumerate(call.words)}
    return tuple((factor, words[factor]) for factor in sorted(factors & words.keys()) if words[factor] in _STEPS)


def _same_sizes(loop: IndexedLoop, call: IndexedCall) -> dict[str, str]:
    """Map the name of each array size that equals the size of the loop range indexing it to the name of that range's
    size.
    """
    same_sizes: dict[str, str] = {}
    indices = _indices(0, loop)
    for k, access in enumerate((*loop.reads, *loop.writes)):
        is_read = k < len(loop.reads)
        array, own = (f"a{access.array}", call.dimensions[access.array]) if is_read else ("out0", call.written)
        for d in range(access.dims) if access.margin is not None and own else ():
            index = loop.graph.results[access.first + d]
            if index < len(indices) and own[d] == call.sizes[index]:
                same_sizes[f"{array}_n{d}"] = f"{indices[index]}_n"
    return same_sizes


class _Accesses:
    """Analysis of how the indices of reads and writes step along the loops of a program.

    known: words that are replaced by numbers.
    """

    def __init__(self, loop: IndexedLoop, layout: _Layout, known: Mapping[str, int | str]) -> None:
        self.loop, self.layout = loop, layout
        self.program = specialised(_program(loop, layout), known)
        self._along: dict[str, dict[str, Step | None]] = {}
        self._repeated: dict[str, frozenset[str]] = {}

    def along(self, index: str) -> dict[str, Step | None]:
        """Return by how much each value changes per iteration of the loop over an index."""
        if index not in self._along:
            self._along[index] = steps_along(self.program.body, index)
        return self._along[index]

    def repeated(self, lane: str) -> frozenset[str]:
        """Return the loop indices along which array indices repeat, of those array indices that step unevenly along the
        lane.
        """
        if lane not in self._repeated:
            indices = _indices(self.layout.leading, self.loop)
            self._repeated[lane] = frozenset(
                index for index in indices if index != lane and is_repeated(self.program, lane, index)
            )
        return self._repeated[lane]

    def steps(self, k: int, index: str) -> list[Step | None]:
        """Return the step of each dimension of access ``k`` along a loop index; reads are numbered before writes."""
        return [self.along(index)[f"p{k}_{d}"] for d in range((*self.loop.reads, *self.loop.writes)[k].dims)]

    def is_even(self, k: int, index: str) -> bool:
        """Return whether an access steps evenly along a loop index, within limits that stay constant."""
        dims = range((*self.loop.reads, *self.loop.writes)[k].dims)
        limits = [self.along(index).get(f"limit{k}_{d}", STILL) for d in dims]
        return None not in self.steps(k, index) and all(limit == STILL for limit in limits)

    def skips_unevenly(self, lane: str) -> bool:
        """Return whether a fold skips different iterations at different points, because windows along a dimension have
        unequal lengths.
        """
        reads = [k for k, read in enumerate(self.loop.reads) if read.margin == SKIP]
        return bool(self.loop.fold) and any(not self.is_even(k, lane) for k in reads)

    def lies_far(self, lane: str, call: IndexedCall) -> bool:
        """Return whether offsets along unevenly indexed dimensions may exceed int32."""
        farthest = 1
        for k, access in enumerate((*self.loop.reads, *self.loop.writes)):
            is_read = k < len(self.loop.reads)
            own = call.dimensions[access.array] if is_read else call.written
            strides = (call.inputs[access.array] if is_read else call.outputs[0]).strides or ()
            strides = strides[len(strides) - len(own) :]
            uneven = [d for d, step in enumerate(self.steps(k, lane)) if step is None]
            apart = [(own[d] - 1) * largest(strides[d], -strides[d]) for d in uneven]
            farthest = largest(farthest, sum(apart), *(own[d] for d in uneven))
        return bool(farthest >= _FAR)

    def lies_along(self, lane: str, index: str) -> bool:
        """Return whether several unevenly indexed reads are contiguous along an index, so that loading them as vectors
        pays off.
        """
        flags = [
            self.steps(k, index)[side] == Step(1)
            for k, access in enumerate(self.loop.reads)
            for side in [self.layout.arrays[access.array][1] - self.layout.leading]
            if None in self.steps(k, lane) and 0 <= side < access.dims
        ]
        return len(flags) > 1 and all(flags)

    def runs_along_turns(self, lane: str, same: Mapping[str, str]) -> bool:
        """Return whether the innermost loop is to run along the last folded dimension rather than along the lane.

        Args:
            lane: the index.
            same: sizes that equal those of loop ranges, see ``_same_sizes``.
        """
        loop, layout = self.loop, self.layout
        if not loop.over or not (loop.fold or loop.writes):
            return False
        last = f"j{loop.over - 1}"
        is_along = False
        for k, access in enumerate((*loop.reads, *loop.writes)):
            if access.margin is not None and not self._is_narrowed(k, access, last, same):
                return False
            is_written = k >= len(loop.reads)
            side = (layout.outputs[-1] if is_written else layout.arrays[access.array])[1] - layout.leading
            if 0 <= side < access.dims and is_written == bool(loop.writes):
                turns = self.steps(k, last)
                is_along |= turns[side] == Step(1)
                is_same = not is_written and all(step == STILL for step in turns)  # it is loaded only once
                if self.steps(k, lane)[side] == Step(1) and not is_same:
                    return False
        return is_along

    def _is_narrowed(self, k: int, access: IndexedAccess, last: str, same: Mapping[str, str]) -> bool:
        """Return whether the iterations are known in which a padded access is in bounds, or is mapped into bounds."""
        if access.margin == SKIP:
            return self.is_even(k, last)
        if access.margin not in MARGINS:
            return False
        indices, array = _indices(0, self.loop), f"a{access.array}" if k < len(self.loop.reads) else "out0"
        for d, step in enumerate(self.steps(k, last)):
            index = self.loop.graph.results[access.first + d]
            is_whole = index < len(indices) and same.get(f"{array}_n{d}") == f"{indices[index]}_n"
            if step != STILL and not is_whole:
                return False
        return True


@functools.lru_cache(maxsize=4096)
def _accesses(loop: IndexedLoop, layout: _Layout, known: tuple[tuple[str, int | str], ...]) -> _Accesses:
    return _Accesses(loop, layout, dict(known))


def own_units(loop: IndexedLoop, leading: int) -> tuple[int, ...]:
    """Return the dimensions whose index every write uses unchanged, so that different points of them write different
    elements.
    """
    dims = [d for d in range(leading) if all(write.leads for write in loop.writes)]
    for index in range(loop.at):
        places = [
            [d for d in range(write.dims) if loop.graph.results[write.first + d] == index] for write in loop.writes
        ]
        if all(places) and len({place[0] for place in places}) == 1:
            dims.append(leading + index)
    return tuple(dims)


# ---------------------------------------------------------------------------------------------------------------- text


def scheduled(form: _Form) -> Program:
    """Return the scheduled loops of a form."""
    program = certain(specialised(_program(form.loop, form.layout), dict(form.known)))
    if form.loop.writes and form.repeated:
        return place_schedules.adding_in_stages(program, form.units, form.lane, form.tile, form.repeated)
    if form.loop.writes:
        return place_schedules.adding(program, form.units, form.lane)
    if form.repeated:
        return place_schedules.staging(program, form.units, form.lane, form.tile, form.repeated)
    if form.loop.fold:
        return place_schedules.folding(program, form.units, form.lane, form.tile, inwards=form.inwards)
    return place_schedules.storing(program, form.units, form.lane, form.tile)


@functools.lru_cache(maxsize=4096)
def _code(form: _Form) -> engine.Code:
    def text() -> str:
        from opdsl.backends.cpu.places_text import module_ir

        return module_ir(scheduled(form), _words(form), SYMBOL)

    return engine.compile_ir(str(form), text, [SYMBOL])
