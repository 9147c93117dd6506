"""Derivatives of programs: a function is traced together with the computation of its gradients, and the trace is split.

The forward program returns the function's results and the values that the backward program reads. The backward program
recomputes cheap values, so that they are not saved (rematerialization).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.dispatch import no_grad
from opdsl.errors import TraceError
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.programs.leaves import Leaves
from opdsl.programs.passes import without_unused_sizes
from opdsl.programs.program import Program
from opdsl.programs.reverse import followed, pulled_back
from opdsl.programs.steps import Expression, Input, Step, names_in, sizes_of
from opdsl.programs.tracer import Tracer, tracing
from opdsl.runtime import Tensor
from opdsl.runtime.storage import storage_root
from opdsl.scalar.operations import OPERATIONS

__all__ = ["Differentiated", "differentiated", "tensors_returned"]

# Rules of operations that cost no more than reading their saved result.
_CHEAP_RULES = frozenset(
    ("arithmetic", "extremum", "absolute", "comparison", "bitwise", "select", "truth", "logical", "logical_not")
)
_CHEAP = frozenset(name for name, operation in OPERATIONS.items() if operation.rule in _CHEAP_RULES) | {
    "parameter", "constant", "convert", "to_floating", "rounded", "sqrt", "divide",
}  # fmt: skip


class Differentiated(NamedTuple):
    """Forward and backward program of a function.

    forward: takes the arguments; returns the function's results, and a tuple of saved values.
    backward: takes the saved values, then the gradients of results; returns the gradients of the arguments.
    results: indices of the returned tensors that have a gradient.
    targets: names of the inputs and constants that get a gradient, in order.
    """

    forward: Program
    backward: Program
    results: tuple[int, ...]
    targets: tuple[str, ...]


def differentiated(function: Callable[..., Any], leaves: Leaves) -> Differentiated:
    """Trace a function and its gradients with respect to the arguments that require grad, as a forward and a backward
    program.

    Args:
        function, leaves: the call.

    Raises:
        TraceError: the function cannot be traced; it writes; it returns an argument, or a view of one; or an operator
            that it calls has no derivative.
    """
    function_name = getattr(function, "__name__", "program")
    with tracing(function, leaves) as tracer:
        outputs = tracer.run(function, leaves)
        returned = tensors_returned(outputs)
        _check(tracer, returned, function_name)
        count, constants = len(tracer.steps), dict(tracer.constants)
        targets = {id(tensor): tensor for tensor in tracer.kept if id(tensor) in tracer.required}
        with no_grad():
            calls, reached = followed(tracer.calls, set(targets))
            results = tuple(at for at, tensor in enumerate(returned) if id(tensor) in reached)
            seeds = [tracer.stand_in(f"grad_{at}", returned[at].geometry) for at in results]
            pairs = [(returned[at], seed) for at, seed in zip(results, seeds, strict=True)]
            within = tracer.within(lambda: pulled_back(calls, pairs))
        named = {tracer.names[at]: within.get(at) for at in targets}
        gradients = tuple(tracer.operand(value) for value in named.values())
        whole = tracer.program(function_name, tracer.specs, (tracer.operand(outputs), gradients), keeps_sizes=True)
        seeded = [(tracer.names[id(seed)], seed) for seed in seeds]
        kinds = {text: tensor for tensor in tracer.kept if (text := tracer.names.get(id(tensor))) is not None}
    forward, backward = _cut(whole, count, constants, seeded, kinds)
    return Differentiated(forward, backward, results, tuple(named))


def tensors_returned(value: Any) -> list[Tensor]:
    """Return the tensors in a function's result, in order."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for part in parts for tensor in tensors_returned(part)]


def _check(tracer: Tracer, returned: Sequence[Tensor], name: str) -> None:
    """Raise an error if the traced function cannot be one node of the autograd graph: it writes or returns views.

    Raises:
        TraceError: see ``differentiated``.
    """
    argument_roots = {id(storage_root(stand_in)) for stand_in in tracer.kept[: len(tracer.inputs.tensors)]}
    argument_roots |= {id(storage_root(tensor)) for tensor in tracer.stand_ins.values()}
    roots = [id(storage_root(tensor)) for tensor in returned]
    if any(step.writes for step in tracer.steps):
        raise TraceError(f"{name} writes a tensor, and has no derivative as a whole. Let it return new tensors.")
    if len(set(roots)) < len(roots) or argument_roots.intersection(roots):
        raise TraceError(f"{name} returns views of its arguments, or of one another. Let it return new tensors.")


def _cut(
    whole: Program,
    count: int,
    constants: Mapping[str, Tensor],
    seeds: Sequence[tuple[str, Tensor]],
    kinds: Mapping[str, Tensor],
) -> tuple[Program, Program]:
    """Split a program that computes results and gradients into a forward and a backward program.

    Args:
        whole: returns the function's results and the gradients.
        count: number of steps of the function itself.
        constants: constants of the function itself.
        seeds: the gradients of results.
        kinds: tensors by name.
    """
    outputs, gradients = whole.outputs
    forward, backward = list(whole.steps[:count]), _needed(whole.steps[count:], names_in(gradients))
    own = {name: constant for name, constant in whole.constants.items() if name not in constants}
    outside = {input.name for input in whole.inputs if input.kind is None} | set(constants)
    numbers = {input.name: input for input in whole.inputs if input.kind is not None}
    steps = {result.name: step for step in forward for result in step.results if result is not None}

    here = {name for step in backward for name in step.result_names}
    wanted = {name for name in names_in(gradients).union(*(step.reads for step in backward)) if name not in here}
    again: list[Step] = []
    cheap = _cheap(forward, outside | (wanted & steps.keys()))
    by_elements = _read_by_elements(backward)
    for step in reversed(forward):
        if not wanted & step.result_names:
            continue
        is_view = step.is_view and step.operator.schema.is_view
        if is_view and step.result_names & by_elements:
            by_elements |= step.reads
        # A value that only matrix products read again, such as the activation or norm before a layer, is recomputed
        # from values that are saved for other steps.
        is_near = all(read in wanted or read in outside for read in step.reads if read in steps or read in outside)
        elements = _results_of_elements(step)
        is_for_products = is_near and bool(elements) and not elements & by_elements
        if id(step) in cheap or is_view or is_for_products:
            again.append(step)
            wanted = (wanted - step.result_names) | {read for read in step.reads if read in steps or read in outside}
    backward = _with_steps_where_read(backward, again, names_in(gradients))
    kept = sorted(name for name in wanted if name in steps or name in outside)
    words = names_in(gradients).union(*(step.reads for step in backward))
    words |= _words_of_sizes(whole.sizes, words)
    inputs = [*(_input(name, kinds[name]) for name in kept), *(_input(name, tensor) for name, tensor in seeds)]
    missing = words & _names_of_sizes(whole.inputs) - _names_of_sizes(inputs)
    for input in whole.inputs:  # sizes that no saved tensor determines
        if missing & _names_of_sizes([input]):
            inputs.insert(len(kept), input)
            kept.append(input.name)
            missing -= _names_of_sizes([input])
    more = [number for name, number in numbers.items() if name in words]
    kept_outputs = tuple(Expression(name) for name in (*kept, *(parameter.name for parameter in more)))
    inputs[len(kept) : len(kept)] = more
    first = whole.replace(steps=tuple(forward), outputs=(outputs, kept_outputs), constants=dict(constants))
    second = Program(f"gradients_of_{whole.name}", tuple(inputs), tuple(backward), gradients, (), whole.sizes, own)
    return without_unused_sizes(first), without_unused_sizes(second)


def _read_by_elements(steps: Sequence[Step]) -> set[str]:
    """Return the names of all tensors that pointwise, reduction and row steps read."""
    return set().union(*(step.reads for step in steps if step.call is not None))


def _results_of_elements(step: Step) -> set[str]:
    """Return the names of the results of a step that have one element for each element computed."""
    if step.call is not None and isinstance(step.call.definition, RowDefinition):
        shape = sizes_of(step.call.state.shape)
        return {result.name for result in step.results if result is not None and result.shape == shape}
    return set(step.result_names) if _is_pointwise(step) else set()


def _with_steps_where_read(steps: Sequence[Step], more: Sequence[Step], returned: frozenset[str]) -> list[Step]:
    """Insert recomputed steps into the backward steps, each just before its first reader, to shorten lifetimes."""
    waiting = {name: step for step in more for name in step.result_names}
    steps_where: list[Step] = []

    def add(step: Step | None, names: frozenset[str]) -> None:
        stack: list[tuple[Step | None, list[str]]] = [(step, sorted(names))]
        while stack:
            now, reads = stack[-1]
            before = next((maker for read in reads if (maker := waiting.get(read)) is not None), None)
            if before is None:
                stack.pop()
                steps_where.extend([] if now is None else [now])
                continue
            for name in before.result_names:
                del waiting[name]
            stack.append((before, sorted(before.reads)))

    for step in steps:
        add(step, step.reads)
    add(None, returned)
    return steps_where


def _needed(steps: Sequence[Step], names: frozenset[str]) -> list[Step]:
    """Return the steps that the given names depend on, and those that write."""
    needed = set(names)
    kept: list[Step] = []
    for step in reversed(steps):
        if step.writes or any(result is not None and result.name in needed for result in step.results):
            kept.append(step)
            needed |= step.reads
    return kept[::-1]


def _cheap(steps: Sequence[Step], kept: Collection[str]) -> set[int]:
    """Return the identities of steps that are cheap to recompute from saved tensors or from other cheap steps."""
    free = set(kept)
    tensors = {name for step in steps for name in step.result_names}
    cheap = set()
    for step in steps:
        if not _is_cheap(step):
            continue
        if all(read in free for read in step.reads if read in tensors):
            cheap.add(id(step))
            free |= step.result_names
    return cheap


def _is_cheap(step: Step) -> bool:
    """Return whether running a step again costs no more than reading its saved result."""
    if step.is_random or step.writes:
        return False
    if step.is_view:
        return step.operator.schema.is_view
    if step.call is None or not _is_pointwise(step):
        return False
    return all(node.op in _CHEAP for node in step.call.state.formula.function.nodes)


def _is_pointwise(step: Step) -> bool:
    """Return whether a step is pointwise and draws no random numbers."""
    return step.call is not None and isinstance(step.call.definition, PointwiseDefinition) and not step.is_random


def _input(name: str, tensor: Tensor) -> Input:
    return Input(name, None, tensor.dtype, tensor.device, sizes_of(tensor.shape))


def _names_of_sizes(inputs: Sequence[Input]) -> set[str]:
    """Return the names of symbolic sizes that can be read from the shapes of inputs."""
    return {size for input in inputs for size in input.shape if isinstance(size, str) and size.isidentifier()}


def _words_of_sizes(sizes: Sequence[tuple[str, str]], words: frozenset[str]) -> frozenset[str]:
    """Return the given names, together with the names that their definitions as expressions of sizes contain."""
    expanded = set(words)
    for size, text in reversed(sizes):
        if size in expanded:
            expanded |= names_in(Expression(text))
    return frozenset(expanded)
