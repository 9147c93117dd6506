"""The CUDA C++ of pointwise kernels: loads, a printed scalar function, stores, for every element.

Each source has two kernels. ``vectors`` is for operands whose elements follow each other and begin at multiples of
``Pointwise.alignment`` bytes: a thread loads and stores up to 128 bits at once. ``strided`` is for all others: it finds
each element from its position. Shapes and strides are arguments, so a new shape compiles nothing; the number of
coalesced dimensions and whether 32 bits address everything are part of the source.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from opdsl.backends.cuda.printer import VALUE_TYPES, function_source
from opdsl.kernels.calls import OperandSpec, PointwiseCall
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import FLOAT, ScalarType

__all__ = ["Pointwise", "layout", "pointwise_source", "prelude"]

THREADS = 256
_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

# How elements lie in memory, where that is not as they are computed.
_STORED_TYPES = {"bool": "StoredBool", "float16": "Half", "bfloat16": "BFloat16"}

# Python numbers come as these, whatever they are computed in, as they do on the CPU.
_NUMBER_TYPES = {"bool": "long long", "complex64": "Complex<double>", "complex128": "Complex<double>"}


class Pointwise(NamedTuple):
    """A printed kernel.

    source: the text after the prelude.
    elements: that a thread of ``vectors`` computes.
    alignment: bytes that the addresses of its arrays have to be multiples of.
    is_narrow: whether ``strided`` addresses with 32 bits.
    """

    source: str
    elements: int
    alignment: int
    is_narrow: bool


@cache
def prelude() -> str:
    """The text that every source begins with."""
    return (files(__package__) / "prelude.cuh").read_text()


def pointwise_source(graph: TypedGraph, call: PointwiseCall, name: str = "pointwise") -> Pointwise:
    """Print the kernels of a scalar graph for a call's dtypes and layout class.

    Args:
        graph: the function; its parameter and result types may differ from how the operands are stored.
        call: where the operands lie. Only dtypes, which operands are numbers, the number of dimensions and whether
            offsets fit 32 bits enter the source.
        name: an identifier that the kernels' names begin with: ``<name>_vectors`` and ``<name>_strided``.

    Returns:
        The source without the prelude. Both kernels take the operands in order, arrays as addresses, numbers as
        ``double``, ``long long`` or ``Complex<double>``; then ``vectors`` takes the number of elements, ``strided`` the
        structure that ``layout`` packs and the number of elements.
    """
    printer = _Kernels(graph, call, name)
    text = "\n".join([function_source(graph, f"{name}_function"), printer.vectors(), printer.strided()])
    return Pointwise(text, printer.elements, printer.elements * printer.largest, is_narrow(call))


def is_narrow(call: PointwiseCall) -> bool:
    """Whether 32 bits hold every offset, and one more round of threads."""
    if math.prod(call.sizes) > (1 << 31) - 1:
        return False
    return all(
        low >= -(1 << 31) and high < 1 << 31
        for spec in (*call.inputs, *call.outputs)
        for low, high in [_reach(call.sizes, spec.strides or ())]
    )


def _reach(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The smallest and the largest offset in bytes."""
    steps = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=False) if size]
    return sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)


# How the element of an operand is spelled.
_Place: TypeAlias = Callable[[int], str]


class _Kernels:
    """The kernels of one graph and one call."""

    def __init__(self, graph: TypedGraph, call: PointwiseCall, name: str) -> None:
        self.name = name
        self.inputs = [(spec, kind) for spec, (_, kind) in zip(call.inputs, graph.parameters, strict=True)]
        self.outputs = list(zip(call.outputs, graph.result_types, strict=True))
        self.operands = [*self.inputs, *self.outputs]
        self.arrays = [k for k, (spec, _) in enumerate(self.operands) if spec.strides is not None]
        self.layout = layout_type(call)
        self.largest = max(self.operands[k][0].dtype.itemsize for k in self.arrays)
        self.elements = max(1, min(_LARGEST_VECTOR // self.largest, _MOST_ELEMENTS))

    def vectors(self) -> str:
        """The kernel for operands whose elements follow each other."""
        given, made = self._arrays(self.inputs), [k + len(self.inputs) for k in range(len(self.outputs))]
        loads = [f"        const auto pack{k} = {self._pack(k, 'const ')}(operand{k} + first);" for k in given]
        stores = [f"        {self._pack(k)}(operand{k} + first) = pack{k};" for k in made]
        return "\n".join(
            [
                f'extern "C" __global__ void __launch_bounds__({THREADS}) {self.name}_vectors(',
                f"    {self._parameters()}, long long count) {{",
                "    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
                f"    const long long first = thread * {self.elements};",
                f"    if (first + {self.elements} <= count) {{",
                *loads,
                *[f"        Pack<{self._stored(k)}, {self.elements}> pack{k};" for k in made],
                "#pragma unroll",
                f"        for (int at = 0; at < {self.elements}; ++at) {{",
                *self._element(lambda k: f"pack{k}.element[at]", "            "),
                "        }",
                *stores,
                "    } else {",
                "        for (long long at = first; at < count; ++at) {",
                *self._element(lambda k: f"operand{k}[at]", "            "),
                "        }",
                "    }",
                "}",
            ]
        )

    def strided(self) -> str:
        """The kernel for everything else."""

        def place(k: int) -> str:
            const = "const " if k < len(self.inputs) else ""
            offset = f"reinterpret_cast<{const}char*>(operand{k}) + offsets[{self.arrays.index(k)}]"
            return f"*reinterpret_cast<{const}{self._stored(k)}*>({offset})"

        return "\n".join(
            [
                f'extern "C" __global__ void __launch_bounds__({THREADS}) {self.name}_strided(',
                f"    {self._parameters()}, const {self.layout} layout, long long count) {{",
                "    const long long position = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
                "    if (position < count) {",
                f"        long long offsets[{len(self.arrays)}] = {{}};",
                "        layout.offsets(position, offsets);",
                *self._element(place, "        "),
                "    }",
                "}",
            ]
        )

    def _arrays(self, operands: Sequence[tuple[OperandSpec, ScalarType]]) -> list[int]:
        return [k for k, (spec, _) in enumerate(operands) if spec.strides is not None]

    def _stored(self, k: int) -> str:
        """The type of an array's elements."""
        name = self.operands[k][0].dtype.name
        return _STORED_TYPES.get(name) or VALUE_TYPES[ScalarType(name)]

    def _pack(self, k: int, const: str = "") -> str:
        return f"*reinterpret_cast<{const}Pack<{self._stored(k)}, {self.elements}>*>"

    def _parameters(self) -> str:
        declared = []
        for k, (spec, kind) in enumerate(self.operands):
            if spec.strides is None:
                declared.append(f"{number_type(kind)} operand{k}")
            else:
                declared.append(f"{'const ' if k < len(self.inputs) else ''}{self._stored(k)}* operand{k}")
        return ", ".join(declared)

    def _element(self, place: _Place, indent: str) -> list[str]:
        """The statements for one element; all is read before anything is written."""
        values = []
        for k, (spec, kind) in enumerate(self.inputs):
            loaded = f"operand{k}" if spec.strides is None else f"load({place(k)})"
            values.append(f"convert<{VALUE_TYPES[kind]}>({loaded})")
        results = [f"{VALUE_TYPES[kind]} result{at};" for at, (_, kind) in enumerate(self.outputs)]
        names = [f"result{at}" for at in range(len(self.outputs))]
        lines = [*results, f"{self.name}_function({', '.join([*values, *names])});"]
        for at, (spec, _) in enumerate(self.outputs):
            stored = VALUE_TYPES[_loaded(spec.dtype.name)]
            lines.append(f"store({place(at + len(self.inputs))}, convert<{stored}>(result{at}));")
        return [indent + line for line in lines]


def _loaded(dtype: str) -> ScalarType:
    """The type that loading an element gives; 16-bit floating point exists in memory only."""
    return ScalarType.FLOAT32 if dtype in ("float16", "bfloat16") else ScalarType(dtype)


def number_type(kind: ScalarType) -> str:
    """The C++ type in which a Python number is handed over."""
    return _NUMBER_TYPES.get(kind, "double" if kind.category == FLOAT else "long long")


# ------------------------------------------------------------------------------------------------------------- layout


def layout_type(call: PointwiseCall) -> str:
    """The C++ type of a call's layout."""
    kind = "Narrow" if is_narrow(call) else "Wide"
    return f"{kind}<{_array_count(call)}, {max(1, len(call.sizes))}>"


def _array_count(call: PointwiseCall) -> int:
    return sum(spec.strides is not None for spec in (*call.inputs, *call.outputs))


def layout(call: PointwiseCall) -> bytes:
    """A call's sizes and strides as the structure that ``strided`` takes."""
    sizes = tuple(reversed(call.sizes)) or (1,)
    arrays = [spec.strides for spec in (*call.inputs, *call.outputs) if spec.strides is not None]
    strides = [step for d in range(len(sizes)) for step in (each[-1 - d] if each else 0 for each in arrays)]
    if is_narrow(call):
        words = [word for size in sizes for word in divider(size)]
        return bytes((ctypes.c_uint32 * len(words))(*words)) + bytes((ctypes.c_int32 * len(strides))(*strides))
    return bytes((ctypes.c_uint64 * len(sizes))(*sizes)) + bytes((ctypes.c_int64 * len(strides))(*strides))


def divider(divisor: int) -> tuple[int, int, int]:
    """What ``Divider`` in the prelude needs to divide 32-bit numbers by one.

    Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.

    Args:
        divisor: from 1 to 2**31.

    Returns:
        The divisor, the multiplier and the shift.

    >>> divider(10)
    (10, 2576980378, 4)
    """
    shift = (divisor - 1).bit_length()
    return divisor, ((1 << 32) * ((1 << shift) - divisor) // divisor + 1) & 0xFFFFFFFF, shift
