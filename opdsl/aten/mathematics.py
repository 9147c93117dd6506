"""Elementary functions and activations of one tensor."""

from __future__ import annotations

import math

from opdsl.aten.checks import is_boolean
from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import Tensor


@op("aten::exp", variants="function, method", tags=("core", "pointwise"), inplace=True, out=True)
def exp(self: Tensor) -> Tensor:
    """The exponential of every element."""
    ...


@exp.pointwise(promote="int_to_float")
def exp_scalar_function(self):
    return math.exp(self)


@op("aten::log", variants="function, method", tags=("core", "pointwise"), inplace=True, out=True)
def log(self: Tensor) -> Tensor:
    """The natural logarithm of every element; NaN below zero."""
    ...


@log.pointwise(promote="int_to_float")
def log_scalar_function(self):
    return math.log(self)


@op("aten::tanh", variants="function, method", tags=("core", "pointwise"), inplace=True, out=True)
def tanh(self: Tensor) -> Tensor:
    """The hyperbolic tangent of every element."""
    ...


@tanh.pointwise(promote="int_to_float")
def tanh_scalar_function(self):
    return math.tanh(self)


@op("aten::sigmoid", variants="function, method", tags=("core", "pointwise"), inplace=True, out=True)
def sigmoid(self: Tensor) -> Tensor:
    """``1 / (1 + exp(-self))``"""
    ...


@sigmoid.pointwise(promote="int_to_float")
def sigmoid_scalar_function(self):
    return 1.0 / (1.0 + math.exp(-self))


# PyTorch's relu is no structured operator, so ours is exported as a plain one.
@op(
    "aten::relu",
    variants="function, method",
    tags=("core", "pointwise"),
    structured=False,
    inplace=True,
    out=True,
)
def relu(self: Tensor) -> Tensor:
    """``max(self, 0)``"""
    ...


@relu.meta
def relu_meta(ctx, self):
    check(not is_boolean(self), "Boolean inputs not supported for relu")


@relu.pointwise
def relu_scalar_function(self):
    return max(self, 0)
