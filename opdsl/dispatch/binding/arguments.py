"""Conversion of Python arguments to schema arguments, by the checks and rules of PyTorch's Python argument parser.

A converter takes a value that a caller passed and returns the value for the kernel, or ``NO_MATCH``. The rules are
those of ``torch/csrc/utils/python_arg_parser.cpp`` (``FunctionParameter::check``): ``bool`` is no ``int``, an ``int``
is a ``float``, a zero-dim tensor is a number, a bare ``int`` fills a sized list, only lists and tuples are lists.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from struct import Struct
from typing import Final, SupportsInt, cast

import numpy

from opdsl.errors import ArgumentError, ConversionError, NumberError
from opdsl.runtime import Device, Tensor, bool_, to_dtype
from opdsl.runtime.memory import concrete_device
from opdsl.runtime.strides import to_size
from opdsl.runtime.symbols import is_symbolic, symbolic_kind
from opdsl.schema import Argument, BaseType, ListType, OptionalType, Type


class _Marker:
    """Unique sentinel value, which no caller can pass."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


NO_MATCH: Final = _Marker("<no match>")
MISSING: Final = _Marker("<missing>")

Converter = Callable[[object], object]


class Kind(Enum):
    """Part of an argument that a plan depends on: geometry, number type, geometries of elements, or value."""

    TENSOR = "its geometry"
    NUMBER = "its Python type; the kernel gets its value"
    TENSORS = "the geometries of its elements"
    VALUE = "its value"

    __hash__ = object.__hash__  # faster than the hash of the name


def kind_of(argument: Argument) -> Kind:
    """Return the ``Kind`` of a schema argument: on which part of it plans depend."""
    kind: Type = argument.type
    is_list = False
    while isinstance(kind, (OptionalType, ListType)):
        is_list = is_list or isinstance(kind, ListType)
        kind = kind.element
    if kind is BaseType.Tensor:
        return Kind.TENSORS if is_list else Kind.TENSOR
    return Kind.NUMBER if not is_list and kind in (BaseType.Scalar, BaseType.float) else Kind.VALUE


def is_number(value: object) -> bool:
    """Return whether PyTorch treats a value as a number: bool, int, float, complex, NumPy scalar or symbolic number."""
    return isinstance(value, (int, float, complex, numpy.number, numpy.bool_)) or is_symbolic(value)


def _zero_dim(value: object) -> Tensor | None:
    """Return the value if it is a tensor that is accepted for a number (zero-dim, without gradient), else None."""
    if isinstance(value, Tensor) and value.ndim == 0 and not value.requires_grad:
        return value
    return None


def to_tensor(value: object) -> object:
    """Return a tensor unchanged; ``NO_MATCH`` for any other value."""
    return value if isinstance(value, Tensor) else NO_MATCH


def to_tensor_or_number(value: object) -> object:
    """Return a tensor unchanged, or a number as a Python number (the kernel wraps it); else ``NO_MATCH``."""
    if isinstance(value, Tensor) or not is_number(value):
        return to_tensor(value)
    return value.item() if isinstance(value, numpy.generic) else value


def to_scalar(value: object) -> object:
    """Convert a number, a NumPy scalar or a zero-dim tensor to a Python number."""
    if isinstance(value, numpy.generic):
        return value.item() if is_number(value) else NO_MATCH
    if is_number(value):
        return value
    scalar = _zero_dim(value)
    return NO_MATCH if scalar is None else scalar.item()


def to_int(value: object) -> object:
    """Convert an int that is no bool, a NumPy integer or a zero-dim integer tensor to an int.

    Raises:
        NumberError: the integer needs more than 64 bits.
    """
    if type(value) is int:
        return fitting(value)
    if isinstance(value, numpy.integer):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return fitting(value)
    if symbolic_kind(value) is int:
        return int(cast("SupportsInt", value))
    scalar = _zero_dim(value)
    if scalar is None or scalar.dtype.category.name != "INT":
        return NO_MATCH
    return scalar.item()


def fitting(number: int) -> int:
    """Return an int if it fits into the 64 bits of an operator's argument.

    Raises:
        NumberError: the integer needs more than 64 bits.
    """
    if not -(1 << 63) <= number < 1 << 63:
        raise NumberError(f"Overflow when unpacking long long: {number} is too large, integers have 64 bits")
    return number


def to_index(value: object) -> object:
    """Convert an element of a list of ints: any Python index, or a tensor with one integer.

    Raises:
        NumberError: the integer needs more than 64 bits.
    """
    if type(value) is int:
        return fitting(value)
    try:
        return to_size(value)
    except (TypeError, ConversionError):
        return NO_MATCH


def to_first_index(value: object) -> object:
    """Convert the first element of a list of ints, by which PyTorch recognizes such a list: no bool."""
    return NO_MATCH if isinstance(value, bool) else to_index(value)


def to_symbolic_index(value: object) -> object:
    """Convert an element of a list of SymInts, which may be any index but a bool tensor."""
    return NO_MATCH if isinstance(value, Tensor) and value.dtype is bool_ else to_index(value)


def to_symbolic_int(value: object) -> object:
    """Convert a SymInt: any index that is neither a bool nor a bool tensor."""
    return NO_MATCH if isinstance(value, bool) else to_symbolic_index(value)


def to_float(value: object) -> object:
    """Convert a real number to a float; an int becomes a float too.

    Raises:
        NumberError: an int is too large for a float.
    """
    if type(value) is float:
        return value
    if is_symbolic(value):
        return value if symbolic_kind(value) is float else cast("float", value) * 1.0
    if isinstance(value, (float, int, numpy.floating, numpy.integer, numpy.bool_)):
        try:
            return float(value)
        except OverflowError as error:
            raise NumberError(str(error)) from None
    scalar = _zero_dim(value)
    return NO_MATCH if scalar is None or scalar.dtype.is_complex else float(cast("float", scalar.item()))


def to_bool(value: object) -> object:
    """Return a bool unchanged; ``NO_MATCH`` for other values, as PyTorch takes no NumPy bool for one."""
    return value if isinstance(value, bool) else NO_MATCH


def to_text(value: object) -> object:
    """Return a str unchanged; ``NO_MATCH`` for any other value."""
    return value if isinstance(value, str) else NO_MATCH


def to_scalar_type(value: object) -> object:
    """Convert a DType, a NumPy dtype, or Python's ``bool``, ``int``, ``float`` or ``complex`` to a dtype."""
    if isinstance(value, numpy.dtype):
        return to_dtype(value)
    if isinstance(value, type):
        is_known = value in (bool, int, float, complex) or issubclass(value, numpy.generic)
        return to_dtype(value) if is_known else NO_MATCH
    return value if getattr(type(value), "__schema_type__", None) == "ScalarType" else NO_MATCH


def to_device(value: object) -> object:
    """Convert a Device, its text (``"cuda:0"``), or the index of a CUDA device to a Device."""
    if isinstance(value, Device | str):
        return concrete_device(Device(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Device("cuda", value)
    return NO_MATCH


_BASE: dict[str, Converter] = {
    "Tensor": to_tensor,
    "Scalar": to_scalar,
    "int": to_int,
    "SymInt": to_symbolic_int,
    "DeviceIndex": to_int,
    "DimVector": to_int,
    "float": to_float,
    "bool": to_bool,
    "SymBool": to_bool,
    "str": to_text,
    "ScalarType": to_scalar_type,
    "Device": to_device,
}


# PyTorch recognizes a list of ints by its first element, and converts the others like Python indices.
_ELEMENTS: dict[str, tuple[Converter, Converter]] = {
    "int": (to_first_index, to_index),
    "SymInt": (to_symbolic_int, to_symbolic_index),
}


def _marked(name: str) -> Converter:
    """Return the converter of a schema type with one runtime class, which is recognized by its ``__schema_type__``."""

    def convert(value: object) -> object:
        return value if getattr(type(value), "__schema_type__", None) == name else NO_MATCH

    return convert


@cache
def converter(kind: Type, accepts_number: bool = False) -> Converter:
    """Return the converter of a schema type.

    Args:
        kind: the schema type.
        accepts_number: whether a Python number is accepted for a ``Tensor`` (PyTorch's
            ``should_allow_numbers_as_tensors``: add, sub, mul, div and the like).

    Returns:
        A function from the given value to the kernel's value, or ``NO_MATCH``.
    """
    if isinstance(kind, OptionalType):
        return _optional(converter(kind.element, accepts_number))
    if isinstance(kind, ListType):
        element = converter(kind.element)
        is_array = str(kind.element) == "bool" and kind.size is not None
        return _list(*_ELEMENTS.get(str(kind.element), (element, element)), kind.size, is_array=is_array)
    name = str(kind)
    if name == "Tensor" and accepts_number:
        return to_tensor_or_number
    return _BASE.get(name) or _marked(name)


def _optional(inner: Converter) -> Converter:
    def convert(value: object) -> object:
        return None if value is None else inner(value)

    return convert


def _list(first: Converter, later: Converter, size: int | None, *, is_array: bool) -> Converter:
    """Return a converter of lists and tuples to tuples; for a sized list it also takes a bare element, and repeats it.

    Args:
        first: converts the first element, or the bare element.
        later: converts the other elements.
        size: the size of a sized list, else None.
        is_array: whether other lengths are an error; for other sized lists, kernels check the length.
    """

    def convert(value: object) -> object:
        if not isinstance(value, (list, tuple)):
            if size is None:
                return NO_MATCH
            element = first(value)
            return NO_MATCH if element is NO_MATCH else (element,) * size
        if is_array and len(value) != size:
            raise ConversionError(
                f"Tried to convert a List with {len(value)} elements to a fixed-size array of size {size}"
            )
        elements = tuple([later(element) if index else first(element) for index, element in enumerate(value)])
        # Identity, not `in`: a tensor's == is an operator.
        return NO_MATCH if any(element is NO_MATCH for element in elements) else elements

    return convert


_EXPECTED = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "SymInt": "int",
    "SymBool": "bool",
    "ScalarType": "dtype",
}


def expected(kind: Type) -> str:
    """Return the name of a schema type in error messages: ``tuple of ints``, ``Number``, ``dtype``."""
    if isinstance(kind, OptionalType):
        return expected(kind.element)
    if isinstance(kind, ListType):
        return f"tuple of {expected(kind.element)}s"
    name = str(kind)
    return _EXPECTED.get(name, name)


_PLAIN = frozenset({int, bool, str, type(None)})  # equal values of one of these types are interchangeable
_bits = Struct("d").pack


def value_key(value: object) -> object:
    """Return a plan key of a value that distinguishes values which Python considers equal; a list equals a tuple.

    These are ``1``, ``1.0`` and ``True``, and ``0.0`` and ``-0.0``. A NaN, which equals nothing, has a key that does.

    >>> value_key(1) == value_key(True), value_key([0.0]) == value_key([-0.0]), value_key([1, 2]) == value_key((1, 2))
    (False, False, True)
    """
    kind = type(value)
    if kind in _PLAIN or (kind is float and value and value == value):
        return (value, kind)
    if kind is tuple or kind is list:
        each_of = cast("list[object]", value)
        types = tuple(map(type, each_of))
        if _PLAIN.issuperset(types):
            return (*each_of, *types, tuple)
        if list in types or tuple in types:
            require_shallow(each_of)
        return (*map(value_key, each_of), tuple)
    if kind is float:
        return (_bits(value), float)
    if isinstance(value, (float, complex, numpy.inexact)):
        return (numpy.asarray(value).tobytes(), kind)
    if kind is Tensor:
        raise TypeError("a plan does not know the value of a tensor")
    return (value, kind)


_MOST_LEVELS = 64


def require_shallow(value: object) -> None:
    """Check that lists and tuples in an argument are not nested too deeply.

    Raises:
        ArgumentError: they are nested deeper than any operator accepts, or contain themselves.
    """
    layer = [value]
    for _ in range(_MOST_LEVELS):
        inner = [one for outer in layer if type(outer) in (list, tuple) for one in cast("list[object]", outer)]
        layer = list({id(one): one for one in inner}.values())  # a list may occur several times
        if not layer:
            return
    if any(type(outer) in (list, tuple) for outer in layer):
        raise ArgumentError(f"an argument is nested deeper than {_MOST_LEVELS} lists, or contains itself. Flatten it.")


_MANY, _MANY_BELOW = "an integer from there on", "an integer as far below 0"

# The integers from which on all share one form key: for sizes, of which 0 and 1 have separate forms; and for other
# integers, such as dimensions and small options, which usually decide the steps of a call.
SIZES_FROM, INTEGERS_FROM = 2, 9


def value_form(value: object, least: int = SIZES_FROM) -> object:
    """Return the form key of an argument whose integers plans read: those of ``least`` or more share a key.

    So are those of ``-least`` or less, and floats.

    >>> value_form((2, 3)) == value_form((5, 7)), value_form(-2) == value_form(-5), value_form(2, 9) == value_form(5, 9)
    (True, True, False)
    """
    kind = type(value)
    if kind is int:
        number = cast("int", value)
        return number if -least < number < least else _MANY if number > 0 else _MANY_BELOW
    if kind is tuple or kind is list:
        # Most elements are sizes; calling value_form for each would dominate the time.
        forms = [
            (element if -least < element < least else _MANY if element > 0 else _MANY_BELOW)
            if type(element) is int
            else _form_of_element(element, least)
            for element in cast("list[object]", value)
        ]
        return (*forms, kind)
    return float if kind is float else value_key(value)


def _form_of_element(element: object, least: int) -> object:
    """Return the form key of an element of a list that is no integer.

    Raises:
        ArgumentError: see ``require_shallow``.
    """
    if type(element) is list or type(element) is tuple:
        require_shallow(element)
    return value_form(element, least)


def spread_key(values: tuple[object, ...]) -> object:
    """Return the plan key of positional arguments that make up one list: ``x.view(2, 3)``, or ``x.view([2, 3])``."""
    return tuple([value_key(value) for value in values])


_NUMBERS = frozenset({bool, int, float, complex})


def scalar_key(value: object) -> object:
    """Return the plan key of an argument that may be a number or anything else; for a number it is its type."""
    return type(value) if type(value) in _NUMBERS else mixed_key(value)


def scalar_form(value: object) -> object:
    """Return the form key of an argument that may be a number or anything else; for a number it is its type."""
    return type(value) if type(value) in _NUMBERS else mixed_form(value)


def mixed_key(value: object) -> object:
    """Return the plan key of an argument that may be a tensor, a list of tensors or anything else."""
    if isinstance(value, Tensor):
        return value.geometry
    if isinstance(value, (list, tuple)) and any(isinstance(element, Tensor) for element in value):
        return tuple([None if tensor is None else tensor.geometry for tensor in value])
    return value_key(value)


def mixed_form(value: object, least: int | None = None) -> object:
    """Return the form key of an argument that may be a tensor, a list of tensors or anything else.

    Args:
        value: the argument.
        least: see ``value_form``; None if plans know the values of integers.
    """
    if isinstance(value, Tensor):
        return value.geometry.form
    if isinstance(value, (list, tuple)) and any(isinstance(element, Tensor) for element in value):
        return tuple([None if tensor is None else tensor.geometry.form for tensor in value])
    return value_key(value) if least is None else value_form(value, least)


def out_form(out: object) -> object:
    """Return the form key of the ``out`` argument: one tensor, or several."""
    if isinstance(out, (tuple, list)):
        return tuple([tensor.geometry.form for tensor in out])
    return cast("Tensor", out).geometry.form


def out_key(out: object) -> object:
    """Return the plan key of the ``out`` argument: one tensor, or several."""
    if isinstance(out, (tuple, list)):
        return tuple([tensor.geometry for tensor in out])
    return cast("Tensor", out).geometry


__all__ = [
    "INTEGERS_FROM",
    "MISSING",
    "NO_MATCH",
    "SIZES_FROM",
    "Converter",
    "Kind",
    "converter",
    "expected",
    "is_number",
    "kind_of",
    "mixed_form",
    "mixed_key",
    "out_form",
    "out_key",
    "scalar_form",
    "scalar_key",
    "spread_key",
    "to_tensor",
    "to_tensor_or_number",
    "value_form",
    "value_key",
]
