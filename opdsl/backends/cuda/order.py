"""Programs that sort rows, or find what comes first in their order.

A block sorts a tile in shared memory, tiles of longer rows are merged: that is printed from the loop IR. Where few
elements of a longer row are wanted, blocks take parts of it and keep those that come first, until one block has those
of the whole row.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.kernel import Kernel, kernel_of
from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.loop_program import THREADS, sequence
from opdsl.backends.cuda.program import Address, Argument, Launch, Program, Scratch, Source, Variant, packed
from opdsl.backends.cuda.storage import stored_type
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.loops.ordering import SCRATCH, sorting
from opdsl.kernels.loops.schedules import shared
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Ordering, RowCall
    from opdsl.kernels.loops import model

__all__ = ["order"]

# Elements of a tile, as in ``order.cuh``.
_TILE = 2048

# The most elements that a block keeps of the part of a row; how long a part is at least, so that most elements come too
# late to be kept; how many blocks are enough for a GPU.
_MOST_KEPT = _TILE // 2
_SHORTEST_PART = 16 * _TILE
_MOST_BLOCKS = 1024

# Of arrays in scratch memory, in bytes.
_ALIGNMENT = 16

_OPERANDS = (Address(0), Address(1), Address(2))


def order(ordering: Ordering, call: RowCall) -> Program:
    """The program that sorts rows, equal elements left in order, NaN the largest.

    Args:
        ordering: which elements of a row are wanted.
        call: one input; the outputs are its elements in order and their places, int64.
    """
    rows = math.prod(call.kept)
    if rows and 0 < ordering.wanted <= _MOST_KEPT and call.length > _TILE:
        return _few(ordering, call, rows)
    steps, scratch = sorting(ordering, call, ScalarType(precision_of(call.inputs[0].dtype).name), _TILE)
    size = -(-8 * math.prod(scratch or (0,)) // _ALIGNMENT) * _ALIGNMENT
    memory: dict[str, Argument] = dict(zip(("source", "values", "indices"), _OPERANDS, strict=True))
    memory |= {name: Scratch(k * size) for k, name in enumerate(SCRATCH)}
    made = [
        (loops, _kernel(loops.program), [memory[name] for name in names])
        for loops, names in (steps if rows and ordering.wanted else ())
    ]
    return sequence(made, len(_OPERANDS), len(SCRATCH) * size)


@functools.lru_cache(maxsize=1024)
def _kernel(program: model.Program) -> Kernel:
    return kernel_of(program.name, shared(program, THREADS))


def _few(ordering: Ordering, call: RowCall, rows: int) -> Program:
    """The program that finds the few elements of longer rows that come first."""
    specs = (*call.inputs, *call.outputs)
    strides = [spec.strides or () for spec in specs]
    kept = layout(call.kept, [each[:-1] for each in strides])
    steps = packed("Steps<3>", *(ctypes.c_longlong(each[-1]) for each in strides))
    stored = stored_type(call.inputs[0].dtype)
    body = functools.partial(_print, stored, kept.c_type, descending=ordering.descending)
    text = f"order {stored} {ordering.descending} {kept.c_type}"
    source = Source(text, ("prelude", "neighbours", "team", "order"), body)
    shape = (kept, steps)
    launches, places, scratch = _selecting(rows, call.length, ordering.wanted, shape)
    blocks = -(-ordering.wanted // THREADS)
    results = _launch("results", rows, blocks, (*_OPERANDS, places, *shape), ordering.wanted, count=ordering.wanted)
    return Program(source, len(specs), (Variant(1, (*launches, results)),), scratch)


def _selecting(rows: int, length: int, count: int, shape: tuple[Argument, ...]) -> tuple[list[Launch], Scratch, int]:
    """The launches that keep what comes first of ever fewer parts of a row, where its places are then, and how much
    scratch memory there is: two sets of keys and places.
    """
    blocks, width = _parts(rows, length)
    size = -(-rows * blocks * count * 8 // _ALIGNMENT) * _ALIGNMENT
    here, there = [(Scratch(2 * k * size), Scratch((2 * k + 1) * size)) for k in range(2)]
    launches = [_launch("first", rows, blocks, (Address(0), *here, *shape), length, width, count)]
    while blocks > 1:
        found = blocks * count
        blocks, width = _parts(rows, found)
        launches.append(_launch("again", rows, blocks, (*here, *there), found, width, count))
        here, there = there, here
    return launches, here[1], 4 * size


def _parts(rows: int, length: int) -> tuple[int, int]:
    """Into how many parts rows are cut, and how long these are."""
    parts = max(1, min(-(-_MOST_BLOCKS // rows), length // _SHORTEST_PART))
    width = -(-length // parts)
    return -(-length // width), width


def _launch(
    entry: str, rows: int, blocks: int, arguments: tuple[Argument, ...], length: int, width: int = 0, count: int = 0
) -> Launch:
    """A kernel of which so many blocks take each row."""
    order = packed("Order", *map(ctypes.c_longlong, (length, blocks, width, count)))
    return Launch(entry, (rows * blocks, 1, 1), (THREADS, 1, 1), (*arguments, order))


def _print(stored: str, kept: str, *, descending: bool) -> str:
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})'
    operands = f"const char* input, {stored}* values, long long* indices"
    shape = f"const {kept} kept, const Steps<3> steps, const Order order"
    kind = f"{stored}, {str(descending).lower()}"
    pairs, made = (
        f"{constant}unsigned long long* {name}keys, {constant}long long* {name}places"
        for constant, name in (("const ", ""), ("", "made_"))
    )
    return f"""{head} first(const char* input, {made}, {shape}) {{
    select_first(ElementPairs<{kind}>(input, kept, steps, order), made_keys, made_places, order);
}}
{head} again({pairs}, {made}, const Order order) {{
    select_first(FoundPairs(keys, places, order), made_keys, made_places, order);
}}
{head} results({operands}, const long long* places, {shape}) {{
    order_results(input, values, indices, places, kept, steps, order);
}}"""
