"""Ten operators: elementwise ones, reductions, rows and scans."""

from __future__ import annotations

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("gates")


@lib.op
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    z = beta * self
    return (opdsl.clamp_min(z, 0.0) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op(inplace=True, out=True)
@formula
def swish(self: Tensor) -> Tensor:
    """``self * sigmoid(self)``"""
    return self * opdsl.sigmoid(self)


@lib.op
@formula
def blend(self: Tensor, other: Tensor, weight: float) -> Tensor:
    """``weight * self + (1 - weight) * other``"""
    return weight * self + (1 - weight) * other


@lib.op
@formula
def soft_sign(self: Tensor) -> Tensor:
    """``self / (1 + abs(self))``"""
    return self / (1 + abs(self))


@lib.op
@formula
def root_mean_square(self: Tensor) -> Tensor:
    """Return the root of the mean of squares of each row."""
    return self.square().mean(-1).sqrt()


@lib.op
@formula
def log_sum_exp(self: Tensor) -> Tensor:
    """``log(sum(exp(self)))`` of each row, without overflow."""
    largest = self.amax(-1, keepdim=True)
    return (opdsl.exp(self - largest).sum(-1, keepdim=True).log() + largest).sum(-1)


@lib.op(inplace=True, out=True)
@formula
def log_softmax(self: Tensor) -> Tensor:
    """``self - log(sum(exp(self)))`` of each row, without overflow."""
    shifted = self - self.amax(-1, keepdim=True)
    return shifted - opdsl.exp(shifted).sum(-1, keepdim=True).log()


@lib.op
@formula
def rms_norm(self: Tensor, weight: Tensor) -> Tensor:
    """Divide each row by the root of the mean of its squares, and multiply it by a weight for each column."""
    return self * opdsl.rsqrt(self.square().mean(-1, keepdim=True) + 1e-6) * weight


@lib.op
@formula
def running_total(self: Tensor) -> Tensor:
    """Add the elements of a row up to each position, each squashed first."""
    return opdsl.tanh(self).cumsum(-1)


@lib.op
@formula
def exponential_average(self: Tensor, rate: float = 0.5) -> Tensor:
    """``h = rate * x + (1 - rate) * h`` along rows, from 0 on."""
    t = opdsl.dim()
    step = opdsl.scan(lambda h, x: rate * x + (1 - rate) * h, 0.0, self[..., t], along=t)
    return step.order(..., t)
