"""Deferred registration of sharding rules with ``torch.distributed.tensor``: done once a program imports this slow
module.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdsl.interop.torch.sharding import Registered

__all__ = ["attach", "detach", "is_distributed"]

_MODULE = "torch.distributed.tensor"

_waiting: weakref.WeakSet[Registered] = weakref.WeakSet()


class _Finder(MetaPathFinder):
    """Import hook that registers waiting operators once ``torch.distributed.tensor`` is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``MetaPathFinder``."""
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def execute_and_attach(module: ModuleType) -> None:
                execute(module)
                for bridge in list(_waiting):
                    attach(bridge)

            loader.exec_module = execute_and_attach
        return spec


def attach(bridge: Registered) -> None:
    """Register the sharding rule of an operator with DTensor, now or when DTensor is imported."""
    if hasattr(sys.modules.get(_MODULE), "DTensor"):
        from opdsl.interop.torch import sharding

        _waiting.discard(bridge)
        sharding.attach(bridge)
        return
    _waiting.add(bridge)
    if not any(isinstance(protocol, _Finder) for protocol in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def detach(bridge: Registered, overload: Any) -> None:
    """Undo ``attach`` for an operator.

    Args:
        bridge: of the operator.
        overload: the torch operator.
    """
    if bridge in _waiting:
        _waiting.discard(bridge)
    elif _MODULE in sys.modules:
        from opdsl.interop.torch import sharding

        sharding.detach(overload)


def is_distributed(values: Sequence[Any]) -> bool:
    """Return whether a tensor among the values is a DTensor."""
    module = sys.modules.get(_MODULE)
    return module is not None and any(isinstance(value, module.DTensor) for value in values)
