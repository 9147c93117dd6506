"""Kernels of the loop IR before they are printed: what they are, and what determines their text."""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import attrs

from opdsl.backends.cuda.points import Points, points_of, statements_of
from opdsl.kernels.loops.model import Bound, Program, Update, graphs_of
from opdsl.kernels.loops.text import program_text

__all__ = ["Kernel", "Team", "kernel_of"]


class Team(NamedTuple):
    """How a team takes the turns of a point's fold, see ``team.cuh``.

    along: whether its lanes follow each other.
    vector: elements that are loaded at once.
    """

    along: bool
    vector: int


@attrs.frozen(eq=False, slots=False)
class Kernel:
    """A kernel of a source.

    entry: its name.
    program: its loops.
    points: where arrays begin, see ``LoopKernel``.
    team: of a point; None where a thread takes it.
    turns: where arrays lie in the turns of a team's fold; None where these are counted.
    """

    entry: str
    program: Program
    points: Points | None
    team: Team | None = None
    turns: Points | None = None

    @functools.cached_property
    def fingerprint(self) -> str:
        """What determines its text, but for the types of its layouts and of numbers of a call."""
        places = [
            each and ([name for name, _ in each.begins], sorted(each.follow), each.indices)
            for each in (self.points, self.turns)
        ]
        graphs = [graph.fingerprint for graph in graphs_of(self.program.body)]
        text = "\n".join([f"{self.entry} {self.team} {places} {program_text(self.program)}", *graphs])
        return hashlib.sha256(text.encode()).hexdigest()

    @functools.cached_property
    def headers(self) -> tuple[str, ...]:
        """What it stands on."""
        kinds = {type(each) for each in statements_of(self.program.body)}
        further = {"atomics": Update in kinds, "margins": Bound in kinds, "team": self.team, "reduce": self.team}
        return ("prelude", "neighbours", *(name for name, stands in further.items() if stands))


@functools.lru_cache(maxsize=4096)
def kernel_of(entry: str, program: Program) -> Kernel:
    """A kernel for points that lie anywhere."""
    points = points_of(program)
    return Kernel(entry, points.program, points)
