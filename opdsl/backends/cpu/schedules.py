"""Choice of the schedule by which the CPU runs a kernel, from the structure of the kernel."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from opdsl.kernels.structure import Structure, structure_of

if TYPE_CHECKING:
    from opdsl.backends.cpu.builtin import Kernel
    from opdsl.kernels.calls import Layout
    from opdsl.kernels.kernel import Kernel as Computation

__all__ = ["compile"]

# The module of each schedule, which has a function of its name; kernels of another structure are scheduled as those
# that compute indices.
_MODULES = {
    Structure.ELEMENTS: "pointwise",
    Structure.GATHER: "indirect",
    Structure.FOLD: "reduction",
    Structure.ROWS: "row",
    Structure.SCAN: "scan",
    Structure.INDICES: "indexed",
    Structure.ANY: "indexed",
}


def compile(kernel: Computation, layout: Layout) -> Kernel:
    """Compile a kernel, see ``opdsl.kernels.compiler.Compiler``."""
    return _schedule(kernel)(kernel, layout)


@lru_cache(maxsize=4096)
def _schedule(kernel: Computation) -> Callable[[Computation, Layout], Kernel]:
    name = _MODULES[structure_of(kernel)]
    return cast(
        "Callable[[Computation, Layout], Kernel]",
        getattr(importlib.import_module(f"opdsl.backends.cpu.{name}"), name),
    )
