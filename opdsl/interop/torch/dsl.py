"""Native DSL ``torch``: kernels that override operators of opdsl and are written as functions of torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.backends.dsl.registering import registering
from opdsl.dispatch.overrides.native_dsl import Version, installed_version, missing_reason
from opdsl.runtime import Tensor, from_dlpack

__all__ = [
    "NAME",
    "computed",
    "deregister_op_overrides",
    "register_op_override",
    "runtime_available",
    "runtime_version",
]

NAME = "torch"
_AT_LEAST = (2, 11)

register_op_override, deregister_op_overrides = registering(NAME)


def unavailable_reason() -> str | None:
    """Return the reason why torch cannot be used, and how to fix that; None if it can."""
    return missing_reason(NAME, "torch", "torch", _AT_LEAST)


def runtime_available() -> bool:
    """Return whether torch is installed, without importing it."""
    return unavailable_reason() is None


def runtime_version() -> Version | None:
    """Return the installed version of torch, or None."""
    return installed_version("torch")


def computed(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a function of torch tensors as an implementation of an operator.

    Memory is shared in both directions, through DLPack, so that on CUDA the streams of opdsl and torch wait for each
    other.

    Args:
        function: takes torch tensors where the operator takes tensors, and returns new ones.

    Returns:
        The implementation, which takes and returns opdsl tensors.
    """

    def implementation(*arguments: object) -> object:
        from torch import Tensor as TorchTensor
        from torch.utils.dlpack import from_dlpack as torch_tensor

        def ours(value: Any) -> Any:
            if isinstance(value, TorchTensor):
                return from_dlpack(value)
            return type(value)(map(ours, value)) if type(value) in (tuple, list) else value

        return ours(
            function(*(torch_tensor(argument) if isinstance(argument, Tensor) else argument for argument in arguments))
        )

    implementation.__name__ = implementation.__qualname__ = getattr(function, "__name__", "function")
    return implementation
