"""Defaults that a schema writes in another way than Python would."""

from __future__ import annotations

from typing import TypeVar, cast

from opdsl.errors import AnnotationError, SchemaError
from opdsl.schema.defaults import default_of
from opdsl.schema.model import Default
from opdsl.schema.parser import Cursor, default
from opdsl.schema.types import BaseType

Value = TypeVar("Value")


def spelled(value: Value, text: str) -> Value:
    """A default of a declaration with its spelling in the schema, where ``repr`` would give another one.

    value: what the default is.
    text: how the schema writes it: a string in single quotes, a float as ``1e-5``.

    Raises AnnotationError when the text means something else.

    >>> str(spelled("none", "'none'"))
    "'none'"
    """
    cursor = Cursor(text)
    try:
        read = default(cursor, BaseType.float)
    except SchemaError as error:
        raise AnnotationError(f"spelled({value!r}, {text!r}): no default is written so: {error}") from None
    if cursor.position < len(text) or read.value != default_of(value).value:
        raise AnnotationError(f"spelled({value!r}, {text!r}): the text does not mean the value")
    return cast(Value, Default(text, read.value))
