"""Kernels that scan rows: compiles one for a call, and plans the call as a built-in function.

A chain of dependent additions leaves the processor idle, so several chains always run at once. There are three
variants.
Across: many rows, with vector lanes across rows whose elements are contiguous. Abreast: a few rows interleaved in
registers. In parts: a single row is cut into parts, each of which begins with the accumulators of all parts before it,
so the row is read twice.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.along import SYMBOL, form_of, kernel_of, layout_of, runs_across
from opdsl.backends.cpu.builtin import Kernel
from opdsl.backends.cpu.forms import CONTIGUOUS, SINGLE, STRIDED, Form
from opdsl.backends.cpu.pointwise import lies_over
from opdsl.kernels.functions import with_row_strides
from opdsl.kernels.kernel import Scan

if TYPE_CHECKING:
    from opdsl.kernels.calls import Layout
    from opdsl.kernels.kernel import Kernel as Computation

ACROSS, ABREAST, PARTS = "across", "abreast", "parts"

_LANES = {ACROSS: 64, ABREAST: 4, PARTS: 8}

# The rows of a recurrence that run abreast; more than for scans, because its steps have a longer latency.
_ROWS_OF_A_RECURRENCE = 8

# A row is cut into parts if there are fewer rows than this next to each other, and if it is long enough, so that no
# part is shorter than the remainder of the row.
_FEWEST_ROWS = 4
_FEWEST_TURNS = _LANES[PARTS] ** 2

# The length of long parts modulo _PART_MULTIPLE is _PART_REST, so that parts begin in different sets of the L1 cache.
# Parts from _LONG_PART on leave a remainder of the row that is no longer than one part.
_PART_MULTIPLE, _PART_REST = 256, 80
_LONG_PART = _LANES[PARTS] * (_PART_MULTIPLE + 1)


def scan(kernel: Computation, layout: Layout) -> Kernel:
    """Compile a kernel that scans rows for a call's dtypes and layout, or find it, and plan the call.

    A step that is not associative is computed step by step, for several rows at once.

    Args:
        kernel: the computation.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    layout = with_row_strides(kernel, layout)
    way, (length,) = _way(kernel, layout), layout.sizes[1]
    form = _form(kernel, layout, way)
    unit = 1 if way == PARTS else _LANES[ACROSS] if way == ACROSS else _rows_abreast(kernel)
    more = [part_length(length)] if way == PARTS else []
    over = [] if _is_associative(kernel) else lies_over(layout)
    return kernel_of(kernel, scan_code(kernel, form, way), layout, unit, over, more)


def _is_associative(kernel: Computation) -> bool:
    return all(loop.is_associative for loop in kernel.loops if isinstance(loop, Scan))


def _way(kernel: Computation, layout: Layout) -> str:
    """Return in which of the ways rows run."""
    kept, (length,) = layout.sizes
    if runs_across(layout):
        return ACROSS
    is_row_alone = (not kept or kept[-1] < _FEWEST_ROWS) and length >= _FEWEST_TURNS
    return PARTS if _is_associative(kernel) and is_row_alone else ABREAST


def _rows_abreast(kernel: Computation) -> int:
    return _LANES[ABREAST] if _is_associative(kernel) else _ROWS_OF_A_RECURRENCE


def _form(kernel: Computation, layout: Layout, way: str) -> Form:
    """Return the form of a call, in which elements of a row have any stride, so that few kernels serve most calls."""
    form = form_of(kernel, layout, across=way == ACROSS)
    letters = form.layout.replace(SINGLE, STRIDED)
    return form._replace(layout=letters if way == ACROSS else letters.replace(CONTIGUOUS, STRIDED))


def part_length(length: int) -> int:
    """Return the length of the parts into which a row is cut.

    >>> part_length(100), part_length(1 << 20)
    (12, 130896)
    """
    part = length // _LANES[PARTS]
    return part if part < _LONG_PART else part - (part - _PART_REST) % _PART_MULTIPLE


@functools.lru_cache(maxsize=4096)
def scan_code(kernel: Computation, form: Form, way: str) -> engine.Code:
    """Compile the kernel of a scan for one of the ways."""

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.kernels.loops import distribution, row_schedules, schedules
        from opdsl.kernels.loops.lowering import lowered

        loops = lowered(kernel, layout_of(kernel, form))
        if way == ACROSS:
            program = distribution.across(loops.program, _LANES[ACROSS], distribution.Folds())
        elif way == PARTS:
            program = row_schedules.scans_in_parts(loops.program, _LANES[PARTS])
        else:
            program = schedules.vectorised(loops.program, _rows_abreast(kernel))
        return module_ir(loops.scheduled(program), SYMBOL)

    return engine.compile_ir(f"scan {kernel.fingerprint} {form} {way}", text, [SYMBOL], title=f"scan {kernel.name}")
