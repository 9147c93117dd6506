"""Short descriptions of kernels, with the location of their code."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import NamedTuple

from opdsl.dispatch import DispatchKey, Operator
from opdsl.dispatch.layers.backend_select import BackendSelect
from opdsl.dispatch.model.kernel import Kernel
from opdsl.kernels.definitions.common import CommonKernel


class Description(NamedTuple):
    """Description of a kernel for users.

    text: its kind and the names of its functions.
    place: ``file:line`` of the first function; empty without functions.
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
    """Return the dispatch keys that an operator has kernels for: runtime keys in table order, then alias keys."""
    return sorted(operator.registrations, key=lambda key: (key.is_alias, key.index))


def own_keys(operator: Operator) -> list[DispatchKey]:
    """Return the dispatch keys with a kernel written for this operator, without those that get a generic kernel."""
    return [
        key
        for key in registered_keys(operator)
        if not isinstance(operator.registrations[key][0], BackendSelect | CommonKernel)
    ]


def shorten(place: str) -> str:
    """Return a location relative to the working directory if it is inside.

    Args:
        place: ``file:line``, or empty.
    """
    here = f"{Path.cwd()}/"
    return place.removeprefix(here)
