"""CPU fallback for backends without kernels: the CPU's kernels run on copies in the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.kernels.compiler import has_compiler
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.kernels.outputs import new_tensor, resize
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.runtime.device import Device, cpu, meta
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.tensor import Tensor


def is_beyond(tensor: Tensor) -> bool:
    """Return whether a tensor is on a backend without a compiler, so that the CPU has to compute on a copy."""
    device = tensor.geometry.device
    return device is not meta and not has_compiler(device.type)


def through_host(run: Callable[..., Any], arguments: Sequence[Any], written: Sequence[Tensor] = ()) -> Any:
    """Run a function on CPU copies of tensors of a backend without a compiler (CPU fallback). The copies have the same
    strides.

    Args:
        run: takes the arguments.
        arguments: tensors, also in tuples and lists, and any other values.
        written: those of the tensors that it writes; their elements are copied back.

    Returns:
        Its result, with tensors moved to the device.
    """
    beyond = next(tensor for tensor in tensors_in(arguments) if is_beyond(tensor))
    copies: dict[int, tuple[Tensor, Tensor]] = {}

    def here(value: Any) -> Any:
        if isinstance(value, Tensor) and is_beyond(value):
            if id(value) not in copies:
                host = new_tensor(geometry(value.dtype, cpu, value.shape, value.strides))
                copy_elements(host, value)
                copies[id(value)] = value, host
            return copies[id(value)][1]
        return _mapped(here, value)

    def there(value: Any) -> Any:
        if isinstance(value, Tensor):
            original = next((source for source, host in copies.values() if host is value), None)
            return _moved(value, beyond.device) if original is None else original
        return _mapped(there, value)

    result = run(*map(here, arguments))
    for tensor in written:
        host = here(tensor)
        if tensor.shape != host.shape:
            resize(tensor, host.shape, host.strides)
        copy_elements(tensor, host)
    return there(result)


def _moved(host: Tensor, device: Device) -> Tensor:
    moved = new_tensor(geometry(host.dtype, device, host.shape, dense_strides(host.geometry)))
    copy_elements(moved, host)
    return moved


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the elements of a tuple, named tuple or list; return any other value unchanged."""
    if not isinstance(value, (tuple, list)):
        return value
    parts = [function(element) for element in value]
    return parts if isinstance(value, list) else type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
