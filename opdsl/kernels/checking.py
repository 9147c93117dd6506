"""Verifier of kernels: the rules that functions of kernels, and backends, rely on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.errors import KernelError
from opdsl.kernels.kernel import (
    Access,
    Count,
    Fold,
    Index,
    Number,
    Old,
    Part,
    Read,
    Scan,
    Word,
    loops_behind,
    ranges_of,
    sources_behind,
)
from opdsl.scalar.types import INTEGER

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel

__all__ = ["check_kernel"]


def check_kernel(kernel: Kernel) -> None:
    """Verify that a kernel keeps the rules.

    The graph's parameters are the sources, in order. Names of ranges, operands and words are known, and each is used
    once. Sources, folds and scans depend on earlier ones only. Indices are integers, one for each further dimension of
    an operand. What is folded varies along the ranges that it is folded over; accumulators have the types of the
    graphs that combine them. Each output is written.

    Raises:
        KernelError: a rule is broken.
    """
    _Check(kernel).whole()


class _Check:
    """Check of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.types = kernel.graph.result_types
        self.ranges = {axis.name for axis in kernel.ranges}

    def require(self, holds: bool, rule: str) -> None:
        """Raise KernelError unless a rule holds."""
        if not holds:
            raise KernelError(f"the kernel {self.kernel.name} breaks a rule: {rule}.")

    def whole(self) -> None:
        """Check all rules."""
        kernel = self.kernel
        parameters = [node.op == "parameter" for node in kernel.graph.nodes]
        count = len(kernel.sources)
        self.require(all(parameters[:count]) and not any(parameters[count:]), "its sources are its graph's parameters")
        self._names()
        for at, source in enumerate(kernel.sources):
            self._source(at, source)
        for at, loop in enumerate(kernel.loops):
            self._loop(at, loop)
        for write in kernel.writes:
            self._access(write)
            self.require(write.value < len(self.types), f"{write.operand} is written with a result")
            self.require({*write.over} <= self.ranges, f"{write.operand} is written over ranges of the kernel")

    def _names(self) -> None:
        kernel = self.kernel
        operands = [operand.name for operand in kernel.operands]
        names = [*(axis.name for axis in kernel.ranges), *operands, *kernel.words]
        self.require(len({*names}) == len(names), "names differ")
        self.require(
            operands[len(operands) - len(kernel.outputs) :] == [*kernel.outputs], "outputs are the last operands"
        )
        extents = {name for operand in kernel.operands for pair in operand.extents for name in pair}
        for operand in kernel.operands:
            self.require({*operand.ranges} <= self.ranges, f"the ranges of {operand.name} are the kernel's")
            self.require(len({*operand.ranges}) == len(operand.ranges), f"the ranges of {operand.name} differ")
            self.require(
                not operand.extents or len(operand.extents) == operand.dims,
                f"each further dimension of {operand.name} has its size and stride",
            )
        self.require(extents <= {*operands}, "sizes and strides are operands")

    def _source(self, at: int, source: object) -> None:
        kernel = self.kernel
        match source:
            case Index(ranges):
                self.require(bool(ranges) and {*ranges} <= self.ranges, f"{ranges} are ranges")
            case Count(name):
                self.require(name in self.ranges, f"{name} is a range")
            case Word(name):
                self.require(name in kernel.words, f"{name} is a word")
            case Number(name):
                self.require(any(operand.name == name for operand in kernel.operands), f"{name} is an operand")
            case Read():
                self._access(source)
                self._earlier(at, source.at)
            case Part(loop, index):
                self.require(loop < len(kernel.loops), f"there is a loop {loop}")
                own = kernel.loops[loop]
                graph = own.combine if isinstance(own, Fold) else own.step
                self.require(index < len(graph.result_types), f"the loop {loop} has a result {index}")
                kind = kernel.graph.nodes[at].type
                self.require(graph.result_types[index] is kind, f"result {index} of the loop {loop} is {kind.value}")
                self._earlier(at, own.needs)
            case Old(write):
                self.require(write < len(kernel.writes), f"there is a write {write}")

    def _earlier(self, at: int, results: Sequence[int]) -> None:
        """Check that results depend on sources before one only."""
        self.require(all(k < len(self.types) for k in results), f"source {at} depends on results")
        behind = sources_behind(self.kernel, results)
        self.require(all(other < at for other in behind), f"source {at} depends on earlier ones")

    def _access(self, access: Access) -> None:
        names = [operand.name for operand in self.kernel.operands]
        self.require(access.operand in names, f"{access.operand} is an operand")
        dims = self.kernel.operand(access.operand).dims
        self.require(len(access.at) == dims, f"an element of {access.operand} has {dims} computed indices")
        are_whole = all(self.types[at].category == INTEGER for at in access.at if at < len(self.types))
        self.require(are_whole, f"the indices of {access.operand} are integers")

    def _loop(self, at: int, loop: Fold | Scan) -> None:
        kernel = self.kernel
        over = loop.over if isinstance(loop, Fold) else (loop.over,)
        self.require(
            {*over} <= self.ranges and len({*over}) == len(over), f"the loop {at} is over ranges of the kernel"
        )
        self.require(
            all(other < at for other in loops_behind(kernel, loop.needs)), f"the loop {at} waits for earlier ones"
        )
        self.require(not {*over} & ranges_of(kernel, loop), f"the loop {at} does not vary along what it is over")
        count, values = len(loop.init), tuple(self.types[k] for k in loop.values)
        if isinstance(loop, Fold):
            kinds = loop.combine.result_types
            taken = tuple(kind for _, kind in loop.combine.parameters)
            self.require(values == kinds and taken == kinds * 2, f"the loop {at} combines what it folds")
            self.require(count == len(kinds), f"the loop {at} has a value of no iterations for each accumulator")
        else:
            taken = tuple(kind for _, kind in loop.step.parameters)
            self.require(taken[count:] == values, f"the step of the loop {at} takes its values")
            self.require(
                taken[:count] == loop.step.result_types[:count], f"the loop {at} carries what its step returns"
            )
            (pack,) = (axis.is_pack for axis in kernel.ranges if axis.name == loop.over)
            self.require(not pack, f"the loop {at} is over a range of one dimension")
