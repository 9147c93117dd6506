"""Kernels that read or write arrays at computed indices, and all that no other schedule is made for: the choice of a
schedule, and the plan of a call.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.pointwise import planned_outputs, signature_of
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.kernel import SKIP, Access, Fold, Index, Operand, operand_types
from opdsl.kernels.kernel import Kernel as Computation
from opdsl.kernels.loops import place_schedules
from opdsl.kernels.loops.joining import joined
from opdsl.kernels.loops.lowering import extra_names, extra_words, lowered
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.peeling import certain
from opdsl.kernels.loops.place_schedules import Repeated, is_repeated
from opdsl.kernels.loops.rewriting import specialised
from opdsl.kernels.loops.stepping import STILL, Step, steps_along
from opdsl.kernels.structure import Structure, scatters, structure_of
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.symbol import largest
from opdsl.scalar.indexed import MARGINS
from opdsl.scalar.types import ScalarType

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


class _Strides(NamedTuple):
    """Layout of a call's operands, which together with the kernel determines its loops.

    dimensions: the number of dimensions of each range.
    arrays: for each operand its dtype, and the dimension along which elements are contiguous; -1 for none, or
        ``_REPEATED``. An empty dtype and -1 for a number.
    """

    dimensions: tuple[int, ...]
    arrays: tuple[tuple[str, int], ...]


class _Form(NamedTuple):
    """Key by which a kernel is compiled.

    lane: the index of the innermost loop.
    units: the indices of the outermost loops, whose points are divided among threads.
    known: words that are replaced by numbers, or by other words.
    inwards: see ``place_schedules.folding``.
    repeated: see ``place_schedules.staging``.
    """

    kernel: Computation
    strides: _Strides
    lane: str
    units: tuple[str, ...]
    known: tuple[tuple[str, int | str], ...]
    inwards: bool
    repeated: Repeated | None

    @property
    def tile(self) -> int:
        """Return the number of points of a tile."""
        return _TILE if self.kernel.loops or self.repeated else _LONG_TILE

    def __str__(self) -> str:
        return f"indexed {self.kernel.fingerprint} {tuple(self)[1:]}"


def indexed(kernel: Computation, layout: Layout) -> Kernel:
    """Compile a kernel for a call's dtypes and layout, or find it, and plan the call.

    Args:
        kernel: the computation.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    one, placed = joined(kernel, _in_one_place(kernel, layout))
    form = _form(one, placed)
    code = _code(form)
    sizes = _sizes(one, placed)
    units = math.prod(sizes[unit] for unit in form.units)
    if form.lane and not scatters(one):
        units *= (sizes[form.lane] + form.tile - 1) // form.tile
    total = math.prod(sizes.values())
    cost = largest(1, total * graph_cost(kernel.graph))
    work = Work(
        loop=code.address(SYMBOL),
        elements=units,
        grain=grain_of(cost, units, 1) if units > 1 else 0,
        details=_details(one, placed),
    )
    return builtin.builtin(f"{kernel.name}_cpu", work, signature_of(kernel).inputs, planned_outputs(layout), [code])


def _in_one_place(kernel: Computation, layout: Layout) -> Layout:
    """Return a layout of points without dimensions as one with a dimension of size 1, if a range may have that."""
    places = [k for k, axis in enumerate(kernel.ranges) if axis.name in kernel.points]
    pack = next((k for k in places if kernel.ranges[k].is_pack), None)
    if pack is None or any(layout.sizes[k] for k in places):
        return layout
    name, dimensions = kernel.ranges[pack].name, _dimensions(layout)

    def led(operand: Operand, spec: OperandSpec) -> OperandSpec:
        if spec.strides is None or name not in operand.ranges:
            return spec
        first = len(_indices(kernel, dimensions, operand.ranges[: operand.ranges.index(name)]))
        return spec._replace(strides=(*spec.strides[:first], 0, *spec.strides[first:]))

    specs = tuple(map(led, kernel.operands, (*layout.inputs, *layout.outputs)))
    count = len(layout.inputs)
    sizes = (*layout.sizes[:pack], (1,), *layout.sizes[pack + 1 :])
    return layout._replace(sizes=sizes, inputs=specs[:count], outputs=specs[count:])


def _indices(kernel: Computation, dimensions: Sequence[int], ranges: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the names of the indices of ranges, or of all of them, outermost first."""
    return tuple(
        name
        for axis, count in zip(kernel.ranges, dimensions, strict=True)
        if ranges is None or axis.name in ranges
        for name in ([f"{axis.name}{k}" for k in range(count)] if axis.is_pack else [axis.name])
    )


def _dimensions(layout: Layout) -> tuple[int, ...]:
    return tuple(map(len, layout.sizes))


def _sizes(kernel: Computation, layout: Layout) -> dict[str, int]:
    """Return the number of values of each index, outermost first."""
    sizes = (size for pack in layout.sizes for size in pack)
    return dict(zip(_indices(kernel, _dimensions(layout)), sizes, strict=True))


def _details(kernel: Computation, layout: Layout) -> list[int]:
    """Return the words of a plan that the kernel reads: sizes, integer arguments, then strides and sizes of each
    operand.
    """
    details = [*(size for pack in layout.sizes for size in pack), *extra_words(kernel, layout)]
    for spec, dims in zip((*layout.inputs, *layout.outputs), _dims(kernel, layout), strict=True):
        details += [*(spec.strides or ()), *dims]
    return details


def _dims(kernel: Computation, layout: Layout) -> Sequence[tuple[int, ...]]:
    """Return the sizes of each operand's further dimensions."""
    return layout.dims or [()] * len(kernel.operands)


def _words(form: _Form) -> list[str]:
    """Return the names of the words of ``_details``, in the same order."""
    kernel, dimensions = form.kernel, form.strides.dimensions
    words = [f"{index}_n" for index in _indices(kernel, dimensions)]
    words += extra_names(kernel, dimensions)
    for operand in kernel.operands:
        if operand.name not in kernel.numbers:
            along = len(_indices(kernel, dimensions, operand.ranges))
            words += [f"{operand.name}_s{d}" for d in range(along + operand.dims)]
            words += [f"{operand.name}_n{d}" for d in range(operand.dims)]
    return words


# --------------------------------------------------------------------------------------------------------------- forms


def _form(kernel: Computation, layout: Layout) -> _Form:
    strides = _strides_of(kernel, layout)
    if structure_of(kernel) is not Structure.INDICES:
        # Two points may write the same element, so a loop that writes at computed indices is not divided.
        points = () if scatters(kernel) else _indices(kernel, strides.dimensions, kernel.points)
        return _Form(kernel, strides, points[-1] if points else "", points[:-1], (), False, None)
    inner = _inner(kernel)
    points = _indices(kernel, strides.dimensions, [name for name in kernel.points if name not in inner])
    turns = _indices(kernel, strides.dimensions, inner)
    sizes = _sizes(kernel, layout)
    lane = next((index for index in reversed(points) if not _is_one(sizes[index])), (points or turns)[-1])
    is_scatter = scatters(kernel)
    lane = _written_along(kernel, strides, points) or lane
    program = _program(kernel, strides)
    known = _known_steps(kernel, program, layout, {lane, (turns or points)[-1]})
    accesses = _accesses(kernel, strides, known)
    same = _same_sizes(kernel, layout)
    is_tried = bool(turns) and (sizes[turns[-1]] >= _LONG or accesses.skips_unevenly(lane))
    inwards = is_tried and accesses.runs_along(turns[-1], lane, same)
    if inwards and is_scatter:
        lane = turns[-1]
    units = own_units(kernel, strides) if is_scatter else points
    lengths = [sizes[turn] for turn in turns]
    if kernel.loops and all(type(length) is int for length in lengths) and 1 <= math.prod(lengths) <= _MOST_TURNS:
        known += tuple((f"{turn}_n", length) for turn, length in zip(turns, lengths, strict=True))
    known += tuple((name, dict(known).get(size, size)) for name, size in same.items())
    repeated = _repeated(kernel, accesses, lane, layout)
    taken = (lane, repeated and repeated.along)
    return _Form(kernel, strides, lane, tuple(unit for unit in units if unit not in taken), known, inwards, repeated)


def _inner(kernel: Computation) -> frozenset[str]:
    """Return the ranges whose iterations belong to one point: those of folds, and those that are marked so."""
    folded = {name for fold in kernel.loops if isinstance(fold, Fold) for name in fold.over}
    return frozenset(folded | {axis.name for axis in kernel.ranges if axis.is_inner})


def _written_along(kernel: Computation, strides: _Strides, points: Sequence[str]) -> str | None:
    """Return the index of points along which the output is contiguous; None if there is none."""
    write = kernel.writes[0] if not scatters(kernel) else kernel.writes[-1]
    operand = kernel.operand(write.operand)
    along = _indices(kernel, strides.dimensions, operand.ranges)
    side = strides.arrays[kernel.operands.index(operand)][1]
    return along[side] if 0 <= side < len(along) and along[side] in points else None


def _repeated(kernel: Computation, accesses: _Accesses, lane: str, layout: Layout) -> Repeated | None:
    """Return a dimension of the result along which computed array indices repeat, if computing them only once pays.

    Returns None if an array is empty, where an out-of-bounds index has no element to point to.
    """
    is_empty = any(size == 0 for own in layout.dims[: len(layout.inputs)] for size in own)
    if _inner(kernel) or is_empty or any(read.padding == SKIP for read in kernel.reads):
        return None
    sizes = _sizes(kernel, layout)
    repeated = accesses.repeated(lane)
    points = _indices(kernel, _dimensions(layout), kernel.points)
    index = next((index for index in reversed(points) if index in repeated and sizes[index] >= 2), None)
    if index is None:
        return None
    inwards = not scatters(kernel) and accesses.lies_along(lane, index) and bool(sizes[index] >= _FILLING)
    return Repeated(index, ScalarType.INT64 if accesses.lies_far(lane, layout) else ScalarType.INT32, inwards)


def _strides_of(kernel: Computation, layout: Layout) -> _Strides:
    sizes = _sizes(kernel, layout)
    dimensions = _dimensions(layout)
    arrays = []
    for operand, spec, own in zip(
        kernel.operands, (*layout.inputs, *layout.outputs), _dims(kernel, layout), strict=True
    ):
        along = [sizes[index] for index in _indices(kernel, dimensions, operand.ranges)]
        arrays.append(("", -1) if spec.strides is None else (spec.dtype.name, _side(spec, [*along, *own])))
    return _Strides(dimensions, tuple(arrays))


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
def _program(kernel: Computation, strides: _Strides) -> Program:
    """Return the loops that all calls of a layout share, built from a call with placeholder sizes."""
    types = operand_types(kernel)
    specs = [
        OperandSpec(to_dtype(types[operand.name].value), None)
        if not dtype
        else _spec(to_dtype(dtype), len(_indices(kernel, strides.dimensions, operand.ranges)) + operand.dims, side)
        for operand, (dtype, side) in zip(kernel.operands, strides.arrays, strict=True)
    ]
    count = len(kernel.operands) - len(kernel.outputs)
    layout = Layout(
        tuple((_ANY,) * count for count in strides.dimensions),
        tuple(specs[:count]),
        tuple(specs[count:]),
        (None,) * len(kernel.outputs),
        tuple((_ANY,) * operand.dims for operand in kernel.operands),
        (_ANY,) * len(kernel.words),
    )
    return lowered(kernel, layout, trusted=True).program


def _spec(dtype: DType, dims: int, side: int) -> OperandSpec:
    if side == _REPEATED:
        return OperandSpec(dtype, (0,) * dims)
    return OperandSpec(dtype, tuple(dtype.itemsize * (1 if d == side else _ANY) for d in range(dims)))


def _known_steps(
    kernel: Computation, program: Program, layout: Layout, indices: set[str]
) -> tuple[tuple[str, int | str], ...]:
    """Return the integer arguments that scale a loop index in accesses and have one of the values with specialized
    kernels.
    """
    steps = [step for index in indices for step in steps_along(program.body, index).values()]
    factors = {step.factor for step in steps if step is not None and step.factor is not None}
    words = dict(zip(kernel.words, layout.words, strict=True))
    return tuple((factor, words[factor]) for factor in sorted(factors & words.keys()) if words[factor] in _STEPS)


def _same_sizes(kernel: Computation, layout: Layout) -> dict[str, str]:
    """Map the name of each array size that equals the size of the loop range indexing it to the name of that range's
    size.
    """
    same_sizes: dict[str, str] = {}
    sizes = _sizes(kernel, layout)
    dims = dict(zip((operand.name for operand in kernel.operands), _dims(kernel, layout), strict=True))
    for access in (*kernel.reads, *kernel.writes):
        for d in range(len(access.at)) if access.padding is not None else ():
            index = _index_at(kernel, access, d)
            if index is not None and dims[access.operand][d] == sizes[index]:
                same_sizes[f"{access.operand}_n{d}"] = f"{index}_n"
    return same_sizes


def _index_at(kernel: Computation, access: Access, d: int) -> str | None:
    """Return the loop index that indexes a dimension of an access unchanged; None if there is none."""
    node = kernel.graph.results[access.at[d]]
    source = kernel.sources[node] if kernel.graph.nodes[node].op == "parameter" else None
    if not isinstance(source, Index) or len(source.ranges) > 1:
        return None
    (name,) = source.ranges
    return None if any(axis.name == name and axis.is_pack for axis in kernel.ranges) else name


class _Accesses:
    """Analysis of how the indices of reads and writes step along the loops of a program.

    known: words that are replaced by numbers.
    """

    def __init__(self, kernel: Computation, strides: _Strides, known: Mapping[str, int | str]) -> None:
        self.kernel, self.strides = kernel, strides
        self.program = specialised(_program(kernel, strides), known)
        self.accesses: tuple[Access, ...] = (*kernel.reads, *kernel.writes)
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
            indices = _indices(self.kernel, self.strides.dimensions)
            self._repeated[lane] = frozenset(
                index for index in indices if index != lane and is_repeated(self.program, lane, index)
            )
        return self._repeated[lane]

    def steps(self, k: int, index: str) -> list[Step | None]:
        """Return the step of each dimension of access ``k`` along a loop index; reads are numbered before writes."""
        return [self.along(index)[f"p{k}_{d}"] for d in range(len(self.accesses[k].at))]

    def side(self, k: int) -> int:
        """Return the dimension of access ``k`` along which elements are contiguous, negative for none."""
        operand = self.kernel.operand(self.accesses[k].operand)
        along = len(_indices(self.kernel, self.strides.dimensions, operand.ranges))
        return self.strides.arrays[self.kernel.operands.index(operand)][1] - along

    def is_even(self, k: int, index: str) -> bool:
        """Return whether an access steps evenly along a loop index, within limits that stay constant."""
        limits = [self.along(index).get(f"limit{k}_{d}", STILL) for d in range(len(self.accesses[k].at))]
        return None not in self.steps(k, index) and all(limit == STILL for limit in limits)

    def skips_unevenly(self, lane: str) -> bool:
        """Return whether a fold skips different iterations at different points, because windows along a dimension have
        unequal lengths.
        """
        reads = [k for k, read in enumerate(self.kernel.reads) if read.padding == SKIP]
        return bool(self.kernel.loops) and any(not self.is_even(k, lane) for k in reads)

    def lies_far(self, lane: str, layout: Layout) -> bool:
        """Return whether offsets along unevenly indexed dimensions may exceed int32."""
        farthest = 1
        names = [operand.name for operand in self.kernel.operands]
        specs = dict(zip(names, (*layout.inputs, *layout.outputs), strict=True))
        dims = dict(zip(names, _dims(self.kernel, layout), strict=True))
        for k, access in enumerate(self.accesses):
            own, strides = dims[access.operand], specs[access.operand].strides or ()
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
            self.steps(k, index)[self.side(k)] == Step(1)
            for k, read in enumerate(self.kernel.reads)
            if None in self.steps(k, lane) and 0 <= self.side(k) < len(read.at)
        ]
        return len(flags) > 1 and all(flags)

    def runs_along(self, last: str, lane: str, same: Mapping[str, str]) -> bool:
        """Return whether the innermost loop is to run along the last folded dimension rather than along the lane.

        Args:
            last: the index of the dimension.
            lane: the index.
            same: sizes that equal those of loop ranges, see ``_same_sizes``.
        """
        is_along, is_scatter = False, scatters(self.kernel)
        for k, access in enumerate(self.accesses):
            if access.padding is not None and not self._is_narrowed(k, access, last, same):
                return False
            is_written = k >= len(self.kernel.reads)
            side = self.side(k)
            if 0 <= side < len(access.at) and is_written == is_scatter:
                turns = self.steps(k, last)
                is_along |= turns[side] == Step(1)
                is_same = not is_written and all(step == STILL for step in turns)  # it is loaded only once
                if self.steps(k, lane)[side] == Step(1) and not is_same:
                    return False
        return is_along

    def _is_narrowed(self, k: int, access: Access, last: str, same: Mapping[str, str]) -> bool:
        """Return whether the iterations are known in which a padded access is in bounds, or is mapped into bounds."""
        if access.padding == SKIP:
            return self.is_even(k, last)
        if access.padding not in MARGINS:
            return False
        for d, step in enumerate(self.steps(k, last)):
            index = _index_at(self.kernel, access, d)
            is_whole = index is not None and same.get(f"{access.operand}_n{d}") == f"{index}_n"
            if step != STILL and not is_whole:
                return False
        return True


@functools.lru_cache(maxsize=4096)
def _accesses(kernel: Computation, strides: _Strides, known: tuple[tuple[str, int | str], ...]) -> _Accesses:
    return _Accesses(kernel, strides, dict(known))


def own_units(kernel: Computation, strides: _Strides) -> tuple[str, ...]:
    """Return the indices that every write uses unchanged, so that different points of them write different elements."""
    units = list(_indices(kernel, strides.dimensions, kernel.operand(kernel.writes[0].operand).ranges))
    for axis in kernel.ranges:
        places = [
            [d for d in range(len(write.at)) if _index_at(kernel, write, d) == axis.name] for write in kernel.writes
        ]
        if not axis.is_inner and all(places) and len({place[0] for place in places}) == 1:
            units.append(axis.name)
    return tuple(units)


# ---------------------------------------------------------------------------------------------------------------- text


def scheduled(form: _Form) -> Program:
    """Return the scheduled loops of a form."""
    program = _program(form.kernel, form.strides)
    if structure_of(form.kernel) is not Structure.INDICES:
        return place_schedules.pointing(program, form.units, form.lane, form.tile)
    program = certain(specialised(program, dict(form.known)))
    if scatters(form.kernel) and form.repeated:
        return place_schedules.adding_in_stages(program, form.units, form.lane, form.tile, form.repeated)
    if scatters(form.kernel):
        return place_schedules.adding(program, form.units, form.lane)
    if form.repeated:
        return place_schedules.staging(program, form.units, form.lane, form.tile, form.repeated)
    if form.kernel.loops:
        return place_schedules.folding(program, form.units, form.lane, form.tile, inwards=form.inwards)
    return place_schedules.storing(program, form.units, form.lane, form.tile)


@functools.lru_cache(maxsize=4096)
def _code(form: _Form) -> engine.Code:
    def text() -> str:
        from opdsl.backends.cpu.places_text import module_ir

        return module_ir(scheduled(form), _words(form), SYMBOL)

    return engine.compile_ir(str(form), text, [SYMBOL])
