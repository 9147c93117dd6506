"""Questions about tensors as a whole, answered by a Python bool; and conversion to the dtype of another tensor."""

from __future__ import annotations

from operator import not_

from opdsl.aten.create.conversions import to_other
from opdsl.declare import forward, op
from opdsl.errors import DeviceError
from opdsl.kernels import check
from opdsl.runtime import Tensor, cpu
from opdsl.runtime.lowering import Unknown, lowering


@op("aten::equal", kernel=True, variants="method, function", tags=("data_dependent_output", "pointwise"))
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same elements."""
    if self.device is not other.device:
        raise DeviceError(
            "Cannot compare two tensors on different devices. "
            f"Got: {self.device} and {other.device}. Move one of them: x.to(y.device)."
        )
    if self.shape != other.shape:
        return False
    differing = (self != other).sum()
    recorder = lowering.get()
    if recorder is None or self.device is not cpu:
        return not differing.item()
    (name,) = recorder.run(not_, (differing.array,), ["truth"])
    return Unknown(name)  # type: ignore[return-value]  # the plan gives the bool


@op(
    "aten::is_same_size",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    device_check="NoCheck",
    device_guard=False,
)
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return self.shape == other.shape


@op("aten::is_nonzero", variants="function, method", device_check="NoCheck", device_guard=False)
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element of a tensor is not zero."""
    count = "no values" if self.numel() == 0 else "more than one value"
    check(self.numel() == 1, f"Boolean value of Tensor with {count} is ambiguous")
    return bool(self.item())


@op("aten::type_as", variants="method", may_alias=True)
@forward(to_other)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype, and on the device, of another one."""
