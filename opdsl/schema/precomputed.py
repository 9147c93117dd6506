"""What a shape function computes for its kernel, as an entry says it."""

from __future__ import annotations

import attrs

from opdsl.schema.model import Argument

__all__ = ["Precomputed"]


@attrs.frozen
class Precomputed:
    """What a meta function computes for the kernel.

    replaced: for each replaced argument its name and the arguments that the kernel gets instead.
    added: further arguments that the kernel gets.
    """

    replaced: tuple[tuple[str, tuple[Argument, ...]], ...]
    added: tuple[Argument, ...] = ()
