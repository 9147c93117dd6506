"""Operators as methods of ``Tensor``: installed, or standing there until they are first looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opdsl.errors import DuplicateOperatorError
from opdsl.runtime.tensor import Tensor

_ABSENT = object()

# What stood in the class under the name of each installed method.
_INSTALLED: dict[str, object] = {}


def install_method(name: str, function: Callable[..., object] | property, *, replace: bool = False) -> None:
    """Makes ``tensor.name(...)`` call ``function``; double-underscore names work too.

    Args:
        name: the method's name.
        function: receives the tensor first; or a property, which needs no call.
        replace: whether an installed or built-in method of that name gives way.

    Raises:
        DuplicateOperatorError: the name is taken and ``replace`` is False.
    """
    present = Tensor.__dict__.get(name, _ABSENT)
    if isinstance(present, LateMethod) and not replace:
        present.load(name)  # does nothing where it is just this that is loading
        present = Tensor.__dict__.get(name, _ABSENT)
    if isinstance(present, LateMethod):
        present = present.before
    inherited = any(name in vars(base) for base in Tensor.__mro__[1:-1])
    if (name in _INSTALLED or inherited or present not in (_ABSENT, None)) and not replace:
        raise DuplicateOperatorError(f"Tensor.{name} is taken; give the operator another name or variants='function'")
    _INSTALLED.setdefault(name, present)
    setattr(Tensor, name, function)


def is_own(name: str) -> bool:
    """Whether Tensor itself has something of that name, which nobody has installed or will."""
    found = [vars(base)[name] for base in Tensor.__mro__[:-1] if name in vars(base)]
    return bool(found) and name not in _INSTALLED and not isinstance(found[0], LateMethod)


def is_installed(name: str) -> bool:
    """Whether ``install_method`` has installed a method of that name."""
    return name in _INSTALLED


class LateMethod:
    """Stands on Tensor for a method whose module is loaded when the method is first looked up.

    name: of the method.
    load: called with the name; it installs the method.
    before: what stood there.
    """

    __slots__ = ("before", "load", "name")

    def __init__(self, name: str, load: Callable[[str], None], before: object) -> None:
        self.name = name
        self.load = load
        self.before = before

    def __get__(self, instance: object, owner: type) -> Any:
        self.load(self.name)
        if Tensor.__dict__.get(self.name) is self:
            raise AttributeError(f"{owner.__name__} has no attribute {self.name!r}")
        return getattr(owner if instance is None else instance, self.name)

    def __set__(self, instance: Tensor, value: object) -> None:
        self.load(self.name)
        setattr(instance, self.name, value)


def install_late_methods(names: Iterable[str], load: Callable[[str], None]) -> None:
    """Makes the first look at any of the methods load it; those that are installed stay.

    Args:
        names: of methods.
        load: called with one of the names; it installs that method, and perhaps others.
    """
    for name in names:
        if name not in _INSTALLED:
            setattr(Tensor, name, LateMethod(name, load, Tensor.__dict__.get(name, _ABSENT)))


def remove_method(name: str) -> None:
    """Takes back a method that ``install_method`` installed, and brings back what it replaced; others stay."""
    if name not in _INSTALLED:
        return
    before = _INSTALLED.pop(name)
    if before is _ABSENT:
        delattr(Tensor, name)
    else:
        setattr(Tensor, name, before)
