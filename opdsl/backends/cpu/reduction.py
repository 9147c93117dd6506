"""Reductions: the graphs of a monoid and a call's geometry become a built-in function.

How elements are grouped depends on the geometry alone: the same call gives the same bits with any number of threads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.builtin import Kernel, Table, Work
from opdsl.backends.cpu.cost import graph_cost
from opdsl.backends.cpu.folds import SYMBOLS, FoldSignature, constants, module_ir
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.cpu.machine.reduce import ACROSS, ALONG, FULL_SET, ORDERED, ROWS, ReducePlan
from opdsl.backends.cpu.operands import Operand
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, number_input, planned_outputs
from opdsl.runtime.symbol import is_symbol, largest, smallest

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, ReductionCall
    from opdsl.scalar.graph import TypedGraph

# Lanes when they are kept elements, and when they are parts of the folded ones.
_LANES_ACROSS = 1024
_LANES_ALONG = 64
_LANES_ORDERED = 16

_POWERS = tuple(1 << power for power in range(_LANES_ALONG.bit_length() - 1, 0, -1))

# Contiguous rows up to this length are folded one after the other by code that does nothing else.
_LONGEST_SHORT_ROW = 2048
# Their elements that are worth a task.
_TILE_OF_ROWS = 16_384

# Fewer kept elements side by side, or folded elements in a row, than this do not fill lanes.
_FEWEST_ACROSS = 8
_FEWEST_ALONG = 32

# Steps of a block, elements of a block of ordered lanes.
_STEPS_OF_A_BLOCK = FULL_SET
_ORDERED_BLOCK = 4096

# Elements that are worth a chunk of their own, and the tasks that are enough without chunks.
_CHUNK = 1 << 16
_ENOUGH_TASKS = 32


class Rows(NamedTuple):
    """Dimensions as a row of ``length`` and those around it; strides are lists over operands.

    length, strides: of the row. sizes, outer: of the dimensions around it.
    """

    length: int
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    outer: tuple[tuple[int, ...], ...]


class Shape(NamedTuple):
    """How a reduction is cut.

    kind: ACROSS, ALONG or ORDERED (see machine/reduce.py). lanes: of a set. block: elements of a row in a block.
    row_blocks: blocks of a row. blocks: of a tile. chunks: of a tile. chunk_blocks: blocks of a chunk.
    tiles: all. row_tiles: tiles of a kept row.
    """

    kind: int
    lanes: int
    block: int
    row_blocks: int
    blocks: int
    chunks: int
    chunk_blocks: int
    tiles: int
    row_tiles: int


def reduction(folding: Folding, call: ReductionCall) -> Kernel:
    """Compile (or find) the functions of a reduction for a call's dtypes, and plan its geometry.

    Args:
        folding: the monoid.
        call: where the operands lie.

    Returns:
        A built-in function of the inputs, the numbers and the given outputs, which returns the output or, of several, a
        tuple.
    """
    kept = _rows(call.kept, [each.strides for each in (*call.inputs, *call.outputs)])
    folded = _rows(call.reduced, [(each.strides or ())[len(call.kept) :] for each in call.inputs])
    shape = _cut(kept, folded, call, folding.in_order)
    signature = _signature(folding, call, shape, (kept if shape.kind == ACROSS else folded).strides)
    code = fold_code(folding.lift, folding.combine, folding.finish, signature)
    count = math.prod(folded.sizes) * folded.length
    work = _work(shape, kept, folded, count, signature, code, _cost(folding))
    inputs = [*([builtin.ARRAY] * len(call.inputs)), *(number_input(kind) for kind in signature.numbers)]
    return builtin.builtin(f"{folding.combine.name}_cpu", work, inputs, planned_outputs(call), [code])


def _rows(sizes: Sequence[int], strides: Sequence[tuple[int, ...] | None]) -> Rows:
    if not sizes:
        return Rows(1, (0,) * len(strides), (), ())
    last = len(sizes) - 1
    by_dimension = tuple(tuple((each or ())[d] for each in strides) for d in range(len(sizes)))
    return Rows(sizes[last], by_dimension[last], tuple(sizes[:last]), by_dimension[:last])


def _cut(kept: Rows, folded: Rows, call: ReductionCall, in_order: bool) -> Shape:
    kind = _kind(kept, folded, call, in_order)
    if kind == ACROSS:
        lanes, tile, block = _LANES_ACROSS, _LANES_ACROSS, _STEPS_OF_A_BLOCK
    elif kind == ALONG:
        lanes = next((each for each in _POWERS if folded.length >= each), 1)
        tile, block = 1, lanes * _STEPS_OF_A_BLOCK
    elif kind == ROWS:
        tile = largest(1, smallest(_LANES_ALONG, _TILE_OF_ROWS // largest(1, folded.length)))
        lanes, block = tile, _LONGEST_SHORT_ROW
    else:
        lanes, tile, block = _LANES_ORDERED, 1, _ORDERED_BLOCK
    rows = math.prod(folded.sizes)
    row_tiles = -(-kept.length // tile)
    tiles = row_tiles * math.prod(kept.sizes)
    row_blocks = -(-folded.length // block)
    blocks = rows * row_blocks
    chunks = _chunks(tiles, blocks, smallest(tile, kept.length) * rows * folded.length)
    chunk_blocks = -(-blocks // chunks) if chunks else 0
    chunks = largest(1, -(-blocks // chunk_blocks)) if chunk_blocks else 1
    return Shape(kind, lanes, block, row_blocks, blocks, chunks, chunk_blocks, tiles, row_tiles)


def _kind(kept: Rows, folded: Rows, call: ReductionCall, in_order: bool) -> int:
    along, first = ORDERED if in_order else ALONG, _leading(call)
    sizes = [each.dtype.itemsize for each in call.inputs]
    is_short = not (in_order or folded.sizes) and all(map(_is_known, folded.strides, sizes))
    if is_short and folded.length <= _LONGEST_SHORT_ROW:
        along = ROWS
    if kept.length < _FEWEST_ACROSS:
        return along
    if kept.strides[first] == sizes[first] or folded.length < _FEWEST_ALONG:
        return ACROSS
    return along if folded.strides[first] <= kept.strides[first] else ACROSS


def _leading(call: ReductionCall) -> int:
    """The input by which lanes are chosen: one that is read along most dimensions."""
    places = range(len(call.inputs))
    return max(places, key=lambda at: sum(not _is_still(each) for each in call.inputs[at].strides or ()))


def _is_still(stride: int) -> bool:
    return not is_symbol(stride) and stride == 0


def _is_known(stride: int, itemsize: int) -> bool:
    """Whether a stride is one that code is printed for: that of neighbours, or of an element that is read again."""
    return _is_still(stride) or stride == itemsize


def _chunks(tiles: int, blocks: int, elements: int) -> int:
    """In how many chunks a tile of so many elements is cut; only few and large tiles are."""
    if tiles == 0 or tiles >= _ENOUGH_TASKS or elements < 2 * _CHUNK:
        return 1
    chunks: int = largest(1, smallest(blocks, elements // _CHUNK, 4 * _ENOUGH_TASKS))
    return chunks


def _signature(folding: Folding, call: ReductionCall, shape: Shape, lane_strides: Sequence[int]) -> FoldSignature:
    results = zip(call.outputs, folding.finish.result_types, strict=True)
    accumulators = tuple(str(kind) for kind in folding.combine.result_types)
    ordered, across = shape.kind == ORDERED, shape.kind == ACROSS
    read = [(each.dtype, stride) for each, stride in zip(call.inputs, lane_strides, strict=False)]
    strides = tuple(
        (0 if _is_still(stride) else dtype.itemsize) if not ordered and _is_known(stride, dtype.itemsize) else None
        for dtype, stride in read
    )
    kinds = (str(kind) for _, kind in folding.lift.parameters[: len(call.inputs)])
    return FoldSignature(
        tuple(Operand(dtype.name, kind) for (dtype, _), kind in zip(read, kinds, strict=True)),
        strides,
        folding.with_index,
        accumulators,
        constants(folding.init, accumulators),
        tuple(str(kind) for _, kind in folding.finish.parameters[len(accumulators) + 1 :]),
        folding.lifted_numbers,
        tuple(Operand(spec.dtype.name, str(kind)) for spec, kind in results),
        shape.lanes if across else _LANES_ALONG,
        ordered,
        None not in strides and not across,
        shape.kind == ROWS,
    )


def _cost(folding: Folding) -> int:
    """What one element costs, in additions."""
    return graph_cost(folding.lift) + graph_cost(folding.combine) - 1


def _work(
    shape: Shape, kept: Rows, folded: Rows, count: int, signature: FoldSignature, code: engine.Code, cost: int
) -> Work:
    tasks = shape.tiles * shape.chunks
    total = math.prod(kept.sizes) * kept.length * count * cost
    share = largest(1, -(-SHARE_OF_A_THREAD * tasks // largest(1, total)))
    shared = native.code()
    return Work(
        loop=shared.address("reduce"),
        elements=tasks,
        grain=share if total >= PARALLEL_FROM and tasks > 1 else 0,
        scratch=tasks * signature.set_size if shape.chunks > 1 else 0,
        after=shared.address("reduce_complete") if shape.chunks > 1 else 0,
        details=_details(shape, kept, folded, count, signature, code),
    )


def _details(
    shape: Shape, kept: Rows, folded: Rows, count: int, signature: FoldSignature, code: engine.Code
) -> list[int | Table]:
    """The words of a plan that the driver reads."""
    return words(
        ReducePlan,
        fold=code.address("fold"),
        combine=code.address("combine_sets"),
        reset=code.address("reset"),
        collapse=code.address("collapse"),
        finish=code.address("finish_set"),
        bytes=signature.set_size,
        kind=shape.kind,
        lanes=shape.lanes,
        chunks=shape.chunks,
        blocks=shape.blocks,
        chunk_blocks=shape.chunk_blocks,
        row_blocks=largest(1, shape.row_blocks),
        block=shape.block,
        row_length=folded.length,
        row_strides=Table(folded.strides),
        around=len(folded.sizes),
        around_sizes=Table(folded.sizes),
        around_strides=Table([stride for each in folded.outer for stride in each]),
        count=count,
        tiles=shape.tiles,
        row_tiles=largest(1, shape.row_tiles),
        kept_length=kept.length,
        kept_strides=Table(kept.strides),
        outer=len(kept.sizes),
        outer_sizes=Table(kept.sizes),
        outer_strides=Table([stride for each in kept.outer for stride in each]),
        arrays=len(signature.inputs),
        results=len(signature.outputs),
        numbers=len(signature.numbers),
        rows=code.address("fold_rows"),
    )


@functools.lru_cache(maxsize=4096)
def fold_code(lift: TypedGraph, combine: TypedGraph, finish: TypedGraph, signature: FoldSignature) -> engine.Code:
    """The functions of a reduction."""
    graphs = {"lift": lift, "combine": combine, "finish": finish}

    def text() -> str:
        from opdsl.backends.cpu.printer import declarations, function_ir

        functions = [function_ir(graph, name) for name, graph in graphs.items()]
        return module_ir(signature, functions, [line for graph in graphs.values() for line in declarations(graph)])

    prints = " ".join(graph.fingerprint for graph in graphs.values())
    return engine.compile_ir(f"reduction {prints} {signature}", text, SYMBOLS)
