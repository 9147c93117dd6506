"""What a kernel is, in a few words, and where its code stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import attrs

from opdsl.declare.derived import DerivedKernel
from opdsl.dispatch import DispatchKey, Operator
from opdsl.kernels import Definition, PointwiseDefinition, ReductionDefinition, StructuredDefinition, StructuredKernel
from opdsl.kernels.plain import PlainKernel
from opdsl.kernels.view_kernel import ViewKernel
from opdsl.scalar import ScalarFunction


@attrs.frozen
class Description:
    """A kernel for readers.

    text: its kind and the names of the functions that it is made of.
    place: ``file:line`` of the first of these; empty when there is none.
    """

    text: str
    place: str = ""


def describe(kernel: object) -> Description:
    """Describe a kernel of a dispatch table."""
    for kind, made in _KERNELS.items():
        if isinstance(kernel, kind):
            return made(kernel)
    if isinstance(kernel, FunctionType):
        return _of("", kernel)
    return Description(str(kernel))


def registered_keys(operator: Operator) -> list[DispatchKey]:
    """The keys that an operator has kernels for: runtime keys in the order of the table, then alias keys."""
    return sorted(operator.registrations, key=lambda key: (key.is_alias, key.index))


def shorten(place: str) -> str:
    """A place relative to the working directory, where it lies in it.

    Args:
        place: ``file:line``, or empty.
    """
    here = f"{Path.cwd()}/"
    return place.removeprefix(here)


def _of(kind: str, *functions: FunctionType | ScalarFunction) -> Description:
    """A kernel of a kind, made of functions."""
    plain = [each.source.function if isinstance(each, ScalarFunction) else each for each in functions]
    names = dict.fromkeys(each.__name__ for each in plain)
    first = plain[0].__code__
    return Description(f"{kind} {', '.join(names)}".lstrip(), f"{first.co_filename}:{first.co_firstlineno}")


def _structured(kernel: StructuredKernel) -> Description:
    for kind, made in _DEFINITIONS.items():
        if isinstance(kernel.definition, kind):
            return made(kernel.definition, kernel.key)
    return Description("structured")


def _pointwise(definition: PointwiseDefinition, key: str) -> Description:
    return _of("pointwise", *(each.function for each in definition.formulas))


def _reduction(definition: ReductionDefinition, key: str) -> Description:
    fold = definition.fold
    return _of("reduction", *(each for each in (fold.lift, fold.combine, fold.finish) if each is not None))


def _author(definition: StructuredDefinition, key: str) -> Description:
    found = definition.kernels.get(key)
    if found is not None and isinstance(found.function, FunctionType):
        return _of("out-kernel", found.function)
    if key == "Meta" and isinstance(definition.meta, FunctionType):
        return _of("meta", definition.meta)
    return Description("structured")


def _derived(kernel: DerivedKernel) -> Description:
    functional = describe(kernel.functional)
    return Description(f"{functional.text}, copied to the output", functional.place)


_DEFINITIONS: Mapping[type[Definition], Callable[[Any, str], Description]] = {
    PointwiseDefinition: _pointwise,
    ReductionDefinition: _reduction,
    StructuredDefinition: _author,
}

_KERNELS: Mapping[type, Callable[[Any], Description]] = {
    StructuredKernel: _structured,
    PlainKernel: lambda kernel: _of("function", kernel.function),
    DerivedKernel: _derived,
    ViewKernel: lambda kernel: _of("view", kernel.function),
}
