"""Arguments of the calls of a form: those that its text gives, with sizes for which plans are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs

from opdsl.dispatch import Operator
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.errors import OptionError, ShapeError
from opdsl.runtime.device import cpu
from opdsl.runtime.geometry import geometry
from opdsl.schema import Argument
from opdsl.schema.types import BaseType, ListType, OptionalType, Type
from opdsl.shipping.forms import Form, TensorForm
from opdsl.shipping.runtime.keys import FLOAT, NUMBERS, SCALAR, TENSOR, TENSORS, VALUE

__all__ = ["Call", "bound", "default_of", "parameters_of"]

# Sizes for which plans are made that are specialized for speed.
_SPECIAL = (20, 300, 3, 5000)

# Sizes for which there has to be a plan, by the number of named sizes: in each octave one, or fewer. The smallest come
# last: they add the plans for products of sizes that are smaller than those of the others.
_OCTAVES = tuple(3 << octave for octave in range(20))
_GENERAL = {1: (*_OCTAVES, 2), 2: (*_OCTAVES, 2), 3: (*_OCTAVES[::2], 2), 4: (*_OCTAVES[::4], 2)}
_GENERAL_OF_MANY = (3, 200, 2)


@attrs.frozen
class Call:
    """Calls of a form in which certain sizes are 0 or 1.

    values: the arguments; tensors as forms.
    pattern: those sizes; None for the others.
    """

    values: tuple[Any, ...]
    pattern: Mapping[str, int | None]

    @property
    def is_special(self) -> bool:
        """Return whether a size is 0 or 1."""
        return any(size is not None for size in self.pattern.values())

    def special(self) -> list[tuple[Any, ...]]:
        """Return the arguments of calls for which specialized plans are made; none if a size is 0 or 1."""
        return [] if self.is_special else list(self._samples(_SPECIAL))

    def general(self) -> list[tuple[Any, ...]]:
        """Return the arguments of calls with small and large sizes, for which there has to be a plan."""
        return list(self._samples(_GENERAL.get(len(self._free), _GENERAL_OF_MANY)))

    @property
    def _free(self) -> list[str]:
        return [name for name, size in self.pattern.items() if size is None]

    def _samples(self, sizes: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of calls with all combinations of sizes; those with different names differ."""
        for combination in itertools.product(sizes, repeat=len(self._free)):
            chosen = {name: size + at for at, (name, size) in enumerate(zip(self._free, combination, strict=True))}
            with suppress(ShapeError):  # tensors of many large sizes exceed the address space
                yield self.arguments({**self.pattern, **chosen})

    def arguments(self, sizes: Mapping[str, int | None]) -> tuple[Any, ...]:
        """Return the arguments of the call with these sizes, tensors as geometries."""
        return tuple(_with_sizes(value, sizes) for value in self.values)


def _with_sizes(value: Any, sizes: Mapping[str, int | None]) -> Any:
    if isinstance(value, list):
        return [_with_sizes(element, sizes) for element in value]
    if not isinstance(value, TensorForm):
        return value
    shape = tuple(size if isinstance(size, int) else sizes[size] or 0 for size in value.sizes)
    return geometry(value.dtype, cpu, shape, _strides(shape, value.order))


def _strides(shape: tuple[int, ...], order: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the strides of a tensor without gaps; None for those of row-major order."""
    if order is None or any(size < 2 for size in shape):
        return None
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def bound(operator: Operator, form: Form) -> tuple[Any, ...]:
    """Return the values of all parameters of an operator for a form.

    Raises:
        OptionError: the form does not fit.
    """
    arguments = operator.schema.arguments
    names = [argument.python_name for argument in arguments]
    extra = [name for name in form.named if name not in names[len(form.positional) :]]
    if len(form.positional) > len(names) or extra:
        raise OptionError(f"{operator.name}: ({form}) does not fit {operator.schema}.")
    passed = dict(zip(names, form.positional, strict=False)) | dict(form.named)
    missing = [
        argument.python_name
        for argument in arguments
        if argument.python_name not in passed and argument.default is None
    ]
    if missing:
        raise OptionError(f"{operator.name}: ({form}) lacks {missing[0]}: {operator.schema}.")
    return tuple(
        _valued(argument, passed[argument.python_name] if argument.python_name in passed else default_of(argument))
        for argument in arguments
    )


def default_of(argument: Argument) -> Any:
    """Return the default of an argument as callers pass it."""
    return None if argument.default is None else argument.default.value


def _valued(argument: Argument, value: Any) -> Any:
    """Return a number in the type that the run time passes it in."""
    is_number = isinstance(value, NUMBERS)
    return float(value) if _kind(argument) == FLOAT and is_number and not isinstance(value, complex) else value


def parameters_of(operator: Operator) -> tuple[tuple[str, str], ...]:
    """Return the name and kind of each parameter of an operator."""
    return tuple((argument.python_name, _kind(argument)) for argument in operator.schema.arguments)


def _kind(argument: Argument) -> str:
    kind = kind_of(argument)
    if kind is Kind.NUMBER:
        element: Type = argument.type
        while isinstance(element, (OptionalType, ListType)):
            element = element.element
        return FLOAT if element is BaseType.float else SCALAR
    return {Kind.TENSOR: TENSOR, Kind.TENSORS: TENSORS, Kind.VALUE: VALUE}[kind]
