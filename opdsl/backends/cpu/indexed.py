"""Kernels that read or write arrays at computed indices, and all that no other schedule is made for: the choice of a
schedule, and the plan of a call.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.accesses import (
    Accesses,
    Strides,
    accesses_of,
    dimensions_of,
    index_at,
    indices_of,
    is_one,
    own_sizes,
    own_units,
    program_of,
    sizes_of,
    strides_of,
)
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import grain_of, graph_cost
from opdsl.backends.cpu.pointwise import planned_outputs, signature_of
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.kernel import SKIP, Fold, Operand
from opdsl.kernels.kernel import Kernel as Computation
from opdsl.kernels.loops import place_schedules
from opdsl.kernels.loops.joining import joined
from opdsl.kernels.loops.lowering import extra_names, extra_words
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.peeling import certain
from opdsl.kernels.loops.place_schedules import Repeated
from opdsl.kernels.loops.rewriting import specialised
from opdsl.kernels.loops.stepping import steps_along
from opdsl.kernels.structure import Structure, scatters, structure_of
from opdsl.runtime.symbol import largest
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


class _Form(NamedTuple):
    """Key by which a kernel is compiled.

    lane: the index of the innermost loop.
    units: the indices of the outermost loops, whose points are divided among threads.
    known: words that are replaced by numbers, or by other words.
    inwards: see ``place_schedules.folding``.
    repeated: see ``place_schedules.staging``.
    """

    kernel: Computation
    strides: Strides
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
    sizes = sizes_of(one, placed)
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
    """Return a layout in which packs without dimensions have a dimension of size 1, where loops are scheduled along
    them: one pack of points if no other range of points has dimensions, and packs that are folded.
    """
    folded = {name for fold in kernel.loops if isinstance(fold, Fold) for name in fold.over}
    points = [k for k, axis in enumerate(kernel.ranges) if axis.name in kernel.points]
    empty = [k for k, axis in enumerate(kernel.ranges) if axis.is_pack and not layout.sizes[k]]
    first = [] if any(layout.sizes[k] for k in points) else [k for k in empty if k in points][:1]
    for pack in (*first, *(k for k in empty if kernel.ranges[k].name in folded)):
        layout = _with_dimension(kernel, layout, pack)
    return layout


def _with_dimension(kernel: Computation, layout: Layout, pack: int) -> Layout:
    """Return a layout in which a pack without dimensions has one of size 1."""
    name, dimensions = kernel.ranges[pack].name, dimensions_of(layout)

    def led(operand: Operand, spec: OperandSpec) -> OperandSpec:
        if spec.strides is None or name not in operand.ranges:
            return spec
        first = len(indices_of(kernel, dimensions, operand.ranges[: operand.ranges.index(name)]))
        return spec._replace(strides=(*spec.strides[:first], 0, *spec.strides[first:]))

    specs = tuple(map(led, kernel.operands, (*layout.inputs, *layout.outputs)))
    count = len(layout.inputs)
    sizes = (*layout.sizes[:pack], (1,), *layout.sizes[pack + 1 :])
    return layout._replace(sizes=sizes, inputs=specs[:count], outputs=specs[count:])


def _details(kernel: Computation, layout: Layout) -> list[int]:
    """Return the words of a plan that the kernel reads: sizes, integer arguments, then strides and sizes of each
    operand.
    """
    details = [*(size for pack in layout.sizes for size in pack), *extra_words(kernel, layout)]
    for spec, dims in zip((*layout.inputs, *layout.outputs), own_sizes(kernel, layout), strict=True):
        details += [*(spec.strides or ()), *dims]
    return details


def _words(form: _Form) -> list[str]:
    """Return the names of the words of ``_details``, in the same order."""
    kernel, dimensions = form.kernel, form.strides.dimensions
    words = [f"{index}_n" for index in indices_of(kernel, dimensions)]
    words += extra_names(kernel, dimensions)
    for operand in kernel.operands:
        if operand.name not in kernel.numbers:
            along = len(indices_of(kernel, dimensions, operand.ranges))
            words += [f"{operand.name}_s{d}" for d in range(along + operand.dims)]
            words += [f"{operand.name}_n{d}" for d in range(operand.dims)]
    return words


# --------------------------------------------------------------------------------------------------------------- forms


def _form(kernel: Computation, layout: Layout) -> _Form:
    strides = strides_of(kernel, layout)
    if structure_of(kernel) is not Structure.INDICES:
        # Two points may write the same element, so a loop that writes at computed indices is not divided.
        points = () if scatters(kernel) else indices_of(kernel, strides.dimensions, kernel.points)
        return _Form(kernel, strides, points[-1] if points else "", points[:-1], (), False, None)
    inner = _inner(kernel)
    points = indices_of(kernel, strides.dimensions, [name for name in kernel.points if name not in inner])
    turns = indices_of(kernel, strides.dimensions, inner)
    sizes = sizes_of(kernel, layout)
    lane = next((index for index in reversed(points) if not is_one(sizes[index])), (points or turns)[-1])
    is_scatter = scatters(kernel)
    lane = _written_along(kernel, strides, points) or lane
    program = program_of(kernel, strides)
    known = _known_steps(kernel, program, layout, {lane, (turns or points)[-1]})
    accesses = accesses_of(kernel, strides, known)
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
    """Return the ranges whose iterations belong to one point: those of folds, and those that are marked so in a kernel
    that writes at computed indices.
    """
    folded = {name for fold in kernel.loops if isinstance(fold, Fold) for name in fold.over}
    marked = {axis.name for axis in kernel.ranges if axis.is_inner} if scatters(kernel) else set()
    return frozenset(folded | marked)


def _written_along(kernel: Computation, strides: Strides, points: Sequence[str]) -> str | None:
    """Return the index of points along which the output is contiguous; None if there is none."""
    write = kernel.writes[0] if not scatters(kernel) else kernel.writes[-1]
    operand = kernel.operand(write.operand)
    along = indices_of(kernel, strides.dimensions, operand.ranges)
    side = strides.arrays[kernel.operands.index(operand)][1]
    return along[side] if 0 <= side < len(along) and along[side] in points else None


def _repeated(kernel: Computation, accesses: Accesses, lane: str, layout: Layout) -> Repeated | None:
    """Return a dimension of the result along which computed array indices repeat, if computing them only once pays.

    Returns None if an array is empty, where an out-of-bounds index has no element to point to.
    """
    is_empty = any(size == 0 for own in layout.dims[: len(layout.inputs)] for size in own)
    if _inner(kernel) or is_empty or any(read.padding == SKIP for read in kernel.reads):
        return None
    sizes = sizes_of(kernel, layout)
    repeated = accesses.repeated(lane)
    points = indices_of(kernel, dimensions_of(layout), kernel.points)
    index = next((index for index in reversed(points) if index in repeated and sizes[index] >= 2), None)
    if index is None:
        return None
    inwards = not scatters(kernel) and accesses.lies_along(lane, index) and bool(sizes[index] >= _FILLING)
    return Repeated(index, ScalarType.INT64 if accesses.lies_far(lane, layout) else ScalarType.INT32, inwards)


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
    sizes = sizes_of(kernel, layout)
    dims = dict(zip((operand.name for operand in kernel.operands), own_sizes(kernel, layout), strict=True))
    for access in (*kernel.reads, *kernel.writes):
        for d in range(len(access.at)) if access.padding is not None else ():
            index = index_at(kernel, access, d)
            if index is not None and dims[access.operand][d] == sizes[index]:
                same_sizes[f"{access.operand}_n{d}"] = f"{index}_n"
    return same_sizes


# ---------------------------------------------------------------------------------------------------------------- text


def scheduled(form: _Form) -> Program:
    """Return the scheduled loops of a form."""
    program = program_of(form.kernel, form.strides)
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
