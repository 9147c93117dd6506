"""Fallback of the Autograd keys, which records calls for autograd if a tensor requires grad.

A call without such tensors, or under ``no_grad``, runs the kernel below, including its plan. The function that records
calls is installed by ``opdsl.autograd`` when a tensor first requires grad; before that, no call needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from opdsl.dispatch.binding.boxed import PerCallKernel
from opdsl.dispatch.keys import AUTOGRAD_KEYS, DispatchKey, KeySet, alias_runtime_keys
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.state import current
from opdsl.runtime import Tensor

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["AutogradKernel", "OperatorAutograd", "autograd_fallbacks", "record_with"]

# ``record(operator, beneath, arguments)`` returns a kernel that runs the kernel ``beneath`` and records the call.
Record = Callable[["Operator", Kernel, tuple[object, ...]], Kernel]

_record: list[Record] = []


def record_with(record: Record) -> None:
    """Install the function that records calls for autograd."""
    _record[:] = [record]


def requires_grad(arguments: Iterable[object]) -> bool:
    """Return whether a tensor among the arguments, or in tuples among them, requires grad."""
    for value in arguments:
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, Tensor) and element.geometry.requires_grad:
                return True
    return False


class AutogradKernel(PerCallKernel):
    """Fallback of the Autograd keys, for every operator without its own autograd kernel."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> OperatorAutograd:
        """See ``PerCallKernel``."""
        return OperatorAutograd(operator, keys - AUTOGRAD_KEYS)

    def __str__(self) -> str:
        return "autograd"


class OperatorAutograd(Kernel):
    """Autograd kernel of one operator for calls with one key set.

    operator: the operator that is called.
    keys: the key set of the call without the Autograd keys.
    """

    __slots__ = ("keys", "operator")

    # Checked mode checks the kernel below.
    hands_on = True

    def __init__(self, operator: Operator, keys: KeySet) -> None:
        self.operator = operator
        self.keys = keys

    def beneath(self, arguments: tuple[object, ...]) -> Kernel:
        """Return the kernel below autograd, wrapped so that it records the call if a tensor requires grad."""
        kernel = self.operator.find_in(self.keys)
        if _record and current.get().grad_mode and requires_grad(arguments):
            return _record[0](self.operator, kernel, arguments)
        return kernel

    def __call__(self, *arguments: object) -> object:
        """Run the operator, and record the call if a tensor requires grad."""
        return self.beneath(arguments)(*arguments)


def autograd_fallbacks() -> dict[DispatchKey, Kernel]:
    """Return the fallbacks of a registry at the Autograd keys."""
    return dict.fromkeys(alias_runtime_keys("Autograd"), AutogradKernel())
