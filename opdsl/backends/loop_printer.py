"""Printer of loop IR programs as C: one thread, or one group of threads, runs each point of the outermost loops.

Languages differ in the methods of a subclass: how elements are loaded, stored and updated atomically, how a thread
finds its index, and the beginning of a kernel.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import ClassVar

from opdsl.backends.c_printer import Dialect, constant_text, function_source
from opdsl.kernels.loops.model import (
    Argument,
    Bound,
    Compute,
    Fold,
    For,
    Index,
    Inside,
    Load,
    Local,
    Program,
    Range,
    Scan,
    Statement,
    Store,
    TileProduct,
    Update,
    When,
    graphs_of,
    locals_of,
)
from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import BOOL, FLOAT, ScalarType

__all__ = ["LoopPrinter", "margins"]

# Functions that map out-of-bounds indices inside: the modes of padding, and negative indices, which count from the end.
_MARGINS = """
HEAD WHOLE replicate(WHOLE place, WHOLE size) { return place < 0 ? 0 : place < size ? place : size - 1; }
// Mirrored at the first and at the last element, as often as it takes.
HEAD WHOLE reflect(WHOLE place, WHOLE size) {
    const WHOLE period = size > 1 ? 2 * (size - 1) : 1, found = (place < 0 ? -place : place) % period;
    return found < size ? found : period - found;
}
HEAD WHOLE circular(WHOLE place, WHOLE size) {
    const WHOLE found = place % size;
    return found < 0 ? found + size : found;
}
// One that leads outside has been reported, and reads or writes what is there.
HEAD WHOLE wrap(WHOLE place, WHOLE size) {
    const WHOLE found = place < 0 ? place + size : place;
    return found >= 0 && found < size ? found : 0;
}
"""


def margins(to: Dialect) -> str:
    """Return the source of the functions that map out-of-bounds indices inside, one for each mode of ``Bound``."""
    return _MARGINS.replace("HEAD", to.head(inlined=True)).replace("WHOLE", to.types[ScalarType.INT64])


class LoopPrinter(abc.ABC):
    """Printer of one loop IR program as C; a subclass supplies the code that depends on the language.

    to: the language.
    shared_memory: the qualifier of memory that a group of threads shares.
    barrier: the statement by which the threads of a group wait for each other.
    block_lengths: the lengths of nested blocks in which a fold is computed. Each block has its own accumulators,
        which are combined afterwards, so that sums of many numbers stay accurate. Empty if one accumulator takes all.
    lines: the statements emitted so far.
    local: declarations of memory that a group shares.
    types: the type of each value, by name.
    own: names of the per-point arrays (``Local``).
    common: names of those per-point arrays that a group shares.
    is_team: whether the current statements are run by all threads of a group.
    has_read: whether the group has read shared arrays since the last barrier.

    Names that the printer makes end in an underscore, so that they never collide with those of programs.
    """

    to: ClassVar[Dialect]
    block_lengths: ClassVar[tuple[int, ...]] = ()
    shared_memory: ClassVar[str]
    barrier: ClassVar[str]

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arrays = program.arrays
        self.functions = {graph: f"function_{k}" for k, graph in enumerate(graphs_of(program.body))}
        self.types = dict.fromkeys(program.words, ScalarType.INT64)
        self.lines: list[str] = []
        self.local: list[str] = []
        self.depth = 1
        self.names = 0
        self.is_team = program.lanes > 1
        self.has_read = False
        self.own = {local.array.name for local in locals_of(program.body)}
        self.common: set[str] = set()
        self.whole = self.to.types[ScalarType.INT64]

    # ------------------------------------------------------------------------------------------- language dependent

    @abc.abstractmethod
    def loaded(self, array: str, place: str, dtype: DType, kind: ScalarType) -> str:
        """Return the expression that loads an array element as a scalar type."""

    @abc.abstractmethod
    def stored(self, array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
        """Return the statement that stores a value of a scalar type into an array element."""

    @abc.abstractmethod
    def exchanged(self, update: Update) -> None:
        """Emit an atomic update of an element; the name of the update, if it has one, is set to the old value."""

    @abc.abstractmethod
    def located(self, ranges: Sequence[Range]) -> None:
        """Emit the definitions of the outermost loops' indices for the current thread, or for its group."""

    # ------------------------------------------------------------------------------------------------------ program

    def text_of_functions(self, *, coarse: bool = False) -> list[str]:
        """Return the source of the scalar functions that the program calls; for ``coarse`` see ``function_source``."""
        return [function_source(self.to, graph, name, coarse=coarse) for graph, name in self.functions.items()]

    def print_body(self) -> None:
        """Emit all statements of the program."""
        if self.program.is_serial:
            self.block(self.program.body)
        else:
            ranges, body = self.program.points
            self.located(ranges)
            self.at_point(ranges, body)

    def at_point(self, ranges: Sequence[Range], body: Sequence[Statement]) -> None:
        """Emit the statements inside the outermost loops."""
        self.block(body)

    def unravelled(self, position: str, ranges: Sequence[Range]) -> None:
        """Emit the definitions of the indices of a row-major linear position; the last index varies fastest."""
        for place, (index, size) in reversed(list(enumerate(ranges))):
            self.types[index] = ScalarType.INT64
            rest = f" % {size}" if place else ""
            self.say(f"const {self.whole} {index} = {position}{rest};")
            if place:
                self.say(f"{position} /= {size};")

    # ------------------------------------------------------------------------------------------------------- lines

    def say(self, line: str) -> None:
        """Append a line at the current indentation."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Emit the lines inside as a block in braces after ``head``, with its own scope for names."""
        self.say(f"{head} {{".strip())
        self.depth += 1
        yield
        self.depth -= 1
        self.say("}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Emit the statements inside as those of a single thread instead of the whole group."""
        before, self.is_team = self.is_team, False
        yield
        self.is_team = before

    def wait(self) -> None:
        """Emit a barrier for the threads of a group."""
        self.say(self.barrier)
        self.has_read = False

    def settle(self) -> None:
        """Emit a barrier if the group has read shared memory since the last one, so that it may be overwritten."""
        if self.is_team and self.has_read:
            self.wait()

    def fresh(self, name: str) -> str:
        """Return a new variable name that begins with ``name``."""
        self.names += 1
        return f"{name}{self.names}_"

    def declared(self, name: str, kind: ScalarType, value: str, const: str = "const ") -> None:
        """Emit the definition of a variable, and record its type."""
        self.types[name] = kind
        self.say(f"{const}{self.to.types[kind]} {name} = {value};")

    def called(self, graph: TypedGraph, arguments: Sequence[Argument], results: Sequence[str]) -> None:
        """Emit a call of a scalar function whose results go into variables that exist."""
        passed = [*map(str, arguments), *(f"{self.to.passed}{result}" for result in results)]
        self.say(f"{self.functions[graph]}({', '.join(passed)});")

    def made(self, graph: TypedGraph, arguments: Sequence[Argument], results: Sequence[str]) -> None:
        """Emit a call of a scalar function, declaring the variables of its results."""
        for name, kind in zip(results, graph.result_types, strict=True):
            self.types[name] = kind
            self.say(f"{self.to.types[kind]} {name};")
        self.called(graph, arguments, results)

    def place(self, array: str, index: Sequence[Index]) -> str:
        """Return the expression of an element's linear offset in an array, in elements."""
        terms = []
        for number, stride in zip(index, self.arrays[array].strides, strict=True):
            if stride != 0 and number != 0:
                terms.append(str(number) if stride == 1 else f"{number} * {stride}")
        return f"({' + '.join(terms) or '0'})"

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Sequence[Statement]) -> None:
        """Emit statements in order."""
        for statement in statements:
            getattr(self, _PRINTS[type(statement)])(statement)

    def load(self, load: Load) -> None:
        """Emit a load of an element; a guarded load gives a constant where its condition is false."""
        dtype = self.arrays[load.array].dtype
        self.has_read |= self.is_team and load.array in self.common
        loaded = self.loaded(load.array, self.place(load.array, load.index), dtype, load.type)
        if load.inside is None:
            self.declared(load.name, load.type, loaded)
            return
        assert load.outside is not None, "what is guarded has a value outside"
        self.declared(load.name, load.type, constant_text(self.to, load.outside, load.type), "")
        self.say(f"if ({load.inside}) {{ {load.name} = {loaded}; }}")

    def store(self, store: Store) -> None:
        """Emit a store to an element; in a group only the first thread stores."""
        place = self.place(store.array, store.index)
        line = self.stored(store.array, place, self.arrays[store.array].dtype, store.value, self.types[store.value])
        if not self.is_team:
            self.say(line)
            return
        is_shared = store.array in self.common
        if is_shared:  # other threads may still be reading the old value
            self.wait()
        self.say(f"if (lane_ == 0) {{ {line} }}")
        if is_shared:
            self.wait()

    def update(self, update: Update) -> None:
        """Emit an update of an element; in a group the first thread makes it, and shares the old value."""
        if update.name is not None:
            self.types[update.name] = update.there
            self.say(f"{self.to.types[update.there]} {update.name};")
        is_alone = self.program.is_serial or (update.array in self.own and update.array not in self.common)
        with self.braces("if (lane_ == 0)") if self.is_team else nullcontext():
            (self.changed if is_alone else self.exchanged)(update)
        if self.is_team and update.name is not None:
            (text,) = self.shared([update.name], [update.there])
            self.say(f"{update.name} = {text}[0];")
            self.wait()

    def changed(self, update: Update) -> None:
        """Emit an update of an element that no other thread updates, as a plain load and store."""
        there, fresh, dtype = self.fresh("there"), self.fresh("made"), self.arrays[update.array].dtype
        place, (result_type,) = self.place(update.array, update.index), update.graph.result_types
        with self.braces(""):
            self.declared(there, update.there, self.loaded(update.array, place, dtype, update.there))
            self.made(update.graph, [there if name is None else name for name in update.arguments], [fresh])
            self.say(self.stored(update.array, place, dtype, fresh, result_type))
            if update.name is not None:
                self.say(f"{update.name} = {there};")

    def compute(self, compute: Compute) -> None:
        """Emit the evaluation of a scalar graph."""
        self.made(compute.graph, compute.arguments, compute.names)

    def kept(self, local: Local) -> None:
        """Emit the declaration of a per-point array (a ``Local`` statement); in a group it is in shared memory."""
        (size,) = local.array.sizes
        declared = f"{self.to.types[ScalarType(local.array.dtype.name)]} {local.array.name}[{size}];"
        if self.is_team:
            self.common.add(local.array.name)
            self.local.append(f"{self.shared_memory} {declared}")
        else:
            self.say(declared)

    def product(self, product: TileProduct) -> None:
        """Emit a product of tiles; languages whose schedules make none do not have it."""
        raise NotImplementedError

    def inside(self, inside: Inside) -> None:
        """Emit the bounds check of an index (an ``Inside`` statement), a bool that guards loads and stores."""
        tests = [f"{index} >= 0 && {index} < {size}" for index, size in zip(inside.index, inside.sizes, strict=True)]
        self.declared(inside.name, ScalarType.BOOL, " && ".join(tests) or "true")

    def bound(self, bound: Bound) -> None:
        """Emit the mapping of an index into bounds (a ``Bound`` statement) by its mode, such as clamp or reflect."""
        place = bound.place if bound.how == "trusted" else f"{bound.how}({bound.place}, {bound.size})"
        self.declared(bound.name, ScalarType.INT64, place)

    def when(self, when: When) -> None:
        """Emit statements under a condition."""
        before = self.has_read
        with self.braces(f"if ({when.condition})"):
            self.block(when.body)
        self.has_read |= before

    def loop(self, loop: For) -> None:
        """Emit a loop; the threads of a group divide its iterations, or all run each one if the loop is in order."""
        assert loop.part is None and not loop.is_reverse, "no schedule of these backends makes such loops"
        self.types[loop.index] = ScalarType.INT64
        shares = self.is_team and not loop.in_order
        first, step = ("lane_", "lanes_") if shares else ("0", "1")
        head = f"for ({self.whole} {loop.index} = {first}; {loop.index} < {loop.size}; {loop.index} += {step})"
        # Compilers would unroll a loop that they do not know to run once.
        is_once = shares and isinstance(loop.size, int) and loop.size <= self.program.lanes
        self.settle()
        with self.braces(f"if (lane_ < {loop.size})" if is_once else head), self.alone() if shares else nullcontext():
            if is_once:
                self.say(f"const {self.whole} {loop.index} = lane_;")
            self.block(loop.body)
            self.settle()
        if shares and self.common:
            self.wait()

    # ------------------------------------------------------------------------------------------- folds and scans

    def accumulators(self, names: Sequence[str], first: Sequence[Number | str], kinds: Sequence[ScalarType]) -> None:
        """Emit the definitions of accumulators with their initial values: numbers, or names of values."""
        for name, value, kind in zip(names, first, kinds, strict=True):
            self.declared(name, kind, self.initial(value, kind), "")

    def initial(self, first: Number | str, kind: ScalarType) -> str:
        """Return the expression of an accumulator's initial value."""
        return first if isinstance(first, str) else constant_text(self.to, first, kind)

    def fold(self, fold: Fold) -> None:
        """Emit a reduction in blocks; each thread of a group reduces a share, and a tree combines the shares."""
        kinds = fold.combine.result_types
        self.accumulators(fold.names, fold.neutral, kinds)
        blocks = self.block_lengths if any(kind.category >= FLOAT for kind in kinds) else ()
        if not (self.is_team or blocks or fold.part):
            self.nested(fold, fold.ranges)
            return
        with self.braces(""):
            total = " * ".join(str(size) for _, size in fold.ranges) or "1"
            self.say(f"const {self.whole} total_ = {total};")
            begin, end = "0", "total_"
            if fold.part is not None:
                part, size = fold.part
                begin, end = "begin_", "until_"
                self.say(f"const {self.whole} begin_ = {part} * {size}, until_ = min(total_, begin_ + {size});")
            end, step = self.share(begin, end, in_order=fold.in_order)
            self.blocks(fold, fold.names, "first_", end, step, blocks)
        if self.is_team:
            self.combined(fold.combine, fold.names)

    def nested(self, fold: Fold, ranges: Sequence[Range]) -> None:
        """Emit all iterations of a reduction as nested loops, one for each range."""
        if ranges:
            index, size = ranges[0]
            self.types[index] = ScalarType.INT64
            with self.braces(f"for ({self.whole} {index} = 0; {index} < {size}; ++{index})"):
                self.nested(fold, ranges[1:])
        else:
            self.turn(fold, fold.names)

    def share(self, begin: str, end: str, *, in_order: bool) -> tuple[str, str]:
        """Emit the definition of ``first_``, the first iteration of the current thread, and return its end and its
        step.
        """
        if not self.is_team:
            self.say(f"const {self.whole} first_ = {begin};")
            return end, "1"
        if not in_order:
            self.say(f"const {self.whole} first_ = {begin} + lane_;")
            return end, "lanes_"
        self.say(f"const {self.whole} part_ = ({end} - {begin} + lanes_ - 1) / lanes_;")
        self.say(f"const {self.whole} first_ = {begin} + lane_ * part_, end_ = min({end}, first_ + part_);")
        return "end_", "1"

    def blocks(self, fold: Fold, texts: Sequence[str], first: str, end: str, step: str, lengths: Sequence[int]) -> None:
        """Emit a range of a reduction's iterations in nested blocks of the given lengths, each with accumulators of its
        own.
        """
        if not lengths:
            self.turns(fold, texts, first, end, step)
            return
        part, block, last = [self.fresh("part") for _ in texts], self.fresh("block"), self.fresh("last")
        with self.braces(f"for ({self.whole} {block} = {first}; {block} < {end}; {block} += {lengths[0]} * {step})"):
            self.say(f"const {self.whole} {last} = min({end}, {block} + {lengths[0]} * {step});")
            self.accumulators(part, fold.neutral, fold.combine.result_types)
            self.blocks(fold, part, block, last, step, lengths[1:])
            self.called(fold.combine, [*texts, *part], texts)

    def turns(self, fold: Fold, texts: Sequence[str], first: str, end: str, step: str) -> None:
        """Emit a loop over a range of a reduction's iterations, which updates the accumulators ``texts``."""
        with self.braces(f"for ({self.whole} turn_ = {first}; turn_ < {end}; turn_ += {step})"), self.alone():
            if len(fold.ranges) > 1:
                self.say("long rest_ = turn_;")
            self.unravelled("rest_" if len(fold.ranges) > 1 else "turn_", fold.ranges)
            self.turn(fold, texts)

    def turn(self, fold: Fold, texts: Sequence[str]) -> None:
        """Emit one iteration of a reduction: its body, and the combination of its values with the accumulators."""
        self.block(fold.body)
        with self.braces("" if fold.where is None else f"if ({fold.where})"):
            self.called(fold.combine, [*texts, *fold.values], texts)

    def shared(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> list[str]:
        """Emit shared arrays with one slot for each thread of a group, store each thread's variables there, and return
        the arrays' names.
        """
        shared = []
        for name, kind in zip(names, kinds, strict=True):
            shared.append(self.fresh("shared"))
            stored = self.to.types[ScalarType.UINT8 if kind.category == BOOL else kind]
            self.local.append(f"{self.shared_memory} {stored} {shared[-1]}[{self.program.lanes}];")
            self.say(f"{shared[-1]}[lane_] = {name};")
        self.wait()
        return shared

    def combined(self, graph: TypedGraph, names: Sequence[str]) -> None:
        """Emit a tree reduction of the group's accumulators, after which every thread has the total."""
        memory = self.shared(names, graph.result_types)
        with self.braces(f"for ({self.whole} width_ = 1; width_ < lanes_; width_ *= 2)"):
            with self.braces("if (lane_ % (2 * width_) == 0)"):
                others = [f"{text}[lane_ + width_]" for text in memory]
                self.called(graph, [*names, *others], names)
                for name, text in zip(names, memory, strict=True):
                    self.say(f"{text}[lane_] = {name};")
            self.wait()
        for name, text in zip(names, memory, strict=True):
            self.say(f"{name} = {text}[0];")
        self.wait()

    def scan(self, scan: Scan) -> None:
        """Emit a scan; the threads of a group fold their shares first, then start from the total of all threads before
        them.
        """
        kinds = scan.step.result_types[: len(scan.names)]
        index, size = scan.range
        self.types[index] = ScalarType.INT64
        if self.is_team and not scan.is_associative:
            with self.braces("if (lane_ == 0)"), self.alone():
                self.scan(scan)
            return
        with self.braces(""):
            self.accumulators(scan.names, scan.first, kinds)
            self.say(f"const {self.whole} total_ = {size};")
            end, _ = self.share("0", "total_", in_order=True)
            if self.is_team:
                with self.braces(f"for ({self.whole} {index} = first_; {index} < {end}; ++{index})"), self.alone():
                    self.block(scan.body)
                    self.called(scan.step, [*scan.names, *scan.values], scan.names)
                self.before(scan, kinds)
            with self.braces(f"for ({self.whole} turn_ = first_; turn_ < {end}; ++turn_)"), self.alone():
                self.say(f"const {self.whole} {index} = {'total_ - 1 - turn_' if scan.is_reverse else 'turn_'};")
                self.block(scan.body)
                for name, kind in zip(scan.results, scan.step.result_types[len(kinds) :], strict=True):
                    self.types[name] = kind
                    self.say(f"{self.to.types[kind]} {name};")
                self.called(scan.step, [*scan.names, *scan.values], [*scan.names, *scan.results])
                self.block(scan.after)

    def before(self, scan: Scan, kinds: Sequence[ScalarType]) -> None:
        """Emit the combination of the totals of all threads before the current one, the initial carry of its share of a
        scan.
        """
        memory = self.shared(scan.names, kinds)
        for name, first, kind in zip(scan.names, scan.first, kinds, strict=True):
            self.say(f"{name} = {self.initial(first, kind)};")
        with self.braces(f"for ({self.whole} other_ = 0; other_ < lane_; ++other_)"):
            self.called(scan.step, [*scan.names, *(f"{part}[other_]" for part in memory)], scan.names)
        self.wait()


# The method that prints each type of statement.
_PRINTS: Mapping[type, str] = {
    Load: "load",
    Store: "store",
    Update: "update",
    Compute: "compute",
    Local: "kept",
    TileProduct: "product",
    Inside: "inside",
    Bound: "bound",
    When: "when",
    For: "loop",
    Fold: "fold",
    Scan: "scan",
}
