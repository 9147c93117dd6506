"""Tensors from Python's data."""

from __future__ import annotations

from opdsl.dispatch import get_default_dtype
from opdsl.runtime import Device, DType, Tensor, interchange


def tensor(
    data: object, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of the data.

    Args:
        data: a number, nested lists of numbers, a NumPy array, or a tensor.
        dtype: of the result; that of arrays and tensors by default, for lists what their numbers promote to, floats
            having the default dtype.
        device: where it is made; the CPU by default.
        requires_grad: whether autograd follows it.

    Raises:
        ConversionError: lists of unequal length, or elements that are no numbers.
        RequiresGradError: ``requires_grad`` for a dtype that has no gradients.

    >>> import opdsl
    >>> opdsl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    made = interchange.tensor(data, dtype, device, default_dtype=get_default_dtype())
    return made.requires_grad_() if requires_grad else made
