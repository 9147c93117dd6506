"""Where operators and packets are found by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opdsl.dispatch.keys import DispatchKey
from opdsl.dispatch.operator import Kernel, Operator
from opdsl.dispatch.packet import Packet
from opdsl.dispatch.table import default_fallbacks
from opdsl.errors import DuplicateOperatorError, UnknownOperatorError


class Registry:
    """Operators and packets by qualified name (``aten::add.Tensor``, ``aten::add``), and the backends' fallbacks."""

    def __init__(self) -> None:
        self.operators: dict[str, Operator] = {}
        self.packets: dict[str, Packet] = {}
        self.fallbacks: dict[DispatchKey, Kernel] = default_fallbacks()
        self.lock = threading.RLock()

    def define(self, operator: Operator, module: str) -> Packet:
        """Take a new operator in; return its packet.

        Raises:
            DuplicateOperatorError: an operator of that name is there.
        """
        with self.lock:
            present = self.operators.get(operator.name)
            if present is not None:
                raise DuplicateOperatorError(
                    f"{operator.name} is declared at {operator.location}, but it is declared already at "
                    f"{present.location}. Give one of them another overload name: @packet.overload(...)."
                )
            packet = self.packets.get(operator.packet_name)
            if packet is None:
                packet = self.packets[operator.packet_name] = Packet(operator.packet_name, module)
            self.operators[operator.name] = operator
            packet.add(operator)
            return packet

    def remove(self, operator: Operator) -> None:
        """Take an operator out, and its packet with the last one."""
        with self.lock:
            self.operators.pop(operator.name, None)
            packet = self.packets.get(operator.packet_name)
            if packet is not None:
                packet.remove(operator)
                if not packet.overloads:
                    del self.packets[operator.packet_name]

    def register(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Make a kernel the newest of an operator's key."""
        with self.lock:
            operator.registrations.setdefault(key, []).insert(0, kernel)
            self._changed(operator)

    def deregister(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Take a kernel back; the one before it is the newest again."""
        with self.lock:
            kernels = operator.registrations.get(key, [])
            if kernel in kernels:
                kernels.remove(kernel)
            if not kernels:
                operator.registrations.pop(key, None)
            self._changed(operator)

    def _changed(self, operator: Operator) -> None:
        operator.forget()
        packet = self.packets.get(operator.packet_name)
        if packet is not None:
            packet.forget()

    def operator(self, name: str) -> Operator:
        """The operator of a name, with or without ``aten::``.

        Raises:
            UnknownOperatorError: there is none; the message names the overloads that there are.
        """
        qualified = name if "::" in name else f"aten::{name}"
        found = self.operators.get(qualified)
        if found is None:
            raise UnknownOperatorError(self._unknown(qualified))
        return found

    def _unknown(self, name: str) -> str:
        packet = self.packets.get(name.partition(".")[0])
        if packet is not None:
            have = ", ".join(each or "default" for each in packet.overloads)
            return f"no operator {name}. {packet.name} has the overloads: {have}."
        return f"no operator {name}. `opdsl list` shows all that there are."

    def __iter__(self) -> Iterator[Operator]:
        return iter(tuple(self.operators.values()))


registry = Registry()

_declared_into: ContextVar[Registry] = ContextVar("_declared_into", default=registry)


@contextmanager
def declaring_into(target: Registry) -> Iterator[Registry]:
    """Libraries that are made inside declare their operators in another registry than the process's own.

    A module of declarations can be looked at so, without its operators getting in the way of those that are there.
    """
    token = _declared_into.set(target)
    try:
        yield target
    finally:
        _declared_into.reset(token)


def declared_into() -> Registry:
    """The registry that new libraries declare their operators in."""
    return _declared_into.get()


__all__ = ["Registry", "declared_into", "declaring_into", "registry"]
