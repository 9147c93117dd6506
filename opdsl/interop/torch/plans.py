"""Plans for calls of operators from torch.

A repeated call gets a plan for its exact geometries, which compiled code finds and runs without a Python frame. All
other calls are run by plans for their shape class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple, cast

import numpy
import torch

from opdsl.backends.cpu.builtin import Plan, Table, number_words, plan_of
from opdsl.dispatch import Operator
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.lowered import recording
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.policy import Next
from opdsl.interop.torch import native
from opdsl.interop.torch.generators import drawn_by_default
from opdsl.interop.torch.lowered import Forms, Reader, kernel_of
from opdsl.interop.torch.states import state_of_call, state_of_python
from opdsl.interop.torch.tensors import DTYPES
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.runtime import Tensor, TensorMeta
from opdsl.runtime.generator import drawn_from
from opdsl.runtime.lowering import Lowering, Step, SymbolicArray, Written
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.views import required_storage

__all__ = ["GUARD_FAILED", "Plans"]

_MOST_PLANS = 32
_NEW = -1
_ANY = -1

# Types of values that a guard can compare: without running Python code, and equal values are interchangeable.
_VALUES = (bool, int, float, str, type(None), torch.dtype)


class Plans:
    """Plans of one operator.

    Args:
        name: of the operator in torch.
        operator: the operator whose CPU kernel is called.
        is_python: whether that kernel is Python code, which may depend on torch's modes.

    generation: number of times the plans were dropped.
    """

    def __init__(self, name: str, operator: Operator, *, is_python: bool) -> None:
        self.name = name
        self._is_python = is_python
        self._state = state_of_python if is_python else state_of_call
        self.generation = 0
        self._forms = None if native.code() is None else Forms(*kernel_of(operator), self)
        self._table = numpy.zeros(1 + _MOST_PLANS, numpy.int64)
        self._kept: list[Plan] = []
        self._next = 0
        self._lock = Lock()

    def function(self, slow: Callable[..., Any], tests: int) -> Callable[..., Any]:
        """Return the function that torch calls: a built-in that runs plans, or ``slow`` if compiled code cannot read
        tensors.

        Args:
            slow: runs the calls that match no plan.
            tests: see ``native.entry``.
        """
        if native.code() is None:
            return slow
        return native.entry(self.name, self._table.ctypes.data, slow, tests, [self])

    def forget(self) -> None:
        """Drop all plans, after a kernel has changed."""
        with self._lock:
            self.generation += 1
            if self._forms is not None:
                self._forms.table.clear()
            self._table[0] = 0
            self._kept = []
            self._next = 0

    def run(self, values: Sequence[Any]) -> Any:
        """Run a call by the plan for its shape class; return ``GUARD_FAILED`` if none matches.

        Args:
            values: all arguments, as torch values.
        """
        if self._forms is None:
            return GUARD_FAILED
        if not self._is_python:
            return self._forms.run(state_of_call(), values)
        drawn = drawn_from.set(drawn_by_default)
        try:
            return self._forms.run(state_of_python(), values)
        finally:
            drawn_from.reset(drawn)

    def learn(self, kernel: object, positional: Sequence[Any], values: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Make a plan for calls like one that was run, if possible.

        Args:
            kernel: the kernel that the call has run.
            positional: the arguments that torch passed: the leading ones of ``values``.
            values: all arguments.
            arguments: all arguments, converted to opdsl.
        """
        state = self._state()
        forms = self._forms
        form = None if forms is None else forms.find(state, values)
        if forms is None or form is None:
            self._make(kernel, positional, values, arguments)
            return
        decision = form.decide()
        form.misses += 1
        if decision is Next.FORM and forms.lower(state, form, values):
            return
        if not self._make(kernel, positional, values, arguments) or self._next > _MOST_PLANS:
            form.keeps_no_others()

    def _make(self, kernel: object, positional: Sequence[Any], values: Sequence[Any], arguments: Sequence[Any]) -> bool:
        """Make a plan for the exact geometries of a call; return whether that was possible."""
        generation = self.generation
        wanted = [_argument(value) for value in positional]
        if (
            self._forms is None
            or not isinstance(kernel, StructuredKernel)
            or any(numbers is None for numbers in wanted)
        ):
            return False
        work = _work(kernel, self._forms, values)
        if work is None:
            return False
        listed = [Table([word for numbers in group for word in numbers or ()]) for group in (wanted, *work[1:])]
        header: list[int | Table] = [0, len(positional), listed[0], work.loop.address, len(work.operands), listed[1]]
        header += [len(work.results), listed[2], _default(arguments)]
        plan = plan_of(header, [work.loop, *(value for value in positional if not isinstance(value, torch.Tensor))])
        plan[0] = id(plan)
        self._keep(plan, generation)
        return True

    def _keep(self, plan: Plan, generation: int) -> None:
        """Publish a plan for calls, unless plans were dropped since it was started. It replaces the oldest one if there
        are many.

        Other threads read the table meanwhile, so a replaced plan is kept alive until the table points to the new one.
        """
        with self._lock:
            if generation != self.generation:
                return
            at = self._next % _MOST_PLANS
            self._next += 1
            self._table[1 + at] = plan.address
            if at == len(self._kept):
                self._kept.append(plan)
                self._table[0] = len(self._kept)
            else:
                self._kept[at] = plan


def _argument(value: Any) -> tuple[int | Table, ...] | None:
    """Return the guard of an argument, in the layout of ``machine.Argument``; None if its value cannot be
    compared.
    """
    if isinstance(value, torch.Tensor):
        shape, strides = tuple(value.shape), value.stride()
        reach = required_storage(shape, strides)
        return 0, DTYPES[value.dtype].code, value.ndim, Table(shape), Table(strides), reach, value.itemsize
    comparable = isinstance(value, _VALUES) or (
        isinstance(value, list) and all(isinstance(element, bool | int) for element in value)
    )
    return (id(value), 0, 0, 0, 0, 0, 0) if comparable else None


class Work(NamedTuple):
    """Loop and operands that a plan runs.

    loop: the plan of the compiled loop.
    operands, results: in the layout of ``machine.Operand`` and ``machine.Result``.
    """

    loop: Plan
    operands: list[tuple[int, ...]]
    results: list[tuple[int | Table, ...]]


def _default(arguments: Sequence[Any]) -> int:
    """Return the code of the default dtype if the call can depend on it; it cannot if an operand is floating or
    complex.
    """
    dtypes = [argument.dtype for argument in arguments if isinstance(argument, Tensor)]
    if any(dtype.is_floating_point or dtype.is_complex for dtype in dtypes):
        return _ANY
    return DTYPES[torch.get_default_dtype()].code


def _work(kernel: StructuredKernel, forms: Forms, values: Sequence[Any]) -> Work | None:
    """Return the loop of a call, the sources of its operands, and its results.

    Returns None if the call runs more than one loop, or writes more than one argument: ``machine`` does not check
    whether several written arguments overlap.
    """
    recorder = Lowering(is_exact=True)
    try:
        with refusals_only(forms.table.name), recording(recorder):
            inputs = Reader(recorder)
            # Numbers become constants of the plan, which guards on them.
            call = [argument._replace(is_handed=False) for argument in forms.given(values)]
            result = forms.call(*inputs.taken_in(call)[0])
            inputs.check_kept()
    except NotLoweredError:
        return None
    steps = [step for step in recorder.steps if not isinstance(step, Written)]
    loop = getattr(getattr(steps[0], "function", None), "__self__", None) if len(steps) == 1 else None
    if not isinstance(loop, Plan) or not loop.runs_frames or recorder.guards or inputs.checks:
        return None
    step = cast("Step", steps[0])
    places = {text: forms.names.index(text) for _, text in inputs.tensors}
    known = {text: tensor.geometry for tensor, text in inputs.tensors}
    known |= {tensor.array.text: tensor.geometry for tensor in tensors_in((result,))}
    read = step.operands[: len(step.operands) - len(kernel.written)]
    written = [operand.text for operand in step.operands[len(read) :]] or list(step.results)
    wanted = list(kernel.written) or [_NEW] * len(step.results)
    used = {*written, *(operand.text for operand in read if isinstance(operand, SymbolicArray))}
    is_all = known.keys() >= used and [places.get(text, _NEW) for text in written] == wanted
    if len(kernel.written) > 1 or not is_all or any(form.numel == 0 for form in known.values()):
        return None
    elementwise = known[written[0]] if kernel.definition.kind == "pointwise" else None
    operands = [_operand(loop, at, operand, places, known, elementwise) for at, operand in enumerate(read)]
    return Work(loop, operands, [_result(places.get(text, _NEW), known[text]) for text in written])


def _operand(
    loop: Plan, at: int, value: Any, places: dict[str, int], known: dict[str, TensorMeta], written: TensorMeta | None
) -> tuple[int, ...]:
    """Return the source of an operand. One with the same geometry as the output of an elementwise loop may be its
    memory.
    """
    if not isinstance(value, SymbolicArray):
        return (_NEW, *number_words(loop, at, value), 0, 0)
    form = known[value.text]
    return places[value.text], 0, 0, _reach(form), int(form is written)


def _result(place: int, form: TensorMeta) -> tuple[int | Table, ...]:
    return place, form.dtype.code, form.ndim, Table(form.shape), Table(form.strides), _reach(form)


def _reach(form: TensorMeta) -> int:
    """Return the number of bytes from the first element to the end of the last."""
    return required_storage(form.shape, form.strides) * form.dtype.itemsize
