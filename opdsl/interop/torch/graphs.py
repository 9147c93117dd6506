"""Plans that call torch's operators: composite bodies and derivatives on torch tensors, lowered once per shape class.

While a body is recorded, opdsl's kernels compute the shapes of results on symbolic tensors; the recorded steps call
torch's operators, which autograd records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from opdsl.dispatch import DispatchMode, KeySet, Operator, State, current, unbox
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.policy import Next
from opdsl.dispatch.state import Guard
from opdsl.interop.torch.decomposition import Define, completion_of
from opdsl.interop.torch.definition import find, target_of
from opdsl.interop.torch.lowered import Forms, Reader
from opdsl.interop.torch.states import is_as_in_torch, state_of_body, within_torch
from opdsl.interop.torch.tensors import to_torch
from opdsl.runtime import Tensor
from opdsl.runtime.lowering import Check, Lowering, SymbolicArray, Written, is_lowered, lowering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.symbol import NotLoweredError, is_symbol

__all__ = ["Graphs"]

_CPU = KeySet("CPU")


class _Noting(DispatchMode):
    """Dispatch mode that records a call of the torch operator for every operator that is called."""

    before_decomposition = True
    is_lowered = True

    def __init__(self, define: Define) -> None:
        self.define = define
        self.within = Guard(self.state_within, keep=True)

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        if called.schema.is_mutable:
            raise NotLoweredError("an argument is written")
        if not all(type(tensor.array) is SymbolicArray for tensor in _tensors_of(arguments)):
            raise NotLoweredError("a tensor that was not made by torch")
        state = current.get()
        if state.modes:
            raise NotLoweredError("a mode wants to see what is called")
        if find(called.schema) is None and called.is_composite(_CPU):
            with self.within:
                return called.find_in(_CPU)(*arguments)
        recorder = lowering.get()
        assert recorder is not None, "this is a run of a lowering"
        results = _results(recorder, called, arguments)
        tensors = [result for result in results if isinstance(result, Tensor)]
        if len(tensors) != len(results) or type(results) is not tuple:
            raise NotLoweredError("a result that is no tensor")
        passed = arguments if kwargs else args
        function = self._target(called, state, with_all=bool(kwargs))
        (variable,) = recorder.run(function, [_given(value) for value in passed], ["result"])
        is_alone = len(called.schema.returns) == 1 and not called.returns_list
        known = {id(argument) for argument in arguments if isinstance(argument, Tensor)}
        for index, tensor in enumerate(tensors):
            if id(tensor) not in known:
                _holds(tensor, variable if is_alone else f"{variable}[{index}]")
        return tensors[0] if is_alone else list(tensors) if called.returns_list else tuple(tensors)

    def _target(self, called: Operator, state: State, *, with_all: bool) -> Callable[..., Any]:
        """Return a function that calls the torch operator, with all arguments or with the leading ones."""
        completion, define = completion_of(called), self.define
        # torch's own operators are permanent; registered ones may be removed and registered again.
        fixed = target_of(called.schema) if called.schema.name.namespace is None else None
        is_changed = not is_as_in_torch(state)  # the body has changed the state; plans are keyed by the state before
        if fixed is not None and not with_all and not is_changed:
            return fixed

        def call(*values: Any) -> Any:
            positional, named = completion.split(values) if with_all else (values, {})
            with within_torch(called.name, state) if is_changed else nullcontext():
                return (fixed or find(called.schema) or define(called))(*positional, **named)

        return call


def _tensors_of(values: Sequence[Any]) -> Iterator[Tensor]:
    """Yield the tensors among values and in lists of these."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors_of(value)


def _results(recorder: Lowering, called: Operator, arguments: Sequence[Any]) -> Any:
    """Run an operator's kernel on symbolic tensors and return its results as a tuple; the steps that it records are
    discarded.
    """
    before = len(recorder.steps)
    results = called.find_in(_CPU)(*arguments)
    noted = recorder.steps[before:]
    del recorder.steps[before:]
    results = (results,) if isinstance(results, Tensor) else results
    if any(isinstance(step, Check) for step in noted) or not isinstance(results, tuple | list):
        raise NotLoweredError("elements decide what is done")
    for result in results:
        if isinstance(result, Tensor):
            sizes: tuple[Any, ...] = (*result.geometry.shape, *result.geometry.strides)
            texts = [size.text for size in sizes if is_symbol(size)]
            if any(map(recorder.is_late, texts)):
                raise NotLoweredError("elements decide sizes")
    return tuple(results)


def _holds(tensor: Tensor, text: str) -> None:
    """Set the expression that a symbolic tensor represents; its storage offset is kept."""
    array: Any = tensor.array
    tensor.array = SymbolicArray(text, array.dtype, array.offset)


def _given(value: Any) -> Any:
    """Convert an argument of a step to torch; tensors and symbolic numbers are returned unchanged."""
    if isinstance(value, Tensor) or is_lowered(value):
        return value
    if type(value) is tuple and any(isinstance(element, Tensor) for element in value):
        return value
    return to_torch(value)


class _Printer(Emitter):
    """Emitter of plans whose tensors are torch tensors."""

    def _written(self, step: Written) -> None:
        """See ``Emitter``: emits nothing, since torch's operators update version counters themselves."""

    def _tensor(self, tensor: Tensor) -> str:
        known = self.texts.get(id(tensor))
        if known is not None:
            return known
        array: Any = getattr(tensor, "array", None)
        if type(array) is not SymbolicArray:
            raise NotLoweredError("a tensor that was not made by torch")
        text: str = array.text
        return text


class Graphs(Forms):
    """Plans of a function that calls operators, on torch tensors.

    Args:
        name, function, kinds: see ``Forms``.
        define: see ``Define``.

    generation: number of times the plans were dropped.
    """

    reader = Reader
    printer = _Printer

    def __init__(self, name: str, function: Plan, kinds: Sequence[Kind], define: Define) -> None:
        super().__init__(name, function, kinds, self)
        self.generation = 0
        self.mode = _Noting(define)

    def call(self, *arguments: Any) -> Any:
        """See ``Forms``."""
        with self.mode.within:
            return super().call(*arguments)

    def forget(self) -> None:
        """Drop all plans, after a kernel has changed."""
        self.generation += 1
        self.table.clear()

    def answer(self, values: Sequence[Any], decompose: Callable[[], Any]) -> Any:
        """Return the result of a call: by a plan if one matches, else by running the function, after which it may be
        lowered.

        Args:
            values: all arguments, as torch values; no mode or transform intercepts calls.
            decompose: runs the function itself.
        """
        state = state_of_body()
        result = self.run(state, values)
        if result is not GUARD_FAILED:
            return result
        result = decompose()
        form = self.find(state, values)
        if form is not None:
            if form.decide() is Next.FORM and self.lower(state, form, values):
                form.keeps_no_others()
            form.misses += 1
        return result
