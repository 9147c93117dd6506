"""Serialized form of a compiled author kernel, and the text of a call's argument types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.kernels.calls import ArraySpec


class Compiled(NamedTuple):
    """Compiled author kernel, as stored in the disk cache.

    content: object code.
    symbol: the name of its function.
    needs: names of numba's runtime helpers that it calls.
    environments: names of its variables that must be set to a numba environment before it creates Python objects, as it
        does for an exception.
    """

    content: bytes
    symbol: str
    needs: tuple[str, ...]
    environments: tuple[str, ...]

    def pack(self) -> bytes:
        """Serialize to bytes: a line of JSON, then the object code."""
        return json.dumps([self.symbol, self.needs, self.environments]).encode() + b"\n" + self.content

    @classmethod
    def unpack(cls, packed: bytes) -> Compiled:
        """Deserialize bytes that ``pack`` returned."""
        head, _, content = packed.partition(b"\n")
        symbol, needs, environments = json.loads(head)
        return cls(content, symbol, tuple(needs), tuple(environments))


def signature_text(arguments: Sequence[Any]) -> str:
    """Return the argument types of a call as text, for cache keys and messages."""
    return ", ".join(_type_text(spec) for spec in arguments)


def _type_text(spec: Any) -> str:
    if isinstance(spec, ArraySpec):
        return f"{spec.dtype.name}[{spec.ndim}{spec.layout}]"
    if isinstance(spec, tuple):
        return f"({signature_text(spec)})"
    return "None" if spec is None else str(spec.__name__)
