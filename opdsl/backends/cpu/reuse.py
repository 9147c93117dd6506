"""Memory reuse in plans: steps write large results over operands that no later step reads.

A large result takes additional memory, and is written to lines that are in no cache. Kernels that read each element for
the last time before they write the result's element at its index can avoid both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from opdsl.backends.cpu.builtin import Given, Made, New, Output, Plan, with_outputs
from opdsl.backends.cpu.memory import Extent, array_viewer, made_by
from opdsl.runtime.lowering import Step, SymbolicArray
from opdsl.runtime.strides import byte_strides, contiguous_strides

__all__ = ["LARGE", "is_view", "plan_of_step", "with_results_over_operands"]

LARGE = 1 << 18
"""Size in bytes above which a plan allocates an array separately, when it is needed, as the cost of the call is then
small compared with the computation. Smaller arrays share a block; see ``opdsl.backends.cpu.sequence``.
"""


def with_results_over_operands(
    steps: Sequence[Any], reads: Sequence[Collection[str]], kept: Collection[str]
) -> list[Any]:
    """Return the steps of a plan for fixed sizes, with large results written over operands that are not read
    afterwards.

    Args:
        steps: the recorded steps.
        reads: for each step the names that it reads, and for views also the names of their bases.
        kept: the names of arrays that the plan returns, or views of them.
    """
    last = {name: place for place, names in enumerate(reads) for name in names}
    handed: set[str] = set()  # arrays passed to steps that may keep a reference
    for step, names in zip(steps, reads, strict=True):
        if plan_of_step(step) is None and not is_view(step):
            handed.update(names)
    taken = handed.union(kept)
    rewritten: list[Any] = []
    sizes: dict[str, int] = {}
    for place, step in enumerate(steps):
        plan = plan_of_step(step)
        if plan is None:
            rewritten.append(step)
            continue
        results = {
            at: (name, made_of)
            for at, (output, name) in enumerate(zip(plan.outputs, step.results, strict=False))
            if (made_of := _made(output)) is not None and made_of.size > LARGE and name not in handed
        }
        free = {name: size for name, size in sizes.items() if last.get(name) == place}
        rewritten += _over(step, plan, results, free)
        sizes |= {name: extent.size for name, extent in results.values() if name not in taken}
    return rewritten


def plan_of_step(step: Any) -> Plan | None:
    """Return the plan of the kernel that a step runs, or None for other steps."""
    plan = getattr(step.function, "__self__", None) if isinstance(step, Step) else None
    return plan if type(plan) is Plan and plan.runs_frames else None


def is_view(step: Any) -> bool:
    """Return whether a step creates a view of an array."""
    if not isinstance(step, Step) or len(step.results) != 1 or len(step.operands) % 2:
        return False
    is_of_array = bool(step.operands) and type(step.operands[0]) is SymbolicArray
    return is_of_array and getattr(step.function, "__name__", "") == "array_view"


def _over(step: Step, plan: Plan, results: Mapping[int, tuple[str, Extent]], free: Mapping[str, int]) -> list[Step]:
    """Return a step rewritten to write results over operands, as steps that create views of these, then the kernel.

    Args:
        step: the step.
        plan: of its kernel.
        results: the names and extents of the large results, by index among the outputs.
        free: arrays that are not read afterwards, by name, with their sizes in bytes.
    """
    sources = [operand.source if type(operand) is SymbolicArray else None for operand in step.operands]
    names = [None if source is None else source[0].text for source in sources]
    outputs: list[Output] = list(plan.outputs)
    views: dict[int, Step] = {}
    used: set[str] = set()
    for at, (name, new) in results.items():
        for place in plan.over[at] if plan.over else ():
            source = sources[place]
            if source is None or source[1] != 0 or names.count(source[0].text) > 1 or source[0].text in used:
                continue
            if free.get(source[0].text) == new.size:
                strides = new.strides or byte_strides(contiguous_strides(new.shape), new.dtype.itemsize)
                viewer = array_viewer(new.dtype, len(new.shape))
                views[at] = Step(viewer, (source[0], 0, *new.shape, *strides), (name,))
                outputs[at] = Given()
                used.add(source[0].text)
                break
    kernel = with_outputs(plan, outputs) if views else None
    if kernel is None:
        return [step]
    inputs, rest = step.operands[: len(plan.inputs)], iter(step.operands[len(plan.inputs) :])
    symbolic_arrays = [
        SymbolicArray(views[at].results[0], results[at][1].dtype) if at in views else next(rest)
        for at, output in enumerate(outputs)
        if isinstance(output, Given)
    ]
    # A kernel returns its given outputs too; they have names already.
    results_left = () if len(symbolic_arrays) == len(outputs) else step.results
    return [*views.values(), Step(kernel, (*inputs, *symbolic_arrays), results_left)]


def _made(output: Output) -> Extent | None:
    """Return the extent of an output that the kernel allocates, or None if it is unknown."""
    extent = Extent(output.shape, output.dtype, output.strides) if isinstance(output, New) else None
    return made_by(output.allocate) if isinstance(output, Made) else extent
