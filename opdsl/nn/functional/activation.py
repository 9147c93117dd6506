# mypy: disable-error-code="empty-body"
"""Activation functions."""

from __future__ import annotations

import warnings

from opdsl._attributes import aten
from opdsl.nn.functional._families import activation, in_place
from opdsl.runtime import DType, Tensor


@activation
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``

    >>> F.relu(x)
    tensor([0.0000, 0.5000, 4.0000])
    """


relu_ = in_place(relu)


@activation
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``

    >>> F.relu6(2 * x)
    tensor([0., 1., 6.])
    """


@activation
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input where it is positive, and ``alpha * (exp(input) - 1)`` elsewhere.

    Args:
        alpha: the result approaches ``-alpha`` for large negative numbers.

    >>> F.elu(x)
    tensor([-0.8647,  0.5000,  4.0000])
    """


elu_ = in_place(elu)


@activation
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``elu``, scaled such that mean and variance of the input are kept.

    >>> F.selu(x)
    tensor([-1.5202,  0.5254,  4.2028])
    """


selu_ = in_place(selu)


@activation
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input where it is positive, and ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Args:
        alpha: the result approaches ``-alpha`` for large negative numbers; the slope at 0 is 1 for any ``alpha``.

    >>> F.celu(x, 2.0)
    tensor([-1.2642,  0.5000,  4.0000])
    """


celu_ = in_place(celu)


@activation
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return the input where it is positive, and ``negative_slope * input`` elsewhere.

    Args:
        negative_slope: the factor of negative numbers.

    >>> F.leaky_relu(x, 0.1)
    tensor([-0.2000,  0.5000,  4.0000])
    """


leaky_relu_ = in_place(leaky_relu)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the input where it is positive, and ``weight * input`` elsewhere, with one weight, or one for each
    channel.

    Args:
        input: any numbers; the second dimension is the channels.
        weight: one number, or one for each channel.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.prelu(x, opdsl.tensor([0.25]))
    tensor([-0.5000,  0.5000,  4.0000])
    """
    return aten.prelu(input, weight)


@activation
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return ``leaky_relu`` with random slopes between ``lower`` and ``upper``, or their mean unless ``training``.

    Args:
        lower, upper: the range of random slopes for negative numbers.
        training: whether slopes are random; otherwise the mean of the range is used.

    >>> F.rrelu(x, 0.1, 0.3)
    tensor([-0.4000,  0.5000,  4.0000])
    """


rrelu_ = in_place(rrelu)


@activation
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return the input, limited to the range from ``min_val`` to ``max_val``.

    Args:
        min_val, max_val: the ends of the range.

    >>> F.hardtanh(x)
    tensor([-1.0000,  0.5000,  1.0000])
    """


hardtanh_ = in_place(hardtanh)


@activation
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``

    >>> F.hardsigmoid(x)
    tensor([0.1667, 0.5833, 1.0000])
    """


@activation
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``

    >>> F.hardswish(x)
    tensor([-0.3333,  0.2917,  4.0000])
    """


@activation
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return the input where it is above a threshold, and ``value`` elsewhere.

    Args:
        threshold: the input is kept above this number.
        value: replaces the other numbers.

    >>> F.threshold(x, 1.0, 20.0)
    tensor([20., 20.,  4.])
    """


threshold_ = in_place(threshold)


@activation
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``

    >>> F.silu(x)
    tensor([-0.2384,  0.3112,  3.9281])
    """


@activation
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``

    >>> F.mish(x)
    tensor([-0.2525,  0.3752,  3.9974])
    """


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input * Phi(input)`` with the normal distribution function ``Phi``, or an approximation of it by ``tanh``.

    Args:
        input: any numbers.
        approximate: ``"none"``, or ``"tanh"``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.gelu(opdsl.tensor([-2.0, 0.5, 4.0]))
    tensor([-0.0455,  0.3457,  3.9999])
    """
    return aten.gelu(input, approximate=approximate)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along a dimension, multiplied by the sigmoid of the second half.

    Args:
        input: an even number of elements along the dimension.
        dim: the dimension that is halved.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.glu(opdsl.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    return aten.glu(input, dim)


@activation
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``

    >>> F.sigmoid(x)
    tensor([0.1192, 0.6225, 0.9820])
    """


def logsigmoid(input: Tensor) -> Tensor:
    """Return the logarithm of ``sigmoid``, without overflow.

    Args:
        input: any numbers.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.logsigmoid(x)
    tensor([-2.1269, -0.4741, -0.0181])
    """
    return aten.log_sigmoid(input)


@activation
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; the input itself where ``beta * input`` is above a threshold.

    Args:
        beta: the sharpness of the bend at 0.
        threshold: limit of ``beta * input``, above which the result is the input.

    >>> F.softplus(x)
    tensor([0.1269, 0.9741, 4.0181])
    """


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``

    Args:
        input: any numbers.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.softsign(x)
    tensor([-0.6667,  0.3333,  0.8000])
    """
    return input / (input.abs() + 1)


@activation
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent.

    >>> F.tanh(x)
    tensor([-0.9640,  0.4621,  0.9993])
    """


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``

    Args:
        input: any numbers.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.tanhshrink(x)
    tensor([-1.0360,  0.0379,  3.0007])
    """
    return input - input.tanh()


@activation
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return the input, with 0 where its absolute value is at most ``lambd``.

    Args:
        lambd: the largest absolute value that becomes 0.

    >>> F.hardshrink(x)
    tensor([-2.,  0.,  4.])
    """


@activation
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return the input, moved towards 0 by ``lambd``; numbers that would cross 0 become 0.

    Args:
        lambd: the distance by which they are moved.

    >>> F.softshrink(x)
    tensor([-1.5000,  0.0000,  3.5000])
    """


# ------------------------------------------------------------------------------------------------------------- softmax


def _dimension(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """Return ``dim``, or PyTorch's deprecated default if it is None, with a warning."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Return ``exp(input)``, divided by its sum along a dimension.

    Args:
        input: any numbers.
        dim: the dimension along which they sum to 1; None chooses the first or second one, with a warning, as in
            PyTorch.
        dtype: the dtype that the input is converted to first, which is that of the result.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.softmax(x, 0)
    tensor([0.0024, 0.0292, 0.9684])
    """
    return aten.softmax(input, _dimension("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Return ``softmax`` of the negative input.

    Args:
        input: any numbers.
        dim, dtype: see ``softmax``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.softmin(x, 0)
    tensor([0.9220, 0.0757, 0.0023])
    """
    return aten.softmax(-input, _dimension("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of ``softmax``, without overflow.

    Args:
        input: any numbers.
        dim, dtype: see ``softmax``.

    >>> import opdsl, opdsl.nn.functional as F
    >>> x = opdsl.tensor([-2.0, 0.5, 4.0])
    >>> F.log_softmax(x, 0)
    tensor([-6.0322, -3.5322, -0.0322])
    """
    return aten.log_softmax(input, _dimension("log_softmax", input, dim, _stacklevel), dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return random samples of the Gumbel-softmax distribution.

    Args:
        logits: logarithms of unnormalized probabilities.
        tau: the temperature.
        hard: whether the result is one-hot, with the gradient of the soft one.
        eps: has no effect, as in PyTorch.
        dim: the dimension of the probabilities.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.gumbel_softmax(opdsl.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    noise = -aten.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = aten.zeros_like(logits).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft
