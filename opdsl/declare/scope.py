"""Where declarations register, and how that is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from opdsl.dispatch import DispatchKey, Kernel, Operator, Registry


class Scope:
    """What a library is to its declarations: a namespace of a registry, and what was done in it.

    Args:
        namespace: of the operators.
        registry: where they are found.
    """

    def __init__(self, namespace: str, registry: Registry) -> None:
        self.namespace = namespace
        self.registry = registry
        self._undo: list[Callable[[], object]] = []

    def register(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Make a kernel the newest of an operator's dispatch key, until this library takes it back."""
        self.registry.register(operator, key, kernel)
        self.undo(partial(self.registry.deregister, operator, key, kernel))
        self.registry.tell_followers(operator)

    def undo(self, action: Callable[[], object]) -> None:
        """Note what takes something back that was done for this library."""
        self._undo.append(action)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take back what was registered since, if an error leaves the block: nothing is registered by halves."""
        before = len(self._undo)
        try:
            yield
        except BaseException:
            self._take_back(before)
            raise

    def close(self) -> None:
        """Take back everything that this library declared and registered, the newest first."""
        self._take_back(0)

    def _take_back(self, before: int) -> None:
        while len(self._undo) > before:
            self._undo.pop()()
