"""Sums of the losses of class indices, in one kernel that reports indices out of bounds itself."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from opdsl.errors import PositionError
from opdsl.kernels.building import POINTS, TURNS, KernelBuilder
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.kernel import SKIP, WRAP, Kernel
from opdsl.kernels.loops.making import pairwise
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.host import is_beyond
from opdsl.runtime.calling import described
from opdsl.runtime.device import cpu, meta
from opdsl.runtime.dtype import int64
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once
from opdsl.runtime.memory import device_memory
from opdsl.runtime.tensor import Tensor
from opdsl.scalar.types import ScalarType

_BOOL, _INT64 = ScalarType.BOOL, ScalarType.INT64
_NONE = -(1 << 63)  # in place of an index out of bounds, if there is none


def write_class_loss(
    self: Tensor, target: Tensor, weight: Tensor | None, ignored: int, mean: bool, output: Tensor, total: Tensor
) -> bool:
    """Write the sum or mean of weighted losses, ``-self[target] * weight[target]``, and the sum of the weights; return
    whether the device has such a kernel.

    Args:
        self: log-probabilities; dimension 1, or the only one, is that of the classes.
        target: the class of each element, int64 or uint8, with the shape of ``self`` without the dimension of classes.
        weight: of each class; None for 1.
        ignored: the class of elements that have weight 0.
        mean: whether the sum is divided by the sum of the weights.
        output, total: one element of the dtype of ``self`` each.
    """
    if self.device in (cpu, meta) or is_beyond(self):
        return False
    report = getattr(device_memory(self.device), "report", None)
    if report is None:
        return False
    classes = self.shape[min(1, self.ndim - 1)]
    text = f"{described()}: index {{value}} is out of bounds for dimension with size {{size}}"
    record, error = report(PositionError, text, self.device)
    tensors = [self, target, *([] if weight is None else [weight])]
    run = _class_loss(*(tensor.geometry for tensor in tensors), mean=mean, output=output.dtype)
    run(*map(array_of, tensors), ignored, classes, error, array_of(output), array_of(total), record)
    return True


@made_once(512)
def _class_loss(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None = None, *, mean: bool, output: Any
) -> Compiled:
    dim, size = min(1, self.ndim - 1), self.dtype.itemsize
    own = tuple([size * step for step in self.strides])
    count = target.ndim
    along = (*own[:dim], *own[dim + 1 :])[:count] or (0,) * count
    turns = tuple([target.dtype.itemsize * step for step in target.strides])
    inputs = [OperandSpec(self.dtype, (*along, own[dim])), OperandSpec(target.dtype, turns)]
    dims: list[tuple[int, ...]] = [(self.shape[dim],), ()]
    if weight is not None:
        inputs.append(OperandSpec(weight.dtype, (*(0,) * count, weight.strides[0] * size)))
        dims.append((self.shape[dim],))
    numbers = (OperandSpec(int64, None),) * 3
    outputs = (OperandSpec(output, ()), OperandSpec(output, ()), OperandSpec(int64, (8,)))
    layout = Layout(((), target.shape), (*inputs, *numbers), outputs, (None,) * 3, (*dims, (), (), (), (), (), (4,)))
    kernel = _kernel(ScalarType(precision_of(self.dtype).name), is_weighted=weight is not None, mean=mean)
    return compiler_for(self.device.type).compile(kernel, layout)


@lru_cache(maxsize=64)
def _kernel(kind: ScalarType, *, is_weighted: bool, mean: bool) -> Kernel:
    """Return the kernel of a loss: a fold over all elements, which also finds an index out of bounds."""
    builder = KernelBuilder("class_loss", (POINTS, TURNS))
    graph, ranges = builder.graph, (POINTS, TURNS)
    x = builder.array("x", ranges, 1)
    target = builder.read(builder.array("target", ranges), _INT64)
    weights = builder.array("weights", ranges, 1) if is_weighted else ""
    ignored, classes, error = (builder.number(name, _INT64) for name in ("ignored", "classes", "error"))

    def both(op: str, first: int, second: int, result_type: ScalarType = _BOOL) -> int:
        return graph.node(op, (first, second), result_type)

    def select(condition: int, chosen: int, other: int) -> int:
        return graph.node("select", (condition, chosen, other), graph.nodes[chosen].type)

    whole_zero, zero = graph.constant(0, _INT64), graph.constant(0, kind)
    inside = both("bitwise_and", both("greater_equal", target, whole_zero), both("less", target, classes))
    counts = both("not_equal", target, ignored)
    none = graph.constant(_NONE, _INT64)
    wrong = select(inside, none, select(counts, target, none))
    place = select(both("bitwise_and", counts, inside), target, whole_zero)
    own = builder.read(weights, kind, [place], WRAP) if is_weighted else graph.constant(1, kind)
    weight = select(counts, own, zero)
    product = both("multiply", builder.read(x, kind, [place], WRAP), weight, kind)
    loss = select(both("not_equal", weight, zero), graph.node("negative", (product,), kind), zero)
    combine = pairwise(("add", "add", "maximum"), (kind, kind, _INT64))
    total_loss, total, worst = builder.fold((TURNS,), (loss, weight, wrong), (0.0, 0.0, _NONE), combine)
    builder.write(builder.array("out", (POINTS,)), both("divide", total_loss, total, kind) if mean else total_loss)
    builder.write(builder.array("total", (POINTS,)), total)
    report, is_wrong = builder.array("report", (), 1), both("not_equal", worst, none)
    for at, value in enumerate((worst, classes, error)):
        here = select(is_wrong, graph.constant(at, _INT64), graph.constant(-1, _INT64))
        builder.write(report, value, [here], SKIP)
    return builder.finish()
