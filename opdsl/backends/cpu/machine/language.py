"""Typed Python for machine code: its decorators, types and built-in functions.

A function marked ``internal`` or ``exported`` is parsed from its source and compiled to LLVM IR (``text``). It means
what it means in Python, with these differences:

- ``int`` has 64 bits and wraps, ``float`` is a double, ``bool`` a bit; a name keeps the type that it gets first.
- ``//``, ``%`` and ``>>`` are defined for numbers that are not negative.
- A class derived from ``Struct`` is a record in memory, and a name of that type is its address; its annotations are
  the fields, in the memory layout of C. ``None`` is a null pointer.
- Statements are assignments, ``if``, ``while``, ``for`` over a ``range`` (a negative step has to be a literal),
  ``break``, ``continue`` and ``return``.
- Names of the module are constants: integers, tuples, functions, results of ``shared``, and names in a ``Library``;
  the caller of ``module_text`` may replace their values.
- Expressions of constants are computed at compile time, also by functions without a mark, which do not see replaced
  values.
  A ``for`` over ``unrolled`` values is its body for each value, which is a constant there; a function is emitted for
  each value of a parameter that is a ``Constant``. Local memory is kept in registers if all indices are constants.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FunctionType, ModuleType, UnionType
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
)

from opdsl.backends.cpu.processor import architecture

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# Integers that are narrow in memory and in calls; in variables they are sign-extended to `int`.
Byte = NewType("Byte", int)
Int16: TypeAlias = Annotated[int, "i16"]
Int32: TypeAlias = Annotated[int, "i32"]

# Annotation of a parameter that is a compile-time constant.
Constant: TypeAlias = Annotated[int, "constant"]

# Floating-point types that have no arithmetic in machine code.
Half: TypeAlias = Annotated[object, "half"]
Float32: TypeAlias = Annotated[object, "float"]


class Pointer(Generic[T]):
    """Address of consecutive values: numbers, or addresses of records."""

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError

    def __setitem__(self, index: int, value: T) -> None:
        raise NotImplementedError

    def __add__(self, count: int) -> Pointer[T]:
        raise NotImplementedError


class Records(Generic[T]):
    """Address of consecutive records; an element is the address of a record."""

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError


Address: TypeAlias = Pointer[Byte]
Words: TypeAlias = Pointer[int]


class Field(NamedTuple):
    """Byte offset of a field in a record, and its annotation."""

    offset: int
    kind: Any


class Padding(NamedTuple):
    """Annotation of unused bytes in a record: ``Annotated[None, Padding(8)]``."""

    size: int


class Struct:
    """Base class of records in memory; the fields of a base class come first."""


def words(struct: type[Struct], /, **values: T) -> list[T]:
    """Return the words of a record's own fields, without those of its base class.

    Args:
        struct: the record.
        values: its fields by name, in their order; only the last ones may be missing.

    Raises:
        TypeError: the names are not those of its fields.
    """
    names = tuple(struct.__annotations__)
    if tuple(values) != names[: len(values)]:
        raise TypeError(f"{struct.__name__} has the fields {', '.join(names)}, got {', '.join(values)}")
    return list(values.values())


@functools.cache
def fields(struct: Any) -> dict[str, Field]:
    """Return the fields of a record by name."""
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
    """Return the size of a value in memory in bytes; a record counts as its address, see ``record_size``."""
    padding = _padding(kind)
    if padding:
        return padding.size
    return {"i8": 1, "i1": 1, "i16": 2, "half": 2, "i32": 4, "float": 4}.get(llvm_type(kind), 8)


def record_size(struct: Any) -> int:
    """Return the number of bytes from one of consecutive records to the next."""
    field = list(fields(struct).values())[-1]
    return -(-(field.offset + size_of(field.kind)) // 8) * 8


def _padding(kind: Any) -> Padding | None:
    return next((mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Padding)), None)


_TYPES = {Byte: "i8", int: "i64", float: "double", bool: "i1", type(None): "void", None: "void"}


def llvm_type(kind: Any) -> str:
    """Return the LLVM type of an annotation."""
    narrow: tuple[str, ...] = getattr(kind, "__metadata__", ())
    if narrow:
        return narrow[0]
    return _TYPES.get(kind, "ptr")


@functools.cache
def hints(subject: Any) -> dict[str, Any]:
    """Return the annotations of a function or a class."""
    return hints_of(subject, None)


def hints_of(subject: Any, scope: dict[str, Any] | None) -> dict[str, Any]:
    """Return the annotations of a function or a class, evaluated in a scope; by default that of its module.

    They are texts, many of which are equal: ``typing.get_type_hints`` would compile each of them.
    """
    owners = reversed(subject.__mro__[:-1]) if isinstance(subject, type) else [subject]
    kinds: dict[str, Any] = {}
    for owner in owners:
        names = vars(sys.modules[owner.__module__]) if scope is None else scope
        texts = vars(owner).get("__annotations__", {}) if isinstance(owner, type) else owner.__annotations__
        for name, text in texts.items():
            kinds[name] = type(None) if text == "None" else plain(eval(_code(text), names))
    return kinds


@functools.cache
def _code(annotation: str) -> CodeType:
    return compile(annotation, "<annotation>", "eval")


def plain(kind: Any) -> Any:
    """Return a type without ``| None``, which is a null pointer."""
    is_union = get_origin(kind) in (Union, UnionType)
    return next(arg for arg in get_args(kind) if arg is not type(None)) if is_union else kind


def is_function(kind: Any) -> bool:
    """Return whether an annotation is that of a function pointer."""
    return get_origin(kind) is Callable


class Library:
    """Base class of external symbols that machine code uses: annotations give their types; a name of data is an
    address.

    A subclass lists the symbols, and code uses an instance of it.
    """


class Marked(NamedTuple):
    """Linkage and LLVM attributes of a machine code function.

    exported: whether its symbol is visible to other code.
    attributes: LLVM's, such as ``alwaysinline``.
    """

    exported: bool
    attributes: str


class Instruction(NamedTuple):
    """Template of the LLVM lines that replace a call of a function; the last line yields the result.

    template: ``{0}`` is the first argument, ``{t}`` a name for an intermediate value, ``{Real}`` the type that the
        module is given under this name.
    of_processors: templates for specific processors, by Python's name for them.
    """

    template: str
    of_processors: Mapping[str, str]

    def lines(self, arguments: Iterable[str], temporary: str, texts: Mapping[str, str]) -> list[str]:
        """Return the lines for the processor that code is compiled for."""
        return (
            self.of_processors.get(architecture(), self.template).format(*arguments, t=temporary, **texts).splitlines()
        )


class Shared(NamedTuple):
    """Global variable of a module: its name, the type of its elements, and their number."""

    name: str
    kind: Any
    elements: int


def exported(function: F) -> F:
    """Mark a function as machine code whose symbol other code can use."""
    return _marked(function, Marked(True, ""))


def internal(*attributes: str) -> Callable[[F], F]:
    """Return a decorator that marks a function as machine code for internal calls only, with LLVM attributes."""
    return lambda function: _marked(function, Marked(False, " ".join(attributes)))


def instruction(template: str, **of_processors: str) -> Callable[[F], F]:
    """Return a decorator that marks a function as a template of LLVM lines, see ``Instruction``."""
    return lambda function: _marked(function, Instruction(template, of_processors))


def _marked(function: F, mark: Marked | Instruction) -> F:
    function.__dict__["__machine__"] = mark
    return function


def shared(name: str, kind: type[T]) -> Pointer[T]:
    """Return the address of a global variable, which is initialized to 0."""
    return cast("Pointer[T]", Shared(name, kind, 1))


def shared_records(name: str, kind: type[T], count: int) -> Records[T]:
    """Return the address of global records, which are initialized to 0 and aligned to a cache line."""
    return cast("Records[T]", Shared(name, kind, count))


def local(kind: type[T], count: int, alignment: int = 16) -> Pointer[T]:
    """Return stack memory, valid until the function returns."""
    raise NotImplementedError


def local_record(kind: type[T]) -> T:
    """Return a record on the stack, aligned to a cache line and valid until the function returns."""
    raise NotImplementedError


def unrolled(values: Iterable[T]) -> Iterable[T]:
    """Return constants for a loop that is unrolled: its body is emitted for each of them."""
    raise NotImplementedError


def address_of(place: T) -> Pointer[T]:
    """Return the address of a field or an element."""
    raise NotImplementedError


@instruction("call void @llvm.memcpy.p0.p0.i64(ptr {0}, ptr {1}, i64 {2}, i1 false)")
def copy_bytes(target: Pointer[Any], source: Pointer[Any], count: int) -> None:
    """Copy memory that does not overlap."""


def functions(module: ModuleType) -> list[FunctionType]:
    """Return the functions of a module that are marked as machine code or as instruction templates."""
    values = [var for var in vars(module).values() if isinstance(var, FunctionType)]
    return [member for member in values if "__machine__" in member.__dict__ and member.__module__ == module.__name__]


def exports(modules: Iterable[ModuleType]) -> tuple[str, ...]:
    """Return the names of the functions that modules export."""
    marks = (
        (function.__name__, function.__dict__["__machine__"]) for module in modules for function in functions(module)
    )
    return tuple(name for name, mark in marks if isinstance(mark, Marked) and mark.exported)


def library_names(library: Any) -> dict[str, bool]:
    """Return the names that a library declares, mapped to whether each is a function."""
    return {name: is_function(kind) for name, kind in hints(library).items()}
