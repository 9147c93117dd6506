"""Schedules of the CUDA backend: how the threads of a grid share the loops of a call, for each kind of kernel.

By default one thread takes each point of the outermost loops. Threads run in no order: if several points write to one
element, one of the values stays; an update applies all of them, in any order. Teams of threads fold and scan rows; long
rows are cut into parts, which are folded first. The schedule depends on the geometry of a call alone, so that results
have the same bits on every card. Shapes and strides are parameters, so a new shape compiles nothing; the number of
coalesced dimensions, whether 32 bits address everything, and which elements are contiguous are part of the source.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cuda.kernel import Kernel, Team, kernel_of, team_kernel
from opdsl.backends.cuda.loop_program import ALIGNMENT, THREADS, Step, program_of
from opdsl.backends.cuda.program import Address, Argument, Program, Scratch
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.loops import schedules
from opdsl.kernels.loops.kinds import LOOPS
from opdsl.kernels.loops.model import Array
from opdsl.kernels.loops.ordering import sorting
from opdsl.kernels.loops.schedules import in_parts, shared
from opdsl.scalar.rows import row_program
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from typing import Any

    from opdsl.kernels.calls import (
        Folding,
        IndexedCall,
        IndexedLoop,
        IndirectCall,
        OperandSpec,
        Ordering,
        PointwiseCall,
        Recurring,
        ReductionCall,
        RowCall,
        Scanning,
    )
    from opdsl.kernels.loops import model
    from opdsl.kernels.loops.making import Loops
    from opdsl.scalar.graph import TypedGraph

WARP = 32

# Threads of a block when each iterates over a row: few, so that rows are spread over multiprocessors.
_THREADS_OF_ROWS = 64

# Numbers of threads, and of blocks, that keep a large card busy.
_ENOUGH_THREADS = 1 << 17
_ENOUGH_BLOCKS = 1024

# The most bytes, and elements, that a thread loads or stores at once.
_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

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


def scheduled(kind: str, what: Any, call: Any) -> Program:
    """Return the program of a call: its CUDA source and launches.

    Args:
        kind: kind of kernel, a method name of ``kernels.compiler.Compiler``.
        what: the scalar graph or other description of the computation.
        call: geometry of the operands.
    """
    schedule = _SCHEDULES.get(kind)
    program: Program = by_threads(LOOPS[kind](what, call)) if schedule is None else schedule(what, call)
    return program


def by_threads(loops: Loops, threaded: int | None = None, threads: int = THREADS) -> Program:
    """Return the program of a loop nest in which one thread takes each point.

    Args:
        loops: the loop nest.
        threaded: how many of the outermost loops are shared among threads; None for all of them.
        threads: the number of threads of a block.
    """
    program = loops.program if threaded is None else schedules.threaded(loops.program, threaded)
    return program_of({1: [Step(loops, kernel_of("loops", program), threads=threads)]})


# ------------------------------------------------------------------------------------------------------------- threads


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Program:
    """Return the program that applies a scalar graph to each element, with two kernels if all operands are contiguous.

    ``vectors`` loads and stores up to 128 bits at once, if all arrays begin at multiples of that many bytes.
    ``strided`` computes the offset of each element, and is the only kernel for operands that are not contiguous.
    """
    loops = LOOPS["pointwise"](graph, call if call.sizes else _of_one(call))
    kernels = _elementwise(loops.program, len(call.outputs))
    return program_of({alignment: [Step(loops, kernel)] for alignment, kernel in kernels.items()})


@functools.lru_cache(maxsize=4096)
def _elementwise(program: model.Program, outputs: int) -> dict[int, Kernel]:
    """Return the kernels of a loop around a scalar graph, by the alignment in bytes that they require."""
    strided = kernel_of("strided", program)
    arrays = [parameter for parameter in program.parameters if isinstance(parameter, Array)]
    read, written = arrays[:-outputs], arrays[-outputs:]
    is_flat = all(tensor.strides in ((0,), (1,)) for tensor in read) and all(
        tensor.strides == (1,) for tensor in written
    )
    if not is_flat:
        return {1: strided}
    largest = max(tensor.dtype.itemsize for tensor in arrays)
    elements = _elements(largest)
    return {elements * largest: Kernel("vectors", schedules.vectorised(program, elements), None), 1: strided}


def _of_one(call: PointwiseCall) -> PointwiseCall:
    """Return a call of a single element without dimensions as a call with one dimension of size 1."""

    def lying(spec: OperandSpec) -> OperandSpec:
        return spec if spec.strides is None else spec._replace(strides=(spec.dtype.itemsize,))

    return call._replace(sizes=(1,), inputs=(*map(lying, call.inputs),), outputs=(*map(lying, call.outputs),))


def indirect(graph: TypedGraph, call: IndirectCall) -> Program:
    """Return the program of a loop with index tensors: ``gather``, ``scatter``, ``x[indices]``."""
    loops = LOOPS["indirect"](graph, call)
    return program_of({1: [Step(loops, kernel_of("indirect", schedules.vectorised(loops.program, _neighbours(call))))]})


def _neighbours(call: IndirectCall) -> int:
    """Return how many neighboring elements a thread takes, which share the values of the index tensors."""
    is_update = call.writes and call.reads is not None
    if is_update or not call.sizes or any(spec.strides and spec.strides[-1] for spec in call.positions):
        return 1
    specs = {k: spec for k, spec in enumerate((*call.inputs, call.output)) if spec.strides is not None}
    for k, spec in specs.items():
        step = (spec.strides or (0,))[-1]
        if step != spec.dtype.itemsize and (step or k in (call.reads, len(call.inputs))):
            return 1
    return math.gcd(call.sizes[-1], _elements(max(spec.dtype.itemsize for spec in specs.values())))


def _elements(size: int) -> int:
    """Return how many elements a thread takes together, given the bytes of the largest element."""
    return max(1, min(_LARGEST_VECTOR // size, _MOST_ELEMENTS))


def indexed(loop: IndexedLoop, call: IndexedCall) -> Program:
    """Return the program of a function of indices: a thread takes all iterations for one index tuple of the result."""
    return by_threads(LOOPS["indexed"](loop, call), len(call.leading) + loop.at)


def recurrence(recurring: Recurring, call: RowCall) -> Program:
    """Return the program of a recurrence: one thread takes each row, step by step."""
    return by_threads(LOOPS["recurrence"](recurring, call), len(call.kept), _THREADS_OF_ROWS)


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


def reduction(folding: Folding, call: ReductionCall) -> Program:
    """Return the program of a reduction: teams fold rows; long rows are folded in parts, then a second kernel folds
    these.
    """
    loops, form, kept = LOOPS["reduction"](folding, call), _cut_of_reduction(call), len(call.kept)
    team = Team(form.along, form.vector)
    if form.parts == 1:
        return program_of({1: [Step(loops, team_kernel("whole", loops.program, kept, team), log=form.log)]})
    first, second = in_parts(loops, form.parts, form.part)
    log = (min(THREADS, form.parts) - 1).bit_length()
    parts = Step(first, team_kernel("parts", first.program, kept, team), log=form.log, parts=form.parts)
    return program_of({1: [parts, Step(second, team_kernel("rest", second.program, kept, Team(True, 1)), log=log)]})


def _cut_of_reduction(call: ReductionCall) -> Cut:
    rows, count = math.prod(call.kept), math.prod(call.reduced)
    first = max(call.inputs, key=lambda operand_spec: sum(map(bool, operand_spec.strides or ())))
    strides = first.strides or ()
    inner = abs(strides[-1]) if call.reduced else 0
    along = inner <= (abs(strides[len(call.kept) - 1]) if call.kept else inner)
    vector = _vector_of(first) if along and len(call.inputs) == len(call.reduced) == 1 else 1
    loads = -(-count // vector)
    widest = _floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = min(_floor_log(max(1, loads // _LOADS_OF_A_LANE)), widest) if along else 0
    while log < widest and 2 << log <= loads and rows << log < _ENOUGH_THREADS:
        log += 1
    parts = _parts(rows, log, loads // (_LOADS_OF_A_PART << log))
    return _whole_parts(along, log, vector, count, -(-loads // parts) * vector)


def scan(scanning: Scanning, call: RowCall) -> Program:
    """Return the program of a scan: teams scan rows tile by tile; for long rows a first kernel folds their parts."""
    loops, form, kept = LOOPS["scan"](scanning, call), _cut_of_scan(call), len(call.kept)
    team = Team(form.along, 1, _ITEMS_ALONG if form.along else _ITEMS_ACROSS)
    if form.parts == 1:
        return program_of({1: [Step(loops, team_kernel("scans", loops.program, kept, team), log=form.log)]})
    first, second = in_parts(loops, form.parts, form.part)
    folds = team_kernel("parts", first.program, kept, Team(form.along, form.vector))
    scans = team_kernel("scans", second.program, kept, team)
    return program_of({1: [Step(*pair, log=form.log, parts=form.parts) for pair in ((first, folds), (second, scans))]})


def _cut_of_scan(call: RowCall) -> Cut:
    """Choose the partitioning of rows for a scan; a part is a whole number of tiles."""
    rows, count = math.prod(call.kept), call.length
    along = _runs_along(call)
    items = _ITEMS_ALONG if along else _ITEMS_ACROSS
    shares = max(1, -(-count // items))
    widest = _floor_log(THREADS if along else max(THREADS // WARP, THREADS // max(1, rows)))
    log = 0
    while log < widest and 1 << log < shares and (along or rows << log < _ENOUGH_THREADS):
        log += 1
    tile = items << log
    tiles = -(-count // tile)
    parts = _parts(rows, log, tiles // _TILES_OF_A_PART)
    return _whole_parts(along, log, _vector_of(call.inputs[0]) if along else 1, count, -(-tiles // parts) * tile)


def _parts(rows: int, log: int, most: int) -> int:
    """Return the number of parts to cut each row into, so that there are enough blocks."""
    blocks = -(-rows // (THREADS >> log))
    return max(1, min(-(-_ENOUGH_BLOCKS // max(1, blocks)), most))


def _whole_parts(along: bool, log: int, vector: int, count: int, part: int) -> Cut:
    """Return the partitioning of rows of ``count`` elements into parts of ``part`` elements."""
    return Cut(along, log, vector, max(1, -(-count // max(1, part))), part)


def row(graph: TypedGraph, call: RowCall) -> Program:
    """Return the program of a row function: a team computes each row, stage by stage.

    Elements of rows that are short enough are held in registers, so that memory is read once and expensive values are
    computed once. Longer rows are read again for every stage, tile by tile.
    """
    team, log = _team_of_row(graph, call)
    loops = LOOPS["row"](graph, call, keep=not team.tiled)
    return program_of({1: [Step(loops, team_kernel("rows", loops.program, len(call.kept), team), log=log)]})


def _team_of_row(graph: TypedGraph, call: RowCall) -> tuple[Team, int]:
    """Choose the team for a row function; return it with the binary logarithm of its number of lanes."""
    along = _runs_along(call)
    vector = (
        _elements(max(spec.dtype.itemsize for spec in (*call.inputs, *call.outputs) if spec.strides)) if along else 1
    )
    widest = THREADS if along else THREADS // WARP
    for items in _ITEMS:
        held = max(items, vector)
        lanes = 1 << (-(-call.length // held) - 1).bit_length() if call.length else 1
        # Prefer a few elements for each lane of a warp, then many for each lane of a block.
        enough = lanes <= (WARP if items == _ITEMS[0] else widest)
        if enough and lanes <= widest and held * _words(graph, call) <= _REGISTERS:
            return Team(along, vector, held), _floor_log(lanes)
    return Team(along, vector, max(_ITEMS[0], vector), True), _floor_log(widest)


def _words(graph: TypedGraph, call: RowCall) -> int:
    """Return how many registers one element of a row takes: in all operands, and for values kept between stages."""
    specs = [spec for spec in (*call.inputs, *call.outputs[:1]) if spec.strides]
    kept = _kept_words(graph, sum(spec.strides is not None for spec in call.inputs))
    return sum(-(-spec.dtype.itemsize // 4) for spec in specs) + kept


@functools.lru_cache(maxsize=1024)
def _kept_words(graph: TypedGraph, arrays: int) -> int:
    stages = row_program(graph, arrays, keep=True).stages
    return sum(-(-kind.bits // 32) for stage in stages for kind in stage.graph.result_types[len(stage.folds) :])


def _runs_along(call: RowCall) -> bool:
    """Return whether elements of a row are closer in memory than rows are, judged by the smallest strides of the
    operands.
    """

    def closest(place: int) -> int:
        steps = [abs(input.strides[place]) for input in (*call.inputs, *call.outputs) if input.strides]
        return min((step for step in steps if step), default=0)

    return not call.kept or call.length == 1 or closest(-1) <= closest(-2)


def _vector_of(spec: OperandSpec) -> int:
    """Return how many elements along the last dimension are loaded at once."""
    size = spec.dtype.itemsize
    return _elements(size) if spec.strides and spec.strides[-1] == size else 1


def _floor_log(value: int) -> int:
    """Return the binary logarithm of a positive integer, rounded down.

    >>> _floor_log(1), _floor_log(7), _floor_log(8)
    (0, 2, 3)
    """
    return value.bit_length() - 1


# -------------------------------------------------------------------------------------------------------------- blocks


def order(ordering: Ordering, call: RowCall) -> Program:
    """Return the program of a stable sort of rows; NaN is the largest value."""
    steps, scratch, shape = sorting(ordering, call, ScalarType(precision_of(call.inputs[0].dtype).name), _TILE)
    size = -(-8 * math.prod(shape) // ALIGNMENT) * ALIGNMENT
    operands = ("source", "values", "indices")
    memory: dict[str, Argument] = {name: Address(k) for k, name in enumerate(operands)}
    memory |= {name: Scratch(k * size) for k, name in enumerate(scratch)}
    blocks = [Step(loops, _block(loops.program), [memory[name] for name in names]) for loops, names in steps]
    return program_of({1: blocks}, arrays=(True,) * len(operands), scratch=len(scratch) * size)


@functools.lru_cache(maxsize=1024)
def _block(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))


_SCHEDULES = {
    function.__name__: function for function in (pointwise, indirect, indexed, recurrence, reduction, scan, row, order)
}
