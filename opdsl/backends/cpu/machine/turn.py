"""Matrix transposition by square blocks that are transposed in vector registers."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.language import Pointer, Words, exported, internal, local, unrolled
from opdsl.backends.cpu.machine.vectors import (
    LANES,
    SIZE,
    Real,
    Reals,
    Vector,
    first_lanes,
    load_some,
    shuffle,
    store_some,
    where,
)


@exported
def turning(operands: Pointer[Reals], width: int, column_strides: Words, height: int, row_strides: Words) -> None:
    """Copy a whole tile of a transposed matrix; this is the row kernel of ``walk_tiles`` for such copies."""
    pitch = column_strides[0] // SIZE
    turn(operands[0], pitch, 1, width, height, operands[2], row_strides[1] // SIZE, width)


@internal("noinline")
def turn(source: Reals, pitch: int, step: int, rows: int, columns: int, to: Reals, to_pitch: int, written: int) -> None:
    """Transpose a matrix, ``to[j * to_pitch + i] = source[i * pitch + j * step]`` for i below ``written``, with zeros
    from ``rows`` on.
    """
    if step == 1:
        for i in range(0, written, LANES):
            for j in range(0, columns, LANES):
                square = source + i * pitch + j
                turned = to + j * to_pitch + i
                if min(min(rows, written) - i, columns - j) >= LANES:
                    turn_square(square, pitch, LANES, LANES, turned, to_pitch, LANES)
                else:
                    turn_square(square, pitch, rows - i, columns - j, turned, to_pitch, written - i)
    elif pitch == 1:
        for j in range(columns):
            for i in range(0, written, LANES):
                values = load_some(source + i + j * step, first_lanes(rows - i))
                store_some(to + i + j * to_pitch, values, first_lanes(written - i))
    else:
        for i in range(written):
            for j in range(columns):
                to[j * to_pitch + i] = source[i * pitch + j * step] if i < rows else cast(Real, 0.0)


@internal("alwaysinline")
def turn_square(source: Reals, pitch: int, rows: int, columns: int, to: Reals, to_pitch: int, written: int) -> None:
    """Transpose a block of one vector by one vector, as ``turn``, exchanging lanes and rows for one bit of their index
    at a time.
    """
    square = local(Vector, LANES)
    inside = first_lanes(columns)
    for lane in unrolled(range(LANES)):
        square[lane] = load_some(source + lane * pitch, where(lane < rows, inside))
    for bit in unrolled(range(LANES.bit_length() - 1)):
        for row in unrolled(_without(LANES, 1 << bit)):
            first = square[row]
            second = square[row + (1 << bit)]
            square[row] = shuffle(first, second, _kept(LANES, 1 << bit))
            square[row + (1 << bit)] = shuffle(first, second, _moved(LANES, 1 << bit))
    across = first_lanes(written)
    for lane in unrolled(range(LANES)):
        store_some(to + lane * to_pitch, square[lane], where(lane < columns, across))


def _without(lanes: int, bit: int) -> tuple[int, ...]:
    """Return the lanes whose index lacks a bit."""
    return tuple(lane for lane in range(lanes) if not lane & bit)


def _kept(lanes: int, bit: int) -> tuple[int, ...]:
    """Return the shuffle of two rows that exchange lanes that gives the new first row: lanes without the bit stay."""
    return tuple(lane if not lane & bit else lanes + lane - bit for lane in range(lanes))


def _moved(lanes: int, bit: int) -> tuple[int, ...]:
    """Return the shuffle of two rows that exchange lanes that gives the new second row: lanes with the bit stay."""
    return tuple(lane + bit if not lane & bit else lanes + lane for lane in range(lanes))
