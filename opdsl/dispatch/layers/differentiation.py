"""Where calls meet autograd: the fallback of the Autograd keys.

A call none of whose tensors requires grad, or under ``no_grad``, is the call of the kernel beneath, plan and all. What
records the others is installed by ``opdsl.autograd`` when the first tensor requires grad; before that there are none.
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

# ``record(operator, beneath, arguments)`` gives a kernel that runs the one beneath and records the call.
Record = Callable[["Operator", Kernel, tuple[object, ...]], Kernel]

_record: list[Record] = []


def record_with(record: Record) -> None:
    """Install what records calls."""
    _record[:] = [record]


def requires_grad(arguments: Iterable[object]) -> bool:
    """Whether a tensor among arguments, or in lists among them, requires grad."""
    for value in arguments:
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, Tensor) and element.geometry.requires_grad:
                return True
    return False


class AutogradKernel(PerCallKernel):
    """What the Autograd keys run for every operator that has nothing of its own there."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> OperatorAutograd:
        """See ``PerCallKernel``."""
        return OperatorAutograd(operator, keys - AUTOGRAD_KEYS)

    def __str__(self) -> str:
        return "autograd"


class OperatorAutograd(Kernel):
    """Autograd of one operator for calls with one key set.

    operator: which is called.
    keys: the key set of the call without the Autograd keys.
    """

    __slots__ = ("keys", "operator")

    # What is checked of a call is checked of the kernel beneath.
    hands_on = True

    def __init__(self, operator: Operator, keys: KeySet) -> None:
        self.operator = operator
        self.keys = keys

    def beneath(self, arguments: tuple[object, ...]) -> Kernel:
        """The kernel below, recording if the call is to be."""
        kernel = self.operator.find_in(self.keys)
        if _record and current.get().grad_mode and requires_grad(arguments):
            return _record[0](self.operator, kernel, arguments)
        return kernel

    def __call__(self, *arguments: object) -> object:
        """Run the operator, and record it if that is asked for."""
        return self.beneath(arguments)(*arguments)


def autograd_fallbacks() -> dict[DispatchKey, Kernel]:
    """The fallbacks of a registry at the Autograd keys."""
    return dict.fromkeys(alias_runtime_keys("Autograd"), AutogradKernel())
