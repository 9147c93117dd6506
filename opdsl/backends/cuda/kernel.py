"""Kernels of the loop IR before they are printed as CUDA C++, with the fingerprint of their text."""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import attrs

from opdsl.backends.cuda.points import Points, points_of
from opdsl.kernels.loops.making import around
from opdsl.kernels.loops.model import (
    Array,
    Fold,
    For,
    Load,
    Program,
    Range,
    Scan,
    Store,
    TileProduct,
    Update,
    graphs_of,
    locals_of,
    statements_of,
)
from opdsl.kernels.loops.schedules import threaded
from opdsl.kernels.loops.text import program_text
from opdsl.scalar.mathematics.coarse import has_steps

__all__ = ["HEADERS", "MEMORY_ALIGNMENT", "Kernel", "Team", "is_coarse", "kernel_of", "memory_offsets", "team_kernel"]

HEADERS = ("prelude", "neighbours", "atomics", "team", "reduce", "row", "products")
"""Names of the header files that kernels include, in an order in which each follows those that it needs."""


MEMORY_ALIGNMENT = 16
"""Alignment of arrays in shared memory that is read in words, in bytes."""


class Team(NamedTuple):
    """Team of threads that share the fold or row of one point, see ``team.cuh``.

    along: whether neighboring lanes take neighboring elements of the row.
    vector: elements that are loaded at once.
    items: elements of a row that a lane holds, neighbors if it scans them; 0 if it loads one element after another.
    tiled: whether rows are longer than a team can hold, and so are read for each loop over them.
    whole: whether rows with contiguous elements consist of packs of ``vector`` elements, which begin at multiples of
        their size in bytes.
    """

    along: bool
    vector: int
    items: int = 0
    tiled: bool = False
    whole: bool = False


# Bytes of shared memory that a kernel may declare; more are passed with its launch.
_STATIC_MEMORY = 48 << 10


@attrs.frozen(eq=False, slots=False)
class Kernel:
    """Kernel of a CUDA source, given by a program of the loop IR.

    entry: its name in the source.
    program: its loops.
    points: the offsets of arrays at a point, see ``LoopKernel``.
    team: the team that computes a point; None if a single thread does.
    turns: the offsets of arrays in the iterations of a team's fold; None if the fold's index is used directly.
    ranges, vector: ranges of the program's points, and its vector width.
    """

    entry: str
    program: Program
    points: Points | None
    team: Team | None = None
    turns: Points | None = None
    ranges: tuple[Range, ...] = attrs.field(init=False)
    vector: int = attrs.field(init=False)

    @ranges.default
    def _ranges(self) -> tuple[Range, ...]:
        return self.program.points[0]

    @vector.default
    def _vector(self) -> int:
        return self.program.vector

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that determines the kernel's text, except the types of its layouts and of the call's
        numbers.
        """
        places = [
            points and ([name for name, _ in points.begins], sorted(points.follow), points.indices)
            for points in (self.points, self.turns)
        ]
        graphs = [graph.fingerprint for graph in graphs_of(self.program.body)]
        text = "\n".join([f"{self.entry} {self.team} {places} {program_text(self.program)}", *graphs])
        return hashlib.sha256(text.encode()).hexdigest()

    @functools.cached_property
    def headers(self) -> tuple[str, ...]:
        """Return the names of the header files that the kernel needs, see ``HEADERS``."""
        kinds = {type(statement) for statement in statements_of(self.program.body)}
        holds = self.team is not None and self.team.items > 0 and Scan not in kinds
        stands = (True, True, Update in kinds, self.team, self.team and not holds, holds, TileProduct in kinds)
        return tuple(name for name, does in zip(HEADERS, stands, strict=True) if does)


@functools.lru_cache(maxsize=4096)
def memory_offsets(program: Program) -> tuple[dict[str, int], int]:
    """Return the offset of each array in dynamic shared memory and its bytes; nothing if static shared memory is
    enough, or if threads share none.
    """
    offsets: dict[str, int] = {}
    end = 0
    for local in locals_of(program.body) if program.lanes > 1 else ():
        (count,) = local.array.sizes
        assert isinstance(count, int), "shared memory has a fixed size"
        offsets[local.array.name] = end
        end += -(-count * local.array.dtype.itemsize // MEMORY_ALIGNMENT) * MEMORY_ALIGNMENT
    return (offsets, end) if end > _STATIC_MEMORY else ({}, 0)


def is_coarse(program: Program) -> bool:
    """Return whether functions may be approximated: all results of a program are rounded to 16 bits, and nothing is
    rounded to integers. Scratch memory is no result.
    """
    written = {statement.array for statement in statements_of(program.body) if isinstance(statement, (Store, Update))}
    results = [array for array in program.parameters if array.name in written and isinstance(array, Array)]
    is_short = all(array.dtype.name in ("float16", "bfloat16") for array in results)
    return is_short and not any(map(has_steps, graphs_of(program.body)))


@functools.lru_cache(maxsize=4096)
def kernel_of(entry: str, program: Program) -> Kernel:
    """Return a kernel whose threads take one point each, with array offsets from a layout."""
    points = points_of(program)
    return Kernel(entry, points.program, points)


@functools.lru_cache(maxsize=4096)
def team_kernel(entry: str, program: Program, kept: int, team: Team) -> Kernel:
    """Return a kernel whose teams of threads take the points of the ``kept`` outermost loops and share the folds
    inside.

    A fold over scratch arrays uses its index directly instead of offsets from a layout, and so do rows that lanes hold.
    """
    program = threaded(program, kept)
    _, (first, *_) = program.points
    turns = None
    if not team.items:
        fold = first.body[0] if isinstance(first, For) else first
        assert isinstance(fold, Fold), "a fold is what points begin with"
        names = {buffer.name for buffer in program.scratch}
        if team.vector == 1 and not any(
            isinstance(statement, Load) and statement.array in names for statement in fold.body
        ):
            body = around(fold.ranges, fold.body)
            turns = points_of(attrs.evolve(program, body=body, threaded=len(fold.ranges)))
            program = attrs.evolve(program, parameters=turns.program.parameters)
    points = points_of(program)
    return Kernel(entry, points.program, points, team, turns)
