"""Lookup of operators for pickle, for functions of operators that no module has under their own name.

Such a function has the path ``MODULE.namespace.packet`` or ``MODULE.namespace.packet.overload`` in this module.
``MODULE`` is ``ops`` for aten, and else the module that declares the operator, with colons in place of dots and one in
front; it is imported first.
"""

from __future__ import annotations

import importlib
from typing import Any

from opdsl._attributes import ops as _ops
from opdsl.errors import PickledOperatorError, UnknownOperatorError

__all__ = ["Namespaces", "Packets"]


class Namespaces:
    """Object with the namespaces of operators as attributes; a module is imported on access.

    module: the module that declares them; ``ops`` for none.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Packets:
        if name.startswith("__"):
            raise AttributeError(name)
        return Packets(self._module, name)


class Packets:
    """Object with the packets of a namespace as attributes.

    Raises:
        PickledOperatorError: the process has no such operator.
    """

    def __init__(self, module: str, namespace: str) -> None:
        self._module, self._namespace = module, namespace

    def __reduce__(self) -> tuple[type[Packets], tuple[str, str]]:
        return Packets, (self._module, self._namespace)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_COPIES:
            raise AttributeError(name)
        module = self._module.removeprefix(":").replace(":", ".")
        try:
            if self._module != "ops":
                importlib.import_module(module)
            return getattr(getattr(_ops, self._namespace), name)
        except (ImportError, UnknownOperatorError) as error:
            raise PickledOperatorError(
                f"the operator {self._namespace}::{name} is not declared: {error} It was declared in {module}: make "
                "that module importable under this name, or declare the operator before it is loaded."
            ) from error


# Attributes that pickle and copy look up on any object.
_OF_COPIES = frozenset(dir(object)) | {"__getstate__", "__setstate__", "__getinitargs__", "__deepcopy__", "__copy__"}


def __getattr__(name: str) -> Namespaces:
    if name != "ops" and not name.startswith(":"):
        raise AttributeError(name)
    return Namespaces(name)
