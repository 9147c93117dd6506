"""Registry, which holds operators and packets by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from opdsl.dispatch.keys import DispatchKey
from opdsl.dispatch.layers.differentiation import autograd_fallbacks
from opdsl.dispatch.layers.math_bits import math_bit_fallbacks
from opdsl.dispatch.layers.modes import mode_fallbacks
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.packet import Packet
from opdsl.dispatch.table import default_fallbacks, require_row
from opdsl.errors import DuplicateOperatorError, UnknownOperatorError
from opdsl.runtime.forking import registering
from opdsl.runtime.scopes import Setting


class Implementation:
    """Kernel for an operator that another library defines, earlier or later.

    name: the operator's qualified name.
    key: the dispatch key.
    make: makes the kernel once the operator is defined; raises if it does not fit the schema.
    """

    __slots__ = ("kernel", "key", "make", "name", "operator")

    def __init__(self, name: str, key: DispatchKey, make: Callable[[Operator], Kernel]) -> None:
        self.name = name
        self.key = key
        self.make = make
        self.operator: Operator | None = None
        self.kernel: Kernel | None = None

    def __repr__(self) -> str:
        return f"<implementation of {self.name} at {self.key}>"


class Registry:
    """Registry of operators and packets by qualified name (``aten::add.Tensor``, ``aten::add``), and of fallbacks.

    entry_tables: functions by namespace that return options of ``op`` by full name of the operator, for a library that
        keeps those of its entries in native_functions.yaml in a table; see ``entry_options``.
    watchers: functions that are called with every operator that is defined.
    followers: functions that are called, without any lock held, with an operator that was declared or got a kernel.
    """

    def __init__(self) -> None:
        self.operators: dict[str, Operator] = {}
        self.packets: dict[str, Packet] = {}
        self.fallbacks: dict[DispatchKey, Kernel] = {
            **default_fallbacks(),
            **autograd_fallbacks(),
            **math_bit_fallbacks(),
            **mode_fallbacks(),
        }
        self._fallback_stacks: dict[DispatchKey, list[Kernel]] = {}
        self.entry_tables: dict[str, Callable[[], Mapping[str, Mapping[str, Any]]]] = {}
        self.lock = registering
        self.watchers: list[Callable[[Operator], object]] = []
        self.followers: list[Callable[[Operator], object]] = []
        self._implementations: dict[str, list[Implementation]] = {}

    def entry_options(self, name: str) -> Mapping[str, Any]:
        """Return the options of an operator, given by full name, that its namespace has in a table; they take
        precedence over those of its declaration.
        """
        table = self.entry_tables.get(name.partition("::")[0])
        return {} if table is None else table().get(name, {})

    def define(self, operator: Operator, module: str) -> Packet:
        """Add a new operator, and return its packet.

        Raises:
            DuplicateOperatorError: an operator of that name exists.
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
            try:
                for implementation in self._implementations.get(operator.name, ()):
                    self._attach(implementation, operator)
            except BaseException:
                self.remove(operator)
                raise
            for watch in self.watchers:
                watch(operator)
            return packet

    def tell_followers(self, operator: Operator) -> None:
        """Notify the followers that an operator has changed."""
        for follow in tuple(self.followers):
            follow(operator)

    def remove(self, operator: Operator) -> None:
        """Remove an operator, and its packet if it was the last overload."""
        with self.lock:
            self.operators.pop(operator.name, None)
            packet = self.packets.get(operator.packet_name)
            if packet is not None:
                packet.remove(operator)
                if not packet.overloads:
                    del self.packets[operator.packet_name]

    def register(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Register a kernel of an operator at a key; it takes precedence over older kernels, except overrides."""
        with self.lock:
            kernels = list(operator.registrations.get(key, ()))
            kernels.insert(int(bool(kernels) and kernels[0].stays_first), kernel)
            self._set_kernels(operator, key, kernels)

    def deregister(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Remove a kernel of an operator; the one registered before it takes its place."""
        with self.lock:
            kernels = list(operator.registrations.get(key, ()))
            if kernel in kernels:
                kernels.remove(kernel)
            self._set_kernels(operator, key, kernels)

    def _set_kernels(self, operator: Operator, key: DispatchKey, kernels: list[Kernel]) -> None:
        """Replace all kernels of a key at once, without changing the old dict, which another thread may be reading."""
        registrations = {**operator.registrations, key: kernels}
        if not kernels:
            del registrations[key]
        operator.registrations = registrations
        self._changed(operator)

    def register_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        """Register a kernel that serves every operator at a runtime key; it replaces an earlier fallback.

        Raises:
            DispatchKeyError: the key has no row in a computed table.
        """
        require_row(key)
        with self.lock:
            present = self.fallbacks.get(key)
            stack = self._fallback_stacks.setdefault(key, [] if present is None else [present])
            stack.append(kernel)
            self._set_fallback(key, stack)

    def deregister_fallback(self, key: DispatchKey, kernel: Kernel) -> None:
        """Remove a fallback; the one registered before it takes its place."""
        with self.lock:
            stack = self._fallback_stacks.get(key, [])
            if kernel in stack:
                stack.remove(kernel)
                self._set_fallback(key, stack)

    def _set_fallback(self, key: DispatchKey, stack: list[Kernel]) -> None:
        if stack:
            self.fallbacks[key] = stack[-1]
        else:
            self.fallbacks.pop(key, None)
        for operator in self:
            self._changed(operator)

    def implement(self, implementation: Implementation) -> None:
        """Register a kernel for an operator, now or as soon as the operator is defined.

        Raises:
            KernelSignatureError: the operator is defined, and the kernel does not fit it.
        """
        with self.lock:
            operator = self.operators.get(implementation.name)
            if operator is not None:
                self._attach(implementation, operator)
            self._implementations.setdefault(implementation.name, []).append(implementation)

    def withdraw(self, implementation: Implementation) -> None:
        """Remove an implementation, whether its operator is defined or not."""
        with self.lock:
            present = self._implementations.get(implementation.name, [])
            if implementation in present:
                present.remove(implementation)
            if not present:
                self._implementations.pop(implementation.name, None)
            if implementation.operator is not None and implementation.kernel is not None:
                self.deregister(implementation.operator, implementation.key, implementation.kernel)

    def dangling(self) -> list[Implementation]:
        """Return the implementations whose operator no library has defined."""
        with self.lock:
            pairs = sorted(self._implementations.items())
            return [
                implementation for name, present in pairs if name not in self.operators for implementation in present
            ]

    def _attach(self, implementation: Implementation, operator: Operator) -> None:
        implementation.kernel = implementation.make(operator)
        implementation.operator = operator
        self.register(operator, implementation.key, implementation.kernel)

    def changed(self, operator: Operator) -> None:
        """Drop the computed table and all plans of an operator, since one of its kernels behaves differently."""
        with self.lock:
            self._changed(operator)

    def _changed(self, operator: Operator) -> None:
        operator.forget()
        packet = self.packets.get(operator.packet_name)
        if packet is not None:
            packet.forget()

    def operator(self, name: str) -> Operator:
        """Return the operator of a name, which may omit ``aten::``.

        Raises:
            UnknownOperatorError: there is no such operator; the message lists the overloads of the packet.
        """
        qualified = name if "::" in name else f"aten::{name}"
        operator = self.operators.get(qualified)
        if operator is None:
            raise UnknownOperatorError(self._unknown(qualified))
        return operator

    def _unknown(self, name: str) -> str:
        packet = self.packets.get(name.partition(".")[0])
        if packet is not None:
            have = ", ".join(overload or "default" for overload in packet.overloads)
            return f"no operator {name}. {packet.name} has the overloads: {have}."
        return f"no operator {name}. `opdsl list` shows every operator."

    def __reduce__(self) -> str:
        """Return the name by which pickles refer to the process's own registry; other registries have none."""
        return "registry"

    def __iter__(self) -> Iterator[Operator]:
        return iter(tuple(self.operators.values()))


registry = Registry()

_declared_into: ContextVar[Registry] = ContextVar("_declared_into", default=registry)


def declaring_into(target: Registry) -> Setting[Registry]:
    """Return a context manager in which new libraries declare their operators in another registry.

    With it, a module of declarations can be inspected without adding its operators to the existing ones.
    """
    return Setting(_declared_into, target)


def declared_into() -> Registry:
    """Return the registry in which new libraries declare their operators."""
    return _declared_into.get()


__all__ = ["Implementation", "Registry", "declared_into", "declaring_into", "registry"]
