"""Page-locked memory of the host, and streams: what copies between it and a device need."""

from __future__ import annotations

from opdsl.declare import op
from opdsl.kernels import copied
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.runtime import Device, Tensor
from opdsl.runtime.geometry import geometry
from opdsl.runtime.memory import device_memory
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Stream


@op("aten::is_pinned", kernel="CompositeExplicitAutograd", variants="method")
def is_pinned(self: Tensor, device: Device | None = None) -> bool:
    """Whether the tensor lies in page-locked memory of the host, which devices read and write on their own."""
    if not self.is_cpu:
        return False
    is_pinned = getattr(device_memory(device or Device("cuda")), "is_pinned", None)
    return is_pinned is not None and is_pinned(self.array)  # a device that copies from any memory has no such pages


@op("aten::pin_memory", variants="method")
def pin_memory(self: Tensor[Alias("a")], device: Device | None = None) -> Tensor[Alias("a")]:
    """The tensor itself if it lies in page-locked memory, a copy that does otherwise."""
    return self if self.is_pinned(device) else _pin_memory(self, device)


@op("aten::_pin_memory", kernel="CompositeExplicitAutograd", autogen="_pin_memory.out")
def _pin_memory(self: Tensor, device: Device | None = None) -> Tensor:
    """A copy in page-locked memory of the host."""
    form = geometry(self.dtype, self.device, self.shape, dense_strides(self.geometry))
    return copied(self, form, pinned=True)


_pin_memory.derivative(self=lambda grad: grad)


@op("aten::record_stream", kernel="CUDA", variants="method")
def record_stream(self: Tensor[Alias("a", write=True)], s: Stream) -> None:
    """Keeps the tensor's memory, when it is freed, until a stream has done what is queued on it then."""
    device_memory(self.device).record_use(self.array, s)
