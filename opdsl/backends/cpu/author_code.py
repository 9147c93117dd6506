"""An author's kernel between its compiler and those who load it: the form on disk, and the text of a call's types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.kernels.calls import ArraySpec


class Compiled(NamedTuple):
    """What the compiler makes of an author's kernel, as it stands on disk.

    content: object code.
    symbol: the function in it.
    needs: names of numba's own helpers that it calls.
    environments: variables in it that have to be filled before it makes Python objects, for an exception.
    """

    content: bytes
    symbol: str
    needs: tuple[str, ...]
    environments: tuple[str, ...]

    def pack(self) -> bytes:
        """As bytes: a line of JSON, then the object code."""
        return json.dumps([self.symbol, self.needs, self.environments]).encode() + b"\n" + self.content

    @classmethod
    def unpack(cls, packed: bytes) -> Compiled:
        """The inverse of ``pack``."""
        head, _, content = packed.partition(b"\n")
        symbol, needs, environments = json.loads(head)
        return cls(content, symbol, tuple(needs), tuple(environments))


def signature_text(arguments: Sequence[Any]) -> str:
    """The types of a call, for keys and messages."""
    return ", ".join(_type_text(argument) for argument in arguments)


def _type_text(argument: Any) -> str:
    if isinstance(argument, ArraySpec):
        return f"{argument.dtype.name}[{argument.ndim}{argument.layout}]"
    if isinstance(argument, tuple):
        return f"({signature_text(argument)})"
    return "None" if argument is None else str(argument.__name__)
