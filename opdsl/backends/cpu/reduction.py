"""Reduction kernels: compile the graphs of a reduction for a call, and plan the call as a built-in function.

Several accumulators are updated side by side. Across: the lanes are neighboring results. Along: the lanes divide the
elements of one result, and are combined at the end. A few large reductions are cut into chunks for threads, whose
partial results are then reduced.

How elements are grouped depends only on sizes and strides: the same call gives the same bits with any number of
threads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opdsl.backends.cpu import builtin, engine, native
from opdsl.backends.cpu.along import SYMBOL, walk_words
from opdsl.backends.cpu.builtin import Kernel, Table, Work, header_of
from opdsl.backends.cpu.cost import grain_of, graph_cost, is_costly
from opdsl.backends.cpu.forms import ANY, STEPS, STRIDED, letter, operands
from opdsl.backends.cpu.loops import LANES
from opdsl.backends.cpu.operands import Operand, constants
from opdsl.backends.cpu.pointwise import number_input, planned_outputs
from opdsl.kernels.calls import Folding, OperandSpec, ReductionCall
from opdsl.kernels.loops.distribution import Folds
from opdsl.kernels.loops.making import identity
from opdsl.runtime.dtype import to_dtype
from opdsl.runtime.symbol import is_symbol, largest, smallest
from opdsl.scalar.builder import GraphBuilder

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

# The iterations of a lane that form a block, and the blocks that form a larger block.
_BLOCK, _BLOCKS = 128, 16

# Unrolling factors of a lane's iterations: for many iterations, few, and costly functions; the grouping of chunks.
_STEPS_OF_MANY, _STEPS_OF_FEW, _COSTLY_STEPS = (8, 1), (8, 2, 1), (4, 1)
_CHUNKS = Folds((), (4, 1))

# Strided elements with fewer bytes are copied to contiguous memory even for cheap functions.
_NARROW = 4


class Way(NamedTuple):
    """Order in which a reduction processes its elements.

    is_along: whether lanes divide the elements of one result.
    lanes: how many there are.
    folds: how each lane groups its elements.
    """

    is_along: bool
    lanes: int
    folds: Folds


_LANES_ACROSS, _LANES_ALONG, _LANES_IN_ORDER = 1024, LANES, 8

# The fewest neighboring kept elements, or reduced elements in a row, that fill lanes.
_FEWEST_ACROSS = 8
_FEWEST_ALONG = 16
# The same for several accumulators or a costly combination: at the end, lanes of one result are combined one by one.
_FEWEST_ALONG_OF_MANY = 64

# The number of elements that is worth a chunk, and the number of tasks that is enough without chunks.
_CHUNK = 1 << 16
_ENOUGH_TASKS = 32

# Bytes of a partial accumulator; those of one result are next to each other.
_RECORD = 16


class FoldForm(NamedTuple):
    """Key by which a reduction kernel is compiled, besides its graphs.

    inputs: arrays.
    outputs: the results.
    layout: the stride class of each operand from lane to lane.
    ranges: the number of reduced dimensions.
    way: the order in which elements are processed.
    chunked: the reduced dimension that is cut into chunks, or None.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    layout: str
    ranges: int
    way: Way
    chunked: int | None = None


def reduction(folding: Folding, call: ReductionCall) -> Kernel:
    """Compile the kernel of a reduction for a call's dtypes and layout, or find it, and plan the call.

    Args:
        folding: the monoid.
        call: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the inputs, the numbers and the given outputs, which returns the output or, of several, a
        tuple.
    """
    call = _with_dimensions(call)
    numbers = [str(kind) for _, kind in folding.finish.parameters[len(folding.init) + 1 :]]
    plan = _Plan(folding, call, len(numbers))
    work = plan.chunked() if plan.has_chunks() else plan.whole()
    inputs = [*([builtin.ARRAY] * len(call.inputs)), *map(number_input, numbers)]
    return builtin.builtin(f"{folding.combine.name}_cpu", work, inputs, planned_outputs(call), plan.codes)


def _with_dimensions(call: ReductionCall) -> ReductionCall:
    """Return a call with at least one kept and one reduced dimension, adding dimensions of size 1."""
    kept, reduced = call.kept or (1,), call.reduced or (1,)
    more = (0,) * (len(kept) - len(call.kept)), (0,) * (len(reduced) - len(call.reduced))
    return call._replace(
        kept=kept,
        reduced=reduced,
        inputs=tuple(input._replace(strides=(*more[0], *(input.strides or ()), *more[1])) for input in call.inputs),
        outputs=tuple(output._replace(strides=(*more[0], *(output.strides or ()))) for output in call.outputs),
    )


def way_of(folding: Folding, call: ReductionCall) -> Way:
    """Return the order in which a call processes its elements."""
    row = call.reduced[-1]
    lanes = _LANES_IN_ORDER if folding.in_order else _LANES_ALONG
    costs_much = is_costly(folding.lift) or is_costly(folding.combine)
    gathers = costs_much or len(folding.init) > 1
    is_along = _runs_along(call, _FEWEST_ALONG_OF_MANY if gathers else _FEWEST_ALONG)
    if is_along and folding.in_order:
        is_along = len(call.reduced) == 1 and bool(row >= lanes * lanes)
    lanes = lanes if is_along else _LANES_ACROSS
    is_long = row > _BLOCK * (lanes if is_along else 1)
    steps = _COSTLY_STEPS if costs_much else _STEPS_OF_MANY if is_long else _STEPS_OF_FEW
    blocks = (_BLOCK // steps[0], _BLOCKS) if is_long else ()
    gathers |= not is_along and any(input.dtype.itemsize < _NARROW for input in call.inputs)
    return Way(is_along, lanes, Folds(blocks, steps, (_BLOCK,) if len(call.reduced) > 1 else (), gathers))


def _runs_along(call: ReductionCall, fewest: int) -> bool:
    """Return whether lanes are better filled by the elements of one result than by several results.

    Args:
        call: the call.
        fewest: the fewest elements in a row that fill lanes.
    """
    kept = len(call.kept)
    if call.kept[-1] < _FEWEST_ACROSS:
        return True
    leading = max(call.inputs, key=lambda spec: sum(not _is_still(step) for step in spec.strides or ()))
    steps = leading.strides or ()
    if steps[kept - 1] == leading.dtype.itemsize or call.reduced[-1] < fewest:
        return False
    return bool(steps[-1] <= steps[kept - 1])


def _is_still(stride: int) -> bool:
    return not is_symbol(stride) and stride == 0


class _Plan:
    """Builder of the plan of one call.

    codes: the kernels that are compiled for it.
    points, count: the number of results, and of elements that are reduced into each.
    width: the number of results that lanes process together.
    """

    def __init__(self, folding: Folding, call: ReductionCall, numbers: int) -> None:
        self.folding, self.call, self.numbers = folding, call, numbers
        self.way = way_of(folding, call)
        self.form = form_of(folding, call, self.way)
        self.codes: list[engine.Code] = []
        self.points, self.count = math.prod(call.kept), math.prod(call.reduced)
        self.width = 1 if self.way.is_along else smallest(self.way.lanes, call.kept[-1])

    def has_chunks(self) -> bool:
        """Return whether reductions are cut into chunks, which pays for a few large ones."""
        lanes = 1 if self.way.is_along else self.way.lanes
        tiles = -(-self.call.kept[-1] // lanes) * math.prod(self.call.kept[:-1])
        return 0 < tiles < _ENOUGH_TASKS and self.width * self.count >= 2 * _CHUNK

    def whole(self) -> Work:
        """Return the work of a reduction that is not cut into chunks: one traversal of the results."""
        code = self.code(self.folding, self.form)
        details = walk_words(code, self.call.kept, self.call.reduced, self.strides(), self.words())
        return self.work("walk", self.points, details)

    def chunked(self) -> Work:
        """Return the work of a reduction in chunks: a traversal of all chunks, then one that reduces their partial
        results.

        After the operands the frame holds the address of the partial accumulators, and the number of a chunk.
        """
        kept, reduced, count = self.call.kept, self.call.reduced, len(self.folding.init)
        at, length = self.chunk()
        chunks = -(-reduced[at] // length)
        steps = tuple(_RECORD * count * math.prod(kept[d + 1 :]) for d in range(len(kept)))
        size, none = _RECORD * count * self.points, (0,) * len(reduced)
        strides = [(0, *stride) for stride in self.strides()]
        strides += [(size, *steps, *none), (1, *(0,) * len(kept), *none)]
        again = [(*stride[: len(kept)], 0) for stride in self.strides()]
        again.append((*steps, size))
        first, second = parts_of(self.folding, self.form, at)
        arguments = len(again) - 1
        partials = [(arguments, _RECORD * k) for k in range(count)]
        taken = [(k, 0) for k in range(arguments)]
        results = arguments - len(self.call.outputs)
        code = self.code(*second, [*partials, *taken[len(self.call.inputs) :]])
        later = walk_words(code, kept, (chunks,), again, [self.count])
        code = self.code(*first, [*taken[:results], *partials, (arguments + 1, 0)])
        words = [*self.words(), length]
        details = walk_words(code, (chunks, *kept), reduced, strides, words, [*header_of(self.points), *later])
        return self.work("walk_chunks", chunks * self.points, details, chunks * size, "walk_later")

    def chunk(self) -> tuple[int, int]:
        """Return the dimension that is cut into chunks, and the length of a chunk."""
        sizes = self.call.reduced
        at = 0 if self.folding.in_order or sizes[0] > sizes[-1] else len(sizes) - 1
        chunks = smallest(sizes[at], self.width * self.count // _CHUNK, 4 * _ENOUGH_TASKS)
        length = -(-sizes[at] // chunks)
        return at, -(-length // _BLOCK) * _BLOCK if at == len(sizes) - 1 else length

    def strides(self) -> list[tuple[int, ...]]:
        """Return the strides of inputs, numbers and outputs along the kept dimensions and the reduced ones."""
        none = (0,) * len(self.call.reduced)
        inputs = [input.strides or () for input in self.call.inputs]
        numbers = [((0,) * len(self.call.kept) + none)] * self.numbers
        return [*inputs, *numbers, *((*(output.strides or ()), *none) for output in self.call.outputs)]

    def words(self) -> list[int]:
        """Return the last words of a kernel: the factors of a linear index, and the number of reduced elements."""
        sizes = self.call.reduced
        has_factors = self.folding.with_index and len(sizes) > 1
        return [*([math.prod(sizes[k + 1 :]) for k in range(len(sizes))] if has_factors else []), self.count]

    def code(self, folding: Folding, form: FoldForm, places: Sequence[tuple[int, int]] = ()) -> int:
        """Compile a kernel, and return its address."""
        first = constants(folding.init, [str(kind) for kind in folding.combine.result_types])
        self.codes.append(fold_code(folding, first, form, tuple(places)))
        return self.codes[-1].address(SYMBOL)

    def work(self, loop: str, points: int, details: list[int | Table], scratch: int = 0, after: str = "") -> Work:
        """Return the work that runs the shared function ``loop``, divided among threads by its cost."""
        element = graph_cost(self.folding.lift) + graph_cost(self.folding.combine) - 1
        cost = largest(1, self.points * self.count * element)
        return Work(
            loop=native.entry(loop),
            elements=points,
            grain=grain_of(cost, points, self.width) if points > 1 else 0,
            unit=self.width,
            scratch=scratch,
            after=native.entry(after) if after else 0,
            details=details,
        )


def form_of(folding: Folding, call: ReductionCall, way: Way) -> FoldForm:
    """Return the form of a call, the key by which its kernel is compiled."""
    taken, result_types = [kind for _, kind in folding.lift.parameters], folding.finish.result_types
    lane = -1 if way.is_along else len(call.kept) - 1
    layout = "".join(letter(input, lane) for input in call.inputs)
    layout += "".join(STRIDED if way.is_along else letter(output) for output in call.outputs)
    inputs = operands(call.inputs, taken[: len(call.inputs)])
    return FoldForm(inputs, operands(call.outputs, result_types), layout, len(call.reduced), way)


def parts_of(folding: Folding, form: FoldForm, at: int) -> tuple[tuple[Folding, FoldForm], tuple[Folding, FoldForm]]:
    """Return the reduction of chunks into accumulators, and the reduction of these, each with its form."""
    kinds = folding.combine.result_types
    partial = tuple(Operand(kind.value, kind.value) for kind in kinds)
    apart = STRIDED * len(kinds)
    first = folding._replace(finish=_accumulated(folding.finish, len(kinds)))
    second = folding._replace(lift=identity(kinds), with_index=False, lifted_numbers=())
    inputs, outputs = form.layout[: len(form.inputs)], form.layout[len(form.inputs) :]
    return (
        (first, form._replace(outputs=partial, layout=inputs + apart, chunked=at)),
        (
            second,
            form._replace(inputs=partial, layout=apart + outputs, ranges=1, way=Way(False, _LANES_ACROSS, _CHUNKS)),
        ),
    )


@functools.lru_cache(maxsize=1024)
def _accumulated(finish: TypedGraph, count: int) -> TypedGraph:
    """Return a graph with the parameters of ``finish`` that returns the accumulators unchanged."""
    builder = GraphBuilder()
    parameters = [builder.parameter(name, kind) for name, kind in finish.parameters]
    return builder.finish("accumulated", parameters[:count])


@functools.lru_cache(maxsize=4096)
def fold_code(
    folding: Folding, first: tuple[str, ...], form: FoldForm, places: tuple[tuple[int, int], ...]
) -> engine.Code:
    """Compile the kernel of a form.

    Args:
        folding: the monoid.
        first: the initial accumulators as text, which distinguishes -0.0 from 0.0.
        form: of the call.
        places: the operand and offset of each argument; empty if each argument is a separate operand.
    """

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.backends.cpu.statement_text import Place
        from opdsl.kernels.loops import distribution, schedules
        from opdsl.kernels.loops import folding as loops_of

        loops = loops_of.reduction(folding, call_of(form))
        if form.chunked is not None:
            loops = schedules.chunked(loops, form.chunked, ANY)
        schedule = distribution.along if form.way.is_along else distribution.across
        program = schedule(loops.program, form.way.lanes, form.way.folds)
        return module_ir(loops.scheduled(program), SYMBOL, [Place(*place) for place in places])

    graphs = " ".join(graph.fingerprint for graph in (folding.lift, folding.combine, folding.finish))
    options = f"{folding.with_index} {folding.in_order} {folding.lifted_numbers}"
    title = f"reduction {folding.combine.name}"
    return engine.compile_ir(f"reduction {graphs} {options} {first} {form} {places}", text, [SYMBOL], title=title)


def call_of(form: FoldForm) -> ReductionCall:
    """Return a representative call of a form, with placeholder sizes, from which the loops are built."""
    lane = form.ranges if form.way.is_along else 0

    def spec(operand: Operand, letter: str, depth: int) -> OperandSpec:
        dtype = to_dtype(operand.dtype)
        steps = [ANY] * depth
        steps[lane if depth > 1 else 0] = STEPS.get(letter, ANY)
        return OperandSpec(dtype, tuple(step * dtype.itemsize for step in steps))

    count = len(form.inputs)
    inputs = tuple(map(spec, form.inputs, form.layout, [1 + form.ranges] * count))
    outputs = tuple(map(spec, form.outputs, form.layout[count:], [1] * len(form.outputs)))
    return ReductionCall((ANY,), (ANY,) * form.ranges, inputs, outputs, (None,) * len(outputs))
