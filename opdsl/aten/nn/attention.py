"""Scaled dot product attention: means of values, weighted by the softmax of products of queries and keys.

The fused kernel, and its gradient, iterate over tiles: blocks of queries times blocks of keys. The matrix of all scores
is never stored, so memory is linear in the lengths (online softmax, Milakov and Gimelshein 2018; Dao et al. 2022).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.nn.attention_tiles import attention_by_tiles, is_by_tiles
from opdsl.aten.nn.attention_weights import (
    TWO_MASKS,
    AttentionGradients,
    _safe_softmax,
    attention_by_rows,
    composite_gradients,
    is_by_rows,
    masked_scores,
    scale_of,
)
from opdsl.aten.nn.dropout import dropout
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import op
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.attention import attend, attend_backward
from opdsl.runtime import DType, Tensor, bool_, cpu
from opdsl.schema.vocabulary import Name


def wide(tensor: Tensor) -> Tensor:
    """Convert a tensor to the dtype that its arithmetic is done in, float32 for 16-bit dtypes."""
    return tensor.to(precision_of(tensor.dtype))


def as_added(mask: Tensor | None, dtype: DType) -> Tensor | None:
    """Return a mask as numbers of a dtype that are added to scores."""
    if mask is None:
        return None
    return where(mask, 0.0, -math.inf).to(dtype) if mask.dtype is bool_ else mask.to(dtype)


def check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check the tensors of a fused attention kernel.

    Raises:
        ShapeError, DTypeError: the tensors do not fit.
    """
    check(all(heads.ndim == 4 for heads in (query, key, value)), "flash attention: expected tensors of 4 dimensions")
    check(
        query.shape[3] == key.shape[3] == value.shape[3],
        "scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size",
    )
    if not query.dtype.is_floating_point or not query.dtype is key.dtype is value.dtype:
        raise DTypeError("scaled_dot_product_attention_flash_attention: Expected data type in FP32, FP64, BF16, FP16")


def empty_heads(query: Tensor, length: int) -> Tensor:
    """Return an uninitialized tensor, (batch, heads, length, size), in which the heads of one position are adjacent in
    memory.
    """
    batch, heads, _, size = query.shape
    return query.new_empty((batch, length, heads, size)).transpose(1, 2)


class Attended(NamedTuple):
    """Results of an attention kernel: the output, and each query's log-sum-exp of scores, (batch, heads, length)."""

    output: Tensor
    logsumexp: Tensor


# ------------------------------------------------------------------------------------------------------- fused kernels


@op("aten::_scaled_dot_product_flash_attention_for_cpu", kernel=("CPU", "Meta"), tags="nondeterministic_seeded")
def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Attended:
    """Compute attention by tiles; return the output, and the log-sum-exp of each query's scores.

    Args:
        query, key, value: (batch, heads, length, size).
        dropout_p: 0.
        is_causal: whether a query attends only to keys up to its own index.
        attn_mask: numbers that are added to scores, or bools that select the scores that count.
        scale: the factor of scores; by default 1 / sqrt(size).
    """
    check(dropout_p == 0, "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    check_heads(query, key, value)
    batch, heads, length, _ = query.shape
    output = empty_like(query)
    sums = query.new_empty((batch, length, heads), dtype=precision_of(query.dtype)).transpose(1, 2)
    if query.device is cpu:
        attend_wide(query, key, value, attn_mask, is_causal, scale_of(query, scale), output, sums)
    return Attended(output, sums)


def attend_wide(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    output: Tensor,
    sums: Tensor,
) -> None:
    """Write the output and log-sum-exps of attention on the CPU; 16-bit dtypes are computed in float32."""
    dtype = sums.dtype
    out = output if output.dtype is dtype else output.new_empty(output.shape, dtype=dtype)
    attend(wide(query), wide(key), wide(value), as_added(mask, dtype), scale, is_causal, out, sums)
    if out is not output:
        copy_(output, out)


@_scaled_dot_product_flash_attention_for_cpu.derivative("query", "key", "value", output_differentiability=(True, False))
def _flash_attention_derivative(
    grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask, scale, output_mask
):
    if is_grad_enabled():
        return composite_gradients(grad, query, key, value, attn_mask, is_causal, scale)
    return _scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, output, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )


@op("aten::_scaled_dot_product_flash_attention_for_cpu_backward", kernel=("CPU", "Meta"), variants="function")
def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("grad_query")], Annotated[Tensor, Name("grad_key")], Annotated[Tensor, Name("grad_value")]
]:
    """Return the gradients of queries, keys and values, recomputing the weights tile by tile."""
    check_heads(query, key, value)
    outputs = AttentionGradients(*(empty_heads(query, heads.shape[2]) for heads in (query, key, value)))
    if query.device is cpu:
        dtype = precision_of(query.dtype)
        of_query, of_key, of_value = (
            output if output.dtype is dtype else output.new_empty(output.shape, dtype=dtype) for output in outputs
        )
        attend_backward(
            (wide(query), wide(key), wide(value), as_added(attn_mask, dtype)),
            (wide(grad_out), wide(out), logsumexp),
            scale_of(query, scale),
            is_causal,
            (of_query, of_key, of_value),
        )
        for output, gradient in zip(outputs, (of_query, of_key, of_value), strict=True):
            if output is not gradient:
                copy_(output, gradient)
    return outputs


# ----------------------------------------------------------------------------------------------------------- attention


@op("aten::_scaled_dot_product_attention_math", variants="function", tags="nondeterministic_seeded")
def _scaled_dot_product_attention_math(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute attention with whole matrices of scores; return the output and the weights.

    Args:
        query, key, value, attn_mask, is_causal, scale, enable_gqa: see ``scaled_dot_product_attention``.
        dropout_p: the probability with which a weight is dropped.
        dropout_mask: the weights to keep; None to draw them.
    """
    dtype = query.dtype
    key, value = for_groups(query, key, value, enable_gqa)
    query, key, value = (wide(heads) for heads in (query, key, value))
    factor = scale_of(query, scale)
    root = math.sqrt(abs(factor))
    # Both operands are scaled by the root of the factor, so that their products do not overflow.
    weights = _safe_softmax(masked_scores(query * math.copysign(root, factor), key * root, attn_mask, is_causal), -1)
    if dropout_p and dropout_mask is not None:
        weights, value = where(dropout_mask, weights, 0.0), value * (1 / (1 - dropout_p))
    elif dropout_p:
        weights = dropout(weights, dropout_p, True)
    return matmul(weights, value).to(dtype), weights.to(dtype)


def for_groups(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> tuple[Tensor, Tensor]:
    """Return keys and values with their heads repeated, one copy for each query head of a group (grouped-query
    attention).

    Raises:
        ShapeError: a tensor has too few dimensions, or the number of query heads is no multiple of the others'.
    """
    least = 3 if enable_gqa else 2
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check(
            tensor.ndim >= least,
            f"scaled_dot_product_attention: expected at least {least} dimensions of {name}",
            got=tensor.shape,
        )
    if not enable_gqa:
        return key, value
    heads = query.shape[-3]
    if heads == key.shape[-3] == value.shape[-3]:
        return key, value
    check(
        all(shared.shape[-3] and heads % shared.shape[-3] == 0 for shared in (key, value)),
        "Number of heads in key and value must divide the number of heads in query",
    )
    one, other = (shared.repeat_interleave(heads // shared.shape[-3], -3) for shared in (key, value))
    return one, other


@op(
    "aten::scaled_dot_product_attention",
    python_module="nn",
    variants="function",
    tags="nondeterministic_seeded",
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the means of values, weighted by the softmax of the products of queries and keys.

    Args:
        query, key, value: (..., heads, length, size).
        attn_mask: numbers that are added to scores, or bools that select the scores that count.
        dropout_p: the probability with which a weight is dropped.
        is_causal: whether a query attends only to keys up to its own index.
        scale: the factor of scores; by default 1 / sqrt(size).
        enable_gqa: whether keys and values may have fewer heads, each shared by a group of query heads.
    """
    check(attn_mask is None or not is_causal, TWO_MASKS)
    if is_fused(query, key, value, attn_mask, dropout_p):
        keys, values = for_groups(query, key, value, enable_gqa)
        if keys.shape[:2] == values.shape[:2] == query.shape[:2] and keys.shape[2] == values.shape[2]:
            return _scaled_dot_product_flash_attention_for_cpu(
                query, keys, values, 0.0, is_causal, attn_mask=attn_mask, scale=scale
            )[0]
    if is_by_tiles(query, key, value, attn_mask, dropout_p, enable_gqa):
        return attention_by_tiles(query, key, value, attn_mask, is_causal, scale_of(query, scale))
    if is_by_rows(query, key, value, attn_mask, dropout_p):
        return attention_by_rows(query, key, value, attn_mask, is_causal, scale_of(query, scale))
    return _scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


def is_fused(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float) -> bool:
    """Return whether the fused kernel supports a call."""
    tensors = (query, key, value)
    return (
        all(heads.device is cpu and heads.ndim == 4 and heads.numel() > 0 for heads in tensors)
        and query.dtype.is_floating_point
        and query.dtype is key.dtype is value.dtype
        and query.shape[3] == key.shape[3] == value.shape[3]
        and dropout_p == 0
        and (attn_mask is None or not attn_mask.requires_grad)
    )
