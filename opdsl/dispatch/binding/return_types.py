"""What operators with several named results return: named tuples, as PyTorch's ``torch.return_types``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from opdsl.runtime.permanent import kept_forever
from opdsl.schema import FunctionSchema
from opdsl.schema.model import python_name


def result_type(schema: FunctionSchema) -> type[tuple[Any, ...]] | None:
    """The named tuple that an operator returns; None where it returns one result, or several without names."""
    names = [returned.name for returned in schema.returns if returned.name is not None]
    if len(names) < 2 or len(names) < len(schema.returns):
        return None
    return _named_tuple(python_name(schema.name.functional_base), _field_names(names))


def _field_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of results as fields, which begin with no underscore, are no keywords, and differ."""
    fields: list[str] = []
    for place, name in enumerate(names):
        field = python_name(name.lstrip("_"))
        if not field or field.startswith("_") or field in fields or (field != name and field in names):
            field = f"result{place}"
            while field in fields or field in names:
                field += "_"
        fields.append(field)
    return tuple(fields)


@kept_forever
def _named_tuple(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    def reduce(self: tuple[Any, ...]) -> tuple[object, ...]:
        return _rebuild, (name, fields, tuple(self))

    return type(name, (namedtuple(name, fields),), {"__slots__": (), "__reduce__": reduce, "__module__": __name__})


def _rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return _named_tuple(name, fields)(*values)
