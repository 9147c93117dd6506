"""Activations."""

from __future__ import annotations

import warnings

from opdsl._attributes import aten
from opdsl.nn.functional._common import in_place_or_not
from opdsl.runtime import DType, Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``"""
    return in_place_or_not("relu", inplace, input)


def relu_(input: Tensor) -> Tensor:
    """``relu`` in place."""
    return aten.relu_(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``"""
    return in_place_or_not("relu6", inplace, input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return in_place_or_not("elu", inplace, input, alpha)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``elu`` in place."""
    return aten.elu_(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu``, scaled so that mean and variance of the input stay."""
    return in_place_or_not("selu", inplace, input)


def selu_(input: Tensor) -> Tensor:
    """``selu`` in place."""
    return aten.selu_(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return in_place_or_not("celu", inplace, input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``celu`` in place."""
    return aten.celu_(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where it is positive, ``negative_slope`` times it elsewhere."""
    return in_place_or_not("leaky_relu", inplace, input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``leaky_relu`` in place."""
    return aten.leaky_relu_(input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The input where it is positive, ``weight`` times it elsewhere; one weight, or one for each channel."""
    return aten.prelu(input, weight)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``leaky_relu`` with random slopes between ``lower`` and ``upper``, their mean unless ``training``."""
    return in_place_or_not("rrelu", inplace, input, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """``rrelu`` in place."""
    return aten.rrelu_(input, lower, upper, training)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input, cut to the range from ``min_val`` to ``max_val``."""
    return in_place_or_not("hardtanh", inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place."""
    return aten.hardtanh_(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``"""
    return in_place_or_not("hardsigmoid", inplace, input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``"""
    return in_place_or_not("hardswish", inplace, input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above a threshold, ``value`` elsewhere."""
    return in_place_or_not("threshold", inplace, input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """``threshold`` in place."""
    return aten.threshold_(input, threshold, value)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``"""
    return in_place_or_not("silu", inplace, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``"""
    return in_place_or_not("mish", inplace, input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """The input times the normal distribution's probability below it; with ``"tanh"``, an approximation of it."""
    return aten.gelu(input, approximate=approximate)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension, times the sigmoid of the second."""
    return aten.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``"""
    return aten.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of ``sigmoid``, without overflow."""
    return aten.log_sigmoid(input)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; the input itself where ``beta * input`` is above a threshold."""
    return aten.softplus(input, beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``"""
    return input / (input.abs() + 1)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return aten.tanh(input)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``"""
    return input - input.tanh()


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input, 0 where its absolute value is at most ``lambd``."""
    return aten.hardshrink(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input, moved towards 0 by ``lambd``."""
    return aten.softshrink(input, lambd)


# ------------------------------------------------------------------------------------------------------------- softmax


def _dimension(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension that is meant, which PyTorch no longer wants to be left out."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """``exp(input)``, divided by its sum along a dimension."""
    return aten.softmax(input, _dimension("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """``softmax`` of the negative."""
    return aten.softmax(-input, _dimension("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of ``softmax``, without overflow."""
    return aten.log_softmax(input, _dimension("log_softmax", input, dim, _stacklevel), dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution.

    Args:
        logits: logarithms of unnormalised probabilities.
        tau: the temperature.
        hard: whether the result is one-hot, with the gradient of the soft one.
        eps: has no effect, as in PyTorch.
        dim: along which the probabilities lie.
    """
    noise = -aten.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = aten.zeros_like(logits).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft
