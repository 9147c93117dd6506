"""Fallback for backends with a compiler but without their own kernels: they run the operators' CUDA kernels.

Definitions and kernels in Python look up the compiler, and the memory, of the device that the tensors are on. A kernel
that is registered for one such backend is therefore right for any; the compiler rejects kernels in CUDA C++ or numba.
"""

from __future__ import annotations

from typing import Any

from opdsl.dispatch import DispatchKey, Kernel
from opdsl.dispatch.keys import KeySet
from opdsl.dispatch.model.registry import registry
from opdsl.dispatch.table import Reason
from opdsl.errors import MissingKernelError

__all__ = ["SiblingKernel", "serve"]

_SIBLING = DispatchKey("CUDA")


class SiblingKernel(Kernel):
    """Fallback kernel of a backend, which redirects each call to the operator's CUDA kernel.

    Args:
        key: the backend component of its dispatch keys.
    """

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def for_call(self, operator: Any, keys: KeySet) -> Kernel:
        """Return the operator's CUDA kernel, see ``Kernel.for_call``.

        Raises:
            MissingKernelError: the operator has no CUDA kernel.
        """
        entry = operator.entry(_SIBLING)
        kernel: Kernel | None = entry.kernel
        if entry.reason is not Reason.KERNEL or kernel is None:  # a kernel for all backends would end here again
            raise MissingKernelError(
                f"{operator.name}: no {self.key} kernel, and none for {_SIBLING} to run in its place (have "
                f"{operator.kernel_keys}). Move the tensors to the CPU: x.cpu()."
            )
        return kernel.for_call(operator, (keys - KeySet(self.key)) | KeySet(_SIBLING.name))

    def __call__(self, *arguments: Any) -> Any:
        """Raise an error; calls never get here because ``for_call`` returns another kernel.

        Raises:
            MissingKernelError: always.
        """
        raise MissingKernelError(f"the fallback of {self.key} is no kernel itself")

    def __str__(self) -> str:
        return f"the kernel for {_SIBLING}"


def serve(key: str) -> SiblingKernel:
    """Register a fallback by which a backend runs the CUDA kernels of operators that have none for it.

    Args:
        key: the backend component of its dispatch keys.

    Returns:
        The fallback, which ``registry.deregister_fallback`` removes.
    """
    sibling_kernel = SiblingKernel(key)
    registry.register_fallback(DispatchKey(key), sibling_kernel)
    return sibling_kernel
