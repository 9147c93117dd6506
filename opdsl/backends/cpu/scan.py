"""Scan and recurrence kernels: compile their graphs for a call, and plan the call as a built-in function.

A chain of dependent additions leaves the processor idle, so several chains always run at once. There are three
variants.
Across: many rows, with vector lanes across rows whose elements are contiguous. Abreast: a few rows interleaved in
registers. In parts: a single row is cut into parts, each of which begins with the accumulators of all parts before it,
so the row is read twice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.along import SYMBOL, call_of, form_of, kernel_of, runs_across
from opdsl.backends.cpu.builtin import Kernel
from opdsl.backends.cpu.cost import graph_cost
from opdsl.backends.cpu.forms import CONTIGUOUS, SINGLE, STRIDED, Form
from opdsl.backends.cpu.operands import constants
from opdsl.backends.cpu.pointwise import lies_over

if TYPE_CHECKING:
    from opdsl.kernels.calls import Recurring, RowCall, Scanning
    from opdsl.kernels.loops.making import Loops
    from opdsl.scalar.graph import Number, TypedGraph
    from opdsl.scalar.types import ScalarType

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


def scan(scanning: Scanning, call: RowCall) -> Kernel:
    """Compile the kernel of a scan for a call's dtypes and layout, or find it, and plan the call.

    Args:
        scanning: the monoid.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the input and the given outputs, which returns the output or, of several, a tuple.
    """
    is_row_alone = (not call.kept or call.kept[-1] < _FEWEST_ROWS) and call.length >= _FEWEST_TURNS
    way = ACROSS if runs_across(call) else PARTS if is_row_alone else ABREAST
    form = _form(call, [scanning.lift.parameters[0][1]], scanning.finish.result_types, way)
    code = scan_code(scanning, _first(scanning.init, scanning.combine), form, way)
    cost = sum(map(graph_cost, (scanning.lift, scanning.combine, scanning.finish)))
    unit = 1 if way == PARTS else _LANES[way]
    return kernel_of(scanning.combine.name, code, call, form, cost, unit, more=[part_length(call.length)])


def recurrence(recurring: Recurring, call: RowCall) -> Kernel:
    """Compile the kernel of a recurrence for a call's dtypes and layout, or find it, and plan the call.

    Its step need not be associative, so each row is computed step by step, several rows at once.

    Args:
        recurring: the computation of each step.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    step, count = recurring.step, len(recurring.init)
    way = ACROSS if runs_across(call) else ABREAST
    form = _form(call, [kind for _, kind in step.parameters[count:]], step.result_types[count:], way)
    code = recurrence_code(recurring, _first(recurring.init, step), form, way)
    unit = _LANES[ACROSS] if way == ACROSS else _ROWS_OF_A_RECURRENCE
    return kernel_of(step.name, code, call, form, graph_cost(step), unit, lies_over(call))


def _form(call: RowCall, taken: Sequence[ScalarType], scalar_types: Sequence[ScalarType], way: str) -> Form:
    """Return the form of a call, in which elements of a row have any stride, so that few kernels serve most calls."""
    form = form_of(call, taken, scalar_types, across=way == ACROSS)
    layout = form.layout.replace(SINGLE, STRIDED)
    return form._replace(layout=layout if way == ACROSS else layout.replace(CONTIGUOUS, STRIDED))


def _first(init: Sequence[Number], graph: TypedGraph) -> tuple[str, ...]:
    """Return the initial accumulators as text, which distinguishes -0.0 from 0.0."""
    return constants(init, [kind.value for kind in graph.result_types[: len(init)]])


def part_length(length: int) -> int:
    """Return the length of the parts into which a row is cut.

    >>> part_length(100), part_length(1 << 20)
    (12, 130896)
    """
    part = length // _LANES[PARTS]
    return part if part < _LONG_PART else part - (part - _PART_REST) % _PART_MULTIPLE


@functools.lru_cache(maxsize=4096)
def scan_code(scanning: Scanning, first: tuple[str, ...], form: Form, way: str) -> engine.Code:
    """Compile the kernel of a scan."""

    def text() -> str:
        from opdsl.kernels.loops import folding

        return _text(folding.scan(scanning, call_of(form)), way, _LANES[ABREAST])

    graphs = " ".join(graph.fingerprint for graph in (scanning.lift, scanning.combine, scanning.finish))
    title = f"scan {scanning.combine.name}"
    return engine.compile_ir(f"scan {graphs} {first} {form} {way}", text, [SYMBOL], title=title)


@functools.lru_cache(maxsize=4096)
def recurrence_code(recurring: Recurring, first: tuple[str, ...], form: Form, way: str) -> engine.Code:
    """Compile the kernel of a recurrence."""

    def text() -> str:
        from opdsl.kernels.loops import folding

        return _text(folding.recurrence(recurring, call_of(form)), way, _ROWS_OF_A_RECURRENCE)

    key = f"recurrence {recurring.step.fingerprint} {recurring.is_reverse} {first} {form} {way}"
    return engine.compile_ir(key, text, [SYMBOL], title=f"recurrence {recurring.step.name}")


def _text(loops: Loops, way: str, rows: int) -> str:
    """Return the LLVM module of a kernel for one of the variants; ``rows`` is the number of rows that run abreast."""
    from opdsl.backends.cpu.loop_text import module_ir
    from opdsl.kernels.loops import distribution, row_schedules, schedules

    if way == ACROSS:
        program = distribution.across(loops.program, _LANES[ACROSS], distribution.Folds())
    elif way == PARTS:
        program = row_schedules.scans_in_parts(loops.program, _LANES[PARTS])
    else:
        program = schedules.vectorised(loops.program, rows)
    return module_ir(loops.scheduled(program), SYMBOL)
