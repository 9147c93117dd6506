"""From the operands of a reduction to one loop: which dimensions stay and which are folded, coalesced."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.kernels.calls import NewArray, OperandSpec, ReductionCall
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.strides import Strides, loop_order
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta


def reduction_call(
    source: TensorMeta,
    dims: tuple[int, ...],
    outputs: Sequence[TensorMeta],
    *,
    allocate: bool = False,
    in_order: bool = False,
    numbers: tuple[DType, ...] = (),
) -> ReductionCall:
    """How a reduction runs.

    Args:
        source: the input.
        dims: the dimensions that are folded, ascending.
        outputs: with or without these dimensions.
        allocate: whether the kernel makes the outputs.
        in_order: whether folded dimensions stay in row-major order.
        numbers: the dtypes of further arguments.
    """
    itemsize = source.dtype.itemsize
    kept = [dim for dim in range(source.ndim) if dim not in dims]
    kept_steps = [tuple(source.strides[dim] * itemsize for dim in kept)]
    kept_steps += [_output_steps(each, kept, source.ndim) for each in outputs]
    kept_sizes, kept_strides = _ordered([source.shape[dim] for dim in kept], [*kept_steps[1:], kept_steps[0]])
    folded_steps = tuple(source.strides[dim] * itemsize for dim in dims)
    folded_sizes, folded_strides = _ordered([source.shape[dim] for dim in dims], [folded_steps], in_order=in_order)
    return ReductionCall(
        kept_sizes,
        folded_sizes,
        OperandSpec(source.dtype, kept_strides[-1] + folded_strides[0]),
        tuple(OperandSpec(each.dtype, steps) for each, steps in zip(outputs, kept_strides, strict=False)),
        tuple(NewArray(each.shape, each.strides) if allocate else None for each in outputs),
        numbers,
    )


def _output_steps(output: TensorMeta, kept: Sequence[int], ndim: int) -> Strides:
    steps = tuple(stride * output.dtype.itemsize for stride in output.strides)
    return tuple(steps[dim] for dim in kept) if output.ndim == ndim else steps


def _ordered(
    sizes: Sequence[int], operands: Sequence[Strides], *, in_order: bool = False
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Sizes and steps, reordered and coalesced, innermost last."""
    shape = tuple(sizes)
    order = tuple(reversed(range(len(shape)))) if in_order else loop_order(shape, operands)
    return coalesce([shape[dim] for dim in order], [[each[dim] for dim in order] for each in operands])
