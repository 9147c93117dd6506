"""Row kernels: compile a row function (softmax, say) for a call, and plan the call as a built-in function.

There are two variants. Along: one row after another, with vectorized loops over the elements of the row. Across: as
many rows at once as there are lanes, with loops over the rows, for rows with smaller strides between rows than between
elements.

How the elements of a row are reduced depends on its length and the form alone: in blocks of elements, one after
another, and within a block in the lanes of the processor's vectors.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.along import (
    SYMBOL,
    form_of,
    kept_elements,
    kernel_of,
    layout_of,
    runs_across,
)
from opdsl.backends.cpu.builtin import Kernel
from opdsl.backends.cpu.forms import Form
from opdsl.backends.cpu.pointwise import lies_over
from opdsl.backends.cpu.storage import MEMORY
from opdsl.kernels.functions import with_row_strides

if TYPE_CHECKING:
    from opdsl.kernels.calls import Layout
    from opdsl.kernels.kernel import Kernel as Computation

# The rows that run at once across, and the elements of a block, which has its own accumulators.
_LANES = 64
_BLOCK = 128

# The most bytes of a row's intermediate values that a kernel keeps on the stack.
_ROOM = 1 << 17

# The number of elements from which a copy to contiguous memory pays off.
_WORTH_A_COPY = 1024


def row(kernel: Computation, layout: Layout) -> Kernel:
    """Compile a kernel of folds along rows for a call's dtypes and layout, or find it, and plan the call.

    Args:
        kernel: the computation.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    layout = with_row_strides(kernel, layout)
    across, (length,) = runs_across(layout), layout.sizes[1]
    form = form_of(kernel, layout, across=across)
    size = _kept_size(kernel)
    keep = 0 < size * length * (_LANES if across else 1) <= _ROOM
    code = row_code(kernel, form, keep=keep)
    return kernel_of(kernel, code, layout, _LANES if across else 1, lies_over(layout))


def apart(layout: Layout) -> list[int]:
    """Return the indices of inputs to copy first, see ``opdsl.kernels.compiler.apart``: vector loads need contiguous
    rows.
    """
    if runs_across(layout) or layout.sizes[1][0] * kept_elements(layout) < _WORTH_A_COPY:
        return []
    inputs = enumerate(layout.inputs)
    return [
        place
        for place, operand_spec in inputs
        if operand_spec.strides and operand_spec.strides[-1] not in (0, operand_spec.dtype.itemsize)
    ]


@functools.lru_cache(maxsize=1024)
def _kept_size(kernel: Computation) -> int:
    """Return the bytes per element of the values that one loop over a row can keep for a later one."""
    from opdsl.kernels.loops.lowering import kept_types

    return sum(MEMORY[kind.value].itemsize for kind in kept_types(kernel))


@functools.lru_cache(maxsize=4096)
def row_code(kernel: Computation, form: Form, *, keep: bool) -> engine.Code:
    """Compile the row kernel of a form."""

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.kernels.loops import distribution, row_schedules
        from opdsl.kernels.loops.lowering import lowered

        loops = lowered(kernel, layout_of(kernel, form), keep=keep)
        if form.across:
            return module_ir(
                loops.scheduled(distribution.across(loops.program, _LANES, distribution.Folds((_BLOCK,)))), SYMBOL
            )
        return module_ir(loops.scheduled(row_schedules.fetching(loops.program)), SYMBOL)

    return engine.compile_ir(f"row {kernel.fingerprint} {form} {keep}", text, [SYMBOL], title=f"row {kernel.name}")
