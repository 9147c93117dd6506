"""Embedding: rows of a table selected by index, and the gradient of the table."""

from __future__ import annotations

from opdsl.aten._shared.sharing import shared
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import op, traceable
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, int32, int64
from opdsl.schema.vocabulary import SymInt


def check_indices(operator: str, argument: int, indices: Tensor) -> None:
    """Check that an index tensor is int32 or int64.

    Raises:
        DTypeError: the tensor has another dtype.
    """
    if indices.dtype not in (int32, int64):
        raise DTypeError(
            f"Expected tensor for argument #{argument} 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {indices.dtype.scalar_type} instead (while checking arguments for {operator})"
        )


@op("aten::embedding", kernel="CompositeExplicitAutograd", tags="core")
@traceable
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: SymInt = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Return the rows of ``weight`` at ``indices``; the other arguments affect only the gradient."""
    check(weight.ndim == 2, "'weight' must be 2-D")
    check_indices("embedding", 1, indices)
    rows = weight.index_select(0, indices.reshape((indices.numel(),)))
    return rows.view((*indices.shape, weight.shape[1]))


@embedding.derivative("weight")
def embedding_derivative(grad, weight, indices, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        return embedding_dense_backward(grad, indices, weight.shape[0], padding_idx, scale_grad_by_freq)
    # The forward pass has checked that all indices are in bounds, so no step here depends on elements.
    numbers, grads = indices.reshape((indices.numel(),)), grad.reshape((indices.numel(), weight.shape[1]))
    if padding_idx >= 0:
        grads = where((numbers != padding_idx).unsqueeze(1), grads, 0)
    return grad.new_zeros(weight.shape).index_add_(0, numbers, grads)


@op("aten::embedding_dense_backward", kernel=("CPU", "CUDA"), tags="core")
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: SymInt, padding_idx: SymInt, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradient of the table of ``embedding``; an index out of bounds or equal to ``padding_idx`` adds
    nothing.
    """
    check_indices("embedding_backward", 2, indices)
    numbers = indices.reshape((indices.numel(),)).to(int64)
    grads = grad_output.reshape((numbers.shape[0], grad_output.size(-1)))
    counted = ((numbers >= 0) * (numbers < num_weights) * (numbers != padding_idx)).nonzero().squeeze(1)
    if counted.shape[0] < numbers.shape[0]:
        numbers, grads = numbers.index_select(0, counted), grads.index_select(0, counted)
    if scale_grad_by_freq:
        grads = shared(grads, frequencies(numbers, numbers.new_ones(numbers.shape), num_weights))
    return grad_output.new_zeros((num_weights, grads.shape[1])).index_add_(0, numbers, grads)


@embedding_dense_backward.derivative("grad_output")
def embedding_dense_backward_derivative(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    counted = (indices >= 0) * (indices < num_weights) * (indices != padding_idx)
    numbers = where(counted, indices, 0).reshape((-1,))
    rows = grad.index_select(0, numbers)
    if scale_grad_by_freq:
        rows = shared(rows, frequencies(numbers, counted.reshape((-1,)).to(numbers.dtype), num_weights))
    return where(counted.unsqueeze(-1), rows.view((*indices.shape, grad.shape[-1])), 0)


def frequencies(numbers: Tensor, counts: Tensor, num_weights: int) -> Tensor:
    """Return, for each index in ``numbers``, the sum of ``counts`` over its occurrences, as a column."""
    return numbers.new_zeros((num_weights,)).index_add(0, numbers, counts).index_select(0, numbers).unsqueeze(1)
