"""Loop nest of a reduction from its operands: kept and reduced dimensions, coalesced."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.kernels.calls import Layout, NewArray, OperandSpec
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.strides import Strides, loop_order, steps
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta


def reduction_layout(
    sources: Sequence[TensorMeta],
    dims: tuple[int, ...],
    outputs: Sequence[TensorMeta],
    *,
    allocate: bool = False,
    in_order: bool = False,
    numbers: tuple[DType, ...] = (),
) -> Layout:
    """Return the layout of a kernel with one fold: coalesced sizes and strides of all operands.

    Args:
        sources: the inputs, which broadcast.
        dims: the dimensions that are reduced, ascending.
        outputs: with or without these dimensions.
        allocate: whether the kernel allocates the outputs.
        in_order: whether reduced dimensions stay in row-major order.
        numbers: the dtypes of further arguments.
    """
    shape = sources[0].shape if len(sources) == 1 else broadcast_all(source.shape for source in sources)
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    read = [steps(source, shape) for source in sources]
    written = [_output_steps(output, kept, len(shape)) for output in outputs]
    around = [*written, *(tuple(source_steps[dim] for dim in kept) for source_steps in read)]
    kept_sizes, kept_strides = _ordered([shape[dim] for dim in kept], around)
    inside = [tuple(source_steps[dim] for dim in dims) for source_steps in read]
    folded_sizes, folded_strides = _ordered([shape[dim] for dim in dims], inside, in_order=in_order)
    strides = zip(kept_strides[len(outputs) :], folded_strides, strict=True)
    read_specs = [
        OperandSpec(source.dtype, outer + inner) for source, (outer, inner) in zip(sources, strides, strict=True)
    ]
    return Layout(
        (kept_sizes, folded_sizes),
        (*read_specs, *(OperandSpec(dtype, None) for dtype in numbers)),
        tuple(OperandSpec(output.dtype, each_steps) for output, each_steps in zip(outputs, kept_strides, strict=False)),
        tuple(NewArray(output.shape, output.strides) if allocate else None for output in outputs),
    )


def _output_steps(output: TensorMeta, kept: Sequence[int], ndim: int) -> Strides:
    steps = tuple(stride * output.dtype.itemsize for stride in output.strides)
    return tuple(steps[dim] for dim in kept) if output.ndim == ndim else steps


def _ordered(
    sizes: Sequence[int], operands: Sequence[Strides], *, in_order: bool = False
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return sizes and strides, reordered and coalesced, innermost last."""
    shape = tuple(sizes)
    order = tuple(reversed(range(len(shape)))) if in_order else loop_order(shape, operands)
    return coalesce([shape[dim] for dim in order], [[operand[dim] for dim in order] for operand in operands])
