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

_FACTORS = "PyTorch factors the transpose of a real row-major matrix: other factors and pivots, the same determinant"
_PATHS = "PyTorch leaves parts of the result for gradients unwritten, where no path reaches them"

# Operators whose results may differ, with the reason.
EXPLAINED: dict[str, str] = {
    **UNDETERMINED,
    **dict.fromkeys(
        ("_linalg_svd", "_linalg_eigh", "linalg_eig"),
        "other phases of the vectors, and another basis of the vectors that belong to equal values",
    ),
    **dict.fromkeys(("_linalg_det", "_linalg_slogdet"), _FACTORS),
    "_ctc_loss": _PATHS,
    "_embedding_bag_forward_only": "on its fast path, PyTorch omits the bags of indices, which gradients need",
    "abs": "for complex elements, PyTorch keeps the strides of dimensions of size 1",
    **dict.fromkeys(
        ("grid_sampler_2d", "grid_sampler_3d"), "PyTorch rounds positions to 16 bits, and so reads other elements"
    ),
    "linalg_matrix_exp": "16-bit floats are refused; PyTorch's results for them are inaccurate",
    "linalg_qr": "a column that nearly depends on others is mostly rounding error",
    "nanmedian": "the index is the first one if all elements are NaN",
    "native_layer_norm": "rows of one element become 0; PyTorch's result is the rounding error of its mean",
    "segment_reduce": "PyTorch adds 16-bit floats in 16 bits",
    **dict.fromkeys(
        ("digamma", "polygamma", "special_polygamma"),
        "PyTorch's lose digits near poles, and are finite at some of them",
    ),
    "special_ndtr": "PyTorch's is 0 below -5.5 in float32",
    "sum": "another order of addition, which shows where terms cancel",
}
