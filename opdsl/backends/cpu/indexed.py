"""Loops over places: which schedule a call has, and how it hands its operands over."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.builtin import Kernel, Work
from opdsl.backends.cpu.cost import graph_cost
from opdsl.backends.cpu.pointwise import PARALLEL_FROM, SHARE_OF_A_THREAD, number_input, planned_outputs
from opdsl.kernels.calls import IndexedCall, OperandSpec
from opdsl.kernels.loops import place_schedules
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.place_schedules import KEPT, PITCH, ROWS, is_in_rows, is_repeated
from opdsl.kernels.loops.rewriting import specialised
from opdsl.kernels.loops.stepping import STILL, Step, steps_along
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.symbol import largest, smallest
from opdsl.scalar.indexed import SKIP

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndexedLoop

SYMBOL = "indexed"

# Points of a tile: where something is in memory for each, and where nothing is.
_TILE, _LONG_TILE = 256, 4096

# Factors of steps that there are kernels of their own for: those whose loads are vectors.
_STEPS = (1, 2)

# So many turns along one dimension are worth loops along it.
_LONG = 4

# More turns than this are not all printed.
_MOST_TURNS = 16

# A stride, and a size, of which nothing is known.
_ANY = 1 << 20


class _Layout(NamedTuple):
    """What the loops of a call depend on besides its function.

    leading: dimensions of the result before those that have indices.
    arrays, outputs: the dtypes of operands, and the dimension along which elements lie side by side; -1 for none.
    own: how many dimensions of its own each array has, and an output that is added to.
    """

    leading: int
    arrays: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    own: tuple[int, ...]


class _Form(NamedTuple):
    """What a kernel is compiled for.

    lane: the index along which the innermost loop runs. units: those that are counted through from outside.
    known: words that are numbers. inwards: see ``place_schedules.folding``. repeated, in_rows: see ``staging``
    there; empty for none.
    """

    loop: IndexedLoop
    layout: _Layout
    lane: str
    units: tuple[str, ...]
    known: tuple[tuple[str, int], ...]
    inwards: bool
    repeated: str
    in_rows: bool

    @property
    def tile(self) -> int:
        """Points of a tile."""
        return _TILE if self.loop.fold or self.repeated else _LONG_TILE

    def __str__(self) -> str:
        loop = self.loop
        finish = "" if loop.finish is None else loop.finish.fingerprint
        rest = (loop.at, loop.over, loop.words, loop.numbers, loop.reads, loop.writes, loop.fold, loop.with_place)
        return f"indexed {loop.graph.fingerprint} {finish} {rest} {tuple(self)[1:]}"


def indexed(loop: IndexedLoop, call: IndexedCall) -> Kernel:
    """Compile (or find) the kernel of a function of places for a call's dtypes and layout, and plan its geometry.

    Args:
        loop: what is computed.
        call: where the operands lie.

    Returns:
        A built-in function of the arrays, the numbers and the given outputs, which returns the output or, of several,
        a tuple.
    """
    placed = call if call.leading or loop.at else _in_one_place(call)
    form = _form(loop, placed)
    code = _code(form)
    sizes = dict(zip(_indices(form.layout.leading, loop), (*placed.leading, *placed.sizes), strict=True))
    rows = _rows(sizes[form.lane])
    counted = [sizes[each] for each in form.units]
    if form.in_rows:
        counted[-1] = (counted[-1] + rows - 1) // rows
    units = math.prod(counted)
    if not loop.writes:
        units *= (sizes[form.lane] + form.tile - 1) // form.tile
    total = math.prod(sizes.values())
    cost = largest(1, total * graph_cost(loop.graph))
    work = Work(
        loop=code.address(SYMBOL),
        elements=units,
        grain=largest(1, SHARE_OF_A_THREAD * units // cost) if cost >= PARALLEL_FROM and units > 1 else 0,
        details=[*_details(placed), rows, smallest(sizes[form.lane], _TILE)],
    )
    inputs = [builtin.ARRAY] * len(call.dimensions)
    kinds = [str(kind) for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    inputs += [number_input(kind) for kind in kinds[first : first + loop.numbers]]
    return builtin.builtin(f"{loop.name}_cpu", work, inputs, planned_outputs(call), [code])


def _in_one_place(call: IndexedCall) -> IndexedCall:
    """A call whose result has one place, which is that of a leading dimension."""
    arrays, rest = call.inputs[: len(call.dimensions)], call.inputs[len(call.dimensions) :]
    led, outputs = (
        tuple(each._replace(strides=(0, *(each.strides or ()))) for each in specs) for specs in (arrays, call.outputs)
    )
    return call._replace(leading=(1,), inputs=(*led, *rest), outputs=outputs)


def _indices(leading: int, loop: IndexedLoop) -> tuple[str, ...]:
    """The indices of a program's loops, from the outermost one."""
    counts = {"l": leading, "i": loop.at, "j": loop.over}
    return tuple(f"{prefix}{k}" for prefix, count in counts.items() for k in range(count))


def _details(call: IndexedCall) -> list[int]:
    """What the kernel reads of its plan: sizes, whole numbers, then strides and sizes of each array and output."""
    found = [*call.leading, *call.sizes, *call.words]
    for spec, own in zip(call.inputs, call.dimensions, strict=False):
        found += [*(spec.strides or ()), *own]
    for spec in call.outputs:
        found += [*(spec.strides or ()), *call.written]
    return found


def _rows(lanes: int) -> int:
    """Rows of a tile that something is kept for: as many as fit beside what is read."""
    rows: int = KEPT // largest(1, smallest(lanes, _TILE))
    return rows


def _words(form: _Form) -> list[str]:
    """What the numbers of ``_details`` are called."""
    loop, layout = form.loop, form.layout
    found = [f"{each}_n" for each in _indices(layout.leading, loop)]
    found += [f"word{k}" for k in range(loop.words)]
    names = [f"a{k}" for k in range(len(layout.arrays))] + [f"out{k}" for k in range(len(layout.outputs))]
    own = [*layout.own[: len(layout.arrays)], *(layout.own[len(layout.arrays) :] or [loop.at] * len(layout.outputs))]
    for name, dims in zip(names, own, strict=True):
        found += [f"{name}_s{d}" for d in range(layout.leading + dims)]
        if name.startswith("a") or loop.writes:
            found += [f"{name}_n{d}" for d in range(dims)]
    return [*found, ROWS, PITCH]


# --------------------------------------------------------------------------------------------------------------- forms


def _form(loop: IndexedLoop, call: IndexedCall) -> _Form:
    layout = _layout_of(loop, call)
    leading = layout.leading
    indices = _indices(leading, loop)
    dims = leading + loop.at
    lane = dims - 1
    written = layout.outputs[-1][1]
    if loop.writes and 0 <= written < leading and all(each.leads for each in loop.writes):
        lane = written
    if not loop.writes and layout.outputs[0][1] >= 0:
        lane = layout.outputs[0][1]
    program = _program(loop, layout)
    known = _known_steps(loop, program, call, {indices[lane], indices[dims + loop.over - 1]})
    accesses = _accesses(loop, layout, known)
    turns = call.sizes[loop.at :]
    is_long = bool(loop.over) and turns[-1] >= _LONG
    inwards = (is_long or accesses.skips_unevenly(indices[lane])) and accesses.runs_along_turns(indices[lane])
    if inwards and loop.writes:
        lane = dims + loop.over - 1
    units = own_units(loop, leading) if loop.writes else tuple(range(dims))
    is_few = all(type(each) is int for each in turns) and 1 <= math.prod(turns) <= _MOST_TURNS and bool(loop.fold)
    if is_few:
        known += tuple((f"j{k}_n", each) for k, each in enumerate(turns))
    repeated = _repeated(loop, accesses, indices[lane], call)
    counted = tuple(indices[each] for each in units if indices[each] not in (indices[lane], repeated))
    in_rows = bool(repeated and counted) and not loop.writes and accesses.in_rows(counted[-1], indices[lane], repeated)
    return _Form(loop, layout, indices[lane], counted, known, inwards, repeated, in_rows)


def _repeated(loop: IndexedLoop, accesses: _Accesses, lane: str, call: IndexedCall) -> str:
    """The dimension of the result along which places are the same, if it has one that is worth it."""
    if loop.over or any(each.margin == SKIP for each in loop.reads):
        return ""
    indices = _indices(len(call.leading), loop)
    found = accesses.repeated(lane)
    sizes = dict(zip(indices, (*call.leading, *call.sizes), strict=True))
    return next((each for each in reversed(indices) if each in found and sizes[each] >= 2), "")


def _layout_of(loop: IndexedLoop, call: IndexedCall) -> _Layout:
    arrays, outputs = (
        tuple((spec.dtype.name, _side(spec)) for spec in specs)
        for specs in (call.inputs[: len(call.dimensions)], call.outputs)
    )
    own = tuple(len(each) for each in call.dimensions) + (len(call.written),) * (len(outputs) if loop.writes else 0)
    return _Layout(len(call.leading), arrays, outputs, own)


def _side(spec: OperandSpec) -> int:
    """The dimension along which elements lie side by side; -1 for none."""
    strides = spec.strides or ()
    return next((d for d in reversed(range(len(strides))) if strides[d] == spec.dtype.itemsize), -1)


@functools.lru_cache(maxsize=4096)
def _program(loop: IndexedLoop, layout: _Layout) -> Program:
    """The loops of all calls of a layout."""
    from opdsl.kernels.loops import indexed as over_places

    kinds = [kind for _, kind in loop.graph.parameters]
    first = loop.at + loop.over + loop.words
    numbers = tuple(OperandSpec(to_dtype(kind.value), None) for kind in kinds[first : first + loop.numbers])
    count = len(layout.arrays)
    dims = [*layout.own[:count], *(layout.own[count:] or [loop.at] * len(layout.outputs))]
    specs = [
        _spec(to_dtype(dtype), layout.leading + own, side)
        for (dtype, side), own in zip((*layout.arrays, *layout.outputs), dims, strict=True)
    ]
    call = IndexedCall(
        (_ANY,) * layout.leading,
        (_ANY,) * (loop.at + loop.over),
        (_ANY,) * loop.words,
        (*specs[:count], *numbers),
        tuple((_ANY,) * own for own in layout.own[:count]),
        tuple(specs[count:]),
        (_ANY,) * (layout.own[-1] if loop.writes else 0),
        (None,) * len(layout.outputs),
    )
    return over_places.indexed(loop, call, trusted=True).program


def _spec(dtype: DType, dims: int, side: int) -> OperandSpec:
    return OperandSpec(dtype, tuple(dtype.itemsize * (1 if d == side else _ANY) for d in range(dims)))


def _known_steps(
    loop: IndexedLoop, program: Program, call: IndexedCall, indices: set[str]
) -> tuple[tuple[str, int], ...]:
    """The words that an index is multiplied with in places, of those that there are kernels of their own for."""
    found = [step for index in indices for step in steps_along(program.body, index).values()]
    factors = {step.factor for step in found if step is not None and step.factor is not None}
    words = {f"word{k}": value for k, value in enumerate(call.words)}
    return tuple((each, words[each]) for each in sorted(factors & words.keys()) if words[each] in _STEPS)


class _Accesses:
    """How far the places of reads and writes step.

    known: words that are numbers.
    """

    def __init__(self, loop: IndexedLoop, layout: _Layout, known: Mapping[str, int]) -> None:
        self.loop, self.layout = loop, layout
        self.program = specialised(_program(loop, layout), known)
        self._along: dict[str, dict[str, Step | None]] = {}
        self._repeated: dict[str, frozenset[str]] = {}
        self._in_rows: dict[tuple[str, str, str], bool] = {}

    def along(self, index: str) -> dict[str, Step | None]:
        """How far values step along an index."""
        if index not in self._along:
            self._along[index] = steps_along(self.program.body, index)
        return self._along[index]

    def repeated(self, lane: str) -> frozenset[str]:
        """The indices along which places are the same that step unevenly along the lane."""
        if lane not in self._repeated:
            indices = _indices(self.layout.leading, self.loop)
            self._repeated[lane] = frozenset(
                each for each in indices if each != lane and is_repeated(self.program, lane, each)
            )
        return self._repeated[lane]

    def in_rows(self, row: str, lane: str, repeated: str) -> bool:
        """See ``place_schedules.is_in_rows``."""
        key = row, lane, repeated
        if key not in self._in_rows:
            self._in_rows[key] = is_in_rows(self.program, *key)
        return self._in_rows[key]

    def steps(self, k: int, index: str) -> list[Step | None]:
        """Of an access, reads before writes, in each dimension."""
        return [self.along(index)[f"p{k}_{d}"] for d in range((*self.loop.reads, *self.loop.writes)[k].dims)]

    def is_even(self, k: int, index: str) -> bool:
        """Whether places step evenly, within limits that are the same."""
        dims = range((*self.loop.reads, *self.loop.writes)[k].dims)
        limits = [self.along(index).get(f"limit{k}_{d}", STILL) for d in dims]
        return None not in self.steps(k, index) and all(each == STILL for each in limits)

    def skips_unevenly(self, lane: str) -> bool:
        """Whether each point has turns of its own that are skipped: windows that share a dimension are not equally
        long.
        """
        reads = [k for k, each in enumerate(self.loop.reads) if each.margin == SKIP]
        return bool(self.loop.fold) and any(not self.is_even(k, lane) for k in reads)

    def runs_along_turns(self, lane: str) -> bool:
        """Whether the innermost loop goes along what is folded last rather than along the lane."""
        loop, layout = self.loop, self.layout
        if not loop.over or not (loop.fold or loop.writes):
            return False
        last = f"j{loop.over - 1}"
        found = False
        for k, access in enumerate((*loop.reads, *loop.writes)):
            if access.margin is not None and (access.margin != SKIP or not self.is_even(k, last)):
                return False
            is_written = k >= len(loop.reads)
            side = (layout.outputs[-1] if is_written else layout.arrays[access.array])[1] - layout.leading
            if 0 <= side < access.dims and is_written == bool(loop.writes):
                found |= self.steps(k, last)[side] == Step(1)
                if self.steps(k, lane)[side] == Step(1):
                    return False
        return found


@functools.lru_cache(maxsize=4096)
def _accesses(loop: IndexedLoop, layout: _Layout, known: tuple[tuple[str, int], ...]) -> _Accesses:
    return _Accesses(loop, layout, dict(known))


def own_units(loop: IndexedLoop, leading: int) -> tuple[int, ...]:
    """The dimensions that every write passes on, so that different ones write different places."""
    found = [d for d in range(leading) if all(each.leads for each in loop.writes)]
    for index in range(loop.at):
        places = [[d for d in range(each.dims) if loop.graph.results[each.first + d] == index] for each in loop.writes]
        if all(places) and len({each[0] for each in places}) == 1:
            found.append(leading + index)
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------------- text


def scheduled(form: _Form) -> Program:
    """The loops of a form."""
    program = specialised(_program(form.loop, form.layout), dict(form.known))
    if form.loop.writes and form.repeated:
        return place_schedules.adding_in_stages(program, form.units, form.lane, form.repeated, form.tile)
    if form.loop.writes:
        return place_schedules.adding(program, form.units, form.lane)
    if form.repeated:
        return place_schedules.staging(program, form.units, form.lane, form.repeated, form.tile, in_rows=form.in_rows)
    if form.loop.fold:
        return place_schedules.folding(program, form.units, form.lane, form.tile, inwards=form.inwards)
    return place_schedules.storing(program, form.units, form.lane, form.tile)


@functools.lru_cache(maxsize=4096)
def _code(form: _Form) -> engine.Code:
    def text() -> str:
        from opdsl.backends.cpu.places_text import module_ir

        return module_ir(scheduled(form), _words(form), SYMBOL)

    return engine.compile_ir(str(form), text, [SYMBOL])
