"""``opdsl.ops``: every operator by namespace, packet and overload."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.registry import Registry, registry
from opdsl.errors import NotPickledError, UnknownOperatorError
from opdsl.runtime.close_names import suggestion

_MOST_SHOWN = 8


def _attribute_of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class Namespace:
    """The packets of one namespace as attributes, each a function whose attributes are its overloads."""

    def __init__(self, name: str, registry: Registry) -> None:
        self._name = name
        self._registry = registry

    def __getattr__(self, name: str) -> Any:
        with self._registry.lock:  # no overload goes away meanwhile
            packet = self._registry.packets.get(f"{self._name}::{name}")
            if packet is None:
                hint = suggestion(name, self.__dir__(), "`opdsl list` shows all that there are.")
                raise UnknownOperatorError(f"no operator {self._name}::{name}. {hint}")
            for overload, operator in tuple(packet.overloads.items()):
                packet.function.__dict__[overload or "default"] = packet.operator_function(operator)
            return packet.function

    def __reduce__(self) -> tuple[type[Namespace], tuple[str, Registry]]:
        return Namespace, (self._name, self._registry)

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        return sorted(each.removeprefix(prefix) for each in tuple(self._registry.packets) if each.startswith(prefix))

    def __repr__(self) -> str:
        """Return the schemas of its operators, one to a line; of the first packets where there are many."""
        packets = [packet for name, packet in tuple(self._registry.packets.items()) if self._has(name)]
        lines = [f"namespace {self._name}, {len(packets)} packets:"]
        for packet in sorted(packets, key=lambda packet: (packet.base.startswith("_"), packet.base))[:_MOST_SHOWN]:
            lines += [f"    {operator.schema}" for operator in tuple(packet.overloads.values())]
        if len(packets) > _MOST_SHOWN:
            lines.append(f"    ... and {len(packets) - _MOST_SHOWN} more packets; `opdsl list` shows every operator")
        return "\n".join(lines)

    def _has(self, name: str) -> bool:
        return name.startswith(f"{self._name}::")


class Operators:
    """The namespaces of a registry as attributes.

    Args:
        registry: where the operators are.
        loaders: what makes a namespace's operators known, called when the namespace is asked for.
        complete: declares what follows from a namespace's operators, called when there are new ones.
    """

    def __init__(
        self,
        registry: Registry,
        loaders: Mapping[str, Callable[[], None]],
        complete: Callable[[Registry, str], None] = lambda registry, namespace: None,
    ) -> None:
        self._registry = registry
        self._loaders = dict(loaders)
        self._complete = complete
        self._pending: set[str] = set()
        registry.watchers.append(self._note)
        for operator in tuple(registry):
            self._note(operator)

    def _note(self, operator: Operator) -> None:
        """What a new operator has generated is declared when its namespace is next asked for."""
        if "autogen" in operator.properties:
            self._pending.add(operator.name.partition("::")[0])

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        """Return the name of ``opdsl.ops``.

        Raises:
            NotPickledError: these are the operators of another registry.
        """
        if self._registry is not registry:
            raise NotPickledError("operators of a registry of one's own have no name. Pickle what opdsl.ops holds.")
        return _attribute_of, ("opdsl", "ops")

    def __getattr__(self, name: str) -> Namespace:
        load = self._loaders.get(name)
        if load is not None:
            load()
        elif not any(each.startswith(f"{name}::") for each in tuple(self._registry.packets)):
            otherwise = f'Import the module that declares it, or declare an operator with @op("{name}::...").'
            raise UnknownOperatorError(f"no namespace {name}. {suggestion(name, self.__dir__(), otherwise)}")
        if name in self._pending:
            with self._registry.lock:  # others wait until all of them are declared
                if name in self._pending:
                    self._complete(self._registry, name)
                    self._pending.discard(name)
        return Namespace(name, self._registry)

    def __dir__(self) -> list[str]:
        return sorted({each.partition("::")[0] for each in tuple(self._registry.packets)} | self._loaders.keys())

    def __repr__(self) -> str:
        """Return its namespaces; those that are not loaded yet have no number."""
        counts = Counter(name.partition("::")[0] for name in tuple(self._registry.packets))
        lines = [f"    {name}: {counts[name] or 'not loaded yet'}" for name in self.__dir__()]
        return "\n".join(["operators, packets by namespace:", *lines])
