"""Scores of a tile of queries and keys, and products of matrices in register tiles."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.attention_block import (
    KEY,
    MASK,
    QUERIES,
    AttentionPlan,
    Block,
    Head,
    Operand,
    lowest,
    minimum,
    padded,
    place_of,
)
from opdsl.backends.cpu.machine.language import Constant, Pointer, internal, local, unrolled
from opdsl.backends.cpu.machine.tiles import store_tile
from opdsl.backends.cpu.machine.turn import turn
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    Real,
    Reals,
    Vector,
    first_lanes,
    fma,
    load,
    load_some,
    spread,
    store,
    store_some,
    zeros,
)

HEIGHTS: tuple[int, ...] = ()
"""Numbers of rows that a register tile may have, largest first, down to 1."""

# Numbers of vectors in a row of a register tile.
_WIDTHS = (2, 1)


@internal("noinline")
def tile(
    a: Reals, a_row: int, a_column: int, b: Reals, b_row: int, count: int, c: Reals, c_row: int, adds: bool,
    height: Constant, width: Constant,
) -> None:  # fmt: skip
    """Compute a tile in registers, the sums of ``a[r * a_row + k * a_column] * b[k * b_row + lane]`` over k; ``adds``
    them to ``c`` if wanted.
    """
    lines = local(Reals, height)
    columns = local(Vector, width)
    sums = local(Vector, height * width)
    for r in unrolled(range(height)):
        lines[r] = a + r * a_row
    for cell in unrolled(range(height * width)):
        sums[cell] = zeros()
    for k in range(count):
        line = b + k * b_row
        at = k * a_column
        for v in unrolled(range(width)):
            columns[v] = load(line + v * LANES)
        for r in unrolled(range(height)):
            factor = spread(lines[r][at])
            for v in unrolled(range(width)):
                sums[r * width + v] = fma(factor, columns[v], sums[r * width + v])
    store_tile(sums, c, c_row, adds, height, width)


@internal("noinline")
def multiply(
    a: Reals, a_row: int, a_column: int, rows: int, b: Reals, b_row: int, columns: int, count: int, c: Reals,
    c_row: int, adds: bool,
) -> None:  # fmt: skip
    """Multiply two matrices tile by tile, as ``tile``; ``columns`` is a multiple of the lanes of a vector."""
    covered = 0
    for width in unrolled(_WIDTHS):
        wide = width * LANES
        for column in range(covered, columns - (wide - 1), wide):
            done = 0
            for height in unrolled(HEIGHTS):
                for row in range(done, rows - (height - 1), height):
                    target = c + row * c_row + column
                    tile(a + row * a_row, a_row, a_column, b + column, b_row, count, target, c_row, adds, height, width)
                    done = row + height
            covered = column + wide


@internal("noinline")
def take_queries(query: Reals, operand: Operand, rows: int, columns: int, size: int, scale: Real, to: Reals) -> None:
    """Turn the queries of a block, and multiply them by the factor of scores."""
    turn(query, operand.row, operand.column, rows, size, to, QUERIES, columns)
    for k in range(size):
        for lane in range(0, columns, LANES):
            place = to + k * QUERIES + lane
            store(place, load(place) * spread(scale))


@internal("noinline")
def pack_rows(rows: Reals, operand: Operand, count: int, width: int, to: Reals, pitch: int) -> None:
    """Copy rows of elements to rows of whole vectors, padded with zeros."""
    for at in range(count):
        source = rows + at * operand.row
        target = to + at * pitch
        if operand.column == 1:
            for lane in range(0, pitch, LANES):
                store(target + lane, load_some(source + lane, first_lanes(width - lane)))
        else:
            for k in range(pitch):
                target[k] = source[k * operand.column] if k < width else cast(Real, 0.0)


@internal("noinline")
def mask_future(scores: Reals, first: int, column: int, keys: int, columns: int) -> None:
    """Set the scores of keys after the query's own index to -inf.

    first, column: indices of the block's first query and of the tile's first key.
    """
    none = spread(lowest())
    for key in range(max(first - column, 0), keys):
        for lane in range(0, columns, LANES):
            store_some(scores + key * QUERIES + lane, none, first_lanes(column + key - first - lane))


@internal("noinline")
def apply_mask(scores: Reals, added: Reals, keys: int, columns: int, selects: bool) -> None:
    """Add the mask of a tile to its scores; or select scores by it, also those that are NaN, which become inf."""
    for key in range(keys):
        for lane in range(0, columns, LANES):
            place = scores + key * QUERIES + lane
            mask = load(added + key * QUERIES + lane)
            store(place, minimum(load(place), mask) if selects else load(place) + mask)


@internal("noinline")
def score(frame: Pointer[AttentionPlan], block: Block, head: Head, first: int, column: int, keys: int) -> None:
    """Compute the scores of a tile: of a block's queries, from ``first`` on, and of keys from ``column`` on."""
    plan = frame[0]
    scores = cast(Reals, block.scores)
    rows = min(plan.queries - first, QUERIES)
    columns = padded(rows, 2 * LANES)
    operand = plan.operands[KEY]
    key = place_of(frame, head, KEY) + column * operand.row
    turned = cast(Reals, block.turned)
    multiply(key, operand.row, operand.column, keys, turned, QUERIES, columns, plan.size, scores, QUERIES, False)
    if plan.is_masked != 0:
        mask = plan.operands[MASK]
        added = cast(Reals, block.added)
        source = place_of(frame, head, MASK) + first * mask.row + column * mask.column
        turn(source, mask.row, mask.column, rows, keys, added, QUERIES, columns)
        apply_mask(scores, added, keys, columns, plan.selects != 0)
    if plan.is_causal != 0 and column + keys > first:
        mask_future(scores, first, column, keys, columns)
