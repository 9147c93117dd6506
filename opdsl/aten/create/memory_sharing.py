"""Operators that move a tensor to other memory: another tensor's (``set_``), a file's, or page-locked;
``record_stream``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from opdsl.aten.create.factories import empty
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DeviceError, DTypeError, FileFormatError
from opdsl.kernels import check, copied
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.runtime import Device, Tensor, contiguous_strides, take_memory, wrap
from opdsl.runtime.geometry import geometry
from opdsl.runtime.memory import device_memory
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Stream, SymInt, TensorOptions

SETS: dict[str, Any] = {"variants": "method", "tags": "inplace_view"}
"""Options of ``op`` that the overloads of ``set_`` share."""


def check_source(self: Tensor, source: Tensor) -> None:
    """Check that a tensor may take over the memory of the tensor ``source``.

    Raises:
        DTypeError, DeviceError: the dtypes or devices differ.
        ShapeError: the tensor ``self`` is a view.
    """
    if self.dtype is not source.dtype:
        raise DTypeError(
            f"Could not set tensor of type {self.dtype} to a tensor of type {source.dtype}. Convert the source first."
        )
    if self.device != source.device:
        raise DeviceError(f"set_: expected a source on {self.device}, got one on {source.device}")
    check(not self._is_view(), "set_: a view shows the memory of its base. Set the base, or make a new tensor.")


@op("aten::set_.source_Tensor", kernel=True, **SETS)
def set_source_tensor_(self: Tensor[Alias("a", write=True)], source: Tensor) -> Tensor[Alias("a", write=True)]:
    """Make the tensor share the memory, shape and strides of ``source``."""
    check_source(self, source)
    return take_memory(self, source)


@set_source_tensor_.overload("source_Tensor_storage_offset", kernel="CompositeImplicitAutograd", **SETS)
def set_source_tensor_storage_offset_(
    self: Tensor[Alias("a", write=True)],
    source: Tensor,
    storage_offset: SymInt,
    size: list[SymInt],
    stride: list[SymInt] = (),
) -> Tensor[Alias("a", write=True)]:
    """Make the tensor share memory of ``source``, with the given offset, size and strides."""
    check(len(stride) in (0, len(size)), f"set_: expected {len(size)} strides, got {list(stride)}")
    check_source(self, source)
    return take_memory(self, source.as_strided(size, tuple(stride) or contiguous_strides(tuple(size)), storage_offset))


@set_source_tensor_.overload("", kernel=True, **SETS)
def set_nothing_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Make the tensor empty, with a single dimension of size 0, in new memory."""
    output = empty((0,), dtype=self.dtype, device=self.device)
    check_source(self, output)
    return take_memory(self, output)


@op("aten::is_set_to", kernel=True, variants="method")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether two tensors have the same memory, dtype, shape, strides and offset."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and self.dtype is tensor.dtype
        and (self.shape, self.strides, self.storage_offset()) == (tensor.shape, tensor.strides, tensor.storage_offset())
    )


# -------------------------------------------------------------------------------------------------------------- pinning


@op("aten::is_pinned", kernel="CompositeExplicitAutograd", variants="method")
def is_pinned(self: Tensor, device: Device | None = None) -> bool:
    """Return whether the tensor is in page-locked host memory, which devices read and write by themselves."""
    if not self.is_cpu:
        return False
    is_pinned = getattr(device_memory(device or Device("cuda")), "is_pinned", None)
    return is_pinned is not None and is_pinned(self.array)  # a device that copies from any memory pins none


@op("aten::pin_memory", variants="method")
def pin_memory(self: Tensor[Alias("a")], device: Device | None = None) -> Tensor[Alias("a")]:
    """Return the tensor itself if it is in page-locked memory, else a copy in page-locked memory."""
    return self if self.is_pinned(device) else _pin_memory(self, device)


@op("aten::_pin_memory", kernel="CompositeExplicitAutograd")
def _pin_memory(self: Tensor, device: Device | None = None) -> Tensor:
    """Return a copy in page-locked host memory."""
    form = geometry(self.dtype, self.device, self.shape, dense_strides(self.geometry))
    return copied(self, form, pinned=True)


_pin_memory.derivative(self=lambda grad: grad)


@op("aten::record_stream", kernel="CUDA", variants="method")
def record_stream(self: Tensor[Alias("a", write=True)], s: Stream) -> None:
    """Delay the reuse of the tensor's memory, once it is freed, until the stream ``s`` has finished its queued work."""
    device_memory(self.device).record_use(self.array, s)


# ---------------------------------------------------------------------------------------------------------------- files


@op("aten::from_file")
def from_file(filename: str, shared: bool | None = None, size: int | None = 0, *, options: TensorOptions) -> Tensor:
    """Return a vector that is mapped onto the first bytes of a file.

    Args:
        filename: path of the file.
        shared: whether writes reach the file, which is then created or extended as needed. Otherwise writes stay in the
            process, and the file must exist and be long enough.
        size: the number of elements.
        options: the dtype of the elements.

    Raises:
        FileFormatError: the file cannot be opened, or is too short.
    """
    ...


@from_file.kernel("CPU")
def from_file_kernel(filename, shared, size, dtype):
    wanted, count = dtype or get_default_dtype(), size or 0
    check(count >= 0, f"from_file: expected a size that is not negative, got {count}")
    if not count:
        return empty((0,), dtype=wanted)
    path = Path(filename)
    try:
        if not shared and path.stat().st_size < count * wanted.itemsize:
            raise FileFormatError(
                f"from_file: {filename} has {path.stat().st_size} bytes, fewer than the {count * wanted.itemsize} of "
                f"{count} elements of {wanted}. Request fewer elements, or pass shared=True, which makes it longer."
            )
        if shared:
            path.touch()
        return wrap(numpy.memmap(path, wanted.numpy, "r+" if shared else "c", shape=(count,)), wanted)
    except OSError as error:
        raise FileFormatError(f"from_file: unable to open {filename}: {error.strerror}.") from error


@from_file.kernel("Meta")
def from_file_meta_kernel(size, dtype):
    return empty((size or 0,), dtype=dtype or get_default_dtype(), device=Device("meta"))
