"""The compiler that ``opdsl.kernels`` finds here: programs, and the functions that launch them.

A kind of kernel is a module that makes programs of calls, imported when it is first asked for. A kernel is compiled for
a device, or loaded from the cache, when it is first launched there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from opdsl.backends.cuda.launcher import Output, runner
from opdsl.kernels.calls import IndirectCall, ProductCall, ReductionCall
from opdsl.kernels.compiler import Compiled
from opdsl.schema.kinds import COMPILED

COUNTS = True
"""Its pointwise loops take operands that lie in no memory."""

PROGRAMS = (*COMPILED, "indirect", "order")
"""The kinds of kernels that are programs; each is made in the module of its name, or in ``loops``."""

IN_LOOPS = ("indexed", "indirect", "pointwise", "recurrence")
"""Those with a thread for each point, which are made in one module."""


def __getattr__(kind: str) -> Any:
    if kind in PROGRAMS:
        found: Callable[..., Any] = _compiling(kind)
    elif kind in ("author", "product"):
        found = getattr(importlib.import_module(f"opdsl.backends.cuda.{kind}"), kind)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {kind!r}")
    globals()[kind] = found
    return found


def multiplies(call: ProductCall) -> bool:
    """cuBLAS has products of float16 and bfloat16."""
    return True


def _compiling(kind: str) -> Callable[[Any, Any], Compiled]:
    """What the protocol calls for a kind of kernel."""
    module = "loops" if kind in IN_LOOPS else kind
    program = getattr(importlib.import_module(f"opdsl.backends.cuda.{module}"), kind)

    def compile_call(what: Any, call: Any) -> Compiled:
        specs = [call.output] if hasattr(call, "output") else call.outputs
        made = getattr(call, "allocate", (None,) * len(specs))
        outputs = [Output(spec.dtype, new) for spec, new in zip(specs, made, strict=True)]
        return runner(f"{getattr(what, 'name', kind)}_cuda", program(what, call), _arrays(call), outputs)

    return compile_call


def _arrays(call: Any) -> list[bool]:
    """For each input of a call whether it is an array, and no number."""
    if isinstance(call, ReductionCall):
        return [*(True for _ in call.inputs), *(False for _ in call.numbers)]
    inputs = [spec.strides is not None and not spec.counts for spec in call.inputs]
    if isinstance(call, IndirectCall):
        # The arrays of positions, and two numbers for each.
        count = len(call.positions)
        return [*inputs, *(True,) * count, *(False,) * (2 * count)]
    return inputs
