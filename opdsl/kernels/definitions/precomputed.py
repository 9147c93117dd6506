"""Values that a shape function computes for out-kernels, in place of arguments or in addition (``precomputed``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Precomputed(NamedTuple):
    """Names of precomputed values.

    replaced: for each argument that kernels do not get, the names of the values that they get in its place.
    added: the names of the values that they get after the arguments.
    """

    replaced: Mapping[str, tuple[str, ...]] = {}
    added: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, in the order of kernels' parameters."""
        return (*(name for names in self.replaced.values() for name in names), *self.added)

    def parameters(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Return the names of a kernel's parameters for the arguments of an operator."""
        taken = (name for argument in arguments for name in self.replaced.get(argument, (argument,)))
        return (*taken, *self.added)

    def values(self, arguments: Mapping[str, Any], computed: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values of a kernel's parameters from a call's arguments and its precomputed values."""
        return tuple(computed[name] if name in computed else arguments[name] for name in self.parameters(arguments))
