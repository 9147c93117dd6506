"""Attention on devices with a kernel of tiles, which never stores the matrix of scores; and its gradients."""

from __future__ import annotations

import math

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.nn.attention_weights import AttentionGradients, composite_gradients
from opdsl.aten.nn.normalization import _softmax_backward_data, softmax
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Library
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.kernels.primitives.attention import attend, has_tiles
from opdsl.runtime import Tensor, bool_, cpu, float32, float64

lib = Library("opdsl")


@lib.op(kernel=("CUDA", "Meta"), variants="function")
def attention_by_tiles(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float
) -> Tensor:
    """Compute attention in one kernel, with an online softmax over tiles of keys.

    query: (batch, heads, length, size). key, value: likewise, or with fewer heads, of which each serves a group of
    query heads. attn_mask: see ``scaled_dot_product_attention``. scale: the factor of scores.
    """
    output = query.new_empty((*query.shape[:3], value.shape[3]))
    attend(query, key, value, attn_mask, scale, is_causal, output)
    return output


@attention_by_tiles.derivative("query", "key", "value")
def attention_by_tiles_derivative(grad, query, key, value, attn_mask, is_causal, scale):
    groups, members = key.shape[1], query.shape[1] // key.shape[1]
    if members == 1:
        return composite_gradients(grad, query, key, value, attn_mask, is_causal, scale)
    keys, values = (shared.repeat_interleave(members, 1) for shared in (key, value))
    of_query, *others = composite_gradients(grad, query, keys, values, attn_mask, is_causal, scale)
    return AttentionGradients(of_query, *(tensor.unflatten(1, (groups, members)).sum(2) for tensor in others))


def is_by_tiles(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool
) -> bool:
    """Return whether ``attention_by_tiles`` supports a call."""
    tensors = (query, key, value)
    if query.device is cpu or not all(heads.ndim == 4 for heads in tensors):
        return False
    is_grouped = enable_gqa and key.shape[1] > 0 and query.shape[1] % key.shape[1] == 0
    return (
        query.dtype.is_floating_point
        and query.dtype is key.dtype is value.dtype
        and query.shape[0] == key.shape[0]
        and key.shape[:3] == value.shape[:3]
        and (query.shape[1] == key.shape[1] or is_grouped)
        and query.shape[3] == key.shape[3]
        and dropout_p == 0
        and (attn_mask is None or _is_mask(attn_mask, query))
        and has_tiles(query, value)
    )


def _is_mask(mask: Tensor, query: Tensor) -> bool:
    """Return whether the kernel reads a mask: without gradients, on the same device, of bools or of a real dtype."""
    is_real = mask.dtype is bool_ or (mask.dtype.is_floating_point and mask.dtype.itemsize > 1)
    return is_real and mask.device is query.device and not mask.requires_grad


@lib.op(kernel=("CPU", "Meta"), variants="function")
def softmax_product(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """``softmax(query @ key * scale + mask, -1) @ value``, with scores computed tile by tile.

    Args:
        query: (queries, size) or (batch, queries, size), of float32 or float64.
        key: (size, keys) or (batch, size, keys).
        value: (keys, value size) or (batch, keys, value size).
        mask: numbers that are added to scores, or bools that select the scores that count; broadcast to the scores'
            shape.
        scale: the factor of scores.

    Returns:
        (queries, value size) or (batch, queries, value size); NaN for queries whose scores are all -inf, as in
        ``softmax``.

    Raises:
        UnsupportedDTypeError: the tensors are not all of float32, or all of float64.
        ShapeError: their sizes do not fit.
    """
    if query.dtype not in (float32, float64) or not query.dtype is key.dtype is value.dtype:
        raise UnsupportedDTypeError(
            f"softmax_product: expected tensors of float32 or of float64 (got {query.dtype.name}, {key.dtype.name}, "
            f"{value.dtype.name}). Convert them first: x.to(float32)."
        )
    fits = query.ndim == key.ndim == value.ndim in (2, 3) and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
    check(
        fits and query.shape[-1] == key.shape[-2] and key.shape[-1] == value.shape[-2],
        f"softmax_product: no products of {query.shape}, {key.shape} and {value.shape}",
    )
    output = query.new_empty((*query.shape[:-1], value.shape[-1]))
    if query.device is cpu:
        selects = mask is not None and mask.dtype is bool_
        if mask is not None and selects:
            mask = where(mask, math.inf, -math.inf).to(query.dtype)
        sums = query.new_empty((*query.shape[:-1], 1))
        heads, keys, values, out = map(_as_heads, (query, key.transpose(-2, -1), value, output))
        attend(heads, keys, values, mask, scale, False, out, _as_heads(sums).squeeze(3), selects=selects)
        output.masked_fill_(sums == -math.inf, math.nan)
    return output


def _as_heads(tensor: Tensor) -> Tensor:
    """Return a view with leading dimensions of size 1, four dimensions in all."""
    return tensor if tensor.ndim == 4 else _as_heads(tensor.unsqueeze(0))


def softmax_product_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return the softmax of the scores of ``softmax_product``."""
    scores = matmul(query, key) * scale
    if mask is not None:
        scores = where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask
    return softmax(scores, -1)


@softmax_product.derivative("query", "key", "value")
def softmax_product_derivative(grad, query, key, value, mask, scale):
    weights = softmax_product_weights(query, key, mask, scale)
    of_scores = _softmax_backward_data(matmul(grad, value.transpose(-2, -1)), weights, -1, query.dtype) * scale
    return AttentionGradients(
        matmul(of_scores, key.transpose(-2, -1)),
        matmul(query.transpose(-2, -1), of_scores),
        matmul(weights.transpose(-2, -1), grad),
    )


@softmax_product.derivative("mask")
def softmax_product_mask_derivative(grad, query, key, value, mask, scale):
    if mask is None:
        return None
    weights = softmax_product_weights(query, key, mask, scale)
    of_scores = _softmax_backward_data(matmul(grad, value.transpose(-2, -1)), weights, -1, query.dtype)
    return of_scores.sum_to_size(mask.shape)
