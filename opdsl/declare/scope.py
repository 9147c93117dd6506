"""A namespace of a registry in which declarations register operators, with a log to undo registrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from opdsl.dispatch import DispatchKey, Kernel, Operator, Registry


class Scope:
    """Namespace of a registry in which declarations register operators and kernels; closing it removes them again.

    Args:
        namespace: of the operators.
        registry: the registry that holds them.
    """

    def __init__(self, namespace: str, registry: Registry) -> None:
        self.namespace = namespace
        self.registry = registry
        self._undo: list[Callable[[], object]] = []

    def register(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Register a kernel for a dispatch key of an operator; closing this scope removes it."""
        self.registry.register(operator, key, kernel)
        self.undo(partial(self.registry.deregister, operator, key, kernel))
        self.registry.tell_followers(operator)

    def undo(self, action: Callable[[], object]) -> None:
        """Add an action to run when this scope is closed or a failed block is rolled back."""
        self._undo.append(action)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Roll back the registrations made inside the block if an error leaves it."""
        before = len(self._undo)
        try:
            yield
        except BaseException:
            self._take_back(before)
            raise

    def close(self) -> None:
        """Undo everything that was declared and registered in this scope, the newest first."""
        self._take_back(0)

    def _take_back(self, before: int) -> None:
        while len(self._undo) > before:
            self._undo.pop()()
