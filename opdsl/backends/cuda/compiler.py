"""Compiler of the CUDA backend, called by ``opdsl.kernels``: schedules a call as a program, and returns its launcher.

A kernel is compiled for a device, or loaded from the cache, when it is first launched there.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.schedules import scheduled
from opdsl.kernels.calls import ProductCall, outputs_of
from opdsl.kernels.compiler import Compiled
from opdsl.schema.kinds import COMPILED

if TYPE_CHECKING:
    from opdsl.runtime.plan_call import PlanCall

COUNTS = True
"""Flag that this backend's pointwise loops take range operands without memory (``OperandSpec.counts``)."""

PROGRAMS = (*COMPILED, "indirect", "order")
"""Names of the kinds of kernels that are loop IR programs."""


def __getattr__(kind: str) -> Any:
    if kind in PROGRAMS:
        partial: Any = functools.partial(_compiled, kind)
    elif kind in ("author", "product"):
        partial = getattr(importlib.import_module(f"opdsl.backends.cuda.{kind}"), kind)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    globals()[kind] = partial
    return partial


def multiplies(call: ProductCall) -> bool:
    """Return True: cuBLAS multiplies matrices of 16-bit floats, with sums in float32."""
    return True


def plan(compiled: Compiled, call: PlanCall, slow: Callable[..., object]) -> Compiled:
    """See ``Compiler``: the CPU's plans work for CUDA tensors too, since they only read slots of tensors."""
    from opdsl.backends.cpu.tensors import plan as made_natively

    return made_natively(compiled, call, slow)


def _compiled(kind: str, what: Any, call: Any) -> Compiled:
    """Compile a call of one kernel kind, and return the function that launches it."""
    return runner(f"{getattr(what, 'name', kind)}_cuda", scheduled(kind, what, call), outputs_of(call))
