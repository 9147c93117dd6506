"""Printer of indexed loops as LLVM IR: kernels ``void (frame, begin, end)`` for a range of points of the outermost
loops.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.loop_text import LoopText
from opdsl.backends.cpu.loops import METADATA, PARALLEL, SCALAR, SELDOM, WHOLE, Loop, call
from opdsl.backends.cpu.margin_text import DECLARATIONS as OF_MARGINS
from opdsl.backends.cpu.operands import Operand, constant, number, store_operand
from opdsl.backends.cpu.statement_text import Place
from opdsl.backends.cpu.storage import DECLARATIONS, REGISTER
from opdsl.kernels.loops.making import is_pairwise, part_of
from opdsl.kernels.loops.model import (
    Fold,
    For,
    Load,
    Local,
    Program,
    Scalar,
    Statement,
    Steps,
    Store,
    Update,
    blocks_of,
    statements_of,
)
from opdsl.kernels.loops.text import program_text
from opdsl.runtime.dumping import dump
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import FLOAT, ScalarType

__all__ = ["module_ir"]

_SLOTS, _SLOT_SIZE = 16, 16

# The most iterations for which a reduction is computed in order.
_FEW = 8

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'


def module_ir(program: Program, words: Sequence[str], symbol: str) -> str:
    """Return the LLVM module of a kernel for an indexed loop.

    Args:
        program: its points, which ``begin`` and ``end`` count, are those of its outermost loops.
        words: the names of the words after a plan's header, in order; strides are in bytes.
        symbol: the name of the kernel.
    """
    from opdsl.backends.cpu.printer import declarations, function_ir

    dump(program.name, ".loops", lambda: program_text(program))
    table = {word: builtin.HEADER + k for k, word in enumerate(words) if word in program.words}
    printer = PlacesText(program, symbol, {}, table)
    printer.print()
    graphs = printer.functions | printer.choices
    functions = [function_ir(graph, name) for graph, name in graphs.items()]
    declared = {line for graph in graphs for line in declarations(graph)}
    declared |= {*printer.declared, *DECLARATIONS, *OF_MARGINS}
    return "\n".join([*functions, str(printer.text), *sorted(declared), ATTRIBUTES, METADATA])


class PlacesText(LoopText):
    """Printer of one indexed loop as a kernel.

    choices: the names of functions that say which of two accumulators a fold keeps.
    """

    def head(self, symbol: str, operands: Mapping[str, Place], table: Mapping[str, int]) -> None:
        """See ``StatementText.head``."""
        text = self.text
        text.line(f"define void @{symbol}(ptr %frame, i64 %begin, i64 %end) #0 {{\nentry:")
        plan = text.value("load ptr, ptr %frame")
        strides = {stride for array in self.arrays.values() for stride in array.strides}
        # An opaque zero added to strides; else LLVM versions the loop for one-byte strides and vectorizes only that.
        zero = ""
        for word, place in table.items():
            value = text.value(f"load i64, ptr {text.value(f'getelementptr i64, ptr {plan}, i64 {place}')}")
            zero = zero or text.value(f"lshr i64 {value}, 63")
            value = text.value(f"add i64 {value}, {zero}") if word in strides else value
            self.give(word, ScalarType.INT64, [value])
        for k, parameter in enumerate(self.program.parameters):
            slot = text.value(f"getelementptr i8, ptr %frame, i64 {_SLOTS + _SLOT_SIZE * k}")
            if isinstance(parameter, Scalar):
                self.give(parameter.name, parameter.type, [number(text, parameter.type.value, slot)])
            else:
                self.bases[parameter.name] = text.value(f"load ptr, ptr {slot}")
        self.choices: dict[TypedGraph, str] = {}
        for load in statements_of(self.program.body):
            if isinstance(load, Load) and load.inside is not None:
                self.keep_outside(load)

    def keep_outside(self, load: Load) -> None:
        """Emit a stack slot that holds the out-of-bounds value of a guarded load, which is read in place of the
        element.
        """
        key = load.array, load.outside
        if key not in self.outside:
            address = self.outside[key] = self.text.value(f"alloca [{_SLOT_SIZE} x i8], align {_SLOT_SIZE}")
            operand = Operand(self.arrays[load.array].dtype.name, load.type.value)
            assert load.outside is not None, "what is guarded has a value outside"
            store_operand(self.text, operand, address, constant(load.outside, load.type.value))

    def print(self) -> None:
        """Emit the whole kernel."""
        ranges, body = self.program.points
        self.points([index for index, _ in ranges], [self.size(size) for _, size in ranges], body)
        self.text.line("  ret void\n}")
        self.text.lines[self.begin] = "\n".join(self.rooms)

    # -------------------------------------------------------------------------------------------------------- points

    def points(self, indices: Sequence[str], sizes: Sequence[str], body: Sequence[Statement]) -> None:
        """Emit the loops over points: an inner loop along the last dimension, and an outer one over the other
        dimensions.

        The inner loop lets LLVM hoist computations that are the same for its points. The outer loop updates its indices
        without divisions, which take as long as a short row.
        """
        text, first, rest = self.text, [], "%begin"
        for size in reversed(sizes):
            divisor = text.value(f"call i64 @llvm.smax.i64(i64 {size}, i64 1)")  # avoids a division by 0 in empty loops
            first.append(text.value(f"urem i64 {rest}, {divisor}"))
            rest = text.value(f"udiv i64 {rest}, {divisor}")
        with Loop(text, "outer", "%begin", "%end") as outer:
            counters = [outer.carry("int64", text) for text in first]
            for index, counter in zip(reversed(indices[:-1]), counters[1:], strict=True):
                self.give(index, ScalarType.INT64, [counter])
            if not indices:
                self.block(body)
                return
            left = text.value(f"sub i64 %end, {outer.counter}")
            until = text.value(f"sub i64 {sizes[-1]}, {counters[0]}")
            outer.step = text.value(f"call i64 @llvm.smin.i64(i64 {until}, i64 {left})")
            end = text.value(f"add i64 {counters[0]}, {outer.step}")
            with self.within((), indices[-1]), Loop(text, "unit", counters[0], end) as unit:
                self.give(indices[-1], ScalarType.INT64, [unit.counter])
                self.block(body)
            outer.hand_on(["0", *self.stepped(counters[1:], sizes[-2::-1])])

    def stepped(self, counters: Sequence[str], sizes: Sequence[str]) -> list[str]:
        """Emit the increment of a multidimensional counter by one, with carries."""
        text, stepped, step = self.text, [], "1"
        for counter, size in zip(counters, sizes, strict=True):
            after = text.value(f"add i64 {counter}, {step}")
            is_over = text.value(f"icmp eq i64 {after}, {size}")
            stepped.append(text.value(f"select i1 {is_over}, i64 0, i64 {after}"))
            step = text.value(f"zext i1 {is_over} to i64")
        return stepped

    # --------------------------------------------------------------------------------------------------------- loops

    def loop(self, outer: For) -> None:
        """See ``LoopText.loop``."""
        if outer.vector > 1:
            self.together(outer)
            return
        begin, lane = self.begins(outer.part)[0], self.lanes[0]
        extent, start = ("0", self.turns(outer.size, outer.part, begin)), begin
        if outer.bounds is not None:
            low, high = (self.index(bound, lane) for bound in outer.bounds)
            extent, start = (low, high), "0"
        kind, count = self.kind_of(outer), len(self.lanes)
        turns = Loop(self.text, self.fresh(), *extent, kind=kind)
        with self.looped(turns, outer.body, outer.index, outer.place) as loop:
            self.indices(outer.index, [start] * count, [loop.counter] * count)
            if outer.place is not None:
                place = loop.counter if start == begin else self.text.value(f"sub i64 {loop.counter}, {begin}")
                self.give(outer.place, ScalarType.INT64, [place] * count)
            self.one_by_one(outer.body)

    def one_by_one(self, body: Sequence[Statement]) -> None:
        """Emit statements for several neighboring iterations, one iteration after another to save registers, unless
        there are inner loops.
        """
        lanes = self.lanes
        if len(lanes) == 1 or any(isinstance(statement, (For, Fold)) for statement in body):
            self.block(body)
            return
        for lane in lanes:
            self.lanes = [lane]
            self.block(body)
        self.lanes = lanes

    def kind_of(self, loop: For) -> str:
        """Return the loop metadata for LLVM.

        Vectorization is forbidden if elements have an unknown stride, because loading vectors of them is slower than
        loading elements one by one. Interleaving of vectors is forbidden if it would leave most of a short row as a
        remainder.
        """
        inner = list(statements_of(loop.body))
        if loop.in_order or any(isinstance(statement, (For, Fold)) for statement in inner):
            return ""
        steps = [place for move in inner if isinstance(move, (Load, Store, Update)) for place in move.index]
        even = [place for place in steps if isinstance(place, Steps)]
        updates = [statement for statement in inner if isinstance(statement, Update)]
        written = [place for update in updates for place in update.index if isinstance(place, Steps)]
        if any(isinstance(place.by, str) for place in even) or any(abs(int(place.by)) > 1 for place in written):
            return SCALAR
        if updates and not (len(updates) == 1 and (written or loop.index in updates[0].index)):
            return ""
        local = {statement.array.name for statement in statements_of(self.program.body) if isinstance(statement, Local)}
        is_reading = any(isinstance(move, Load) and move.array not in local for move in inner)
        kept = {move.name for move in inner if isinstance(move, Load) and move.array in local}
        tested = [move for move in inner if isinstance(move, Load) and move.outside is not None]
        if not tested and any(
            isinstance(move, Load) and kept.intersection(map(str, (*move.index, move.offset))) for move in inner
        ):
            return WHOLE
        return WHOLE if is_reading and not (tested and loop.bounds) else PARALLEL

    # --------------------------------------------------------------------------------------------------------- folds

    def fold(self, fold: Fold) -> None:
        """Emit a reduction along one range."""
        ((index, size),) = fold.ranges
        kinds = fold.combine.result_types
        (lane,) = self.lanes
        extent = ("0", self.size(size))
        if fold.bounds is not None:
            low, high = (self.index(bound, lane) for bound in fold.bounds)
            extent = low, high
        (results,) = self.first(fold.neutral, kinds)
        for piece, in_order in self.ordered(fold, extent):
            with self.looped(Loop(self.text, self.fresh(), *piece), fold.body, index) as loop:
                before = [loop.carry(kind.value, value) for kind, value in zip(kinds, results, strict=True)]
                self.indices(index, ["0"], [loop.counter])
                self.block(fold.body)
                (lane,) = self.lanes
                values = [lane[name] for name in fold.values]
                after = self.joined(fold, before, values, in_order=in_order)
                if fold.where is not None:
                    counts = self.condition(fold.where, self.lanes[0])
                    after = [
                        self.text.value(
                            f"select i1 {counts}, {REGISTER[kind.value]} {new}, {REGISTER[kind.value]} {old}"
                        )
                        for kind, new, old in zip(kinds, after, before, strict=True)
                    ]
                loop.hand_on(after)
            results = loop.results
        for name, kind, value in zip(fold.names, kinds, results, strict=True):
            self.give(name, kind, [value])

    def ordered(self, fold: Fold, extent: tuple[str, str]) -> list[tuple[tuple[str, str], bool]]:
        """Return the iterations of a reduction in pieces, and for each whether it is computed in order, as few
        iterations are.

        The order must depend only on the number of iterations. LLVM chooses an order by its knowledge of their number,
        which is a constant in one kernel and a word in another. So it may choose only for more than a few iterations,
        and their number is hidden from it.
        """
        is_float = any(kind.category == FLOAT for kind in fold.combine.result_types)
        if fold.in_order or not is_pairwise(fold.combine) or not is_float:
            return [(extent, fold.in_order)]
        size = fold.ranges[0][1]
        if any(blocks_of(inner) for inner in fold.body) or (isinstance(size, int) and size <= _FEW):
            return [(extent, True)]
        text, (low, high) = self.text, extent
        if high == str(size):
            return [((low, self.unseen(high)), False)]
        turns = high if low == "0" else text.value(f"sub i64 {high}, {low}")
        are_few = text.value(f"icmp sle i64 {turns}, {_FEW}")
        between = text.value(f"select i1 {are_few}, i64 {high}, i64 {low}")
        return [((low, between), True), ((between, self.unseen(high)), False)]

    def unseen(self, value: str) -> str:
        """Emit a copy of a value about which LLVM can infer nothing."""
        return self.text.value(f'call i64 asm "", "=r,0"(i64 {value})')

    def joined(self, fold: Fold, before: Sequence[str], values: Sequence[str], *, in_order: bool) -> list[str]:
        """Emit the combination of accumulators with an iteration's values; if it is a choice, taking the new values is
        a rare branch.
        """
        condition = _choice(fold.combine)
        if condition is None:
            (after,) = (self.called_on if in_order else self.combined)(fold, [before], [values])
            return after
        text, label = self.text, self.fresh()
        kinds = [kind.value for kind in fold.combine.result_types]
        texts = list(zip((*kinds, *kinds), (*before, *values), strict=True))
        graph, used = condition
        self.choices[graph] = function = self.choices.get(graph, f"choice_{len(self.choices)}")
        (taken,) = call(text, function, [texts[k] for k in used], ["bool"])
        text.line(f"  br label %{label}_test\n{label}_test:")
        text.line(
            f"  br i1 {text.value(f'icmp ne i8 {taken}, 0')}, label %{label}, label %{label}_end{SELDOM}\n{label}:"
        )
        text.line(f"  br label %{label}_end\n{label}_end:")
        return [
            text.value(f"phi {REGISTER[kind]} [ {value}, %{label} ], [ {best}, %{label}_test ]")
            for kind, value, best in zip(kinds, values, before, strict=True)
        ]


@functools.cache
def _choice(graph: TypedGraph) -> tuple[TypedGraph, tuple[int, ...]] | None:
    """Return the condition under which a combining graph keeps its second set of parameters instead of the first.

    Returns:
        The condition as a graph, and the parameters that it takes; None if the graph is not such a choice.
    """
    nodes = [graph.nodes[at] for at in graph.results]
    count = len(nodes)
    conditions = {node.arguments[0] for node in nodes if node.op == "select"}
    chosen = [node.arguments[1:] for node in nodes if node.op == "select"]
    if len(conditions) != 1 or chosen != [(count + k, k) for k in range(count)]:
        return None
    return part_of(graph, tuple(conditions), name=graph.name)
