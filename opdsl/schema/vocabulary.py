"""Names for the annotations of declarations that are no classes at run time.

A class with an attribute ``__schema_type__`` denotes the schema type with that text: ``Tensor``, ``DType``,
``Device``, ``Layout`` and ``MemoryFormat`` of the runtime, and a user's own class for a custom one
(``__schema_type__ = "__torch__.torch.classes.mylib.Index"``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from opdsl.errors import AnnotationError


class _Marker:
    """Base class of markers in ``Annotated``, which are equal if class and content are."""

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
    """Marker of the schema type that an annotation denotes: ``Annotated[int, SchemaType("SymInt")]``."""


class Size(_Marker):
    """Marker of the size of a list: ``Annotated[IntList, Size(2)]`` is ``int[2]``, which accepts one int or two.

    Raises AnnotationError if it is not an integer of at least 1.

    Args:
        content: the size.

    >>> import opdsl
    >>> from typing import Annotated
    >>> @opdsl.Library("example_sizes").op
    ... def resized(self: opdsl.Tensor, size: Annotated[opdsl.IntList, opdsl.Size(2)]) -> opdsl.Tensor: ...
    >>> print(resized.schema)
    example_sizes::resized(Tensor self, int[2] size) -> Tensor
    """

    def __init__(self, content: int) -> None:
        if not isinstance(content, int) or isinstance(content, bool) or content < 1:
            raise AnnotationError(f"the size of a list is an integer of at least 1 (got {content!r})")
        super().__init__(content)


class Name(_Marker):
    """Marker of a schema name that Python cannot use for a parameter: ``Annotated[int, Name("from")]``.

    Raises AnnotationError if it is no identifier.

    Args:
        content: the name.

    >>> import opdsl
    >>> from typing import Annotated
    >>> @opdsl.Library("example_names").op
    ... def moved(self: opdsl.Tensor, start: Annotated[int, opdsl.Name("from")]) -> opdsl.Tensor: ...
    >>> print(moved.schema)
    example_names::moved(Tensor self, int from) -> Tensor
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
"""Values that an argument of type ``int[2]`` accepts; the plain spelling of ``Ints[2]`` is ``Annotated[IntList,
Size(2)]``.
"""
SymIntList = SymInt | Sequence[SymInt]
FloatList = float | Sequence[float]
BoolList = bool | Sequence[bool]


class _SizedList:
    """Base class of ``Ints`` and similar names, for which ``Ints[2]`` is short for ``Annotated[IntList, Size(2)]``."""

    elements: ClassVar[Any]

    def __class_getitem__(cls, size: int) -> Any:
        return Annotated[cls.elements, Size(size)]


class Ints(_SizedList):
    """Annotation of int lists with a size: ``Ints[2]`` is the schema type ``int[2]``.

    >>> import opdsl
    >>> @opdsl.Library("example_ints").op
    ... def resized(self: opdsl.Tensor, size: opdsl.Ints[2]) -> opdsl.Tensor: ...
    >>> print(resized.schema)
    example_ints::resized(Tensor self, int[2] size) -> Tensor
    """

    elements = IntList


class SymInts(_SizedList):
    """Annotation of SymInt lists with a size: ``SymInts[2]`` is the schema type ``SymInt[2]``.

    >>> import opdsl
    >>> @opdsl.Library("example_symints").op
    ... def resized(self: opdsl.Tensor, size: opdsl.SymInts[2]) -> opdsl.Tensor: ...
    >>> print(resized.schema)
    example_symints::resized(Tensor self, SymInt[2] size) -> Tensor
    """

    elements = SymIntList


class Floats(_SizedList):
    """Annotation of float lists with a size: ``Floats[2]`` is the schema type ``float[2]``."""

    elements = FloatList


class Bools(_SizedList):
    """Annotation of bool lists with a size: ``Bools[3]`` is the schema type ``bool[3]``, for output masks.

    >>> import opdsl
    >>> @opdsl.Library("example_bools").op
    ... def chosen(self: opdsl.Tensor, output_mask: opdsl.Bools[3]) -> opdsl.Tensor: ...
    >>> print(chosen.schema)
    example_bools::chosen(Tensor self, bool[3] output_mask) -> Tensor
    """

    elements = BoolList


class QScheme:
    """Annotation of quantization schemes, the schema type ``QScheme``.

    >>> import opdsl
    >>> @opdsl.Library("example_schemes").op
    ... def requantized(self: opdsl.Tensor, scheme: opdsl.QScheme) -> opdsl.Tensor: ...
    >>> print(requantized.schema)
    example_schemes::requantized(Tensor self, QScheme scheme) -> Tensor
    """

    __schema_type__: ClassVar[str] = "QScheme"


class Storage:
    """Annotation of storages, the memory of tensors: the schema type ``Storage``.

    >>> import opdsl
    >>> @opdsl.Library("example_storages").op
    ... def over(source: opdsl.Storage, size: opdsl.Ints[1]) -> opdsl.Tensor: ...
    >>> print(over.schema)
    example_storages::over(Storage source, int[1] size) -> Tensor
    """

    __schema_type__: ClassVar[str] = "Storage"


class Stream:
    """Annotation of streams, queues of work on a device: the schema type ``Stream``.

    >>> import opdsl
    >>> @opdsl.Library("example_streams").op
    ... def kept_for(self: opdsl.Tensor, s: opdsl.Stream) -> None: ...
    >>> print(kept_for.schema)
    example_streams::kept_for(Tensor self, Stream s) -> ()
    """

    __schema_type__: ClassVar[str] = "Stream"


class GraphModule:
    """Annotation of traced programs, which higher-order operators take: the schema type ``GraphModule``.

    >>> import opdsl
    >>> @opdsl.Library("example_graphs").op
    ... def run(graph: opdsl.GraphModule, inputs: list[opdsl.Tensor]) -> list[opdsl.Tensor]: ...
    >>> print(run.schema)
    example_graphs::run(GraphModule graph, Tensor[] inputs) -> Tensor[]
    """

    __schema_type__: ClassVar[str] = "GraphModule"


class TensorOptions:
    """Annotation ``options: TensorOptions`` for the keyword-only arguments dtype, layout, device and pin_memory.

    A body receives an object with the arguments that the caller gave, None for the rest, and passes it on as
    ``**options``.

    Args:
        dtype, layout, device, pin_memory: the arguments that the caller gave.

    >>> import opdsl
    >>> @opdsl.Library("example_options").op
    ... def noise(size: opdsl.Ints[1], *, options: opdsl.TensorOptions) -> opdsl.Tensor: ...
    >>> [each.name for each in noise.schema.arguments]
    ['size', 'dtype', 'layout', 'device', 'pin_memory']
    """

    __slots__ = ("device", "dtype", "layout", "pin_memory")

    def __init__(
        self, dtype: object = None, layout: object = None, device: object = None, pin_memory: bool | None = None
    ) -> None:
        self.dtype = dtype
        self.layout = layout
        self.device = device
        self.pin_memory = pin_memory

    def keys(self) -> tuple[str, ...]:
        """Return the names of the four arguments."""
        return ("dtype", "layout", "device", "pin_memory")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def replace(self, **changes: object) -> TensorOptions:
        """Return a copy with some values replaced.

        Args:
            changes: the new values, by name.

        >>> TensorOptions(dtype="float32").replace(device="cpu")
        TensorOptions(device='cpu', dtype='float32', layout=None, pin_memory=None)
        """
        return TensorOptions(**{**self, **changes})

    def __repr__(self) -> str:
        return f"TensorOptions({', '.join(f'{field}={getattr(self, field)!r}' for field in sorted(self.__slots__))})"


class Reduction(enum.IntEnum):
    """Enumeration of loss reductions, which schemas keep by name: ``reduction: int = Reduction.Mean``."""

    Mean = 1
    Sum = 2
