"""Decorator for kernels that read and write array elements in Python, where no scalar function can describe them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from opdsl.runtime import Tensor
from opdsl.runtime.lowering import lowering

__all__ = ["step"]


def step(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a function that reads and writes the elements of arrays, so that it runs as one step of a plan when a call
    is lowered.

    Args:
        function: takes NumPy arrays, numbers, texts, None, and tuples of these; returns nothing. Its effect depends
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

    # Infinite and NaN results are valid; NumPy would warn of them.
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
