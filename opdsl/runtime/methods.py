"""Operators as methods of ``Tensor``, installed at once or when they are first accessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Protocol

from opdsl.errors import DuplicateOperatorError
from opdsl.runtime.forking import registering
from opdsl.runtime.tensor import Tensor

_ABSENT = object()

# The attributes of the class that installed methods have replaced, by name.
_INSTALLED: dict[str, object] = {}


def install_method(name: str, function: Callable[..., object] | property, *, replace: bool = False) -> None:
    """Install a function as method ``tensor.name(...)``, including double-underscore names.

    While the method's module is being imported, other threads do not see the method.

    Args:
        name: the method's name.
        function: receives the tensor as its first argument; or a property.
        replace: whether an installed or built-in method of that name may be replaced.

    Raises:
        DuplicateOperatorError: the name is taken and ``replace`` is False.
    """
    present = Tensor.__dict__.get(name, _ABSENT)
    if isinstance(present, LateMethod) and not replace:
        present.loader.load(name)  # does nothing if this method is being loaded now
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
    """Set the module and qualified name by which pickle finds a function that is a method of Tensor, and return it."""
    function.__module__, function.__qualname__ = "opdsl.runtime.late_methods", f"Tensor.{name}"
    return function


def is_own(name: str) -> bool:
    """Return whether Tensor itself has an attribute of that name, which is not installed by an operator."""
    attributes = [vars(base)[name] for base in Tensor.__mro__[:-1] if name in vars(base)]
    return bool(attributes) and name not in _INSTALLED and not isinstance(attributes[0], LateMethod)


def is_installed(name: str) -> bool:
    """Return whether ``install_method`` has installed a method of that name."""
    return name in _INSTALLED


class MethodLoader(Protocol):
    """Protocol of an object that imports the modules of lazily loaded methods."""

    def load(self, name: str) -> None:
        """Import the module of a method, which installs it; wait if another thread is importing it."""

    def is_loading(self, name: str) -> bool:
        """Return whether the module of a method is being imported, by any thread."""


class LateMethod:
    """Placeholder on Tensor for a method whose module is imported when the method is first accessed.

    name: the name of the method.
    loader: imports its module.
    before: the attribute that the placeholder replaced.
    function: the method, once the module that is being imported has installed it.
    """

    __slots__ = ("before", "function", "loader", "name")

    def __init__(self, name: str, loader: MethodLoader, before: object) -> None:
        self.name = name
        self.loader = loader
        self.before = before
        self.function: Any = _ABSENT

    def settle(self) -> None:
        """Replace the placeholder by the method, if the import of its module is complete."""
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
        # This thread is importing the module, whose body may use methods that it has declared already.
        return self.function.__get__(instance, owner)

    def __set__(self, instance: Tensor, value: object) -> None:
        self.loader.load(self.name)
        self.settle()
        if Tensor.__dict__.get(self.name) is self:
            raise AttributeError(f"Tensor.{self.name} cannot be set before its module is complete")
        setattr(instance, self.name, value)


def install_late_methods(names: Iterable[str], loader: MethodLoader) -> None:
    """Install placeholders that load methods at their first access; methods that are installed already stay.

    Args:
        names: the names of the methods.
        loader: imports the module of each method, which installs that method, and perhaps others.
    """
    for name in names:
        if name not in _INSTALLED:
            setattr(Tensor, name, LateMethod(name, loader, Tensor.__dict__.get(name, _ABSENT)))


def remove_method(name: str) -> None:
    """Remove a method that ``install_method`` installed, and restore the attribute that it replaced; ignore other
    names.
    """
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
