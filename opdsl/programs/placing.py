"""Pass that fuses gathers, scatters and sums of broadcast operands into indexed kernels.

A gather copies the elements that are read, a sum of ``abs(x[i, k] - y[j, k])`` reads a stored tensor of three
dimensions, and a scatter of messages reads those of all edges. A kernel that computes each element from its indices
needs no such memory: index tensors, views, constants and arithmetic are traced back from each element of a result to
    the
elements that are read for it.
"""

from __future__ import annotations

from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.programs.passes import without_unused_steps
from opdsl.programs.place_groups import FLOATS, GATHER, MOVING, SUM, NotPlacedError, PlaceGroup, is_copy
from opdsl.programs.place_maps import NoMapError
from opdsl.programs.place_scatters import SCATTER, ScatterGroup, is_scatter
from opdsl.programs.place_sources import Sources
from opdsl.programs.program import Program
from opdsl.programs.steps import Step, names_in

__all__ = ["with_places"]


def with_places(program: Program) -> Program:
    """Fuse gathers, scatters, and sums of broadcast operands with the steps that compute their operands.

    >>> import opdsl
    >>> def distances(x, y):
    ...     return (x[:, None] - y).abs().sum(-1)
    >>> program = opdsl.trace(distances, opdsl.ones(2, 3), opdsl.ones(4, 3))
    >>> [step.name for step in with_places(program).steps][-1].startswith("fused::")
    True
    """
    if not any(step.name in (GATHER, SUM, SCATTER, *MOVING) for step in program.steps):
        return program
    known = Sources(program)
    used = set(names_in(program.outputs))
    placed_steps: list[Step] = []
    for step in reversed(program.steps):
        steps = (_placed(known, step) if step.result_names & used else None) or (step,)
        placed_steps += reversed(steps)
        if step.result_names & used or step.writes or step.is_random:
            used = used.union(*(step.reads for step in steps))
    if not any(step.parts for step in placed_steps):
        return program
    return without_unused_steps(program.replace(steps=tuple(reversed(placed_steps))))


def _placed(known: Sources, step: Step) -> tuple[Step, ...] | None:
    """Return the steps of the indexed kernel that replaces a step; None if no kernel can replace it or that saves no
    memory.
    """
    result = step.results[0] if len(step.results) == 1 else None
    if result is None or known.makers.get(result.name) is not step or result.dtype not in FLOATS:
        return None
    is_pointwise = step.call is not None and isinstance(step.call.definition, PointwiseDefinition)
    is_added = is_scatter(known, step)
    if not (is_pointwise or (step.name == SUM and step.call is not None) or is_copy(step) or is_added):
        return None
    try:
        group = (ScatterGroup if is_added else PlaceGroup)(known, step, result)
        if not group.is_gain():
            return None
        return group.as_steps()
    except (NotPlacedError, NoMapError):
        return None
