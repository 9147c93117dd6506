"""Copies of parts of kernels into new ones, in which some values are replaced: kernels from kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from opdsl.kernels.kernel import Count, Fold, Index, Number, Old, Part, Read, Word

if TYPE_CHECKING:
    from opdsl.kernels.building import KernelBuilder
    from opdsl.kernels.kernel import Kernel, Operand, Source

__all__ = ["Copier"]


class Copier:
    """Copier of values of a kernel to a builder; operands and ranges keep their names, and are declared by the caller.

    Args:
        kernel: the kernel.
        builder: of the new one.
        replaced: values of the builder for sources of the kernel.
    """

    def __init__(self, kernel: Kernel, builder: KernelBuilder, replaced: Mapping[Source, int] | None = None) -> None:
        self.kernel, self.builder = kernel, builder
        self.ranges = {axis.name: axis for axis in kernel.ranges}
        self._values: dict[int, int] = {}
        self._parts: dict[int, list[int]] = {}
        for source, value in (replaced or {}).items():
            if source in kernel.sources:
                self._values[kernel.sources.index(source)] = value

    def declare(self, operands: Iterable[Operand]) -> None:
        """Declare operands of the kernel, in order; numbers get their value."""
        for operand in operands:
            if operand.name in self.kernel.numbers:
                at = self.kernel.sources.index(Number(operand.name))
                self._values[at] = self.builder.number(operand.name, self.kernel.graph.nodes[at].type)
            else:
                self.builder.operands.append(operand)

    def result(self, at: int) -> int:
        """Return the value of one of the graph's results."""
        return self.node(self.kernel.graph.results[at])

    def results(self, at: Iterable[int]) -> list[int]:
        """Return the values of some of the graph's results."""
        return [self.result(one) for one in at]

    def node(self, at: int) -> int:
        """Return the value of a node of the graph."""
        if at not in self._values:
            node = self.kernel.graph.nodes[at]
            if node.op == "parameter":
                self._values[at] = self._source(self.kernel.sources[at], at)
            else:
                self._values[at] = self.builder.graph.copy(node, tuple(self.node(one) for one in node.arguments))
        return self._values[at]

    def parts(self, loop: int) -> list[int]:
        """Return the results of a fold or scan."""
        if loop not in self._parts:
            own, builder = self.kernel.loops[loop], self.builder
            values = self.results(own.values)
            if isinstance(own, Fold):
                over = [self.ranges[range_name] for range_name in own.over]
                self._parts[loop] = builder.fold(
                    over,
                    values,
                    own.init,
                    own.combine,
                    in_order=own.in_order,
                    of_some=own.of_some,
                    guards=self.results(own.guards),
                )
            else:
                self._parts[loop] = builder.scan(
                    self.ranges[own.over],
                    values,
                    own.init,
                    own.step,
                    is_associative=own.is_associative,
                    is_reverse=own.is_reverse,
                )
        return self._parts[loop]

    def write(self, write: int) -> None:
        """Copy a write, to be called in order for all writes that are copied."""
        own = self.kernel.writes[write]
        place, guards = self.results(own.at), self.results(own.guards)
        over = [self.ranges[range_name] for range_name in own.over]
        self.builder.write(own.operand, self.result(own.value), place, own.padding, guards, over)

    def _source(self, source: Source, at: int) -> int:
        builder, kind = self.builder, self.kernel.graph.nodes[at].type
        match source:
            case Index(ranges):
                return builder.index(*(self.ranges[range_name] for range_name in ranges))
            case Count(name):
                return builder.count(self.ranges[name])
            case Word(name):
                return builder.word(name)
            case Read():
                return builder.read(source.operand, kind, self.results(source.at), source.padding)
            case Part(loop, index):
                return self.parts(loop)[index]
            case Old(write):
                return builder.old(write, kind)
            case Number(operand):
                raise AssertionError(f"the number {operand} is declared")
