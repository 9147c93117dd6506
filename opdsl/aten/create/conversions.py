"""Operators and tensor methods that convert the dtype, device or memory order of a tensor: ``to``, ``cpu``, ``cuda``,
``float``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from opdsl.declare import op, traceable
from opdsl.kernels import copied
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.runtime import (
    Device,
    DType,
    Layout,
    MemoryFormat,
    Tensor,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    install_method,
    int8,
    int16,
    int32,
    int64,
    strides_for,
    uint8,
)
from opdsl.runtime.geometry import geometry
from opdsl.schema import Alias
from opdsl.schema.vocabulary import TensorOptions


@op("aten::_to_copy", tags="core")
def to_copy(
    self: Tensor, *, options: TensorOptions, non_blocking: bool = False, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Return a copy with another dtype, device or memory format."""
    ...


to_copy.sharding(elementwise=True)


@to_copy.kernel("CompositeExplicitAutograd")
def to_copy_kernel(self, dtype, device, pin_memory, non_blocking, memory_format):
    order = memory_format or MemoryFormat.preserve_format
    keeps_order = order is MemoryFormat.preserve_format
    strides = dense_strides(self.geometry) if keeps_order else strides_for(self.shape, order)
    form = geometry(dtype or self.dtype, device or self.device, self.shape, strides)
    # As in PyTorch, a copy to the host that continues after this function returns needs page-locked memory.
    waits = not (non_blocking and self.is_cuda and form.device.type == "cpu")
    return copied(self, form, non_blocking=non_blocking, pinned=bool(pin_memory) or not waits)


# Autograd converts every gradient to the dtype of its input, so only the device is restored here.
to_copy.derivative(self=lambda grad, self: grad.to(self.device))


@traceable
def converted(
    self: Tensor,
    dtype: DType | None,
    device: Device | None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
    layout: Layout | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Return the tensor itself if it has the requested dtype, device, layout and order and ``copy`` is False, else a
    converted copy (``to_will_alias`` of ATen).
    """
    same = dtype in (None, self.dtype) and device in (None, self.device) and layout in (None, self.layout)
    keeps_order = memory_format in (None, MemoryFormat.preserve_format, self.geometry.suggested_memory_format())
    if same and keeps_order and not copy:
        return self
    return to_copy(
        self,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        non_blocking=non_blocking,
        memory_format=memory_format,
    )


@op("aten::to.dtype_layout", variants="method")
def to_dtype_layout(
    self: Tensor[Alias("a")],
    *,
    options: TensorOptions,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """Return the tensor itself if it has the requested dtype, device and order, else a converted copy; with ``copy``
    always a copy.
    """
    return converted(self, non_blocking=non_blocking, copy=copy, memory_format=memory_format, **options)


@op("aten::to.device", variants="method")
def to_device(
    self: Tensor[Alias("a")],
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """Return the tensor itself if it has that device and dtype, else a converted copy; with ``copy`` always a copy."""
    return converted(self, dtype, device, non_blocking, copy, memory_format)


@op("aten::to.dtype", variants="method")
def to_dtype(
    self: Tensor[Alias("a")],
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """Return the tensor itself if it has that dtype, else a converted copy; with ``copy`` always a copy."""
    return converted(self, dtype, None, non_blocking, copy, memory_format)


@op("aten::to.other", variants="method")
def to_other(
    self: Tensor[Alias("a")],
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """Return the tensor itself if ``other`` has its dtype and device, else a copy converted to these."""
    return converted(self, other.dtype, other.device, non_blocking, copy, memory_format)


# ---------------------------------------------------------------------------------------------------- methods of Tensor

# The overloads as the methods call them: with untyped arguments, which the overloads check against their schemas.
in_dtype: Callable[..., Tensor] = to_dtype
like: Callable[..., Tensor] = to_other
otherwise: Callable[..., Tensor] = to_dtype_layout


@overload
def to(
    self: Tensor,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
@overload
def to(
    self: Tensor,
    device: Device | str | int | None = None,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
@overload
def to(
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: MemoryFormat | None = None,
) -> Tensor: ...
def to(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """Return the tensor converted to another dtype, device or both, or the tensor itself if it has them already.

    Call it as ``x.to(dtype)``, ``x.to(device, dtype=None)`` or ``x.to(tensor)``, each with ``non_blocking=False``,
    ``copy=False`` and ``memory_format=``.

    Args:
        args, named: the arguments of one of these forms.

    Raises:
        ArgumentError: the arguments fit none of these forms.

    >>> import opdsl
    >>> opdsl.tensor([1, 2]).to(opdsl.float64)
    tensor([1., 2.], dtype=opdsl.float64)
    """
    first = args[0] if args else None
    if isinstance(first, Tensor) or "tensor" in named:
        return like(self, *args, **{"other" if name == "tensor" else name: value for name, value in named.items()})
    if isinstance(first, (DType, type)):
        return in_dtype(self, *args, **named)
    by_place = dict(zip(("device", "dtype", "non_blocking", "copy"), args, strict=False))
    return otherwise(self, *args[4:], **by_place, **named)


def cpu(self: Tensor, *, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
    """Return a copy of the tensor on the CPU, or the tensor itself if it is on the CPU.

    Args:
        memory_format: the order of the elements of the result; by default that of the tensor.
    """
    if memory_format is MemoryFormat.preserve_format:
        return self if self.device.type == "cpu" else otherwise(self, device="cpu")
    return otherwise(self, device="cpu", memory_format=memory_format)


def cuda(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    *,
    memory_format: MemoryFormat = MemoryFormat.preserve_format,
) -> Tensor:
    """Return a copy of the tensor on a CUDA device, or the tensor itself if it is on that device.

    Args:
        device: which CUDA device; the current one by default.
        non_blocking: has no effect; the call always waits for the copy.
        memory_format: see ``cpu``.
    """
    place = "cuda" if device is None else device
    return otherwise(self, device=place, non_blocking=non_blocking, memory_format=memory_format)


# The methods that convert, as PyTorch names them.
DTYPES = {
    "bfloat16": bfloat16,
    "bool": bool_,
    "byte": uint8,
    "cdouble": complex128,
    "cfloat": complex64,
    "char": int8,
    "double": float64,
    "float": float32,
    "half": float16,
    "int": int32,
    "long": int64,
    "short": int16,
}


def dtype_method(name: str, dtype: DType) -> Callable[..., Tensor]:
    """Return the Tensor method that converts to a dtype, such as ``Tensor.float``."""

    def method(self: Tensor, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        if memory_format is MemoryFormat.preserve_format:
            return self if self.dtype is dtype else in_dtype(self, dtype)
        return in_dtype(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return the tensor converted to {dtype}; the tensor itself if it has that dtype.

    Args:
        memory_format: the memory layout of the result; by default that of the tensor.
    """
    return method


METHODS: dict[str, Callable[..., Tensor]] = {
    "to": to,
    "cpu": cpu,
    "cuda": cuda,
    **{name: dtype_method(name, dtype) for name, dtype in DTYPES.items()},
}

for key, method in METHODS.items():
    install_method(key, method)


@op("aten::_autocast_to_reduced_precision", variants="method")
def _autocast_to_reduced_precision(
    self: Tensor[Alias("a")], cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: DType, cpu_dtype: DType
) -> Tensor[Alias("a")]:
    """Return a float32 tensor converted to the autocast dtype of its device, if autocast is enabled; return others
    unchanged.
    """
    enabled, dtype = (cpu_enabled, cpu_dtype) if self.is_cpu else (cuda_enabled and self.is_cuda, cuda_dtype)
    return self.to(dtype) if enabled and self.dtype is float32 else self


@op("aten::_autocast_to_full_precision", variants="method")
def _autocast_to_full_precision(self: Tensor[Alias("a")], cuda_enabled: bool, cpu_enabled: bool) -> Tensor[Alias("a")]:
    """Return a float16 or bfloat16 tensor converted to float32, if autocast is enabled for its device; return others
    unchanged.
    """
    enabled = cuda_enabled if self.is_cuda else cpu_enabled
    return self.to(float32) if enabled and self.dtype in (float16, bfloat16) else self


@op("aten::_to_cpu", variants="function", may_alias=True)
def _to_cpu(tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors on the CPU: copies, and those that are on the CPU already themselves."""
    return [tensor.cpu() for tensor in tensors]
