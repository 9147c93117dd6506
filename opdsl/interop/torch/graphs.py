"""Composites and derivatives on torch's tensors, lowered for their forms: plans of torch's operators.

What the results of an operator are its own kernel tells, run on what records; what is done is a call of the torch
operator, which autograd follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from opdsl.dispatch import DispatchMode, KeySet, Operator, State, current, unbox
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.forms import UNSERVED
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
    """Notes a call of the torch operator for every operator that is called."""

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
        (name,) = recorder.run(function, [_given(value) for value in passed], ["result"])
        is_alone = len(called.schema.returns) == 1 and not called.returns_list
        known = {id(argument) for argument in arguments if isinstance(argument, Tensor)}
        for index, tensor in enumerate(tensors):
            if id(tensor) not in known:
                _holds(tensor, name if is_alone else f"{name}[{index}]")
        return tensors[0] if is_alone else list(tensors) if called.returns_list else tuple(tensors)

    def _target(self, called: Operator, state: State, *, with_all: bool) -> Callable[..., Any]:
        """A function that calls the torch operator: of all arguments, or of the first ones."""
        completion, define = completion_of(called), self.define
        # Operators of torch stay; what is registered may be taken back and registered again.
        fixed = target_of(called.schema) if called.schema.name.namespace is None else None
        is_changed = not is_as_in_torch(state)  # by the body; plans are found by what it was before
        if fixed is not None and not with_all and not is_changed:
            return fixed

        def call(*values: Any) -> Any:
            positional, named = completion.split(values) if with_all else (values, {})
            with within_torch(called.name, state) if is_changed else nullcontext():
                return (fixed or find(called.schema) or define(called))(*positional, **named)

        return call


def _results(recorder: Lowering, called: Operator, arguments: Sequence[Any]) -> Any:
    """What the results of an operator are, as a tuple: its kernel is run, and what it notes is left out."""
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
    """Have a stand-in hold what an expression is; where it begins in its storage stays known."""
    array: Any = tensor.array
    tensor.array = SymbolicArray(text, array.dtype, array.offset)


def _given(value: Any) -> Any:
    """An argument as torch takes it; tensors and numbers of the plan as they are."""
    if isinstance(value, Tensor) or is_lowered(value):
        return value
    if type(value) is tuple and any(isinstance(element, Tensor) for element in value):
        return value
    return to_torch(value)


class _Printer(Emitter):
    """Prints a record whose tensors are torch's."""

    def _written(self, step: Written) -> None:
        """See ``Emitter``: torch's operators count what they write."""

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
    """The plans of a function that calls operators, on torch's tensors.

    Args:
        name, function, kinds: see ``Forms``.
        define: see ``Define``.

    generation: how often they were dropped.
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
        """Drop every plan: a kernel has changed."""
        self.generation += 1
        self.table.clear()

    def answer(self, values: Sequence[Any], decompose: Callable[[], Any]) -> Any:
        """What a call gives.

        Args:
            values: of all arguments, as torch has them; nobody watches what is called on them.
            decompose: runs the function itself.
        """
        state = state_of_body()
        result = self.run(state, values)
        if result is not UNSERVED:
            return result
        result = decompose()
        form = self.find(state, values)
        if form is not None:
            if form.wants_lowering and self.lower(state, form, values):
                form.keeps_no_others()
            form.misses += 1
        return result
