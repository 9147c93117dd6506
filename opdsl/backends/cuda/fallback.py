"""CPU kernels that replace the CUDA kernels which a dry run compiles but does not run.

Some operators read values that a kernel has computed, as ``index_add`` reads its indices. The kernels after such a read
are compiled only if it finds the values that a GPU would have computed. The results of an author's own CUDA kernel are
not known, so its outputs are zeros.
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
from opdsl.runtime.dtype import bool_, float32
from opdsl.runtime.strides import contiguous_strides
from opdsl.scalar.narrow_values import narrow, widen

if TYPE_CHECKING:
    from opdsl.backends.cuda.dry_run import DryRunDriver
    from opdsl.kernels.calls import AttentionCall, AuthorCall, ConvolutionCall, Layout, Ordering
    from opdsl.kernels.kernel import Kernel

__all__ = ["learn"]

NDArray = numpy.ndarray[Any, Any]


def learn(driver: DryRunDriver) -> None:
    """Patch the CUDA compiler so that each compiled call also queues the same computation by CPU kernels.

    Args:
        driver: the dry run's driver, which queues the computations.
    """
    prepared: dict[str, Callable[..., Compiled]] = {"compile": _by_cpu, "order": _ordering, "author": _zeroing}
    queueing = {kind: partial(_shadowed, driver, value, getattr(compiler, kind)) for kind, value in prepared.items()}
    attention = partial(_attention, driver, compiler.attention)
    convolution = partial(_convolution, driver, compiler.convolution)
    product = partial(_product, driver)
    vars(compiler).update(queueing, product=product, attention=attention, convolution=convolution)


def _shadowed(
    driver: DryRunDriver, prepare: Callable[..., Compiled], compile_call: Callable[..., Compiled], what: Any, call: Any
) -> Compiled:
    """Compile a call for CUDA, and return a function that launches it and queues its computation by the CPU."""
    run = compile_call(what, call)

    def both(*values: Any) -> Any:
        result = run(*values)
        results = () if result is None else result if isinstance(result, tuple) else (result,)
        arguments = values if any(new is None for new in getattr(call, "allocate", (None,))) else (*values, *results)
        driver.later(lambda: prepare(what, call)(*map(_on_host, arguments)))
        return result

    return both


def _on_host(value: Any) -> Any:
    """Return a NumPy view of a device array, since a dry run keeps device memory on the host; other values are returned
    as they are.
    """
    if not isinstance(value, DeviceArray):
        return value
    size = extent(value)
    if size == 0:
        return numpy.empty(value.shape, value.dtype.numpy)
    memory = (ctypes.c_char * size).from_address(value.address)
    return numpy.ndarray(value.shape, value.dtype.numpy, memoryview(memory).cast("B"), 0, value.strides)


def _by_cpu(kernel: Kernel, layout: Layout) -> Compiled:
    """Compile a kernel with the CPU's compiler, with all outputs preallocated and operands without memory replaced by
    index arrays.
    """
    counting = [place for place, input in enumerate(layout.inputs) if input.counts]
    layout = layout._replace(allocate=(None,) * len(layout.allocate))
    if counting:
        layout = layout._replace(inputs=tuple(input._replace(counts=False) for input in layout.inputs))
    run = compiler_for("cpu").compile(kernel, layout)

    def counted(*values: Any) -> Any:
        arguments = list(values)
        for place in counting:
            arguments[place] = arguments[place] + numpy.arange(math.prod(layout.sizes[0]), dtype=numpy.int64)
        return run(*arguments)

    return counted


def _ordering(ordering: Ordering, layout: Layout) -> Compiled:
    """Return a function that computes the results of the kernel kind ``order`` by NumPy's stable sort."""

    def run(*arrays: NDArray) -> None:
        (length,) = layout.sizes[1]
        shape = (*layout.sizes[0], length)
        source, values, indices = (
            numpy.lib.stride_tricks.as_strided(array, shape, spec.strides)
            for array, spec in zip(arrays, (*layout.inputs, *layout.outputs), strict=True)
        )
        dtype = layout.inputs[0].dtype
        keys = widen(source, dtype.name) if dtype.is_encoded else source
        if ordering.descending:
            places = length - 1 - numpy.flip(numpy.flip(keys, -1).argsort(-1, kind="stable"), -1)
        else:
            places = keys.argsort(-1, kind="stable")
        first = places[..., : ordering.wanted]
        indices[..., : ordering.wanted] = first
        values[..., : ordering.wanted] = numpy.take_along_axis(source, first, -1)

    return run


def _zeroing(function: Callable[..., object], call: AuthorCall) -> Compiled:
    """Return a function that replaces an author's kernel and fills every output with zeros."""

    def run(*values: Any) -> None:
        for value in values[len(values) - len(call.outputs) :]:
            value[...] = 0

    return run


def _product(driver: DryRunDriver, call: Any) -> Compiled:
    """Return a function that queues a matrix product by the CPU; nothing is compiled for CUDA."""

    def run(*values: Any) -> None:
        driver.later(lambda: compiler_for("cpu").product(call)(*map(_on_host, values)))

    return run


def _convolution(
    driver: DryRunDriver, compile_call: Callable[..., Compiled | None], call: ConvolutionCall
) -> Compiled | None:
    """Compile a convolution for CUDA, and return a function that launches it and queues its computation by the CPU."""
    run = compile_call(call)
    if run is None:
        return None

    def both(*values: Any) -> None:
        run(*values)
        driver.later(lambda: _convolve(call, *map(_on_host, values)))

    return both


def _convolve(call: ConvolutionCall, *arrays: NDArray) -> None:
    """Compute a convolution by the CPU, whose kernels take no 16-bit floats."""
    *read, results = arrays
    if not call.dtype.is_encoded:
        compiler_for("cpu").convolution(call)(*arrays)  # type: ignore[misc]  # it convolves these dtypes
        return
    images, weight, out = (contiguous_strides(array.shape) for array in (*read[:2], results))
    wide = call._replace(dtype=float32, images=images, weight=weight, results=out)
    output = numpy.empty(results.shape, numpy.float32)
    numbers = [numpy.ascontiguousarray(widen(array, call.dtype.name)) for array in read]
    compiler_for("cpu").convolution(wide)(*numbers, output)  # type: ignore[misc]
    results[...] = narrow(output, call.dtype.name)


def _attention(driver: DryRunDriver, compile_call: Callable[..., Compiled], call: AttentionCall) -> Compiled:
    """Compile attention for CUDA, and return a function that launches it and queues its computation by NumPy."""
    run = compile_call(call)

    def both(*values: Any) -> None:
        run(*values)
        driver.later(lambda: _attend(call, *map(_on_host, values)))

    return both


def _attend(call: AttentionCall, query: NDArray, key: NDArray, value: NDArray, *rest: Any) -> None:
    """Compute attention with all scores; ``rest`` are the mask if there is one, the factor of scores and the output."""
    *masks, scale, out = rest
    heads = (call.batch, call.groups, call.members)
    keys, values = (_wide(array, call.dtype)[:, :, None] for array in (key, value))
    queries = _wide(query, call.dtype).reshape(*heads, call.queries, call.size)
    scores = queries @ keys.swapaxes(-1, -2) * scale
    for mask in masks:
        bias = mask.reshape(scores.shape)
        chosen = call.mask_dtype is bool_
        scores = numpy.where(bias, scores, -numpy.inf) if chosen else scores + _wide(bias, call.mask_dtype)
    if call.is_causal:
        scores = numpy.where(numpy.tri(call.queries, call.keys, dtype=bool), scores, -numpy.inf)
    most = scores.max(-1, keepdims=True, initial=-numpy.inf)
    weights = numpy.exp(scores - numpy.where(most == -numpy.inf, 0, most))
    total = weights.sum(-1, keepdims=True)
    attended = (weights @ values / numpy.where(total == 0, 1, total)).reshape(out.shape)
    out[...] = narrow(attended.astype(numpy.float32), call.dtype.name) if call.dtype.is_encoded else attended


def _wide(array: NDArray, dtype: Any) -> NDArray:
    """Return the elements of an array in float64."""
    numbers: NDArray = (widen(array, dtype.name) if dtype.is_encoded else array).astype(numpy.float64)
    return numbers
