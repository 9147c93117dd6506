"""Scans and folds along ragged dims: each range begins with the initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.errors import DimError
from opdsl.formulas.carrying import Carrying, dtype_of
from opdsl.formulas.control import is_element
from opdsl.formulas.dim_axes import axes_of, over
from opdsl.formulas.dim_tensor import Dim, DimTensor, arange, functions
from opdsl.formulas.ragged import RaggedDim, spread
from opdsl.runtime import Device, Tensor

__all__ = ["RaggedCarrying"]


class RaggedCarrying(Carrying):
    """Scan or ordered fold along the ranges of a ragged dim, all in one pass over the dimension.

    dim: the ragged dim.
    starts: initial values, which may vary along the outer dim.
    """

    def _lay_out(self) -> None:
        dim, *others = self.targets
        if others or not isinstance(dim, RaggedDim):
            raise DimError(
                f"{self.name}: a dim whose ranges depend on elements has to be the only one (got {self.targets})."
            )
        self.dim = dim
        self.starts = [
            value if is_element(value) else functions().scalar_tensor(value, dtype=dtype_of(value))
            for value in self.init
        ]
        self.init = [spread(value, dim) for value in self.starts]
        self.values = [spread(value, dim) for value in self.values]
        self.captured = [spread(value, dim) for value in self.captured]
        super()._lay_out()
        self.others = [other for other in self.others if other is not dim.outer]

    def _turning(self) -> frozenset[Dim]:
        """See ``Carrying``; the outer dim's index changes as well."""
        return frozenset(
            turning
            for target in self.targets
            for turning in ((target, target.outer) if isinstance(target, RaggedDim) else ())
        )

    def _require_init(self, along: Sequence[Dim]) -> None:
        for value in self.starts:
            if isinstance(value, DimTensor) and self.dim in value.depends:
                raise DimError(
                    f"{self.name}: init varies along {self.dim.name}, over which the steps iterate. It is the carried "
                    "value before the first step of each range."
                )

    def _begins(self, size: int, device: Device) -> Tensor:
        """See ``Carrying``; masks the first step of each range."""
        segments = self.dim.segments
        first, _ = segments.ends(is_reverse=self.is_reverse)
        padded = functions().cat([first, first.new_full((1,), -1)])
        begins: Tensor = padded.index_select(0, segments.ids) == arange(size, first.device)
        return begins

    def _at_begin(self, carried: tuple[Any, ...], turn: int) -> tuple[Any, ...]:
        """See ``Carrying``; returns the initial values at the first step of each range."""
        initial = tuple([self._at(value, turn) for value in self.init])
        if not carried:
            return initial
        is_first = self._begins(self.dim.size, self.dim.segments.ids.device)[turn]
        where = functions().where
        return tuple([where(is_first, start, value) for start, value in zip(initial, carried, strict=True)])

    def _at(self, value: Any, turn: int) -> Any:
        if not isinstance(value, DimTensor) or self.dim not in value.depends:
            return value
        axis = axes_of(value.dims)[self.dim]
        part = value.tensor.select(axis, turn if value.tensor.shape[axis] != 1 else 0)
        return over(part, [dim for dim in value.dims if dim is not self.dim])

    def fold(self) -> Any:
        """See ``Carrying``; returns the value after the last step of each range, or its initial value if the range is
        empty.
        """
        segments, where = self.dim.segments, functions().where
        outer = self.dim.outer
        is_there = over(segments.stops > segments.starts, [outer])
        tensors: list[Tensor] = []
        for carried, start in zip(self._carried(), self.starts, strict=True):
            begin = start.to(carried.dtype)
            if segments.size == 0:
                shape = (*carried.shape[: self.axis], segments.ranges, *carried.shape[self.axis + 1 :])
                tensors.append(over(carried.new_zeros(shape), [*self.others, outer]) + begin)
                continue
            _, last = segments.ends(is_reverse=self.is_reverse)
            picked = carried.index_select(self.axis, last.clamp(0, segments.size - 1))
            tensors.append(where(is_there, over(picked, [*self.others, outer]), begin))
        return self._wrapped(tensors)
