"""What an entry says of devices: ``device_check``, that all tensors are on one, and ``device_guard``, which makes it
the current one while the kernel runs.

Both belong to kernels that are registered for a backend itself. Composite kernels leave them to what they call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from opdsl.dispatch.keys import BACKENDS
from opdsl.dispatch.model.kernel import Around, Kernel
from opdsl.dispatch.table import Reason
from opdsl.errors import DeviceError
from opdsl.runtime import Device, Tensor
from opdsl.runtime.calling import Calling, calling
from opdsl.runtime.lowering import Within, lowering
from opdsl.runtime.memory import device_memory

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator, Reached

Enter = Callable[[], AbstractContextManager[object]]


def check_devices(operator: Operator, arguments: tuple[object, ...]) -> None:
    """Hold a call against its operator's ``device_check``.

    As in PyTorch a CPU tensor without dimensions may stand beside tensors of any device: it is read as a number.

    Raises:
        DeviceError: two tensors are on different devices (``c10::impl::check_and_update_common_device``).
    """
    if operator.properties.get("device_check", "ExactSame") == "NoCheck":
        return
    common: Device | None = None
    for name, tensor in _tensors(operator, arguments):
        device = tensor.device
        if tensor.ndim == 0 and device.type == "cpu":
            continue
        if common is not None and device is not common:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but found at least two devices, {common} and "
                f"{device}! (when checking argument {name} in method {operator.name})"
            )
        common = device


def guarded_device(operator: Operator, arguments: tuple[object, ...]) -> Device | None:
    """The device that is current while a backend's kernel runs; None for a call without tensors, or without guard.

    That of TensorOptions where the operator has them, otherwise of ``self``, of the first output, of the first tensor.
    """
    if not operator.properties.get("device_guard", True):
        return None
    schema = operator.schema
    if schema.tensor_options:
        named = dict(zip((argument.name for argument in schema.arguments), arguments, strict=True))
        device = named["device"]
        return device if isinstance(device, Device) else Device("cpu")
    tensors = sorted(_tensors(operator, arguments), key=lambda pair: pair[0] != "self")
    return tensors[0][1].device if tensors else None


def _tensors(operator: Operator, arguments: tuple[object, ...]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a call with the names of their arguments, outputs first, as PyTorch looks at them."""
    pairs = list(zip(operator.schema.arguments, arguments, strict=True))
    outputs = operator.schema.out
    for argument, value in sorted(pairs, key=lambda pair: pair[0] not in outputs):
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, Tensor):
                yield argument.name, element


def entering(device: Device | None) -> Enter | None:
    """What makes a device current: ``guard`` of its backend's memory; None where there is nothing to do."""
    guard = None if device is None else getattr(device_memory(device), "guard", None)
    return None if guard is None else partial(guard, device)


def _is_current(device: Device | None) -> bool:
    """Whether a device is current wherever a plan that is made now may run: plans are kept by the state."""
    asked = None if device is None else getattr(device_memory(device), "is_current", None)
    return asked is not None and device is not None and bool(asked(device))


def on_device(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """A layer: the kernel with its device, where it is a backend's own, and that is not the only one of a call.

    The CPU is the lowest of the backends: where its key is the highest, every tensor is on the CPU.
    """
    key = reached.key
    if key.backend in (None, BACKENDS[0]) or key.functionality == "AutogradFunctionality":
        return kernel
    return Called(operator, OnDevice(operator, kernel) if operator.entry(key).reason is Reason.KERNEL else kernel)


class Called(Around):
    """A kernel on a device other than the CPU, in whose errors that come later the operator is named."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Run the kernel; where another one calls, that is named."""
        if calling.get() is not None:
            return self.kernel(*arguments)
        token = calling.set(Calling(self.operator.name, tuple(_tensors(self.operator, arguments))))
        try:
            return self.kernel(*arguments)
        finally:
            calling.reset(token)


class OnDevice(Around):
    """A backend's kernel with the checks and the guard that its operator's entry asks for."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Check, enter the device, and run the kernel.

        Raises:
            DeviceError: tensors are on different devices.
        """
        check_devices(self.operator, arguments)
        device = guarded_device(self.operator, arguments)
        enter = entering(device)
        if enter is None:
            return self.kernel(*arguments)
        recorder = lowering.get()
        if recorder is None or _is_current(device):
            with enter():
                return self.kernel(*arguments)
        recorder.steps.append(Within(enter))
        with enter():  # what is compiled may be compiled for this device
            result = self.kernel(*arguments)
        recorder.steps.append(Within(None))
        return result


__all__ = ["OnDevice", "check_devices", "entering", "guarded_device", "on_device"]
