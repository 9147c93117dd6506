"""Schema types, as values that print back to their text."""

from __future__ import annotations

import builtins
import enum

import attrs

CLASS_PREFIX = "__torch__.torch.classes."
"""Prefix of every custom class in schema text."""


class BaseType(enum.Enum):
    """Schema type without parts; its value is its text.

    Source: the base types of torchgen and PyTorch's native functions (facts, section 1).
    """

    Generator = "Generator"
    ScalarType = "ScalarType"
    Tensor = "Tensor"
    int = "int"
    DimVector = "DimVector"
    float = "float"
    str = "str"
    bool = "bool"
    Layout = "Layout"
    Device = "Device"
    DeviceIndex = "DeviceIndex"
    Scalar = "Scalar"
    MemoryFormat = "MemoryFormat"
    QScheme = "QScheme"
    Storage = "Storage"
    Stream = "Stream"
    SymInt = "SymInt"
    SymBool = "SymBool"
    GraphModule = "GraphModule"

    # Members are singletons, and Enum's own hash is a slow Python function; schemas are hashed in bulk for grouping.
    __hash__ = object.__hash__

    def __str__(self) -> builtins.str:
        return self.value

    @property
    def base(self) -> BaseType:
        """Return the type itself, which has no lists or question marks to remove."""
        return self


@attrs.frozen
class ClassType:
    """Custom class, by its dotted name below ``__torch__.torch.classes``."""

    name: str

    def __str__(self) -> str:
        return CLASS_PREFIX + self.name

    @property
    def base(self) -> ClassType:
        """Return the type itself, which has no lists or question marks to remove."""
        return self


@attrs.frozen
class FormerType(ClassType):
    """Base type of earlier versions of PyTorch, by its name; current schemas do not use it."""

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class ListType:
    """List type: ``element[]``, or ``element[size]``, which also accepts a single element and repeats it."""

    element: Type
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.element}[{'' if self.size is None else self.size}]"

    @property
    def base(self) -> BaseType | ClassType:
        """Return the type inside all lists and question marks."""
        return self.element.base


@attrs.frozen
class OptionalType:
    """Type whose value may also be ``None``: ``element?``."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"

    @property
    def base(self) -> BaseType | ClassType:
        """Return the type inside all lists and question marks."""
        return self.element.base


Type = BaseType | ClassType | ListType | OptionalType

ALIASABLE: tuple[Type, ...] = (
    BaseType.Tensor,
    OptionalType(BaseType.Tensor),
    ListType(BaseType.Tensor),
)
"""Types that may have an alias annotation: ``Tensor``, ``Tensor?`` and ``Tensor[]``."""


def list_of(type: Type) -> ListType | None:
    """Return the outermost list of a type, ignoring question marks; None if there is no list.

    >>> str(list_of(OptionalType(ListType(BaseType.int, 2))))
    'int[2]'
    """
    while isinstance(type, OptionalType):
        type = type.element
    return type if isinstance(type, ListType) else None
