"""Kernel for ``tril_indices`` and ``triu_indices``."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.author import array_at
from opdsl.backends.cpu.machine.language import Address, Int32, Pointer, Words, exported


@exported
def triangle(result: Words, error: Pointer[Address], frame: Words) -> Int32:
    """Write the row indices, then the column indices, of a matrix's elements on one side of a diagonal.

    The arguments: whether it is the lower side, the rows and the columns of the matrix, the offset of the diagonal to
    the right of the main diagonal, and the output.
    """
    is_lower = (frame[0] & 1) == 1
    height = frame[2]
    width = frame[4]
    offset = frame[6]
    out = array_at(frame, 4)
    rows = cast(Words, out.data)
    columns = rows + out.shape[1]
    first = max(0, -offset) if is_lower else 0  # the rows from first to last have elements
    last = height if is_lower else min(height, width - offset)
    at = 0
    for row in range(first, last if out.shape[1] > 0 else first):
        diagonal = row + offset
        begin = 0 if is_lower else max(diagonal, 0)
        end = min(diagonal + 1, width) if is_lower else width
        for column in range(begin, end):
            rows[at] = row
            columns[at] = column
            at += 1
    return 0
