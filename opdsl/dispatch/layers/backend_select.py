"""Kernel that dispatches factories to the backend of their ``device`` argument.

The rule is torchgen's ``gen_register_backend_select`` of ``gen.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.dispatch.keys import BACKEND_SELECT, KeySet, backend_key_set
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.state import current
from opdsl.runtime import Device, backends

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

_BELOW = KeySet.below(BACKEND_SELECT)


class BackendSelect(Kernel):
    """Kernel of a factory at BackendSelect, which dispatches to the backend of its device, by default the CPU.

    Args:
        operator: the factory.
        keys: the key set of the call.
    """

    __slots__ = ("_keys", "operator")

    def __init__(self, operator: Operator, keys: KeySet | None = None) -> None:
        self.operator = operator
        self._keys = KeySet() if keys is None else keys

    def for_call(self, operator: Operator, keys: KeySet) -> BackendSelect:
        """Return the kernel for a call with the given key set, which has the keys of tensors and guards."""
        return BackendSelect(self.operator, keys)

    def _selected(self, arguments: tuple[object, ...]) -> Kernel:
        named = zip(self.operator.schema.arguments, arguments, strict=True)
        device = next((value for declared, value in named if declared.name == "device"), None)
        place = device if isinstance(device, Device) else Device("cpu")
        keys = self._keys | (backend_key_set(backends.key_of(place.type)) - current.get().exclude)
        return self.operator.find_in(keys & _BELOW)

    def __call__(self, *arguments: object) -> object:
        """Run the kernel of the backend that the device argument selects.

        Raises:
            MissingKernelError: the backend has no kernel.
        """
        return self._selected(arguments)(*arguments)

    def __str__(self) -> str:
        return "by the device argument"


__all__ = ["BackendSelect"]
