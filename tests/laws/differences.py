"""Operators whose gradients finite differences do not hold; of the others they hold first and second ones."""

from __future__ import annotations

import zlib

# Operators whose gradients are not held against finite differences, with the reason.
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
            *(f"aten::ctc_loss.{each}" for each in ("IntList", "Tensor")),
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
            *(f"aten::fake_quantize_per_{each}_affine" for each in ("tensor", "channel")),
            *(f"aten::fake_quantize_per_{each}_affine_cachemask" for each in ("tensor", "channel")),
            *(f"aten::_fake_quantize_learnable_per_{each}_affine" for each in ("tensor", "channel")),
            *(f"aten::_fake_quantize_learnable_per_{each}_affine_backward" for each in ("tensor", "channel")),
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


def takes_complex(name: str) -> bool:
    """Whether the gradients of an operator that takes both are held against differences in complex numbers, or in real.

    tests/torch/test_op_db_gradients.py holds them against PyTorch's in the other ones.

    name: of the packet, without its name space.
    """
    return bool(zlib.crc32(name.removesuffix("_").encode()) % 2)
