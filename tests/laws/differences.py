"""Lists of operators and arguments whose gradients are not compared with finite differences. For all others, first and
second gradients are.
"""

from __future__ import annotations

import zlib

# Operators whose gradients are not compared with finite differences, with the reason.
WITHOUT_DIFFERENCES = {
    "aten::native_layer_norm_backward": "counts its arguments mean and rstd as functions of its input, as PyTorch does",
    **dict.fromkeys(
        ("aten::rrelu_with_noise", "aten::rrelu_with_noise_", "aten::rrelu_with_noise_functional"),
        "the slopes are drawn, and written into what differences would count as an input",
    ),
    **dict.fromkeys(
        ("aten::_standard_gamma", "aten::_sample_dirichlet"),
        "which trial is taken depends on the parameters (see tests/torch/create/test_sampled_numbers.py)",
    ),
    **dict.fromkeys(
        (
            *(f"aten::_ctc_loss{end}" for end in ("", ".Tensor")),
            *(f"aten::ctc_loss.{name}" for name in ("IntList", "Tensor")),
        ),
        "the gradient is that of what log_softmax was taken of, as PyTorch's (see tests/torch/nn/test_ctc_loss.py)",
    ),
    "aten::requires_grad_": "is about whether there are gradients",
    **dict.fromkeys(
        ("aten::_fused_moving_avg_obs_fq_helper", "aten::fused_moving_avg_obs_fake_quant"),
        "counts rounding as a function whose slope is 1, as PyTorch does",
    ),
    "aten::set_.source_Tensor_storage_offset": "gives the tensor another memory and shape, in place",
    **dict.fromkeys(("aten::poisson", "aten::binomial"), "counts numbers of events as constants, as PyTorch does"),
    "aten::log_sigmoid_backward": "counts its argument buffer as a function of its input, as PyTorch does",
    **dict.fromkeys(("aten::_cast_Float", "aten::_cast_Half"), "rounds to fewer digits than differences need"),
    "aten::_batch_norm_impl_index_backward": "as native_batch_norm_backward",
    **dict.fromkeys(
        (
            *(f"aten::fake_quantize_per_{name}_affine" for name in ("tensor", "channel")),
            *(f"aten::fake_quantize_per_{name}_affine_cachemask" for name in ("tensor", "channel")),
            *(f"aten::_fake_quantize_learnable_per_{name}_affine" for name in ("tensor", "channel")),
            *(f"aten::_fake_quantize_learnable_per_{name}_affine_backward" for name in ("tensor", "channel")),
            "aten::fake_quantize_per_tensor_affine.tensor_qparams",
            "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        ),
        "counts rounding as a function whose slope is 1, as PyTorch does (see tests/torch/test_samples.py)",
    ),
    "aten::native_batch_norm_backward": "the same of save_mean and save_invstd (see tests/unit/test_gradcheck.py)",
    **dict.fromkeys(
        (
            "aten::cdist",
            "aten::_cdist_forward",
            "aten::pdist",
            "aten::_pdist_forward",
            "aten::multi_margin_loss",
            "aten::multilabel_margin_loss",
            "aten::multilabel_margin_loss_forward",
        ),
        "has no second gradients, as in PyTorch; first ones are held against those (tests/torch)",
    ),
}

WITHOUT_DIFFERENCES |= dict.fromkeys(
    (
        *("aten::linalg_cholesky_ex", "aten::linalg_cholesky", "aten::cholesky"),
        *("aten::cholesky_inverse", "aten::cholesky_solve"),
        *("aten::_linalg_eigh", "aten::linalg_eigh", "aten::linalg_eigvalsh"),
    ),
    "reads one triangle, and PyTorch's gradient is that of the whole matrix (see tests/torch/test_op_db_gradients.py)",
)

WITHOUT_DIFFERENCES |= {
    f"aten::_fused_{name}{overload}": "optimizers write parameters, which are leaves, and have no gradients"
    for name in ("adam_", "adamw_", "sgd_", "adagrad_")
    for overload in ("", ".tensor_lr")
}

WITHOUT_DIFFERENCES |= dict.fromkeys(
    ("aten::linalg_svd", "aten::_linalg_svd", "aten::svd", "aten::linalg_eig"),
    "vectors beyond the singular values have no gradients, phases of complex ones are free "
    "(see tests/torch/linalg/test_spectral_factors.py)",
)

# Arguments without a derivative. PyTorch's backward pass reports the same, which
# tests/torch/autograd/test_derivatives.py checks.
WITHOUT_DERIVATIVE = {
    "aten::_addmm_activation": ("self", "mat1", "mat2"),
    "aten::_batch_norm_no_update": ("running_mean", "running_var"),
    "aten::_batch_norm_with_update_functional": ("running_mean", "running_var"),
    "aten::_cdist_backward": ("grad", "x1", "x2", "cdist"),
    "aten::_cholesky_solve_helper": ("self", "A"),
    "aten::_ctc_loss_backward": ("grad", "log_probs", "neg_log_likelihood", "log_alpha"),
    "aten::_ctc_loss_backward.Tensor": ("grad", "log_probs", "neg_log_likelihood", "log_alpha"),
    "aten::_embedding_bag_backward": ("grad", "per_sample_weights"),
    "aten::_embedding_bag_dense_backward": ("grad", "per_sample_weights"),
    "aten::_embedding_bag_forward_only": ("weight", "per_sample_weights"),
    "aten::_embedding_bag_per_sample_weights_backward": ("grad", "weight"),
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": ("scale", "fake_quant_enabled"),
    "aten::_foreach_zero": ("self",),
    "aten::_functional_assert_async.msg": ("self", "dep_token"),
    "aten::_functional_assert_scalar": ("dep_token",),
    "aten::_functional_sym_constrain_range": ("dep_token",),
    "aten::_functional_sym_constrain_range_for_size": ("dep_token",),
    "aten::_histogramdd_bin_edges": ("self", "weight"),
    "aten::_histogramdd_from_bin_cts": ("self", "weight"),
    "aten::_histogramdd_from_bin_tensors": ("self", "bins", "weight"),
    "aten::_linalg_eigvals": ("self",),
    "aten::_native_batch_norm_legit_functional": ("running_mean", "running_var"),
    "aten::_native_batch_norm_legit_no_training": ("running_mean", "running_var"),
    "aten::_pdist_backward": ("grad", "self", "pdist"),
    "aten::_resize_output": ("self",),
    "aten::_resize_output_": ("self",),
    "aten::_scaled_dot_product_flash_attention_for_cpu": ("attn_mask",),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": (
        "grad_out",
        "query",
        "key",
        "value",
        "out",
        "logsumexp",
    ),
    "aten::_unique": ("self",),
    "aten::_unique2": ("self",),
    "aten::_weight_int8pack_mm": ("self", "scales"),
    "aten::batch_norm_backward": ("running_mean", "running_var", "save_mean", "save_var"),
    "aten::batch_norm_update_stats": ("input",),
    "aten::binary_cross_entropy": ("weight",),
    "aten::binary_cross_entropy_backward": ("weight",),
    "aten::binary_cross_entropy_with_logits": ("weight", "pos_weight"),
    "aten::bincount": ("weights",),
    "aten::embedding_renorm": ("self",),
    "aten::embedding_renorm_": ("self",),
    "aten::fake_quantize_per_channel_affine_cachemask": ("scale",),
    "aten::floor_divide.Scalar": ("self",),
    "aten::fractional_max_pool2d": ("random_samples",),
    "aten::fractional_max_pool3d": ("random_samples",),
    "aten::geqrf": ("self",),
    "aten::glu_backward_jvp": ("grad_x", "grad_glu", "x", "dgrad_glu", "dx"),
    "aten::glu_jvp": ("glu", "x", "dx"),
    "aten::histogram.bin_ct": ("self",),
    "aten::histogram.bins_tensor": ("self", "bins", "weight"),
    "aten::igamma": ("self",),
    "aten::igammac": ("self",),
    "aten::linalg_ldl_factor_ex": ("self",),
    "aten::linalg_ldl_solve": ("LD", "B"),
    "aten::linalg_pinv.atol_rtol_tensor": ("rtol",),
    "aten::log_sigmoid_backward": ("buffer",),
    "aten::multi_margin_loss": ("weight",),
    "aten::multi_margin_loss_backward": ("grad_output", "self", "weight"),
    "aten::multilabel_margin_loss_backward": ("grad_output", "self", "is_target"),
    "aten::native_batch_norm": ("running_mean", "running_var"),
    "aten::native_batch_norm_backward": ("save_mean", "save_invstd", "running_mean", "running_var"),
    "aten::native_group_norm_backward": ("grad_out", "input", "mean", "rstd", "weight"),
    "aten::native_layer_norm_backward": ("mean", "rstd"),
    "aten::nll_loss2d_backward": ("total_weight", "weight"),
    "aten::nll_loss2d_forward": ("weight",),
    "aten::nll_loss_backward": ("total_weight", "weight"),
    "aten::nll_loss_forward": ("weight",),
    "aten::resize": ("self",),
    "aten::resize_": ("self",),
    "aten::resize_as": ("self", "the_template"),
    "aten::resize_as_": ("self", "the_template"),
    "aten::rrelu_with_noise_backward": ("noise",),
    "aten::scatter.reduce": ("self", "src"),
    "aten::scatter.value_reduce": ("self",),
    "aten::set": ("self",),
    "aten::set.source_Tensor": ("self", "source"),
    "aten::set_": ("self",),
    "aten::set_.source_Tensor": ("self", "source"),
    "aten::soft_margin_loss": ("target",),
    "aten::special_zeta": ("self",),
    "aten::unique_consecutive": ("self",),
    "aten::unique_dim": ("self",),
    "aten::unique_dim_consecutive": ("self",),
}


def takes_complex(name: str) -> bool:
    """Return whether to compare an operator's gradients with finite differences in complex numbers, and not in real
    ones.

    An operator that accepts both kinds is checked here in one of them; tests/torch/test_op_db_gradients.py compares its
    gradients in the other kind with PyTorch's.

    Args:
        name: name of the packet without its namespace.
    """
    return bool(zlib.crc32(name.removesuffix("_").encode()) % 2)
