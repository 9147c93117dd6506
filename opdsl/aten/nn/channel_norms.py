"""Batch norm and instance norm under the signatures that network layers call."""

from __future__ import annotations

from opdsl.aten.create.factories import empty, zeros
from opdsl.aten.nn.batch_normalization import check_channels, native_batch_norm
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime import Tensor, float64, uint8


@op("aten::_batch_norm_impl_index", tags="maybe_aliasing_or_mutating")
def _impl_index(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Compute ``native_batch_norm``; return also an empty tensor as reserved memory, and 0 as the number of the
    backend.
    """
    channels = input.shape[1] if input.ndim > 1 else 0
    reserve = empty((0,), dtype=uint8, device=input.device)
    if input.numel() == 0:
        scaled = input.clone()
        scaled = scaled if weight is None else scaled * weight[0]
        scaled = scaled if bias is None else scaled + bias[0]
        none = zeros((channels,), dtype=float64, device=input.device)
        return scaled, none, none.clone(), reserve, 0
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, value in named.items():
        check(
            value is not None or training or not name.startswith("running"),
            f"{name} must be defined in evaluation mode",
        )
        check(
            value is None or value.numel() == channels,
            f"{name} should contain {channels} elements not {0 if value is None else value.numel()}",
        )
    tensors = native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return *tensors, reserve, 0


@op("aten::batch_norm", tags="maybe_aliasing_or_mutating")
@forward(_impl_index, result=0)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalize each channel to mean 0 and variance 1, multiply it by ``weight`` and add ``bias``; see
    ``native_batch_norm``.
    """


@op("aten::instance_norm")
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Apply ``batch_norm`` to each sample separately; running statistics become the means over all samples."""
    check(
        use_input_stats or (running_mean is not None and running_var is not None),
        "Expected running_mean and running_var to be defined when use_input_stats is false",
    )
    check_channels(input)
    batch, channels = input.shape[:2]
    scale, shift, mean, variance = (
        None if parameter is None else parameter.repeat((batch,))
        for parameter in (weight, bias, running_mean, running_var)
    )
    samples = input.contiguous().view((1, batch * channels, *input.shape[2:]))
    normalized: Tensor = batch_norm(
        samples, scale, shift, mean, variance, use_input_stats, momentum, eps, cudnn_enabled
    )
    for kept, moved in ((running_mean, mean), (running_var, variance)):
        if kept is not None and moved is not None:
            copy_elements(kept, moved.view((batch, channels)).mean(0))
    return normalized.view(input.shape)
