"""What operators with several named results return: named tuples, as PyTorch's ``torch.return_types``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from opdsl.runtime.permanent import kept_forever
from opdsl.schema import FunctionSchema


def result_type(schema: FunctionSchema) -> type[tuple[Any, ...]] | None:
    """The named tuple that an operator returns; None where it returns one result, or several without names."""
    names = tuple(each.name for each in schema.returns)
    if len(names) < 2 or None in names:
        return None
    return _named_tuple(schema.name.functional_base, tuple(str(each) for each in names))


@kept_forever
def _named_tuple(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    def reduce(self: tuple[Any, ...]) -> tuple[object, ...]:
        return _rebuild, (name, fields, tuple(self))

    return type(name, (namedtuple(name, fields),), {"__slots__": (), "__reduce__": reduce, "__module__": __name__})


def _rebuild(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return _named_tuple(name, fields)(*values)
