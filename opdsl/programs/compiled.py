"""Compiled functions: one optimized program for each form of arguments, run by cached plans."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import MethodType
from typing import Any, Generic, Literal, NamedTuple, ParamSpec, TypeVar, cast, overload

from opdsl.dispatch import current, no_grad
from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.state import PLAN_LIMIT, State
from opdsl.errors import OpdslError, TraceError
from opdsl.programs.algebra import without_needless_steps
from opdsl.programs.arranging import arranged
from opdsl.programs.attention import with_attention
from opdsl.programs.breaking import Parts, parts_of
from opdsl.programs.derivative import differentiated
from opdsl.programs.functional import functional
from opdsl.programs.fusion import with_fused_recorded_steps, with_fused_steps
from opdsl.programs.leaves import Leaves, as_leaves, flatten, is_size, structure_key, unflatten
from opdsl.programs.lifting import with_lifted_folds
from opdsl.programs.passes import Pass, without_repeated_steps, without_unused_steps
from opdsl.programs.placing import with_places
from opdsl.programs.program import Program
from opdsl.programs.running import RecordedProgram, RunningProgram, UpdatingProgram, leaf_form
from opdsl.programs.steps import Expression, counted
from opdsl.programs.tracing import as_function, traced, traced_call
from opdsl.runtime import Device, DType, Tensor

__all__ = [
    "FUSING_PASSES",
    "PASSES",
    "RECORDED_PASSES",
    "UNFUSED_PASSES",
    "CompiledFunction",
    "Explanation",
    "compile",
    "optimised",
]

P = ParamSpec("P")
R = TypeVar("R")

UNFUSED_PASSES: tuple[Pass, ...] = (without_unused_steps, without_needless_steps, without_repeated_steps)
FUSING_PASSES: tuple[Pass, ...] = (with_places, with_fused_steps)
RECORDED_PASSES: tuple[Pass, ...] = (*UNFUSED_PASSES, *FUSING_PASSES)
PASSES: tuple[Pass, ...] = (*UNFUSED_PASSES, with_attention, *FUSING_PASSES, with_lifted_folds)
"""Passes over a traced program whose steps need no gradients, in order."""

# The passes to run instead of others where autograd records the steps of a program one by one.
_STEP_BY_STEP: Mapping[Pass, Pass | None] = {
    with_attention: None,
    with_lifted_folds: None,
    with_fused_steps: with_fused_recorded_steps,
}

# Limit of programs per form, which differ in their guards; a function that needs more runs uncompiled.
_MOST_PROGRAMS = 8
# Limit of forms per function.
_MOST_FORMS = 256


def optimised(program: Program, passes: tuple[Pass, ...] = PASSES) -> Program:
    """Apply passes to a program in order."""
    for change in passes:
        program = change(program)
    return program


class Explanation(NamedTuple):
    """Report on how the calls of a compiled function are run.

    programs: its optimized programs.
    reasons: reasons why calls of other forms run uncompiled.
    breaks: graph breaks: the code before runs as a program, the rest uncompiled.
    """

    programs: tuple[Program, ...]
    reasons: tuple[str, ...]
    breaks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = []
        for program in self.programs:
            fused = [step for step in program.steps if step.parts]
            lines.append(
                f"{program.name}({', '.join(map(str, program.inputs))}): {counted(len(program.steps), 'step')}, "
                f"{len(fused)} of them fused of {sum(len(step.parts) for step in fused)}"
            )
        lines += [f"runs uncompiled from here on: {text}" for text in self.breaks]
        lines += [f"runs uncompiled: {reason}" for reason in self.reasons]
        return "\n".join(lines) or "not called yet"


class _Form:
    """Cache of a compiled function's programs for calls of one form (shape class).

    running: its programs, in the order in which they are tried.
    reason: reason why there are none.
    broken: the function split at a graph break, its first part compiled.
    has_sizes: whether integers among the arguments are symbolic sizes.
    """

    def __init__(self, function: Callable[..., Any], leaves: Leaves, passes: tuple[Pass, ...]) -> None:
        self.function = function
        self.names = leaves.names
        self.structure = leaves.structure
        self.numbers = [name for name, value in zip(leaves.names, leaves.values, strict=True) if type(value) is float]
        self.passes = passes
        self.running: list[RunningProgram] = []
        self.reason = ""
        self.broken: tuple[CompiledFunction[..., Any], Parts] | None = None
        self.has_sizes = False

    def takes_sizes(self, state: State, leaves: Leaves) -> bool:
        """Try to trace a program with symbolic sizes for the integers among the leaves; add it and return True if that
        works.
        """
        try:
            program = self._made(state, leaves)
        except Exception:  # the user's function passes the integer to code that accepts no symbol
            return False
        sizes = {name for name, value in zip(leaves.names, leaves.values, strict=True) if type(value) is int}
        if any(guard.partition(" == ")[0] in sizes for guard in program.program.guards):
            return False
        self.running.append(program)
        self.has_sizes = True
        return True

    def run(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run a call for which there is no program: the code before a graph break compiled, the rest uncompiled."""
        if self.broken is None:
            return self.function(*positional, **named)
        first, parts = self.broken
        return parts.rest(first(*positional, **named), *positional, **named)

    def call(self, state: State, key: object, values: tuple[Any, ...]) -> tuple[Any, RunningProgram | None]:
        """Return the result of a call, and the program that served it, tracing a new one if none does.

        Args:
            state: dispatch state of the call.
            key: key of the geometries of its arguments.
            values: the leaves of its arguments.
        """
        for program in self.running:
            result = program.call(state, key, values)
            if result is not GUARD_FAILED:
                return result, program
        leaves = Leaves(self.names, values, self.structure)
        reason = self.reason
        if len(self.running) >= _MOST_PROGRAMS:
            reason = f"its guards on sizes require more than {_MOST_PROGRAMS} programs"
        if not reason:
            try:
                new_program = self._made(state, leaves)
            except OpdslError as error:
                reason = str(error)
                self.broken = self._cut(leaves, error)
            else:
                self.running.append(new_program)
                return new_program.call(state, key, values), new_program
        positional, named = unflatten(leaves, values)
        result = self.run(positional, named)
        self.reason = reason  # set last: if the call raises, the error is not due to compilation
        return result, None

    def _cut(self, leaves: Leaves, error: OpdslError) -> tuple[CompiledFunction[..., Any], Parts] | None:
        """Split the function at the graph break of an error; return None if that is not possible or the first part has
        no kernel.
        """
        parts = parts_of(self.function, error)
        if parts is None:
            return None
        try:
            program = traced_call(parts.first, leaves).program
        except OpdslError:
            return None
        if all(step.is_view for step in program.steps) or not _is_plain(program.outputs):
            return None
        return CompiledFunction(parts.first, self.passes), parts

    def _made(self, state: State, leaves: Leaves) -> RunningProgram:
        """Trace and optimize a new program for a call; if it needs gradients, a forward and a backward program if
        possible.
        """
        call = traced_call(self.function, leaves)
        program = call.program
        flat = as_leaves(program.inputs, leaves.values)
        with no_grad() if call.gradients else nullcontext():
            rewritten = arranged(functional(program))
            if rewritten is not program and not call.is_mixed:
                program = traced(as_function(rewritten), flat)
        if call.gradients:
            return UpdatingProgram(optimised(program, self.passes), call.gradients, call.begins_without, self.numbers)
        values = (*leaves.values, *program.constants.values())
        if state.grad_mode and any(isinstance(value, Tensor) and value.requires_grad for value in values):
            # A program has no record of which calls branches guard, so the function itself is traced again.
            is_direct = call.is_mixed or (call.has_branches and rewritten is program)
            try:
                parts = differentiated(*((self.function, leaves) if is_direct else (as_function(program), flat)))
            # Other errors propagate: the function may call other operators when gradients are required.
            except TraceError:  # for example, it writes: its steps are recorded one by one
                if call.is_mixed:
                    raise
            else:
                optimise = functools.partial(optimised, passes=self.passes)
                parts = parts._replace(forward=optimise(parts.forward), backward=optimise(parts.backward))
                return RecordedProgram(program, parts, self.numbers)
            passes = (_STEP_BY_STEP.get(change, change) for change in self.passes)
            return RunningProgram(optimised(program, tuple(filter(None, passes))), self.numbers)
        return RunningProgram(optimised(program, self.passes), self.numbers)


class CompiledFunction(Generic[P, R]):
    """Function compiled by ``opdsl.compile``; called like the function itself."""

    def __init__(self, function: Callable[P, R], passes: tuple[Pass, ...] = PASSES) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.passes = passes
        self._forms: dict[object, _Form] = {}
        # Programs of calls with only positional arguments and no containers, and the indices of their leaves.
        self._flat: dict[tuple[State, object], tuple[RunningProgram, tuple[int, ...]]] = {}
        # Forms of such calls that have no programs.
        self._others: dict[tuple[State, object], _Form] = {}
        # Forms of calls that differ only in integers: None after the first call, False if integers cannot be symbolic.
        self._sized: dict[object, _Form | Literal[False] | None] = {}

    def __call__(self, *positional: P.args, **named: P.kwargs) -> R:
        """Call the function: by a cached plan if one serves the arguments."""
        state = current.get()
        key: object = None
        if not named:
            try:
                key = tuple(
                    [argument.geometry if type(argument) is Tensor else _flat_key(argument) for argument in positional]
                )
                running, places = self._flat[state, key]
                plan = running.ready[state, running.key(key)]
            except KeyError:
                pass
            except (TypeError, AttributeError):
                key = None
            else:
                result = plan(*[positional[index] for index in places], *running.constants)
                if result is not GUARD_FAILED:
                    return cast("R", result)
        return cast("R", self._slow(state, key, positional, named))

    def _slow(self, state: State, key: object, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run a call that has no cached plan: find or make the program that serves it."""
        if not state.plans or state.modes or state.recording:
            return self.function(*positional, **named)
        known = self._others.get((state, key)) if key is not None else None
        if known is not None:
            return known.run(positional, named)
        values: list[Any] = []
        try:
            structure = structure_key((positional, named), values)
            form_key = state, structure, tuple(map(leaf_form, values))
            form = self._forms.get(form_key)
            whole = key if key is not None else (structure, tuple(map(_flat_key, values)))
        except (TypeError, AttributeError):
            return self.function(*positional, **named)
        if form is None:
            form = self._new_form(form_key, positional, named)
        if form.reason:
            if key is not None:
                self._keep(self._others, (state, key), form)
            return form.run(positional, named)
        if form.has_sizes:
            values = list(flatten(self.function, positional, named, with_sizes=True).values)
        result, running = form.call(state, whole, tuple(values))
        if key is not None and running is not None:
            places = tuple(
                at
                for at, argument in enumerate(positional)
                if _is_leaf(argument) or (form.has_sizes and is_size(argument))
            )
            self._keep(self._flat, (state, key), (running, places))
        return result

    def _new_form(self, key: tuple[State, object, object], positional: tuple[Any, ...], named: dict[str, Any]) -> _Form:
        """Create and cache the form of a call."""
        form = self._form_with_sizes(key[0], flatten(self.function, positional, named, with_sizes=True))
        if form is None:
            form = _Form(self.function, flatten(self.function, positional, named), self.passes)
        if len(self._forms) >= _MOST_FORMS:
            self._forms.clear()
        self._forms[key] = form
        return form

    def _form_with_sizes(self, state: State, leaves: Leaves) -> _Form | None:
        """Return the form that treats integers as symbolic sizes, made at the second call that differs in them, or
        None.
        """
        if int not in map(type, leaves.values):
            return None
        key = state, structure_key(leaves.structure, []), tuple(map(leaf_form, leaves.values))
        if key not in self._sized:
            self._keep(self._sized, key, None)
            return None
        if self._sized[key] is None:
            form = _Form(self.function, leaves, self.passes)
            self._sized[key] = form if form.takes_sizes(state, leaves) else False
        return self._sized[key] or None

    @staticmethod
    def _keep(kept: dict[Any, Any], key: object, value: object) -> None:
        if len(kept) >= PLAN_LIMIT:
            kept.clear()
        kept[key] = value

    def __deepcopy__(self, memo: dict[int, object]) -> CompiledFunction[P, R]:
        """Return a compiled copy of the function, without the programs of this one."""
        return CompiledFunction(copy.deepcopy(self.function, memo), self.passes)

    def __reduce__(self) -> str | tuple[Callable[..., CompiledFunction[P, R]], tuple[object, ...]]:
        """Pickle by name if a decorator has replaced the function by this object; else pickle the function and compile
        it again.
        """
        name: str = getattr(self.function, "__qualname__", "")
        module: Any = sys.modules.get(getattr(self.function, "__module__", None) or "")
        for part in name.split("."):
            module = getattr(module, part, None)
        return name if module is self else (CompiledFunction, (self.function, self.passes))

    @overload
    def __get__(self, instance: None, owner: type) -> CompiledFunction[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Callable[..., R]: ...
    def __get__(self, instance: object, owner: type) -> Callable[..., R]:
        return self if instance is None else MethodType(self, instance)

    def explain(self) -> Explanation:
        """Return a report on the programs traced so far, and the reasons why calls run uncompiled."""
        forms = tuple(dict.fromkeys(self._forms.values()))
        programs = [running.program for form in forms for running in form.running]
        reasons = [form.reason for form in forms if form.reason and form.broken is None]
        breaks = []
        for first, parts in (form.broken for form in forms if form.broken is not None):
            inner = first.explain()
            programs += inner.programs
            reasons += inner.reasons
            breaks.append(parts.place)
        return Explanation(tuple(programs), tuple(dict.fromkeys(reasons)), tuple(dict.fromkeys(breaks)))


def compile(function: Callable[P, R]) -> CompiledFunction[P, R]:
    """Return a compiled function: traced when it is first called, optimized, fused, and run without dispatch.

    It is traced once for each form of its arguments: dtypes, devices, ranks, layouts and options. New sizes need no new
    program unless a guard on them fails; nor do other integers that are used as sizes. A function that looks at
    elements (``item()``, ``if x.sum() > 0``) has a graph break there: the code before becomes a program, the rest runs
    uncompiled. Code that can be neither traced nor split runs uncompiled. Gradients flow as through the function
    itself.

    Args:
        function: calls operators. Other effects, such as printing, happen when it is traced, and not again.

    Returns:
        A function of the same arguments; its ``explain()`` reports how calls are run. ``compile`` is also a decorator.

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


def _is_plain(value: Any) -> bool:
    """Return whether a program's outputs consist only of tensors, numbers and constants, in tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, (Expression, bool, int, float, str, DType, Device))


def _is_leaf(value: object) -> bool:
    return type(value) is Tensor or type(value) is float


def _flat_key(value: Any) -> object:
    """Return the cache key of an argument: the geometry of a tensor, the type of a float, else the value.

    Raises:
        TypeError: the argument is a container or a tensor subclass, whose key is made by ``structure_key``.
    """
    if type(value) is float:
        return float
    if type(value) is Tensor:
        return value.geometry
    if isinstance(value, (tuple, list, dict, Tensor)):
        raise TypeError("a list is taken apart")
    return value_key(value)
