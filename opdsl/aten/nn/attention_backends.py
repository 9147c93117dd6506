"""Attention under the signatures of PyTorch's fused CUDA kernels, composed of operators.

The random states that those kernels return for dropout are 0, since dropout is not supported here. Where PyTorch's
kernels return undefined tensors (cumulative lengths of sequences, debug masks), these return tensors without elements.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.nn.attention import is_fused, wide
from opdsl.aten.nn.attention_weights import _safe_softmax, scale_of
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, bool_, int32, int64, uint64
from opdsl.schema.vocabulary import BoolList, Name, Size, SymInt

# The log-sum-exp is padded to a multiple of this length.
_ALIGNMENT = 32


# ------------------------------------------------------------------------------------------------------------- formulas


def require_heads(name: str, query: Tensor, key: Tensor, value: Tensor, dropout_p: float) -> None:
    """Check that shapes and dtypes of queries, keys and values fit, and that there is no dropout.

    Raises:
        ShapeError, DTypeError: they do not fit, or ``dropout_p`` is not 0.
    """
    tensors = (query, key, value)
    check(all(heads.ndim == 4 for heads in tensors), f"{name}: expected tensors of 4 dimensions")
    check(
        query.shape[:2] == key.shape[:2] == value.shape[:2] and key.shape[2] == value.shape[2],
        f"{name}: queries, keys and values must have one batch and as many heads, keys and values one length",
        got=tuple(heads.shape for heads in tensors),
    )
    check(query.shape[3] == key.shape[3], f"{name}: queries and keys must have one size", got=(query.shape, key.shape))
    if not query.dtype.is_floating_point or not query.dtype is key.dtype is value.dtype:
        raise DTypeError(f"{name}: expected queries, keys and values of one floating dtype")
    check(dropout_p == 0, f"{name}: there is no dropout", got=dropout_p)


def scores_of(query: Tensor, key: Tensor, bias: Tensor | None, is_causal: bool, factor: float) -> Tensor:
    """Return the scaled products of queries and keys plus the bias, with -inf for keys that a causal query does not
    see.
    """
    scores = matmul(wide(query) * factor, wide(key).transpose(-2, -1))
    scores = scores if bias is None else scores + bias
    if is_causal:
        seen = scores.new_ones(scores.shape[-2:], dtype=bool_).tril()
        scores = where(seen, scores, -math.inf)
    return scores


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
    """Return the gradients of queries, keys, values and scores, recomputing the weights from ``logsumexp``.

    Raises:
        ShapeError: ``grad``, ``out`` or ``logsumexp`` has a wrong shape.
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
    factor = scale_of(query, scale)
    scores = scores_of(query, key, bias, is_causal, factor)
    sums = wide(logsumexp).narrow(-1, 0, length).unsqueeze(-1)
    weights = where(scores == -math.inf, 0.0, (scores - sums).exp())
    gradient = wide(grad)
    of_weights = matmul(gradient, wide(value).transpose(-2, -1))
    of_scores = weights * (of_weights - (gradient * wide(out)).sum(-1, True))
    of_query = (matmul(of_scores, wide(key)) * factor).to(query.dtype)
    of_key = (matmul(of_scores.transpose(-2, -1), wide(query)) * factor).to(key.dtype)
    return of_query, of_key, matmul(weights.transpose(-2, -1), gradient).to(value.dtype), of_scores


def require_bias(name: str, bias: Tensor | None, query: Tensor, key: Tensor) -> None:
    """Check that a bias can be added to the scores.

    Raises:
        ShapeError: the bias does not broadcast to the shape of the scores.
        DTypeError: the bias is not of a floating dtype.
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


# ------------------------------------------------------------------------------------------------------------- kernels


def fused(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor]:
    """Check the operands and compute attention; return the output, and the log-sum-exp of each query's scores."""
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    scores = scores_of(query, key, attn_bias, is_causal, scale_of(query, scale))
    return matmul(_safe_softmax(scores, -1), wide(value)).to(query.dtype), scores.logsumexp(-1)


def flash(
    name: str,
    seeds: tuple[int, ...],
    dtype: DType,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    attn_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, Tensor, Tensor, Tensor]:
    """Return the results of ``fused``, and the lengths and random states that PyTorch's flash kernels return for the
    gradient.

    Args:
        seeds: the shape of the first random state.
        dtype: the dtype of the random states.
    """
    output, sums = fused(name, query, key, value, attn_bias, dropout_p, is_causal, scale)
    lengths = query.new_empty((0,), dtype=int32), query.new_empty((0,), dtype=int32)
    state = query.new_zeros(seeds, dtype=dtype), query.new_zeros((), dtype=dtype)
    return output, sums, *lengths, query.shape[2], key.shape[2], *state, query.new_empty((0,))


def efficient(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the results of ``fused``, with the log-sum-exp padded with infinity, and two random states."""
    output, sums = fused(name, query, key, value, attn_bias, dropout_p, is_causal, scale)
    batch, heads, length = sums.shape
    missing = sums.new_full((batch, heads, -length % _ALIGNMENT), math.inf)
    kept = cat([sums, missing], -1) if compute_log_sumexp else sums.new_empty((batch, heads, 0))
    return output, kept, query.new_zeros((), dtype=int64), query.new_zeros((), dtype=int64)


def gradients(
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    grad_out: Any = None,
    grad_out_: Any = None,
    attn_bias: Tensor | None = None,
    grad_input_mask: Any = None,
) -> Any:
    """Return the gradients of queries, keys and values; with ``grad_input_mask`` also of the bias, and only selected
    ones.

    Args:
        grad_out, grad_out_: the gradient of the output, which the backward operators call by one of these names.
    """
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    grad = grad_out_ if grad_out is None else grad_out
    tensors = attention_gradients(name, grad, query, key, value, attn_bias, out, logsumexp, is_causal, scale)
    if grad_input_mask is None:
        return tensors[:3]
    of_inputs = (gradient if wanted else None for gradient, wanted in zip(tensors[:3], grad_input_mask, strict=False))
    of_bias = None
    if attn_bias is not None and grad_input_mask[3]:
        of_bias = tensors[3].sum_to_size(attn_bias.shape).to(attn_bias.dtype)
    return *of_inputs, of_bias


# ----------------------------------------------------------------------------------------------------------- operators

_FLASH, _FUSED, _EFFICIENT = (
    f"_scaled_dot_product_{variant}"
    for variant in ("flash_attention", "fused_attention_overrideable", "efficient_attention")
)
_RANDOM = ("nondeterministic_seeded",)


@op("aten::_scaled_dot_product_flash_attention", tags=_RANDOM)
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
    """Compute attention without a mask; return the output, the log-sum-exp of scores, and values for the gradient.

    Args:
        query, key, value: (batch, heads, length, size).
        dropout_p: 0.
        is_causal: whether a query attends only to keys up to its own index.
        scale: the factor of scores; by default 1 / sqrt(size).
        return_debug_mask: ignored, as it concerns dropout.
    """
    return flash(_FLASH, (2,), uint64, query, key, value, dropout_p, is_causal, scale)


@op("aten::_scaled_dot_product_flash_attention_backward")
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
    """Return the gradients of ``_scaled_dot_product_flash_attention`` with respect to queries, keys and values."""
    of_inputs: tuple[Tensor, Tensor, Tensor] = gradients(
        f"{_FLASH}_backward", query, key, value, out, logsumexp, dropout_p, is_causal, scale, grad_out
    )
    return of_inputs


@op("aten::_scaled_dot_product_fused_attention_overrideable", tags=_RANDOM)
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
    """Compute ``_scaled_dot_product_flash_attention`` with a bias; backends may override this operator."""
    return flash(_FUSED, (), int64, query, key, value, dropout_p, is_causal, scale, attn_bias)


@op("aten::_scaled_dot_product_fused_attention_overrideable_backward")
def _scaled_dot_product_fused_attention_overrideable_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor,
    grad_input_mask: Annotated[BoolList, Size(4)],
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
    """Return the gradients of queries, keys, values and bias that ``grad_input_mask`` selects."""
    of_inputs: tuple[Tensor, Tensor, Tensor, Tensor] = gradients(
        f"{_FUSED}_backward",
        query,
        key,
        value,
        out,
        logsumexp,
        dropout_p,
        is_causal,
        scale,
        grad_out,
        attn_bias=attn_bias,
        grad_input_mask=grad_input_mask,
    )
    return of_inputs


@op("aten::_scaled_dot_product_efficient_attention", tags=_RANDOM)
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
    """Compute attention with a bias; return the output, and the log-sum-exp of scores, padded to a multiple of 32.

    Args:
        query, key, value: (batch, heads, length, size).
        dropout_p: 0.
        is_causal: whether a query attends only to keys up to its own index.
        scale: the factor of scores; by default 1 / sqrt(size).
        attn_bias: numbers that are added to scores.
        compute_log_sumexp: whether to return the log-sum-exp, padded with infinity, instead of an empty tensor.
    """
    return efficient(_EFFICIENT, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale)


@op("aten::_scaled_dot_product_efficient_attention_backward", tags=_RANDOM)
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
    grad_input_mask: Annotated[BoolList, Size(4)],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of queries, keys, values and bias that ``grad_input_mask`` selects."""
    of_inputs: tuple[Tensor, Tensor, Tensor, Tensor] = gradients(
        f"{_EFFICIENT}_backward",
        query,
        key,
        value,
        out,
        logsumexp,
        dropout_p,
        is_causal,
        scale,
        grad_out_=grad_out_,
        attn_bias=attn_bias,
        grad_input_mask=grad_input_mask,
    )
    return of_inputs


@op("aten::_triton_scaled_dot_attention", tags=_RANDOM)
def _triton_scaled_dot_attention(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0) -> Tensor:
    """Compute attention without a mask; see ``_scaled_dot_product_flash_attention``."""
    return fused("_triton_scaled_dot_attention", q, k, v, None, dropout_p, False, None)[0]


@op("aten::_fused_sdp_choice", kernel=True, tags=_RANDOM)
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
    """Return the number of the kernel that computes attention: 0 for whole matrices, 1 for tiles."""
    return int(is_fused(query, key, value, attn_mask, dropout_p))
