"""Named tuples that operators with several named results return, like PyTorch's ``torch.return_types``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from opdsl.runtime.permanent import kept_forever
from opdsl.schema import FunctionSchema
from opdsl.schema.model import python_name


def result_type(schema: FunctionSchema) -> type[tuple[Any, ...]] | None:
    """Return the named tuple type of an operator's results; None if it has one result, or results without names."""
    names = [returned.name for returned in schema.returns if returned.name is not None]
    if len(names) < 2 or len(names) < len(schema.returns):
        return None
    return _named_tuple(python_name(schema.name.functional_base), _field_names(names))


def _field_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of results as valid field names: no leading underscore, no keyword, no duplicate."""
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
