"""``opdsl.scatter(base, (index[i], j), src[i, j], reduce="sum")``: writes at computed indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from opdsl.errors import DeviceError, DimError, PositionError
from opdsl.formulas.dim_axes import aligned, union
from opdsl.formulas.dim_reads import Place
from opdsl.formulas.dim_rules import full, joined_masks, on_device, positional
from opdsl.formulas.dim_tensor import Dim, DimTensor, functions
from opdsl.runtime import Category, Tensor, bool_, int64
from opdsl.runtime.device import cpu
from opdsl.runtime.promotion import promote_types

__all__ = ["REDUCE", "scatter"]

REDUCE = ("sum", "prod", "amax", "amin", None)
"""Reductions that combine the values written to one position with its old value; with None each position is written
once.
"""


def scatter(base: Tensor, positions: Sequence[Any], src: Any, reduce: str | None = None) -> Tensor:
    """Write values at computed indices into a copy of a tensor.

    Args:
        base: the tensor that is copied, without dims.
        positions: an index for each dimension: a dim, integers with dims or an int; ``...`` denotes further
            dimensions.
        src: the values to write, a number or a tensor, with positional dimensions for those of ``...`` and for those
            that ``positions`` leaves out. All dims are consumed.
        reduce: ``sum``, ``prod``, ``amax``, ``amin``, or None if no two values have the same index.

    Returns:
        The copy with the values written, combined with its elements by ``reduce``.

    Raises:
        DimError: a part of ``positions`` is no index, or the dtype of ``src`` is wider than that of ``base``.
        PositionError: an index is out of bounds, or is written twice with ``reduce=None``.

    >>> import opdsl
    >>> i = opdsl.dim()
    >>> ids = opdsl.tensor([0, 2, 2])
    >>> opdsl.scatter(opdsl.zeros(3), (ids[i],), opdsl.ones(3)[i], reduce="sum")
    tensor([1., 0., 2.])
    """
    if isinstance(base, DimTensor) or not isinstance(base, Tensor):
        raise DimError("opdsl.scatter: base has to be a tensor without dims. Order its dims first: base.order(..., i).")
    if reduce not in REDUCE:
        raise DimError(f"opdsl.scatter: reduce is one of {', '.join(map(repr, REDUCE))} (got {reduce!r})")
    writing = _Writing(base, positions, src)
    return writing.run(reduce)


class _Writing:
    """Scatter of values into a base that is permuted so that its indexed axes come first.

    base: the permuted base: indexed axes, then the others.
    order: for each axis of ``base``, the axis of the given base.
    values: indices for the first axes of ``base``.
    rows: dims that index whole axes of the base, which are written without indices.
    dims: the other dims of indices and values.
    """

    def __init__(self, base: Tensor, positions: Sequence[Any], src: Any) -> None:
        parts = list(positions) if isinstance(positions, (tuple, list)) else [positions]
        self.place = Place(base.shape, tuple(parts))
        dots = [at for at, part in enumerate(parts) if part is ...]
        written = len(parts) - len(dots)
        if len(dots) > 1 or written > base.ndim or not written:
            raise DimError(f"{self.place}: opdsl.scatter expects an index for each dimension, and ... at most once.")
        begin = dots[0] if dots else written
        axes = [*range(begin), *range(base.ndim - (written - begin), base.ndim)]
        self.order = [*axes, *[axis for axis in range(base.ndim) if axis not in axes]]
        self.base = base if self.order == list(range(base.ndim)) else base.permute(self.order)
        self.sizes = self.base.shape[:written]
        self.rest = self.base.shape[written:]
        self.values = [self._position(part, size) for part, size in zip(_without_dots(parts), self.sizes, strict=True)]
        self.src = self._source(src)
        self.beside = [base, *self.values, self.src]
        self._require_device()
        with_dims = [value for value in (*self.values, self.src) if isinstance(value, DimTensor)]
        self.mask = joined_masks(with_dims)
        self.rows = self._take_rows()
        self.dims = tuple([dim for dim in union(with_dims) if dim not in set(self.rows)])

    def _require_device(self) -> None:
        """Raise an error if the base is on the CPU and other operands are not: the result has the device of the
        base.
        """
        if not self.base.is_cpu:
            return
        for value in (*self.values, self.src):
            device = cpu if getattr(value, "is_of_dims", False) else value.device
            if device.type != "cpu":
                raise DeviceError(
                    f"opdsl.scatter: base is on cpu, but the values or indices are on {device}. Create base there: "
                    "opdsl.zeros(n, device=x.device)."
                )

    def _take_rows(self) -> tuple[Dim, ...]:
        """Find dims that index one axis by themselves and occur in no other index; such axes are written as a whole."""
        computed = [value for value in self.values if not isinstance(value, Dim)]
        others = {*union([value for value in computed if isinstance(value, DimTensor)])}
        others |= set() if self.mask is None else {*self.mask.dims}
        is_row = [
            isinstance(value, Dim) and value not in others and sum(value is other for other in self.values) == 1
            for value in self.values
        ]
        if all(is_row) or not any(is_row):
            return ()
        rows = [at for at, taken in enumerate(is_row) if taken]
        order = [at for at, taken in enumerate(is_row) if not taken] + rows
        order += range(len(self.values), self.base.ndim)
        values = tuple([self.values[at] for at in rows])
        self.base = self.base.permute(order)
        self.order = [self.order[at] for at in order]
        self.values = [value for value, taken in zip(self.values, is_row, strict=True) if not taken]
        written = len(self.values)
        self.sizes, self.rest = self.base.shape[:written], self.base.shape[written:]
        return values

    def _position(self, part: Any, size: int) -> Any:
        if isinstance(part, Dim) and part.is_plain:
            part.bind(size, self.place)
            return part
        if isinstance(part, int) and not isinstance(part, bool):
            return functions().scalar_tensor(part + size if part < 0 else part, dtype=int64)
        if not isinstance(part, (Tensor, DimTensor)) or part.dtype is bool_ or part.dtype.category > Category.INT:
            raise DimError(f"{self.place}: indices of opdsl.scatter have to be dims, ints or integer tensors.")
        if positional(part):
            raise DimError(f"{self.place}: indices of opdsl.scatter may vary along dims only: ids[i].")
        return part

    def _source(self, src: Any) -> Any:
        if not isinstance(src, (Tensor, DimTensor)):
            return functions().scalar_tensor(src, dtype=self.base.dtype, device=self.base.device)
        if promote_types(src.dtype, self.base.dtype) is not self.base.dtype:
            raise DimError(
                f"opdsl.scatter: values of {src.dtype} into a tensor of {self.base.dtype}. Convert them: "
                f"src.to({self.base.dtype})."
            )
        if positional(src) > len(self.rest):
            raise DimError(
                f"opdsl.scatter: the values have {positional(src)} positional dimensions, but only {len(self.rest)} "
                "dimensions of the tensor are written without an index. Read the values at the dims of the indices."
            )
        return src

    def run(self, reduce: str | None) -> Tensor:
        """Scatter the values into the base by a reduction, and return the result."""
        count, width = math.prod(self.sizes), math.prod(self.rest)
        turns = math.prod(dim.settle("opdsl.scatter()") for dim in self.dims)
        flat = self.base.reshape(count, width)
        at = self._linear(count).reshape(turns)
        src = on_device(self.src, self.beside) if isinstance(self.src, DimTensor) else self.src
        values = full(src, (*self.dims, *self.rows), "opdsl.scatter()").to(self.base.dtype)
        missing = len(self.rest) - (values.ndim - len(self.dims))
        if missing:  # the values broadcast along positional dimensions of the base
            lead = len(self.dims) + len(self.rows)
            values = values.reshape(*values.shape[:lead], *(1,) * missing, *values.shape[lead:])
        values = values.expand(*values.shape[: len(self.dims)], *self.rest).reshape(turns, width)
        if self.mask is not None:  # skipped values are written to an extra row at the end
            flat = functions().cat([flat, flat.new_zeros((1, width))])
            mask = full(self.mask, self.dims, "opdsl.scatter()").reshape(turns)
            at = functions().where(mask, functions().where(at == count, count + 1, at), count)
        if reduce is None:
            at = self._once(at, count)
        index = at.unsqueeze(-1).expand(turns, width)
        try:
            written = self._written(flat, index, values, reduce)
        except PositionError as error:
            twice = ", or is repeated, which reduce=None does not allow" if reduce is None else ""
            raise PositionError(
                f"opdsl.scatter: {str(self.place).replace('the read', 'the indices')}: one is out of bounds{twice}. "
                "Clamp them, or skip those out of bounds: x.outside('skip')[...]."
            ) from error
        written = written if self.mask is None else written[:count]
        written = written.reshape(*self.sizes, *self.rest)
        back = [self.order.index(axis) for axis in range(len(self.order))]
        return written if back == list(range(len(back))) else written.permute(back)

    @staticmethod
    def _written(flat: Tensor, index: Tensor, values: Tensor, reduce: str | None) -> Tensor:
        if reduce is None:
            return flat.scatter(0, index, values)
        if reduce == "sum":
            return flat.index_add(0, index[:, 0], values)
        return flat.scatter_reduce(0, index, values, reduce)

    def _linear(self, count: int) -> Tensor:
        """Return the linear (row-major) index for each index of the dims; ``count`` for out-of-bounds ones."""
        where, total, inside = functions().where, None, None
        for value, size in zip(self.values, self.sizes, strict=True):
            value = on_device(value, self.beside) if isinstance(value, DimTensor) else value
            plain = aligned(value, self.dims, 0).to(int64) if isinstance(value, DimTensor) else value
            plain = plain.to(self.base.device)
            total = plain if total is None else total * size + plain
            is_inside = (plain >= 0) & (plain < size)
            inside = is_inside if inside is None else inside & is_inside
        shape = [dim.size for dim in self.dims]
        placed: Tensor = where(inside, total, count)
        return placed.expand(shape)

    def _once(self, at: Tensor, count: int) -> Tensor:
        """Return the linear indices with duplicates moved out of bounds, so that they raise an error."""
        end = count + (self.mask is not None)
        ones = at * 0 + 1
        counts = at.new_zeros((end + 2,)).scatter_add(0, at, ones)
        is_twice = counts[at] > 1 if self.mask is None else (counts[at] > 1) & (at != count)
        return cast(Tensor, functions().where(is_twice, end, at))


def _without_dots(parts: Sequence[Any]) -> list[Any]:
    return [part for part in parts if part is not ...]
