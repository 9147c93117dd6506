"""Tensors from Python's data."""

from __future__ import annotations

import numpy

from opdsl.dispatch import get_default_dtype, is_inference_mode_enabled
from opdsl.runtime import Device, DType, Tensor, backends, cpu, from_numpy, interchange


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
    if is_inference_mode_enabled():
        made.geometry = made.geometry.replace(is_inference=True)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: object, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """A tensor of the data, without a copy where that can be.

    Args:
        data: as of ``tensor``. A tensor is returned itself, the memory of a NumPy array is shared.
        dtype, device: of the result; with others than the data's it is a copy.

    Raises:
        ConversionError: lists of unequal length, or elements that are no numbers.

    >>> import numpy, opdsl
    >>> array = numpy.zeros(2)
    >>> opdsl.as_tensor(array).add_(1), array.tolist()
    (tensor([1., 1.], dtype=opdsl.float64), [1.0, 1.0])
    """
    place = cpu if device is None else backends.concrete(Device(device))
    if isinstance(data, Tensor) and (device is None or data.device is place):
        made = data
    elif isinstance(data, numpy.ndarray) and place is cpu:
        made = from_numpy(data)
    elif hasattr(data, "__cuda_array_interface__") and place.type == "cuda":
        made = interchange.from_cuda_array(data)
        made = made if made.device is place else made.to(place)
    else:
        return tensor(data, dtype=dtype, device=device)
    return made if dtype in (None, made.dtype) else tensor(data, dtype=dtype)
