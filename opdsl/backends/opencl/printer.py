"""Prints loop programs as OpenCL C: a work item, or a group of them, for each point of the outermost loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opdsl.backends.loop_printer import LoopPrinter, margins
from opdsl.backends.opencl.dialect import OPENCL, VALUE_TYPES, load, prelude, store
from opdsl.kernels.loops.model import Array, Program, Range, Scalar, Update, statements_of
from opdsl.runtime.dtype import DType
from opdsl.scalar.types import BOOL, COMPLEX, ScalarType

__all__ = ["argument_types", "has_atomics", "kernel_source"]

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
    return all(each.name in _WORDS and 8 * each.itemsize <= words for each in _exchanged(program))


def _exchanged(program: Program) -> set[DType]:
    """The dtypes of elements that a program updates."""
    updates = [each for each in statements_of(program.body) if isinstance(each, Update)]
    return {program.arrays[each.array].dtype for each in updates}


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


class _Kernel(LoopPrinter):
    """The text of one program."""

    to = OPENCL
    block_lengths = (4096, 64)
    shared_memory = "__local"
    barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"

    loaded = staticmethod(load)
    stored = staticmethod(store)

    @property
    def parameters(self) -> tuple[Array | Scalar, ...]:
        """Arrays, those of scratch memory last, and numbers."""
        return (*self.program.parameters, *self.program.scratch)

    def source(self, *, doubles: bool) -> str:
        """Everything."""
        given = [part for each in self.parameters for part in self.parameter(each)]
        given += [f"const long {word}" for word in self.program.words]
        self.print_body()
        head = f"__kernel void run({', '.join(given)}) {{"
        extension = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n" if self.exchanges_long() else ""
        own = [f"    {each}" for each in [*self.local, *self.begin()]]
        return extension + "\n".join(
            [prelude(doubles=doubles), margins(self.to), *self.text_of_functions(), head, *own, *self.lines, "}", ""]
        )

    def exchanges_long(self) -> bool:
        """Whether elements of 64 bits are exchanged."""
        return not self.program.is_serial and any(_WORDS[each.name] == "ulong" for each in _exchanged(self.program))

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
        for each in self.parameters:
            if isinstance(each, Array):
                kind = f"__global {self.to.stored_type(each.dtype)}*"
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

    def exchanged(self, each: Update) -> None:
        """See ``LoopPrinter``: as long as it takes until nobody else has changed it."""
        dtype, (result,) = self.arrays[each.array].dtype, each.graph.result_types
        there, made, target = self.fresh("there"), self.fresh("made"), self.place(each.array, each.index)
        word, own, stored = _WORDS[dtype.name], self.to.stored_type(dtype), ScalarType(dtype.name)
        kind = f"volatile {self.shared_memory if each.array in self.common else '__global'} {word}*"
        exchange = "atomic_cmpxchg" if word == "uint" else "atom_cmpxchg"
        with self.braces(""):
            self.say(f"{kind} word_ = ({kind})({each.array} + {target});")
            self.say(f"{word} seen_ = *word_, assumed_;")
            with self.braces("do"):
                self.say("assumed_ = seen_;")
                self.declared(there, each.there, self.to.converted(f"as_{own}(assumed_)", stored, each.there))
                self.made(each.graph, [there if name is None else name for name in each.arguments], [made])
                self.say(f"seen_ = {exchange}(word_, assumed_, as_{word}({self.to.converted(made, result, stored)}));")
                if each.name is not None:
                    self.say(f"{each.name} = {there};")
            self.lines[-1] += " while (seen_ != assumed_);"
