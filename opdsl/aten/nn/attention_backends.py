"""Attention under the signatures of PyTorch's fused kernels for CUDA, by operators; and layers of transformers.

What those kernels keep for dropout, states of random numbers, is 0: none of these drops anything. Where PyTorch's give
undefined tensors, of sequences of different lengths and for debugging, there are tensors without elements.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.vector_products import linear
from opdsl.aten.nn.activations import gelu, relu
from opdsl.aten.nn.attention import _safe_softmax, is_fused, wide
from opdsl.aten.nn.layer_parts import _transform_bias_rescale_qkv
from opdsl.aten.nn.masked_softmax import _masked_softmax
from opdsl.aten.nn.normalization import layer_norm, softmax
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, int32, int64, uint64
from opdsl.schema.vocabulary import Bools, Name, SymInt

# To a multiple of how many logarithms of sums of weights are padded.
_ALIGNMENT = 32


# ------------------------------------------------------------------------------------------------------------- formulas


def require_heads(name: str, query: Tensor, key: Tensor, value: Tensor, dropout_p: float) -> None:
    """That queries, keys and values of several heads fit.

    Raises:
        ShapeError, DTypeError: they do not, or there is dropout.
    """
    tensors = (query, key, value)
    check(all(each.ndim == 4 for each in tensors), f"{name}: expected tensors of 4 dimensions")
    check(
        query.shape[:2] == key.shape[:2] == value.shape[:2] and key.shape[2] == value.shape[2],
        f"{name}: queries, keys and values must have one batch and as many heads, keys and values one length",
        got=tuple(each.shape for each in tensors),
    )
    check(query.shape[3] == key.shape[3], f"{name}: queries and keys must have one size", got=(query.shape, key.shape))
    if not query.dtype.is_floating_point or not query.dtype is key.dtype is value.dtype:
        raise DTypeError(f"{name}: expected queries, keys and values of one floating dtype")
    check(dropout_p == 0, f"{name}: there is no dropout", got=dropout_p)


def scores_of(query: Tensor, key: Tensor, bias: Tensor | None, is_causal: bool, factor: float) -> Tensor:
    """The products of queries and keys, plus the bias; those of keys that a query does not see as -inf."""
    scores = matmul(wide(query) * factor, wide(key).transpose(-2, -1))
    scores = scores if bias is None else scores + bias
    if is_causal:
        seen = scores.new_ones(scores.shape[-2:], dtype=bool_).tril()
        scores = where(seen, scores, -math.inf)
    return scores


def factor_of(query: Tensor, scale: float | None) -> float:
    """What scores are multiplied with."""
    return 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale


def attended(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, is_causal: bool, scale: float | None
) -> tuple[Tensor, Tensor]:
    """The means of values, and the logarithms of the sums of weights."""
    scores = scores_of(query, key, bias, is_causal, factor_of(query, scale))
    found = matmul(_safe_softmax(scores, -1), wide(value)).to(query.dtype)
    return found, scores.logsumexp(-1)


def attention_gradients(
    name: str,
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of queries, keys, values and scores, whose weights are computed again.

    Raises:
        ShapeError: what the forward pass gave has other shapes.
    """
    shape = (*query.shape[:3], value.shape[3])
    check(
        grad.shape == out.shape == shape,
        f"{name}: expected results of shape {list(shape)}",
        got=(grad.shape, out.shape),
    )
    length = query.shape[2]
    kept = logsumexp.ndim == 3 and logsumexp.shape[:2] == query.shape[:2] and logsumexp.shape[2] >= length
    check(kept, f"{name}: expected logarithms of sums for each query", got=logsumexp.shape)
    factor = factor_of(query, scale)
    scores = scores_of(query, key, bias, is_causal, factor)
    sums = wide(logsumexp).narrow(-1, 0, length).unsqueeze(-1)
    weights = where(scores == -math.inf, 0.0, (scores - sums).exp())
    given = wide(grad)
    of_weights = matmul(given, wide(value).transpose(-2, -1))
    of_scores = weights * (of_weights - (given * wide(out)).sum(-1, True))
    of_query = (matmul(of_scores, wide(key)) * factor).to(query.dtype)
    of_key = (matmul(of_scores.transpose(-2, -1), wide(query)) * factor).to(key.dtype)
    return of_query, of_key, matmul(weights.transpose(-2, -1), given).to(value.dtype), of_scores


def require_bias(name: str, bias: Tensor | None, query: Tensor, key: Tensor) -> None:
    """That a bias can be added to scores.

    Raises:
        ShapeError, DTypeError: it cannot.
    """
    if bias is None:
        return
    wanted = (*query.shape[:3], key.shape[2])
    fits = bias.ndim <= 4 and all(
        size in (1, full) for size, full in zip(reversed(bias.shape), reversed(wanted), strict=False)
    )
    check(fits, f"{name}: expected a bias that can be expanded to {list(wanted)}", got=bias.shape)
    if not bias.dtype.is_floating_point:
        raise DTypeError(f"{name}: expected a bias of floating numbers, not {bias.dtype}")


# -------------------------------------------------------------------------------------------------------------- flash


@op(
    "aten::_scaled_dot_product_flash_attention",
    tags=["nondeterministic_seeded"],
    dispatch={
        "CUDA": "_scaled_dot_product_flash_attention_cuda",
        "XPU": "_scaled_dot_product_flash_attention_xpu",
        "NestedTensorCUDA": "_scaled_dot_product_flash_attention_nestedtensor_cuda",
    },
)
def _scaled_dot_product_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("output")],
    Annotated[Tensor, Name("logsumexp")],
    Annotated[Tensor, Name("cum_seq_q")],
    Annotated[Tensor, Name("cum_seq_k")],
    Annotated[SymInt, Name("max_q")],
    Annotated[SymInt, Name("max_k")],
    Annotated[Tensor, Name("rng_state")],
    Annotated[Tensor, Name("unused")],
    Annotated[Tensor, Name("debug_attn_mask")],
]:
    """Attention without a mask, the logarithms of sums of weights, and what the gradient's kernel wants to know.

    Args:
        query, key, value: (batch, heads, length, size).
        dropout_p: 0.
        is_causal: whether a query sees keys up to its own position alone.
        return_debug_mask: is for dropout.
        scale: of scores; by default 1 / the root of the size.
    """
    require_heads("_scaled_dot_product_flash_attention", query, key, value, dropout_p)
    output, sums = attended(query, key, value, None, is_causal, scale)
    lengths: Any = [query.new_empty((0,), dtype=int32) for _ in range(2)]
    state = query.new_zeros((2,), dtype=uint64), query.new_zeros((), dtype=uint64)
    return output, sums, *lengths, query.shape[2], key.shape[2], *state, query.new_empty((0,))


@op(
    "aten::_scaled_dot_product_flash_attention_backward",
    device_check="NoCheck",
    dispatch={
        "CUDA": "_scaled_dot_product_flash_attention_backward_cuda",
        "XPU": "_scaled_dot_product_flash_attention_backward_xpu",
        "NestedTensorCUDA": "_scaled_dot_product_flash_attention_backward_nested",
    },
)
def _scaled_dot_product_flash_attention_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor,
    cum_seq_k: Tensor,
    max_q: SymInt,
    max_k: SymInt,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,
    *,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("grad_query")], Annotated[Tensor, Name("grad_key")], Annotated[Tensor, Name("grad_value")]
]:
    """The gradients of ``_scaled_dot_product_flash_attention``: of queries, keys and values."""
    name = "_scaled_dot_product_flash_attention_backward"
    require_heads(name, query, key, value, dropout_p)
    return attention_gradients(name, grad_out, query, key, value, None, out, logsumexp, is_causal, scale)[:3]


@op(
    "aten::_scaled_dot_product_fused_attention_overrideable",
    tags=["nondeterministic_seeded"],
    dispatch={
        "CompositeExplicitAutograd": "_scaled_dot_product_fused_attention_overrideable",
        "XPU": "_scaled_dot_product_fused_attention_overrideable_xpu",
    },
)
def _scaled_dot_product_fused_attention_overrideable(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("output")],
    Annotated[Tensor, Name("logsumexp")],
    Annotated[Tensor, Name("cum_seq_q")],
    Annotated[Tensor, Name("cum_seq_k")],
    Annotated[SymInt, Name("max_q")],
    Annotated[SymInt, Name("max_k")],
    Annotated[Tensor, Name("philox_seed")],
    Annotated[Tensor, Name("philox_offset")],
    Annotated[Tensor, Name("debug_attn_mask")],
]:
    """``_scaled_dot_product_flash_attention`` with a bias, for backends that compute it themselves."""
    name = "_scaled_dot_product_fused_attention_overrideable"
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    output, sums = attended(query, key, value, attn_bias, is_causal, scale)
    lengths: Any = [query.new_empty((0,), dtype=int32) for _ in range(2)]
    state = query.new_zeros((), dtype=int64), query.new_zeros((), dtype=int64)
    return output, sums, *lengths, query.shape[2], key.shape[2], *state, query.new_empty((0,))


@op(
    "aten::_scaled_dot_product_fused_attention_overrideable_backward",
    device_check="NoCheck",
    dispatch={"CompositeExplicitAutograd": "_scaled_dot_product_fused_attention_overrideable_backward"},
)
def _scaled_dot_product_fused_attention_overrideable_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor,
    grad_input_mask: Bools[4],
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor,
    cum_seq_k: Tensor,
    max_q: SymInt,
    max_k: SymInt,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,
    *,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("grad_query")],
    Annotated[Tensor, Name("grad_key")],
    Annotated[Tensor, Name("grad_value")],
    Annotated[Tensor, Name("grad_attn_bias")],
]:
    """The gradients of queries, keys, values and bias, those that the mask asks for."""
    name = "_scaled_dot_product_fused_attention_overrideable_backward"
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    found = attention_gradients(name, grad_out, query, key, value, attn_bias, out, logsumexp, is_causal, scale)
    return asked_for(found, attn_bias, grad_input_mask)


def asked_for(found: tuple[Tensor, ...], bias: Tensor | None, mask: Any) -> tuple[Any, Any, Any, Any]:
    """Of the gradients of queries, keys, values and scores those that a mask asks for, the last one as a bias'."""
    of_query, of_key, of_value = (each if wanted else None for each, wanted in zip(found[:3], mask, strict=False))
    of_bias = found[3].sum_to_size(bias.shape).to(bias.dtype) if bias is not None and mask[3] else None
    return of_query, of_key, of_value, of_bias


# ---------------------------------------------------------------------------------------------------------- efficient


@op(
    "aten::_scaled_dot_product_efficient_attention",
    tags=["nondeterministic_seeded"],
    dispatch={
        "CUDA": "_scaled_dot_product_efficient_attention_cuda",
        "NestedTensorCUDA": "_scaled_dot_product_efficient_attention_nestedtensor_cuda",
    },
)
def _scaled_dot_product_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[
    Annotated[Tensor, Name("output")],
    Annotated[Tensor, Name("log_sumexp")],
    Annotated[Tensor, Name("philox_seed")],
    Annotated[Tensor, Name("philox_offset")],
]:
    """Attention with a bias, and the logarithms of sums of weights, padded with infinity to a multiple of 32.

    Args:
        query, key, value: (batch, heads, length, size).
        attn_bias: what is added to scores.
        compute_log_sumexp: whether these are asked for; there are none otherwise.
        dropout_p: 0.
        is_causal: whether a query sees keys up to its own position alone.
        scale: of scores; by default 1 / the root of the size.
    """
    name = "_scaled_dot_product_efficient_attention"
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    output, sums = attended(query, key, value, attn_bias, is_causal, scale)
    batch, heads, length = sums.shape
    missing = sums.new_full((batch, heads, -length % _ALIGNMENT), math.inf)
    kept = cat([sums, missing], -1) if compute_log_sumexp else sums.new_empty((batch, heads, 0))
    return output, kept, query.new_zeros((), dtype=int64), query.new_zeros((), dtype=int64)


@op(
    "aten::_scaled_dot_product_efficient_attention_backward",
    tags=["nondeterministic_seeded"],
    device_check="NoCheck",
    dispatch={"CUDA": "_scaled_dot_product_efficient_attention_backward_cuda"},
)
def _scaled_dot_product_efficient_attention_backward(
    grad_out_: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    dropout_p: float,
    grad_input_mask: Bools[4],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of queries, keys, values and bias, those that the mask asks for."""
    name = "_scaled_dot_product_efficient_attention_backward"
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    found = attention_gradients(name, grad_out_, query, key, value, attn_bias, out, logsumexp, is_causal, scale)
    return asked_for(found, attn_bias, grad_input_mask)


@op(
    "aten::_triton_scaled_dot_attention",
    tags=["nondeterministic_seeded"],
    dispatch={"CUDA": "triton_scaled_dot_attention"},
    autogen="_triton_scaled_dot_attention.out",
)
def _triton_scaled_dot_attention(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0) -> Tensor:
    """Attention without a mask, see ``_scaled_dot_product_flash_attention``."""
    require_heads("_triton_scaled_dot_attention", q, k, v, dropout_p)
    return attended(q, k, v, None, False, None)[0]


@op("aten::_fused_sdp_choice", kernel=True, tags=["nondeterministic_seeded"])
def _fused_sdp_choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    """Which kernel computes attention: 0 for whole matrices, 1 for tiles."""
    return int(is_fused(query, key, value, attn_mask, dropout_p))


# -------------------------------------------------------------------------------------------------------- transformers


@op(
    "aten::_native_multi_head_attention",
    dispatch={
        "CPU, NestedTensorCPU": "native_multi_head_attention_cpu",
        "CUDA, NestedTensorCUDA": "native_multi_head_attention_cuda",
    },
    autogen="_native_multi_head_attention.out",
)
def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention of several heads, from projections to the projection of what they give; and the weights.

    Args:
        query, key, value: (batch, length, embed_dim).
        embed_dim: the size of a position.
        num_head: of how many heads that is the size.
        qkv_weight, qkv_bias: project to queries, keys and values, one after another.
        proj_weight, proj_bias: project what the heads give.
        mask: of what does not count, see ``_masked_softmax``.
        need_weights, average_attn_weights: whether weights are the means of all heads.
        mask_type: see ``mask``.
    """
    name = "_native_multi_head_attention"
    for each, tensor in (("query", query), ("key", key), ("value", value)):
        check(tensor.ndim == 3, f"{name}: expected 3-D `{each}`, got {tensor.ndim}-D tensor")
    check(
        query.shape[2] == embed_dim, f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}"
    )
    check(query.shape == key.shape == value.shape, f"{name}: expected `query`/`key`/`value` shapes to match")
    check(
        qkv_weight.shape == (3 * embed_dim, embed_dim) and qkv_bias.shape == (3 * embed_dim,),
        f"{name}: expected `qkv_weight` of 3x embed_dim rows and a number for each in `qkv_bias`",
        got=(qkv_weight.shape, qkv_bias.shape),
    )
    check(num_head > 0 and embed_dim % num_head == 0, "`embed_dim` must divide evenly by `num_heads`")
    weights = qkv_weight.chunk(3)
    projected = cat([linear(each, weight) for each, weight in zip((query, key, value), weights, strict=True)], 2)
    queries, keys, values = _transform_bias_rescale_qkv(projected, qkv_bias, num_head)
    scores = matmul(queries, keys.transpose(-2, -1))
    shares = softmax(scores, -1) if mask is None else _masked_softmax(scores, mask.to(bool_), -1, mask_type)
    heads = matmul(shares, values).transpose(1, 2).reshape(query.shape)
    found = linear(heads, proj_weight, proj_bias)
    return found, shares.sum(1) / num_head if need_weights and average_attn_weights else shares


@op(
    "aten::_triton_multi_head_attention",
    dispatch={"CUDA": "triton_multi_head_attention"},
    autogen="_triton_multi_head_attention.out",
)
def _triton_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """``_native_multi_head_attention`` without the weights."""
    check(mask is None, "Only causal mask is supported for Triton.")
    given = embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias
    return _native_multi_head_attention(query, key, value, *given, None, False)[0]


@op(
    "aten::_transformer_encoder_layer_fwd",
    dispatch={"CPU, CUDA, NestedTensorCPU, NestedTensorHPU, NestedTensorCUDA": "transformer_encoder_layer_forward"},
    autogen="_transformer_encoder_layer_fwd.out",
)
def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """A layer of a transformer's encoder: attention and two projections, each added to what it was given.

    Args:
        src: (batch, length, embed_dim).
        embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type: of attention, see
            ``_native_multi_head_attention``.
        use_gelu: whether it is ``gelu`` that stands between the projections, or ``relu``.
        norm_first: whether what they are given is normalised, or the sums.
        eps: what is added to variances.
        norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2: of the normalisations.
        ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2: of the projections.
    """

    def first(x: Tensor) -> Tensor:
        return layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    given = first(src) if norm_first else src
    of_attention = embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias
    found = _native_multi_head_attention(given, given, given, *of_attention, mask, False, True, mask_type)[0] + src
    found = found if norm_first else first(found)
    inner = linear(second(found) if norm_first else found, ffn_weight_1, ffn_bias_1)
    found = linear(gelu(inner) if use_gelu else relu(inner), ffn_weight_2, ffn_bias_2) + found
    return found if norm_first else second(found)
