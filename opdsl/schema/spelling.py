"""Defaults whose schema text differs from Python's ``repr``."""

from __future__ import annotations

from typing import TypeVar, cast

from opdsl.errors import AnnotationError, SchemaError
from opdsl.schema.defaults import default_of
from opdsl.schema.model import Default
from opdsl.schema.parser import Cursor, default
from opdsl.schema.types import BaseType

Value = TypeVar("Value")


def spelled(value: Value, text: str) -> Value:
    """Return a default for a declaration with a given schema text, where ``repr`` would give another one.

    value: the value of the default.
    text: the text in the schema: a string in single quotes, a float as ``1e-5``.

    Raises AnnotationError if the text has another value.

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
