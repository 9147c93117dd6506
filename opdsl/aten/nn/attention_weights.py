"""Attention whose weights are stored as a whole, composed of operators or by kernels of rows; and its gradients."""

from __future__ import annotations

import math
from typing import NamedTuple

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.nn.normalization import _softmax_backward_data, softmax
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Library, op
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.attention import write_weights
from opdsl.kernels.primitives.products import multiplies_16_bits, multiply
from opdsl.runtime import DType, Tensor, bool_, cpu

lib = Library("opdsl")

TWO_MASKS = "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"


@op("aten::_safe_softmax", kernel="CompositeExplicitAutograd")
def _safe_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """``softmax(self, dim)``, with zeros where all elements along ``dim`` are -inf."""
    return where((self == -math.inf).all(dim, True), 0.0, softmax(self, dim, dtype))


_safe_softmax.derivative(self=lambda grad, result, dim, self: _softmax_backward_data(grad, result, dim, self.dtype))


def scale_of(query: Tensor, scale: float | None) -> float:
    """Return the factor of the scores: ``scale``, or by default 1 / sqrt(size), with 1 for a size of 0."""
    return 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale


def masked_scores(query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor:
    """Return the products of queries and keys with the mask added, or with -inf where a bool mask is False.

    Raises:
        ShapeError: ``is_causal`` is set and there is a mask as well.
    """
    scores = matmul(query, key.transpose(-2, -1))
    if is_causal:
        check(attn_mask is None, TWO_MASKS)
        attn_mask = scores.new_ones(scores.shape[-2:], dtype=bool_).tril()
    if attn_mask is None:
        return scores
    return where(attn_mask, scores, -math.inf) if attn_mask.dtype is bool_ else scores + attn_mask


class AttentionGradients(NamedTuple):
    """Gradients of queries, keys and values."""

    grad_query: Tensor
    grad_key: Tensor
    grad_value: Tensor


def composite_gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float | None,
) -> AttentionGradients:
    """Return the gradients of attention, composed of operators that can be differentiated again."""
    factor = scale_of(query, scale)
    weights = _safe_softmax(masked_scores(query * factor, key, attn_mask, is_causal), -1)
    of_weights = matmul(grad, value.transpose(-2, -1))
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, True)) * factor
    of_key, of_value = (
        matmul(tensor.transpose(-2, -1), other) for tensor, other in ((of_scores, query), (weights, grad))
    )
    return AttentionGradients(matmul(of_scores, key), of_key, of_value)


# ------------------------------------------------------------------------------------------------ kernels of whole rows


@lib.op(kernel=("CUDA", "Meta"), variants="function")
def attention_by_rows(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float
) -> Tensor:
    """Compute attention in three kernels: two products, and one for the weights, which are stored as a whole.

    query, key, value: (batch, heads, length, size). attn_mask: see ``scaled_dot_product_attention``. scale: the factor
    of scores.
    """
    shape = (*query.shape[:3], key.shape[2])
    query_rows, key_rows, value_rows = (heads.flatten(0, 1) for heads in (query, key, value))
    scores = query.new_empty(shape, dtype=precision_of(query.dtype))
    multiply(query_rows, key_rows.transpose(1, 2), scores.flatten(0, 1))
    weights = scores if scores.dtype is query.dtype else query.new_empty(shape)
    write_weights(scores, attn_mask, scale, is_causal, weights)
    output = query.new_empty((*query.shape[:3], value.shape[3]))
    multiply(weights.flatten(0, 1), value_rows, output.flatten(0, 1))
    return output


@attention_by_rows.derivative("query", "key", "value")
def attention_by_rows_derivative(grad, query, key, value, attn_mask, is_causal, scale):
    return composite_gradients(grad, query, key, value, attn_mask, is_causal, scale)


def is_by_rows(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Return whether ``attention_by_rows`` supports a call."""
    tensors = (query, key, value)
    return (
        query.device is not cpu
        and multiplies_16_bits(query.device)
        and all(heads.ndim == 4 and heads.numel() > 0 for heads in tensors)
        and query.dtype.is_floating_point
        and query.dtype.itemsize > 1
        and query.dtype is key.dtype is value.dtype
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
        and query.shape[3] == key.shape[3]
        and key.shape[2] == value.shape[2]
        and dropout_p == 0
        and (attn_mask is None or not attn_mask.requires_grad)
    )
