"""Methods of PyTorch's tensors that are not operators: ``new_tensor``, ``type``, ``apply_``, ``map_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from opdsl.aten.create import construction
from opdsl.aten.shape.views import expand
from opdsl.errors import ArgumentError, DeviceError, DTypeError, RequiresGradError
from opdsl.runtime import Device, DType, Tensor, install_method


def new_tensor(
    self: Tensor,
    data: object,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor with a copy of the data, by default with the dtype and device of this tensor.

    Args:
        data: see ``opdsl.tensor``.
        dtype, device: of the result, if not this tensor's.
        requires_grad: whether autograd records operations on the result.

    Raises:
        ConversionError: lists of unequal length, or elements that are no numbers.

    >>> import opdsl
    >>> opdsl.ones(2, dtype=opdsl.int16).new_tensor([1, 2])
    tensor([1, 2], dtype=opdsl.int16)
    """
    place = self.device if device is None else device
    return construction.tensor(data, dtype=dtype or self.dtype, device=place, requires_grad=requires_grad)


@overload
def type_(self: Tensor, dtype: None = None, non_blocking: bool = False) -> str: ...
@overload
def type_(self: Tensor, dtype: DType, non_blocking: bool = False) -> Tensor: ...
def type_(self: Tensor, dtype: DType | None = None, non_blocking: bool = False) -> Tensor | str:
    """Return the tensor converted to a dtype; without ``dtype`` return the name of its class in PyTorch's older style.

    Args:
        dtype: the dtype to convert to.
        non_blocking: whether a copy between devices may continue after the call returns.

    Returns:
        The tensor itself if it has the dtype, else a new one; or the name.

    Raises:
        ArgumentError: ``dtype`` is the name of a class, which only PyTorch accepts.

    >>> import opdsl
    >>> opdsl.ones(2).type(opdsl.int64), opdsl.ones(2).type()
    (tensor([1, 1]), 'opdsl.FloatTensor')
    """
    if isinstance(dtype, str):
        raise ArgumentError(
            f"type(): expected a dtype, but got the string {dtype!r}. Pass the dtype, such as opdsl.float64."
        )
    if dtype is not None:
        return self.to(dtype=dtype, non_blocking=non_blocking)
    place = "" if self.device.type == "cpu" else f"{self.device.type}."
    return f"opdsl.{place}{self.dtype.scalar_type}Tensor"


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element in place by the result of a Python function; slow, as there is a call for each element.

    Args:
        callable: takes an element as a Python number and returns one.

    Raises:
        DeviceError: the tensor is not on the CPU.
        RequiresGradError: the tensor requires grad.

    >>> import opdsl
    >>> opdsl.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
    tensor([2., 5.])
    """
    return _replaced("apply_", self, [], callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element in place by the result of a Python function of this element and that of another tensor.

    Args:
        tensor: of the same dtype; broadcasts to this one's shape.
        callable: takes two Python numbers and returns one.

    Raises:
        DeviceError, RequiresGradError: see ``apply_``.
        DTypeError: the dtypes differ.
        ShapeError: the shapes do not fit.

    >>> import opdsl
    >>> opdsl.tensor([1.0, 4.0]).map_(opdsl.tensor(2.0), lambda x, y: x * y)
    tensor([2., 8.])
    """
    if tensor.dtype is not self.dtype:
        raise DTypeError(f"map_(): expected a tensor of {self.dtype} like this one, but got {tensor.dtype}")
    return _replaced("map_", self, [tensor], callable)


def _replaced(name: str, self: Tensor, others: list[Tensor], function: Callable[..., Any]) -> Tensor:
    for operand in (self, *others):
        if operand.device.type != "cpu":
            raise DeviceError(f"{name}(): a Python function takes elements on the CPU, but got one on {operand.device}")
        if operand.requires_grad:
            raise RequiresGradError(f"{name}(): a Python function has no gradient, but a tensor requires grad")
    columns = [side.flatten().tolist() for side in (self, *(expand(other, self.shape) for other in others))]
    output = construction.tensor([function(*row) for row in zip(*columns, strict=True)], dtype=self.dtype)
    return self.copy_(output.view(self.shape))


for _name, _method in (("new_tensor", new_tensor), ("type", type_), ("apply_", apply_), ("map_", map_)):
    install_method(_name, _method)
