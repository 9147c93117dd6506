"""Object ``opdsl.ops``, which looks operators up by namespace, packet and overload."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.packet import Packet
from opdsl.dispatch.model.registry import Registry, registry
from opdsl.errors import NotPickledError, UnknownOperatorError
from opdsl.runtime.close_names import suggestion
from opdsl.schema import OperatorName

_MOST_SHOWN = 8

Complete: TypeAlias = Callable[[Registry, Iterable[Operator]], None]


def _attribute_of(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class Namespace:
    """Namespace whose attributes are the functions of its packets; the functions have their overloads as attributes.

    Args:
        name: the name of the namespace.
        operators: the object that the namespace belongs to.
    """

    def __init__(self, name: str, operators: Operators) -> None:
        self._name = name
        self._operators = operators

    def __getattr__(self, name: str) -> Any:
        known = load_namespace(self._operators, self._name, name)
        with known.lock:  # so that no overload is removed meanwhile
            packet = known.packets.get(f"{self._name}::{name}")
            if packet is None:
                known_names = () if name.startswith("__") else self.__dir__()
                hint = suggestion(name, known_names, "`opdsl list` shows every operator.")
                raise UnknownOperatorError(f"no operator {self._name}::{name}. {hint}")
            for overload, operator in tuple(packet.overloads.items()):
                packet.function.__dict__[overload or "default"] = packet.operator_function(operator)
            return packet.function

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return getattr, (self._operators, self._name)

    def __dir__(self) -> list[str]:
        return sorted(packet.base for packet in self._packets())

    def __repr__(self) -> str:
        """Return the schemas of the namespace's operators, one per line; only those of the first packets if there are
        many.
        """
        packets = self._packets()
        lines = [f"namespace {self._name}, {len(packets)} packets:"]
        for packet in sorted(packets, key=lambda packet: (packet.base.startswith("_"), packet.base))[:_MOST_SHOWN]:
            lines += [f"    {operator.schema}" for operator in tuple(packet.overloads.values())]
        if len(packets) > _MOST_SHOWN:
            lines.append(f"    ... and {len(packets) - _MOST_SHOWN} more packets; `opdsl list` shows every operator")
        return "\n".join(lines)

    def _packets(self) -> list[Packet]:
        known = load_namespace(self._operators, self._name)
        prefix = f"{self._name}::"
        return [packet for name, packet in tuple(known.packets.items()) if name.startswith(prefix)]


class Operators:
    """Object whose attributes are the namespaces of a registry.

    Args:
        registry: the registry of the operators.
        loaders: functions that load operators of a namespace: those of the given packet, or all of them for None; they
            return whether the namespace has no further operators.
        completing: returns the function that declares operators derived from others; called when new operators exist.
    """

    def __init__(
        self,
        registry: Registry,
        loaders: Mapping[str, Callable[[str | None], bool]],
        completing: Callable[[], Complete] = lambda: lambda registry, operators: None,
    ) -> None:
        self._registry = registry
        self._loaders = dict(loaders)
        self._completing = completing
        self._pending: dict[str, None] = {}
        registry.watchers.append(self._note)
        for operator in tuple(registry):
            self._note(operator)

    def _note(self, operator: Operator) -> None:
        """Record a new operator from which others are generated when its packet or namespace is looked up."""
        if "autogen" in operator.properties:
            self._pending[_family(operator.packet_name)] = None

    def _load(self, namespace: str, packet: str | None) -> Registry:
        """See ``load_namespace``."""
        load = self._loaders.get(namespace)
        has_all = load is None or load(packet)
        family = None if packet is None or has_all else _family(f"{namespace}::{packet}")

        def wanted() -> set[str]:
            every = tuple(self._pending)
            return {text for text in every if text == family or (family is None and text.startswith(f"{namespace}::"))}

        if wanted():
            complete = self._completing()  # it may import, so no lock is held
            with self._registry.lock:  # other threads wait until all operators are declared
                families = wanted()
                operators = [operator for operator in self._registry if _family(operator.packet_name) in families]
                complete(self._registry, operators)
                for text in families:
                    self._pending.pop(text, None)
        return self._registry

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        """Return the way in which pickle restores the object: as the attribute ``ops`` of ``opdsl``.

        Raises:
            NotPickledError: it belongs to another registry, which has no name.
        """
        if self._registry is not registry:
            raise NotPickledError(
                "operators of a separate registry have no name to be found by. Pickle operators of opdsl.ops."
            )
        return _attribute_of, ("opdsl", "ops")

    def __getattr__(self, name: str) -> Namespace:
        if name not in self._loaders and not any(
            packet.startswith(f"{name}::") for packet in tuple(self._registry.packets)
        ):
            otherwise = f'Import the module that declares it, or declare an operator with @op("{name}::...").'
            raise UnknownOperatorError(f"no namespace {name}. {suggestion(name, self.__dir__(), otherwise)}")
        return Namespace(name, self)

    def __dir__(self) -> list[str]:
        return sorted({packet.partition("::")[0] for packet in tuple(self._registry.packets)} | self._loaders.keys())

    def __repr__(self) -> str:
        """Return the namespaces as text, with the number of packets of those that are loaded."""
        counts = Counter(packet.partition("::")[0] for packet in tuple(self._registry.packets))
        lines = [f"    {name}: {counts[name] or 'not loaded yet'}" for name in self.__dir__()]
        return "\n".join(["operators, packets by namespace:", *lines])


def load_namespace(operators: Operators, namespace: str, packet: str | None = None) -> Registry:
    """Load operators of a namespace and those generated from them, and return their registry.

    Args:
        operators: the object that holds all namespaces.
        namespace: the name of the namespace.
        packet: the packet whose operators are loaded; None for all packets.
    """
    return operators._load(namespace, packet)


def _family(packet: str) -> str:
    """Return the name that the packets of an operator's variants share."""
    namespace, _, base = packet.partition("::")
    return f"{namespace}::{OperatorName(namespace, base).root}"
