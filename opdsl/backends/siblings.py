"""Which kernels of operators a backend runs that has the compiler protocol, and no kernels of its own.

Definitions and kernels in Python ask for the compiler, and the memory, of the device that tensors are on. So those that
are registered for one such backend are right for any; what is CUDA C++ or numba's is refused by the compiler.
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
    """The fallback of a backend: an operator's kernel for a sibling of it.

    Args:
        key: the backend component of its dispatch keys.
    """

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def for_call(self, operator: Any, keys: KeySet) -> Kernel:
        """See ``Kernel``.

        Raises:
            MissingKernelError: the operator has none.
        """
        entry = operator.entry(_SIBLING)
        kernel: Kernel | None = entry.kernel
        if entry.reason is not Reason.KERNEL or kernel is None:  # what serves any backend asks for this fallback
            raise MissingKernelError(
                f"{operator.name}: no {self.key} kernel, and none for {_SIBLING} to run in its place (have "
                f"{operator.kernel_keys}). Move the tensors to the CPU: x.cpu()."
            )
        return kernel.for_call(operator, (keys - KeySet(self.key)) | KeySet(_SIBLING.name))

    def __call__(self, *arguments: Any) -> Any:
        """Never reached: ``for_call`` gives another kernel.

        Raises:
            MissingKernelError: always.
        """
        raise MissingKernelError(f"the fallback of {self.key} is no kernel itself")

    def __str__(self) -> str:
        return f"the kernel for {_SIBLING}"


def serve(key: str) -> SiblingKernel:
    """Let operators without a kernel of their own for a backend run what they have.

    Args:
        key: the backend component of its dispatch keys.

    Returns:
        The fallback, which ``registry.deregister_fallback`` takes back.
    """
    sibling_kernel = SiblingKernel(key)
    registry.register_fallback(DispatchKey(key), sibling_kernel)
    return sibling_kernel
