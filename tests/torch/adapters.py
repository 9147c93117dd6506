"""How ours is called where op_db calls a Python function whose parameters are not the schema's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

import opdsl

# Where op_db calls a Python function whose parameters are not the schema's: how ours is called for that.
ADAPTED: dict[str, Callable[..., Any]] = {
    "broadcast_tensors": lambda *tensors: opdsl.broadcast_tensors(*tensors),
    "block_diag": lambda *tensors: opdsl.block_diag(*tensors),
    "nonzero": lambda *given, **named: opdsl.nonzero(*given, **named),
    "embedding": lambda weight, indices, **named: opdsl.embedding(
        weight, indices, **{name: named[name] for name in ("scale_grad_by_freq", "sparse") if name in named}
    ),
    "embedding_bag": lambda weight, indices, *given, **named: opdsl.nn.functional.embedding_bag(
        indices, weight, *given, **named
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
    "ctc_loss": opdsl.nn.functional.ctc_loss,
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
    "unique": _unique,
    **{name: getattr(opdsl, name) for name in ("cartesian_prod", "tensordot", "unique_consecutive")},
    "meshgrid": _meshgrid,
    "cdist": lambda x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary": opdsl.cdist(
        x1, x2, p, COMPUTE_MODES.index(compute_mode)
    ),
    "einsum": lambda tensors, equation: opdsl.einsum(equation, *tensors),
    "sum_to_size": lambda self, *size: self.sum_to_size(*size),
    "batch_norm": _batch_norm,
    "group_norm": _group_norm,
    "instance_norm": _instance_norm,
    **{f"max_pool{dims}d": _of_pool(dims) for dims in (1, 2, 3)},
    **{f"adaptive_avg_pool{dims}d": _of_adaptive_pool(f"adaptive_avg_pool{dims}d", dims > 1) for dims in (1, 2, 3)},
    **{f"adaptive_max_pool{dims}d": _of_adaptive_pool(f"adaptive_max_pool{dims}d", dims > 1) for dims in (1, 2, 3)},
    **{f"max_unpool{dims}d": getattr(opdsl.nn.functional, f"max_unpool{dims}d") for dims in (1, 2, 3)},
    **{name: getattr(opdsl.nn.functional, name) for name in ("fractional_max_pool2d", "fractional_max_pool3d")},
    "max_pool2d_with_indices_backward": _max_pool2d_backward,
}

# The in-place forms of dropout, whose Python functions have defaults and another name for `train`.
DROPPING: dict[str, Callable[..., Any]] = {
    "dropout": lambda self, p=0.5, training=True: opdsl.dropout_(self, p, training),
    "alpha_dropout": lambda self, p=0.5, training=False: opdsl.alpha_dropout_(self, p, training),
    "feature_alpha_dropout": lambda self, p=0.5, training=False: opdsl.feature_alpha_dropout_(self, p, training),
}
