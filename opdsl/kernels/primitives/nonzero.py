"""Indices of nonzero elements on a device: a scan counts the elements, and a second kernel writes their indices."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from opdsl.kernels.building import POINTS, ROW, KernelBuilder
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import SKIP, Kernel, Range
from opdsl.kernels.loops.making import pairwise
from opdsl.kernels.outputs import array_of, new_tensor
from opdsl.kernels.primitives.copying import copied
from opdsl.runtime.dtype import int64
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import made_once
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view
from opdsl.scalar.types import BOOL, ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.builder import GraphBuilder

INT64 = ScalarType.INT64


def nonzero_on_device(tensor: Tensor) -> Tensor:
    """Return the row-major indices of the nonzero elements, one row for each; the columns are contiguous.

    Args:
        tensor: of at least one dimension, on a device with a compiler. The host waits for the number of elements.
    """
    form, count = tensor.geometry, 0
    if form.numel:
        ends = _ends(tensor)
        number = make_view(ends, (), (), form.numel - 1).item()
        assert isinstance(number, int), "a count of elements is whole"
        count = number
    places = new_tensor(geometry(int64, form.device, (count, form.ndim), (1, count)))
    if count:
        _writing(form, places.geometry)(array_of(tensor), array_of(ends), array_of(places))
    return places


def _ends(tensor: Tensor) -> Tensor:
    """Return, for each element in row-major order, the number of nonzero elements up to it."""
    form = tensor.geometry
    dense = tensor if tensor.is_contiguous() else copied(tensor, geometry(form.dtype, form.device, form.shape))
    ends = new_tensor(geometry(int64, form.device, form.shape))
    _counting(form.device.type, dense.geometry)(array_of(dense), array_of(ends))
    return ends


@made_once(512)
def _counting(device_type: str, form: TensorMeta) -> Compiled:
    sizes, size = ((), (math.prod(form.shape),)), form.dtype.itemsize
    layout = Layout(sizes, (OperandSpec(form.dtype, (size,)),), (OperandSpec(int64, (8,)),), (None,))
    return compiler_for(device_type).compile(_counts(ScalarType(precision_of(form.dtype).name)), layout)


@lru_cache(maxsize=64)
def _counts(kind: ScalarType) -> Kernel:
    """Return the kernel of the running number of nonzero elements."""
    builder = KernelBuilder("counts", (POINTS, ROW))
    element = builder.read(builder.array("a", (POINTS, ROW)), kind)
    one = builder.graph.cast(_holds(builder.graph, element), INT64)
    (count,) = builder.scan(ROW, (one,), (0,), pairwise(("add",), (INT64,)), is_associative=True)
    builder.write(builder.array("out", (POINTS, ROW)), count)
    return builder.finish()


@made_once(512)
def _writing(form: TensorMeta, result: TensorMeta) -> Compiled:
    kernel = _indices(ScalarType(precision_of(form.dtype).name), form.ndim)
    strides = [8 * step for step in contiguous_strides(form.shape)]
    inputs = (
        OperandSpec(form.dtype, tuple([form.dtype.itemsize * step for step in form.strides])),
        OperandSpec(int64, tuple(strides)),
    )
    output = OperandSpec(int64, tuple([8 * step for step in result.strides]))
    sizes = tuple([(size,) for size in form.shape])
    layout = Layout(sizes, inputs, (output,), (None,), ((), (), result.shape))
    return compiler_for(form.device.type).compile(kernel, layout)


@lru_cache(maxsize=64)
def _indices(kind: ScalarType, ndim: int) -> Kernel:
    """Return the kernel that writes the indices of each nonzero element to the row that the running number gives."""
    ranges = [Range(f"i{dim}") for dim in range(ndim)]
    builder = KernelBuilder("indices", ranges)
    element = builder.read(builder.array("a", ranges), kind)
    end = builder.read(builder.array("ends", ranges), INT64)
    graph, output = builder.graph, builder.array("out", (), 2)
    last, none = graph.constant(1, INT64), graph.constant(-1, INT64)
    row = graph.node("select", (_holds(graph, element), graph.node("subtract", (end, last), INT64), none), INT64)
    for dim, own in enumerate(ranges):
        builder.write(output, builder.index(own), [row, graph.constant(dim, INT64)], SKIP)
    return builder.finish()


def _holds(graph: GraphBuilder, element: int) -> int:
    kind = graph.nodes[element].type
    if kind.category == BOOL:
        return element
    return graph.node("not_equal", (element, graph.constant(0, kind)), ScalarType.BOOL)
