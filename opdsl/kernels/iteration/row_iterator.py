"""Loop nest of a row kernel or a scan from its operands: the row, and the other dimensions, coalesced."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.kernels.calls import Layout, NewArray, OperandSpec
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.strides import Strides, loop_order, steps
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta


def row_layout(
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    inputs: Sequence[TensorMeta | DType],
    outputs: Sequence[TensorMeta],
    *,
    allocate: bool = False,
) -> Layout | None:
    """Return the layout of a kernel of rows: coalesced sizes, the row's length, and strides of all operands.

    Args:
        shape: the shape that all operands broadcast to.
        dims: the dimensions of a row, adjacent, ascending; none for rows of one element.
        inputs: the geometry of each array, the dtype of each number.
        outputs: of ``shape``, or of size 1 along the row.
        allocate: whether the kernel allocates the outputs.

    Returns:
        The layout; None if an operand has no single stride along a row.
    """
    forms = [output for output in (*outputs, *inputs) if isinstance(output, TensorMeta)]
    strides = [steps(form, shape) for form in forms]
    length, along = _row([shape[dim] for dim in dims], [[stride[dim] for dim in dims] for stride in strides])
    if along is None:
        return None
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    sizes = tuple(shape[dim] for dim in kept)
    kept_steps: list[Strides] = [tuple(stride[dim] for dim in kept) for stride in strides]
    order = loop_order(sizes, kept_steps)
    coalesced, stepping = coalesce(
        [sizes[dim] for dim in order], [[kept_step[dim] for dim in order] for kept_step in kept_steps]
    )
    specs = iter(
        OperandSpec(form.dtype, (*steps_of, row)) for form, steps_of, row in zip(forms, stepping, along, strict=True)
    )
    written = tuple(next(specs) for _ in outputs)
    read = tuple(next(specs) if isinstance(input, TensorMeta) else OperandSpec(input, None) for input in inputs)
    new_arrays = tuple(NewArray(output.shape, output.strides) if allocate else None for output in outputs)
    return Layout((coalesced, (length,)), read, written, new_arrays)


def _row(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[int, list[int] | None]:
    """Return the length of a row and each operand's stride along it; 0 and None if an operand has no single stride."""
    merged, strides = coalesce(sizes[::-1], [operand[::-1] for operand in operands])
    if len(merged) > 1:
        return 0, None
    return (merged[0] if merged else 1), [stride[0] if merged else 0 for stride in strides]
