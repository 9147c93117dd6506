"""Emitters of plans with several kernels: results reuse memory, and consecutive kernels become one step."""

from __future__ import annotations

from typing import Any

from opdsl.dispatch.plans.emission import Emitter
from opdsl.runtime.device import backends
from opdsl.runtime.lowering import SymbolicArray
from opdsl.runtime.snapshot import tensors_in

__all__ = ["ReusingEmitter", "SequencingEmitter"]


class ReusingEmitter(Emitter):
    """Emitter of plans whose large results reuse the memory of operands that no later step reads.

    ability: the name of the backend's function that rearranges the steps; it takes the steps and the names of the
        arrays that the plan returns.
    """

    ability = "reusing"

    def body(self, result: Any) -> list[str]:
        """See ``Emitter``."""
        if self.recorder.is_exact and backends.has("cpu", "compiler"):
            compiler: Any = backends.load("cpu", "compiler")
            if compiler.ABILITIES.sequences:
                self.recorder.steps = getattr(compiler, self.ability)(self.recorder.steps, _arrays_of(result))
        return super().body(result)


class SequencingEmitter(ReusingEmitter):
    """Emitter that reuses memory and also combines consecutive kernels into one step."""

    ability = "sequenced"


def _arrays_of(result: Any) -> set[str]:
    """Return the names of the arrays that hold a plan's results, with those of bases and of viewed tensors."""
    names: set[str] = set()
    waiting = list(tensors_in((result,)))
    while waiting:
        tensor = waiting.pop()
        array = getattr(tensor, "array", None)
        if type(array) is SymbolicArray:
            names |= {array.text, array.source[0].text}
            waiting += [] if array.viewed is None else [array.viewed[0]]
        waiting += [] if tensor._base is None else [tensor._base]
    return names
