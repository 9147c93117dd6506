"""numba-cuda as a native DSL: overrides for CUDA."""

from __future__ import annotations

import os
from collections.abc import Callable

from opdsl.dispatch.native_dsl import Version, installed_version, missing_reason
from opdsl.dispatch.overrides import Override
from opdsl.dispatch.overrides import deregister_op_overrides as deregister
from opdsl.dispatch.overrides import register_op_override as register

NAME = "numba-cuda"
_AT_LEAST = (0, 15)

# What the kernel driver puts there, on Linux and in WSL. To ask the driver itself would start it, which a fork breaks.
_DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg")


def unavailable_reason() -> str | None:
    """Why it cannot be used, and how to mend that; None if it can."""
    missing = missing_reason(NAME, "numba_cuda", "numba-cuda", _AT_LEAST)
    if missing is None and not any(map(os.path.exists, _DRIVER_FILES)):
        return f"the native DSL {NAME} needs an NVIDIA GPU, and {_DRIVER_FILES[0]} is not there. Install its driver."
    return missing


def runtime_available() -> bool:
    """Whether numba-cuda and a driver are installed; neither is imported or started."""
    return unavailable_reason() is None


def runtime_version() -> Version | None:
    """The installed version of numba-cuda."""
    return installed_version("numba-cuda")


def register_op_override(
    lib_symbol: str,
    op_symbol: str,
    dispatch_key: str,
    cond: Callable[..., object] | None,
    impl: Callable[..., object],
    *,
    allow_multiple_override: bool = False,
    unconditional_override: bool = False,
) -> Override:
    """``opdsl.register_op_override`` for numba-cuda."""
    return register(
        NAME,
        lib_symbol,
        op_symbol,
        dispatch_key,
        cond,
        impl,
        allow_multiple_override=allow_multiple_override,
        unconditional_override=unconditional_override,
    )


def deregister_op_overrides() -> None:
    """Disable every override written in numba-cuda."""
    deregister(disable_dsl_names=NAME)
