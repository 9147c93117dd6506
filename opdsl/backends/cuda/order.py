"""Programs that sort rows: a block sorts a tile in shared memory, tiles of longer rows are merged."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.program import Address, Argument, Launch, Program, Scratch, Source, Variant, packed
from opdsl.backends.cuda.storage import stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall

__all__ = ["order"]

THREADS = 256

# Elements of a tile, and those that a thread merges, as in ``order.cuh``.
_TILE = 2048
_MERGED = 8

_OPERANDS = (Address(0), Address(1), Address(2))


def order(descending: bool, call: RowCall) -> Program:
    """The program that sorts rows, equal elements left in order, NaN the largest.

    Args:
        descending: whether the largest comes first.
        call: one input; the outputs are its elements in order and their places, int64.
    """
    specs = (*call.inputs, *call.outputs)
    strides = [spec.strides or () for spec in specs]
    kept = layout(call.kept, [each[:-1] for each in strides])
    steps = packed("Steps<3>", *(ctypes.c_longlong(each[-1]) for each in strides))
    whole = call.length <= _TILE
    stored = stored_type(call.inputs[0].dtype)
    text = f"order {stored} {descending} {whole} {kept.c_type}"
    body = functools.partial(_print, stored, kept.c_type, descending=descending, whole=whole)
    source = Source(text, ("prelude", "neighbours", "team", "order"), body)
    rows = math.prod(call.kept)
    if rows == 0 or call.length == 0:
        return Program(source, len(specs), (Variant(1, ()),))
    shape = (kept, steps)
    if whole:
        launch = _launch("whole", rows, call.length, 1, (*_OPERANDS, *shape))
        return Program(source, len(specs), (Variant(1, (launch,)),))
    launches, scratch = _merging(rows, call.length, shape)
    return Program(source, len(specs), (Variant(1, tuple(launches)),), scratch)


def _merging(rows: int, length: int, shape: tuple[Argument, ...]) -> tuple[list[Launch], int]:
    """The launches for rows of several tiles, and the scratch memory that they share: two sets of keys and places."""
    size = rows * length * 8
    here, there = [(Scratch(2 * k * size), Scratch((2 * k + 1) * size)) for k in range(2)]
    launches = [_launch("tiles", rows, length, -(-length // _TILE), (Address(0), *here, *shape))]
    width = _TILE
    while width < length:
        blocks = -(-length // (THREADS * _MERGED))
        launches.append(_launch("merge", rows, length, blocks, (*here, *there), width))
        here, there = there, here
        width *= 2
    launches.append(_launch("results", rows, length, -(-length // THREADS), (*_OPERANDS, here[1], *shape)))
    return launches, 4 * size


def _launch(entry: str, rows: int, length: int, blocks: int, arguments: tuple[Argument, ...], width: int = 0) -> Launch:
    """A kernel of which so many blocks take each row."""
    order = packed("Order", *map(ctypes.c_longlong, (length, blocks, width)))
    return Launch(entry, (rows * blocks, 1, 1), (THREADS, 1, 1), (*arguments, order))


def _print(stored: str, kept: str, *, descending: bool, whole: bool) -> str:
    head = f'extern "C" __global__ void __launch_bounds__({THREADS})'
    operands = f"const char* input, {stored}* values, long long* indices"
    shape = f"const {kept} kept, const Steps<3> steps, const Order order"
    kind = f"{stored}, {str(descending).lower()}"
    if whole:
        return f"""{head} whole({operands}, {shape}) {{
    order_tile<{kind}, true>(input, values, indices, nullptr, nullptr, kept, steps, order);
}}"""
    pairs = "unsigned long long* keys, long long* places"
    return f"""{head} tiles(const char* input, {pairs}, {shape}) {{
    order_tile<{kind}, false>(input, nullptr, nullptr, keys, places, kept, steps, order);
}}
{head} merge(
    const unsigned long long* keys, const long long* places, unsigned long long* merged_keys, long long* merged_places,
    const Order order) {{
    merge_runs(keys, places, merged_keys, merged_places, order);
}}
{head} results({operands}, const long long* places, {shape}) {{
    order_results(input, values, indices, places, kept, steps, order);
}}"""
