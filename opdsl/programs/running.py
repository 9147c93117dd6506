"""Programs with their cached plans, and the autograd nodes that recorded calls create."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from opdsl.autograd.constants import filled
from opdsl.autograd.graph import (
    Edge,
    Gradient,
    Node,
    Output,
    Recipe,
    changed,
    edge_of,
    has_hooks,
    leaf_of,
    make_node,
    own,
)
from opdsl.autograd.passes import grad
from opdsl.autograd.saving import KeptResult, keep_result
from opdsl.dispatch import current, is_grad_enabled, no_grad
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.function_plans import FunctionPlans
from opdsl.dispatch.plans.sequencing import SequencingEmitter
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.errors import GradientError
from opdsl.programs.derivative import Differentiated, tensors_returned
from opdsl.programs.program import Program
from opdsl.programs.steps import names_in
from opdsl.runtime import Creation, Device, DType, Tensor, version_of
from opdsl.runtime.symbol import is_symbol

__all__ = ["RecordedProgram", "RunningProgram", "UpdatingProgram", "leaf_form"]

# Limit of kernels in one program: a network over many time steps has thousands.
_MOST_STEPS = 20_000

_NOT_RECORDING = no_grad()


class RunningProgram:
    """Program with its cache of plans.

    Args:
        program: the program.
        numbers: names of the inputs that are floats.

    constants: the program's constants, which plans take as further arguments.
    ready: functions that run calls, by dispatch state and key of the arguments.
    """

    ready: Mapping[tuple[State, object], Callable[..., Any]]

    def __init__(self, program: Program, numbers: Sequence[str]) -> None:
        self.program = program
        self.constants = tuple(program.constants.values())
        self.plans = _plans(program, numbers)
        self.ready = self.plans.plans

    def key(self, key: object) -> object:
        """Return the plan key of a call: the given key and the geometries of the constants."""
        return (key, *[constant.geometry for constant in self.constants]) if self.constants else key

    def form_key(self, values: Sequence[Any]) -> object:
        """Return the key of a call's form (shape class), with the geometries of the constants."""
        return (*map(leaf_form, values), *[constant.geometry for constant in self.constants])

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> Any:
        """Run the program for a call; return ``GUARD_FAILED`` on a guard failure.

        Args:
            state: dispatch state of the call.
            key: key of the geometries of the arguments.
            values: the leaves of its arguments.
        """
        whole = self.key(key)
        return self.plans.call(state, whole, self.form_key(values), (*values, *self.constants))


class _CalledProgram(RunningProgram):
    """Base class of programs that do more for each call than run a plan."""

    def __init__(self, program: Program, numbers: Sequence[str]) -> None:
        super().__init__(program, numbers)
        self._known: dict[tuple[State, object], Callable[..., Any]] = {}
        self.ready = self._known

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> Any:
        """See ``RunningProgram``."""
        arguments = (*values, *self.constants)
        whole = self.key(key)
        run = partial(self.run, whole, self.form_key(values))
        result = run(*arguments)
        if result is not GUARD_FAILED:
            if len(self._known) >= PLAN_LIMIT:
                self._known.clear()
            self._known[state, whole] = run
        return result

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """Run the program for a call; return ``GUARD_FAILED`` on a guard failure.

        Args:
            key, form_key: keys of the arguments' geometries and of their form.
            arguments: the leaves, then the constants.
        """
        raise NotImplementedError


class RecordedProgram(_CalledProgram):
    """Program whose calls are one node of the autograd graph, with a backward pass that is a program too.

    Args:
        program: program of the function itself; its steps are recorded one by one for gradients of gradients.
        parts: its forward and backward programs.
        numbers: names of the inputs that are floats.
    """

    def __init__(self, program: Program, parts: Differentiated, numbers: Sequence[str]) -> None:
        super().__init__(parts.forward, numbers)
        self.whole = program
        self.results = parts.results
        self.names = self.plans.names
        self.targets = tuple(self.names.index(target) for target in parts.targets)
        self.required = [at for at, constant in enumerate(self.constants) if constant.requires_grad]
        self.backward = _plans(parts.backward, [input.name for input in parts.backward.inputs if input.kind is float])
        self.own = tuple(parts.backward.constants.values())
        self.kept_count = len(parts.backward.inputs)
        # Saved values that users may write: arguments.
        tensors = [(at, input.name) for at, input in enumerate(parts.backward.inputs) if input.kind is None]
        self.watched = tuple((at, self.names.index(name)) for at, name in tensors if name in self.names)
        # The backward program reads only the sizes of the other watched arguments, which may be written.
        read = names_in(parts.backward.outputs).union(*(step.reads for step in parts.backward.steps))
        self.read = frozenset(place for _, place in self.watched if self.names[place] in read)

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> Any:
        """See ``RunningProgram``."""
        if [at for at, constant in enumerate(self.constants) if constant.requires_grad] != self.required:
            return GUARD_FAILED
        return super().call(state, key, values)

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """Run the forward program and connect its results to a new autograd node."""
        with _NOT_RECORDING:
            outputs: Any = self.plans.call(current.get(), key, form_key, arguments)
        if outputs is GUARD_FAILED:
            return outputs
        result, kept = outputs
        listed = tensors_returned(result)
        followed = [listed[at] for at in self.results]
        recipe = Recipe(
            f"the program of {self.whole.name}", self._backward, tuple([tensor.geometry for tensor in followed])
        )
        edges = tuple([edge_of(arguments[at]) for at in self.targets])
        versions = [(version_of(arguments[place]), arguments[place].shape) for _, place in self.watched]
        node = make_node(recipe, edges, (arguments, _without_results(kept, followed), versions, key))
        for place, tensor in enumerate(followed):
            _follow(tensor, node if place == 0 else Output(node, place))
        return result

    def _backward(self, node: Node, gradients: Sequence[Gradient]) -> Sequence[Gradient]:
        """See ``Recipe``."""
        arguments, kept, versions, key = node.saved
        for (_, place), (version, shape) in zip(self.watched, versions, strict=True):
            tensor = arguments[place]
            if tensor.shape != shape or (place in self.read and version_of(tensor) != version):
                raise changed(node, self.names[place], arguments[place], version)
        forms = node.recipe.results
        seeds = [
            filled(form, 0) if gradient is None else gradient for form, gradient in zip(forms, gradients, strict=True)
        ]
        if is_grad_enabled():
            return self._step_by_step(arguments, seeds)
        inputs = (*[_restored(node, value) for value in kept], *seeds, *self.own)
        geometries = tuple([seed.geometry for seed in (*seeds, *[inputs[at] for at, _ in self.watched])])
        form_key = (*map(leaf_form, inputs[: self.kept_count]), *[tensor.geometry for tensor in self.own])
        input_gradients: Any = self.backward.call(current.get(), (key, geometries), form_key, inputs)
        if input_gradients is GUARD_FAILED:
            input_gradients = self.backward.function(*inputs)
        return cast("Sequence[Gradient]", input_gradients)

    def _step_by_step(self, arguments: Sequence[Any], seeds: Sequence[Tensor]) -> Sequence[Gradient]:
        """Compute differentiable gradients by calling the function again with its steps recorded.

        Raises:
            GradientError: the function draws random numbers, which would differ.
        """
        if any(step.is_random for step in self.whole.steps):
            raise GradientError(
                f"{self.whole.name}: higher-order gradients of a compiled function run it again, but this one draws "
                "random numbers. Call the uncompiled function for them."
            )
        listed = tensors_returned(self.whole.function(*arguments))
        wanted = [arguments[at] for at in self.targets]
        return grad([listed[at] for at in self.results], wanted, seeds, create_graph=True, allow_unused=True)


class UpdatingProgram(_CalledProgram):
    """Program that contains a backward pass: it sets the ``grad`` of leaf tensors.

    Args:
        program: returns the function's results, and the gradients.
        targets: names of the inputs and constants that get them.
        begins_without: those of them that must have no gradient before.
        numbers: names of the inputs that are floats.
    """

    def __init__(
        self, program: Program, targets: Sequence[str], begins_without: Sequence[str], numbers: Sequence[str]
    ) -> None:
        super().__init__(program, numbers)
        self.targets = [self.plans.names.index(target) for target in targets]
        self.begins_without = [self.plans.names.index(text) for text in begins_without]

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """Run the program and set the gradients of leaf tensors."""
        if any(leaf_of(arguments[at]).grad is not None for at in self.begins_without):
            return GUARD_FAILED
        if any(has_hooks(leaf_of(arguments[at])) for at in self.targets):
            return GUARD_FAILED
        with _NOT_RECORDING:
            outputs: Any = self.plans.call(current.get(), key, form_key, arguments)
            if outputs is GUARD_FAILED:
                return outputs
            result, gradients = outputs
            waiting = list(gradients)
            del outputs, gradients  # a leaf takes over a gradient without other references, and copies one with
            for at in reversed(self.targets):
                leaf = leaf_of(arguments[at])
                has_one = waiting[-1] is not None
                leaf.grad = own([waiting.pop()], leaf.recipe.results[0]) if has_one else waiting.pop()
        return result


def leaf_form(value: Any) -> object:
    """Return the contribution of a tensor or number to the key of a form."""
    return value.geometry.form if isinstance(value, Tensor) else type(value)


def _plans(program: Program, numbers: Sequence[str]) -> FunctionPlans:
    names = (*(input.name for input in program.inputs), *program.constants)
    fixed = tuple(program.constants)
    return FunctionPlans(program.function, names, numbers, fixed=fixed, printer=_Printer, most_steps=_MOST_STEPS)


class _Printer(SequencingEmitter):
    """Emitter of plans of programs, whose results may also be numbers that depend on sizes and numbers of the call."""

    def _returned(self, result: Any) -> str:
        if is_symbol(result) or isinstance(result, (bool, int, float, str, DType, Device)):
            return self.recorder.source(result)
        return super()._returned(result)


def _follow(result: Tensor, edge: Edge) -> None:
    """Mark a new result as requiring grad, with its edge in the autograd graph."""
    form = result.geometry
    form = form.replace(creation=Creation.DETACHED) if form.is_tracked_view else form
    result.geometry = form.replace(requires_grad=True)
    result.autograd = edge


def _without_results(kept: Sequence[Any], results: Sequence[Tensor]) -> tuple[Any, ...]:
    """Replace results among the saved values by references without their node, to avoid a reference cycle."""
    places = {id(result): place for place, result in enumerate(results)}
    return tuple([keep_result(value, places[id(value)]) if id(value) in places else value for value in kept])


def _restored(node: Node, value: Any) -> Any:
    """Return a saved value of a node, or raise an error if it was a result that has been written since.

    Raises:
        SavedTensorChangedError: it is a result that has been written since.
    """
    if not isinstance(value, KeptResult):
        return value
    if version_of(value.tensor) != value.version:
        raise changed(node, "result", value.tensor, value.version)
    return value.tensor
