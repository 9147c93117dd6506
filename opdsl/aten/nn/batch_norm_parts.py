"""The parts that batch normalisation over several devices is made of, and the names it has beside ``batch_norm``."""

from __future__ import annotations

from functools import partial
from typing import Any

from opdsl.aten.create.factories import empty
from opdsl.aten.nn.batch_normalization import (
    GIVEN,
    OPTIONAL,
    THREE,
    WRITTEN,
    batch_normalized,
    by_channel,
    into_outputs,
    native_batch_norm_backward,
    native_batch_norm_backward_derivative,
    native_batch_norm_derivative,
    others,
)
from opdsl.aten.reduce.variances import var_mean_correction
from opdsl.declare import Library, Out, Row, forward, op
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime import Tensor, uint8

lib = Library("aten")


@op("aten::batch_norm_stats", dispatch={"CUDA": "batch_norm_stats_cuda"}, autogen="batch_norm_stats.out")
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The mean and 1 / deviation of each channel."""
    wide = input.to(precision_of(input.dtype))
    variance, mean = var_mean_correction(wide, others(input), correction=0)
    return mean, (variance + eps).rsqrt()


@lib.entry(
    "batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps) -> Tensor",
    dispatch={"CUDA": "batch_norm_elemt_cuda"},
    out=Out(explicit=True, dispatch={"CUDA": "batch_norm_elemt_cuda_out"}),
)
def batch_norm_elemt(input, weight, bias, mean, invstd):
    """Each channel less its mean, times 1 / deviation and ``weight``, plus ``bias``."""
    found = (input - by_channel(mean, input.ndim)) * by_channel(invstd, input.ndim)
    found = found if weight is None else found * by_channel(weight, input.ndim)
    found = found if bias is None else found + by_channel(bias, input.ndim)
    return found.to(input.dtype)


@lib.entry(
    "batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, "
    "bool input_g, bool weight_g, bool bias_g) -> (Tensor, Tensor, Tensor, Tensor)",
    dispatch={"CUDA": "batch_norm_backward_reduce_cuda"},
    autogen="batch_norm_backward_reduce.out",
)
def batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    """Sums of gradients over each channel, also of these times what lies above the mean; then the gradients
    of weight and bias.
    """
    wide, dims = precision_of(input.dtype), others(input)
    given = grad_out.to(wide)
    total = given.sum(dims)
    weighted = (given * (input.to(wide) - by_channel(mean.to(wide), input.ndim))).sum(dims)
    kept = input.dtype if weight is None else weight.dtype
    of_weight: Any = (weighted * invstd).to(kept) if weight_g else None
    of_bias: Any = total.to(kept, copy=True) if bias_g else None
    sums: tuple[Any, Any] = (total, weighted) if input_g else (None, None)
    return *sums, of_weight, of_bias


@lib.entry(
    "batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, "
    "Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) -> Tensor",
    dispatch={"CUDA": "batch_norm_backward_elemt_cuda"},
    autogen="batch_norm_backward_elemt.out",
)
def batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    """The gradient of the input, from sums over all devices and the numbers of elements on each."""
    mean, invstd, sum_dy, sum_dy_xmu = (by_channel(each, input.ndim) for each in (mean, invstd, sum_dy, sum_dy_xmu))
    elements = count.sum()
    through = (input - mean) * (invstd * invstd * (sum_dy_xmu / elements))
    found = (grad_out - sum_dy / elements - through) * invstd
    found = found if weight is None else found * by_channel(weight, input.ndim)
    return found.to(input.dtype)


def with_reserve(input, weight, bias, running_mean, running_var, momentum, eps, *, training):
    """``native_batch_norm``, and memory of a backend's own: nothing, for ours."""
    made = batch_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return *made, empty((0,), dtype=uint8, device=input.device)


_with_update = partial(with_reserve, training=True)
_RESULTS = "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"

_made = lib.table(
    {
        f"_batch_norm_with_update({GIVEN}, {WRITTEN}, {_RESULTS}": Row(
            "``native_batch_norm`` in training, and memory of a backend's own: nothing, for ours.",
            _with_update,
            kernel=True,
            autogen="_batch_norm_with_update_functional",
        ),
        f"_batch_norm_no_update({GIVEN}, {OPTIONAL}, {_RESULTS}": Row(
            "``native_batch_norm`` with the running statistics, and memory of a backend's own: nothing, for ours.",
            partial(with_reserve, training=False),
            kernel="CompositeExplicitAutograd",
            autogen="_batch_norm_no_update.out",
        ),
    }
)
for _name, _training in (("_batch_norm_with_update", True), ("_batch_norm_no_update", False)):
    _made[_name].derivative("input", "weight", "bias")(partial(native_batch_norm_derivative, training=_training))


lib.table(
    {
        "_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight, "
        f"{OPTIONAL}, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, "
        f"Tensor reservedSpace) -> {THREE}": Row(
            "The gradients of ``_batch_norm_impl_index``, those that ``output_mask`` asks for.",
            forward(
                native_batch_norm_backward,
                "grad_output",
                save_invstd=lambda save_var_transform: save_var_transform,
                unused=("impl_index", "reservedSpace"),
            ),
        )
    }
)


# -------------------------------------------------------------------------------------------------- several devices


@lib.entry(
    "batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, "
    "Tensor? running_var, float momentum, float eps, Tensor counts) -> (Tensor, Tensor)",
    dispatch={"CUDA": "batch_norm_gather_stats_with_counts_cuda"},
    autogen="batch_norm_gather_stats_with_counts.out",
)
def batch_norm_gather_stats_with_counts(mean, invstd, running_mean, running_var, momentum, eps, counts):
    """The mean and 1 / deviation of each channel from those of several devices; running ones are moved towards them.

    Args:
        input: of one device, of which the dtype alone counts.
        mean, invstd: (devices, channels).
        running_mean, running_var: of each channel, if there are some; they are written.
        momentum: by which they move.
        eps: what has been added to variances.
        counts: how many elements of a channel each device had.
    """
    check(
        mean.ndim == 2 and mean.shape == invstd.shape, "expected statistics of each device and channel", got=mean.shape
    )
    check(counts.shape == mean.shape[:1], "expected a count for each device", got=counts.shape)
    wide = precision_of(mean.dtype)
    shares, means = counts.to(wide).unsqueeze(1), mean.to(wide)
    total = shares.sum(0)
    found = (shares * means).sum(0) / total
    within = invstd.to(wide).reciprocal()
    spread = (shares * (within * within - eps + (means - found) * (means - found))).sum(0)
    moved: tuple[tuple[Tensor | None, Tensor], ...] = (running_mean, found), (running_var, spread / (total - 1))
    for kept, _ in moved:
        check(kept is None or kept.shape == found.shape, "expected a running number for each channel")
    for kept, value in moved:
        if kept is not None:
            copy_elements(kept, value * momentum + kept * (1 - momentum))
    return found, (spread / total + eps).rsqrt()


lib.table(
    {
        f"batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, {OPTIONAL}, float momentum, float eps, "
        "int count) -> (Tensor, Tensor)": Row(
            "``batch_norm_gather_stats_with_counts`` of devices that had the same number of elements.",
            forward(
                batch_norm_gather_stats_with_counts, counts=lambda mean, count: mean.new_full(mean.shape[:1], count)
            ),
            dispatch={"CUDA": "batch_norm_gather_stats_cuda"},
            autogen="batch_norm_gather_stats.out",
        )
    }
)


# ------------------------------------------------------------------------------------------------- other signatures


batch_norm_backward = lib.table(
    {
        f"batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, {OPTIONAL}, Tensor? save_mean, "
        f"Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve) -> {THREE}": Row(
            "The gradients of ``_batch_norm_with_update``, or for ``update=False`` of ``_batch_norm_no_update``.",
            forward(
                native_batch_norm_backward,
                save_invstd=lambda save_var: save_var,
                train=lambda update: update,
                unused=("reserve",),
            ),
            kernel=True,
        )
    }
)["batch_norm_backward"]


@batch_norm_backward.derivative("grad_out", "input", "weight")
def batch_norm_backward_derivative(
    grads, grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps
):
    return native_batch_norm_backward_derivative(
        grads, grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps
    )


lib.define(
    f"_batch_norm_with_update.out({GIVEN}, {WRITTEN}, float momentum, float eps, *, Tensor(d!) out, "
    "Tensor(e!) save_mean, Tensor(f!) save_invstd, Tensor(g!) reserve) -> "
    "(Tensor(d!), Tensor(e!), Tensor(f!), Tensor(g!))",
    into_outputs("_batch_norm_with_update.out", _with_update),
    dispatch={
        "CPU": "_batch_norm_with_update_cpu_out",
        "CUDA": "_batch_norm_with_update_cuda_out",
        "MPS": "_batch_norm_with_update_mps_out",
    },
)
