"""Samples of list forms: lists of tensors that fit each other, made from their schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opdsl.schema import Argument, BaseType, FunctionSchema, ListType
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

_ALONE = (5, 5)


def lists(schema: FunctionSchema, make: Maker) -> Iterator[Sample]:
    """Samples of a list form, or of what writes its lists; without outputs.

    Args:
        schema: of the operator.
        make: makes the tensors.
    """
    if schema.name.base == "_foreach_mm":
        yield Sample([make(3, 4), make(2, 0)], [make(4, 2), make(0, 3)])
        return
    for shapes in (((3, 4), (2, 1), (0,)), (_ALONE,)):
        yield Sample(*(_value(each, shapes, make) for each in schema.positional if each.default is None))


def _value(argument: Argument, shapes: tuple[tuple[int, ...], ...], make: Maker) -> Any:
    kind = argument.type
    if isinstance(kind, ListType):
        if kind.base is BaseType.Tensor:
            return [_tensor(make.transposed if at == 1 else make, shape) for at, shape in enumerate(shapes)]
        return [2, 1, 3][: len(shapes)]
    if kind is BaseType.Tensor:
        return make(len(shapes)) if argument.name == "scalars" else make()
    return 2


def _tensor(made: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """In lists of several, where all functions are defined: real elements between 0 and 1."""
    value = made(*shape)
    return value.abs() / 20 + 0.1 if value.dtype.is_floating_point and shape != _ALONE else value
