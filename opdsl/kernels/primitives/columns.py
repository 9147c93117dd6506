"""Windows over images as columns of a matrix (im2col), padding included, in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from opdsl.kernels.building import KernelBuilder
from opdsl.kernels.calls import Layout, OperandSpec, WindowSpec
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import Kernel, Range
from opdsl.kernels.outputs import array_of, new_tensor
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import made_once
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.scalar.types import ScalarType

__all__ = ["columns_by_kernel"]

_INT64 = ScalarType.INT64


def columns_by_kernel(images: Tensor, windows: Sequence[WindowSpec]) -> Tensor:
    """Return the elements of all windows: (batch, channels, lengths, counts), with 0 for elements in the padding.

    Args:
        images: (batch, channels, sizes), on a device with a compiler.
        windows: the windows along each dimension of sizes.
    """
    shape = _shape(images.geometry, windows)
    columns = new_tensor(geometry(images.dtype, images.device, shape))
    if columns.geometry.numel:
        _columns(images.geometry, tuple(windows))(array_of(images), array_of(columns))
    return columns


def _shape(images: TensorMeta, windows: Sequence[WindowSpec]) -> tuple[int, ...]:
    lengths, counts = [window.length for window in windows], [window.windows for window in windows]
    return (*images.shape[:2], *lengths, *counts)


@made_once(512)
def _columns(images: TensorMeta, windows: tuple[WindowSpec, ...]) -> Compiled:
    size, shape = images.dtype.itemsize, _shape(images, windows)
    read = OperandSpec(images.dtype, tuple([size * step for step in images.strides]))
    written = OperandSpec(images.dtype, tuple([size * step for step in contiguous_strides(shape)]))
    words = tuple([number for window in windows for number in (window.first, window.stride, window.dilation)])
    layout = Layout(tuple([(extent,) for extent in shape]), (read,), (written,), (None,), (images.shape[2:], ()), words)
    kernel = _kernel(ScalarType(precision_of(images.dtype).name), len(windows))
    return compiler_for(images.device.type).compile(kernel, layout)


@lru_cache(maxsize=64)
def _kernel(kind: ScalarType, dims: int) -> Kernel:
    leading = [Range("b"), Range("c")]
    elements, windows = ([Range(f"{name}{dim}") for dim in range(dims)] for name in ("k", "i"))
    builder = KernelBuilder("columns", (*leading, *elements, *windows))
    at = []
    for dim, (element, window) in enumerate(zip(elements, windows, strict=True)):
        first, stride, dilation = (builder.word(f"{name}{dim}") for name in ("first", "stride", "dilation"))
        moved = builder.graph.node("multiply", (builder.index(window), stride), _INT64)
        own = builder.graph.node("multiply", (builder.index(element), dilation), _INT64)
        begin = builder.graph.node("add", (first, moved), _INT64)
        at.append(builder.graph.node("add", (begin, own), _INT64))
    value = builder.read(builder.array("images", leading, dims), kind, at, 0)
    builder.write(builder.array("out", (*leading, *elements, *windows)), value)
    return builder.finish()
