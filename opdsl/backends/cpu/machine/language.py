"""Machine code in typed Python: the names that it is written with.

A function marked ``internal`` or ``exported`` is read from its source and printed as LLVM (``text``). It means what it
means in Python, with these differences:

- ``int`` has 64 bits and wraps, ``float`` is a double, ``bool`` a bit; a name keeps the type that it gets first.
- ``//``, ``%`` and ``>>`` are of numbers that are not negative.
- A class derived from ``Struct`` is a record in memory, and a name of that type is its address; its annotations are
  the fields, as C lays them out. ``None`` is the address of nothing.
- Statements are assignments, ``if``, ``while``, ``for`` over a ``range`` (a step below 0 is a literal), ``break``,
  ``continue`` and ``return``.
- Names of the module are constants: integers, tuples, functions, what ``shared`` makes, and what a ``Library`` names;
  whoever prints the module may give them other values.
- What only constants are part of is computed when the module is printed, also by functions without a mark, which know
  nothing of values that are given.
  A ``for`` over what is ``unrolled`` is its body for each value, which is a constant there; a function is printed for
  each value of a parameter that is a ``Constant``. Memory of a function is kept in registers if all indices are
  constants.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, ModuleType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# Numbers that are narrower in memory and in calls than in names, where they are an `int`, with their sign.
Byte = NewType("Byte", int)
Int16: TypeAlias = Annotated[int, "i16"]
Int32: TypeAlias = Annotated[int, "i32"]

# A parameter that a function is printed for.
Constant: TypeAlias = Annotated[int, "constant"]

# Floating-point numbers that no arithmetic is done with.
Half: TypeAlias = Annotated[object, "half"]
Float32: TypeAlias = Annotated[object, "float"]


class Pointer(Generic[T]):
    """The address of values one behind another: numbers, or addresses of records."""

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError

    def __setitem__(self, index: int, value: T) -> None:
        raise NotImplementedError

    def __add__(self, count: int) -> Pointer[T]:
        raise NotImplementedError


class Records(Generic[T]):
    """The address of records one behind another; an element is the address of one."""

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError


Address: TypeAlias = Pointer[Byte]
Words: TypeAlias = Pointer[int]


class Field(NamedTuple):
    """Where a field lies in a record, in bytes, and its annotation."""

    offset: int
    kind: Any


class Padding(NamedTuple):
    """Bytes of a record that nobody reads: ``Annotated[None, Padding(8)]``."""

    size: int


class Struct:
    """A record in memory. The fields of a base come first."""


def words(struct: type[Struct], /, **values: T) -> list[T]:
    """What a record adds to its base, as words.

    Args:
        struct: the record.
        values: its fields by name, in their order; only the last ones may be missing.

    Raises:
        TypeError: these are not its fields.
    """
    names = tuple(struct.__annotations__)
    if tuple(values) != names[: len(values)]:
        raise TypeError(f"{struct.__name__} has the fields {', '.join(names)}, got {', '.join(values)}")
    return list(values.values())


@functools.cache
def fields(struct: Any) -> dict[str, Field]:
    """The fields of a record by name."""
    layout: dict[str, Field] = {}
    end = 0
    for name, kind in hints(struct).items():
        size = size_of(kind)
        aligned = 1 if _padding(kind) else size
        offset = -(-end // aligned) * aligned
        layout[name] = Field(offset, kind)
        end = offset + size
    return layout


def size_of(kind: Any) -> int:
    """The bytes of a value in memory; of a record where one lies in others, as in ``Records``, ``record_size``."""
    padding = _padding(kind)
    if padding:
        return padding.size
    return {"i8": 1, "i1": 1, "i16": 2, "half": 2, "i32": 4, "float": 4}.get(llvm_type(kind), 8)


def record_size(struct: Any) -> int:
    """The bytes from a record to the next one."""
    field = list(fields(struct).values())[-1]
    return -(-(field.offset + size_of(field.kind)) // 8) * 8


def _padding(kind: Any) -> Padding | None:
    return next((mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Padding)), None)


_TYPES = {Byte: "i8", int: "i64", float: "double", bool: "i1", type(None): "void", None: "void"}


def llvm_type(kind: Any) -> str:
    """The type of a value in LLVM."""
    narrow: tuple[str, ...] = getattr(kind, "__metadata__", ())
    if narrow:
        return narrow[0]
    return _TYPES.get(kind, "ptr")


@functools.cache
def hints(subject: Any) -> dict[str, Any]:
    """The annotations of a function or a class."""
    return hints_of(subject, None)


def hints_of(subject: Any, scope: dict[str, Any] | None) -> dict[str, Any]:
    """The annotations of a function or a class, whose names stand for what is in a scope."""
    return {name: plain(kind) for name, kind in get_type_hints(subject, scope, include_extras=True).items()}


def plain(kind: Any) -> Any:
    """A type without ``None``, which is an address like others."""
    is_union = get_origin(kind) in (Union, UnionType)
    return next(arg for arg in get_args(kind) if arg is not type(None)) if is_union else kind


def is_function(kind: Any) -> bool:
    """Whether a value is a function's address."""
    return get_origin(kind) is Callable


class Library:
    """What machine code uses by name and does not define; the annotations say its types. A name of data is an address.

    A subclass is the list, an instance what code is written with.
    """


class Marked(NamedTuple):
    """How a function is printed.

    exported: whether other code finds it.
    attributes: LLVM's, such as ``alwaysinline``.
    """

    exported: bool
    attributes: str


class Instruction(NamedTuple):
    """What a function's call is printed as: lines of LLVM, of which the last gives the result.

    template: ``{0}`` is the first argument, ``{t}`` a name for a value between two lines, ``{Real}`` the type that the
        module is given under this name.
    of_processors: templates of processors, by Python's name of them.
    """

    template: str
    of_processors: Mapping[str, str]

    def lines(self, arguments: Iterable[str], temporary: str, texts: Mapping[str, str]) -> list[str]:
        """The lines for this machine."""
        machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
        return self.of_processors.get(machine, self.template).format(*arguments, t=temporary, **texts).splitlines()


class Shared(NamedTuple):
    """A variable of the module: its name, the type of its elements, how many they are."""

    name: str
    kind: Any
    elements: int


def exported(function: F) -> F:
    """A function that other code finds by its name."""
    return _marked(function, Marked(True, ""))


def internal(*attributes: str) -> Callable[[F], F]:
    """A function that only this code calls."""
    return lambda function: _marked(function, Marked(False, " ".join(attributes)))


def instruction(template: str, **of_processors: str) -> Callable[[F], F]:
    """A function that is lines of LLVM wherever it is called; see ``Instruction``."""
    return lambda function: _marked(function, Instruction(template, of_processors))


def _marked(function: F, mark: Marked | Instruction) -> F:
    function.__dict__["__machine__"] = mark
    return function


def shared(name: str, kind: type[T]) -> Pointer[T]:
    """The address of a variable that all calls share, 0 at first."""
    return cast("Pointer[T]", Shared(name, kind, 1))


def shared_records(name: str, kind: type[T], count: int) -> Records[T]:
    """The address of records that all calls share, 0 at first, on a line of the cache."""
    return cast("Records[T]", Shared(name, kind, count))


def local(kind: type[T], count: int, alignment: int = 16) -> Pointer[T]:
    """Memory until the function returns."""
    raise NotImplementedError


def local_record(kind: type[T]) -> T:
    """A record until the function returns, on a line of the cache."""
    raise NotImplementedError


def unrolled(values: Iterable[T]) -> Iterable[T]:
    """Constants; the body of a loop over them is printed for each."""
    raise NotImplementedError


def address_of(place: T) -> Pointer[T]:
    """The address of a field or an element."""
    raise NotImplementedError


@instruction("call void @llvm.memcpy.p0.p0.i64(ptr {0}, ptr {1}, i64 {2}, i1 false)")
def copy_bytes(target: Pointer[Any], source: Pointer[Any], count: int) -> None:
    """Copy memory that does not overlap."""


def functions(module: ModuleType) -> list[FunctionType]:
    """The functions of a module that are machine code, and those that are lines of it."""
    values = [var for var in vars(module).values() if isinstance(var, FunctionType)]
    return [value for value in values if "__machine__" in value.__dict__ and value.__module__ == module.__name__]


def exports(modules: Iterable[ModuleType]) -> tuple[str, ...]:
    """The names that modules define for others."""
    marks = (
        (function.__name__, function.__dict__["__machine__"]) for module in modules for function in functions(module)
    )
    return tuple(name for name, mark in marks if isinstance(mark, Marked) and mark.exported)


def library_names(library: Any) -> dict[str, bool]:
    """What a library names, and of each whether it is a function."""
    return {name: is_function(kind) for name, kind in hints(library).items()}
