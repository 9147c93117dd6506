"""What a kernel of a loop over places is compiled for."""

from __future__ import annotations

from typing import NamedTuple

from opdsl.backends.cpu.operands import Operand
from opdsl.kernels.calls import IndexedLoop

SYMBOL = "indexed"

TILE, LONG_TILE = 256, 4096
"""Lanes of a tile: where something is in memory for each, and where nothing is."""

KEPT = 512
"""Lanes that something is kept for: no fewer than a tile has, and no more than fit beside what is read."""


class IndexedForm(NamedTuple):
    """What a kernel is compiled for.

    loop: what is computed.
    leading: dimensions of the result before those that have indices.
    arrays, outputs: how operands are stored.
    own: how many dimensions of its own each array has.
    dense: for each array and output the dimension along which elements lie side by side; -1 for none.
    lane: the dimension of the result along which the innermost loop runs.
    units: those that are counted through from outside.
    turns: the ranges of what is folded, where they are so few that a kernel has the code of each; else ().
    steps: whole numbers that lanes are multiplied with, as places among the parameters and values, which are few.
    inwards: whether the innermost loop runs along what is folded last instead of along the lane.
    repeated: the dimension that something is kept for while it is gone through, see ``Stages``; -1 for none.
    """

    loop: IndexedLoop
    leading: int
    arrays: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    own: tuple[int, ...]
    dense: tuple[int, ...]
    lane: int
    units: tuple[int, ...]
    turns: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]
    inwards: bool
    repeated: int

    @property
    def tile(self) -> int:
        """Lanes of a tile of the result."""
        return TILE if self.loop.fold or self.repeated >= 0 else LONG_TILE

    def __str__(self) -> str:
        loop = self.loop
        finish = "" if loop.finish is None else loop.finish.fingerprint
        rest = (loop.at, loop.over, loop.words, loop.numbers, loop.reads, loop.writes, loop.fold, loop.with_place)
        return f"indexed {loop.graph.fingerprint} {finish} {rest} {tuple(self)[1:]}"


def own_units(loop: IndexedLoop, leading: int, lane: int) -> tuple[int, ...]:
    """The dimensions that every write passes on, so that different ones write different places."""
    found = [d for d in range(leading) if all(each.leads for each in loop.writes)]
    for index in range(loop.at):
        places = [[d for d in range(each.dims) if loop.graph.results[each.first + d] == index] for each in loop.writes]
        if all(places) and len({each[0] for each in places}) == 1:
            found.append(leading + index)
    return tuple(each for each in found if each != lane)
