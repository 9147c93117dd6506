"""Programs that run: their plans, and the nodes that calls which are recorded leave behind."""

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
from opdsl.dispatch.plans.forms import UNSERVED
from opdsl.dispatch.plans.function_plans import FunctionPlans
from opdsl.dispatch.plans.sequencing import SequencingEmitter
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.errors import GradientError
from opdsl.programs.derivative import Differentiated, tensors_returned
from opdsl.programs.program import Program
from opdsl.runtime import Creation, Device, DType, Tensor, version_of
from opdsl.runtime.symbol import is_symbol

__all__ = ["RecordedProgram", "RunningProgram", "UpdatingProgram", "leaf_form"]

# Kernels that one program may run: a network over many time steps has thousands.
_MOST_STEPS = 20_000

_NOT_RECORDING = no_grad()


class RunningProgram:
    """A program and its plans.

    Args:
        program: this one.
        numbers: the inputs that are floats.

    constants: the tensors that it reads from elsewhere, which plans are handed as arguments.
    ready: what runs calls, by the state and what tells them apart.
    """

    ready: Mapping[tuple[State, object], Callable[..., Any]]

    def __init__(self, program: Program, numbers: Sequence[str]) -> None:
        self.program = program
        self.constants = tuple(program.constants.values())
        self.plans = _plans(program, numbers)
        self.ready = self.plans.plans

    def key(self, key: object) -> object:
        """The key of a call with what its constants are now."""
        return (key, *[constant.geometry for constant in self.constants]) if self.constants else key

    def form_key(self, values: Sequence[Any]) -> object:
        """What tells the form of a call apart: of constants all of their geometries, which hardly ever change."""
        return (*map(leaf_form, values), *[constant.geometry for constant in self.constants])

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> Any:
        """The result of a call; ``UNSERVED`` where the program does not serve it.

        Args:
            state: of the call.
            key: what tells it apart from calls of other geometries.
            values: the leaves of its arguments.
        """
        whole = self.key(key)
        return self.plans.call(state, whole, self.form_key(values), (*values, *self.constants))


class _CalledProgram(RunningProgram):
    """A program that does more at each call than run its plan."""

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
        if result is not UNSERVED:
            if len(self._known) >= PLAN_LIMIT:
                self._known.clear()
            self._known[state, whole] = run
        return result

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """The result of a call; ``UNSERVED`` where the program does not serve it.

        Args:
            key, form_key: what tells it apart from calls of other geometries, and of other forms.
            arguments: the leaves, then the constants.
        """
        raise NotImplementedError


class RecordedProgram(_CalledProgram):
    """A program whose calls are recorded as one node, the backward pass of which is a program, too.

    Args:
        program: of the function itself, whose steps are recorded where gradients are differentiated.
        parts: what runs forward and backward.
        numbers: the inputs that are floats.
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
        # What is kept that users may write: arguments.
        tensors = [(at, input.name) for at, input in enumerate(parts.backward.inputs) if input.kind is None]
        self.watched = tuple((at, self.names.index(name)) for at, name in tensors if name in self.names)

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> Any:
        """See ``RunningProgram``."""
        if [at for at, constant in enumerate(self.constants) if constant.requires_grad] != self.required:
            return UNSERVED
        return super().call(state, key, values)

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """Run the forward program, and leave a node behind its results."""
        with _NOT_RECORDING:
            outputs: Any = self.plans.call(current.get(), key, form_key, arguments)
        if outputs is UNSERVED:
            return outputs
        result, kept = outputs
        listed = tensors_returned(result)
        followed = [listed[at] for at in self.results]
        recipe = Recipe(
            f"the program of {self.whole.name}", self._backward, tuple([tensor.geometry for tensor in followed])
        )
        edges = tuple([edge_of(arguments[at]) for at in self.targets])
        versions = [version_of(arguments[place]) for _, place in self.watched]
        node = make_node(recipe, edges, (arguments, _without_results(kept, followed), versions, key))
        for place, tensor in enumerate(followed):
            _follow(tensor, node if place == 0 else Output(node, place))
        return result

    def _backward(self, node: Node, gradients: Sequence[Gradient]) -> Sequence[Gradient]:
        """See ``Recipe``."""
        arguments, kept, versions, key = node.saved
        for (_, place), version in zip(self.watched, versions, strict=True):
            if version_of(arguments[place]) != version:
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
        return cast(
            "Sequence[Gradient]", self.backward.function(*inputs) if input_gradients is UNSERVED else input_gradients
        )

    def _step_by_step(self, arguments: Sequence[Any], seeds: Sequence[Tensor]) -> Sequence[Gradient]:
        """The gradients by another call of the function, whose steps are recorded.

        Raises:
            GradientError: the function would draw other random numbers.
        """
        if any(step.is_random for step in self.whole.steps):
            raise GradientError(
                f"{self.whole.name}: gradients of gradients of a compiled function run it anew, and this one draws "
                "random numbers. Call the function itself, not what opdsl.compile gave, for these."
            )
        listed = tensors_returned(self.whole.function(*arguments))
        wanted = [arguments[at] for at in self.targets]
        return grad([listed[at] for at in self.results], wanted, seeds, create_graph=True, allow_unused=True)


class UpdatingProgram(_CalledProgram):
    """A program with a backward pass in it: it leaves gradients behind.

    Args:
        program: gives what the function returns, and the gradients.
        targets: the names of the inputs and constants that get them.
        begins_without: those of them that must have none before.
        numbers: the inputs that are floats.
    """

    def __init__(
        self, program: Program, targets: Sequence[str], begins_without: Sequence[str], numbers: Sequence[str]
    ) -> None:
        super().__init__(program, numbers)
        self.targets = [self.plans.names.index(target) for target in targets]
        self.begins_without = [self.plans.names.index(text) for text in begins_without]

    def run(self, key: object, form_key: object, *arguments: Any) -> Any:
        """Run the program, and hand leaves their gradients."""
        if any(leaf_of(arguments[at]).grad is not None for at in self.begins_without):
            return UNSERVED
        if any(has_hooks(leaf_of(arguments[at])) for at in self.targets):
            return UNSERVED
        with _NOT_RECORDING:
            outputs: Any = self.plans.call(current.get(), key, form_key, arguments)
            if outputs is UNSERVED:
                return outputs
            result, gradients = outputs
            waiting = list(gradients)
            del outputs, gradients  # a leaf keeps what nobody else has, and copies what others have
            for at in reversed(self.targets):
                leaf = leaf_of(arguments[at])
                has_one = waiting[-1] is not None
                leaf.grad = own([waiting.pop()], leaf.recipe.results[0]) if has_one else waiting.pop()
        return result


def leaf_form(value: Any) -> object:
    """What tells the forms of calls apart of one of their tensors and numbers."""
    return value.geometry.form if isinstance(value, Tensor) else type(value)


def _plans(program: Program, numbers: Sequence[str]) -> FunctionPlans:
    names = (*(input.name for input in program.inputs), *program.constants)
    fixed = tuple(program.constants)
    return FunctionPlans(program.function, names, numbers, fixed=fixed, printer=_Printer, most_steps=_MOST_STEPS)


class _Printer(SequencingEmitter):
    """Prints plans of programs: numbers, which sizes and numbers of the call decide, may be results."""

    def _returned(self, result: Any) -> str:
        if is_symbol(result) or isinstance(result, (bool, int, float, str, DType, Device)):
            return self.recorder.source(result)
        return super()._returned(result)


def _follow(result: Tensor, edge: Edge) -> None:
    """Have a result require grad; nobody else has its memory, so it is no view."""
    form = result.geometry
    form = form.replace(creation=Creation.DETACHED) if form.is_tracked_view else form
    result.geometry = form.replace(requires_grad=True)
    result.autograd = edge


def _without_results(kept: Sequence[Any], results: Sequence[Tensor]) -> tuple[Any, ...]:
    """What is kept; in place of results what does not refer to their node."""
    places = {id(result): place for place, result in enumerate(results)}
    return tuple([keep_result(value, places[id(value)]) if id(value) in places else value for value in kept])


def _restored(node: Node, value: Any) -> Any:
    """What was kept.

    Raises:
        SavedTensorChangedError: a result has been written since.
    """
    if not isinstance(value, KeptResult):
        return value
    if version_of(value.tensor) != value.version:
        raise changed(node, "result", value.tensor, value.version)
    return value.tensor
