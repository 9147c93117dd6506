"""Programs of loops that read or write elements where positions lead: ``gather``, ``scatter``, ``x[indices]``.

Threads run in no order. Where several steps lead to one place, one of them stays written; an update takes all of them,
in any order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.layouts import layout
from opdsl.backends.cuda.pointwise import parameters
from opdsl.backends.cuda.program import Launch, Program, Source, Variant, blocks_for, long_long, operand_arguments
from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, stored_type
from opdsl.kernels.calls import OperandSpec
from opdsl.runtime.dtype import int64
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import IndirectCall
    from opdsl.scalar.graph import TypedGraph

__all__ = ["indirect"]

THREADS = 256

_LARGEST_VECTOR = 16

# What memory itself can add to.
_ADDED = (ScalarType.FLOAT32, ScalarType.FLOAT64, ScalarType.INT32, ScalarType.INT64)


def indirect(graph: TypedGraph, call: IndirectCall) -> Program:
    """The program of a loop with positions.

    Args:
        graph: the function.
        call: where the operands lie, and which of them positions move.

    Returns:
        Its operands are the inputs, the arrays of positions, then for each of these how many bytes lie between
        neighbours of its dimension, then for each how many there are, then the output.
    """
    count = len(call.positions)
    numbers = [(OperandSpec(int64, None), ScalarType.INT64)] * (2 * count)
    operands = [
        *zip(call.inputs, (kind for _, kind in graph.parameters), strict=True),
        *((spec, ScalarType.INT64) for spec in call.positions),
        *numbers,
        (call.output, graph.result_types[0]),
    ]
    items = items_of(call)
    arrays = [spec for spec, _ in operands if spec.strides is not None]
    sizes = (*call.sizes[:-1], call.sizes[-1] // items) if items > 1 else call.sizes
    # The last dimension steps from one set of neighbours to the next.
    strides = [(*spec.strides[:-1], spec.strides[-1] * items) if spec.strides else () for spec in arrays]
    form = layout(sizes, strides)
    stored = " ".join(f"{spec.dtype.name if spec.strides is not None else 'number'}:{kind}" for spec, kind in operands)
    single = [spec.strides is not None and items > 1 and spec.strides[-1] == 0 for spec in call.inputs]
    text = f"indirect {graph.fingerprint} {stored} {count} {call.reads} {call.writes} {items} {single} {form.c_type}"
    body = functools.partial(_print, graph, call, operands, form.c_type, items)
    source = Source(text, ("prelude", "neighbours", "indirect"), body)
    steps = math.prod(sizes)
    if steps == 0:
        return Program(source, len(operands), (Variant(1, ()),))
    arguments = (*operand_arguments(operands), form, long_long(steps))
    launch = Launch("indirect", blocks_for(steps, THREADS), (THREADS, 1, 1), arguments)
    return Program(source, len(operands), (Variant(1, (launch,)),))


def items_of(call: IndirectCall) -> int:
    """How many neighbours a thread takes: they have their positions in common."""
    data = [*call.inputs, call.output]
    if is_update(call) or not call.sizes or any(spec.strides and spec.strides[-1] for spec in call.positions):
        return 1
    places = (call.reads, len(data) - 1 if call.writes else None)
    for index, spec in enumerate(data):
        if (
            spec.strides is not None
            and spec.strides[-1] != spec.dtype.itemsize
            and (spec.strides[-1] or index in places or index == len(data) - 1)
        ):
            return 1
    largest = max(spec.dtype.itemsize for spec in data if spec.strides is not None)
    return math.gcd(call.sizes[-1], max(1, _LARGEST_VECTOR // largest))


def is_update(call: IndirectCall) -> bool:
    """Whether what is written depends on what is there."""
    return call.writes and call.reads is not None


def _print(
    graph: TypedGraph, call: IndirectCall, operands: Sequence[tuple[OperandSpec, ScalarType]], form: str, items: int
) -> str:
    from opdsl.backends.cuda.printer import function_source

    kernel = _Kernel(graph, call, operands, items)
    body = kernel.update() if is_update(call) else kernel.copy()
    count = len(kernel.arrays)
    return f"""{function_source(graph, "function")}
extern "C" __global__ void __launch_bounds__({THREADS}) indirect(
    {parameters(operands, len(operands) - 1)}, const {form} layout, long long count) {{
    const long long position = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (position < count) {{
        long long offsets[{count}] = {{}};
        layout.offsets(position, offsets);
        const long long move = {kernel.move()};
{chr(10).join(f"        {each}" for each in body)}
    }}
}}"""


class _Kernel:
    """The kernel of one graph and one call."""

    def __init__(
        self, graph: TypedGraph, call: IndirectCall, operands: Sequence[tuple[OperandSpec, ScalarType]], items: int
    ) -> None:
        self.graph, self.call, self.operands, self.items = graph, call, operands, items
        self.arrays = [k for k, (spec, _) in enumerate(operands) if spec.strides is not None]
        self.inputs = list(range(len(call.inputs)))
        self.output = len(operands) - 1

    def move(self) -> str:
        """How far all positions move a place."""
        first, count = len(self.inputs), len(self.call.positions)
        moves = [
            f"moved(element<long long>(operand{k}, offsets[{self.arrays.index(k)}]), "
            f"operand{k + count}, operand{k + 2 * count})"
            for k in range(first, first + count)
        ]
        return " + ".join(moves) or "0"

    def copy(self) -> list[str]:
        """Load, compute, store."""
        given = [k for k in self.inputs if k in self.arrays]
        stored, kind = self._stored(self.output), VALUE_TYPES[self.graph.result_types[0]]
        values = [self._value(k, f"loaded{k}[item]") for k in self.inputs]
        loaded = loaded_type(self.call.output.dtype)
        lines = []
        for k in given:
            step = (
                0 if self.items > 1 and (self.operands[k][0].strides or (1,))[-1] == 0 else f"sizeof({self._stored(k)})"
            )
            lines.append(f"{self._stored(k)} loaded{k}[{self.items}] = {{}};")
            lines.append(f"load_neighbours<{self.items}>(loaded{k}, &{self._place(k)}, {step}, 0, {self.items});")
        return [
            *lines,
            f"{stored} made[{self.items}];",
            f"for (int item = 0; item < {self.items}; ++item) {{",
            f"    {kind} result;",
            f"    function({', '.join([*values, 'result'])});",
            f"    store(made[item], convert<{loaded}>(result));",
            "}",
            f"store_neighbours<{self.items}>(made, &{self._place(self.output)}, sizeof({stored}), 0, {self.items});",
        ]

    def update(self) -> list[str]:
        """Change what is there."""
        stored, kind = self._stored(self.output), VALUE_TYPES[self.graph.result_types[0]]
        loaded = loaded_type(self.call.output.dtype)
        place = self._place(self.output)
        added = self._added()
        if added is not None:
            given = self._place(added) if added in self.arrays else ""
            return [f"add_atomically({place}, {self._value(added, given)});"]
        target = self.call.reads
        values = [self._value(k, "there" if k == target else f"given{k}") for k in self.inputs]
        others = [k for k in self.inputs if k in self.arrays and k != target]
        return [
            *(f"const auto given{k} = {self._place(k)};" for k in others),
            f"atomically({place}, [&]({stored}& there) {{",
            f"    {kind} result;",
            f"    function({', '.join([*values, 'result'])});",
            f"    store(there, convert<{loaded}>(result));",
            "});",
        ]

    def _added(self) -> int | None:
        """The input that is added to what is there, where that is all."""
        node = self.graph.nodes[self.graph.results[0]]
        kind = self.operands[self.output][1]
        target = self.call.reads
        same = target is not None and self.call.output.dtype.name == kind == self.graph.parameters[target][1]
        if not same or node.op != "add" or kind not in _ADDED or len(set(node.arguments)) < 2:
            return None
        others = [each for each in node.arguments if each != target]
        return others[0] if len(others) == 1 and others[0] in self.inputs else None

    def _value(self, k: int, place: str) -> str:
        loaded = f"load({place})" if k in self.arrays else f"operand{k}"
        return f"convert<{VALUE_TYPES[self.operands[k][1]]}>({loaded})"

    def _place(self, k: int) -> str:
        """An operand's element, or the first of those of a thread."""
        moved = k == self.call.reads or (k == self.output and self.call.writes)
        move = " + move" if moved else ""
        return f"element<{self._stored(k)}>(operand{k}, offsets[{self.arrays.index(k)}]{move})"

    def _stored(self, k: int) -> str:
        return stored_type(self.operands[k][0].dtype)
