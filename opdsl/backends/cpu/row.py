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
from opdsl.backends.cpu.along import SYMBOL, call_of, form_of, kept_elements, kernel_of, runs_across
from opdsl.backends.cpu.builtin import Kernel
from opdsl.backends.cpu.cost import graph_cost
from opdsl.backends.cpu.forms import Form
from opdsl.backends.cpu.pointwise import lies_over
from opdsl.backends.cpu.storage import MEMORY

if TYPE_CHECKING:
    from opdsl.kernels.calls import RowCall
    from opdsl.scalar.graph import TypedGraph

# The rows that run at once across, and the elements of a block, which has its own accumulators.
_LANES = 64
_BLOCK = 128

# The most bytes of a row's intermediate values that a kernel keeps on the stack.
_ROOM = 1 << 17

# The number of elements from which a copy to contiguous memory pays off.
_WORTH_A_COPY = 1024


def row(graph: TypedGraph, call: RowCall) -> Kernel:
    """Compile the kernel of a row function for a call's dtypes and layout, or find it, and plan the call.

    Args:
        graph: the function; its first parameters are those of the arrays, the others those of the numbers.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    across = runs_across(call)
    form = form_of(call, [kind for _, kind in graph.parameters], graph.result_types, across=across)
    size = _kept_size(graph, sum(not input.is_number for input in form.inputs))
    keep = 0 < size * call.length * (_LANES if across else 1) <= _ROOM
    return kernel_of(
        graph.name,
        row_code(graph, form, keep=keep),
        call,
        form,
        graph_cost(graph),
        _LANES if across else 1,
        lies_over(call),
    )


def apart(call: RowCall) -> list[int]:
    """Return the indices of inputs to copy first, see ``opdsl.kernels.compiler.apart``: vector loads need contiguous
    rows.
    """
    if runs_across(call) or call.length * kept_elements(call) < _WORTH_A_COPY:
        return []
    inputs = enumerate(call.inputs)
    return [
        place
        for place, operand_spec in inputs
        if operand_spec.strides and operand_spec.strides[-1] not in (0, operand_spec.dtype.itemsize)
    ]


@functools.lru_cache(maxsize=1024)
def _kept_size(graph: TypedGraph, arrays: int) -> int:
    """Return the bytes per element that stages of a row function can store for later stages."""
    from opdsl.scalar.rows import row_program

    stages = row_program(graph, arrays, keep=True).stages
    return sum(MEMORY[kind.value].itemsize for stage in stages for kind in stage.graph.result_types[len(stage.folds) :])


@functools.lru_cache(maxsize=4096)
def row_code(graph: TypedGraph, form: Form, *, keep: bool) -> engine.Code:
    """Compile the row kernel of a form."""

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.kernels.loops import distribution, row_schedules, rows

        loops = rows.row(graph, call_of(form), keep=keep)
        if form.across:
            return module_ir(
                loops.scheduled(distribution.across(loops.program, _LANES, distribution.Folds((_BLOCK,)))), SYMBOL
            )
        return module_ir(loops.scheduled(row_schedules.fetching(loops.program)), SYMBOL)

    return engine.compile_ir(f"row {graph.fingerprint} {form} {keep}", text, [SYMBOL], title=f"row {graph.name}")
