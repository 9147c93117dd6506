"""The operators of opdsl as the standard's functions reach them: each is loaded when it is first called."""

from __future__ import annotations

from collections.abc import Callable

from opdsl._attributes import attribute
from opdsl.runtime import Tensor

Operator = Callable[..., Tensor]


class _Operators:
    """Attributes are functions of ``opdsl``, or of a module of it."""

    def __init__(self, module: str | None = None) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Operator:
        found: Operator = attribute(name) if self._module is None else getattr(attribute(self._module), name)
        setattr(self, name, found)
        return found


aten = _Operators()
linalg = _Operators("linalg")
fft = _Operators("fft")
