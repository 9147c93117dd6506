"""Stands in for kernels that a dry run's driver does not run: what they would make is computed by the CPU's.

Operators look at what they have been given: at the positions of ``index_add``, whether probabilities are some. What
comes after that is compiled only if they find what a GPU would have made. Of an author's kernel that is not known, so
that it makes zeros.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from opdsl.backends.arrays import DeviceArray, extent
from opdsl.backends.cuda import compiler
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.runtime.dtype import bfloat16

if TYPE_CHECKING:
    from opdsl.backends.cuda.dry_run import DryRunDriver
    from opdsl.kernels.calls import AuthorCall, Ordering, RowCall

__all__ = ["learn"]

NDArray = numpy.ndarray[Any, Any]


def learn(driver: DryRunDriver) -> None:
    """Have everything that the CUDA compiler makes from now on queue what the CPU would do.

    Args:
        driver: what is queued for.
    """
    prepared: dict[str, Callable[..., Compiled]] = {kind: partial(_by_cpu, kind) for kind in compiler.PROGRAMS}
    prepared |= {"order": _ordering, "author": _zeroing}
    queueing = {kind: partial(_shadowed, driver, value, getattr(compiler, kind)) for kind, value in prepared.items()}
    vars(compiler).update(queueing, product=partial(_product, driver))


def _shadowed(
    driver: DryRunDriver, prepare: Callable[..., Compiled], compile_call: Callable[..., Compiled], what: Any, call: Any
) -> Compiled:
    """What is compiled, and queues the same for the host."""
    run = compile_call(what, call)

    def both(*values: Any) -> Any:
        result = run(*values)
        results = () if result is None else result if isinstance(result, tuple) else (result,)
        arguments = values if any(new is None for new in getattr(call, "allocate", (None,))) else (*values, *results)
        driver.later(lambda: prepare(what, call)(*map(_on_host, arguments)))
        return result

    return both


def _on_host(value: Any) -> Any:
    """An array as NumPy sees it: a dry run's driver's memory is the host's."""
    if not isinstance(value, DeviceArray):
        return value
    size = extent(value)
    if size == 0:
        return numpy.empty(value.shape, value.dtype.numpy)
    memory = (ctypes.c_char * size).from_address(value.address)
    return numpy.ndarray(value.shape, value.dtype.numpy, memoryview(memory).cast("B"), 0, value.strides)


def _by_cpu(kind: str, what: Any, call: Any) -> Compiled:
    """The CPU's kernel, into given outputs; what lies in no memory it finds in some."""
    counting = [place for place, input in enumerate(getattr(call, "inputs", ())) if input.counts]
    if hasattr(call, "allocate"):
        call = call._replace(allocate=(None,) * len(call.allocate))
    if counting:
        call = call._replace(inputs=tuple(input._replace(counts=False) for input in call.inputs))
    run: Compiled = getattr(compiler_for("cpu"), kind)(what, call)

    def counted(*values: Any) -> Any:
        arguments = list(values)
        for place in counting:
            arguments[place] = arguments[place] + numpy.arange(math.prod(call.sizes), dtype=numpy.int64)
        return run(*arguments)

    return counted


def _ordering(ordering: Ordering, call: RowCall) -> Compiled:
    """``order``, by NumPy's stable sort."""

    def run(*arrays: NDArray) -> None:
        shape = (*call.kept, call.length)
        source, values, indices = (
            numpy.lib.stride_tricks.as_strided(tensor, shape, spec.strides)
            for tensor, spec in zip(arrays, (*call.inputs, *call.outputs), strict=True)
        )
        keys = source if call.inputs[0].dtype is not bfloat16 else (source.astype(numpy.uint32) << 16).view("float32")
        if ordering.descending:
            places = call.length - 1 - numpy.flip(numpy.flip(keys, -1).argsort(-1, kind="stable"), -1)
        else:
            places = keys.argsort(-1, kind="stable")
        first = places[..., : ordering.wanted]
        indices[..., : ordering.wanted] = first
        values[..., : ordering.wanted] = numpy.take_along_axis(source, first, -1)

    return run


def _zeroing(function: Callable[..., object], call: AuthorCall) -> Compiled:
    """``author``: zeros in every output."""

    def run(*values: Any) -> None:
        for value in values[len(values) - len(call.outputs) :]:
            value[...] = 0

    return run


def _product(driver: DryRunDriver, call: Any) -> Compiled:
    """Matrix products, for which nothing is compiled."""

    def run(*values: Any) -> None:
        driver.later(lambda: compiler_for("cpu").product(call)(*map(_on_host, values)))

    return run
