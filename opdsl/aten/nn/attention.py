"""Scaled dot product attention: means of values, weighted by the softmax of products of queries and keys.

The fused kernel, and its gradient, iterate over tiles: blocks of queries times blocks of keys. The matrix of all scores
is never stored, so memory is linear in the lengths (online softmax, Milakov and Gimelshein 2018; Dao et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from opdsl import primitives
from opdsl.aten._shared.blocks import blocks
from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.linalg.matrix_products import bmm, matmul
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
from opdsl.aten.shape.joining import cat
from opdsl.declare import Library, formula, op
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.attention import attend
from opdsl.runtime import Tensor, bool_, cpu
from opdsl.schema.vocabulary import Name

lib = Library("opdsl")

# Rows and columns of a tile, and the most scores of all heads that it may hold: more do not fit the second-level cache.
_ROWS, _COLUMNS = 128, 512
_SCORES = 1 << 19


# --------------------------------------------------------------------------------------------------------------- tiles


def weights_below_scalar(scores: Any, most: Any) -> Any:
    return math.exp(scores - most) if scores > -math.inf else 0.0


weights_below_elements = primitives.elements(weights_below_scalar)


@lib.op(variants="function")
@formula
def weights_below(scores: Tensor, most: Tensor) -> Tensor:
    """``exp(scores - most)``, with 0 for scores of -inf, even where the largest score ``most`` is -inf."""
    return weights_below_elements(scores, most)


@lib.op(variants="function")
@formula
def score_gradient(weights: Tensor, grad: Tensor, through: Tensor, scale: float) -> Tensor:
    """``weights * (grad - through) * scale``, the gradient of scores computed from the gradient of weights."""
    return weights * (grad - through) * scale


class Attention(NamedTuple):
    """Operands of an attention kernel: queries, keys and values of shape (heads, length, size), for the heads of all
    samples.

    mask: the tensor that is added to scores, (heads or 1, queries or 1, keys or 1), or None.
    is_causal: whether a query attends only to keys up to its own index.
    scale: the factor of the scores.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    is_causal: bool
    scale: float

    def parts(self) -> Iterator[Attention]:
        """Yield the operands of groups of heads, each so small that a tile's scores fit the second-level cache."""
        step = max(1, _SCORES // (_ROWS * min(_COLUMNS, max(1, self.key.shape[1]))))
        for heads in blocks(self.query.shape[0], step):
            mask = self.mask if self.mask is None or self.mask.shape[0] == 1 else self.mask[heads]
            query, key, value = (tensor[heads] for tensor in (self.query, self.key, self.value))
            yield Attention(query, key, value, mask, self.is_causal, self.scale)

    def rows(self) -> Iterator[slice]:
        """Return an iterator over blocks of queries."""
        return blocks(self.query.shape[1], _ROWS)

    def columns(self, rows: slice) -> Iterator[slice]:
        """Return an iterator over blocks of the keys that a block of queries attends to."""
        seen = min(self.key.shape[1], rows.stop) if self.is_causal else self.key.shape[1]
        return blocks(seen, _COLUMNS)

    def scores(self, query: Tensor, rows: slice, columns: slice) -> Tensor:
        """Return the masked scores of a tile; ``query`` holds the scaled queries of its rows."""
        scores = bmm(query, wide(self.key[:, columns]).transpose(1, 2))
        if self.mask is not None:
            scores = scores + wide(of_block(self.mask, rows, columns))
        if self.is_causal and columns.stop > rows.start:
            unseen = scores.new_ones(scores.shape[1:], dtype=bool_).triu(rows.start - columns.start + 1)
            scores = scores.masked_fill_(unseen, -math.inf)
        return scores


def wide(tensor: Tensor) -> Tensor:
    """Convert a tensor to the dtype that its arithmetic is done in, float32 for 16-bit dtypes."""
    return tensor.to(precision_of(tensor.dtype))


def of_block(mask: Tensor, rows: slice, columns: slice) -> Tensor:
    """Return the part of a mask for a tile; a mask dimension of size 1 stays, to broadcast."""
    if mask.shape[1] > 1:
        mask = mask[:, rows]
    return mask[:, :, columns] if mask.shape[2] > 1 else mask


def check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check the tensors of a fused attention kernel.

    Raises:
        ShapeError, DTypeError: the tensors do not fit.
    """
    check(all(tensor.ndim == 4 for tensor in (query, key, value)), "flash attention: expected tensors of 4 dimensions")
    check(
        query.shape[3] == key.shape[3] == value.shape[3],
        "scaled_dot_product_attention_flash_attention: Q/K/V should have the same head size",
    )
    if not query.dtype.is_floating_point or not query.dtype is key.dtype is value.dtype:
        raise DTypeError("scaled_dot_product_attention_flash_attention: Expected data type in FP32, FP64, BF16, FP16")


def attention_of(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float | None
) -> Attention:
    """Check the arguments of a fused attention kernel, and return them as an ``Attention``.

    Raises:
        ShapeError, DTypeError: the tensors do not fit.
    """
    check_heads(query, key, value)
    heads = query.shape[0] * query.shape[1]
    mask = attn_mask
    if mask is not None:
        if mask.dtype is bool_:
            mask = where(mask, query.new_zeros(()), -math.inf)
        while mask.ndim < 4:
            mask = mask.unsqueeze(0)
        rows, columns = mask.shape[2:]
        is_one = mask.shape[0] == mask.shape[1] == 1
        mask = mask.view((1, rows, columns)) if is_one else mask.expand((*query.shape[:2], rows, columns)).flatten(0, 1)
    query, key, value = (tensor.reshape((heads, *tensor.shape[2:])) for tensor in (query, key, value))
    return Attention(query, key, value, mask, is_causal, scale_of(query, scale))


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
    if mask is not None:
        mask = where(mask, 0.0, -math.inf).to(dtype) if mask.dtype is bool_ else mask.to(dtype)
    out = output if output.dtype is dtype else output.new_empty(output.shape, dtype=dtype)
    attend(wide(query), wide(key), wide(value), mask, scale, is_causal, out, sums)
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
    call = attention_of(query, key, value, attn_mask, is_causal, scale)
    outputs = AttentionGradients(*(empty_heads(query, tensor.shape[2]) for tensor in (query, key, value)))
    if query.device is cpu:
        flat = [tensor.reshape((-1, *tensor.shape[2:])) for tensor in (grad_out, out, logsumexp)]
        gradients, at = [], 0
        for part in call.parts():
            count = part.query.shape[0]
            gradients.append(gradients_of(part, *(tensor[at : at + count] for tensor in flat)))
            at += count
        for target, parts in zip(outputs, zip(*gradients, strict=True), strict=True):
            copy_(target, cat(parts).view(target.shape))
    return outputs


def gradients_of(call: Attention, grad_out: Tensor, out: Tensor, logsumexp: Tensor) -> AttentionGradients:
    """Return the gradients of attention for one group of heads, tile by tile."""
    gradients = AttentionGradients(
        *(wide(tensor).new_zeros(tensor.shape) for tensor in (call.query, call.key, call.value))
    )
    for rows in call.rows():
        query, grad = wide(call.query[:, rows]), wide(grad_out[:, rows])
        through = (grad * wide(out[:, rows])).sum(-1, True)
        for columns in call.columns(rows):
            weights = weights_below(call.scores(query * call.scale, rows, columns), logsumexp[:, rows].unsqueeze(2))
            of_weights = bmm(grad, wide(call.value[:, columns]).transpose(1, 2))
            of_scores = score_gradient(weights, of_weights, through, call.scale)
            gradients.grad_value[:, columns].add_(bmm(weights.transpose(1, 2), grad))
            gradients.grad_key[:, columns].add_(bmm(of_scores.transpose(1, 2), query))
            gradients.grad_query[:, rows].add_(bmm(of_scores, wide(call.key[:, columns])))
    return gradients


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
    query, key, value = (wide(tensor) for tensor in (query, key, value))
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
        all(tensor.shape[-3] and heads % tensor.shape[-3] == 0 for tensor in (key, value)),
        "Number of heads in key and value must divide the number of heads in query",
    )
    one, other = (tensor.repeat_interleave(heads // tensor.shape[-3], -3) for tensor in (key, value))
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
        all(tensor.device is cpu and tensor.ndim == 4 and tensor.numel() > 0 for tensor in tensors)
        and query.dtype.is_floating_point
        and query.dtype is key.dtype is value.dtype
        and query.shape[3] == key.shape[3] == value.shape[3]
        and dropout_p == 0
        and (attn_mask is None or not attn_mask.requires_grad)
    )
