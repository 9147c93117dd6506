"""Changes of context variables that last as long as a block, and end with it whatever interrupts it.

An interrupt (Ctrl-C, an exception that another thread sends) is raised between two instructions, and one of these
places is the beginning of ``__exit__``, before any line of it. So what a ``with`` statement is given to leave is an
object of this one entering, and dropping it unused undoes what entering changed.
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
    """What a scope and a setting have in common."""

    __slots__ = ()

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """The variables that it changes, with what they become."""
        raise NotImplementedError

    def enter(self) -> None:
        """Make the changes, after noting what undoes them."""
        entry = _prepared.get()
        if entry is None or entry.scope is not self:
            entry = _Entry()  # called by hand, not by a with statement
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
    """A context manager that changes context variables while it is entered.

    It may be entered again while it is entered, and from several threads and tasks at once.
    """

    __slots__ = ()

    def __enter__(self) -> Self:
        self.enter()
        return self


class Setting(_Changing, Generic[T]):
    """Gives a context variable a value, which ``with`` gives, too.

    Args:
        variable: it.
        value: what it is meanwhile.
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
    """One entering of a scope. There is no constructor, so that making one calls no Python.

    scope: what is to be entered; None once it is.
    watch: tells when the ``with`` statement has dropped what it was given to leave, while that is not used.
    """

    __slots__ = ("scope", "watch")

    scope: _Changing | None
    watch: ref[Callable[..., None]] | None

    def leave(self, *_: object) -> None:
        """Undo what this entering changed; if it was none, what the newest one of the scope did.

        Interrupted, it can be done again.
        """
        scope = self.scope
        node, above = _entered.get(), []
        while node is not None and node[1] is not self and (scope is None or node[2] is not scope):
            above.append(node)  # guards that generators hold may be left in another order than they were entered
            node = node[0]
        if node is not None:
            for variable, value in node[3]:
                variable.set(value)
            _entered.set(_put_back(node[0], above) if above else node[0])
        self.scope = self.watch = None

    def dropped(self, _: object) -> None:
        """Undo what this entering changed, if it did."""
        if self.scope is None:
            self.leave()
        self.scope = None


class _Leaving:
    """``__exit__`` of scopes: of each a new function, which belongs to the ``with`` statement that asks for it."""

    def __get__(self, scope: _Changing | None, owner: type[_Changing]) -> Callable[..., None]:
        if scope is None:
            return _leave_newest
        entry = _Entry()
        entry.scope = scope
        leave = partial(_Entry.leave, entry)  # frames of a traceback hold the entry, but not this
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
    """Change what the scopes that are entered now give back to a variable."""
    node, changed = _entered.get(), []
    while node:
        below, entry, scope, before = node
        values = tuple([(entry, change(value) if entry is variable else value) for entry, value in before])
        changed.append((below, entry, scope, values))
        node = below
    _entered.set(_put_back(None, changed))


# One entering, with those before it in this context: these, the entry, the scope, what it found in each variable. Not
# kept in the scope, because threads and tasks may enter the same object at once.
_Node: TypeAlias = "tuple[_Node | None, _Entry, _Changing, tuple[tuple[ContextVar[Any], Any], ...]]"
_entered: ContextVar[_Node | None] = ContextVar("opdsl_entered", default=None)

# What a with statement has asked for last, before it enters.
_prepared: ContextVar[_Entry | None] = ContextVar("opdsl_prepared", default=None)

__all__ = ["Scope", "Setting", "change_what_scopes_restore"]
