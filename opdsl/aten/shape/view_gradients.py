"""Gradient formulas that PyTorch declares as operators, such as ``select_backward``.

Autograd of this library does not need them: it derives gradients, or calls other operators. They are for programs that
call them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.nn.embedding import embedding_dense_backward
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.slicing import diagonal, select, slice_tensor
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor, int64
from opdsl.schema.vocabulary import SymInt


def _into(view: Tensor, gradient: Tensor, whole: Tensor) -> Tensor:
    """Copy a gradient into a view of ``whole``, and return ``whole``."""
    view.copy_(gradient)  # calls the operator, so that `vmap` sees the write
    return whole


def gradient_of(view: Callable[..., Tensor], grad_output: Tensor, input_sizes: Sequence[int], *args: object) -> Tensor:
    """Return the gradient of a view's base: zeros, except for the elements of the view."""
    whole = grad_output.new_zeros(input_sizes)
    return _into(view(whole, *args), grad_output, whole)


GRADIENT: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "variants": "function"}


@op("aten::select_backward", **{**GRADIENT, "kernel": "CompositeExplicitAutogradNonFunctional"})
def select_backward(grad_output: Tensor, input_sizes: list[SymInt], dim: int, index: SymInt) -> Tensor:
    """Return the gradient of ``select``."""
    return gradient_of(select, grad_output, input_sizes, dim, index)


@op("aten::slice_backward", **GRADIENT)
def slice_backward(
    grad_output: Tensor, input_sizes: list[SymInt], dim: int, start: SymInt, end: SymInt, step: SymInt
) -> Tensor:
    """Return the gradient of ``slice``."""
    return gradient_of(slice_tensor, grad_output, input_sizes, dim, start, end, step)


@op("aten::diagonal_backward", **GRADIENT)
def diagonal_backward(grad_output: Tensor, input_sizes: list[SymInt], offset: int, dim1: int, dim2: int) -> Tensor:
    """Return the gradient of ``diagonal``."""
    return gradient_of(diagonal, grad_output, input_sizes, offset, dim1, dim2)


select_backward.adjoint(select, "self")
slice_backward.adjoint(slice_tensor, "self")
diagonal_backward.adjoint(diagonal, "self")


@op("aten::masked_scatter_backward", kernel="CompositeExplicitAutograd")
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: list[SymInt]) -> Tensor:
    """Return the gradient of ``masked_scatter`` for its source."""
    taken = grad_output.masked_select(mask)
    whole = grad_output.new_zeros(sizes).view((-1,))
    return _into(whole[: taken.numel()], taken, whole).view(sizes)


masked_scatter_backward.derivative(
    grad_output=lambda grad, grad_output, mask: zeros_like(grad_output).masked_scatter(mask, grad)
)


# ----------------------------------------------------------------------------------------- written with other operators


def along_diagonal(grad: Tensor, sizes: list[int]) -> Tensor:
    """Expand the gradient of a trace to all elements of the diagonal.

    Raises:
        ShapeError: the sizes are not those of a matrix.
    """
    check(len(sizes) == 2, "expected matrix input", got=sizes)
    return grad.expand((min(sizes),))


@op("aten::trace_backward", variants="function")
@forward(diagonal_backward, grad_output=along_diagonal, input_sizes=lambda sizes: sizes, offset=0, dim1=0, dim2=1)
def trace_backward(grad: Tensor, sizes: list[SymInt]) -> Tensor:
    """Return the gradient of ``trace``."""


@op("aten::index_select_backward", variants="function")
def index_select_backward(grad: Tensor, self_sizes: list[SymInt], dim: int, index: Tensor) -> Tensor:
    """Return the gradient of ``index_select``."""
    return grad.new_zeros(self_sizes).index_add(dim, index, grad)


@op("aten::gather_backward", variants="function")
def gather_backward(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    """Return the gradient of ``gather``."""
    return grad.new_zeros(self.shape).scatter_add(dim, index, grad)


@op("aten::value_selecting_reduction_backward", variants="function")
def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: list[SymInt], keepdim: bool
) -> Tensor:
    """Return the gradient of a reduction that selects one element along a dimension, such as ``max`` and ``median``."""
    if sizes and not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


@op("aten::masked_select_backward", variants="function")
def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    """Return the gradient of ``masked_select``."""
    return input.new_zeros(where(mask, input, input).shape).masked_scatter(mask, grad)


@op("aten::embedding_backward")
@forward(embedding_dense_backward, "grad", unused=("sparse",))
def embedding_backward(
    grad: Tensor, indices: Tensor, num_weights: SymInt, padding_idx: SymInt, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """Return the gradient of ``embedding`` for its weight."""


@op("aten::cummaxmin_backward", variants="function")
def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Return the gradient of ``cummax`` and ``cummin``."""
    return input.new_zeros(input.shape).scatter_add(dim, indices, grad) if input.numel() else input


@op("aten::cumprod_backward", variants="function")
def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    """Return the gradient of ``cumprod``; elements after the first 0 along the dimension have the gradient 0."""
    for tensor in (grad, output):
        check(tensor.shape == input.shape, f"cumprod_backward: expected shape {list(input.shape)}", got=tensor.shape)
    if not input.ndim or not input.numel():
        return grad.clone()
    is_zero = input == 0
    zeros = is_zero.to(int64).cumsum(dim)
    weighted = where(zeros == 0, output.conj() * grad, 0.0)
    before = weighted.flip(dim).cumsum(dim).flip(dim) / where(is_zero, 1.0, input.conj())
    is_first = is_zero.logical_and(zeros == 1)
    others = where(is_first, 1.0, input.conj()).cumprod(dim)
    at_first = where(zeros == 1, grad * others, 0.0).sum(dim, keepdim=True)
    return where(is_first, at_first, where(zeros == 0, before, 0.0))
