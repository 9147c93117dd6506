"""Scopes: context managers that change context variables, and restore them even if an interrupt occurs at any point.

An interrupt (Ctrl-C, an exception that another thread sends) is raised between two instructions, and possibly at the
beginning of ``__exit__``, before its first line. So a ``with`` statement gets its own exit function for each time that
the scope is entered, and dropping this function unused also restores the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar
from weakref import ref

T = TypeVar("T")


class _Changing:
    """Base class of scopes and settings."""

    __slots__ = ()

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """Return the context variables to change, with their new values."""
        raise NotImplementedError

    def enter(self) -> None:
        """Change the variables, after recording how to restore them."""
        entry = _prepared.get()
        if entry is None or entry.scope is not self:
            entry = _Entry()  # called directly, not by a with statement
        entry.scope = None
        changes = self.changes()
        before = tuple([(variable, variable.get()) for variable, _ in changes])
        _entered.set((_entered.get(), entry, self, before))
        for variable, value in changes:
            variable.set(value)

    if TYPE_CHECKING:

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
        ) -> None: ...


class Scope(_Changing):
    """Context manager that changes context variables while it is entered.

    It is reentrant, and may be entered from several threads and tasks at once.
    """

    __slots__ = ()

    def __enter__(self) -> Self:
        self.enter()
        return self


class Setting(_Changing, Generic[T]):
    """Context manager that sets one context variable; ``with`` returns the value.

    Args:
        variable: the context variable.
        value: its value while the setting is entered.
    """

    __slots__ = ("_value", "_variable")

    def __init__(self, variable: ContextVar[T] | ContextVar[T | None], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> T:
        self.enter()
        return self._value

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``Scope``."""
        return ((self._variable, self._value),)


class _Entry:
    """Record of entering a scope once. It has no constructor, so that making one runs no Python code.

    scope: the scope that will be entered; None once it is.
    watch: a weak reference to the exit function, which detects that the ``with`` statement has dropped it.
    """

    __slots__ = ("scope", "watch")

    scope: _Changing | None
    watch: ref[Callable[..., None]] | None

    def leave(self, *_: object) -> None:
        """Restore the variables that this entry changed; if it changed none, those of the scope's newest entry.

        It can be repeated after an interrupt.
        """
        scope = self.scope
        node, above = _entered.get(), []
        while node is not None and node[1] is not self and (scope is None or node[2] is not scope):
            above.append(node)  # scopes in generators may be left in another order than they were entered
            node = node[0]
        if node is not None:
            for variable, value in node[3]:
                variable.set(value)
            _entered.set(_put_back(node[0], above) if above else node[0])
        self.scope = self.watch = None

    def dropped(self, _: object) -> None:
        """Restore the variables that this entry changed, if it did."""
        if self.scope is None:
            self.leave()
        self.scope = None


class _Leaving:
    """Descriptor for ``__exit__`` of scopes: returns a new function for each ``with`` statement."""

    def __get__(self, scope: _Changing | None, owner: type[_Changing]) -> Callable[..., None]:
        if scope is None:
            return _leave_newest
        entry = _Entry()
        entry.scope = scope
        leave = partial(_Entry.leave, entry)  # frames of a traceback refer to the entry, but not to this function
        entry.watch = ref(leave, entry.dropped)
        _prepared.set(entry)
        return leave


if not TYPE_CHECKING:
    _Changing.__exit__ = _Leaving()


def _leave_newest(scope: _Changing, *_: object) -> None:
    entry = _Entry()
    entry.scope = scope
    entry.leave()


def _put_back(node: _Node | None, above: list[_Node]) -> _Node | None:
    for _, entry, scope, before in reversed(above):
        node = (node, entry, scope, before)
    return node


def change_what_scopes_restore(variable: ContextVar[T], change: Callable[[T], T]) -> None:
    """Change the value that the scopes entered at present will restore for a context variable."""
    node, changed = _entered.get(), []
    while node:
        below, entry, scope, before = node
        values = tuple([(entry, change(value) if entry is variable else value) for entry, value in before])
        changed.append((below, entry, scope, values))
        node = below
    _entered.set(_put_back(None, changed))


# Linked list of entered scopes in this context: the earlier entries, the entry, the scope, and the earlier values of
# the variables. Not stored in the scope, because threads and tasks may enter the same object at once.
_Node: TypeAlias = "tuple[_Node | None, _Entry, _Changing, tuple[tuple[ContextVar[Any], Any], ...]]"
_entered: ContextVar[_Node | None] = ContextVar("opdsl_entered", default=None)

# The entry that a with statement made last, before it enters the scope.
_prepared: ContextVar[_Entry | None] = ContextVar("opdsl_prepared", default=None)

__all__ = ["Scope", "Setting", "change_what_scopes_restore"]
