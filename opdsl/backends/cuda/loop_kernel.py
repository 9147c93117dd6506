"""Prints loop programs as CUDA C++."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.backends.cuda.printer import CUDA
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, number_type, stored_type
from opdsl.backends.loop_printer import LoopPrinter
from opdsl.kernels.loops.model import Array, Program, Range, Scalar, Update
from opdsl.runtime.dtype import DType
from opdsl.scalar.types import ScalarType

__all__ = ["kernel_source"]

# What memory itself can add to.
_ADDED = (ScalarType.FLOAT32, ScalarType.FLOAT64, ScalarType.INT32, ScalarType.INT64)


def kernel_source(program: Program, threads: int) -> str:
    """A program as CUDA C++, with a kernel named ``loops``.

    Args:
        program: the loops. Its parameters are the kernel's; then come a structure of the words, and how many points
            there are.
        threads: of a block.
    """
    return _Kernel(program).source(threads)


class _Kernel(LoopPrinter):
    """The text of one program."""

    to = CUDA
    shared_memory = "__shared__"

    def source(self, threads: int) -> str:
        """Everything but the headers."""
        words = self.program.words
        members = f"long long {', '.join(words)};" if words else ""
        given = [self.parameter(each) for each in self.program.parameters]
        self.lines += [f"    const long long {word} = words_.{word};" for word in words]
        self.print_body()
        head = f'extern "C" __global__ void __launch_bounds__({threads}) loops('
        declared = ", ".join([*given, "const Words words_", "const long long count_"])
        structure = f"struct Words {{ {members} }};"
        functions = [structure, *self.text_of_functions()]
        return "\n".join([*functions, head, f"    {declared}) {{", *self.local, *self.lines, "}", ""])

    def parameter(self, each: Array | Scalar) -> str:
        """The declaration of a parameter."""
        if isinstance(each, Array):
            return f"{stored_type(each.dtype)}* {each.name}"
        kind = VALUE_TYPES[each.type]
        self.types[each.name] = each.type
        self.lines.append(f"    const {kind} {each.name} = convert<{kind}>({each.name}_);")
        return f"{number_type(each.type)} {each.name}_"

    def located(self, ranges: Sequence[Range]) -> None:
        """See ``LoopPrinter``."""
        self.say("long long point_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;")
        self.say("if (point_ >= count_) return;")
        self.unravelled("point_", ranges)

    def loaded(self, array: str, place: str, dtype: DType, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        return f"convert<{VALUE_TYPES[kind]}>(load({array}[{place}]))"

    def stored(self, array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        return f"store({array}[{place}], convert<{loaded_type(dtype)}>({value}));"

    def update(self, each: Update) -> None:
        """See ``LoopPrinter``: memory adds by itself where it can; elements are exchanged, or locked, elsewhere."""
        dtype = self.arrays[each.array].dtype
        element = f"{each.array}[{self.place(each.array, each.index)}]"
        kinds = {kind for _, kind in each.graph.parameters}
        (result,) = each.graph.result_types
        if _is_sum(each) and kinds == {result} and result in _ADDED and dtype.name == result:
            (value,) = [name for name in each.arguments if name is not None]
            self.say(f"add_atomically({element}, {value});")
            return
        (own,) = [kind for (_, kind), name in zip(each.graph.parameters, each.arguments, strict=True) if name is None]
        there = f"convert<{VALUE_TYPES[own]}>(load(there_))"
        self.say(f"atomically({element}, [&]({stored_type(dtype)}& there_) {{")
        self.depth += 1
        self.made(each.graph, [there if name is None else name for name in each.arguments], ["made_"])
        self.say(f"store(there_, convert<{loaded_type(dtype)}>(made_));")
        self.depth -= 1
        self.say("});")

    def wait(self) -> None:
        """See ``LoopPrinter``."""
        self.say("__syncthreads();")


def _is_sum(each: Update) -> bool:
    """Whether one number is added to what is there, and that is all."""
    node = each.graph.nodes[each.graph.results[0]]
    return node.op == "add" and len(each.arguments) == 2 and set(node.arguments) == {0, 1}
