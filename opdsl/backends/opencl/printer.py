"""Printer of loop programs as OpenCL C: each point of the outermost loops is a work item, or a group of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opdsl.backends.loop_printer import LoopPrinter, margins
from opdsl.backends.opencl.dialect import OPENCL, VALUE_TYPES, load, prelude, store
from opdsl.kernels.loops.model import Array, Program, Range, Scalar, Update, statements_of
from opdsl.runtime.dtype import DType
from opdsl.scalar.types import BOOL, COMPLEX, ScalarType

__all__ = ["argument_types", "has_atomics", "kernel_source"]

# The integer type as which an element is exchanged atomically; elements of other dtypes are updated serially.
_WORDS: Mapping[str, str] = {
    "float32": "uint",
    "int32": "uint",
    "uint32": "uint",
    "float64": "ulong",
    "int64": "ulong",
    "uint64": "ulong",
}


def has_atomics(program: Program, *, words: int) -> bool:
    """Return whether a device can update all elements that a program updates atomically, by exchanges of ``words``
    bits.
    """
    return all(dtype.name in _WORDS and 8 * dtype.itemsize <= words for dtype in _exchanged(program))


def _exchanged(program: Program) -> set[DType]:
    """Return the dtypes of the elements that a program updates."""
    updates = [statement for statement in statements_of(program.body) if isinstance(statement, Update)]
    return {program.arrays[update.array].dtype for update in updates}


def argument_types(scalar: Scalar) -> list[ScalarType]:
    """Return the types of the kernel arguments for a number: a complex number is two arguments, a bool is a byte."""
    if scalar.type.category == COMPLEX:
        return [scalar.type.real] * 2
    return [ScalarType.UINT8 if scalar.type.category == BOOL else scalar.type]


def kernel_source(program: Program, *, doubles: bool) -> str:
    """Print a loop program as OpenCL C, with a kernel named ``run``.

    Args:
        program: the loops. Each array is two arguments, its buffer and its offset there in bytes; the words come last.
        doubles: whether the device has float64.
    """
    return _Kernel(program).source(doubles=doubles)


class _Kernel(LoopPrinter):
    """Printer of one loop program as an OpenCL kernel."""

    to = OPENCL
    block_lengths = (4096, 64)
    shared_memory = "__local"
    barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"

    loaded = staticmethod(load)
    stored = staticmethod(store)

    @property
    def parameters(self) -> tuple[Array | Scalar, ...]:
        """Return the arrays and numbers of the program, followed by the arrays in scratch memory."""
        return (*self.program.parameters, *self.program.scratch)

    def source(self, *, doubles: bool) -> str:
        """Return the whole source: prelude, scalar functions and kernel."""
        parameters = [part for parameter in self.parameters for part in self.parameter(parameter)]
        parameters += [f"const long {word}" for word in self.program.words]
        self.print_body()
        head = f"__kernel void run({', '.join(parameters)}) {{"
        extension = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n" if self.exchanges_long() else ""
        own = [f"    {text}" for text in [*self.local, *self.begin()]]
        return extension + "\n".join(
            [prelude(doubles=doubles), margins(self.to), *self.text_of_functions(), head, *own, *self.lines, "}", ""]
        )

    def exchanges_long(self) -> bool:
        """Return whether the program exchanges elements of 64 bits atomically."""
        return not self.program.is_serial and any(_WORDS[dtype.name] == "ulong" for dtype in _exchanged(self.program))

    def parameter(self, tensor: Array | Scalar) -> list[str]:
        """Return the OpenCL declarations of a kernel parameter."""
        if isinstance(tensor, Array):
            return [f"__global uchar* m_{tensor.name}", f"const long o_{tensor.name}"]
        self.types[tensor.name] = tensor.type
        names = (
            ["_real", "_imag"] if tensor.type.category == COMPLEX else ["_byte" if tensor.type.category == BOOL else ""]
        )
        kinds = argument_types(tensor)
        return [f"const {VALUE_TYPES[kind]} {tensor.name}{name}" for kind, name in zip(kinds, names, strict=True)]

    def begin(self) -> list[str]:
        """Return the first lines of the kernel, which compute array pointers, and complex and bool numbers from their
        arguments.
        """
        lines = []
        for parameter in self.parameters:
            if isinstance(parameter, Array):
                kind = f"__global {self.to.stored_type(parameter.dtype)}*"
                lines.append(f"{kind} {parameter.name} = ({kind})(m_{parameter.name} + o_{parameter.name});")
            elif parameter.type.category == COMPLEX:
                value = OPENCL.complex_value(parameter.type, f"{parameter.name}_real", f"{parameter.name}_imag")
                lines.append(f"const {VALUE_TYPES[parameter.type]} {parameter.name} = {value};")
            elif parameter.type.category == BOOL:
                lines.append(f"const bool {parameter.name} = {parameter.name}_byte != 0;")
        return lines

    def located(self, ranges: Sequence[Range]) -> None:
        """Print the statements that compute the indices of a work item, or of its group.

        There are as many groups as points. PoCL miscompiles loops after barriers if some groups might leave earlier.
        """
        if self.is_team:
            self.say(f"const long lane_ = get_local_id(0), lanes_ = {self.program.lanes};")
            self.say("long point_ = get_group_id(0);")
        else:
            self.say("long point_ = get_global_id(0);")
            count = " * ".join(str(size) for _, size in ranges) or "1"
            self.say(f"if (point_ >= {count}) return;")
        self.unravelled("point_", ranges)

    def exchanged(self, update: Update) -> None:
        """See ``LoopPrinter``: repeats compare-and-swap until no other work item has changed the element."""
        dtype, (result_type,) = self.arrays[update.array].dtype, update.graph.result_types
        there, fresh, target = self.fresh("there"), self.fresh("made"), self.place(update.array, update.index)
        word, own, stored = _WORDS[dtype.name], self.to.stored_type(dtype), ScalarType(dtype.name)
        kind = f"volatile {self.shared_memory if update.array in self.common else '__global'} {word}*"
        exchange = "atomic_cmpxchg" if word == "uint" else "atom_cmpxchg"
        with self.braces(""):
            self.say(f"{kind} word_ = ({kind})({update.array} + {target});")
            self.say(f"{word} seen_ = *word_, assumed_;")
            with self.braces("do"):
                self.say("assumed_ = seen_;")
                self.declared(there, update.there, self.to.converted(f"as_{own}(assumed_)", stored, update.there))
                self.made(update.graph, [there if name is None else name for name in update.arguments], [fresh])
                self.say(
                    f"seen_ = {exchange}(word_, assumed_, as_{word}({self.to.converted(fresh, result_type, stored)}));"
                )
                if update.name is not None:
                    self.say(f"{update.name} = {there};")
            self.lines[-1] += " while (seen_ != assumed_);"
