"""Scans and recurrences: their graphs and a call's geometry become a built-in function.

A lane that waits for one addition after the other leaves the processor idle, so there are always several. Across: many
rows whose elements lie next to each other, in vectors. Abreast: a few rows in registers. In parts: a row alone is cut
into parts, each of which begins with the accumulators of all parts before it, so the row is read twice.
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

# Rows of a recurrence that are taken abreast: its steps wait longer.
_ROWS_OF_A_RECURRENCE = 8

# Fewer rows side by side than this are cut into parts, unless they have fewer turns: parts are no shorter than what
# they leave of a row.
_FEWEST_ROWS = 4
_FEWEST_TURNS = _LANES[PARTS] ** 2

# Parts begin at other places of the first cache: a part's length leaves this many elements over such a multiple. Longer
# parts than these leave no more of a row than one part has.
_PART_MULTIPLE, _PART_REST = 256, 80
_LONG_PART = _LANES[PARTS] * (_PART_MULTIPLE + 1)


def scan(scanning: Scanning, call: RowCall) -> Kernel:
    """Compile (or find) the kernel of a scan for a call's dtypes and layout, and plan its geometry.

    Args:
        scanning: the monoid.
        call: where the operands lie.

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
    """Compile (or find) a recurrence for a call's dtypes and layout, and plan its geometry.

    Nothing is known of its step, so a row is gone along turn by turn, several rows side by side.

    Args:
        recurring: what is computed at each step.
        call: where the operands lie.

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
    """The form of a call; elements of a row are wherever they are."""
    form = form_of(call, taken, scalar_types, across=way == ACROSS)
    layout = form.layout.replace(SINGLE, STRIDED)
    return form._replace(layout=layout if way == ACROSS else layout.replace(CONTIGUOUS, STRIDED))


def _first(init: Sequence[Number], graph: TypedGraph) -> tuple[str, ...]:
    """What accumulators begin with, as text, which tells -0.0 from 0.0."""
    return constants(init, [kind.value for kind in graph.result_types[: len(init)]])


def part_length(length: int) -> int:
    """How long the parts of a row are.

    >>> part_length(100), part_length(1 << 20)
    (12, 130896)
    """
    part = length // _LANES[PARTS]
    return part if part < _LONG_PART else part - (part - _PART_REST) % _PART_MULTIPLE


@functools.lru_cache(maxsize=4096)
def scan_code(scanning: Scanning, first: tuple[str, ...], form: Form, way: str) -> engine.Code:
    """The kernel of a scan."""

    def text() -> str:
        from opdsl.kernels.loops import folding

        return _text(folding.scan(scanning, call_of(form)), way, _LANES[ABREAST])

    graphs = " ".join(graph.fingerprint for graph in (scanning.lift, scanning.combine, scanning.finish))
    title = f"scan {scanning.combine.name}"
    return engine.compile_ir(f"scan {graphs} {first} {form} {way}", text, [SYMBOL], title=title)


@functools.lru_cache(maxsize=4096)
def recurrence_code(recurring: Recurring, first: tuple[str, ...], form: Form, way: str) -> engine.Code:
    """The kernel of a recurrence."""

    def text() -> str:
        from opdsl.kernels.loops import folding

        return _text(folding.recurrence(recurring, call_of(form)), way, _ROWS_OF_A_RECURRENCE)

    key = f"recurrence {recurring.step.fingerprint} {recurring.is_reverse} {first} {form} {way}"
    return engine.compile_ir(key, text, [SYMBOL], title=f"recurrence {recurring.step.name}")


def _text(loops: Loops, way: str, rows: int) -> str:
    """The module of a kernel that goes this way, abreast along so many rows."""
    from opdsl.backends.cpu.loop_text import module_ir
    from opdsl.kernels.loops import distribution, row_schedules, schedules

    if way == ACROSS:
        program = distribution.across(loops.program, _LANES[ACROSS], distribution.Folds())
    elif way == PARTS:
        program = row_schedules.scans_in_parts(loops.program, _LANES[PARTS])
    else:
        program = schedules.vectorised(loops.program, rows)
    return module_ir(loops.scheduled(program), SYMBOL)
