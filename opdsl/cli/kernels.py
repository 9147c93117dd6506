"""What a kernel is, in a few words, and where its code stands."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import NamedTuple

from opdsl.dispatch import DispatchKey, Operator
from opdsl.dispatch.layers.backend_select import BackendSelect
from opdsl.dispatch.model.kernel import Kernel
from opdsl.kernels.definitions.common import CommonKernel


class Description(NamedTuple):
    """A kernel for readers.

    text: its kind and the names of the functions that it is made of.
    place: ``file:line`` of the first of these; empty when there is none.
    """

    text: str
    place: str = ""


def describe(kernel: object) -> Description:
    """Describe a kernel of a dispatch table."""
    if isinstance(kernel, Kernel):
        return Description(str(kernel), kernel.place)
    if isinstance(kernel, FunctionType):
        code = kernel.__code__
        return Description(kernel.__name__, f"{code.co_filename}:{code.co_firstlineno}")
    return Description(str(kernel))


def registered_keys(operator: Operator) -> list[DispatchKey]:
    """The keys that an operator has kernels for: runtime keys in the order of the table, then alias keys."""
    return sorted(operator.registrations, key=lambda key: (key.is_alias, key.index))


def own_keys(operator: Operator) -> list[DispatchKey]:
    """The keys for which somebody has written a kernel; others have one that serves every operator of their kind."""
    return [
        key
        for key in registered_keys(operator)
        if not isinstance(operator.registrations[key][0], BackendSelect | CommonKernel)
    ]


def shorten(place: str) -> str:
    """A place relative to the working directory, where it lies in it.

    Args:
        place: ``file:line``, or empty.
    """
    here = f"{Path.cwd()}/"
    return place.removeprefix(here)
