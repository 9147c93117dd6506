"""Tolerances between results of PyTorch's operators and opdsl's, beyond a few units in the last place."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from tests.torch.explained import UNDETERMINED
from tests.torch.op_db import our_name
from tests.torch.twins import TOLERANCE, Tolerance


class Units(NamedTuple):
    """Tolerance in units in the last place, relative to the larger of an element and the mean, for 16, 32 and
    64 bits.
    """

    half: float
    single: float
    double: float

    def of(self, dtype: torch.dtype) -> float:
        """Return the relative error for a dtype."""
        info = torch.finfo(dtype)
        return info.eps * {16: self.half, 32: self.single, 64: self.double}[info.bits]


# Operators without determined values, because elements are unset or random: shape, strides, dtype, warnings, errors and
# memory shared with arguments are still compared. tests/unit/test_random.py tests statistics.
ARBITRARY = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
    "rand_like", "randn", "randn_like", "randint", "randint_like", "normal", "bernoulli", "multinomial", "uniform",
    # Vectors that are unique up to direction: tests/torch/linalg/test_spectral_factors.py tests the spaces they span.
    "linalg_eigh", "linalg_svd", "svd", "linalg_eig",
    # PyTorch loses digits near poles and in tails; tests/unit/test_special_points.py compares opdsl with mpmath.
    "digamma", "polygamma", "special_polygamma", "special_ndtr",
    "cauchy", "exponential", "geometric", "log_normal", "dropout", "dropout2d", "dropout3d", "alpha_dropout",
    "feature_alpha_dropout",
    "rrelu", "fractional_max_pool2d", "fractional_max_pool3d",
}  # fmt: skip

# Sums and products, whose terms are added in another order.
SUMS = {
    "trace",
    "nn.functional.rms_norm",
    "nn.functional.embedding_bag",
    "nn.functional.linear",
    "inner",
    "vdot",
    "dot",
    "mv",
    "addmv",
    "addbmm",
    "baddbmm",
    "addmm",
    "_softmax_backward_data",
    "native_layer_norm",
    "nn.functional.layer_norm",
    "log_softmax",
    *("_softmax", "_log_softmax", "nll_loss2d_forward", "nll_loss_forward"),
    "logcumsumexp",
    "linspace",
    *("sum", "nansum", "mean", "nanmean", "prod", "var", "std", "var_mean", "std_mean", "norm", "linalg.vector_norm"),
    *(f"nn.functional.{kind}avg_pool{dims}d" for kind in ("", "adaptive_") for dims in (1, 2, 3)),
    *("native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "nn.functional.batch_norm"),
    "_batch_norm_with_update",
    *("nn.functional.group_norm", "nn.functional.instance_norm"),
    *(f"nn.functional.conv{kind}{dims}d" for kind in ("", "_transpose") for dims in (1, 2, 3)),
    *(f"nn.functional.{name}" for name in ("cosine_similarity", "nll_loss")),
    *(f"nn.functional.{name}" for name in ("cross_entropy", "mse_loss")),
    *(f"nn.functional.{name}" for name in ("binary_cross_entropy", "poisson_nll_loss", "triplet_margin_loss")),
    *(f"nn.functional.{name}" for name in ("smooth_l1_loss", "huber_loss", "soft_margin_loss", "multi_margin_loss")),
    "nn.functional.multilabel_margin_loss",
    *("stft", "istft"),
    *("cholesky", "cholesky_inverse", "cholesky_solve", "linalg.cholesky", "linalg.cholesky_ex"),
    *(f"linalg.{name}" for name in ("lu", "lu_factor", "lu_factor_ex", "lu_solve", "solve_triangular")),
    *(f"linalg.{name}" for name in ("solve", "solve_ex", "inv", "inv_ex", "tensorinv", "tensorsolve")),
    *("_linalg_svd", "_linalg_eigh", "linalg.eig"),
    *("linalg.eigvalsh", "linalg.svdvals", "linalg.qr", "qr"),
    *("linalg.matrix_norm", "linalg.norm", "geqrf", "ormqr", "linalg.householder_product", "addr"),
    *("linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve", "linalg.eigvals", "linalg.lstsq"),
    *("linalg.det", "linalg.slogdet", "logdet", "lu_solve", "triangular_solve"),
    *(f"fft.{kind}fft{dims}" for kind in ("", "i", "r", "ir", "h", "ih") for dims in ("", "2", "n")),
    *("logsumexp", "mm", "bmm", "matmul", "__rmatmul__", "einsum", "tensordot", "nn.functional.bilinear"),
    *("linalg.vecdot", "cdist", "cov", "corrcoef", "trapezoid", "trapz", "cumulative_trapezoid", "dist", "renorm"),
    *(
        "nn.functional.interpolate",
        "nn.functional.upsample_bilinear",
        "sum_to_size",
        "linalg.vander",
        "nn.functional.pdist",
    ),
}

# Operators for which PyTorch rounds 16-bit numbers more often, or is off by more than a few units in the last place:
# tests/unit/test_special_functions.py compares opdsl with mpmath.
IMPRECISE = {
    *("add", "sub", "logit", "nn.functional.gelu", "logaddexp", "special.zeta", "special.erfcx"),
    *("digamma", "lgamma", "mvlgamma", "i0", "special.i0e", "special.i1", "special.i1e"),
    *("special.modified_bessel_i1", "special.log_ndtr", "special.ndtri", "special.ndtr"),
    *(f"special.{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *(f"special.{name}" for name in ("hermite_polynomial_h", "hermite_polynomial_he")),
    *(f"special.{name}" for name in ("laguerre_polynomial_l", "legendre_polynomial_p")),
}

# Terms that cancel, whose last bits depend on the processor: PyTorch fuses products with sums (as opdsl always does) on
# some only, and takes other approximations of functions on each.
CANCELLING = {"addcmul", "lerp", "nn.functional.tanhshrink", "nn.functional.linear_cross_entropy"}

UNITS = {
    **dict.fromkeys(SUMS | IMPRECISE | CANCELLING, Units(3, 16, 16)),
    # PyTorch's powers of complex numbers, its approximations of these functions, and its series that end early.
    **dict.fromkeys(("pow", "__rpow__", "float_power", "igamma", "igammac"), Units(3, 64, 64)),
    **{f"special.bessel_{kind}": Units(3, 32, 2e10) for kind in ("j0", "j1", "y0", "y1")},
    "special.airy_ai": Units(3, 64, 1e8),
    **dict.fromkeys(("polygamma", "special.polygamma"), Units(3, 16, 1e5)),
    # Terms that cancel: differences of norms, sums over matrices that are nearly singular.
    # Scores of about 100, whose errors are those of weights; PyTorch rounds them to 16 bits.
    "nn.functional.scaled_dot_product_attention": Units(128, 2048, 2048),
    "nn.functional.multi_head_attention_forward": Units(128, 2048, 2048),
    **dict.fromkeys(("linalg.multi_dot", "matrix_exp"), Units(8, 128, 128)),
    # Inverses of matrices whose condition numbers are some hundreds.
    **dict.fromkeys(("linalg.cond", "linalg.pinv", "pinverse"), Units(8, 512, 512)),
    **dict.fromkeys(("linalg.matrix_power", "matrix_power"), Units(8, 512, 512)),
    "nn.functional.triplet_margin_loss": Units(3, 64, 2048),
    # Logarithms of sums near 1, where few bits are left.
    "nn.functional.cross_entropy": Units(3, 256, 256),
    **dict.fromkeys(("_softmax_backward_data", "linalg.tensorsolve", "linalg.slogdet", "logdet"), Units(3, 64, 64)),
    # PyTorch rounds coordinates to 16 bits, so that it reads other elements; terms that cancel.
    **dict.fromkeys(("grid_sampler_2d", "nn.functional.grid_sample"), Units(1e6, 64, 256)),
    # PyTorch computes weights from coordinates in the precision of the elements.
    "_upsample_bilinear2d_aa": Units(3, 64, 64),
    # As for 2-d; 98 of 100 points are outside and 0, so that the mean of all is 1/200 of the terms of the others.
    "grid_sampler_3d": Units(1e6, 256, 256),
    # PyTorch keeps sums, or running statistics, in 16 bits.
    **dict.fromkeys(("native_batch_norm", "_native_batch_norm_legit", "logspace"), Units(8, 16, 16)),
    **{f"nn.functional.conv_transpose{dims}d": Units(8, 16, 16) for dims in (1, 2, 3)},
}


# Tolerances by the name in PyTorch's schema.
BY_PACKET = {name.removeprefix("nn.functional.").replace(".", "_"): units for name, units in UNITS.items()}


def tolerance_of(info: Any, computed: torch.dtype | None = None) -> Tolerance:
    """Return the tolerance of an operator's results; ``computed`` is the dtype in which they are computed, if it
    differs.
    """
    return math.inf if our_name(info) in ARBITRARY else _relative(UNITS.get(info.name), computed)


def tolerance_of_call(packet: str, info: Any) -> Tolerance:
    """Return the tolerance of a packet that a sample of op_db calls: the larger one of the op_db entry and of the
    packet.
    """
    if packet in UNDETERMINED:
        return math.inf
    limits = [units for units in (UNITS.get(info.name), BY_PACKET.get(packet)) if units is not None]
    return _relative(Units(*map(max, zip(*limits, strict=True))) if limits else None, None)


def _relative(units: Units | None, computed: torch.dtype | None) -> Tolerance:
    def relative(dtype: torch.dtype) -> float | None:
        if dtype not in TOLERANCE:
            return 0.0  # integers
        allowed = {kind: TOLERANCE[kind] if units is None else units.of(kind) for kind in {dtype, computed or dtype}}
        coarsest = max(allowed, key=allowed.__getitem__)
        return None if units is None and coarsest is dtype else allowed[coarsest]

    return relative
