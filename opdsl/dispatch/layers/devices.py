"""Device check and device guard of kernels: all tensors on one device, which is current while the kernel runs.

An operator's entry has the properties ``device_check`` and ``device_guard`` for this. Both apply to kernels that are
registered for a backend itself. Composite kernels leave them to the operators that they call.
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
    """Check that all tensors of a call are on one device, unless the operator's ``device_check`` is off.

    As in PyTorch, a CPU tensor without dimensions may be mixed with tensors of any device: it is read as a number.

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
    """Return the device that is made current while a backend's kernel runs; None without tensors or device guard.

    It is that of TensorOptions if the operator has them, otherwise of ``self``, of the first output, of the first
    tensor.
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
    """Yield the tensors of a call with the names of their arguments, outputs first, as PyTorch checks them."""
    pairs = list(zip(operator.schema.arguments, arguments, strict=True))
    outputs = operator.schema.out
    for argument, value in sorted(pairs, key=lambda pair: pair[0] not in outputs):
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, Tensor):
                yield argument.name, element


def entering(device: Device | None) -> Enter | None:
    """Return a function that makes a device's guard, a context manager; None if the device needs no guard."""
    guard = None if device is None else getattr(device_memory(device), "guard", None)
    return None if guard is None else partial(guard, device)


def _is_current(device: Device | None) -> bool:
    """Return whether the dispatcher state makes a device the current one, so that plans need no device guard."""
    asked = None if device is None else getattr(device_memory(device), "is_current", None)
    return asked is not None and device is not None and bool(asked(device))


def on_device(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """Wrap a backend's kernel in its device check and guard, and record the operator for later device errors.

    The CPU has the lowest priority of the backends: if its key is the highest, every tensor is on the CPU, and there is
    nothing to do.
    """
    key = reached.key
    if key.backend in (None, BACKENDS[0]) or key.functionality == "AutogradFunctionality":
        return kernel
    return Called(operator, OnDevice(operator, kernel) if operator.entry(key).reason is Reason.KERNEL else kernel)


class Called(Around):
    """Kernel wrapper that records the operator's name for errors that a device reports after the call."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Run the kernel; if it is called within another recorded call, the outer operator is named."""
        if calling.get() is not None:
            return self.kernel(*arguments)
        token = calling.set(Calling(self.operator.name, tuple(_tensors(self.operator, arguments))))
        try:
            return self.kernel(*arguments)
        finally:
            calling.reset(token)


class OnDevice(Around):
    """Kernel wrapper that runs a backend's kernel with the device check and guard of its operator."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Check the devices, make the common device current, and run the kernel.

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
        with enter():  # kernels that are compiled during the call may be compiled for this device
            result = self.kernel(*arguments)
        recorder.steps.append(Within(None))
        return result


__all__ = ["OnDevice", "check_devices", "entering", "guarded_device", "on_device"]
