"""Steps: what kernels do with elements themselves, where no scalar function says it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from opdsl.runtime import Tensor
from opdsl.runtime.lowering import lowering

__all__ = ["step"]


def step(function: Callable[..., None]) -> Callable[..., None]:
    """A function that reads and writes the elements of arrays: one step of a plan, where a call is lowered.

    Args:
        function: takes NumPy arrays, numbers, texts, None, and tuples of these; returns nothing. What it does depends
            on these alone.

    Returns:
        The same function, which takes tensors in place of arrays.

    >>> import numpy, opdsl
    >>> @step
    ... def sort_into(source, out):
    ...     out[...] = numpy.sort(source)
    >>> out = opdsl.empty(3)
    >>> sort_into(opdsl.tensor([3.0, 1.0, 2.0]), out)
    >>> out
    tensor([1., 2., 3.])
    """

    # What is infinite or NaN is a result like others, of which NumPy would warn.
    quiet = numpy.errstate(all="ignore")(function)

    @functools.wraps(function)
    def run(*arguments: Any) -> None:
        values = tuple([_operand(argument) for argument in arguments])
        recorder = lowering.get()
        if recorder is None:
            quiet(*values)
        else:
            recorder.run(quiet, values, ())

    return run


def _operand(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.array
    return tuple(map(_operand, value)) if isinstance(value, (tuple, list)) else value
