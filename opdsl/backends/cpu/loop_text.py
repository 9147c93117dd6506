"""Printer of loop IR programs as LLVM IR: kernels ``void (operands, count, strides)``, which ``walk`` calls.

The outermost loop has ``count`` iterations. The array ``strides`` holds the strides of all operands in bytes, then, for
each further dimension, its size and the strides along it, and at last other words of the program.
Loops whose iterations are independent of each other are marked so, and LLVM vectorizes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.cost import is_costly
from opdsl.backends.cpu.loops import (
    ACCESS,
    ATTRIBUTES,
    FILLED,
    GUARDED,
    LANES,
    MASKED,
    METADATA,
    PARALLEL,
    UNROLLED,
    WHOLE,
    Loop,
    smaller,
)
from opdsl.backends.cpu.operands import constant
from opdsl.backends.cpu.printer import declarations, function_ir, vectorises
from opdsl.backends.cpu.statement_text import COUNT, Place, StatementText
from opdsl.backends.cpu.storage import DECLARATIONS, MEMORY, PART, REGISTER
from opdsl.backends.cpu.stretches import Stretches, variants_of
from opdsl.kernels.loops.making import Given, Loops, is_pairwise
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fetch,
    Fold,
    For,
    Inside,
    Load,
    Local,
    Offset,
    Parts,
    Program,
    Scan,
    Size,
    Statement,
    Store,
    Update,
    When,
    blocks_of,
    graphs_of,
)
from opdsl.kernels.loops.text import program_text
from opdsl.runtime.dumping import dump
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import FLOAT, ScalarType

__all__ = ["LoopText", "module_ir"]

# The iterations of a block of a reduction, which has its own accumulators.
_BLOCK = 4096

# The most bytes that are prefetched, and the bytes of a cache line.
_FETCHED = 8192
_LINE = 64

# The element size in bytes that is assumed for the number of iterations that fill a vector.
_ITEMSIZE = 4

_COMPARISONS = {"maximum": "max", "minimum": "min"}
_INSTRUCTIONS = {"add": "add", "multiply": "mul", "bitwise_or": "or", "bitwise_and": "and"}
# The type suffixes of LLVM's overloaded intrinsics that differ from the type's name.
_OVERLOADS = {"float": "f32", "double": "f64"}


def module_ir(loops: Loops, symbol: str, places: Sequence[Place] | None = None) -> str:
    """Return the LLVM module of a kernel for a loop IR program.

    Args:
        loops: the program, and the operands to which its parameters and words belong.
        symbol: the name of the kernel.
        places: the operand and offset of each argument; by default each argument is a separate operand.
    """
    program = loops.program
    dump(program.name, ".loops", lambda: program_text(program))
    places = places or [Place(k) for k in range(len(loops.arguments))]
    words = zip(program.words, loops.words, strict=False)
    texts = {word.argument: name for name, word in words if isinstance(word, Given)}
    names = [texts[k] if at is None else program.parameters[at].name for k, at in enumerate(loops.arguments)]
    operands = dict(zip(names, places, strict=True))
    printer = LoopText(program, symbol, operands, _table(program, operands))
    printer.print()
    functions = [function_ir(graph, name) for graph, name in printer.functions.items()] + [*printer.variants]
    declared = {line for graph in printer.functions for line in declarations(graph)} | printer.declared
    return "\n".join([*functions, str(printer.text), *sorted({*declared, *DECLARATIONS}), ATTRIBUTES, METADATA])


def _table(program: Program, operands: Mapping[str, Place]) -> dict[str, int]:
    """Return the index in ``strides`` of each word that is not an argument."""
    count = 1 + max((operand.operand for operand in operands.values()), default=-1)
    arrays = [parameter for parameter in program.parameters if isinstance(parameter, Array)]
    table: dict[Size, int] = {}
    for array in arrays:
        for dim, (size, stride) in enumerate(zip(array.sizes, array.strides, strict=True)):
            first = dim * (count + 1)
            table |= {size: first - 1 if dim else COUNT, stride: first + operands[array.name].operand}
    end = max((len(parameter.sizes) for parameter in arrays), default=0) * (count + 1) - 1
    others = [word for word in program.words if word not in table and word not in operands]
    table |= {word: end + k for k, word in enumerate(others)}
    return {word: table[word] for word in program.words if word not in operands}


class LoopText(StatementText):
    """Printer of one loop IR program as a kernel for ``walk``.

    variants: text of functions that compute its graphs in other ways, as an ordered set.
    """

    def __init__(self, program: Program, symbol: str, operands: Mapping[str, Place], table: Mapping[str, int]) -> None:
        super().__init__(program, symbol, operands, table)
        self.is_costly = any(map(is_costly, self.functions))
        self.vectorises = all(map(vectorises, self.functions))
        self.variants: dict[str, None] = {}

    def print(self) -> None:
        """Emit the whole kernel."""
        self.block(self.program.body)
        self.text.line("  ret void\n}")
        self.text.lines[self.begin] = "\n".join(self.rooms)

    def block(self, statements: Sequence[Statement]) -> None:
        """Emit statements in order."""
        for statement in statements:
            match statement:
                case Load():
                    self.load(statement, ACCESS)
                case Store():
                    self.store(statement)
                case Compute():
                    texts = [self.known(statement.arguments, lane) for lane in self.lanes]
                    self.compute(statement.graph, texts, statement.names)
                case For():
                    self.loop(statement)
                case Fold():
                    self.fold(statement)
                case Scan():
                    self.scan(statement)
                case Fetch():
                    self.fetch(statement)
                case Bound():
                    self.bound(statement)
                case Inside():
                    self.inside(statement)
                case Offset():
                    self.offset(statement)
                case When():
                    with self.within(()), self.when(self.condition(statement.condition, self.lanes[0])):
                        self.block(statement.body)
                case Update():
                    self.update(statement)
                case _:
                    assert isinstance(statement, Local), "no kernel here has other statements"

    def fetch(self, fetch: Fetch) -> None:
        """Emit prefetches of the row that the next iteration reads."""
        text = self.text
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        (lane,) = self.lanes
        index = fetch.index[fetch.index.index(fetch.ahead)]
        following = {**lane, fetch.along[0]: "0", str(index): text.value(f"add i64 {lane[str(index)]}, 1")}
        first = self.address(fetch.array, fetch.index, following)
        itemsize = MEMORY[self.arrays[fetch.array].dtype.name].itemsize
        size = text.value(f"mul i64 {self.size(fetch.along[1])}, {itemsize}")
        with Loop(text, self.fresh(), "0", smaller(text, size, str(_FETCHED)), _LINE) as line:
            address = text.value(f"getelementptr i8, ptr {first}, i64 {line.counter}")
            text.line(f"  call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    # --------------------------------------------------------------------------------------------------------- loops

    def loop(self, loop: For) -> None:
        """Emit a loop; if it has a vector size, several iterations are interleaved."""
        if loop.vector > 1:
            self.together(loop)
            return
        (begin,) = self.begins(loop.part)
        turns = self.turns(loop.size, loop.part, begin)
        kind = self.kind_of(loop)
        compute = next((inner for inner in loop.body if isinstance(inner, Compute) and self.has_variants(inner)), None)
        if kind == PARALLEL and compute is not None:
            variants = variants_of(compute.graph, self.functions[compute.graph])
            assert variants is not None, "it has some"
            self.variants[variants.text] = None
            Stretches(self, loop, compute, begin).print(turns, variants)
            return
        if kind == GUARDED:
            self.guarded(loop, begin, turns)
            return
        for extent, how in self.pieces(loop.body, ("0", turns), kind):
            with self.turns_of(loop, begin, extent, how):
                self.block(loop.body)

    def guarded(self, outer: For, begin: str, turns: str) -> None:
        """Emit a loop over full vectors that writes to thread-local arrays; lanes without an iteration leave them
        unchanged.

        Left to itself LLVM would use masked stores, which are slow, and would not keep the arrays in registers.
        """
        text, assigned = self.text, outer.part
        assert assigned is not None, "it is a part of all turns"
        left = text.value(f"trunc i64 {turns} to i32")
        with self.turns_of(outer, begin, ("0", self.size(assigned.turns)), GUARDED, turns) as loop:
            inside = text.value(f"icmp slt i32 {loop.turn}, {left}")
            for inner in outer.body:
                if isinstance(inner, Load) and inner.array not in self.near:
                    self.load_inside(inner, inside)
                elif isinstance(inner, Store):
                    self.store_inside(inner, inside)
                else:
                    self.block([inner])

    def pieces(
        self, body: Sequence[Statement], extent: tuple[str, str], kind: str
    ) -> list[tuple[tuple[str, str], str]]:
        """Split a loop with costly functions into full vectors and a masked remainder; return the extent and metadata
        of each piece.

        LLVM would compute the remainder one by one, which takes longer than all vectors of a short row.
        """
        if kind != PARALLEL or not self.is_costly:
            return [(extent, kind)]
        begin, end = extent
        turns = end if begin == "0" else self.text.value(f"sub i64 {end}, {begin}")
        whole = self.text.value(f"and i64 {turns}, {-engine.vector_bytes() // _ITEMSIZE}")
        between = whole if begin == "0" else self.text.value(f"add i64 {begin}, {whole}")
        kind = WHOLE if any(map(is_costly, graphs_of(tuple(body)))) else PARALLEL
        return [((begin, between), kind), ((between, end), MASKED)]

    def has_variants(self, compute: Compute) -> bool:
        """Return whether the graph of a statement can be computed in other ways."""
        return variants_of(compute.graph, self.functions[compute.graph]) is not None

    def kind_of(self, loop: For) -> str:
        """Return the loop metadata for LLVM.

        It is empty for loops around others. It forbids vectorization if iterations are in order or the loop only moves
        strided elements; otherwise it says that iterations are independent.
        """
        if any(blocks_of(inner) and not is_unrolled(inner) for inner in loop.body):
            return ""
        moves = [inner for inner in loop.body if isinstance(inner, (Load, Store))]
        bounds = [inner.name for inner in loop.body if isinstance(inner, Bound)]
        is_apart = len(moves) + len(bounds) == len(loop.body) and any(
            isinstance(stride, str) and index in (loop.index, *bounds)
            for inner in moves
            for index, stride in zip(inner.index, self.arrays[inner.array].strides, strict=True)
        )
        if loop.in_order or is_apart:
            return UNROLLED
        return self.kind_of_lanes(loop)

    def kind_of_lanes(self, loop: For) -> str:
        """Return the loop metadata for independent iterations, which says whether they fill vectors, or are masked, as
        the program says.
        """
        read = [self.arrays[load.array] for load in loads_of(loop.body)]
        if not read or any(isinstance(array.strides[-1], str) for array in read if array.strides):
            return PARALLEL
        if loop.part is not None and isinstance(loop.part.number, Parts):
            is_complex = any(load.type.value in PART for load in loads_of(loop.body))
            return GUARDED if self.vectorises and not is_complex else MASKED
        turns = loop.size if loop.part is None else loop.part.turns
        return FILLED.get(turns, PARALLEL) if self.vectorises and isinstance(turns, int) else PARALLEL

    def together(self, outer: For) -> None:
        """Emit a loop that takes several iterations at once, then a loop over the remaining iterations."""
        text, count = self.text, outer.vector
        size = self.size(outer.size)
        whole = text.value(f"sub i64 {size}, {text.value(f'urem i64 {size}, {count}')}")
        is_whole = isinstance(outer.size, int) and outer.size % count == 0
        for begin, end, lanes in (("0", whole, count), (whole, size, 1))[: 1 if is_whole else 2]:
            with self.looped(Loop(text, self.fresh(), begin, end, lanes), outer.body, outer.index) as loop:
                self.lanes = [dict(self.lanes[0]) for _ in range(lanes)]
                indices = [text.value(f"add i64 {loop.counter}, {lane}") for lane in range(lanes)]
                self.give(outer.index, ScalarType.INT64, indices)
                self.block(outer.body)

    # ------------------------------------------------------------------------------------------------ folds and scans

    def first(self, values: Sequence[Number | str], kinds: Sequence[ScalarType]) -> list[list[str]]:
        """Return the initial values of accumulators in each lane."""
        return [
            [
                lane[value] if isinstance(value, str) else constant(value, kind.value)
                for value, kind in zip(values, kinds, strict=True)
            ]
            for lane in self.lanes
        ]

    def fold(self, fold: Fold) -> None:
        """Emit a reduction, in blocks unless the order of its iterations matters."""
        if is_unrolled(fold):
            if self.is_of_a_vector(fold):
                self.vector_folded(fold)
            else:
                self.unrolled(fold)
            return
        ((index, size),) = fold.ranges
        kinds = fold.combine.result_types
        begins = self.begins(fold.part)
        turns = self.turns(size, fold.part, begins[0])
        first = self.first(fold.neutral, kinds)
        if fold.in_order:
            folded = self.folded(fold, index, begins, ("0", turns), first)
        else:
            with Loop(self.text, self.fresh(), "0", turns, _BLOCK) as block:
                totals = self.carried(block, kinds, first)
                far = self.text.value(f"add nuw nsw i64 {block.counter}, {_BLOCK}")
                extent = block.counter, smaller(self.text, far, turns)
                parts = self.folded(fold, index, begins, extent, first)
                block.hand_on(_flat(self.combined(fold, totals, parts)))
            folded = self.results(block, len(kinds))
        for k, (name, kind) in enumerate(zip(fold.names, kinds, strict=True)):
            self.give(name, kind, [values[k] for values in folded])

    def carried(self, loop: Loop, kinds: Sequence[ScalarType], first: Sequence[Sequence[str]]) -> list[list[str]]:
        """Add loop-carried values to a loop, for each lane."""
        return [[loop.carry(kind.value, value) for kind, value in zip(kinds, lane, strict=True)] for lane in first]

    def results(self, loop: Loop, count: int) -> list[list[str]]:
        """Return the final loop-carried values of a loop, for each lane."""
        return [loop.results[at : at + count] for at in range(0, len(loop.results), count)]

    def folded(
        self, fold: Fold, index: str, begins: Sequence[str], extent: tuple[str, str], first: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        """Emit the reduction of a range of iterations, and return the accumulators of each lane."""
        is_innermost = not any(blocks_of(inner) for inner in fold.body)
        kind = PARALLEL if is_innermost and not fold.in_order else ""
        folded = [list(texts) for texts in first]
        for piece, how in self.pieces(fold.body, extent, kind):
            with self.looped(Loop(self.text, self.fresh(), *piece, kind=how), fold.body, index) as loop:
                before = self.carried(loop, fold.combine.result_types, folded)
                self.indices(index, begins, [loop.counter] * len(begins))
                self.block(fold.body)
                values = [[lane[name] for name in fold.values] for lane in self.lanes]
                loop.hand_on(_flat(self.combined(fold, before, values)))
            folded = self.results(loop, len(fold.names))
        return folded

    def combined(self, fold: Fold, first: Sequence[Sequence[str]], later: Sequence[Sequence[str]]) -> list[list[str]]:
        """Emit the combination of two sets of accumulators, in each lane; LLVM may reorder it if the order does not
        matter.
        """
        kinds = [kind.value for kind in fold.combine.result_types]
        if not fold.in_order and is_pairwise(fold.combine):
            return [
                [self.reordered(*parts) for parts in zip(_operations(fold.combine), kinds, *pair, strict=True)]
                for pair in zip(first, later, strict=True)
            ]
        return self.called_on(fold, first, later)

    def called_on(self, fold: Fold, first: Sequence[Sequence[str]], later: Sequence[Sequence[str]]) -> list[list[str]]:
        """Emit the combination of two sets of accumulators, in each lane, as a call of the combining function."""
        kinds = [kind.value for kind in fold.combine.result_types]
        steps = [
            list(zip((*kinds, *kinds), (*one, *other), strict=True)) for one, other in zip(first, later, strict=True)
        ]
        return self.compute(fold.combine, steps, ())

    def is_of_a_vector(self, fold: Fold) -> bool:
        """Return whether a reduction covers whole arrays in thread-local memory, which LLVM reduces as one vector."""
        ((_, size),) = fold.ranges
        arrays = [self.arrays[load.array] for load in fold.body if isinstance(load, Load)]
        return (
            len(arrays) == len(fold.values) == len(fold.body)
            and is_pairwise(fold.combine)
            and all(array.name in self.near and array.sizes == (size,) for array in arrays)
        )

    def vector_folded(self, fold: Fold) -> None:
        """Emit a reduction of whole arrays in thread-local memory by LLVM's vector reductions."""
        ((_, size),) = fold.ranges
        for name, load, op in zip(fold.names, fold.body, _operations(fold.combine), strict=True):
            assert isinstance(load, Load), "a vector is loaded"
            register, is_float = REGISTER[load.type.value], load.type.category == FLOAT
            vector = f"<{size} x {register}>"
            symbol = f"{'f' * (is_float and op in _COMPARISONS)}{_operation(op, load.type)}.v{size}"
            symbol = f"@llvm.vector.reduce.{symbol}{_OVERLOADS.get(register, register)}"
            first = {"fadd": f"{register} -0.0, ", "fmul": f"{register} 1.0, "}.get(_operation(op, load.type), "")
            self.declared.add(f"declare {register} {symbol}({first and f'{register}, '}{vector})")
            value = self.text.value(f"load {vector}, ptr {self.bases[load.array]}")
            call = f"call {_flags(op, load.type)}{register} {symbol}({first}{vector} {value})"
            self.give(name, load.type, [self.text.value(call)])

    def unrolled(self, fold: Fold) -> None:
        """Emit a reduction of a few iterations without a loop, as a tree that combines neighbors."""
        ((index, count),) = fold.ranges
        texts = []
        for turn in range(int(self.size(count))):
            with self.within(fold.body, index):
                self.give(index, ScalarType.INT64, [str(turn)] * len(self.lanes))
                self.block(fold.body)
                texts.append([[lane[name] for name in fold.values] for lane in self.lanes])
        while len(texts) > 1:
            pairs = [self.called_on(fold, *texts[at : at + 2]) for at in range(0, len(texts) - 1, 2)]
            texts = pairs + texts[2 * len(pairs) :]
        for k, (name, kind) in enumerate(zip(fold.names, fold.combine.result_types, strict=True)):
            self.give(name, kind, [values[k] for values in texts[0]])

    def reordered(self, op: str, kind: str, first: str, second: str) -> str:
        """Emit the combination of two values by an operation that LLVM may reorder."""
        register, scalar = REGISTER[kind], ScalarType(kind)
        instruction, flags = _operation(op, scalar), _flags(op, scalar)
        if op not in _COMPARISONS:
            return self.text.value(f"{instruction} {flags}{register} {first}, {second}")
        symbol = f"@llvm.{instruction}.{_OVERLOADS.get(register, register)}"
        self.declared.add(f"declare {register} {symbol}({register}, {register})")
        return self.text.value(f"call {flags}{register} {symbol}({register} {first}, {register} {second})")

    def scan(self, scan: Scan) -> None:
        """Emit a scan, one iteration after another."""
        index, size = scan.range
        kinds = scan.step.result_types[: len(scan.names)]
        begins = self.begins(scan.part)
        turns = self.turns(size, scan.part, begins[0])
        first = self.first(scan.first, kinds)
        with self.looped(Loop(self.text, self.fresh(), "0", turns), scan.body, index) as loop:
            before = self.carried(loop, kinds, first)
            self.indices(index, begins, [self.turn(loop, turns, is_reverse=scan.is_reverse)] * len(begins))
            self.block(scan.body)
            operands = [
                [*zip((kind.value for kind in kinds), own, strict=True), *self.known(scan.values, lane)]
                for own, lane in zip(before, self.lanes, strict=True)
            ]
            texts = self.compute(scan.step, operands, (*scan.names, *scan.results))
            self.block(scan.after)
            loop.hand_on(_flat(values[: len(kinds)] for values in texts))


def is_unrolled(statement: Statement) -> bool:
    """Return whether a statement is a reduction with few, constant iterations, none of which are skipped."""
    return (
        isinstance(statement, Fold)
        and statement.part is None
        and len(statement.ranges) == 1
        and isinstance(statement.ranges[0][1], int)
        and 0 < statement.ranges[0][1] <= LANES
    )


def loads_of(body: Sequence[Statement]) -> Iterator[Load]:
    """Yield the loads among statements, also those nested in others."""
    for statement in body:
        if isinstance(statement, Load):
            yield statement
        for block in blocks_of(statement):
            yield from loads_of(block)


def _flat(lanes: Iterable[Sequence[str]]) -> list[str]:
    return [value for values in lanes for value in values]


def _operation(op: str, kind: ScalarType) -> str:
    """Return LLVM's instruction or intrinsic for an operation that ``is_pairwise`` accepts."""
    if op in _COMPARISONS:
        return op if kind.category == FLOAT else f"{'s' if kind.is_signed else 'u'}{_COMPARISONS[op]}"
    return f"{'f' * (kind.category == FLOAT)}{_INSTRUCTIONS[op]}"


def _flags(op: str, kind: ScalarType) -> str:
    """Return the fast-math flags by which LLVM may reorder an operation."""
    return "" if kind.category != FLOAT else "nsz " if op in _COMPARISONS else "reassoc "


def _operations(graph: TypedGraph) -> list[str]:
    return [graph.nodes[at].op for at in graph.results]
