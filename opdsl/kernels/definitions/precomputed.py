"""What a shape function hands to out-kernels in place of arguments, and beside them (``precomputed``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Precomputed(NamedTuple):
    """Names of precomputed values.

    replaced: for each argument that kernels do not get, what they get in its place.
    added: what they get after the arguments.
    """

    replaced: Mapping[str, tuple[str, ...]] = {}
    added: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order in which kernels get them."""
        return (*(name for names in self.replaced.values() for name in names), *self.added)

    def parameters(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """What kernels take for the arguments of an operator."""
        taken = (name for argument in arguments for name in self.replaced.get(argument, (argument,)))
        return (*taken, *self.added)

    def values(self, arguments: Mapping[str, Any], computed: Mapping[str, Any]) -> tuple[Any, ...]:
        """What kernels get for the arguments of a call and what was computed of them."""
        return tuple(computed[name] if name in computed else arguments[name] for name in self.parameters(arguments))
