"""Transformer layers: attention of several heads with its projections, and an encoder layer."""

from __future__ import annotations

from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.vector_products import linear
from opdsl.aten.nn.activations import gelu, relu
from opdsl.aten.nn.layer_parts import _transform_bias_rescale_qkv
from opdsl.aten.nn.masked_softmax import _masked_softmax
from opdsl.aten.nn.normalization import layer_norm, softmax
from opdsl.aten.shape.joining import cat
from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_


@op("aten::_native_multi_head_attention")
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
    """Compute attention of several heads, including the input and output projections; return also the weights.

    Args:
        query, key, value: (batch, length, embed_dim).
        embed_dim: the number of features of a position.
        num_head: the number of heads that the features are divided among.
        qkv_weight, qkv_bias: the projections to queries, keys and values, one after another.
        proj_weight, proj_bias: the projection of the heads' results.
        mask: the mask of positions that do not count, see ``_masked_softmax``.
        need_weights, average_attn_weights: if both are set, the weights are averaged over the heads.
        mask_type: see ``mask``.
    """
    operator = "_native_multi_head_attention"
    for text, tensor in (("query", query), ("key", key), ("value", value)):
        check(tensor.ndim == 3, f"{operator}: expected 3-D `{text}`, got {tensor.ndim}-D tensor")
    check(
        query.shape[2] == embed_dim, f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}"
    )
    check(query.shape == key.shape == value.shape, f"{operator}: expected `query`/`key`/`value` shapes to match")
    check(
        qkv_weight.shape == (3 * embed_dim, embed_dim) and qkv_bias.shape == (3 * embed_dim,),
        f"{operator}: expected `qkv_weight` of 3x embed_dim rows and a number for each in `qkv_bias`",
        got=(qkv_weight.shape, qkv_bias.shape),
    )
    check(num_head > 0 and embed_dim % num_head == 0, "`embed_dim` must divide evenly by `num_heads`")
    weights = qkv_weight.chunk(3)
    projected = cat([linear(tensor, weight) for tensor, weight in zip((query, key, value), weights, strict=True)], 2)
    queries, keys, values = _transform_bias_rescale_qkv(projected, qkv_bias, num_head)
    scores = matmul(queries, keys.transpose(-2, -1))
    shares = softmax(scores, -1) if mask is None else _masked_softmax(scores, mask.to(bool_), -1, mask_type)
    heads = matmul(shares, values).transpose(1, 2).reshape(query.shape)
    result = linear(heads, proj_weight, proj_bias)
    return result, shares.sum(1) / num_head if need_weights and average_attn_weights else shares


@op("aten::_triton_multi_head_attention")
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
    """Compute ``_native_multi_head_attention`` without the weights."""
    check(mask is None, "Only causal mask is supported for Triton.")
    arguments = embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias
    return _native_multi_head_attention(query, key, value, *arguments, None, False)[0]


@op("aten::_transformer_encoder_layer_fwd")
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
    """Compute a layer of a transformer's encoder: attention, then two projections, each added to its input.

    Args:
        src: (batch, length, embed_dim).
        embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type: arguments of attention, see
            ``_native_multi_head_attention``.
        use_gelu: whether the activation between the projections is ``gelu`` instead of ``relu``.
        norm_first: whether to normalize the inputs of attention and projections, instead of the sums.
        eps: the number that is added to variances.
        norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2: the parameters of the normalizations.
        ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2: the parameters of the projections.
    """

    def first(x: Tensor) -> Tensor:
        return layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    source = first(src) if norm_first else src
    of_attention = embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias
    hidden = _native_multi_head_attention(source, source, source, *of_attention, mask, False, True, mask_type)[0] + src
    hidden = hidden if norm_first else first(hidden)
    inner = linear(second(hidden) if norm_first else hidden, ffn_weight_1, ffn_bias_1)
    hidden = linear(gelu(inner) if use_gelu else relu(inner), ffn_weight_2, ffn_bias_2) + hidden
    return hidden if norm_first else second(hidden)
