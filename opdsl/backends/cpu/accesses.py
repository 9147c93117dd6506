"""Layouts of operands of kernels that access arrays at computed indices, and how their accesses step along loops."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from opdsl.kernels.calls import Layout, OperandSpec
from opdsl.kernels.kernel import SKIP, Access, Index, Kernel, operand_types
from opdsl.kernels.loops.lowering import lowered
from opdsl.kernels.loops.model import Program
from opdsl.kernels.loops.place_schedules import is_repeated
from opdsl.kernels.loops.rewriting import specialised
from opdsl.kernels.loops.stepping import STILL, Step, steps_along
from opdsl.kernels.structure import scatters
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.symbol import largest
from opdsl.scalar.indexed import MARGINS

__all__ = [
    "Accesses",
    "Strides",
    "accesses_of",
    "dimensions_of",
    "index_at",
    "indices_of",
    "is_one",
    "own_sizes",
    "own_units",
    "program_of",
    "sizes_of",
    "strides_of",
]

# Represents a dimension in arrays whose single element is repeated along all dimensions.
_REPEATED = -2

# Placeholder of an unknown stride or size.
_ANY = 1 << 20

# The first offset that int32 cannot hold.
_FAR = 1 << 31


class Strides(NamedTuple):
    """Layout of a call's operands, which together with the kernel determines its loops.

    dimensions: the number of dimensions of each range.
    arrays: for each operand its dtype, and the dimension along which elements are contiguous; -1 for none, or
        ``_REPEATED``. An empty dtype and -1 for a number.
    """

    dimensions: tuple[int, ...]
    arrays: tuple[tuple[str, int], ...]


def indices_of(kernel: Kernel, dimensions: Sequence[int], ranges: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the names of the indices of ranges, or of all of them, outermost first."""
    return tuple(
        name
        for axis, count in zip(kernel.ranges, dimensions, strict=True)
        if ranges is None or axis.name in ranges
        for name in ([f"{axis.name}{k}" for k in range(count)] if axis.is_pack else [axis.name])
    )


def dimensions_of(layout: Layout) -> tuple[int, ...]:
    return tuple(map(len, layout.sizes))


def sizes_of(kernel: Kernel, layout: Layout) -> dict[str, int]:
    """Return the number of values of each index, outermost first."""
    sizes = (size for pack in layout.sizes for size in pack)
    return dict(zip(indices_of(kernel, dimensions_of(layout)), sizes, strict=True))


def own_sizes(kernel: Kernel, layout: Layout) -> Sequence[tuple[int, ...]]:
    """Return the sizes of each operand's further dimensions."""
    return layout.dims or [()] * len(kernel.operands)


def strides_of(kernel: Kernel, layout: Layout) -> Strides:
    sizes = sizes_of(kernel, layout)
    dimensions = dimensions_of(layout)
    arrays = []
    for operand, spec, own in zip(
        kernel.operands, (*layout.inputs, *layout.outputs), own_sizes(kernel, layout), strict=True
    ):
        along = [sizes[index] for index in indices_of(kernel, dimensions, operand.ranges)]
        arrays.append(("", -1) if spec.strides is None else (spec.dtype.name, _side(spec, [*along, *own])))
    return Strides(dimensions, tuple(arrays))


def _side(spec: OperandSpec, sizes: Sequence[int]) -> int:
    """Return the dimension along which elements are contiguous; -1 for none, ``_REPEATED`` for a single repeated
    element.
    """
    strides = spec.strides or ()
    if strides and all(type(stride) is int and stride == 0 for stride in strides):
        return _REPEATED
    dims = [d for d, size in enumerate(sizes) if strides[d] == spec.dtype.itemsize and not is_one(size)]
    return max(dims, default=-1)


def is_one(size: int) -> bool:
    return type(size) is int and size == 1


@functools.lru_cache(maxsize=4096)
def program_of(kernel: Kernel, strides: Strides) -> Program:
    """Return the loops that all calls of a layout share, built from a call with placeholder sizes."""
    types = operand_types(kernel)
    specs = [
        OperandSpec(to_dtype(types[operand.name].value), None)
        if not dtype
        else _spec(to_dtype(dtype), len(indices_of(kernel, strides.dimensions, operand.ranges)) + operand.dims, side)
        for operand, (dtype, side) in zip(kernel.operands, strides.arrays, strict=True)
    ]
    count = len(kernel.operands) - len(kernel.outputs)
    layout = Layout(
        tuple((_ANY,) * count for count in strides.dimensions),
        tuple(specs[:count]),
        tuple(specs[count:]),
        (None,) * len(kernel.outputs),
        tuple((_ANY,) * operand.dims for operand in kernel.operands),
        (_ANY,) * len(kernel.words),
    )
    return lowered(kernel, layout, trusted=True).program


def _spec(dtype: DType, dims: int, side: int) -> OperandSpec:
    if side == _REPEATED:
        return OperandSpec(dtype, (0,) * dims)
    return OperandSpec(dtype, tuple(dtype.itemsize * (1 if d == side else _ANY) for d in range(dims)))


def index_at(kernel: Kernel, access: Access, d: int) -> str | None:
    """Return the loop index that indexes a dimension of an access unchanged; None if there is none."""
    node = kernel.graph.results[access.at[d]]
    source = kernel.sources[node] if kernel.graph.nodes[node].op == "parameter" else None
    if not isinstance(source, Index) or len(source.ranges) > 1:
        return None
    (name,) = source.ranges
    return None if any(axis.name == name and axis.is_pack for axis in kernel.ranges) else name


class Accesses:
    """Analysis of how the indices of reads and writes step along the loops of a program.

    known: words that are replaced by numbers.
    """

    def __init__(self, kernel: Kernel, strides: Strides, known: Mapping[str, int | str]) -> None:
        self.kernel, self.strides = kernel, strides
        self.program = specialised(program_of(kernel, strides), known)
        self.accesses: tuple[Access, ...] = (*kernel.reads, *kernel.writes)
        self._along: dict[str, dict[str, Step | None]] = {}
        self._repeated: dict[str, frozenset[str]] = {}

    def along(self, index: str) -> dict[str, Step | None]:
        """Return by how much each value changes per iteration of the loop over an index."""
        if index not in self._along:
            self._along[index] = steps_along(self.program.body, index)
        return self._along[index]

    def repeated(self, lane: str) -> frozenset[str]:
        """Return the loop indices along which array indices repeat, of those array indices that step unevenly along the
        lane.
        """
        if lane not in self._repeated:
            indices = indices_of(self.kernel, self.strides.dimensions)
            self._repeated[lane] = frozenset(
                index for index in indices if index != lane and is_repeated(self.program, lane, index)
            )
        return self._repeated[lane]

    def steps(self, k: int, index: str) -> list[Step | None]:
        """Return the step of each dimension of access ``k`` along a loop index; reads are numbered before writes."""
        return [self.along(index)[f"p{k}_{d}"] for d in range(len(self.accesses[k].at))]

    def side(self, k: int) -> int:
        """Return the dimension of access ``k`` along which elements are contiguous, negative for none."""
        operand = self.kernel.operand(self.accesses[k].operand)
        along = len(indices_of(self.kernel, self.strides.dimensions, operand.ranges))
        return self.strides.arrays[self.kernel.operands.index(operand)][1] - along

    def is_even(self, k: int, index: str) -> bool:
        """Return whether an access steps evenly along a loop index, within limits that stay constant."""
        limits = [self.along(index).get(f"limit{k}_{d}", STILL) for d in range(len(self.accesses[k].at))]
        return None not in self.steps(k, index) and all(limit == STILL for limit in limits)

    def skips_unevenly(self, lane: str) -> bool:
        """Return whether a fold skips different iterations at different points, because windows along a dimension have
        unequal lengths.
        """
        reads = [k for k, read in enumerate(self.kernel.reads) if read.padding == SKIP]
        return bool(self.kernel.loops) and any(not self.is_even(k, lane) for k in reads)

    def lies_far(self, lane: str, layout: Layout) -> bool:
        """Return whether offsets along unevenly indexed dimensions may exceed int32."""
        farthest = 1
        names = [operand.name for operand in self.kernel.operands]
        specs = dict(zip(names, (*layout.inputs, *layout.outputs), strict=True))
        dims = dict(zip(names, own_sizes(self.kernel, layout), strict=True))
        for k, access in enumerate(self.accesses):
            own, strides = dims[access.operand], specs[access.operand].strides or ()
            strides = strides[len(strides) - len(own) :]
            uneven = [d for d, step in enumerate(self.steps(k, lane)) if step is None]
            apart = [(own[d] - 1) * largest(strides[d], -strides[d]) for d in uneven]
            farthest = largest(farthest, sum(apart), *(own[d] for d in uneven))
        return bool(farthest >= _FAR)

    def lies_along(self, lane: str, index: str) -> bool:
        """Return whether several unevenly indexed reads are contiguous along an index, so that loading them as vectors
        pays off.
        """
        flags = [
            self.steps(k, index)[self.side(k)] == Step(1)
            for k, read in enumerate(self.kernel.reads)
            if None in self.steps(k, lane) and 0 <= self.side(k) < len(read.at)
        ]
        return len(flags) > 1 and all(flags)

    def runs_along(self, last: str, lane: str, same: Mapping[str, str]) -> bool:
        """Return whether the innermost loop is to run along the last folded dimension rather than along the lane.

        Args:
            last: the index of the dimension.
            lane: the index.
            same: sizes that equal those of loop ranges, see ``_same_sizes``.
        """
        is_along, is_scatter = False, scatters(self.kernel)
        for k, access in enumerate(self.accesses):
            if access.padding is not None and not self._is_narrowed(k, access, last, same):
                return False
            is_written = k >= len(self.kernel.reads)
            side = self.side(k)
            if 0 <= side < len(access.at) and is_written == is_scatter:
                turns = self.steps(k, last)
                is_along |= turns[side] == Step(1)
                is_same = not is_written and all(step == STILL for step in turns)  # it is loaded only once
                if self.steps(k, lane)[side] == Step(1) and not is_same:
                    return False
        return is_along

    def _is_narrowed(self, k: int, access: Access, last: str, same: Mapping[str, str]) -> bool:
        """Return whether the iterations are known in which a padded access is in bounds, or is mapped into bounds."""
        if access.padding == SKIP:
            return self.is_even(k, last)
        if access.padding not in MARGINS:
            return False
        for d, step in enumerate(self.steps(k, last)):
            index = index_at(self.kernel, access, d)
            is_whole = index is not None and same.get(f"{access.operand}_n{d}") == f"{index}_n"
            if step != STILL and not is_whole:
                return False
        return True


@functools.lru_cache(maxsize=4096)
def accesses_of(kernel: Kernel, strides: Strides, known: tuple[tuple[str, int | str], ...]) -> Accesses:
    return Accesses(kernel, strides, dict(known))


def own_units(kernel: Kernel, strides: Strides) -> tuple[str, ...]:
    """Return the indices that every write uses unchanged, so that different points of them write different elements."""
    units = list(indices_of(kernel, strides.dimensions, kernel.operand(kernel.writes[0].operand).ranges))
    for axis in kernel.ranges:
        places = [
            [d for d in range(len(write.at)) if index_at(kernel, write, d) == axis.name] for write in kernel.writes
        ]
        if not axis.is_inner and all(places) and len({place[0] for place in places}) == 1:
            units.append(axis.name)
    return tuple(units)
