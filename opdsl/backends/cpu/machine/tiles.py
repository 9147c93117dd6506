"""Matrix products in register tiles, with factors that are addressed through tables of offsets."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.backends.cpu.machine.language import Constant, Pointer, Words, internal, local, unrolled
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    Reals,
    Vector,
    first_lanes,
    fma,
    load,
    load_some,
    spread,
    store,
    sum_of_lanes,
    zeros,
)


class Shape(NamedTuple):
    """Shape of register tiles: a number of rows, and the possible numbers of vectors per row, largest first."""

    rows: int
    vectors: tuple[int, ...]


TILES: tuple[Shape, ...] = ()
"""Shapes of tiles: from the most rows to a single row, and from the widest to a single vector."""

# The numbers of rows that may be reduced at once.
_HEIGHTS = (9, 4, 2, 1)


@internal("alwaysinline")
def store_tile(sums: Pointer[Vector], c: Reals, pitch: int, adds: bool, height: Constant, width: Constant) -> None:
    """Store a tile, whose rows are a pitch apart; ``adds`` it to what is there if wanted."""
    if adds:
        for r in unrolled(range(height)):
            for v in unrolled(range(width)):
                sums[r * width + v] = sums[r * width + v] + load(c + r * pitch + v * LANES)
    for r in unrolled(range(height)):
        for v in unrolled(range(width)):
            store(c + r * pitch + v * LANES, sums[r * width + v])


@internal("noinline")
def tile(
    rows: Pointer[Reals], ka: Words, kb: Words, count: int, b: Reals, c: Reals, pitch: int, adds: bool,
    height: Constant, width: Constant,
) -> None:  # fmt: skip
    """Compute a tile, the sums of ``rows[r][ka[k]] * b[kb[k] + lane]`` over k; rows of results are a pitch apart."""
    lines = local(Reals, height)
    columns = local(Vector, width)
    sums = local(Vector, height * width)
    for r in unrolled(range(height)):
        lines[r] = rows[r]
    for cell in unrolled(range(height * width)):
        sums[cell] = zeros()
    for k in range(count):
        first = ka[k]
        second = b + kb[k]
        for v in unrolled(range(width)):
            columns[v] = load(second + v * LANES)
        for r in unrolled(range(height)):
            factor = spread(lines[r][first])
            for v in unrolled(range(width)):
                sums[r * width + v] = fma(factor, columns[v], sums[r * width + v])
    store_tile(sums, c, pitch, adds, height, width)


@internal("noinline")
def tiles(
    rows: Pointer[Reals], height: int, ka: Words, kb: Words, count: int, b: Reals, width: int, c: Reals, pitch: int,
    adds: bool, is_spare: bool,
) -> None:  # fmt: skip
    """Compute a product of rows and columns, tile by tile.

    Up to a vector after the last column is overwritten, or up to a tile if ``is_spare``; these values have no meaning.
    """
    done = 0
    for shape in unrolled(TILES):
        for row in range(done, height - (shape.rows - 1), shape.rows):
            covered = 0
            for vectors in unrolled(shape.vectors):
                wide = vectors * LANES
                # With spare memory the widest tile is also used for more than half of its width.
                least = wide // 2 if is_spare and vectors == shape.vectors[0] else wide - LANES
                for column in range(covered, width - least, wide):
                    target = c + row * pitch + column
                    tile(rows + row, ka, kb, count, b + column, target, pitch, adds, shape.rows, vectors)
                    covered = column + wide
            done = row + shape.rows


@internal("noinline")
def dots(
    rows: Pointer[Reals], height: int, b: Reals, counts: Words, strides: Words, extents: Words, c: Reals, pitch: int,
    adds: bool,
) -> None:  # fmt: skip
    """Compute the dot products of ``b`` with each of several rows, over ``counts`` elements in three dimensions.

    strides: elements between neighbors of b. extents: sizes of the rows' dimensions, which are larger than ``counts``.
    The results are a pitch apart.
    """
    done = 0
    for some in unrolled(_HEIGHTS):
        for row in range(done, height - (some - 1), some):
            dots_of(rows + row, b, counts, strides, extents, c + row * pitch, pitch, adds, some)
            done = row + some


@internal("noinline")
def dots_of(
    rows: Pointer[Reals], b: Reals, counts: Words, strides: Words, extents: Words, c: Reals, pitch: int, adds: bool,
    height: Constant,
) -> None:  # fmt: skip
    """Compute the dot products of ``b`` with ``height`` rows, as ``dots``."""
    lines = local(Reals, height)
    sums = local(Vector, height)
    for r in unrolled(range(height)):
        lines[r] = rows[r]
        sums[r] = zeros()
    for i0 in range(counts[0]):
        for i1 in range(counts[1]):
            line = b + i0 * strides[0] + i1 * strides[1]
            place = (i0 * extents[1] + i1) * extents[2]
            left = counts[2] & (LANES - 1)
            whole = counts[2] - left
            for j in range(0, whole, LANES):
                factor = load(line + j)
                for r in unrolled(range(height)):
                    sums[r] = fma(factor, load(lines[r] + place + j), sums[r])
            if left != 0:
                mask = first_lanes(left)
                factor = load_some(line + whole, mask)
                for r in unrolled(range(height)):
                    sums[r] = fma(factor, load_some(lines[r] + place + whole, mask), sums[r])
    for r in unrolled(range(height)):
        total = sum_of_lanes(sums[r])
        c[r * pitch] = c[r * pitch] + total if adds else total
