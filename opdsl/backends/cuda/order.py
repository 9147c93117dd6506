"""Programs that sort rows, or find what comes first in their order.

A block sorts a tile in shared memory, tiles of longer rows are merged. Where few elements of a longer row are wanted,
blocks take parts of it and keep those that come first, until one block has those of the whole row.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.program import Address, Argument, Launch, Program, Scratch, Source, Variant, packed
from opdsl.backends.cuda.storage import stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import Ordering, RowCall

__all__ = ["order"]

THREADS = 256

# Elements of a tile, and those that a thread merges, as in ``order.cuh``.
_TILE = 2048
_MERGED = 8

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
    specs = (*call.inputs, *call.outputs)
    strides = [spec.strides or () for spec in specs]
    kept = layout(call.kept, [each[:-1] for each in strides])
    steps = packed("Steps<3>", *(ctypes.c_longlong(each[-1]) for each in strides))
    way = "whole" if call.length <= _TILE else "few" if ordering.wanted <= _MOST_KEPT else "all"
    stored = stored_type(call.inputs[0].dtype)
    text = f"order {stored} {ordering.descending} {way} {kept.c_type}"
    body = functools.partial(_print, stored, kept.c_type, descending=ordering.descending, way=way)
    source = Source(text, ("prelude", "neighbours", "team", "order"), body)
    rows = math.prod(call.kept)
    if rows == 0 or ordering.wanted == 0:
        return Program(source, len(specs), (Variant(1, ()),))
    shape = (kept, steps)
    if way == "whole":
        launch = _launch("whole", rows, 1, (*_OPERANDS, *shape), call.length, count=ordering.wanted)
        return Program(source, len(specs), (Variant(1, (launch,)),))
    prepared = _selecting if way == "few" else _merging
    launches, places, scratch = prepared(rows, call.length, ordering.wanted, shape)
    blocks, found = -(-ordering.wanted // THREADS), ordering.wanted if way == "few" else call.length
    results = _launch("results", rows, blocks, (*_OPERANDS, places, *shape), found, count=ordering.wanted)
    return Program(source, len(specs), (Variant(1, (*launches, results)),), scratch)


def _merging(rows: int, length: int, count: int, shape: tuple[Argument, ...]) -> tuple[list[Launch], Scratch, int]:
    """The launches that sort rows of several tiles, where the sorted places are then, and how much scratch memory there
    is: two sets of keys and places.
    """
    size = rows * length * 8
    here, there = [(Scratch(2 * k * size), Scratch((2 * k + 1) * size)) for k in range(2)]
    launches = [_launch("tiles", rows, -(-length // _TILE), (Address(0), *here, *shape), length)]
    width = _TILE
    while width < length:
        blocks = -(-length // (THREADS * _MERGED))
        launches.append(_launch("merge", rows, blocks, (*here, *there), length, width))
        here, there = there, here
        width *= 2
    return launches, here[1], 4 * size


def _selecting(rows: int, length: int, count: int, shape: tuple[Argument, ...]) -> tuple[list[Launch], Scratch, int]:
    """The same where few elements are wanted: launches that keep them of ever fewer parts of a row."""
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


def _print(stored: str, kept: str, *, descending: bool, way: str) -> str:
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})'
    operands = f"const char* input, {stored}* values, long long* indices"
    shape = f"const {kept} kept, const Steps<3> steps, const Order order"
    kind = f"{stored}, {str(descending).lower()}"
    pairs, made = (
        f"{constant}unsigned long long* {name}keys, {constant}long long* {name}places"
        for constant, name in (("const ", ""), ("", "made_"))
    )
    results = f"""{head} results({operands}, const long long* places, {shape}) {{
    order_results(input, values, indices, places, kept, steps, order);
}}"""
    if way == "whole":
        return f"""{head} whole({operands}, {shape}) {{
    order_tile<{kind}, true>(input, values, indices, nullptr, nullptr, kept, steps, order);
}}"""
    if way == "few":
        return f"""{head} first(const char* input, {made}, {shape}) {{
    select_first(ElementPairs<{kind}>(input, kept, steps, order), made_keys, made_places, order);
}}
{head} again({pairs}, {made}, const Order order) {{
    select_first(FoundPairs(keys, places, order), made_keys, made_places, order);
}}
{results}"""
    return f"""{head} tiles(const char* input, {made}, {shape}) {{
    order_tile<{kind}, false>(input, nullptr, nullptr, made_keys, made_places, kept, steps, order);
}}
{head} merge({pairs}, {made}, const Order order) {{
    merge_runs(keys, places, made_keys, made_places, order);
}}
{results}"""
