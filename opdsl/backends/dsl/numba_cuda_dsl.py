"""numba-cuda as a native DSL: users write overrides for CUDA as kernels of ``numba.cuda``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from opdsl.backends.dsl.registering import registering
from opdsl.dispatch.overrides.native_dsl import Version, installed_version, missing_reason
from opdsl.errors import ArgumentError
from opdsl.kernels import new_tensor
from opdsl.runtime import Tensor
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.memory import device_memory

NAME = "numba-cuda"
_AT_LEAST = (0, 15)

# Device files of the kernel driver, on Linux and in WSL. A call of the driver itself would initialize it, after which
# forked processes cannot use it.
_DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg")

register_op_override, deregister_op_overrides = registering(NAME)


def unavailable_reason() -> str | None:
    """Return why numba-cuda cannot be used and the remedy, or None if it can be used."""
    missing = missing_reason(NAME, "numba_cuda", "numba-cuda", _AT_LEAST)
    if missing is None and not any(map(os.path.exists, _DRIVER_FILES)):
        return f"the native DSL {NAME} needs an NVIDIA GPU, and {_DRIVER_FILES[0]} does not exist. Install its driver."
    return missing


def runtime_available() -> bool:
    """Return whether numba-cuda and a driver are installed, without importing or starting them."""
    return unavailable_reason() is None


def runtime_version() -> Version | None:
    """Return the installed version of numba-cuda."""
    return installed_version("numba-cuda")


# The grid and the block of a launch.
Launch = tuple[Any, Any]


def launched(
    configuration: Callable[..., Launch], result: Callable[..., TensorMeta] | None = None
) -> Callable[[Callable[..., object]], Callable[..., Tensor]]:
    """Return a decorator that makes an operator implementation from a CUDA kernel, compiled by numba-cuda on the first
    call.

    The decorated function takes arrays where the operator takes tensors, then the output, which it fills. It is
    queued on the current stream; memory is shared, nothing is copied.

    Args:
        configuration: from the operator's arguments to the grid and the block.
        result: from the operator's arguments to the geometry of the output; that of the first tensor by default.

    Returns:
        A decorator that makes the implementation, which takes tensors and returns a tensor.
    """

    def decorate(function: Callable[..., object]) -> Callable[..., Tensor]:
        kernels: list[Any] = []

        def implementation(*args: Any) -> Tensor:
            cuda: Any = importlib.import_module("numba.cuda")
            if not kernels:
                kernels.append(cuda.jit(function))
            first = next((arg for arg in args if isinstance(arg, Tensor)), None)
            if first is None:
                raise ArgumentError(f"the numba-cuda kernel {implementation.__name__} needs a tensor (got {args!r})")
            form = first.geometry.replace(is_view=False) if result is None else result(*args)
            out = new_tensor(form)
            stream = cuda.external_stream(device_memory(first.device).current_stream(first.device))
            # The kernel runs on the stream that the arrays belong to, so that no synchronization is needed.
            arrays = [cuda.as_cuda_array(arg, sync=False) if isinstance(arg, Tensor) else arg for arg in (*args, out)]
            grid, block = configuration(*args)
            kernels[0][grid, block, stream](*arrays)
            return out

        implementation.__name__ = implementation.__qualname__ = getattr(function, "__name__", "kernel")
        return implementation

    return decorate
