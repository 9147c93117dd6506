"""Operator ``cat``, which concatenates tensors, and its aliases."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.declare import Out, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import ArgumentError, OptionError
from opdsl.kernels import check, copy_
from opdsl.runtime import (
    DType,
    MemoryFormat,
    Tensor,
    can_cast,
    make_view,
    require_no_overlap,
    result_type,
    view_of,
    views,
    wrap_dimension,
)


@op(
    "aten::cat",
    tags="core",
    out=Out(
        tags=(),
        precomputed={
            "dim": {
                "dim": int,
                "valid": int,
                "all_contiguous": bool,
                "all_same_dtype": bool,
                "all_same_sizes_and_stride": bool,
                "memory_format": MemoryFormat,
            }
        },
    ),
)
def cat(tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along a dimension."""
    ...


def is_skipped(tensor: Tensor) -> bool:
    """Return whether ``cat`` ignores a tensor: as in PyTorch, those of shape (0,) may be mixed with tensors of any
    rank.
    """
    return tensor.shape == (0,)


@cat.meta
def cat_meta(ctx, tensors, dim):
    if not tensors:
        raise OptionError("expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        check(tensor.ndim > 0, f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    first = next((tensor for tensor in tensors if not is_skipped(tensor)), tensors[0])
    # Like PyTorch, do not check the dimension if all tensors are skipped.
    dimension = 0 if is_skipped(first) else wrap_dimension(dim, first.ndim)
    size = 0
    for position, tensor in enumerate(tensors):
        if is_skipped(tensor):
            continue
        check(
            tensor.ndim == first.ndim,
            f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}",
        )
        for index in range(first.ndim):
            check(
                index == dimension or tensor.shape[index] == first.shape[index],
                f"Sizes of tensors must match except in dimension {dimension}. Expected size {first.shape[index]} but "
                f"got size {tensor.shape[index]} for tensor number {position} in the list.",
            )
        size += tensor.shape[dimension]
    shape = (*first.shape[:dimension], size, *first.shape[dimension + 1 :]) if not is_skipped(first) else first.shape
    dtype = _result_dtype(tensors, ctx.maybe_get_output())
    memory_format = common_memory_format(tensors)
    ctx.set_output(0, shape, dtype=dtype, device=first.device, memory_format=memory_format)
    joined = [tensor for tensor in tensors if not is_skipped(tensor)]
    return {
        "dim": dimension,
        "valid": next((position for position, tensor in enumerate(tensors) if not is_skipped(tensor)), 0),
        "all_contiguous": all(tensor.is_contiguous(memory_format) for tensor in joined),
        "all_same_dtype": all(tensor.dtype is dtype for tensor in joined),
        "all_same_sizes_and_stride": all(
            tensor.shape == joined[0].shape and tensor.strides == joined[0].strides for tensor in joined
        )
        and bool(joined),
        "memory_format": memory_format,
    }


def _result_dtype(tensors: tuple[Tensor, ...], out: Tensor | None) -> DType:
    """Return the dtype that the tensors promote to, or the dtype of ``out`` if there is one.

    Raises:
        ArgumentError: the promoted dtype cannot be cast to that of ``out``.
        OverlapError: ``out`` shares memory with a tensor.
    """
    dtype: DType = result_type(tensors, get_default_dtype())
    if out is None:
        return dtype
    for tensor in tensors:
        require_no_overlap(out, tensor, "aten::cat.out")
    if not can_cast(dtype, out.dtype):
        raise ArgumentError(f"cat(): input types can't be cast to the desired output type {out.dtype.scalar_type}")
    return out.dtype


def common_memory_format(tensors: tuple[Tensor, ...]) -> MemoryFormat:
    """Return the memory format of a concatenation: that of the inputs if they agree, else contiguous."""
    formats = {tensor.geometry.suggested_memory_format() for tensor in tensors if not is_skipped(tensor)}
    return formats.pop() if len(formats) == 1 else MemoryFormat.contiguous_format


@cat.out_kernel
def cat_kernel(tensors, dim, out):
    write_joined([tensor for tensor in tensors if not is_skipped(tensor)], dim, out)


def write_joined(tensors: Sequence[Tensor], dim: int, out: Tensor) -> None:
    """Write tensors one after another along a dimension of ``out``."""
    start = 0
    for tensor in tensors:
        length = tensor.shape[dim]
        copy_(make_view(out, *views.narrow(view_of(out), dim, start, length)), tensor)
        start += length


cat.sharding(along="dim")


@cat.derivative("tensors")
def cat_derivative(grad, tensors, dim):
    start, gradients = 0, []
    for tensor in tensors:
        length = 0 if is_skipped(tensor) else tensor.shape[wrap_dimension(dim, tensor.ndim)]
        piece = grad.narrow(dim, start, length)
        gradients.append(piece.reshape(tensor.shape) if is_skipped(tensor) else piece)
        start += length
    return gradients


# --------------------------------------------------------------------------------------------------------- names of cat


concat = cat.alias("aten::concat")
concatenate = cat.alias("aten::concatenate")
