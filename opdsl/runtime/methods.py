"""Operators as methods of ``Tensor``: installed, or standing there until they are first looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Protocol

from opdsl.errors import DuplicateOperatorError
from opdsl.runtime.forking import registering
from opdsl.runtime.tensor import Tensor

_ABSENT = object()

# What stood in the class under the name of each installed method.
_INSTALLED: dict[str, object] = {}


def install_method(name: str, function: Callable[..., object] | property, *, replace: bool = False) -> None:
    """Makes ``tensor.name(...)`` call ``function``; double-underscore names work too.

    A method of a module that is being imported is seen by others when the module is complete.

    Args:
        name: the method's name.
        function: receives the tensor first; or a property, which needs no call.
        replace: whether an installed or built-in method of that name gives way.

    Raises:
        DuplicateOperatorError: the name is taken and ``replace`` is False.
    """
    present = Tensor.__dict__.get(name, _ABSENT)
    if isinstance(present, LateMethod) and not replace:
        present.loader.load(name)  # does nothing where it is just this that is loading
        present.settle()
    with registering:
        present = Tensor.__dict__.get(name, _ABSENT)
        late = present if isinstance(present, LateMethod) else None
        if late is not None:
            present = late.before
        inherited = any(name in vars(base) for base in Tensor.__mro__[1:-1])
        if (name in _INSTALLED or inherited or present not in (_ABSENT, None)) and not replace:
            raise DuplicateOperatorError(
                f"Tensor.{name} is taken; give the operator another name or variants='function'"
            )
        _INSTALLED.setdefault(name, present)
        if late is not None and late.loader.is_loading(name):
            late.function = function
        else:
            setattr(Tensor, name, function)


def named_as_method(function: FunctionType, name: str) -> FunctionType:
    """Give a function that becomes a method the name by which pickle finds it."""
    function.__module__, function.__qualname__ = "opdsl.runtime.late_methods", f"Tensor.{name}"
    return function


def is_own(name: str) -> bool:
    """Whether Tensor itself has something of that name, which nobody has installed or will."""
    attributes = [vars(base)[name] for base in Tensor.__mro__[:-1] if name in vars(base)]
    return bool(attributes) and name not in _INSTALLED and not isinstance(attributes[0], LateMethod)


def is_installed(name: str) -> bool:
    """Whether ``install_method`` has installed a method of that name."""
    return name in _INSTALLED


class MethodLoader(Protocol):
    """Loads the modules whose methods stand late."""

    def load(self, name: str) -> None:
        """Import the module of a method, which installs it; wait where another thread imports it."""

    def is_loading(self, name: str) -> bool:
        """Whether the module of a method is being imported, in whatever thread."""


class LateMethod:
    """Stands on Tensor for a method whose module is loaded when the method is first looked up.

    name: of the method.
    loader: loads its module.
    before: what stood there.
    function: the method, once the module that is being imported has installed it.
    """

    __slots__ = ("before", "function", "loader", "name")

    def __init__(self, name: str, loader: MethodLoader, before: object) -> None:
        self.name = name
        self.loader = loader
        self.before = before
        self.function: Any = _ABSENT

    def settle(self) -> None:
        """Let the method stand on Tensor itself, if it is there and its module is complete."""
        with registering:
            is_here = Tensor.__dict__.get(self.name) is self and self.function is not _ABSENT
            if is_here and not self.loader.is_loading(self.name):
                setattr(Tensor, self.name, self.function)

    def __get__(self, instance: object, owner: type) -> Any:
        self.loader.load(self.name)
        self.settle()
        if Tensor.__dict__.get(self.name) is not self:
            return getattr(owner if instance is None else instance, self.name)
        if self.function is _ABSENT:
            raise AttributeError(f"{owner.__name__} has no attribute {self.name!r}")
        # This thread is importing the module: its body may use what it has declared.
        return self.function.__get__(instance, owner)

    def __set__(self, instance: Tensor, value: object) -> None:
        self.loader.load(self.name)
        self.settle()
        if Tensor.__dict__.get(self.name) is self:
            raise AttributeError(f"Tensor.{self.name} cannot be set before its module is complete")
        setattr(instance, self.name, value)


def install_late_methods(names: Iterable[str], loader: MethodLoader) -> None:
    """Makes the first look at any of the methods load it; those that are installed stay.

    Args:
        names: of methods.
        loader: has the module of each, which installs that method, and perhaps others.
    """
    for name in names:
        if name not in _INSTALLED:
            setattr(Tensor, name, LateMethod(name, loader, Tensor.__dict__.get(name, _ABSENT)))


def remove_method(name: str) -> None:
    """Takes back a method that ``install_method`` installed, and brings back what it replaced; others stay."""
    with registering:
        if name not in _INSTALLED:
            return
        before = _INSTALLED.pop(name)
        present = Tensor.__dict__.get(name)
        if isinstance(present, LateMethod):
            present.function = _ABSENT
        elif before is _ABSENT:
            delattr(Tensor, name)
        else:
            setattr(Tensor, name, before)
