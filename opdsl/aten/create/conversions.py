"""Tensors of another dtype, on another device."""

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


@op("aten::_to_copy", tags="core", device_check="NoCheck", device_guard=False, autogen="_to_copy.out")
def to_copy(
    self: Tensor, *, options: TensorOptions, non_blocking: bool = False, memory_format: MemoryFormat | None = None
) -> Tensor:
    """A copy of another dtype, on another device, in another order of the dimensions."""
    ...


to_copy.sharding(elementwise=True)


@to_copy.kernel("CompositeExplicitAutograd")
def to_copy_kernel(self, dtype, device, pin_memory, non_blocking, memory_format):
    order = memory_format or MemoryFormat.preserve_format
    keeps_order = order is MemoryFormat.preserve_format
    strides = dense_strides(self.geometry) if keeps_order else strides_for(self.shape, order)
    form = geometry(dtype or self.dtype, device or self.device, self.shape, strides)
    # As in PyTorch: the host's memory has to be page-locked for a copy that goes on after this returns.
    waits = not (non_blocking and self.is_cuda and form.device.type == "cpu")
    return copied(self, form, non_blocking=non_blocking, pinned=bool(pin_memory) or not waits)


# The dtype is brought back where every gradient's is.
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
    """The tensor itself if it is what is asked for, a copy that is otherwise (``to_will_alias`` of ATen)."""
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


TO: dict[str, Any] = {"variants": "method", "device_check": "NoCheck", "device_guard": False}


@op("aten::to.dtype_layout", **TO)
def to_dtype_layout(
    self: Tensor[Alias("a")],
    *,
    options: TensorOptions,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """The tensor itself if it is what is asked for, a converted copy otherwise."""
    return converted(self, non_blocking=non_blocking, copy=copy, memory_format=memory_format, **options)


@op("aten::to.device", **TO)
def to_device(
    self: Tensor[Alias("a")],
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """The tensor itself if it has that dtype and device and no copy is asked for, a converted copy otherwise."""
    return converted(self, dtype, device, non_blocking, copy, memory_format)


@op("aten::to.dtype", **TO)
def to_dtype(
    self: Tensor[Alias("a")],
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """The tensor itself if it has that dtype and no copy is asked for, a converted copy otherwise."""
    return converted(self, dtype, None, non_blocking, copy, memory_format)


@op("aten::to.other", **TO)
def to_other(
    self: Tensor[Alias("a")],
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor[Alias("a")]:
    """The tensor itself if ``other`` has its dtype and device, a converted copy otherwise."""
    return converted(self, other.dtype, other.device, non_blocking, copy, memory_format)


# ------------------------------------------------------------------------------------------------- methods of Tensor

# The overloads as the methods call them: with what they are given, which the overloads hold against their schemas.
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
    """The tensor with another dtype, on another device, or both; itself if it is so already.

    ``x.to(dtype)``, ``x.to(device, dtype=None)`` or ``x.to(tensor)``, each with ``non_blocking=False``, ``copy=False``
    and ``memory_format=``.

    Args:
        args, named: what is wanted, in one of these forms.

    Raises:
        ArgumentError: the arguments are none of these.

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
    """The tensor in the memory of the CPU; itself if it is there.

    Args:
        memory_format: how the elements of the result lie; as they did by default.
    """
    if memory_format is MemoryFormat.preserve_format:
        return self if self.geometry.device.type == "cpu" else otherwise(self, device="cpu")
    return otherwise(self, device="cpu", memory_format=memory_format)


def cuda(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    *,
    memory_format: MemoryFormat = MemoryFormat.preserve_format,
) -> Tensor:
    """The tensor on a CUDA device, the current one by default; itself if it is there.

    Args:
        device: which one.
        non_blocking: has no effect: copies are waited for.
        memory_format: as of ``cpu``.
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
    """The method of Tensor that converts to a dtype."""

    def method(self: Tensor, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        if memory_format is MemoryFormat.preserve_format:
            return self if self.geometry.dtype is dtype else in_dtype(self, dtype)
        return in_dtype(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""The tensor as {dtype}; itself if it has that dtype.

    Args:
        memory_format: how the elements of the result lie; as they did by default.
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


@op("aten::_autocast_to_reduced_precision", variants="method", device_guard=False)
def _autocast_to_reduced_precision(
    self: Tensor[Alias("a")], cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: DType, cpu_dtype: DType
) -> Tensor[Alias("a")]:
    """A float32 tensor in the dtype that its device computes in; any other as it is."""
    enabled, dtype = (cpu_enabled, cpu_dtype) if self.is_cpu else (cuda_enabled and self.is_cuda, cuda_dtype)
    return self.to(dtype) if enabled and self.dtype is float32 else self


@op("aten::_autocast_to_full_precision", variants="method", device_guard=False)
def _autocast_to_full_precision(self: Tensor[Alias("a")], cuda_enabled: bool, cpu_enabled: bool) -> Tensor[Alias("a")]:
    """A tensor of 16-bit numbers as float32, where its device computes in less; any other as it is."""
    enabled = cuda_enabled if self.is_cuda else cpu_enabled
    return self.to(float32) if enabled and self.dtype in (float16, bfloat16) else self


@op("aten::_to_cpu", variants="function", may_alias=True)
def _to_cpu(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors on the CPU: those that are there already are returned themselves."""
    return [tensor.cpu() for tensor in tensors]
