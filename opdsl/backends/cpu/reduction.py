"""Kernels with one fold: compiles one for a call, and plans the call as a built-in function.

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
from opdsl.backends.cpu.forms import ANY, NUMBER, SINGLE, STEPS, STRIDED, letter
from opdsl.backends.cpu.loops import LANES
from opdsl.backends.cpu.operands import Operand
from opdsl.backends.cpu.pointwise import operands_of, planned_outputs, signature_of
from opdsl.kernels.building import KernelBuilder
from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.copying import Copier
from opdsl.kernels.kernel import Count, Fold, Part
from opdsl.kernels.loops.distribution import Folds
from opdsl.kernels.loops.lowering import extra_words, lowered
from opdsl.kernels.loops.making import part_of
from opdsl.runtime.dtype import to_dtype
from opdsl.runtime.symbol import is_symbol, largest, smallest

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel as Computation
    from opdsl.kernels.kernel import Source
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
    """Key by which a reduction kernel is compiled, besides the computation.

    inputs: arrays and numbers.
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


def reduction(kernel: Computation, layout: Layout) -> Kernel:
    """Compile a kernel with one fold for a call's dtypes and layout, or find it, and plan the call.

    Args:
        kernel: the computation.
        layout: the dtypes, sizes and strides of the operands.

    Returns:
        A built-in function of the inputs, the numbers and the given outputs, which returns the output or, of several, a
        tuple.
    """
    plan = _Plan(kernel, _with_dimensions(kernel, layout))
    work = plan.chunked() if plan.has_chunks() else plan.whole()
    inputs = signature_of(kernel).inputs
    return builtin.builtin(f"{kernel.name}_cpu", work, inputs, planned_outputs(layout), plan.codes)


def _with_dimensions(kernel: Computation, layout: Layout) -> Layout:
    """Return a layout with at least one kept and one reduced dimension, adding dimensions of size 1."""
    kept, reduced = layout.sizes
    points, turns = kernel.ranges
    more = (0,) * (not kept), (0,) * (not reduced)
    inputs = tuple(
        spec
        if spec.strides is None
        else spec._replace(
            strides=(
                *(more[0] if points.name in operand.ranges else ()),
                *spec.strides,
                *(more[1] if turns.name in operand.ranges else ()),
            )
        )
        for operand, spec in zip(kernel.operands, layout.inputs, strict=False)
    )
    outputs = tuple(output._replace(strides=(*more[0], *(output.strides or ()))) for output in layout.outputs)
    return layout._replace(sizes=(kept or (1,), reduced or (1,)), inputs=inputs, outputs=outputs)


def _fold_of(kernel: Computation) -> Fold:
    (fold,) = kernel.loops
    assert isinstance(fold, Fold), "a reduction folds"
    return fold


@functools.lru_cache(maxsize=4096)
def _lift_of(kernel: Computation) -> TypedGraph:
    """Return the graph that computes the accumulators of an iteration."""
    return part_of(kernel.graph, tuple(kernel.graph.results[at] for at in _fold_of(kernel).values))[0]


def way_of(kernel: Computation, layout: Layout) -> Way:
    """Return the order in which a call processes its elements."""
    fold, (_, reduced) = _fold_of(kernel), layout.sizes
    row = reduced[-1]
    lanes = _LANES_IN_ORDER if fold.in_order else _LANES_ALONG
    costs_much = is_costly(_lift_of(kernel)) or is_costly(fold.combine)
    gathers = costs_much or len(fold.init) > 1
    is_along = _runs_along(layout, _FEWEST_ALONG_OF_MANY if gathers else _FEWEST_ALONG)
    if is_along and fold.in_order:
        is_along = len(reduced) == 1 and bool(row >= lanes * lanes)
    lanes = lanes if is_along else _LANES_ACROSS
    is_long = row > _BLOCK * (lanes if is_along else 1)
    steps = _COSTLY_STEPS if costs_much else _STEPS_OF_MANY if is_long else _STEPS_OF_FEW
    blocks = (_BLOCK // steps[0], _BLOCKS) if is_long else ()
    gathers |= not is_along and any(spec.dtype.itemsize < _NARROW for spec in layout.inputs if spec.strides is not None)
    return Way(is_along, lanes, Folds(blocks, steps, (_BLOCK,) if len(reduced) > 1 else (), gathers))


def _runs_along(layout: Layout, fewest: int) -> bool:
    """Return whether lanes are better filled by the elements of one result than by several results.

    Args:
        layout: of the call.
        fewest: the fewest elements in a row that fill lanes.
    """
    sizes, reduced = layout.sizes
    kept = len(sizes)
    if sizes[-1] < _FEWEST_ACROSS:
        return True
    whole = [spec for spec in layout.inputs if spec.strides is not None and len(spec.strides) > kept]
    leading = max(whole, key=lambda spec: sum(not _is_still(step) for step in spec.strides or ()))
    steps = leading.strides or ()
    if steps[kept - 1] == leading.dtype.itemsize or reduced[-1] < fewest:
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

    def __init__(self, kernel: Computation, layout: Layout) -> None:
        self.kernel, self.layout, self.fold = kernel, layout, _fold_of(kernel)
        self.kept, self.reduced = layout.sizes
        self.way = way_of(kernel, layout)
        self.form = form_of(kernel, layout, self.way)
        self.codes: list[engine.Code] = []
        self.points, self.count = math.prod(self.kept), math.prod(self.reduced)
        self.width = 1 if self.way.is_along else smallest(self.way.lanes, self.kept[-1])

    def has_chunks(self) -> bool:
        """Return whether reductions are cut into chunks, which pays for a few large ones."""
        lanes = 1 if self.way.is_along else self.way.lanes
        tiles = -(-self.kept[-1] // lanes) * math.prod(self.kept[:-1])
        return 0 < tiles < _ENOUGH_TASKS and self.width * self.count >= 2 * _CHUNK

    def whole(self) -> Work:
        """Return the work of a reduction that is not cut into chunks: one traversal of the results."""
        code = self.code(self.kernel, self.form)
        more = extra_words(self.kernel, self.layout)
        details = walk_words(code, self.kept, self.reduced, self.strides(), more)
        return self.work("walk", self.points, details)

    def chunked(self) -> Work:
        """Return the work of a reduction in chunks: a traversal of all chunks, then one that reduces their partial
        results.

        After the operands the frame holds the address of the partial accumulators, and the number of a chunk.
        """
        kept, reduced, count = self.kept, self.reduced, len(self.fold.init)
        at, length = self.chunk()
        chunks = -(-reduced[at] // length)
        steps = tuple(_RECORD * count * math.prod(kept[d + 1 :]) for d in range(len(kept)))
        size, none = _RECORD * count * self.points, (0,) * len(reduced)
        strides = [(0, *stride) for stride in self.strides()]
        strides += [(size, *steps, *none), (1, *(0,) * len(kept), *none)]
        again = [(*stride[: len(kept)], 0) for stride in self.strides()]
        again.append((*steps, size))
        first, second = in_chunks(self.kernel)
        forms = forms_of_chunks(self.form, first, second, at)
        arguments = len(again) - 1
        slots = {operand.name: (k, 0) for k, operand in enumerate(self.kernel.operands)}
        slots |= {f"partial{k}": (arguments, _RECORD * k) for k in range(count)}
        code = self.code(second, forms[1], [slots[operand.name] for operand in second.operands])
        later = walk_words(code, kept, (chunks,), again, [*self.layout.words, self.count])
        code = self.code(first, forms[0], [*(slots[operand.name] for operand in first.operands), (arguments + 1, 0)])
        words_of_all = dict(zip(self.kernel.words, self.layout.words, strict=True))
        own = self.layout._replace(words=tuple(words_of_all[name] for name in first.words))
        words = [*extra_words(first, own), length]
        details = walk_words(code, (chunks, *kept), reduced, strides, words, [*header_of(self.points), *later])
        return self.work("walk_chunks", chunks * self.points, details, chunks * size, "walk_later")

    def chunk(self) -> tuple[int, int]:
        """Return the dimension that is cut into chunks, and the length of a chunk."""
        sizes = self.reduced
        at = 0 if self.fold.in_order or sizes[0] > sizes[-1] else len(sizes) - 1
        chunks = smallest(sizes[at], self.width * self.count // _CHUNK, 4 * _ENOUGH_TASKS)
        length = -(-sizes[at] // chunks)
        return at, -(-length // _BLOCK) * _BLOCK if at == len(sizes) - 1 else length

    def strides(self) -> list[tuple[int, ...]]:
        """Return the strides of all operands along the kept dimensions and the reduced ones."""
        strides = []
        for operand, spec in zip(self.kernel.operands, (*self.layout.inputs, *self.layout.outputs), strict=True):
            steps, own = iter(spec.strides or ()), []
            for axis, sizes in zip(self.kernel.ranges, (self.kept, self.reduced), strict=True):
                own += [next(steps) if axis.name in operand.ranges else 0 for _ in sizes]
            strides.append(tuple(own))
        return strides

    def code(self, kernel: Computation, form: FoldForm, places: Sequence[tuple[int, int]] = ()) -> int:
        """Compile a kernel, and return its address."""
        self.codes.append(fold_code(kernel, form, tuple(places)))
        return self.codes[-1].address(SYMBOL)

    def work(self, loop: str, points: int, details: list[int | Table], scratch: int = 0, after: str = "") -> Work:
        """Return the work that runs the shared function ``loop``, divided among threads by its cost."""
        element = graph_cost(_lift_of(self.kernel)) + graph_cost(self.fold.combine) - 1
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


def form_of(kernel: Computation, layout: Layout, way: Way) -> FoldForm:
    """Return the form of a call, the key by which its kernel is compiled."""
    kept, reduced = layout.sizes
    points, turns = kernel.ranges
    letters = []
    for operand, spec in zip(kernel.operands, (*layout.inputs, *layout.outputs), strict=True):
        name, sizes = (turns.name, reduced) if way.is_along else (points.name, kept)
        after = len(reduced) if turns.name in operand.ranges and not way.is_along else 0
        if way.is_along and operand.name in kernel.outputs:
            letters.append(STRIDED)
        elif name in operand.ranges and sizes:
            letters.append(letter(spec, -1 - after))
        else:
            letters.append(_letter_of_same(spec))
    return FoldForm(*operands_of(signature_of(kernel), layout), "".join(letters), len(reduced), way)


def _letter_of_same(spec: OperandSpec) -> str:
    """Return the stride class of an operand that is the same for all lanes."""
    return NUMBER if spec.strides is None else SINGLE


@functools.lru_cache(maxsize=1024)
def in_chunks(kernel: Computation) -> tuple[Computation, Computation]:
    """Return the kernel that folds chunks into accumulators, which it writes, and the kernel that folds these."""
    fold, types, (points, turns) = _fold_of(kernel), _fold_of(kernel).combine.result_types, kernel.ranges
    names = [f"partial{k}" for k in range(len(types))]
    inputs = [operand for operand in kernel.operands if operand.name not in kernel.outputs]
    builder = KernelBuilder(kernel.name, kernel.ranges)
    copier = Copier(kernel, builder)
    copier.declare(inputs)
    for name, value in zip(names, copier.parts(0), strict=True):
        builder.write(builder.array(name, (points,)), value)
    first = builder.finish()
    builder = KernelBuilder(kernel.name, kernel.ranges)
    parts = [builder.read(builder.array(name, (points, turns)), kind) for name, kind in zip(names, types, strict=True)]
    folded = builder.fold((turns,), parts, fold.init, fold.combine, in_order=fold.in_order, of_some=fold.of_some)
    known: dict[Source, int] = {Part(0, k): value for k, value in enumerate(folded)}
    for name in kernel.words:
        builder.word(name)
    copier = Copier(kernel, builder, {**known, Count(turns.name): builder.word("elements")})
    copier.declare([operand for operand in inputs if operand.name in kernel.numbers])
    for k, write in enumerate(kernel.writes):
        copier.declare([kernel.operand(write.operand)])
        copier.write(k)
    return first, builder.finish()


def forms_of_chunks(form: FoldForm, first: Computation, second: Computation, at: int) -> tuple[FoldForm, FoldForm]:
    """Return the forms of the kernels of ``in_chunks``; ``at`` is the dimension that is cut into chunks."""
    partial = tuple(Operand(kind.value, kind.value) for kind in _fold_of(first).combine.result_types)
    apart = STRIDED * len(partial)
    numbers = [operand for operand in form.inputs if operand.is_number]
    read, written = form.layout[: len(form.inputs)], form.layout[len(form.inputs) :]
    return (
        form._replace(outputs=partial, layout=read + apart, chunked=at),
        form._replace(
            inputs=(*partial, *numbers),
            layout=apart + NUMBER * len(numbers) + written,
            ranges=1,
            way=Way(False, _LANES_ACROSS, _CHUNKS),
        ),
    )


@functools.lru_cache(maxsize=4096)
def fold_code(kernel: Computation, form: FoldForm, places: tuple[tuple[int, int], ...]) -> engine.Code:
    """Compile the kernel of a form.

    Args:
        kernel: the computation.
        form: of the call.
        places: the operand and offset of each argument; empty if each argument is a separate operand.
    """

    def text() -> str:
        from opdsl.backends.cpu.loop_text import module_ir
        from opdsl.backends.cpu.statement_text import Place
        from opdsl.kernels.loops import distribution, schedules

        loops = lowered(kernel, layout_of(kernel, form))
        if form.chunked is not None:
            loops = schedules.chunked(loops, form.chunked, ANY)
        schedule = distribution.along if form.way.is_along else distribution.across
        program = schedule(loops.program, form.way.lanes, form.way.folds)
        return module_ir(loops.scheduled(program), SYMBOL, [Place(*place) for place in places])

    title = f"reduction {kernel.name}"
    return engine.compile_ir(f"reduction {kernel.fingerprint} {form} {places}", text, [SYMBOL], title=title)


def layout_of(kernel: Computation, form: FoldForm) -> Layout:
    """Return a representative layout of a form, with placeholder sizes, from which the loops are built."""
    along, (points, turns) = form.way.is_along, kernel.ranges
    specs = []
    for operand, own, letter_ in zip(kernel.operands, (*form.inputs, *form.outputs), form.layout, strict=True):
        if own.is_number:
            specs.append(OperandSpec(to_dtype(own.value), None))
            continue
        steps = [ANY] * ((points.name in operand.ranges) + form.ranges * (turns.name in operand.ranges))
        if (turns if along else points).name in operand.ranges:
            steps[-1 if along else 0] = STEPS.get(letter_, ANY)
        specs.append(OperandSpec(to_dtype(own.dtype), tuple(step * to_dtype(own.dtype).itemsize for step in steps)))
    count = len(form.inputs)
    sizes, words = ((ANY,), (ANY,) * form.ranges), (ANY,) * len(kernel.words)
    return Layout(sizes, tuple(specs[:count]), tuple(specs[count:]), (None,) * len(form.outputs), (), words)
