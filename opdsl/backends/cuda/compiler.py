"""Compiler of the CUDA backend, called by ``opdsl.kernels``: schedules a call as a program, and returns its launcher.

A kernel is compiled for a device, or loaded from the cache, when it is first launched there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opdsl.backends.cuda.launcher import runner
from opdsl.backends.cuda.schedules import order as sorted_rows
from opdsl.backends.cuda.schedules import scheduled
from opdsl.kernels.abilities import Abilities
from opdsl.kernels.calls import Layout, Ordering, ProductCall, outputs_of
from opdsl.kernels.compiler import Compiled

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel
    from opdsl.runtime.plan_call import PlanCall

ABILITIES = Abilities(counts=True, multiplies=True, convolution=True, convolves_16_bits=True, attention=True, plan=True)
"""Optional abilities of this compiler."""

# Functions that are imported on first use, with the modules that they are in.
_MODULES = {
    "attends": "attention",
    "attention": "attention",
    "author": "author",
    "convolution": "convolution",
    "product": "product",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = function = getattr(importlib.import_module(f"opdsl.backends.cuda.{_MODULES[name]}"), name)
    return function


def compile(kernel: Kernel, layout: Layout) -> Compiled:
    """Compile a kernel, and return the function that launches it."""
    return runner(f"{kernel.name}_cuda", scheduled(kernel, layout), outputs_of(layout))


def order(ordering: Ordering, layout: Layout) -> Compiled:
    """Compile a stable sort of rows, and return the function that launches it."""
    return runner("order_cuda", sorted_rows(ordering, layout), outputs_of(layout))


def multiplies(call: ProductCall) -> bool:
    """Return whether cuBLAS multiplies matrices of a dtype, with sums in float32: all but those of float8."""
    return not call.dtype.is_stored_only


def plan(compiled: Compiled, call: PlanCall, slow: Callable[..., object]) -> Compiled:
    """See ``Compiler``: the CPU's plans work for CUDA tensors too, since they only read slots of tensors."""
    from opdsl.backends.cpu.tensors import plan as made_natively

    return made_natively(compiled, call, slow)
