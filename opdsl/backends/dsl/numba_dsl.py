"""numba as a native DSL: users write overrides for the CPU as loops over NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from opdsl.backends.dsl.registering import registering
from opdsl.dispatch.fitting import is_jitted
from opdsl.dispatch.overrides.native_dsl import Version, installed_version, missing_reason
from opdsl.errors import KernelSignatureError
from opdsl.runtime import Tensor, from_numpy

NAME = "numba"
_AT_LEAST = (0, 59)


def unavailable_reason() -> str | None:
    """Return why numba cannot be used and the remedy, or None if it can be used."""
    return missing_reason(NAME, "numba", "numba", _AT_LEAST)


def runtime_available() -> bool:
    """Return whether numba is installed, without importing it."""
    return unavailable_reason() is None


def runtime_version() -> Version | None:
    """Return the installed version of numba."""
    return installed_version("numba")


def compiled(function: Callable[..., object]) -> Callable[..., object]:
    """Return an operator implementation from a Python kernel, which numba compiles on the first call.

    Args:
        function: takes arrays where the operator takes tensors, and returns a new array; a function that ``numba.njit``
            has wrapped is used unchanged.

    Returns:
        The implementation, which takes tensors and returns a tensor.

    Raises:
        KernelSignatureError: ``function`` is not a Python function.
    """
    if not (isinstance(function, FunctionType) or is_jitted(function)):
        raise KernelSignatureError(f"numba compiles Python functions (got {function!r}). Write one with def.")
    kernels: list[Any] = []  # the function compiled by numba, whose results are arrays

    def implementation(*arguments: object) -> object:
        if not kernels:
            import numba

            is_wrapped = is_jitted(function)
            kernels.append(function if is_wrapped else numba.njit(function, nogil=True, error_model="numpy"))
        arrays = [argument.numpy() if isinstance(argument, Tensor) else argument for argument in arguments]
        return from_numpy(kernels[0](*arrays))

    implementation.__name__ = implementation.__qualname__ = getattr(function, "__name__", "kernel")
    return implementation


def _prepared(implementation: Callable[..., object]) -> Callable[..., object]:
    return compiled(implementation) if is_jitted(implementation) else implementation


# ``impl`` takes tensors, or is a function that ``numba.njit`` has wrapped; ``compiled`` converts other kernels.
register_op_override, deregister_op_overrides = registering(NAME, _prepared)
