"""Attention under the signatures of PyTorch's fused kernels for CUDA, by operators.

What those kernels keep for dropout, states of random numbers, is 0: none of these drops anything. Where PyTorch's give
undefined tensors, of sequences of different lengths and for debugging, there are tensors without elements.
"""

from __future__ import annotations

import math
from functools import partial

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.nn.attention import _safe_softmax, is_fused, scale_of, wide
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.declare import Library, Row
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, int32, int64, uint64

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
    factor = scale_of(query, scale)
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
    """The means of values, and the logarithms of the sums of weights, of what fits."""
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    scores = scores_of(query, key, attn_bias, is_causal, scale_of(query, scale))
    return matmul(_safe_softmax(scores, -1), wide(value)).to(query.dtype), scores.logsumexp(-1)


def flash(name, seeds, dtype, query, key, value, dropout_p, is_causal, scale, attn_bias=None):
    """``fused``, and what the gradient's kernel wants to know; ``seeds`` and ``dtype`` are those of random numbers."""
    output, sums = fused(name, query, key, value, attn_bias, dropout_p, is_causal, scale)
    lengths = [query.new_empty((0,), dtype=int32) for _ in range(2)]
    state = query.new_zeros(seeds, dtype=dtype), query.new_zeros((), dtype=dtype)
    return output, sums, *lengths, query.shape[2], key.shape[2], *state, query.new_empty((0,))


def efficient(name, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale):
    """``fused``, the logarithms padded with infinity; and two states of random numbers."""
    output, sums = fused(name, query, key, value, attn_bias, dropout_p, is_causal, scale)
    batch, heads, length = sums.shape
    missing = sums.new_full((batch, heads, -length % _ALIGNMENT), math.inf)
    kept = cat([sums, missing], -1) if compute_log_sumexp else sums.new_empty((batch, heads, 0))
    return output, kept, query.new_zeros((), dtype=int64), query.new_zeros((), dtype=int64)


def gradients(
    name,
    query,
    key,
    value,
    out,
    logsumexp,
    dropout_p,
    is_causal,
    scale,
    grad_out=None,
    grad_out_=None,
    attn_bias=None,
    grad_input_mask=None,
):
    """The gradients of queries, keys and values; with a mask those that it asks for, that of the bias, too.

    grad_out, grad_out_: of the result, which is called by one of these names.
    """
    require_heads(name, query, key, value, dropout_p)
    require_bias(name, attn_bias, query, key)
    grad = grad_out_ if grad_out is None else grad_out
    found = attention_gradients(name, grad, query, key, value, attn_bias, out, logsumexp, is_causal, scale)
    if grad_input_mask is None:
        return found[:3]
    of_inputs = (each if wanted else None for each, wanted in zip(found[:3], grad_input_mask, strict=False))
    of_bias = None
    if attn_bias is not None and grad_input_mask[3]:
        of_bias = found[3].sum_to_size(attn_bias.shape).to(attn_bias.dtype)
    return *of_inputs, of_bias


# ----------------------------------------------------------------------------------------------------------- operators

_FLASH, _FUSED, _EFFICIENT = (
    f"_scaled_dot_product_{each}" for each in ("flash_attention", "fused_attention_overrideable", "efficient_attention")
)
_GIVEN = "Tensor query, Tensor key, Tensor value"
_HOW = "float dropout_p=0.0, bool is_causal=False"
_SCALE = "*, float? scale=None"
_LENGTHS = "Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k"
_SEEDS = "Tensor philox_seed, Tensor philox_offset"
_KEPT = f"Tensor out, Tensor logsumexp, {_LENGTHS}, float dropout_p, bool is_causal, {_SEEDS}, {_SCALE}"
_OF_INPUTS = "Tensor grad_query, Tensor grad_key, Tensor grad_value"
_RANDOM = ("nondeterministic_seeded",)

_ARGUMENTS = """

Args:
    query, key, value: (batch, heads, length, size).
    dropout_p: 0.
    is_causal: whether a query sees keys up to its own position alone.
    scale: of scores; by default 1 / the root of the size.
"""
_DEBUGGED = f"{_ARGUMENTS}    return_debug_mask: is for dropout.\n"
_BIASED = f"{_ARGUMENTS}    attn_bias: what is added to scores.\n"

Library("aten").table(
    {
        f"{_FLASH}({_GIVEN}, {_HOW}, bool return_debug_mask=False, {_SCALE}) -> (Tensor output, Tensor logsumexp, "
        f"{_LENGTHS}, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)": Row(
            "Attention without a mask, the logarithms of sums of weights, and what the gradient's kernel wants to know."
            + _DEBUGGED,
            partial(flash, _FLASH, (2,), uint64),
            tags=_RANDOM,
            dispatch={
                "CUDA": f"{_FLASH}_cuda",
                "XPU": f"{_FLASH}_xpu",
                "NestedTensorCUDA": f"{_FLASH}_nestedtensor_cuda",
            },
        ),
        f"{_FLASH}_backward(Tensor grad_out, {_GIVEN}, {_KEPT}) -> ({_OF_INPUTS})": Row(
            f"The gradients of ``{_FLASH}``: of queries, keys and values.",
            partial(gradients, f"{_FLASH}_backward"),
            device_check="NoCheck",
            dispatch={
                "CUDA": f"{_FLASH}_backward_cuda",
                "XPU": f"{_FLASH}_backward_xpu",
                "NestedTensorCUDA": f"{_FLASH}_backward_nested",
            },
        ),
        f"{_FUSED}({_GIVEN}, Tensor? attn_bias=None, {_HOW}, bool return_debug_mask=False, {_SCALE}) -> "
        f"(Tensor output, Tensor logsumexp, {_LENGTHS}, {_SEEDS}, Tensor debug_attn_mask)": Row(
            f"``{_FLASH}`` with a bias, for backends that compute it themselves.",
            partial(flash, _FUSED, (), int64),
            tags=_RANDOM,
            dispatch={"CompositeExplicitAutograd": _FUSED, "XPU": f"{_FUSED}_xpu"},
        ),
        f"{_FUSED}_backward(Tensor grad_out, {_GIVEN}, Tensor attn_bias, bool[4] grad_input_mask, {_KEPT}) -> "
        f"({_OF_INPUTS}, Tensor grad_attn_bias)": Row(
            "The gradients of queries, keys, values and bias, those that the mask asks for.",
            partial(gradients, f"{_FUSED}_backward"),
            device_check="NoCheck",
            dispatch={"CompositeExplicitAutograd": f"{_FUSED}_backward"},
        ),
        f"{_EFFICIENT}({_GIVEN}, Tensor? attn_bias, bool compute_log_sumexp, {_HOW}, {_SCALE}) -> (Tensor output, "
        f"Tensor log_sumexp, {_SEEDS})": Row(
            "Attention with a bias, and the logarithms of sums of weights, padded with infinity to a multiple of 32."
            + _BIASED
            + "    compute_log_sumexp: whether these are asked for; there are none otherwise.\n",
            partial(efficient, _EFFICIENT),
            tags=_RANDOM,
            dispatch={"CUDA": f"{_EFFICIENT}_cuda", "NestedTensorCUDA": f"{_EFFICIENT}_nestedtensor_cuda"},
        ),
        f"{_EFFICIENT}_backward(Tensor grad_out_, {_GIVEN}, Tensor attn_bias, Tensor out, Tensor logsumexp, {_SEEDS}, "
        f"float dropout_p, bool[4] grad_input_mask, bool is_causal=False, {_SCALE}) -> "
        "(Tensor, Tensor, Tensor, Tensor)": Row(
            "The gradients of queries, keys, values and bias, those that the mask asks for.",
            partial(gradients, f"{_EFFICIENT}_backward"),
            tags=_RANDOM,
            device_check="NoCheck",
            dispatch={"CUDA": f"{_EFFICIENT}_backward_cuda"},
        ),
        "_triton_scaled_dot_attention(Tensor q, Tensor k, Tensor v, float dropout_p=0.0) -> Tensor": Row(
            f"Attention without a mask, see ``{_FLASH}``.",
            lambda q, k, v, dropout_p: fused("_triton_scaled_dot_attention", q, k, v, None, dropout_p, False, None)[0],
            tags=_RANDOM,
            dispatch={"CUDA": "triton_scaled_dot_attention"},
            autogen="_triton_scaled_dot_attention.out",
        ),
        f"_fused_sdp_choice({_GIVEN}, Tensor? attn_mask=None, {_HOW}, {_SCALE}, bool enable_gqa=False) -> int": Row(
            "Which kernel computes attention: 0 for whole matrices, 1 for tiles.",
            lambda query, key, value, attn_mask, dropout_p: int(is_fused(query, key, value, attn_mask, dropout_p)),
            kernel=True,
            tags=_RANDOM,
        ),
    }
)
