"""PyTorch's own samples (``op_db``) of the operators that we have: function, method, in-place, ``out=``, errors."""

from __future__ import annotations

import copy
import math
import os
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch

import opdsl
from opdsl.aten.index import METHODS
from opdsl.runtime import has_internal_overlap, share_storage
from tests.torch.twins import Twins, assert_fails, differences

common = pytest.importorskip("torch.testing._internal.common_methods_invocations")
device_type = pytest.importorskip("torch.testing._internal.common_device_type")
torch.set_num_threads(1)  # of samples so small its threads would mostly wait for each other

FULL = "OPDSL_TEST_FULL" in os.environ
MOST = 40

# Operators that are not held against op_db, with the reason.
LEFT_OUT: dict[str, str] = {
    "to": "only one overload is declared",
    "nn.functional.unfold": "it is im2col; our unfold is a view",
    "norm.fro": "torch.norm itself, a Python function, knows the names of matrix norms",
    "norm.nuc": "as norm.fro",
}

# Operators whose values nobody fixes, because no element is set or because they are random: shape, strides, dtype,
# warnings, errors and what arguments share are compared all the same. Statistics are held by tests/unit/test_random.py.
ARBITRARY = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_",
    "rand_like", "randn", "randn_like", "randint", "randint_like", "normal", "bernoulli", "multinomial", "uniform",
    # Vectors that are fixed but for their direction: tests/torch/test_spectral_factors.py holds what they span.
    "linalg_eigh", "linalg_svd",
    "cauchy", "exponential", "geometric", "log_normal", "dropout", "alpha_dropout", "feature_alpha_dropout",
    "rrelu",
}  # fmt: skip

# Where op_db calls a Python function whose parameters are not the schema's: how ours is called for that.
ADAPTED: dict[str, Callable[..., Any]] = {
    "broadcast_tensors": lambda *tensors: opdsl.broadcast_tensors(*tensors),
    "block_diag": lambda *tensors: opdsl.block_diag(*tensors),
    "nonzero": lambda *given, **named: opdsl.nonzero(*given, **named),
    "embedding": lambda weight, indices, **named: opdsl.embedding(
        weight, indices, **{name: named[name] for name in ("scale_grad_by_freq", "sparse") if name in named}
    ),
    "norm": lambda self, p=2, dim=None, keepdim=False, **named: opdsl.norm(
        self, p, () if dim is None else dim, keepdim, **named
    ),
    # op_db puts `self` first.
    "where": lambda self, condition, other, **named: opdsl.where(condition, self, other, **named),
    # op_db calls in-place operators on copies.
    "zero_": lambda self: opdsl.zero_(self.clone()),
    "resize_": lambda self, *given, **named: self.clone().resize_(*given, **named),
    "resize_as_": lambda self, *given, **named: self.clone().resize_as_(*given, **named),
    "dropout": lambda self, p=0.5, training=True: opdsl.dropout(self, p, training),
    # op_db calls the methods that fill a tensor.
    "cauchy": lambda self, *given, **named: self.cauchy_(*given, **named),
    "exponential": lambda self, *given, **named: self.exponential_(*given, **named),
    "geometric": lambda self, *given, **named: self.geometric_(*given, **named),
    "log_normal": lambda self, *given, **named: self.log_normal_(*given, **named),
    "uniform": lambda self, *given, **named: self.uniform_(*given, **named),
    # op_db puts `self` first.
    "polygamma": lambda self, n, **named: opdsl.polygamma(n, self, **named),
    "special_polygamma": lambda self, n, **named: opdsl.ops.aten.special_polygamma(n, self, **named),
    "alpha_dropout": lambda self, p=0.5, training=False: opdsl.alpha_dropout(self, p, training),
    "feature_alpha_dropout": lambda self, p=0.5, training=False: opdsl.feature_alpha_dropout(self, p, training),
}


def _of_pool(dims: int) -> Callable[..., Any]:
    """``nn.functional.max_pool2d`` and its kin: with or without the indices."""
    names = f"max_pool{dims}d", f"max_pool{dims}d_with_indices"

    def pool(self: Any, *given: Any, return_indices: bool = False, **named: Any) -> Any:
        if named.get("stride", ()) is None:
            del named["stride"]
        return getattr(opdsl.ops.aten, names[return_indices])(self, *given, **named)

    return pool


def _of_adaptive_pool(name: str, fills: bool) -> Callable[..., Any]:
    """``nn.functional.adaptive_max_pool2d`` and its kin: None stands for a size that stays."""

    def pool(self: Any, output_size: Any, return_indices: bool | None = None) -> Any:
        try:
            wanted = torch.nn.functional._list_with_default(output_size, list(self.shape)) if fills else output_size
        except ValueError as error:
            raise opdsl.errors.OptionError(str(error)) from error
        result = getattr(opdsl.ops.aten, name)(self, wanted)
        return result if return_indices in (None, True) else result[0]

    return pool


def _max_pool2d_backward(
    self: Any, kernel_size: Any, stride: Any = (), return_indices: bool = True, **named: Any
) -> Any:
    given = {"padding": 0, "dilation": 1, "ceil_mode": False, **named}
    out, indices = opdsl.ops.aten.max_pool2d_with_indices(self, kernel_size, stride or kernel_size, **given)
    grad = opdsl.ones_like(out)
    return opdsl.ops.aten.max_pool2d_with_indices_backward(
        grad, self, kernel_size, stride or kernel_size, *given.values(), indices
    )


def _tensordot(self: Any, other: Any, dims: Any = 2, out: Any = None) -> Any:
    if isinstance(dims, int):
        dims = list(range(self.ndim - dims, self.ndim)), list(range(dims))
    return opdsl.tensordot(self, other, *dims, **({} if out is None else {"out": out}))


COMPUTE_MODES = "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"


def _meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    given = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(opdsl.ops.aten.meshgrid(list(given), indexing=indexing))


def _unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    operator, *at = ("_unique2",) if dim is None else ("unique_dim", dim)
    found = getattr(opdsl.ops.aten, operator)(self, *at, sorted, return_inverse, return_counts)
    return _asked_for(found, return_inverse, return_counts)


def _unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    found = opdsl.unique_consecutive(self, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


def _asked_for(found: tuple[Any, ...], *others: bool) -> Any:
    """The first of several results, with those of the others that were asked for."""
    wanted = (found[0], *(each for each, is_wanted in zip(found[1:], others, strict=True) if is_wanted))
    return wanted if len(wanted) > 1 else wanted[0]


def _batch_norm(self: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, **named: Any) -> Any:
    given = {"training": False, "momentum": 0.1, "eps": 1e-5, **named}
    if given["training"]:
        torch.nn.functional._verify_batch_size(list(self.shape))
    return opdsl.batch_norm(self, weight, bias, mean, var, *given.values(), False)


def _group_norm(self: Any, *given: Any, **named: Any) -> Any:
    opdsl.kernels.check(self.ndim >= 2, f"Expected at least 2 dimensions for input tensor but received {self.ndim}")
    return opdsl.group_norm(self, *given, **named)


def _instance_norm(self: Any, running_mean: Any = None, running_var: Any = None, **named: Any) -> Any:
    given = {"weight": None, "bias": None, "use_input_stats": True, "momentum": 0.1, "eps": 1e-5, **named}
    if given["use_input_stats"]:
        torch.nn.functional._verify_spatial_size(list(self.shape))
    running = {"running_mean": running_mean, "running_var": running_var}
    return opdsl.instance_norm(self, **running, **given, cudnn_enabled=False)


# What losses are told as a word in Python, and as a number in the operator.
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2, "batchmean": 2}


def _of_loss(name: str, **defaults: Any) -> Callable[..., Any]:
    """A loss by its Python function's parameters."""

    def loss(*given: Any, reduction: str = "mean", **named: Any) -> Any:
        if reduction not in REDUCTIONS:
            raise opdsl.errors.OptionError(f"{reduction} is not a valid value for reduction")
        number = REDUCTIONS[reduction]
        made = getattr(opdsl.ops.aten, name)(*given, reduction=number, **defaults | named)
        return made / given[0].shape[0] if reduction == "batchmean" and given[0].ndim else made

    return loss


INTERPOLATIONS = {
    "nearest": "upsample_nearest{}d",
    "nearest-exact": "_upsample_nearest_exact{}d",
    "linear": "upsample_linear{}d",
    "bilinear": "upsample_bilinear{}d",
    "bicubic": "upsample_bicubic{}d",
    "trilinear": "upsample_trilinear{}d",
    "area": "adaptive_avg_pool{}d",
}


def _interpolate(
    self: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    dims = self.ndim - 2
    sizes = [size] * dims if isinstance(size, int) else size
    factors = [scale_factor] * dims if isinstance(scale_factor, float) else scale_factor
    if factors is not None and (mode == "area" or recompute_scale_factor):
        sizes, factors = [math.floor(n * factor) for n, factor in zip(self.shape[2:], factors, strict=True)], None
    run = getattr(opdsl.ops.aten, INTERPOLATIONS[mode].format(dims))
    if mode == "area":
        return run(self, sizes)
    aligned = () if "nearest" in mode else (bool(align_corners),)
    return run.vec(self, sizes, *aligned, factors)


def _multi_margin_loss(*given: Any, weight: Any = None, p: int = 1, **named: Any) -> Any:
    if p not in (1, 2):
        raise opdsl.errors.OptionError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise opdsl.errors.OptionError("weight must be one-dimensional")
    return _of_loss("multi_margin_loss")(*given, weight=weight, p=p, **named)


def _triplet_margin_loss(*given: Any, margin: float = 1.0, **named: Any) -> Any:
    if margin <= 0:
        raise opdsl.errors.OptionError(f"margin must be greater than 0, got {margin}")
    return _of_loss("triplet_margin_loss")(*given, margin=margin, **named)


ADAPTED |= {
    **{
        name: _of_loss(name)
        for name in (
            "l1_loss",
            "kl_div",
            "hinge_embedding_loss",
            "margin_ranking_loss",
            "cosine_embedding_loss",
            "binary_cross_entropy_with_logits",
            "mse_loss",
            "binary_cross_entropy",
            "smooth_l1_loss",
            "huber_loss",
            "soft_margin_loss",
            "multilabel_margin_loss",
        )
    },
    "interpolate": _interpolate,
    "upsample_nearest": lambda self, size=None, scale_factor=None: _interpolate(self, size, scale_factor),
    "upsample_bilinear": lambda self, size=None, scale_factor=None: _interpolate(
        self, size, scale_factor, "bilinear", True
    ),
    "multi_margin_loss": _multi_margin_loss,
    "triplet_margin_loss": _triplet_margin_loss,
    "poisson_nll_loss": lambda self, target, log_input=True, full=False, eps=1e-8, reduction="mean": _of_loss(
        "poisson_nll_loss"
    )(self, target, log_input, full, eps, reduction=reduction),
    "nll_loss": _of_loss("nll_loss_nd"),
    "cross_entropy": _of_loss("cross_entropy_loss"),
    "unique_consecutive": _unique_consecutive,
    "unique": _unique,
    "tensordot": _tensordot,
    "meshgrid": _meshgrid,
    "cdist": lambda x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary": opdsl.cdist(
        x1, x2, p, COMPUTE_MODES.index(compute_mode)
    ),
    "einsum": lambda tensors, equation: opdsl.einsum(equation, tensors),
    "cartesian_prod": lambda *tensors: opdsl.cartesian_prod(list(tensors)),
    "sum_to_size": lambda self, *size: self.sum_to_size(*size),
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    **{f"max_pool{dims}d": _of_pool(dims) for dims in (1, 2, 3)},
    **{f"adaptive_avg_pool{dims}d": _of_adaptive_pool(f"adaptive_avg_pool{dims}d", dims > 1) for dims in (1, 2, 3)},
    **{f"adaptive_max_pool{dims}d": _of_adaptive_pool(f"adaptive_max_pool{dims}d", dims > 1) for dims in (1, 2, 3)},
    "max_pool2d_with_indices_backward": _max_pool2d_backward,
}

# The in-place forms of dropout, whose Python functions have defaults and another name for `train`.
DROPPING: dict[str, Callable[..., Any]] = {
    "dropout": lambda self, p=0.5, training=True: opdsl.dropout_(self, p, training),
    "alpha_dropout": lambda self, p=0.5, training=False: opdsl.alpha_dropout_(self, p, training),
    "feature_alpha_dropout": lambda self, p=0.5, training=False: opdsl.feature_alpha_dropout_(self, p, training),
}

# Dtypes that we do not have.
UNKNOWN = {torch.complex32, torch.uint16, torch.uint32, torch.uint64}

# The dtypes that the variants of an operator are tried with; its function is with all.
VARIED = {torch.bool, torch.int64, torch.bfloat16, torch.float32, torch.complex64}

# Sums and products add in another order, or round 16-bit numbers less often than PyTorch does.
LOOSE = {
    torch.float16: 5e-3,
    torch.bfloat16: 4e-2,
    torch.float32: 2e-5,
    torch.float64: 1e-12,
    torch.complex64: 2e-5,
    torch.complex128: 1e-12,
}
REORDERED = {
    "trace",
    "nn.functional.rms_norm",
    "__rmatmul__",
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
    "logcumsumexp",
    "linspace",
    *("sum", "nansum", "mean", "nanmean", "prod", "var", "std", "var_mean", "std_mean", "norm", "linalg.vector_norm"),
    *(f"nn.functional.{kind}avg_pool{dims}d" for kind in ("", "adaptive_") for dims in (1, 2, 3)),
    *("native_group_norm", "native_batch_norm", "_native_batch_norm_legit", "nn.functional.batch_norm"),
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
    *("linalg.eigvalsh", "linalg.svdvals", "linalg.qr", "qr"),
    *("linalg.det", "linalg.slogdet", "logdet", "lu_solve", "triangular_solve", "lu"),
    *(f"fft.{kind}fft{dims}" for kind in ("", "i", "r", "ir", "h", "ih") for dims in ("", "2", "n")),
    *("logsumexp", "special.logsumexp", "mm", "bmm", "matmul", "einsum", "tensordot", "nn.functional.bilinear"),
    *("linalg.vecdot", "cdist", "cov", "corrcoef", "trapezoid", "trapz", "cumulative_trapezoid", "dist", "renorm"),
    *(
        "nn.functional.interpolate",
        "nn.functional.upsample_bilinear",
        "sum_to_size",
        "linalg.vander",
        "nn.functional.pdist",
    ),
}

# Differences of sums in float32, whatever the dtype of the rest.
CANCELLING = {"cov"}

# Those that bring rows of the shape that is their second argument to mean 0.
NORMALISING = {"native_layer_norm", "nn.functional.layer_norm"}

# Where PyTorch is off by more than a few units in the last place (powers of complex numbers, tails of gelu), or terms
# cancel.
IMPRECISE = {
    *("pow", "__rpow__", "float_power", "nn.functional.gelu", "logaddexp"),
    *("igamma", "igammac", "digamma", "lgamma", "mvlgamma", "polygamma", "special.polygamma", "special.zeta"),
    *("i0", "special.i0e", "special.i1", "special.i1e", "special.erfcx", "special.log_ndtr", "special.ndtri"),
    *(f"special.{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *(f"special.{name}" for name in ("hermite_polynomial_h", "hermite_polynomial_he")),
    *(f"special.{name}" for name in ("laguerre_polynomial_l", "legendre_polynomial_p")),
}

# Where PyTorch's series end early, so that it has nine digits of float64.
SHORT = {"polygamma", "special.polygamma"}

# Where PyTorch leaves an output as it is that is not contiguous, or fills it as if it were.
UNWRITTEN = {"nn.functional.gelu", "narrow_copy", "nn.functional.avg_pool3d"}

# Where we depart on purpose or by necessity.
DEPARTURES = {
    ("special.ndtr", torch.float32): "1 + erf(x) cancels where the curve begins: both have few digits there",
    **{
        (f"nn.functional.{name}", torch.uint8): "PyTorch rounds weights to 16 bits there; ours refuses these integers"
        for name in ("interpolate.bilinear", "interpolate.bicubic", "upsample_bilinear")
    },
    ("logsumexp", torch.complex64): "PyTorch writes the logarithm of a sum's real part where the output is real",
}

# Errors of PyTorch that it does not mean: the variance of all bfloat16 numbers into a wider output is one.
BUGS = ("std_var_all: Unsupported dtype",)


def operators() -> list[Any]:
    """What op_db has of the operators that we declare."""
    # Variants for the sake of Triton hold large samples of the same kernel.
    return [each for each in common.op_db if "triton" not in each.variant_test_name and _ours(each) is not None]


def our_name(info: Any) -> str:
    """The name in PyTorch's schema: ``nn.functional.relu`` is ``relu`` there, ``linalg.det`` is ``linalg_det``."""
    return str(info.name).removeprefix("nn.functional.").replace(".", "_")


def _ours(info: Any) -> Callable[..., Any] | None:
    name = our_name(info)
    if {name, info.name, name_of(info)} & LEFT_OUT.keys():
        return None
    if info.variant_test_name == "in_place":  # of `normal`, which is another operator than the functional one
        return getattr(opdsl.Tensor, info.inplace_variant.__name__, None) if f"{name}_" in METHODS else None
    if name in ADAPTED:
        return ADAPTED[name]
    if name.startswith("__"):
        return getattr(opdsl.Tensor, name) if name in METHODS else None
    return getattr(opdsl.ops.aten, name) if f"aten::{name}" in opdsl.registry.packets else None


def name_of(info: Any) -> str:
    return ".".join(filter(None, (info.name, info.variant_test_name)))


def cases(wanted: Callable[[Any], object] | None = None) -> Iterator[Any]:
    """All operators and dtypes; with a condition, those of the operators that meet it, and fewer dtypes."""
    for info in operators():
        if wanted is not None and not wanted(info):
            continue
        dtypes = info.dtypes - UNKNOWN
        for dtype in sorted(dtypes if FULL or wanted is None else dtypes & VARIED, key=str):
            if not str(dtype).startswith("torch.float8"):
                reason = DEPARTURES.get((name_of(info), dtype))
                marks = pytest.mark.skip(reason) if reason else ()
                yield pytest.param(info, dtype, id=f"{name_of(info)}-{str(dtype).removeprefix('torch.')}", marks=marks)


def _is_named(variant: Any) -> bool:
    """Whether a variant is a method, and no lambda or partial around a Python function."""
    return getattr(variant, "__name__", "").isidentifier()


def _is_method(info: Any) -> bool:
    """Whether there is a method; PyTorch has some that are written in Python, for which no schema says so."""
    return info.method_variant is not None and (
        our_name(info) in METHODS or not isinstance(info.method_variant, types.FunctionType)
    )


def samples(info: Any, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    given = info.reference_inputs if FULL else info.sample_inputs
    torch.manual_seed(0)
    for sample in thinned(given("cpu", dtype)):
        # What PyTorch makes of a row of one element is 0 but for rounding, and here 0.
        if sample.kwargs.get("max_norm") is not None:
            continue  # another operator brings the table to that norm
        if info.name in NORMALISING and math.prod(sample.args[0]) == 1:
            continue
        yield (sample.input, *sample.args), sample.kwargs


def thinned(given: Iterable[Any]) -> list[Any]:
    """At most some hundred samples, from all over: those of pools are every combination of their parameters."""
    found = list(given)
    return found if FULL else found[:: 1 + len(found) // MOST]


def outcome(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """A result or an exception, and what was said of resizing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = error
    return result, [str(each.message)[:60] for each in caught if "was resized" in str(each.message)]


def compare(
    ours: Callable[..., Any],
    torchs: Callable[..., Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
    tolerance: float | None,
) -> list[str]:
    """How a call differs: its result or error, its warnings, what it did to the arguments, what it shares."""
    own, own_named = Twins().of((given, named))
    expected, expected_warnings = outcome(lambda: torchs(*given, **named))
    if isinstance(expected, torch.Tensor) and expected.dtype is torch.complex32:
        return []  # of float16 and a complex number
    found, found_warnings = outcome(lambda: ours(*own, **own_named))
    if isinstance(expected, Exception) and any(each in str(expected) for each in BUGS):
        return []
    if isinstance(expected, Exception):
        try:
            assert_fails(lambda: _again(found), expected)
        except AssertionError as error:
            return [str(error)]
        return []
    if isinstance(found, Exception):
        return [f"{found!r} for a result"]
    wrong = differences(found, expected, tolerance=tolerance)
    if found_warnings != expected_warnings:
        wrong.append(f"warnings {found_warnings} for {expected_warnings}")
    for one, other in zip(own, given, strict=True):
        if isinstance(other, torch.Tensor):
            wrong += [f"argument: {each}" for each in differences(one, other, tolerance=tolerance)]
            wrong += _sharing(found, one, expected, other)
    return wrong


def _again(found: Any) -> Any:
    if isinstance(found, Exception):
        raise found
    return found


def _sharing(found: Any, argument: opdsl.Tensor, expected: Any, other: torch.Tensor) -> list[str]:
    if not isinstance(expected, torch.Tensor) or expected.numel() == 0:
        return []
    same = expected.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    wanted = same and expected.is_conj() == other.is_conj()  # there is no conjugate bit: ours has computed
    shared = share_storage(found, argument)
    return [] if wanted == shared else [f"shares memory: {shared} for {wanted}"]


def tolerance_of(info: Any, dtype: torch.dtype) -> float | None:
    if our_name(info) in ARBITRARY:
        return math.inf
    if info.name in CANCELLING:
        return LOOSE.get(dtype, 2e-5) if dtype.itemsize == 2 else 5e-5
    allowed = _allowed(info, dtype)
    if allowed is not None:
        return allowed
    if info.name in REORDERED or info.name in IMPRECISE:
        return LOOSE.get(dtype, 2e-6)  # integers may become float32
    return LOOSE.get(dtype) if dtype.itemsize == 2 else None


def _allowed(info: Any, dtype: torch.dtype) -> float | None:
    """The error that PyTorch's own tests allow a function that has few digits, as the Bessel functions have."""
    if info.name in SHORT:
        return 1e-8 if dtype is torch.float64 else LOOSE.get(dtype, 2e-6)
    for each in info.decorators:
        if isinstance(each, device_type.precisionOverride):
            return float(each.d.get(dtype, max(each.d.values())))
    return None


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_function(info: Any, dtype: torch.dtype) -> None:
    ours = _ours(info)
    assert ours is not None
    wrong = []
    for given, named in samples(info, dtype):
        for _ in range(2):
            wrong += compare(ours, info.op, given, named, tolerance_of(info, dtype))
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), list(cases(_is_method)))
def test_method(info: Any, dtype: torch.dtype) -> None:
    method = getattr(opdsl.Tensor, our_name(info))
    wrong = []
    for given, named in samples(info, dtype):
        if isinstance(given[0], torch.Tensor):
            wrong += compare(method, info.method_variant, given, named, tolerance_of(info, dtype))
    assert wrong == []


@pytest.mark.parametrize(("info", "dtype"), list(cases(lambda info: info.inplace_variant)))
def test_in_place(info: Any, dtype: torch.dtype) -> None:
    ours = _inplace(info)
    wrong = []
    for given, named in samples(info, dtype):
        if isinstance(given[0], torch.Tensor) and not _repeats(given[0]):
            wrong += compare(ours, info.inplace_variant, copy.deepcopy(given), named, tolerance_of(info, dtype))
    assert wrong == []


def _inplace(info: Any) -> Callable[..., Any]:
    """Our method; of a function of ``nn.functional``, which has an argument ``inplace``, our function."""
    name = getattr(info.inplace_variant, "__name__", "<lambda>")
    if our_name(info) in DROPPING:
        return DROPPING[our_name(info)]
    return getattr(opdsl.Tensor, name) if name != "<lambda>" else getattr(opdsl.ops.aten, f"{our_name(info)}_")


def _repeats(tensor: torch.Tensor) -> bool:
    """Whether elements overlap in memory: we refuse to write these, PyTorch only where a stride is 0."""
    return has_internal_overlap(Twins().of(tensor).geometry)


@pytest.mark.parametrize(("info", "dtype"), list(cases(lambda info: info.supports_out)))
def test_out(info: Any, dtype: torch.dtype) -> None:
    ours = _ours(info)
    assert ours is not None
    wrong = []
    for given, named in samples(info, dtype):
        if not isinstance(given[0], (torch.Tensor, list, tuple)) or info.name == "matmul":
            continue
        expected = outcome(lambda given=given, named=named: info.op(*given, **named))[0]
        if not isinstance(expected, torch.Tensor) or expected.dtype is torch.complex32:
            continue
        if info.name.startswith("fft.ihfft") and _is_along_one(given[0], named):
            continue  # PyTorch leaves out= as it was
        for out in outputs(expected):
            if info.name in UNWRITTEN and not out.is_contiguous():
                continue
            twice = copy.deepcopy(given), {**named, "out": out}
            wrong += compare(ours, info.op, *twice, tolerance=_coarsest(info, dtype, out))
    assert wrong == []


def _is_along_one(tensor: torch.Tensor, named: dict[str, Any]) -> bool:
    """Whether a transform is along one dimension: one that is given, that of the only size, or the only one."""
    dims = named.get("dim", named.get("s"))
    return isinstance(dims, int) or len(tensor.shape if dims is None else dims) == 1


def outputs(expected: torch.Tensor) -> Iterator[torch.Tensor]:
    """What a result may be written into."""
    yield torch.zeros_like(expected)
    yield torch.empty(0, dtype=expected.dtype)
    yield torch.zeros((*expected.shape, 2), dtype=expected.dtype)[..., 0]
    yield torch.zeros([size + 1 for size in expected.shape], dtype=expected.dtype)
    yield torch.zeros_like(expected, dtype=torch.int32)
    yield torch.zeros_like(expected, dtype=torch.float64)


def _coarsest(info: Any, dtype: torch.dtype, out: torch.Tensor) -> float | None:
    """The operands' tolerance, for an output that could show more digits."""
    if our_name(info) in ARBITRARY:
        return math.inf
    if dtype.is_floating_point or dtype.is_complex:
        return max(LOOSE.get(dtype, 0.0), _allowed(info, dtype) or 0.0)
    return max(tolerance_of(info, out.dtype) or 0.0, 2e-6)  # integers are computed in float32


@pytest.mark.parametrize("info", [each for each in operators() if each.error_inputs_func is not None], ids=name_of)
def test_errors(info: Any) -> None:
    ours = _ours(info)
    assert ours is not None
    wrong = []
    for each in info.error_inputs("cpu"):
        given, named = (each.sample_input.input, *each.sample_input.args), each.sample_input.kwargs
        # Special methods of other classes; more dimensions than NumPy has; narrow with a tensor for its start.
        if isinstance(given[0], int) or _is_beyond(given):
            continue
        wrong += compare(ours, info.op, given, named, None)
    assert wrong == []


def _is_beyond(given: tuple[Any, ...]) -> bool:
    return any(isinstance(each, torch.Tensor) and each.ndim > 64 for each in given) or (
        len(given) == 4 and isinstance(given[2], torch.Tensor)
    )
