"""Plans for calls from torch: for tensors of one geometry, where each operand of a compiled loop comes from.

A plan is made after the first call with such arguments and found by the next ones without a frame of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from opdsl.backends.cpu.builtin import Plan, Table, number_words, plan_of
from opdsl.interop.torch import native
from opdsl.interop.torch.tensors import DTYPES
from opdsl.kernels.outputs import array_of
from opdsl.kernels.structured import Bound, StructuredKernel
from opdsl.runtime import Geometry, Tensor

__all__ = ["Plans"]

_MOST_PLANS = 32
_NEW = -1

# Values that a plan may be made for: comparing them runs no Python, and equal ones of a type are the same.
_VALUES = (bool, int, float, str, type(None), torch.dtype)


class Plans:
    """The plans of one operator.

    Args:
        name: of the operator.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._table = numpy.zeros(1 + _MOST_PLANS, numpy.int64)
        self._kept: list[Plan] = []
        self._next = 0

    def function(self, slow: Callable[..., Any], tests: int) -> Callable[..., Any]:
        """What torch is to call: a built-in function that runs plans, ``slow`` where torch cannot be read.

        Args:
            slow: takes the calls that no plan serves.
            tests: see ``native.entry``.
        """
        if native.code() is None:
            return slow
        return native.entry(self.name, self._table.ctypes.data, slow, tests, [self])

    def clear(self) -> None:
        """Drop every plan: a kernel has changed."""
        self._table[0] = 0
        self._kept = []
        self._next = 0

    def make(self, kernel: object, given: Sequence[Any], arguments: Sequence[Any]) -> None:
        """Make a plan for calls like one that was made, if that is possible.

        Args:
            kernel: which the call has run.
            given: what torch handed over: the first arguments.
            arguments: all of them, as opdsl's.
        """
        if native.code() is None or not isinstance(kernel, StructuredKernel) or kernel.variant != "functional":
            return
        wanted = [_argument(each) for each in given]
        words = _words(kernel, arguments)
        if words is None or any(each is None for each in wanted):
            return
        loop, operands, results = words
        listed = Table([word for each in wanted if each is not None for word in each])
        header: list[int | Table] = [0, len(given), listed, loop.address, len(operands)]
        header += [Table([word for each in operands for word in each]), len(results)]
        header.append(Table([word for each in results for word in each]))
        plan = plan_of(header, [loop, *(each for each in given if not isinstance(each, torch.Tensor))])
        plan[0] = id(plan)
        self._keep(plan)

    def _keep(self, plan: Plan) -> None:
        """Have calls find a plan; when there are many, it takes the place of the oldest."""
        at = self._next % _MOST_PLANS
        self._table[1 + at] = plan.address
        if at == len(self._kept):
            self._kept.append(plan)
            self._table[0] = len(self._kept)
        else:
            self._kept[at] = plan
        self._next += 1


def _argument(value: Any) -> tuple[int | Table, ...] | None:
    """What an argument has to be, as call.ll reads it; None where it cannot say."""
    if isinstance(value, torch.Tensor):
        return 0, DTYPES[value.dtype].code, value.ndim, Table(tuple(value.shape)), Table(value.stride())
    comparable = isinstance(value, _VALUES) or (
        isinstance(value, list) and all(isinstance(each, bool | int) for each in value)
    )
    return (id(value), 0, 0, 0, 0) if comparable else None


Words = tuple[Plan, list[tuple[int, int, int]], list[tuple[int | Table, ...]]]


def _words(kernel: StructuredKernel, arguments: Sequence[Any]) -> Words | None:
    """The loop of a call, where its operands come from, and its results; None where a plan would not do the same."""
    # The default dtype is no part of what plans are found by; it matters where no operand is floating.
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    if not any(each.dtype.is_floating_point or each.dtype.is_complex for each in tensors):
        return None
    definition = kernel.definition
    prepared = definition.prepare(tuple(arguments), ())
    forms = [each.geometry for each in prepared.promises]
    if any(each.numel == 0 for each in (*forms, *(each.geometry for each in tensors))):
        return None
    bound = definition.bind(prepared, tuple(arguments), forms, kernel.key, allocate=False)
    loop = getattr(bound.compute, "__self__", None)
    if not isinstance(loop, Plan) or not loop.runs_frames or bound.handed is not array_of:
        return None
    operands = _operands(bound, loop, arguments)
    return None if operands is None else (loop, operands, [_result(each) for each in forms])


def _operands(bound: Bound, loop: Plan, arguments: Sequence[Any]) -> list[tuple[int, int, int]] | None:
    places = {id(array_of(each)): place for place, each in enumerate(arguments) if isinstance(each, Tensor)}
    operands = []
    for at, value in enumerate(bound.values):
        if not isinstance(value, numpy.ndarray):
            operands.append((_NEW, *number_words(loop, at, value)))
        elif id(value) in places:
            operands.append((places[id(value)], 0, 0))
        else:
            return None  # made for this call alone: a cast, or a copy
    return operands


def _result(form: Geometry) -> tuple[int | Table, ...]:
    return _NEW, form.dtype.code, form.ndim, Table(form.shape), Table(form.strides)
