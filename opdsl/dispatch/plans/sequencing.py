"""Emitters of plans of several kernels: results lie over what nothing reads, and kernels in a row are one step."""

from __future__ import annotations

from typing import Any

from opdsl.dispatch.plans.emission import Emitter
from opdsl.runtime.device import backends
from opdsl.runtime.lowering import SymbolicArray
from opdsl.runtime.snapshot import tensors_in

__all__ = ["ReusingEmitter", "SequencingEmitter"]


class ReusingEmitter(Emitter):
    """Prints plans whose large results lie over operands that no later step reads.

    ability: the backend's function of the steps, and of the names of the arrays that the plan returns.
    """

    ability = "reusing"

    def body(self, result: Any) -> list[str]:
        """See ``Emitter``."""
        if self.recorder.is_exact and backends.has("cpu", "compiler"):
            arranged = getattr(backends.load("cpu", "compiler"), self.ability, None)
            if arranged is not None:
                self.recorder.steps = arranged(self.recorder.steps, _arrays_of(result))
        return super().body(result)


class SequencingEmitter(ReusingEmitter):
    """Prints plans whose kernels are one step where they follow one another, too."""

    ability = "sequenced"


def _arrays_of(result: Any) -> set[str]:
    """Return the names of the arrays that a plan needs for its results."""
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
