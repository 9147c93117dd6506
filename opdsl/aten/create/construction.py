"""Functions that make tensors from Python data and arrays: ``tensor``, ``as_tensor``, ``asarray``, ``from_dlpack``."""

from __future__ import annotations

import numpy

from opdsl.dispatch import get_default_dtype, is_inference_mode_enabled
from opdsl.errors import InterchangeError
from opdsl.runtime import Device, DType, Tensor, cpu, from_numpy, interchange
from opdsl.runtime.memory import concrete_device


def tensor(
    data: object, *, dtype: DType | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor with a copy of the data.

    Args:
        data: a number, nested lists of numbers, a NumPy array, or a tensor.
        dtype: of the result. By default that of an array or tensor; for lists the one that their numbers promote to,
            where floats have the default dtype.
        device: of the result; the CPU by default.
        requires_grad: whether autograd records operations on the result.

    Raises:
        ConversionError: lists of unequal length, or elements that are no numbers.
        RequiresGradError: ``requires_grad`` for a dtype that has no gradients.

    >>> import opdsl
    >>> opdsl.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    output = interchange.tensor(data, dtype, device, default_dtype=get_default_dtype())
    if is_inference_mode_enabled():
        output.geometry = output.geometry.replace(is_inference=True)
    return output.requires_grad_() if requires_grad else output


def as_tensor(data: object, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return a tensor of the data, without a copy where possible.

    Args:
        data: see ``tensor``. A tensor is returned itself; the memory of a NumPy array is shared.
        dtype, device: of the result, which is a copy if they differ from those of the data.

    Raises:
        ConversionError: lists of unequal length, or elements that are no numbers.

    >>> import numpy, opdsl
    >>> array = numpy.zeros(2)
    >>> opdsl.as_tensor(array).add_(1), array.tolist()
    (tensor([1., 1.], dtype=opdsl.float64), [1.0, 1.0])
    """
    place = cpu if device is None else concrete_device(Device(device))
    if isinstance(data, Tensor) and (device is None or data.device is place):
        result = data
    elif isinstance(data, numpy.ndarray) and place is cpu:
        result = from_numpy(data)
    elif hasattr(data, "__cuda_array_interface__") and place.type == "cuda":
        result = interchange.from_cuda_array(data)
        result = result if result.device is place else result.to(place)
    else:
        return tensor(data, dtype=dtype, device=device)
    return result if dtype in (None, result.dtype) else tensor(data, dtype=dtype)


def asarray(
    obj: object,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return a tensor of the data, which shares its memory where possible unless ``copy`` is True.

    Args:
        obj: a tensor, a number, nested sequences of numbers, or an object with DLPack, the buffer protocol or
            ``__array__``.
        dtype: of the result; that of the data by default.
        device: of the result; that of the data by default.
        copy: True always copies, False never does, None only where necessary.
        requires_grad: whether autograd records operations on the result; for None the value of ``obj`` if it is a
            tensor, else False.

    Raises:
        InterchangeError: ``copy=False``, and the data cannot be shared; it is a ValueError.
        ConversionError: lists of unequal length, or elements that are no numbers.

    >>> import array, opdsl
    >>> numbers = array.array("d", [1.0, 2.0])
    >>> opdsl.asarray(numbers, copy=False).add_(1), numbers
    (tensor([2., 3.], dtype=opdsl.float64), array('d', [2.0, 3.0]))
    """
    shared = shared_memory(obj)
    if shared is None:
        if copy is False:
            raise InterchangeError(f"{type(obj).__name__} becomes a tensor by a copy only (got copy=False)")
        output = tensor(obj, dtype=dtype, device=device)
    else:
        place = shared.device if device is None else concrete_device(Device(device))
        changes = place is not shared.device or dtype not in (None, shared.dtype)
        if changes and copy is False:
            raise InterchangeError(
                f"a tensor of {shared.dtype} on {shared.device} becomes one of {dtype or shared.dtype} on {place} by a "
                "copy only (got copy=False)"
            )
        output = shared.to(device=place, dtype=dtype or shared.dtype, copy=bool(copy))
    if requires_grad is None or requires_grad == output.requires_grad:
        return output
    return output.detach().requires_grad_(requires_grad)


def from_dlpack(ext_tensor: object, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of an object with ``__dlpack__``, a PyTorch tensor for example, or a copy of it.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a DLPack capsule.
        device: of the result; that of the object by default.
        copy: True always copies, False never does, None only where necessary.

    Raises:
        InterchangeError: the memory cannot be shared and ``copy`` is False, or opdsl does not have its dtype.

    >>> import numpy, opdsl
    >>> array = numpy.arange(3.0)
    >>> opdsl.from_dlpack(array).add_(1), opdsl.from_dlpack(array, copy=True).zero_(), array.tolist()
    (tensor([1., 2., 3.], dtype=opdsl.float64), tensor([0., 0., 0.], dtype=opdsl.float64), [1.0, 2.0, 3.0])
    """
    shared = interchange.from_dlpack(ext_tensor)
    place = shared.device if device is None else concrete_device(Device(device))
    if shared.device is place:
        return shared.clone() if copy else shared
    if copy is False:
        raise InterchangeError(f"memory on {shared.device} reaches {place} by a copy only (got copy=False)")
    return shared.to(place)


def shared_memory(data: object) -> Tensor | None:
    """Return a tensor over the memory of the data, or None if the data has no memory that a tensor can share."""
    if isinstance(data, Tensor):
        return data
    try:
        if isinstance(data, numpy.generic):
            return None
        if isinstance(data, numpy.ndarray):
            return from_numpy(data)
        if hasattr(data, "__cuda_array_interface__"):
            return interchange.from_cuda_array(data)
        if hasattr(data, "__dlpack__"):
            return from_dlpack(data)
        if isinstance(data, (bytes, bytearray)):
            return from_numpy(numpy.frombuffer(data, numpy.uint8))
        return from_numpy(numpy.asarray(memoryview(data)))  # type: ignore[arg-type]  # the question is whether it is one
    except (InterchangeError, TypeError):
        return None
