"""Readable text of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from opdsl.kernels.kernel import Access, Count, Fold, Index, Kernel, Number, Old, Part, Read, Word, varying
from opdsl.scalar.graph import TypedGraph, show

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Source

__all__ = ["kernel_text"]


def kernel_text(kernel: Kernel) -> str:
    """Return the text of a kernel: its operands, a line for each source, fold, scan, and write, and the scalar graphs.

    Example:
        >>> from opdsl.kernels.building import POINTS, TURNS, KernelBuilder
        >>> from opdsl.kernels.loops.making import pairwise
        >>> from opdsl.scalar.types import ScalarType
        >>> kind = ScalarType.FLOAT32
        >>> builder = KernelBuilder("total", (POINTS, TURNS))
        >>> value = builder.read(builder.array("x", (POINTS, TURNS)), kind)
        >>> (total,) = builder.fold((TURNS,), (value,), (0,), pairwise(("add",), (kind,)))
        >>> builder.write(builder.array("out", (POINTS,)), total)
        >>> print(kernel_text(builder.finish()))
        kernel total(x[*i, *j]) -> out[*i]:
            r0: float32 = x[*i, *j]
            part0_0: float32 = fold over *j of combine_0 from (0,): r0
            out[*i] = part0_0
        <BLANKLINE>
        def combine_0(a0: float32, b0: float32) -> float32:
            t0: float32 = a0 + b0
            return t0
    """
    return _Text(kernel).text()


class _Text:
    """Printer of one kernel.

    ranges: the text of each range.
    names: of the parameters of the graph, and of its results.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.ranges = {axis.name: f"*{axis.name}" if axis.is_pack else axis.name for axis in kernel.ranges}
        self.parameters = [parameter for parameter, _ in kernel.graph.parameters]
        self.names = dict(enumerate(self.parameters))
        graphs = dict.fromkeys(loop.combine if isinstance(loop, Fold) else loop.step for loop in kernel.loops)
        self.graphs = {graph: f"{graph.name}_{place}" for place, graph in enumerate(graphs)}

    def text(self) -> str:
        """Return the whole text."""
        kernel = self.kernel
        written = kernel.outputs
        inputs = [self._operand(operand.name) for operand in kernel.operands if operand.name not in written]
        words = f"; {', '.join(kernel.words)}" if kernel.words else ""
        outputs = ", ".join(self._operand(name) for name in written)
        lines = [f"kernel {kernel.name}({', '.join(inputs)}{words}) -> {outputs}:"]
        lines += [f"    {line}" for line in self._body()]
        texts = [show(TypedGraph(name, graph.nodes, graph.results)) for graph, name in self.graphs.items()]
        return "\n\n".join(["\n".join(lines), *texts])

    def _operand(self, name: str) -> str:
        operand = self.kernel.operand(name)
        if name in self.kernel.numbers:
            return name
        dims = [f"{step}:{size}" for step, size in operand.extents] or ["_"] * operand.dims
        return f"{name}[{', '.join([*(self.ranges[axis] for axis in operand.ranges), *dims])}]"

    def _body(self) -> Iterator[str]:
        shown: set[int] = set()
        for at, source in enumerate(self.kernel.sources):
            if isinstance(source, Read):
                yield from self._nodes(self.kernel.graph.results[place] for place in source.at)
            if isinstance(source, Part) and source.loop not in shown:
                shown.add(source.loop)
                yield from self._loop(source.loop)
            elif not isinstance(source, (Part, Number, Word)):
                yield f"{self.parameters[at]}: {self.kernel.graph.nodes[at].type.value} = {self._source(source)}"
        for write in self.kernel.writes:
            yield from self._nodes(self.kernel.graph.results[at] for at in (*write.at, write.value))
            yield f"{self._element(write)} = {self._result(write.value)}"

    def _source(self, source: Source) -> str:
        match source:
            case Index(ranges):
                return f"number of ({', '.join(self.ranges[range_name] for range_name in ranges)})"
            case Count(name):
                return f"count of {self.ranges[name]}"
            case Read():
                return self._element(source)
            case Old(write):
                return f"old {self.kernel.writes[write].operand}"
            case _:
                return ""

    def _loop(self, loop: int) -> Iterator[str]:
        own = self.kernel.loops[loop]
        yield from self._nodes(self.kernel.graph.results[at] for at in own.values)
        graph = own.combine if isinstance(own, Fold) else own.step
        parts = [f"part{loop}_{k}: {kind.value}" for k, kind in enumerate(graph.result_types)]
        values = ", ".join(self._result(at) for at in own.values)
        if isinstance(own, Fold):
            order = " in order" if own.in_order else ""
            over = f"fold over {', '.join(self.ranges[range_name] for range_name in own.over)}{order}"
        else:
            way = "scan" if own.is_associative else "recurrence"
            over = f"{way} over {self.ranges[own.over]}{' in reverse' if own.is_reverse else ''}"
        yield f"{', '.join(parts)} = {over} of {self.graphs[graph]} from {own.init}: {values}"

    def _element(self, access: Access) -> str:
        ranges = [self.ranges[range_name] for range_name in self.kernel.operand(access.operand).ranges]
        place = ", ".join([*ranges, *(self._result(at) for at in access.at)])
        padding = "" if access.padding is None else f" outside {access.padding!r}"
        return f"{access.operand}[{place}]{padding}"

    def _result(self, at: int) -> str:
        return self._name(self.kernel.graph.results[at])

    def _name(self, node: int) -> str:
        own = self.kernel.graph.nodes[node]
        return repr(own.value) if own.op == "constant" else self.names[node]

    def _nodes(self, nodes: Iterable[int]) -> Iterator[str]:
        """Yield a line for each operation that nodes need and that has none yet."""
        for node in nodes:
            own = self.kernel.graph.nodes[node]
            if own.op == "constant" or node in self.names:
                continue
            yield from self._nodes(own.arguments)
            self.names[node] = f"t{node}"
            arguments = ", ".join(self._name(at) for at in own.arguments)
            along = "".join(f" {range_name}" for range_name in self.ranges if range_name in varying(self.kernel)[node])
            yield f"t{node}: {own.type.value} = {own.op}({arguments})  # along{along or ' nothing'}"
