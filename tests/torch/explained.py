"""Table of known differences from PyTorch's results by operator, for the replay of op_db and the documentation."""

from __future__ import annotations

_MEMORY = "memory as it comes: no element is set"
_RANDOM = "random numbers: `manual_seed` begins a sequence of our own"

# Operators without determined values: only shape, strides, dtype and shared memory are compared.
UNDETERMINED = {
    **dict.fromkeys(
        (
            *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
            *("resize_", "resize_as_"),
        ),
        _MEMORY,
    ),
    **dict.fromkeys(
        (
            *("rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "normal", "normal_"),
            *("bernoulli", "bernoulli_", "multinomial", "uniform", "uniform_", "cauchy", "cauchy_", "poisson"),
            *("exponential", "exponential_", "geometric", "geometric_", "log_normal", "log_normal_", "random_"),
            *("native_dropout", "rrelu_with_noise", "binomial", "_standard_gamma", "_sample_dirichlet"),
        ),
        _RANDOM,
    ),
}

_FACTORS = "of a real matrix in rows PyTorch factors the transposed one: other factors and pivots, one determinant"
_PATHS = "PyTorch leaves what is for gradients unwritten where no path reaches it"

# Operators whose results may differ, with the reason.
EXPLAINED: dict[str, str] = {
    **UNDETERMINED,
    **dict.fromkeys(
        ("_linalg_svd", "_linalg_eigh", "linalg_eig"),
        "vectors are fixed but for their phases, and those of equal values but for what they span",
    ),
    **dict.fromkeys(("_linalg_det", "_linalg_slogdet"), _FACTORS),
    "_ctc_loss": _PATHS,
    "_embedding_bag_forward_only": "PyTorch leaves out the bags of indices, which are for gradients, on its fast path",
    "abs": "PyTorch keeps strides of dimensions of size 1 where the elements are complex",
    **dict.fromkeys(
        ("grid_sampler_2d", "grid_sampler_3d"), "PyTorch rounds positions to 16 bits, and so reads other elements"
    ),
    "linalg_matrix_exp": "of 16-bit floats refused: PyTorch's are far off",
    "linalg_qr": "columns that nearly depend on others: what is left of them is rounding",
    "nanmedian": "where all are NaN any position is as good; ours is the first",
    "native_layer_norm": "of rows of one element, 0 here; PyTorch leaves what its mean was rounded by",
    "segment_reduce": "PyTorch adds 16-bit floats in 16 bits",
    **dict.fromkeys(
        ("digamma", "polygamma", "special_polygamma"), "PyTorch's lose digits beside poles, and are finite at some"
    ),
    "special_ndtr": "PyTorch's lower tail ends at 0, at -5.5 in float32",
    "sum": "terms that cancel, added in another order",
}
