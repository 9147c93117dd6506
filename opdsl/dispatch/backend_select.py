"""Factories: operators that make tensors, and go to the backend that their ``device`` argument names.

The rules are torchgen's: ``needs_backend_select`` and ``gen_register_backend_select`` of its ``gen.py``, and
``signature_from_schema`` of ``api/python.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.dispatch.keys import DispatchKey, KeySet, backend_key_set
from opdsl.dispatch.state import current
from opdsl.runtime import Device, backends
from opdsl.schema import FunctionSchema

if TYPE_CHECKING:
    from opdsl.dispatch.operator import Kernel, Operator

BACKEND_SELECT = DispatchKey("BackendSelect")
_BELOW = KeySet.below(BACKEND_SELECT)


def needs_backend_select(schema: FunctionSchema) -> bool:
    """Whether calls go to the backend of the ``device`` argument: TensorOptions say where the result lives.

    ``new_zeros``, ``zeros_like`` and their kin go to the backend of the tensor that they are like.
    """
    name = schema.name.base
    return bool(schema.tensor_options) and not (name.endswith("_like") or name.startswith("new_"))


def takes_requires_grad(schema: FunctionSchema, category_override: object) -> bool:
    """Whether the Python function takes ``requires_grad`` beside the schema's TensorOptions.

    Args:
        schema: the operator's.
        category_override: what its entry says: ``factory`` makes a factory of one that takes tensors, ``new`` and
            ``like`` do what these parts of a name do, ``dummy`` makes it an operator like any other.
    """
    if not schema.tensor_options or category_override == "dummy":
        return False
    takes_tensors = any(str(each.type).startswith("Tensor") for each in schema.arguments if each not in schema.out)
    is_like = not needs_backend_select(schema) or category_override in ("new", "like")
    return category_override == "factory" or is_like or not takes_tensors


class BackendSelect:
    """The kernel of a factory at BackendSelect: the call goes on to the backend of its device, the CPU by default.

    Args:
        operator: the factory.
        keys: the key set of the call.
    """

    __slots__ = ("_keys", "operator")

    def __init__(self, operator: Operator, keys: KeySet | None = None) -> None:
        self.operator = operator
        self._keys = KeySet() if keys is None else keys

    def for_call(self, operator: Operator, keys: KeySet) -> BackendSelect:
        """The kernel for a call with that key set, which has the keys of tensors and guards."""
        return BackendSelect(self.operator, keys)

    def _selected(self, arguments: tuple[object, ...]) -> Kernel:
        named = zip(self.operator.schema.arguments, arguments, strict=True)
        device = next((value for argument, value in named if argument.name == "device"), None)
        place = device if isinstance(device, Device) else Device("cpu")
        keys = self._keys | (backend_key_set(backends.key_of(place.type)) - current.get().exclude)
        return self.operator.find_in(keys & _BELOW)

    def __call__(self, *arguments: object) -> object:
        """Run the kernel of the backend.

        Raises:
            MissingKernelError: the backend has none.
        """
        return self._selected(arguments)(*arguments)

    def __str__(self) -> str:
        return "by the device argument"


__all__ = ["BACKEND_SELECT", "BackendSelect", "needs_backend_select", "takes_requires_grad"]
