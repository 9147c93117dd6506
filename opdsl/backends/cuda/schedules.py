"""Schedules of the CUDA backend: how the threads of a grid share the loops of a kernel, by its structure.

By default one thread takes each point of the outermost loops. Threads run in no order: if several points write to one
element, one of the values stays; an update applies all of them, in any order. Teams of threads fold and scan rows; long
rows are cut into parts, which are folded first. The schedule depends on the geometry of a call alone, so that results
have the same bits on every card. Shapes and strides are parameters, so a new shape compiles nothing, except that the
number of coalesced dimensions, whether 32 bits address everything, which elements are contiguous, and whether the last
size is a multiple of a vector's are part of the source.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.element_schedules import elements_of_vector, indirect, pointwise
from opdsl.backends.cuda.kernel import Kernel, Team, is_coarse, kernel_of, team_kernel
from opdsl.backends.cuda.loop_program import ALIGNMENT, THREADS, Step, program_of
from opdsl.backends.cuda.program import Address, Argument, Program, Scratch
from opdsl.kernels.functions import with_row_strides
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import Fold, Scan, ranges_of
from opdsl.kernels.loops import schedules
from opdsl.kernels.loops.invariants import with_invariants_first
from opdsl.kernels.loops.lowering import kept_types, loops_of, without_memory
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.schedules import in_parts, shared
from opdsl.kernels.structure import Structure, structure_of
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opdsl.kernels.calls import Layout, OperandSpec, Ordering
    from opdsl.kernels.kernel import Kernel as Computation
    from opdsl.kernels.loops import model
    from opdsl.kernels.loops.making import Loops

WARP = 32

# Threads of a block when each iterates over a row: few, so that rows are spread over multiprocessors.
_THREADS_OF_ROWS = 64

# Numbers of threads, and of blocks, that keep a large card busy.
_ENOUGH_THREADS = 1 << 17
_ENOUGH_BLOCKS = 1024

# Loads that justify another lane, and loads of each lane that justify another part.
_LOADS_OF_A_LANE = 4
_LOADS_OF_A_PART = 16

# Neighbors that a lane scans (along rows, across rows), and tiles that justify another part.
_ITEMS_ALONG, _ITEMS_ACROSS = 8, 4
_TILES_OF_A_PART = 4

# Choices for the elements of a row that a lane holds, and the most registers that its elements may take.
_ITEMS = (4, 16, 32)
_REGISTERS = 96

# Elements of a tile that a block sorts in shared memory.
_TILE = 2048


def scheduled(kernel: Computation, layout: Layout) -> Program:
    """Return the program of a call: its CUDA source and launches.

    Args:
        kernel: the computation.
        layout: geometry of the operands.
    """
    return _SCHEDULES[structure_of(kernel)](kernel, layout)


def by_threads(loops: Loops, threaded: int | None = None, threads: int = THREADS) -> Program:
    """Return the program of a loop nest in which one thread takes each point.

    Args:
        loops: the loop nest.
        threaded: how many of the outermost loops are shared among threads; None for all of them.
        threads: the number of threads of a block.
    """
    program = _without_invariants(loops.program, threaded)
    return program_of({1: [Step(loops, kernel_of("loops", program), threads=threads)]})


@functools.lru_cache(maxsize=4096)
def _without_invariants(program: model.Program, threaded: int | None) -> model.Program:
    """Compute what the loops of a point do not change before them; see ``by_threads``."""
    program = program if threaded is None else schedules.threaded(program, threaded)
    return with_invariants_first(program, reciprocals=is_coarse(program))


# ------------------------------------------------------------------------------------------------------------- threads


def points(kernel: Computation, layout: Layout) -> Program:
    """Return the program of any kernel: a thread takes each point, with all iterations that belong to it."""
    outer = [
        len(sizes)
        for axis, sizes in zip(kernel.ranges, layout.sizes, strict=True)
        if axis.name in kernel.points and not axis.is_inner
    ]
    return by_threads(without_memory(loops_of(kernel, layout)), sum(outer))


def indices(kernel: Computation, layout: Layout) -> Program:
    """Return the program of a kernel with computed indices: teams fold if there are few points with long folds."""
    if _is_long_fold(kernel, layout):
        return reduction(kernel, layout)
    return points(kernel, layout)


def _is_long_fold(kernel: Computation, layout: Layout) -> bool:
    """Return whether points are few, and each is one fold along a pack of dimensions, followed by writes at the
    point.
    """
    if len(kernel.loops) != 1 or [axis.is_pack for axis in kernel.ranges] != [True, True]:
        return False
    (loop,), own = kernel.loops, kernel.points
    is_fold = isinstance(loop, Fold) and loop.over == (kernel.ranges[1].name,) and own == (kernel.ranges[0].name,)
    is_after = all(ranges_of(kernel, write) <= {*own} for write in kernel.writes)
    few = math.prod(layout.sizes[0]) * _LOADS_OF_A_LANE < math.prod(layout.sizes[1])
    return is_fold and is_after and few


# --------------------------------------------------------------------------------------------------------------- teams


class Cut(NamedTuple):
    """Partitioning of rows among teams of threads.

    along: whether the lanes of a team take neighboring elements of a row; otherwise neighboring rows go to neighboring
        threads.
    log: binary logarithm of the number of lanes of a team.
    vector: elements that are loaded at once.
    parts, part: number of parts of a row, and elements of one part.
    """

    along: bool
    log: int
    vector: int
    parts: int
    part: int


def reduction(kernel: Computation, layout: Layout) -> Program:
    """Return the program of a kernel with one fold: teams fold rows; long rows are folded in parts, then a second
    kernel folds these.
    """
    loops, form, kept = loops_of(kernel, layout), _cut_of_reduction(layout), len(layout.sizes[0])
    team = Team(form.along, form.vector)
    if form.parts == 1:
        return program_of({1: [Step(loops, team_kernel("whole", loops.program, kept, team), log=form.log)]})
    first, second = in_parts(loops, form.parts, form.part)
    log = (min(THREADS, form.parts) - 1).bit_length()
    parts = Step(first, team_kernel("parts", first.program, kept, team), log=form.log, parts=form.parts)
    return program_of({1: [parts, Step(second, team_kernel("rest", second.program, kept, Team(True, 1)), log=log)]})


def _cut_of_reduction(layout: Layout) -> Cut:
    kept, reduced = layout.sizes
    rows, count = math.prod(kept), math.prod(reduced)
    arrays = [spec for spec in layout.inputs if spec.strides is not None]
    first = max(arrays, key=lambda operand_spec: sum(map(bool, operand_spec.strides or ())))
    strides = (first.strides or ())[: len(kept) + len(reduced)]
    inner = abs(strides[-1]) if reduced else 0
    along = inner <= (abs(strides[len(kept) - 1]) if kept else inner)
    is_plain = len(arrays) == len(reduced) == 1 and not any(layout.dims)
    vector = _vector_of(first) if along and is_plain else 1
    loads = -(-count // vector)
    widest = _floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = min(_floor_log(max(1, loads // _LOADS_OF_A_LANE)), widest) if along else 0
    while log < widest and 2 << log <= loads and rows << log < _ENOUGH_THREADS:
        log += 1
    parts = _parts(rows, log, loads // (_LOADS_OF_A_PART << log))
    return _whole_parts(along, log, vector, count, -(-loads // parts) * vector)


def scan(kernel: Computation, layout: Layout) -> Program:
    """Return the program of a scan: teams scan rows tile by tile; for long rows a first kernel folds their parts. One
    thread takes each row of a scan that is not associative, step by step.
    """
    loops, kept = loops_of(kernel, layout), len(layout.sizes[0])
    if not all(loop.is_associative for loop in kernel.loops if isinstance(loop, Scan)):
        return by_threads(loops, kept, _THREADS_OF_ROWS)
    form = _cut_of_scan(layout)
    team = Team(form.along, 1, _ITEMS_ALONG if form.along else _ITEMS_ACROSS)
    if form.parts == 1:
        return program_of({1: [Step(loops, team_kernel("scans", loops.program, kept, team), log=form.log)]})
    first, second = in_parts(loops, form.parts, form.part)
    folds = team_kernel("parts", first.program, kept, Team(form.along, form.vector))
    scans = team_kernel("scans", second.program, kept, team)
    return program_of({1: [Step(*pair, log=form.log, parts=form.parts) for pair in ((first, folds), (second, scans))]})


def _cut_of_scan(layout: Layout) -> Cut:
    """Choose the partitioning of rows for a scan; a part is a whole number of tiles."""
    rows, (count,) = math.prod(layout.sizes[0]), layout.sizes[1]
    along = _runs_along(layout)
    items = _ITEMS_ALONG if along else _ITEMS_ACROSS
    shares = max(1, -(-count // items))
    widest = _floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = 0
    while log < widest and 1 << log < shares and (along or rows << log < _ENOUGH_THREADS):
        log += 1
    tile = items << log
    tiles = -(-count // tile)
    parts = _parts(rows, log, tiles // _TILES_OF_A_PART)
    return _whole_parts(along, log, _vector_of(layout.inputs[0]) if along else 1, count, -(-tiles // parts) * tile)


def _parts(rows: int, log: int, most: int) -> int:
    """Return the number of parts to cut each row into, so that there are enough blocks."""
    blocks = -(-rows // (THREADS >> log))
    return max(1, min(-(-_ENOUGH_BLOCKS // max(1, blocks)), most))


def _whole_parts(along: bool, log: int, vector: int, count: int, part: int) -> Cut:
    """Return the partitioning of rows of ``count`` elements into parts of ``part`` elements."""
    return Cut(along, log, vector, max(1, -(-count // max(1, part))), part)


def row(kernel: Computation, layout: Layout) -> Program:
    """Return the program of folds along rows: a team computes each row, loop by loop.

    Elements of rows that are short enough are held in registers, so that memory is read once and expensive values are
    computed once. Longer rows are read again for every loop, tile by tile. ``packs`` needs rows that are whole numbers
    of vectors at aligned addresses; ``rows`` computes all others.
    """
    strided, kept = with_row_strides(kernel, layout), len(layout.sizes[0])
    team, log = _team_of_row(kernel, strided)
    loops = loops_of(kernel, layout, keep=not team.tiled)
    program = _without_invariants(loops.program, kept)
    variants = {1: [Step(loops, team_kernel("rows", program, kept, team), log=log)]}
    alignment = _alignment_of_rows(strided, team.vector)
    if alignment > 1:
        packs = team_kernel("packs", program, kept, team._replace(whole=True))
        variants = {alignment: [Step(loops, packs, log=log)], **variants}
    return program_of(variants)


def _alignment_of_rows(layout: Layout, vector: int) -> int:
    """Return the alignment of addresses, in bytes, at which the elements of all rows that are contiguous form vectors;
    1 if they form none.
    """
    whole = 1
    for spec in (*layout.inputs, *layout.outputs):
        if spec.strides and spec.strides[-1] == spec.dtype.itemsize:
            size = vector * spec.dtype.itemsize
            if layout.sizes[1][0] % vector or any(step % size for step in spec.strides[:-1]):
                return 1
            whole = max(whole, size)
    return whole if vector > 1 else 1


def _team_of_row(kernel: Computation, layout: Layout) -> tuple[Team, int]:
    """Choose the team for rows; return it with the binary logarithm of its number of lanes."""
    along, (length,) = _runs_along(layout), layout.sizes[1]
    arrays = [spec for spec in (*layout.inputs, *layout.outputs) if spec.strides]
    vector = elements_of_vector(max(spec.dtype.itemsize for spec in arrays)) if along else 1
    widest = THREADS if along else THREADS // WARP
    for items in _ITEMS:
        held = max(items, vector)
        lanes = 1 << (-(-length // held) - 1).bit_length() if length else 1
        # Prefer a few elements for each lane of a warp, then many for each lane of a block.
        enough = lanes <= (WARP if items == _ITEMS[0] else widest)
        if enough and lanes <= widest and held * _words(kernel, layout) <= _REGISTERS:
            return Team(along, vector, held), _floor_log(lanes)
    return Team(along, vector, max(_ITEMS[0], vector), True), _floor_log(widest)


def _words(kernel: Computation, layout: Layout) -> int:
    """Return how many registers one element of a row takes: in all operands, and for values kept between loops."""
    specs = [spec for spec in (*layout.inputs, *layout.outputs[:1]) if spec.strides]
    return sum(-(-spec.dtype.itemsize // 4) for spec in specs) + sum(-(-kind.bits // 32) for kind in kept_types(kernel))


def _runs_along(layout: Layout) -> bool:
    """Return whether elements of a row are closer in memory than rows are, judged by the smallest strides of the
    operands.
    """

    def closest(place: int) -> int:
        steps = [abs(spec.strides[place]) for spec in (*layout.inputs, *layout.outputs) if spec.strides]
        return min((step for step in steps if step), default=0)

    kept, (length,) = layout.sizes
    return not kept or length == 1 or closest(-1) <= closest(-2)


def _vector_of(spec: OperandSpec) -> int:
    """Return how many elements along the last dimension are loaded at once."""
    size = spec.dtype.itemsize
    return elements_of_vector(size) if spec.strides and spec.strides[-1] == size else 1


def _floor_log(value: int) -> int:
    """Return the binary logarithm of a positive integer, rounded down.

    >>> _floor_log(1), _floor_log(7), _floor_log(8)
    (0, 2, 3)
    """
    return value.bit_length() - 1


# -------------------------------------------------------------------------------------------------------------- blocks


def order(ordering: Ordering, layout: Layout) -> Program:
    """Return the program of a stable sort of rows; NaN is the largest value."""
    steps, scratch, shape = sorting(ordering, layout, ScalarType(precision_of(layout.inputs[0].dtype).name), _TILE)
    size = -(-8 * math.prod(shape) // ALIGNMENT) * ALIGNMENT
    operands = ("source", "values", "indices")
    memory: dict[str, Argument] = {name: Address(k) for k, name in enumerate(operands)}
    memory |= {name: Scratch(k * size) for k, name in enumerate(scratch)}
    blocks = [Step(loops, _block(loops.program), [memory[name] for name in names]) for loops, names in steps]
    return program_of({1: blocks}, arrays=(True,) * len(operands), scratch=len(scratch) * size)


@functools.lru_cache(maxsize=1024)
def _block(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))


_SCHEDULES: Mapping[Structure, Callable[[Computation, Layout], Program]] = {
    Structure.ELEMENTS: pointwise,
    Structure.GATHER: indirect,
    Structure.FOLD: reduction,
    Structure.ROWS: row,
    Structure.SCAN: scan,
    Structure.INDICES: indices,
    Structure.ANY: indices,
}
