"""Compiled functions: a program for each form of arguments, optimised once, and run by plans."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from types import MethodType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload

from opdsl.dispatch import current, no_grad
from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.plans.forms import UNSERVED
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.errors import OpdslError, TraceError
from opdsl.programs.algebra import without_needless_steps
from opdsl.programs.derivative import differentiated
from opdsl.programs.functional import functional
from opdsl.programs.fusion import with_fused_steps
from opdsl.programs.leaves import LEAF, Leaves, as_leaves, flatten, unflatten
from opdsl.programs.passes import Pass, without_repeated_steps, without_unused_steps
from opdsl.programs.program import Program
from opdsl.programs.running import RecordedProgram, RunningProgram, UpdatingProgram, leaf_form
from opdsl.programs.tracing import as_function, traced, traced_call
from opdsl.runtime import Tensor

__all__ = ["PASSES", "CompiledFunction", "Explanation", "compile", "optimised"]

P = ParamSpec("P")
R = TypeVar("R")

PASSES: tuple[Pass, ...] = (
    without_unused_steps,
    without_needless_steps,
    without_repeated_steps,
    with_fused_steps,
)
"""What is done to a traced program, in order."""

# Programs of one form, which differ in what the function asked of sizes; a function that has more runs as it is.
_MOST_PROGRAMS = 8
# Forms of one function.
_MOST_FORMS = 256


def optimised(program: Program, passes: tuple[Pass, ...] = PASSES) -> Program:
    """A program after passes."""
    for each in passes:
        program = each(program)
    return program


class Explanation(NamedTuple):
    """What became of the calls of a compiled function.

    programs: those that it has, as they run.
    reasons: why calls of other forms run as they are.
    """

    programs: tuple[Program, ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        lines = []
        for each in self.programs:
            fused = [step for step in each.steps if step.parts]
            lines.append(
                f"{each.name}({', '.join(map(str, each.inputs))}): {len(each.steps)} steps, "
                f"{len(fused)} of them fused of {sum(len(step.parts) for step in fused)}"
            )
        return "\n".join([*lines, *(f"runs as it is: {each}" for each in self.reasons)]) or "not called yet"


class _Form:
    """What is known of calls of one form.

    running: its programs, in the order in which they are tried.
    reason: why there are none.
    """

    def __init__(self, function: Callable[..., Any], leaves: Leaves, passes: tuple[Pass, ...]) -> None:
        self.function = function
        self.names = leaves.names
        self.structure = leaves.structure
        self.numbers = [name for name, each in zip(leaves.names, leaves.values, strict=True) if type(each) is float]
        self.passes = passes
        self.running: list[RunningProgram] = []
        self.reason = ""

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> tuple[Any, RunningProgram | None]:
        """The result of a call, and the program that has served it: a new one where none does.

        Args:
            state: of the call.
            key: what tells it apart from calls of other geometries.
            values: the leaves of its arguments.
        """
        for each in self.running:
            result = each.call(state, key, values)
            if result is not UNSERVED:
                return result, each
        leaves = Leaves(self.names, values, self.structure)
        reason = self.reason
        if len(self.running) >= _MOST_PROGRAMS:
            reason = f"it asks so much of sizes that it has more than {_MOST_PROGRAMS} programs"
        if not reason:
            try:
                made = self._made(state, leaves)
            except OpdslError as error:
                reason = str(error)
            else:
                self.running.append(made)
                return made.call(state, key, values), made
        positional, named = unflatten(leaves, values)
        result = self.function(*positional, **named)
        self.reason = reason  # what raises now would have raised without a program, too
        return result, None

    def _made(self, state: State, leaves: Leaves) -> RunningProgram:
        """A new program for a call, as one node where it is recorded and can be."""
        call = traced_call(self.function, leaves)
        program = call.program
        flat = as_leaves(program.inputs, leaves.values)
        with no_grad() if call.gradients else nullcontext():
            rewritten = functional(program)
            if rewritten is not program and not call.is_mixed:
                program = traced(as_function(rewritten), flat)
        if call.gradients:
            return UpdatingProgram(optimised(program, self.passes), call.gradients, call.begins_without, self.numbers)
        values = (*leaves.values, *program.constants.values())
        if state.grad_mode and any(isinstance(each, Tensor) and each.requires_grad for each in values):
            try:
                parts = differentiated(*((self.function, leaves) if call.is_mixed else (as_function(program), flat)))
            # What else derivatives raise: the function may call other operators where gradients are asked for.
            except TraceError:  # it writes, say: its steps are recorded one by one
                if call.is_mixed:
                    raise
            else:
                optimise = functools.partial(optimised, passes=self.passes)
                parts = parts._replace(forward=optimise(parts.forward), backward=optimise(parts.backward))
                return RecordedProgram(program, parts, self.numbers)
        return RunningProgram(optimised(program, self.passes), self.numbers)


class CompiledFunction(Generic[P, R]):
    """What ``opdsl.compile`` gives: called as the function is."""

    def __init__(self, function: Callable[P, R], passes: tuple[Pass, ...] = PASSES) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.passes = passes
        self._forms: dict[object, _Form] = {}
        # Programs of calls whose arguments are all positional, and no lists of tensors; and where the leaves are.
        self._flat: dict[tuple[State, object], tuple[RunningProgram, tuple[int, ...]]] = {}

    def __call__(self, *given: P.args, **named: P.kwargs) -> R:
        """Call the function: by its program, where one serves the arguments."""
        state = current.get()
        key: object = None
        if not named:
            try:
                key = tuple([each.geometry if type(each) is Tensor else _flat_key(each) for each in given])
                running, places = self._flat[state, key]
                plan = running.ready[state, running.key(key)]
            except KeyError:
                pass
            except (TypeError, AttributeError):
                key = None
            else:
                result = plan(*[given[index] for index in places], *running.constants)
                if result is not UNSERVED:
                    return cast("R", result)
        return cast("R", self._slow(state, key, given, named))

    def _slow(self, state: State, key: object, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call for which there is no plan yet, or which is looked up the long way."""
        if not state.plans or state.modes or state.recording:
            return self.function(*given, **named)
        leaves = flatten(self.function, given, named)
        try:
            structure = _structure_key(leaves.structure)
            form_key = state, structure, tuple(map(leaf_form, leaves.values))
            form = self._forms.get(form_key)
            whole = key if key is not None else (structure, tuple(map(_flat_key, leaves.values)))
        except (TypeError, AttributeError):
            return self.function(*given, **named)
        if form is None:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            form = self._forms[form_key] = _Form(self.function, leaves, self.passes)
        if form.reason:
            return self.function(*given, **named)
        result, running = form.call(state, whole, leaves.values)
        if key is not None and running is not None:
            if len(self._flat) >= PLAN_LIMIT:
                self._flat.clear()
            self._flat[state, key] = running, tuple(index for index, each in enumerate(given) if _is_leaf(each))
        return result

    @overload
    def __get__(self, instance: None, owner: type) -> CompiledFunction[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[..., R]: ...
    def __get__(self, instance: object, owner: type) -> Callable[..., R]:
        return self if instance is None else MethodType(self, instance)

    def explain(self) -> Explanation:
        """What was traced and fused so far, and why calls run as they are."""
        forms = tuple(self._forms.values())
        programs = tuple(running.program for each in forms for running in each.running)
        return Explanation(programs, tuple(dict.fromkeys(each.reason for each in forms if each.reason)))


def compile(function: Callable[P, R]) -> CompiledFunction[P, R]:
    """A function that runs as a program: traced when it is first called, optimised, fused, and run without dispatch.

    It is traced once for each form of its arguments: dtypes, devices, dimensions, layouts and options. New sizes need
    no new program, unless the function has asked something of them that is answered in another way. What cannot be
    traced runs as it is. Gradients flow as through the function itself.

    Args:
        function: calls operators. What else it does, as printing, is done when it is traced, and not again.

    Returns:
        A function of the same arguments; ``explain()`` tells what became of its calls. It decorates, too.

    >>> import opdsl
    >>> @opdsl.compile
    ... def swiglu(x, w, v):
    ...     gate = x @ w
    ...     return gate / (1 + (-gate).exp()) * (x @ v)
    >>> swiglu(opdsl.ones(2, 3), opdsl.ones(3, 4), opdsl.ones(3, 4)).shape
    (2, 4)
    >>> print(swiglu.explain())
    swiglu(x: float32[s1, s2], w: float32[s2, s5], v: float32[s2, s5]): 3 steps, 1 of them fused of 5
    """
    return CompiledFunction(function)


def _is_leaf(value: object) -> bool:
    return type(value) is Tensor or type(value) is float


def _flat_key(value: Any) -> object:
    """What tells an argument apart: of floats programs know the type alone.

    Raises:
        TypeError: the key of a list is made the long way.
    """
    if type(value) is float:
        return float
    if type(value) is Tensor:
        return value.geometry
    if isinstance(value, (tuple, list, dict, Tensor)):
        raise TypeError("a list is taken apart")
    return value_key(value)


def _structure_key(structure: Any) -> object:
    """A key of what is no leaf."""
    if structure is LEAF:
        return LEAF
    if isinstance(structure, (tuple, list)):
        return (type(structure), *map(_structure_key, structure))
    if isinstance(structure, dict):
        return (dict, *((name, _structure_key(each)) for name, each in structure.items()))
    return value_key(structure)
