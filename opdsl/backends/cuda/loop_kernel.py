"""Printer of loop programs as CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from opdsl.backends.c_printer import loaded_kind
from opdsl.backends.cuda.dialect import CUDA, VALUE_TYPES, number_kind, number_type
from opdsl.backends.cuda.kernel import MEMORY_ALIGNMENT, Kernel, memory_offsets
from opdsl.backends.cuda.points import Points, following, used_by
from opdsl.backends.loop_printer import LoopPrinter
from opdsl.kernels.loops.model import (
    Array,
    Load,
    Local,
    Range,
    Scalar,
    Statement,
    Store,
    TileProduct,
    Update,
    names_of,
)
from opdsl.runtime.dtype import DType
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType

__all__ = ["LoopKernel"]

# Types for which CUDA has an atomic add.
_ADDED = (ScalarType.FLOAT32, ScalarType.FLOAT64, ScalarType.INT32, ScalarType.INT64)


# Shared memory of a launch; the emulated grid of tests has no such memory, and declares it.
_DYNAMIC = """\
#ifdef __CUDA_ARCH__
extern __shared__ Pack<unsigned, {alignment} / sizeof(unsigned)> dynamic_[];
char* const memory_ = reinterpret_cast<char*>(dynamic_);
#else
alignas({alignment}) __shared__ char memory_[{size}];
#endif"""


class LoopKernel(LoopPrinter):
    """Printer of one CUDA kernel, whose threads take one point each.

    The kernel's parameters are those of the program, then the words that are numbers of a call, scratch memory, the
    layouts if arrays have offsets, a structure of the other words if there are any, and the number of points.

    Args:
        kernel: the kernel to print. Without ``points`` its single parallel loop counts from 0.
        divisors: divisors of the words that are numbers of a call.
        functions: names of the scalar functions.

    begins: the byte offset at a point, as C++ text, of each array that has one. follow: arrays with contiguous
        neighbors.
    packs: C++ text of array elements that are in registers. values: C++ text of those that are there as the values that
        they are computed in.
    structures: declarations in front of the kernel.
    """

    to = CUDA
    shared_memory = "__shared__"
    barrier = "__syncthreads();"

    def __init__(self, kernel: Kernel, divisors: Mapping[str, int], functions: dict[TypedGraph, str]) -> None:
        super().__init__(kernel.program)
        self.kernel, self.points, self.divisors, self.functions = kernel, kernel.points, divisors, functions
        names = [] if self.points is None else [name for name, _ in self.points.begins]
        self.begins = {name: f"offsets_[{place}]" for place, name in enumerate(names)}
        self.follow = following(self.program) if self.points is None else self.points.follow
        self.packs: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.structures: list[str] = []

    def source(self, threads: int, layouts: Sequence[str]) -> str:
        """Return the text of the kernel and its structures, without its scalar functions, which ``text_of_functions``
        prints.

        Args:
            threads: the number of threads of a block.
            layouts: the C++ types of its layouts.
        """
        entry, words = self.kernel.entry, [word for word in self.program.words if word not in self.divisors]
        parameters = [self.parameter(parameter) for parameter in self.program.parameters]
        parameters += [f"const long long {word}_" for word in self.divisors]
        parameters += [self.parameter(buffer) for buffer in self.program.scratch]
        named = [("points_", self.points), ("turns_", self.kernel.turns)]
        names = [name for name, points in named if points and points.is_anywhere]
        parameters += [f"const {kind} {name}" for kind, name in zip(layouts, names, strict=True)]
        parameters += [f"const {entry}_words words_"] if words else []
        parameters += [f"const {kind} {name}" for kind, name in self.counts]
        self.lines += [f"    const long long {word} = words_.{word};" for word in words]
        shifts = {word: step.bit_length() - 1 for word, step in self.divisors.items()}
        self.lines += [f"    const long long {word} = {word}_ >> {shift};" for word, shift in shifts.items()]
        self.print_body()
        structure = [f"struct {entry}_words {{ long long {', '.join(words)}; }};"] if words else []
        head = f'extern "C" __global__ void __launch_bounds__({self.bounds(threads)}) {entry}('
        own = [f"    {text}" for text in self.local]
        parameter_text = f"    {', '.join(parameters)}) {{"
        return "\n".join([*structure, *self.structures, head, parameter_text, *own, *self.lines, "}", ""])

    def bounds(self, threads: int) -> str:
        """Return the arguments of ``__launch_bounds__``: the number of threads of a block."""
        return str(threads)

    counts: ClassVar[tuple[tuple[str, str], ...]] = (("long long", "count_"),)

    def parameter(self, tensor: Array | Scalar) -> str:
        """Return the C++ declaration of a kernel parameter."""
        if isinstance(tensor, Array):
            return f"{CUDA.stored_type(tensor.dtype)}* {tensor.name}"
        self.declared(
            tensor.name, tensor.type, CUDA.converted(f"{tensor.name}_", number_kind(tensor.type), tensor.type)
        )
        return f"{number_type(tensor.type)} {tensor.name}_"

    # ----------------------------------------------------------------------------------------------------- the points

    def at_point(self, ranges: Sequence[Range], body: Sequence[Statement]) -> None:
        """See ``LoopPrinter``: a thread takes neighboring points together."""
        if self.program.vector == 1:
            self.block(body)
        else:
            self.together(ranges[-1], body)

    def located(self, ranges: Sequence[Range]) -> None:
        """See ``LoopPrinter``."""
        vector = self.program.vector
        if self.is_team:
            self.say(f"const int lane_ = threadIdx.x, lanes_ = {self.program.lanes};")
            self.say("long long point_ = blockIdx.x;")
        else:
            self.say("long long point_ = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;")
        if self.points is None:
            if vector > 1:
                self.say(f"const long long first_ = point_ * {vector};")
            else:
                self.say("if (point_ >= count_) return;")
                self.unravelled("point_", ranges)
            return
        self.say("if (point_ >= count_) return;")
        self.offsets("offsets_", "points_.offsets(point_, offsets_);", self.points, ranges[-1][0] if vector > 1 else "")

    def offsets(self, text: str, call: str, points: Points, first: str = "") -> None:
        """Print the statements that compute array offsets and indices at a point, or in an iteration of a fold at the
        point.

        Args:
            text: the name of the offsets.
            call: the statement that computes them.
            points: the arrays and indices of the layout.
            first: the index that a thread takes several values of; its first value is declared.
        """
        if points.is_anywhere:
            self.say(f"long long {text}[{len(points.begins) + len(points.indices)}] = {{}};")
            self.say(call)
        for place, name in enumerate(points.indices, len(points.begins)):
            self.types[name] = ScalarType.INT64
            self.say(f"const long long {'first_' if name == first else name} = {text}[{place}];")

    # ----------------------------------------------------------------------------------------------------- neighbors

    def together(self, along: Range, body: Sequence[Statement]) -> None:
        """Print a body for the neighboring points of a thread, whose elements are loaded and stored as vectors.

        In programs without a layout neighbors are aligned, and the last vector may be incomplete.
        """
        index, size = along
        vector = self.program.vector
        if self.points is None:
            with self.braces(f"if (first_ + {vector} <= {size})"):
                self.packed(index, body)
            with self.braces("else"):
                self.say("#pragma unroll 1")
                with self.braces(f"for (long long {index} = first_; {index} < {size}; ++{index})"):
                    self.types[index] = ScalarType.INT64
                    self.block(body)
        else:
            self.packed(index, body)

    def packed(self, index: str, body: Sequence[Statement]) -> None:
        """Print a body for a full vector of neighboring points: vector loads, a loop over the points, vector stores."""
        same, own = self.parted(index, body)
        self.block(same)
        stores: list[str] = []
        vector = self.program.vector
        for statement in own:
            if isinstance(statement, (Load, Store)) and statement.array in self.follow:
                place = self.place(
                    statement.array, ["first_" if place == index else place for place in statement.index]
                )
                array = self.arrays[statement.array]
                pack, values = self.fresh("pack"), self.fresh("values")
                self.say(f"{CUDA.stored_type(array.dtype)} {pack}[{vector}];")
                self.say(f"{VALUE_TYPES[loaded_kind(array.dtype)]} {values}[{vector}];")
                if isinstance(statement, Load):
                    self.say(self.moved("LOAD", statement.array, pack, place))
                    self.say(f"unpack({values}, {pack});")
                else:
                    stores += [f"pack({pack}, {values});", self.moved("STORE", statement.array, pack, place)]
                self.values[statement.array] = f"{values}[at_]"
        self.say("#pragma unroll")
        with self.braces(f"for (int at_ = 0; at_ < {vector}; ++at_)"):
            if self.points is None or index in self.points.indices:
                self.declared(index, ScalarType.INT64, "first_ + at_")
            self.block(own)
        self.values = {}
        for line in stores:
            self.say(line)

    def parted(self, index: str, body: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
        """Split a body into statements whose results are equal for all neighboring points of a thread, and the
        others.
        """
        parts: tuple[list[Statement], list[Statement]] = ([], [])
        depending: set[object] = {index}
        for statement in body:
            moves = isinstance(statement, Store) or (isinstance(statement, Load) and statement.array in self.follow)
            depends = moves or not depending.isdisjoint(used_by(statement, self.arrays))
            parts[depends].append(statement)
            depending |= names_of(statement) if depends else set()
        return parts

    def moved(self, direction: str, array: str, pack: str, place: str) -> str:
        """Return the C++ statement that loads or stores an array's elements at neighboring points as one vector."""
        if self.points is None:
            return f"move_pack<{direction}, {self.program.vector}>({pack}, &{self.begun(array, place)});"
        vector, step = self.program.vector, f"sizeof({CUDA.stored_type(self.arrays[array].dtype)})"
        return f"move_neighbours<{direction}, {vector}>({pack}, &{self.begun(array, place)}, {step}, 0, {vector});"

    # ------------------------------------------------------------------------------------------------- shared memory

    def kept(self, local: Local) -> None:
        """See ``LoopPrinter``: 16-bit floats are shared as they are stored; much memory is that of the launch."""
        name, dtype, (size,) = local.array.name, local.array.dtype, local.array.sizes
        offsets, total = memory_offsets(self.program)
        if not self.is_team or (dtype.itemsize != 2 and not total):
            super().kept(local)
            return
        self.common.add(name)
        stored = CUDA.stored_type(dtype)
        if not total:
            self.local.append(f"alignas({MEMORY_ALIGNMENT}) {self.shared_memory} {stored} {name}[{size}];")
            return
        if not self.local:
            self.local += _DYNAMIC.format(alignment=MEMORY_ALIGNMENT, size=total).splitlines()
        self.local.append(f"{stored}* const {name} = reinterpret_cast<{stored}*>(memory_ + {offsets[name]});")

    def product(self, product: TileProduct) -> None:
        """See ``LoopPrinter``: a function of ``products.cuh``, which all threads of a block call."""
        assert self.is_team, "threads share tiles"
        self.settle()
        sizes = (product.rows, product.inner, product.columns, *product.steps)
        options = [str(option).lower() for option in (*sizes, product.is_transposed, product.adds)]
        self.say(f"multiply_tiles<{', '.join(options)}>({product.out}, {product.left}, {product.right});")
        self.wait()

    # ------------------------------------------------------------------------------------------------------- elements

    def element(self, array: str, place: str) -> str:
        """Return the C++ expression of an array element: in a register if it has been loaded there, else in memory."""
        return self.packs.get(array) or self.begun(array, place)

    def begun(self, array: str, place: str) -> str:
        """Return the C++ expression of an array element in memory, relative to the array's offset at the point."""
        if array not in self.begins:
            return f"{array}[{place}]"
        return f"behind({array}, {self.begins[array]}, {place})"

    def loaded(self, array: str, place: str, dtype: DType, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        value = self.values.get(array) or f"load({self.element(array, place)})"
        return CUDA.converted(value, loaded_kind(dtype), kind)

    def stored(self, array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
        """See ``LoopPrinter``."""
        value = CUDA.converted(value, kind, loaded_kind(dtype))
        return (
            f"{self.values[array]} = {value};"
            if array in self.values
            else f"store({self.element(array, place)}, {value});"
        )

    def exchanged(self, update: Update) -> None:
        """See ``LoopPrinter``: prints a native atomic add where there is one, else compare-and-swap or a lock."""
        dtype = self.arrays[update.array].dtype
        element = self.begun(update.array, self.place(update.array, update.index))
        kinds = {kind for _, kind in update.graph.parameters}
        (result_type,) = update.graph.result_types
        if _is_sum(update) and kinds == {result_type} and result_type in _ADDED and dtype.name == result_type:
            (value,) = [name for name in update.arguments if name is not None]
            was = "" if update.name is None else f"{update.name} = "
            self.say(f"{was}add_atomically({element}, {value});")
            return
        there = CUDA.converted("load(there_)", loaded_kind(dtype), update.there)
        self.say(f"atomically({element}, [&]({CUDA.stored_type(dtype)}& there_) {{")
        self.depth += 1
        if update.name is not None:
            self.say(f"{update.name} = {there};")
        self.made(update.graph, [there if name is None else name for name in update.arguments], ["made_"])
        self.say(f"store(there_, {CUDA.converted('made_', result_type, loaded_kind(dtype))});")
        self.depth -= 1
        self.say("});")


def _is_sum(update: Update) -> bool:
    """Return whether an update only adds one number to the element."""
    node = update.graph.nodes[update.graph.results[0]]
    return node.op == "add" and len(update.arguments) == 2 and set(node.arguments) == {0, 1}
