"""What stands in the annotations of a declaration and has no class of its own at run time.

A class with an attribute ``__schema_type__`` stands for the schema type of that text: so do ``Tensor``, ``DType``,
``Device``, ``Layout`` and ``MemoryFormat`` of the runtime, and a user's own class for a custom one
(``__schema_type__ = "__torch__.torch.classes.mylib.Index"``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from opdsl.errors import AnnotationError


class _Marker:
    """A value that an ``Annotated`` carries: equal by class and content."""

    __slots__ = ("content",)

    def __init__(self, content: int | str) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _Marker) and other.content == self.content

    def __hash__(self) -> int:
        return hash((type(self), self.content))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.content!r})"


class SchemaType(_Marker):
    """Says which schema type an annotation stands for: ``Annotated[int, SchemaType("SymInt")]``."""


class Size(_Marker):
    """The size of a list: ``Annotated[IntList, Size(2)]`` is ``int[2]``, which takes one int or two.

    Raises AnnotationError when it is not an integer of at least 1.
    """

    def __init__(self, content: int) -> None:
        if not isinstance(content, int) or isinstance(content, bool) or content < 1:
            raise AnnotationError(f"the size of a list is an integer of at least 1 (got {content!r})")
        super().__init__(content)


class Name(_Marker):
    """The name in the schema of a parameter that Python cannot name so: ``Annotated[int, Name("from")]``.

    Raises AnnotationError when it is no identifier.
    """

    def __init__(self, content: str) -> None:
        if not isinstance(content, str) or not (content.isascii() and content.isidentifier()):
            raise AnnotationError(f"the name of an argument is an ASCII identifier (got {content!r})")
        super().__init__(content)


SymInt = Annotated[int, SchemaType("SymInt")]
SymBool = Annotated[bool, SchemaType("SymBool")]
DeviceIndex = Annotated[int, SchemaType("DeviceIndex")]
Scalar = Annotated[int | float | bool | complex, SchemaType("Scalar")]
DimVector = Annotated[Sequence[int], SchemaType("DimVector")]

IntList = int | Sequence[int]
"""What an ``int[2]`` takes; the plain spelling of ``Ints[2]`` is ``Annotated[IntList, Size(2)]``."""
SymIntList = SymInt | Sequence[SymInt]
FloatList = float | Sequence[float]
BoolList = bool | Sequence[bool]


class _SizedList:
    """``Ints[2]`` and the like: a short way to write ``Annotated[IntList, Size(2)]``."""

    elements: ClassVar[Any]

    def __class_getitem__(cls, size: int) -> Any:
        return Annotated[cls.elements, Size(size)]


class Ints(_SizedList):
    """``Ints[2]`` is the schema type ``int[2]``."""

    elements = IntList


class SymInts(_SizedList):
    """``SymInts[2]`` is the schema type ``SymInt[2]``."""

    elements = SymIntList


class Floats(_SizedList):
    """``Floats[2]`` is the schema type ``float[2]``."""

    elements = FloatList


class Bools(_SizedList):
    """``Bools[3]`` is the schema type ``bool[3]``, an output mask for instance."""

    elements = BoolList


class QScheme:
    """A scheme of quantisation."""

    __schema_type__: ClassVar[str] = "QScheme"


class Storage:
    """The memory behind a Tensor."""

    __schema_type__: ClassVar[str] = "Storage"


class Stream:
    """A queue of work on a device."""

    __schema_type__: ClassVar[str] = "Stream"


class GraphModule:
    """A traced program, as higher-order operators take it."""

    __schema_type__: ClassVar[str] = "GraphModule"


class TensorOptions:
    """``options: TensorOptions`` stands for the keyword-only arguments dtype, layout, device and pin_memory.

    A composite body receives one, with what the caller gave, None for the rest.
    """

    __slots__ = ("device", "dtype", "layout", "pin_memory")

    def __init__(
        self, dtype: object = None, layout: object = None, device: object = None, pin_memory: bool | None = None
    ) -> None:
        self.dtype = dtype
        self.layout = layout
        self.device = device
        self.pin_memory = pin_memory

    def __repr__(self) -> str:
        return f"TensorOptions({', '.join(f'{name}={getattr(self, name)!r}' for name in sorted(self.__slots__))})"


class Reduction(enum.IntEnum):
    """How a loss is reduced, as a default that keeps its name in the schema: ``reduction: int = Reduction.Mean``."""

    Mean = 1
    Sum = 2
