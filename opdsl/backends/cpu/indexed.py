"""Loops over places: where the operands of a call lie, as the words that ``indexed_text`` reads."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import graph_cost
from opdsl.backends.cpu.indexed_form import SYMBOL, IndexedForm, own_units
from opdsl.backends.cpu.indexed_stages import repeated_dimension
from opdsl.backends.cpu.indexed_steps import clipped, factors_of, runs_along_turns, skips_unevenly, specialised
from opdsl.backends.cpu.indexed_text import module_ir
from opdsl.backends.cpu.operands import Operand
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, number_input, planned_outputs
from opdsl.runtime.symbol import largest

# Steps from lane to lane whose loads are vectors.
_STEPS = (1, 2)

# So many turns along one dimension are worth loops along it.
_LONG = 4

# More turns than this are not all printed.
_MOST_TURNS = 16

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedCall, IndexedLoop, OperandSpec


def indexed(loop: IndexedLoop, call: IndexedCall) -> Kernel:
    """Compile (or find) the kernel of a function of places for a call's dtypes and layout, and plan its geometry.

    Args:
        loop: what is computed.
        call: where the operands lie.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    form = _form(loop, call)
    code = _code(form)
    sizes = (*(call.leading if form.leading else ()), *call.sizes)
    sizes = sizes if form.leading == len(call.leading) else (1, *sizes)
    units = math.prod(sizes[each] for each in form.units)
    if not loop.writes:
        units *= (sizes[form.lane] + form.tile - 1) // form.tile
    total = math.prod(sizes)
    cost = largest(1, total * graph_cost(loop.graph))
    work = Work(
        loop=code.address(SYMBOL),
        elements=units,
        grain=largest(1, SHARE_OF_A_THREAD * units // cost) if cost >= PARALLEL_FROM and units > 1 else 0,
        details=_words(form, sizes, call),
    )
    inputs = [builtin.ARRAY] * len(call.dimensions)
    kinds = [str(kind) for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    inputs += [number_input(kind) for kind in kinds[first : first + loop.numbers]]
    return builtin.builtin(f"{loop.name}_cpu", work, inputs, planned_outputs(call), [code])


def _words(form: IndexedForm, sizes: tuple[int, ...], call: IndexedCall) -> list[int]:
    """What the kernel reads of its plan: sizes, whole numbers, then strides and sizes of each array and output."""
    found = [*sizes, *call.words]
    pad = form.leading - len(call.leading)
    for spec, own in zip(call.inputs, call.dimensions, strict=False):
        found += [*(0,) * pad, *(spec.strides or ()), *own]
    for spec in call.outputs:
        found += [*(0,) * pad, *(spec.strides or ()), *call.written]
    return found


def _form(loop: IndexedLoop, call: IndexedCall) -> IndexedForm:
    leading = len(call.leading)
    if not leading and not loop.at:
        leading = 1  # a single place
    pad = leading - len(call.leading)
    arrays = call.inputs[: len(call.dimensions)]
    kinds = dict(zip((each.array for each in loop.reads), _read_kinds(loop), strict=True))
    operands = tuple(Operand(spec.dtype.name, kinds.get(k, spec.dtype.name)) for k, spec in enumerate(arrays))
    outputs = tuple(
        Operand(spec.dtype.name, kind) for spec, kind in zip(call.outputs, _stored(loop, call), strict=True)
    )
    dense = tuple(_dense(spec, pad) for spec in (*arrays, *call.outputs))
    dims = leading + loop.at
    lane = dims - 1
    if loop.writes and 0 <= dense[-1] < leading and all(each.leads for each in loop.writes):
        lane = dense[-1]
    if not loop.writes:
        strides = [(*(0,) * pad, *(each.strides or ())) for each in call.outputs]
        lane = next((d for d in reversed(range(dims)) if strides[0][d] == call.outputs[0].dtype.itemsize), dims - 1)
    steps = _known_steps(loop, call, lane - leading)
    sides = [each - leading if each >= leading else None for each in (*dense[: len(arrays)], dense[-1])]
    graph = specialised(loop.graph, steps)
    is_long = bool(loop.over) and call.sizes[-1] >= _LONG
    inwards = is_long or skips_unevenly(loop, graph, lane - leading)
    inwards = inwards and runs_along_turns(loop, graph, lane - leading, sides)
    if inwards and loop.writes:
        lane = dims + loop.over - 1
    units = tuple(each for each in range(dims) if each != lane) if not loop.writes else own_units(loop, leading, lane)
    repeated = _repeated(loop, call, steps, pad, lane)
    units = tuple(each for each in units if each != repeated)
    turns = call.sizes[loop.at :]
    is_few = all(type(each) is int for each in turns) and 1 <= math.prod(turns) <= _MOST_TURNS and bool(loop.fold)
    return IndexedForm(
        loop,
        leading,
        operands,
        outputs,
        tuple(len(each) for each in call.dimensions),
        dense,
        lane,
        units,
        turns if is_few else (),
        steps,
        inwards,
        repeated,
    )


def _repeated(loop: IndexedLoop, call: IndexedCall, steps: tuple[tuple[int, int], ...], pad: int, lane: int) -> int:
    """The dimension of the result that something is kept for, see ``indexed_stages``."""
    graph, limits = clipped(loop, specialised(loop.graph, steps))
    sizes = (*(1,) * pad, *call.leading, *call.sizes)
    return -1 if limits else repeated_dimension(loop, graph, len(call.leading) + pad, lane, sizes)


def _known_steps(loop: IndexedLoop, call: IndexedCall, lane: int) -> tuple[tuple[int, int], ...]:
    """The numbers that lanes are multiplied with that there are kernels of their own for, see ``IndexedForm.steps``."""
    first = loop.at + loop.over
    graph = clipped(loop, loop.graph).graph
    factors = {*factors_of(loop, graph, lane), *factors_of(loop, graph, first - 1)}
    given = [(each, call.words[each - first]) for each in sorted(factors)]
    return tuple(pair for pair in given if pair[1] in _STEPS)


def _read_kinds(loop: IndexedLoop) -> list[str]:
    kinds = [str(kind) for _, kind in loop.graph.parameters]
    return kinds[len(kinds) - len(loop.reads) :]


def _stored(loop: IndexedLoop, call: IndexedCall) -> list[str]:
    return [loop.values[0]] if loop.writes else list(loop.results)


def _dense(spec: OperandSpec, pad: int) -> int:
    """The dimension along which elements lie side by side; -1 for none."""
    strides = (*(0,) * pad, *(spec.strides or ()))
    return next((d for d in reversed(range(len(strides))) if strides[d] == spec.dtype.itemsize), -1)


@functools.lru_cache(maxsize=4096)
def _code(form: IndexedForm) -> engine.Code:
    return engine.compile_ir(str(form), lambda: module_ir(form), [SYMBOL])
