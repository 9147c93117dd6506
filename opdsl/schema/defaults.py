"""Defaults of schema arguments: which values a type accepts, and how a Python value is written in a schema."""

from __future__ import annotations

import enum
import math

from opdsl.errors import AnnotationError
from opdsl.schema.base_types import PYTHON_TYPES, PythonType
from opdsl.schema.model import Default, DefaultValue, Symbol
from opdsl.schema.types import BaseType, ListType, OptionalType, Type

REDUCTIONS = {"Mean": 1, "Sum": 2}
"""Names of loss reductions, which schemas store as integers. Source: at::Reduction."""

_UNKNOWN = PythonType("object")

LARGEST_INTEGER = 2**63 - 1


def resolved(value: DefaultValue, type: Type) -> DefaultValue:
    """Return the value of a symbolic default of type int, such as 1 for ``Mean``; other defaults unchanged."""
    if isinstance(value, Symbol) and type.base is BaseType.int:
        return REDUCTIONS.get(value.name, value)
    return value


def fits(value: DefaultValue, type: Type) -> bool:
    """Return whether a default is valid for a type; a sized list also accepts the value of one element.

    >>> fits(0, ListType(BaseType.int, 2)), fits(0, ListType(BaseType.int)), fits(None, BaseType.Tensor)
    (True, False, False)
    """
    if isinstance(type, OptionalType):
        return value is None or fits(value, type.element)
    if isinstance(type, ListType):
        if isinstance(value, tuple):
            return all(fits(element, type.element) for element in value)
        return type.size is not None and fits(value, type.element)
    if isinstance(value, Symbol):
        return value.name in _of(type).symbols
    if isinstance(value, bool):
        return bool in _of(type).defaults
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return False
    return isinstance(value, _of(type).defaults)


def _of(type: Type) -> PythonType:
    return PYTHON_TYPES[type] if isinstance(type, BaseType) else _UNKNOWN


def takes(type: Type) -> str:
    """Return a description of the defaults that a type accepts, for error messages."""
    if isinstance(type, OptionalType):
        return f"None or {takes(type.element)}"
    if isinstance(type, ListType):
        one = "" if type.size is None else f", or {takes(type.element)}"
        return f"a list like [] of {type.element}{one}"
    known = _of(type)
    if known.symbols:
        return f"one of {', '.join(sorted(known.symbols))}"
    if not known.defaults:
        return "nothing: a default of this type cannot be written"
    return {"int": "an integer", "SymInt": "an integer", "bool": "True or False", "str": "a quoted string"}.get(
        str(type), " or ".join(one.__name__ for one in known.defaults)
    )


def default_of(value: object) -> Default:
    """Convert a Python default to a schema default.

    It accepts numbers, booleans, None, strings, lists and tuples of these; an enumeration member or a dtype, by its
    schema name (``schema_name`` if the value has one); and a ``Default``, unchanged.

    Raises AnnotationError for a value that a schema cannot contain.

    >>> str(default_of([0, 1])), str(default_of("none"))
    ('[0,1]', '"none"')
    """
    if isinstance(value, Default):
        return value
    if isinstance(value, (list, tuple)):
        elements = [default_of(element) for element in value]
        return Default(f"[{','.join(map(str, elements))}]", tuple(element.value for element in elements))
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return Default(_quoted(value), value)
    schema_name = getattr(value, "schema_name", None)
    if isinstance(schema_name, str):
        return Default(schema_name, Symbol(schema_name))
    if isinstance(value, enum.Enum):
        return _member_default(value)
    if value is None or isinstance(value, bool):
        return Default(str(value), value)
    if isinstance(value, int):
        return Default(str(int(value)), int(value))
    if isinstance(value, float):
        return Default(_float_text(float(value)), float(value))
    raise AnnotationError(
        f"a schema cannot hold the default {value!r}: it knows None, booleans, integers, floats, strings, lists of "
        "these, dtypes, layouts and memory formats. Take None as the default and replace it in the body"
    )


def _member_default(member: enum.Enum) -> Default:
    """Return the default of an enumeration member: by name, or by number if schemas have no name for it."""
    if not isinstance(member, int):
        return Default(member.name, Symbol(member.name))
    number = int(member)
    return Default(member.name if REDUCTIONS.get(member.name) == number else str(number), number)


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")


def _quoted(value: str) -> str:
    """Return a string in double quotes, with the escapes of the schema grammar."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
