"""Conversion of tensors and other values between torch and opdsl. Memory is shared, never copied."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import torch
import torch.utils.dlpack

from opdsl.errors import InterchangeError
from opdsl.interop.torch.generators import TorchGenerator, theirs
from opdsl.runtime import Device, DType, Generator, Layout, MemoryFormat, Tensor, from_dlpack
from opdsl.runtime.dlpack import require_torch_memory
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.views import required_storage

__all__ = [
    "DTYPES",
    "META",
    "TORCH_DTYPES",
    "array_over",
    "geometry_of",
    "over",
    "proxy",
    "shared",
    "to_opdsl",
    "to_torch",
    "torch_tensor",
    "with_bits",
]

TORCH_DTYPES: Mapping[DType, torch.dtype] = MappingProxyType(
    {dtype: getattr(torch, dtype.name) for dtype in ALL_DTYPES}
)
DTYPES: Mapping[torch.dtype, DType] = MappingProxyType({theirs: ours for ours, theirs in TORCH_DTYPES.items()})

META = Device("meta")

_FORMATS = {memory_format: getattr(torch, memory_format.name) for memory_format in MemoryFormat}
_LAYOUTS = {Layout.strided: torch.strided}


def geometry_of(source: torch.Tensor, device: Device | None = None) -> TensorMeta:
    """Return the geometry of a torch tensor; symbolic sizes stay symbolic.

    Args:
        source: strided, of a dtype that opdsl has.
        device: replaces the tensor's own device.

    Raises:
        InterchangeError: opdsl does not have the tensor's dtype or device, or the tensor is sparse.
    """
    if source.dtype not in DTYPES or source.layout is not torch.strided:
        raise InterchangeError(
            f"opdsl has no tensors of {source.dtype} and {source.layout}. Convert it first: x.float(), x.to_dense()."
        )
    place = source.device if device is None else device
    try:
        return _known_geometry(source.dtype, place, source.shape, source.stride())
    except TypeError:  # symbolic sizes are unhashable
        return _geometry(source.dtype, place, source.shape, source.stride())


def _geometry(
    dtype: torch.dtype, device: torch.device | Device, shape: tuple[int, ...], strides: tuple[int, ...]
) -> TensorMeta:
    place = device if isinstance(device, Device) else Device(str(device))
    return geometry(DTYPES[dtype], place, tuple(shape), tuple(strides))


_known_geometry = lru_cache(maxsize=4096)(_geometry)


def shared(source: torch.Tensor) -> Tensor:
    """Return a tensor over the memory of a torch tensor on the CPU or on CUDA.

    Raises:
        InterchangeError: its memory cannot be shared.
    """
    form = geometry_of(source)
    if form.device.type == "cpu":
        return over(array_over(source, form), form)
    return from_dlpack(source.detach())


def proxy(source: torch.Tensor, device: Device | None = None) -> Tensor:
    """Return a tensor that represents a torch tensor of any kind while opdsl's Python code runs on it; see
    ``OnTorch``. A device replaces the tensor's own.
    """
    form = geometry_of(source, device)
    return over(source, _followed(form) if source.requires_grad else form)


@lru_cache(maxsize=4096)
def _followed(form: TensorMeta) -> TensorMeta:
    """Return a geometry with ``requires_grad`` set."""
    return form.replace(requires_grad=True)


def over(array: Any, form: TensorMeta) -> Tensor:
    """Return a tensor with the given geometry and element storage, which is an array, a torch tensor, or None."""
    prepare()
    tensor = Tensor()
    if array is not None:
        tensor.array = array
    tensor.geometry = form
    tensor._writes = 0
    tensor._base = None
    return tensor


class _Layout(NamedTuple):
    """Memory layout of a NumPy array over foreign memory.

    memory: the ctypes class of the memory.
    shape, steps: of the array, in elements and in bytes.
    reach: number of elements between the first and the end of the last.
    """

    memory: type[ctypes.Array[ctypes.c_char]]
    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    steps: tuple[int, ...]
    reach: int


@lru_cache(maxsize=4096)
def _layout(form: TensorMeta) -> _Layout:
    dtype, reach = form.dtype.numpy, required_storage(form.shape, form.strides)
    steps = tuple(step * dtype.itemsize for step in form.strides)
    return _Layout(ctypes.c_char * (reach * dtype.itemsize), form.shape, dtype, steps, reach)


def array_over(source: torch.Tensor, form: TensorMeta) -> numpy.ndarray[Any, Any]:
    """Return a NumPy array over the memory of a CPU tensor of torch. (``Tensor.numpy`` would make it non-resizable.)

    Raises:
        InterchangeError: its storage is too small.
    """
    memory, shape, dtype, steps, reach = _layout(form)
    if form.numel == 0:
        return numpy.ndarray(shape, dtype, numpy.empty(1, dtype), 0, steps)
    require_torch_memory(source, reach)
    held: Any = memory.from_address(source.data_ptr())
    held.source = source  # the array keeps it alive
    return numpy.ndarray(shape, dtype, held, 0, steps)


def torch_tensor(source: Tensor) -> torch.Tensor:
    """Return a torch tensor over the memory of a tensor, on meta one of the same geometry; the torch tensor itself for
    a proxy.

    Raises:
        InterchangeError: its memory cannot be shared.
    """
    array = getattr(source, "array", None)
    if isinstance(array, torch.Tensor):
        return array
    form = source.geometry
    if form.device.type == "meta":
        return torch.empty_strided(form.shape, form.strides, dtype=TORCH_DTYPES[form.dtype], device="meta")
    if form.read_only:
        raise InterchangeError("torch shares writable memory (got a tensor that is read-only). Clone it first.")
    if form.device.type != "cpu":
        return torch.utils.dlpack.from_dlpack(source)
    output = torch.from_numpy(array)
    if output.dtype is not TORCH_DTYPES[form.dtype]:
        output = output.view(TORCH_DTYPES[form.dtype])
    return with_bits(output if output.stride() == form.strides else output.as_strided(form.shape, form.strides), form)


def with_bits(tensor: torch.Tensor, form: TensorMeta) -> torch.Tensor:
    """Set the conjugate and negative bits of a torch tensor according to a geometry, and return it."""
    if form.is_conj:
        torch._C._set_conj(tensor, True)
    if form.is_neg:
        torch._C._set_neg(tensor, True)
    return tensor


# ------------------------------------------------------------------------------------------------------- other values


def to_opdsl(value: Any, tensor: Callable[[torch.Tensor], Tensor]) -> Any:
    """Convert an argument of a torch operator to opdsl.

    Args:
        value: as torch passes it to a kernel.
        tensor: converts tensors: ``shared`` or ``proxy``, for example.
    """
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, list | tuple):
        return tuple(to_opdsl(element, tensor) for element in value)
    convert = _TO_OPDSL.get(type(value))
    return value if convert is None else convert(value)


def to_torch(value: Any) -> Any:
    """Convert an opdsl value to torch: tensors, dtypes, devices, layouts, memory formats, generators, and lists of
    them.
    """
    if isinstance(value, Tensor):
        return torch_tensor(value)
    if isinstance(value, list | tuple):
        return [to_torch(element) for element in value]
    convert = _TO_TORCH.get(type(value))
    return value if convert is None else convert(value)


def _dtype(value: torch.dtype) -> DType:
    dtype = DTYPES.get(value)
    if dtype is None:
        raise InterchangeError(f"opdsl has no {value}. It has {', '.join(dtype.name for dtype in DTYPES.values())}.")
    return dtype


def _inverse(table: Mapping[Any, Any], what: str) -> Callable[[Any], Any]:
    known = {theirs: ours for ours, theirs in table.items()}

    def convert(value: Any) -> Any:
        if value not in known:
            raise InterchangeError(f"opdsl has no {what} {value}. It has {', '.join(map(str, known))}.")
        return known[value]

    return convert


_TO_OPDSL: dict[type, Callable[[Any], Any]] = {
    torch.dtype: _dtype,
    torch.device: lambda value: Device(str(value)),
    torch.layout: _inverse(_LAYOUTS, "layout"),
    torch.memory_format: _inverse(_FORMATS, "memory format"),
    torch.Generator: TorchGenerator,
}
_TO_TORCH: dict[type, Callable[[Any], Any]] = {
    DType: TORCH_DTYPES.__getitem__,
    Device: lambda value: torch.device(str(value)),
    Layout: _LAYOUTS.__getitem__,
    MemoryFormat: _FORMATS.__getitem__,
    Generator: theirs,
    TorchGenerator: theirs,
}
