"""Pointwise programs: loads, a printed scalar function, stores, for every element.

Operands whose elements follow each other have two kernels. ``vectors`` loads and stores up to 128 bits at once, where
all arrays begin at multiples of so many bytes. ``strided`` finds each element from its position, and is the only kernel
for operands that lie in other ways. Shapes and strides are parameters, so a new shape compiles nothing; the number of
coalesced dimensions and whether 32 bits address everything are part of the source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.program import (
    Argument,
    Launch,
    Program,
    Source,
    Variant,
    blocks_for,
    long_long,
    operand_arguments,
)
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, number_type, stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec, PointwiseCall
    from opdsl.scalar.graph import TypedGraph
    from opdsl.scalar.types import ScalarType

__all__ = ["pointwise"]

THREADS = 256

_LARGEST_VECTOR = 16
_MOST_ELEMENTS = 8

# How an operand lies in a loop of one dimension: its elements follow each other, are all one, or something else; or
# it is a number, or lies nowhere.
_CONTIGUOUS, _SINGLE, _STRIDED, _NUMBER, _INDEX = "csxni"


def pointwise(graph: TypedGraph, call: PointwiseCall) -> Program:
    """The program of a scalar graph for a call.

    Args:
        graph: the function; its parameter and result types may differ from how the operands are stored.
        call: where the operands lie.
    """
    kernels = _Kernels(graph, call)
    count = math.prod(call.sizes)
    if count == 0:
        return Program(kernels.source(), len(kernels.operands), (Variant(1, ()),))
    variants = []
    if kernels.is_flat:
        grid = blocks_for(-(-count // kernels.elements), THREADS)
        arguments = (*kernels.arguments, long_long(count))
        variants.append(Variant(kernels.alignment, (Launch("vectors", grid, (THREADS, 1, 1), arguments),)))
    arguments = (*kernels.arguments, kernels.layout, long_long(count))
    variants.append(Variant(1, (Launch("strided", blocks_for(count, THREADS), (THREADS, 1, 1), arguments),)))
    return Program(kernels.source(), len(kernels.operands), tuple(variants))


# How the element of an operand is spelled.
_Place: TypeAlias = Callable[[int], str]


class _Kernels:
    """The kernels of one graph and one call.

    elements: that a thread of ``vectors`` computes.
    alignment: bytes that the addresses of its arrays have to be multiples of.
    """

    def __init__(self, graph: TypedGraph, call: PointwiseCall) -> None:
        self.graph = graph
        self.inputs = [(spec, kind) for spec, (_, kind) in zip(call.inputs, graph.parameters, strict=True)]
        self.outputs = list(zip(call.outputs, graph.result_types, strict=True))
        self.operands = [*self.inputs, *self.outputs]
        self.placed = [k for k, (spec, _) in enumerate(self.operands) if spec.strides is not None]
        self.arrays = [k for k in self.placed if not self.operands[k][0].counts]
        strides = [self.operands[k][0].strides or () for k in self.placed]
        self.layout = layout(call.sizes, strides)
        self.letters = "".join(_letter(spec) for spec, _ in self.operands)
        writes = self.letters[len(self.inputs) :]
        self.is_flat = len(call.sizes) <= 1 and _STRIDED not in self.letters and _SINGLE not in writes
        largest = max(self.operands[k][0].dtype.itemsize for k in self.arrays)
        self.elements = max(1, min(_LARGEST_VECTOR // largest, _MOST_ELEMENTS))
        self.alignment = self.elements * largest

    @property
    def arguments(self) -> list[Argument]:
        """The parameters that all kernels begin with."""
        return operand_arguments(self.operands)

    def source(self) -> Source:
        """The translation unit."""
        stored = " ".join(f"{spec.dtype.name}:{kind}" for spec, kind in self.operands)
        letters = self.letters if self.is_flat else self.letters.replace(_SINGLE, _STRIDED)
        fingerprint = f"pointwise {self.graph.fingerprint} {stored} {letters} {self.layout.c_type}"
        return Source(fingerprint, ("prelude",), self._print)

    def _print(self) -> str:
        from opdsl.backends.cuda.printer import function_source

        kernels = [self._vectors()] if self.is_flat else []
        return "\n".join([function_source(self.graph, "function"), *kernels, self._strided()])

    def _vectors(self) -> str:
        """The kernel for operands whose elements follow each other."""
        given = [k for k in self.arrays if k < len(self.inputs)]
        made = [k for k in self.arrays if k >= len(self.inputs)]
        loads = [self._load(k) for k in given]
        stores = [f"        {self._pack(k)}(operand{k} + first) = pack{k};" for k in made]
        places = {k: f"single{k}" if self.letters[k] == _SINGLE else f"pack{k}.element[at]" for k in self.arrays}
        indices = [k for k in self.placed if k not in self.arrays]
        places |= {k: f"first + at + operand{k}" for k in indices}
        singles = {k: f"*operand{k}" if self.letters[k] == _SINGLE else f"operand{k}[at]" for k in self.arrays}
        singles |= {k: f"at + operand{k}" for k in indices}
        return "\n".join(
            [
                f'extern "C" __global__ void __launch_bounds__({THREADS}) vectors(',
                f"    {self._parameters()}, long long count) {{",
                "    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
                f"    const long long first = thread * {self.elements};",
                f"    if (first + {self.elements} <= count) {{",
                *loads,
                *[f"        Pack<{self._stored(k)}, {self.elements}> pack{k};" for k in made],
                "#pragma unroll",
                f"        for (int at = 0; at < {self.elements}; ++at) {{",
                *self._element(places.__getitem__, "            "),
                "        }",
                *stores,
                "    } else {",
                "        for (long long at = first; at < count; ++at) {",
                *self._element(singles.__getitem__, "            "),
                "        }",
                "    }",
                "}",
            ]
        )

    def _load(self, k: int) -> str:
        """What is loaded of an input before the loop over the elements of a thread."""
        if self.letters[k] == _SINGLE:
            return f"        const {self._stored(k)} single{k} = *operand{k};"
        return f"        const auto pack{k} = {self._pack(k, 'const ')}(operand{k} + first);"

    def _strided(self) -> str:
        """The kernel for everything else."""

        def place(k: int) -> str:
            if k not in self.arrays:
                return f"offsets[{self.placed.index(k)}] / {self.operands[k][0].dtype.itemsize} + operand{k}"
            const = "const " if k < len(self.inputs) else ""
            offset = f"reinterpret_cast<{const}char*>(operand{k}) + offsets[{self.placed.index(k)}]"
            return f"*reinterpret_cast<{const}{self._stored(k)}*>({offset})"

        return "\n".join(
            [
                f'extern "C" __global__ void __launch_bounds__({THREADS}) strided(',
                f"    {self._parameters()}, const {self.layout.c_type} layout, long long count) {{",
                "    const long long position = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;",
                "    if (position < count) {",
                f"        long long offsets[{len(self.placed)}] = {{}};",
                "        layout.offsets(position, offsets);",
                *self._element(place, "        "),
                "    }",
                "}",
            ]
        )

    def _stored(self, k: int) -> str:
        return stored_type(self.operands[k][0].dtype)

    def _pack(self, k: int, const: str = "") -> str:
        return f"*reinterpret_cast<{const}Pack<{self._stored(k)}, {self.elements}>*>"

    def _parameters(self) -> str:
        return parameters(self.operands, len(self.inputs))

    def _element(self, place: _Place, indent: str) -> list[str]:
        """The statements for one element; all is read before anything is written."""
        values = []
        for k, (spec, kind) in enumerate(self.inputs):
            loaded = f"operand{k}" if spec.strides is None else place(k) if spec.counts else f"load({place(k)})"
            values.append(f"convert<{VALUE_TYPES[kind]}>({loaded})")
        results = [f"{VALUE_TYPES[kind]} result{at};" for at, (_, kind) in enumerate(self.outputs)]
        names = [f"result{at}" for at in range(len(self.outputs))]
        lines = [*results, f"function({', '.join([*values, *names])});"]
        for at, (spec, _) in enumerate(self.outputs):
            stored = loaded_type(spec.dtype)
            lines.append(f"store({place(at + len(self.inputs))}, convert<{stored}>(result{at}));")
        return [indent + line for line in lines]


def parameters(operands: Sequence[tuple[OperandSpec, ScalarType]], inputs: int) -> str:
    """The C++ declarations ``operand0``, ``operand1`` ... of arrays and numbers, the first ones being read only."""
    declared = []
    for k, (spec, kind) in enumerate(operands):
        if spec.strides is None or spec.counts:
            declared.append(f"{number_type(kind)} operand{k}")
        else:
            declared.append(f"{'const ' if k < inputs else ''}{stored_type(spec.dtype)}* operand{k}")
    return ", ".join(declared)


def _letter(spec: OperandSpec) -> str:
    if spec.strides is None:
        return _NUMBER
    if spec.counts:
        return _INDEX if spec.strides in ((), (spec.dtype.itemsize,)) else _STRIDED
    step = spec.strides[-1] if spec.strides else spec.dtype.itemsize
    return {spec.dtype.itemsize: _CONTIGUOUS, 0: _SINGLE}.get(step, _STRIDED)
