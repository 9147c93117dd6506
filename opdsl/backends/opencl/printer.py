"""Prints loop programs as OpenCL C: a work item, or a group of them, for each point of the outermost loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opdsl.backends.c_printer import constant_text, function_source
from opdsl.backends.opencl.dialect import OPENCL, VALUE_TYPES, convert, load, prelude, store, stored_type
from opdsl.kernels.loops.model import (
    Array,
    Bound,
    Compute,
    Fold,
    For,
    Index,
    Inside,
    Load,
    Program,
    Range,
    Scalar,
    Scan,
    Statement,
    Store,
    Update,
    When,
    graphs_of,
)
from opdsl.kernels.loops.schedules import updates
from opdsl.scalar.graph import Number, TypedGraph
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, ScalarType

__all__ = ["argument_types", "has_atomics", "kernel_source"]

# Turns whose accumulators are folded by themselves, and then with others, so that sums of many numbers keep their
# digits: blocks, and blocks in these.
_BLOCKS = (4096, 64)

# What elements are while they are exchanged; others are updated by one thread after another.
_WORDS: Mapping[str, str] = {
    "float32": "uint",
    "int32": "uint",
    "uint32": "uint",
    "float64": "ulong",
    "int64": "ulong",
    "uint64": "ulong",
}


def has_atomics(program: Program, *, words: int) -> bool:
    """Whether every element that a program updates can be exchanged at once, on a device that exchanges such words."""
    dtypes = {program.arrays[each.array].dtype for each in updates(program.body)}
    return all(each.name in _WORDS and 8 * each.itemsize <= words for each in dtypes)


def argument_types(each: Scalar) -> list[ScalarType]:
    """The arguments of a kernel that a number becomes: complex ones are two, and bool is a byte."""
    if each.type.category == COMPLEX:
        return [each.type.real] * 2
    return [ScalarType.UINT8 if each.type.category == BOOL else each.type]


def kernel_source(program: Program, *, doubles: bool) -> str:
    """A program as OpenCL C, with a kernel named ``run``.

    Args:
        program: the loops. Each array is two arguments, its buffer and where it begins there, in bytes; the words come
            last.
        doubles: whether the device has float64.
    """
    return _Kernel(program).source(doubles=doubles)


class _Kernel:
    """The text of one program.

    lines: statements so far. local: declarations of memory that a group shares. types: of values by name.
    is_team: whether the statements at hand are those of a whole group.

    Names of its own end in an underscore, which those of programs do not.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arrays = program.arrays
        self.functions = {graph: f"function_{k}" for k, graph in enumerate(graphs_of(program.body))}
        self.types: dict[str, ScalarType] = {}
        self.lines: list[str] = []
        self.local: list[str] = []
        self.depth = 1
        self.names = 0
        self.is_team = program.lanes > 1

    def source(self, *, doubles: bool) -> str:
        """Everything."""
        functions = [function_source(OPENCL, graph, name) for graph, name in self.functions.items()]
        given = [part for each in self.program.parameters for part in self.parameter(each)]
        given += [f"const long {word}" for word in self.program.words]
        for word in self.program.words:
            self.types[word] = ScalarType.INT64
        if self.program.is_serial:
            self.block(self.program.body)
        else:
            ranges, body = self.program.points
            self.located(ranges)
            self.block(body)
        head = f"__kernel void run({', '.join(given)}) {{"
        extension = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n" if self.exchanges_long() else ""
        own = [f"    {each}" for each in [*self.local, *self.begin()]]
        return extension + "\n".join([prelude(doubles=doubles), *functions, head, *own, *self.lines, "}", ""])

    def exchanges_long(self) -> bool:
        """Whether elements of 64 bits are exchanged."""
        dtypes = {self.arrays[each.array].dtype.name for each in updates(self.program.body)}
        return not self.program.is_serial and any(_WORDS[each] == "ulong" for each in dtypes)

    def parameter(self, each: Array | Scalar) -> list[str]:
        """The declarations of a parameter."""
        if isinstance(each, Array):
            return [f"__global uchar* m_{each.name}", f"const long o_{each.name}"]
        self.types[each.name] = each.type
        names = ["_real", "_imag"] if each.type.category == COMPLEX else ["_byte" if each.type.category == BOOL else ""]
        kinds = argument_types(each)
        return [f"const {VALUE_TYPES[kind]} {each.name}{name}" for kind, name in zip(kinds, names, strict=True)]

    def begin(self) -> list[str]:
        """What stands at the beginning of the kernel: arrays, and numbers that are no arguments as they are."""
        lines = []
        for each in self.program.parameters:
            if isinstance(each, Array):
                kind = f"__global {stored_type(each.dtype)}*"
                lines.append(f"{kind} {each.name} = ({kind})(m_{each.name} + o_{each.name});")
            elif each.type.category == COMPLEX:
                value = OPENCL.complex_value(each.type, f"{each.name}_real", f"{each.name}_imag")
                lines.append(f"const {VALUE_TYPES[each.type]} {each.name} = {value};")
            elif each.type.category == BOOL:
                lines.append(f"const bool {each.name} = {each.name}_byte != 0;")
        return lines

    def located(self, ranges: Sequence[Range]) -> None:
        """The indices of a work item, or of its group.

        There are as many groups as points. PoCL miscompiles loops behind barriers if some groups might leave earlier.
        """
        if self.is_team:
            self.say(f"const long lane_ = get_local_id(0), lanes_ = {self.program.lanes};")
            self.say("long point_ = get_group_id(0);")
        else:
            self.say("long point_ = get_global_id(0);")
            count = " * ".join(str(size) for _, size in ranges) or "1"
            self.say(f"if (point_ >= {count}) return;")
        self.unravelled("point_", ranges)

    def unravelled(self, position: str, ranges: Sequence[Range]) -> None:
        """The indices of a position, the last of which runs fastest."""
        for place, (index, size) in reversed(list(enumerate(ranges))):
            self.types[index] = ScalarType.INT64
            rest = f" % {size}" if place else ""
            self.say(f"const long {index} = {position}{rest};")
            if place:
                self.say(f"{position} /= {size};")

    # ------------------------------------------------------------------------------------------------------- lines

    def say(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Lines in braces; names that are given there may be given elsewhere."""
        self.say(f"{head} {{".strip())
        self.depth += 1
        yield
        self.depth -= 1
        self.say("}")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Statements of a single work item of a group."""
        before, self.is_team = self.is_team, False
        yield
        self.is_team = before

    def fresh(self, name: str) -> str:
        """A name that nobody else has."""
        self.names += 1
        return f"{name}{self.names}_"

    def declared(self, name: str, kind: ScalarType, value: str, const: str = "const ") -> None:
        """A named value."""
        self.types[name] = kind
        self.say(f"{const}{VALUE_TYPES[kind]} {name} = {value};")

    def called(self, graph: TypedGraph, given: Sequence[str], results: Sequence[str]) -> None:
        """A call of a scalar function, whose results have been declared."""
        self.say(f"{self.functions[graph]}({', '.join([*given, *(f'&{each}' for each in results)])});")

    def made(self, graph: TypedGraph, given: Sequence[str], results: Sequence[str]) -> None:
        """A call of a scalar function into new names."""
        for name, kind in zip(results, graph.result_types, strict=True):
            self.types[name] = kind
            self.say(f"{VALUE_TYPES[kind]} {name};")
        self.called(graph, given, results)

    def place(self, array: str, index: Sequence[Index]) -> str:
        """Where an element lies, in elements."""
        terms = []
        for each, stride in zip(index, self.arrays[array].strides, strict=True):
            if stride != 0 and each != 0:
                terms.append(str(each) if stride == 1 else f"{each} * {stride}")
        return f"({' + '.join(terms) or '0'})"

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""
        for each in statements:
            _PRINTS[type(each)](self, each)

    def load(self, each: Load) -> None:
        """An element."""
        dtype = self.arrays[each.array].dtype
        found = load(each.array, self.place(each.array, each.index), dtype, each.type)
        if each.inside is None:
            self.declared(each.name, each.type, found)
            return
        assert each.outside is not None, "what is guarded has a value outside"
        self.declared(each.name, each.type, constant_text(OPENCL, each.outside, each.type), "")
        self.say(f"if ({each.inside}) {{ {each.name} = {found}; }}")

    def store(self, each: Store) -> None:
        """An element that is written: of a group by its first work item."""
        place = self.place(each.array, each.index)
        line = store(each.array, place, self.arrays[each.array].dtype, each.value, self.types[each.value])
        self.say(f"if (lane_ == 0) {{ {line} }}" if self.is_team else line)

    def update(self, each: Update) -> None:
        """An element that is changed, by exchanging it until nobody else has."""
        dtype = self.arrays[each.array].dtype
        kind = next(kind for (_, kind), name in zip(each.graph.parameters, each.arguments, strict=True) if name is None)
        target, there, made = self.fresh("target"), self.fresh("there"), self.fresh("made")
        given = [there if name is None else name for name in each.arguments]
        result = each.graph.result_types[0]
        with self.braces("if (lane_ == 0)" if self.is_team else ""):
            self.say(f"__global {stored_type(dtype)}* {target} = {each.array} + {self.place(each.array, each.index)};")
            if self.program.is_serial:
                self.declared(there, kind, load(target, "0", dtype, kind))
                self.made(each.graph, given, [made])
                self.say(store(target, "0", dtype, made, result))
                return
            word, own = _WORDS[dtype.name], stored_type(dtype)
            exchange = "atomic_cmpxchg" if word == "uint" else "atom_cmpxchg"
            self.say(f"volatile __global {word}* word_ = (volatile __global {word}*){target};")
            self.say(f"{word} seen_ = *word_, assumed_;")
            with self.braces("do"):
                self.say("assumed_ = seen_;")
                stored = ScalarType(dtype.name)
                self.declared(there, kind, convert(f"as_{own}(assumed_)", stored, kind))
                self.made(each.graph, given, [made])
                self.say(f"seen_ = {exchange}(word_, assumed_, as_{word}({convert(made, result, stored)}));")
            self.lines[-1] += " while (seen_ != assumed_);"

    def compute(self, each: Compute) -> None:
        """Values of a graph."""
        self.made(each.graph, each.arguments, each.names)

    def inside(self, each: Inside) -> None:
        """A guard."""
        tests = [f"{index} >= 0 && {index} < {size}" for index, size in zip(each.index, each.sizes, strict=True)]
        self.declared(each.name, ScalarType.BOOL, " && ".join(tests) or "true")

    def bound(self, each: Bound) -> None:
        """A place that is led inside."""
        self.declared(each.name, ScalarType.INT64, f"{each.how}({each.place}, {each.size})")

    def when(self, each: When) -> None:
        """A condition."""
        with self.braces(f"if ({each.condition})"):
            self.block(each.body)

    def loop(self, each: For) -> None:
        """A loop; the work items of a group share it."""
        self.types[each.index] = ScalarType.INT64
        first, step = ("lane_", "lanes_") if self.is_team else ("0", "1")
        head = f"for (long {each.index} = {first}; {each.index} < {each.size}; {each.index} += {step})"
        with self.braces(head), self.alone():
            self.block(each.body)

    # ------------------------------------------------------------------------------------------- folds and scans

    def accumulators(self, names: Sequence[str], numbers: Sequence[Number], kinds: Sequence[ScalarType]) -> None:
        """Accumulators of no elements."""
        for name, number, kind in zip(names, numbers, kinds, strict=True):
            self.declared(name, kind, constant_text(OPENCL, number, kind), "")

    def fold(self, each: Fold) -> None:
        """A fold, in blocks; of a group each work item takes its share, and neighbours are combined."""
        kinds = each.combine.result_types
        self.accumulators(each.names, each.neutral, kinds)
        with self.braces(""):
            total = " * ".join(str(size) for _, size in each.ranges) or "1"
            self.say(f"const long total_ = {total};")
            end, step = self.share(in_order=each.in_order)
            blocks = _BLOCKS if any(kind.category >= FLOAT for kind in kinds) else ()
            self.blocks(each, each.names, "first_", end, step, blocks)
        if self.is_team:
            self.combined(each.combine, each.names)

    def share(self, *, in_order: bool) -> tuple[str, str]:
        """The turns of a work item, from ``first`` on: where they end, and how far apart they are."""
        if not self.is_team:
            self.say("const long first_ = 0;")
            return "total_", "1"
        if not in_order:
            self.say("const long first_ = lane_;")
            return "total_", "lanes_"
        self.say("const long part_ = (total_ + lanes_ - 1) / lanes_, first_ = lane_ * part_;")
        self.say("const long end_ = min(total_, first_ + part_);")
        return "end_", "1"

    def blocks(self, each: Fold, found: Sequence[str], first: str, end: str, step: str, lengths: Sequence[int]) -> None:
        """Some turns of a fold, in blocks of these lengths within each other."""
        if not lengths:
            self.turns(each, found, first, end, step)
            return
        part, block, last = [self.fresh("part") for _ in found], self.fresh("block"), self.fresh("last")
        with self.braces(f"for (long {block} = {first}; {block} < {end}; {block} += {lengths[0]} * {step})"):
            self.say(f"const long {last} = min({end}, {block} + {lengths[0]} * {step});")
            self.accumulators(part, each.neutral, each.combine.result_types)
            self.blocks(each, part, block, last, step, lengths[1:])
            self.called(each.combine, [*found, *part], found)

    def turns(self, each: Fold, found: Sequence[str], first: str, end: str, step: str) -> None:
        """Some turns of a fold, into accumulators."""
        with self.braces(f"for (long turn_ = {first}; turn_ < {end}; turn_ += {step})"), self.alone():
            if len(each.ranges) > 1:
                self.say("long rest_ = turn_;")
            self.unravelled("rest_" if len(each.ranges) > 1 else "turn_", each.ranges)
            self.block(each.body)
            with self.braces("" if each.where is None else f"if ({each.where})"):
                self.called(each.combine, [*found, *each.values], found)

    def shared(self, names: Sequence[str], kinds: Sequence[ScalarType]) -> list[str]:
        """Memory of a group, with what each of its work items has."""
        made = []
        for name, kind in zip(names, kinds, strict=True):
            made.append(self.fresh("shared"))
            stored = "uchar" if kind.category == BOOL else VALUE_TYPES[kind]
            self.local.append(f"__local {stored} {made[-1]}[{self.program.lanes}];")
            self.say(f"{made[-1]}[lane_] = {name};")
        self.wait()
        return made

    def wait(self) -> None:
        """Let the work items of a group wait for each other."""
        self.say("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")

    def combined(self, graph: TypedGraph, names: Sequence[str]) -> None:
        """Combine what the work items of a group have, neighbours first, so that each has the whole."""
        memory = self.shared(names, graph.result_types)
        with self.braces("for (long width_ = 1; width_ < lanes_; width_ *= 2)"):
            with self.braces("if (lane_ % (2 * width_) == 0)"):
                others = [f"{each}[lane_ + width_]" for each in memory]
                self.called(graph, [*names, *others], names)
                for name, each in zip(names, memory, strict=True):
                    self.say(f"{each}[lane_] = {name};")
            self.wait()
        for name, each in zip(names, memory, strict=True):
            self.say(f"{name} = {each}[0];")
        self.wait()

    def scan(self, each: Scan) -> None:
        """A scan: a group's work items fold their shares first, then begin with what comes before."""
        kinds = each.step.result_types[: len(each.names)]
        index, size = each.range
        self.types[index] = ScalarType.INT64
        if self.is_team and not each.is_associative:
            with self.braces("if (lane_ == 0)"), self.alone():
                self.scan(each)
            return
        with self.braces(""):
            self.accumulators(each.names, each.first, kinds)
            self.say(f"const long total_ = {size};")
            end, _ = self.share(in_order=True)
            if self.is_team:
                with self.braces(f"for (long {index} = first_; {index} < {end}; ++{index})"), self.alone():
                    self.block(each.body)
                    self.called(each.step, [*each.names, *each.values], each.names)
                self.before(each, kinds)
            with self.braces(f"for (long turn_ = first_; turn_ < {end}; ++turn_)"), self.alone():
                self.say(f"const long {index} = {'total_ - 1 - turn_' if each.is_reverse else 'turn_'};")
                self.block(each.body)
                for name, kind in zip(each.results, each.step.result_types[len(kinds) :], strict=True):
                    self.types[name] = kind
                    self.say(f"{VALUE_TYPES[kind]} {name};")
                self.called(each.step, [*each.names, *each.values], [*each.names, *each.results])
                self.block(each.after)

    def before(self, each: Scan, kinds: Sequence[ScalarType]) -> None:
        """Let each work item begin with what those before it have folded."""
        memory = self.shared(each.names, kinds)
        for name, number, kind in zip(each.names, each.first, kinds, strict=True):
            self.say(f"{name} = {constant_text(OPENCL, number, kind)};")
        with self.braces("for (long other_ = 0; other_ < lane_; ++other_)"):
            self.called(each.step, [*each.names, *(f"{part}[other_]" for part in memory)], each.names)
        self.wait()


_PRINTS: Mapping[type, Callable[[_Kernel, Any], None]] = {
    Load: _Kernel.load,
    Store: _Kernel.store,
    Update: _Kernel.update,
    Compute: _Kernel.compute,
    Inside: _Kernel.inside,
    Bound: _Kernel.bound,
    When: _Kernel.when,
    For: _Kernel.loop,
    Fold: _Kernel.fold,
    Scan: _Kernel.scan,
}
