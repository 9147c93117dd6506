"""Analysis of which tensors of a program share memory, and a plan that places its intermediate tensors in one block.

A tensor is live from the step that computes it to the last step that reads it, or a view of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from opdsl.programs.steps import Input, Result, Step, names_in
from opdsl.runtime.arena import Block, placed

__all__ = ["Memory", "MemoryPlan", "Steps", "made_apart", "memory_plan", "returned_by"]


class Steps(Protocol):
    """Protocol of ``Program`` for the analysis of memory."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Return the arguments of the program."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the program."""

    @property
    def outputs(self) -> Any:
        """Return the outputs of the program."""

    @property
    def constants(self) -> Mapping[str, Any]:
        """Return the tensors that the program reads and that are not arguments, by name."""


class Memory:
    """Analysis of which tensors of a program share memory.

    Args:
        program: the program.
        shares_arguments: whether arguments may share memory with one another.

    written: names that identify the memory that steps write.
    """

    def __init__(self, program: Steps, *, shares_arguments: bool = True) -> None:
        outside = [*(input.name for input in program.inputs), *program.constants]
        self._roots = {name: frozenset(("outside" if shares_arguments else name,)) for name in outside}
        for step in program.steps:
            seen = self.of(step.reads) if step.is_view else None
            self._roots |= {name: frozenset((name,)) if seen is None else seen for name in step.result_names}
        self.written = frozenset().union(*(self.of(step.written) for step in program.steps))

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names of the tensors for which the memory of given tensors was allocated, which identify it."""
        return frozenset().union(*(self._roots.get(name, frozenset()) for name in names))


def returned_by(program: Steps) -> set[str]:
    """Return the names of tensors whose memory the caller gets, directly or as a view."""
    returned = set(names_in(program.outputs))
    for step in reversed(program.steps):
        if step.is_view and any(result is not None and result.name in returned for result in step.results):
            returned |= step.reads
    return returned


class MemoryPlan(NamedTuple):
    """Placement of a program's tensors in memory for arguments of given sizes. Results that may be views count as
    views.

    blocks: the intermediate tensors, in the order of their computation.
    size: size of the one block of memory that holds them.
    results: bytes of the returned tensors, without the arguments.
    peak: the most bytes that are live at once, results included.
    """

    blocks: tuple[Block, ...]
    size: int
    results: int
    peak: int

    def __str__(self) -> str:
        apart = sum(block.size for block in self.blocks)
        lines = [
            f"{_bytes(self.size)} for intermediate tensors ({_bytes(apart)} if separate), "
            f"{_bytes(self.results)} for results; at most {_bytes(self.peak)} live at once"
        ]
        rows = (
            f"{block.offset:>12} {block.size:>12}  steps {block.first} to {block.last}: {block.name}"
            for block in self.blocks
        )
        return "\n".join([*lines, *rows])


def made_apart(program: Steps) -> list[tuple[int, Result]]:
    """Return the results that are no views, with the index of the step that computes each."""
    steps = enumerate(program.steps)
    return [
        (place, result) for place, step in steps if not step.is_view for result in step.results if result is not None
    ]


def memory_plan(program: Steps, sizes: Sequence[int]) -> MemoryPlan:
    """Return the memory plan of a program; see ``Program.memory_plan``.

    Args:
        program: the program.
        sizes: sizes in bytes of the tensors that ``made_apart`` returns.
    """
    memory = Memory(program)
    kept = memory.of(returned_by(program))
    last: dict[str, int] = {}
    for place, step in enumerate(program.steps):
        last |= dict.fromkeys(memory.of(step.reads | step.result_names), place)
    pairs = zip(made_apart(program), sizes, strict=True)
    blocks = [Block(result.name, size, 0, place, last[result.name]) for (place, result), size in pairs]
    within = placed([block for block in blocks if block.name not in kept])
    alive = [
        sum(block.size for block in blocks if block.first <= place and (block.name in kept or place <= block.last))
        for place in range(len(program.steps))
    ]
    results = sum(block.size for block in blocks if block.name in kept)
    return MemoryPlan(
        tuple(within), max((block.offset + block.size for block in within), default=0), results, max(alive, default=0)
    )


def _bytes(count: int) -> str:
    """Format a size in bytes with a unit."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
