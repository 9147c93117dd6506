# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""Counterpart of ``torch.nn.functional``: the same names, argument order and defaults, with reductions as strings.

docs/limits.md lists the missing functions. Other operators of ``opdsl.nn`` are available here, too, with the arguments
of their schemas.
"""

from opdsl.nn.functional.activation import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    log_softmax as log_softmax,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    relu as relu,
    relu6 as relu6,
    relu_ as relu_,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    selu_ as selu_,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softmin as softmin,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    tanh as tanh,
    tanhshrink as tanhshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from opdsl.nn.functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from opdsl.nn.functional.average_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
)
from opdsl.nn.functional.classification_losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cross_entropy as cross_entropy,
    ctc_loss as ctc_loss,
    kl_div as kl_div,
    linear_cross_entropy as linear_cross_entropy,
    nll_loss as nll_loss,
)
from opdsl.nn.functional.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from opdsl.nn.functional.embedding import embedding as embedding, embedding_bag as embedding_bag, one_hot as one_hot
from opdsl.nn.functional.linear import (
    bilinear as bilinear,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    cosine_similarity as cosine_similarity,
    fold as fold,
    grouped_mm as grouped_mm,
    linear as linear,
    normalize as normalize,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
    unfold as unfold,
)
from opdsl.nn.functional.margin_losses import (
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from opdsl.nn.functional.max_pooling import (
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d as adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool3d as fractional_max_pool3d,
    max_pool1d as max_pool1d,
    max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d as max_pool2d,
    max_pool2d_with_indices as max_pool2d_with_indices,
    max_pool3d as max_pool3d,
    max_pool3d_with_indices as max_pool3d_with_indices,
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from opdsl.nn.functional.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    rms_norm as rms_norm,
)
from opdsl.nn.functional.regression_losses import (
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from opdsl.nn.functional.vision import (
    affine_grid as affine_grid,
    channel_shuffle as channel_shuffle,
    grid_sample as grid_sample,
    interpolate as interpolate,
    native_channel_shuffle as native_channel_shuffle,
    pad as pad,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    upsample as upsample,
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)
from typing import Any

def __getattr__(name: str) -> Any: ...
