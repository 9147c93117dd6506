"""Attention on devices with a kernel of tiles, which never stores the matrix of scores; and its gradients."""

from __future__ import annotations

from opdsl.aten.nn.attention_weights import AttentionGradients, composite_gradients
from opdsl.declare import Library
from opdsl.kernels.primitives.attention import attend, has_tiles
from opdsl.runtime import Tensor, bool_, cpu

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
    keys, values = (tensor.repeat_interleave(members, 1) for tensor in (key, value))
    of_query, *others = composite_gradients(grad, query, keys, values, attn_mask, is_causal, scale)
    return AttentionGradients(of_query, *(tensor.unflatten(1, (groups, members)).sum(2) for tensor in others))


def is_by_tiles(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, enable_gqa: bool
) -> bool:
    """Return whether ``attention_by_tiles`` supports a call."""
    tensors = (query, key, value)
    if query.device is cpu or not all(tensor.ndim == 4 for tensor in tensors):
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
