"""Tensors that are given the memory of others."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.factories import empty
from opdsl.declare import op
from opdsl.errors import DeviceError, DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, contiguous_strides, take_memory
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

SETS: dict[str, Any] = {"variants": "method", "tags": "inplace_view"}
"""What the entries say alike."""

FREELY: dict[str, Any] = {**SETS, "device_check": "NoCheck", "device_guard": False}
"""Of those that take another tensor."""


def check_source(self: Tensor, source: Tensor) -> None:
    """That a tensor may take the memory of another one.

    Raises:
        DTypeError, DeviceError: it is of another kind. ShapeError: the tensor is a view.
    """
    if self.dtype is not source.dtype:
        raise DTypeError(
            f"Could not set tensor of type {self.dtype} to a tensor of type {source.dtype}. Convert the source first."
        )
    if self.device != source.device:
        raise DeviceError(f"set_: expected a source on {self.device}, got one on {source.device}")
    check(not self._is_view(), "set_: a view shows the memory of its base. Set the base, or make a new tensor.")


@op("aten::set_.source_Tensor", kernel=True, autogen="set.source_Tensor, set.source_Tensor_out", **FREELY)
def set_source_tensor_(self: Tensor[Alias("a", write=True)], source: Tensor) -> Tensor[Alias("a", write=True)]:
    """Has the tensor show what another one shows, in its memory."""
    check_source(self, source)
    return take_memory(self, source)


@set_source_tensor_.overload("source_Tensor_storage_offset", kernel="CompositeImplicitAutograd", **FREELY)
def set_source_tensor_storage_offset_(
    self: Tensor[Alias("a", write=True)],
    source: Tensor,
    storage_offset: SymInt,
    size: list[SymInt],
    stride: list[SymInt] = (),
) -> Tensor[Alias("a", write=True)]:
    """Has the tensor show any part of the memory of another one."""
    check(len(stride) in (0, len(size)), f"set_: expected {len(size)} strides, got {list(stride)}")
    check_source(self, source)
    return take_memory(self, source.as_strided(size, tuple(stride) or contiguous_strides(tuple(size)), storage_offset))


@set_source_tensor_.overload("", kernel=True, autogen="set, set.out", **SETS)
def set_nothing_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Has the tensor show nothing: one dimension without elements."""
    made = empty((0,), dtype=self.dtype, device=self.device)
    check_source(self, made)
    return take_memory(self, made)


@op("aten::is_set_to", kernel=True, variants="method", device_check="NoCheck", device_guard=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors show the same elements of one memory in the same way."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and self.dtype is tensor.dtype
        and (self.shape, self.strides, self.storage_offset()) == (tensor.shape, tensor.strides, tensor.storage_offset())
    )
