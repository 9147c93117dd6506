"""Attention functions."""

from __future__ import annotations

import math

from opdsl._attributes import aten
from opdsl.errors import OptionError, ShapeError
from opdsl.nn.functional.dropout import dropout
from opdsl.nn.functional.linear import linear
from opdsl.runtime import Tensor, bool_


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + attn_mask) @ value``

    Args:
        query, key, value: of shapes (..., L, E), (..., S, E) and (..., S, V).
        attn_mask: added to the scores; or boolean, where True includes a pair.
        dropout_p: the probability that a weight is 0.
        is_causal: whether queries ignore later keys; only without ``attn_mask``.
        scale: the factor of the scores; ``1 / sqrt(E)`` by default.
        enable_gqa: whether several query heads may share a head of keys and values (grouped-query attention).

    Raises:
        OptionError: both ``attn_mask`` and ``is_causal`` are given; it is a ValueError.

    >>> import opdsl
    >>> q = opdsl.zeros(1, 2, 4)
    >>> opdsl.nn.functional.scaled_dot_product_attention(q, q, opdsl.tensor([[[1.0], [3.0]]]), is_causal=True)
    tensor([[[1.],
             [2.]]])
    """
    if is_causal and attn_mask is not None:
        raise OptionError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    return aten.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def _additive(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """Convert a boolean mask, where True excludes, to one that is added: -inf where True."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not bool_:
        raise OptionError(f"only bool and floating types of masks are supported (got {mask.dtype})")
    return aten.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -math.inf)


def _projected(
    inputs: tuple[Tensor, Tensor, Tensor],
    weight: Tensor | None,
    bias: Tensor | None,
    weights: tuple[Tensor | None, ...],
) -> list[Tensor]:
    """Return the projections of queries, keys and values, by one weight in three parts or by three weights."""
    parts = weights if weight is None else weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    projected = []
    for input, part, shift in zip(inputs, parts, biases, strict=True):
        if part is None:
            raise OptionError(
                "multi_head_attention_forward: give in_proj_weight, or use_separate_proj_weight=True and three"
            )
        projected.append(linear(input, part, shift))
    return projected


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute multi-head attention, including the input and output projections.

    Args:
        query, key, value: of shapes (L, N, E), (S, N, E) and (S, N, E), or without the batch N.
        embed_dim_to_check: the expected E.
        num_heads: the number of heads, into which E is divided.
        in_proj_weight, in_proj_bias: the input projections of queries, keys and values, concatenated.
        bias_k, bias_v: an additional key and value.
        add_zero_attn: whether a key and a value of zeros are added.
        dropout_p: the probability that a weight is 0, when ``training``.
        out_proj_weight, out_proj_bias: the output projection.
        training: whether dropout is applied.
        key_padding_mask: of shape (N, S): boolean, where True excludes a key, or added to the scores.
        need_weights: whether the weights are returned, too.
        attn_mask: of shape (L, S) or (N * num_heads, L, S): boolean, where True excludes a pair, or added to the
            scores.
        use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight: separate
            weights of the input projections.
        static_k, static_v: projected keys and values, of shape (N * num_heads, S, E / num_heads).
        average_attn_weights: whether the returned weights are averaged over the heads.
        is_causal: hint that ``attn_mask`` is causal; the mask is required nevertheless.

    Returns:
        The result, of the shape of ``query``, and the weights or None.

    Raises:
        ShapeError: the sizes do not fit.
        OptionError: weights are missing, or ``is_causal`` is given without a mask; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x, identity, shift = opdsl.ones(3, 1, 4), opdsl.eye(4), opdsl.zeros(4)
    >>> projections = opdsl.cat([identity] * 3), opdsl.zeros(12)
    >>> out, weights = F.multi_head_attention_forward(
    ...     x, x, x, 4, 2, *projections, None, None, False, 0.0, identity, shift
    ... )
    >>> out.shape, weights[0, 0]
    ((3, 1, 4), tensor([0.3333, 0.3333, 0.3333]))
    """
    if is_causal and attn_mask is None:
        raise OptionError("Need attn_mask if specifying the is_causal hint.")
    batched = query.ndim == 3
    if not query.ndim == key.ndim == value.ndim or query.ndim not in (2, 3) or num_heads < 1:
        raise ShapeError(
            "queries, keys and values have 2 dimensions, or 3 of batches, and there is a head; got shapes "
            f"{query.shape}, {key.shape}, {value.shape} and {num_heads} heads"
        )
    if not batched:
        query, key, value = (sequence.unsqueeze(1) for sequence in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    if size != embed_dim_to_check or size % num_heads:
        raise ShapeError(
            f"an embedding of {size} is not the expected {embed_dim_to_check}, or not {num_heads} equal heads"
        )
    weight = None if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected((query, key, value), weight, in_proj_bias, (q_proj_weight, k_proj_weight, v_proj_weight))
    mask, padding = _additive(attn_mask, query), _additive(key_padding_mask, query)
    more = 0
    if bias_k is not None and bias_v is not None:
        k, v = (aten.cat((projected, bias.repeat(1, batch, 1))) for projected, bias in ((k, bias_k), (v, bias_v)))
        more += 1

    def heads(projection: Tensor) -> Tensor:
        return projection.reshape(projection.shape[0], batch, num_heads, -1).permute(1, 2, 0, 3)

    def static(projection: Tensor) -> Tensor:
        return projection.reshape(batch, num_heads, *projection.shape[1:])

    q = heads(q)
    k = heads(k) if static_k is None else static(static_k)
    v = heads(v) if static_v is None else static(static_v)
    if add_zero_attn:
        k, v = (
            aten.cat((projected, projected.new_zeros((batch, num_heads, 1, projected.shape[-1]))), 2)
            for projected in (k, v)
        )
        more += 1
    total: Tensor | None = None
    if mask is not None:
        shown = mask if mask.ndim == 2 else mask.reshape(batch, num_heads, *mask.shape[1:])
        total = aten.pad(shown, (0, more)) if more else shown
    if padding is not None:
        columns = (aten.pad(padding, (0, more)) if more else padding)[:, None, None, :]
        total = columns if total is None else total + columns
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    weights = (scores if total is None else scores + total).softmax(-1)
    if training and dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    output = (weights @ v).permute(2, 0, 1, 3).reshape(length, batch, size)
    output = linear(output, out_proj_weight, out_proj_bias)
    if average_attn_weights:
        weights = weights.mean(1)
    output, weights = (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))
    return output, weights if need_weights else None
