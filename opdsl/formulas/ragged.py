"""Ragged dims, whose ranges depend on elements: ``u = opdsl.dim(range(offsets[s], offsets[s + 1]))``.

The ranges of all indices of ``s`` follow one another in one dimension of the tensors that are read at ``u``; each
position of this dimension belongs to at most one range. A value along ``s`` is gathered (spread) along ``u`` where it
meets a value along ``u``, and a fold over ``u`` gives a value along ``s``. So no size depends on elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from opdsl.errors import DimError, PositionError
from opdsl.formulas.dim_axes import axes_of, dim_tensors, over
from opdsl.formulas.dim_tensor import Dim, DimTensor, functions
from opdsl.formulas.ranges import ElementRange
from opdsl.runtime import DType, Tensor, bool_, float32, int64
from opdsl.runtime.dtype import Category
from opdsl.runtime.limits import iinfo

__all__ = [
    "RaggedDim",
    "Segments",
    "fill_outside",
    "fold_ragged",
    "neutral_outside",
    "ragged_among",
    "spread",
    "spread_all",
]


class Segments(NamedTuple):
    """Ranges of a ragged dim, and the range that each position of the dimension belongs to.

    ids: for each position, the index of its range; ``ranges`` if no range contains it.
    starts, stops: bounds of the ranges.
    ranges: number of ranges.
    size: number of positions.
    """

    ids: Tensor
    starts: Tensor
    stops: Tensor
    ranges: int
    size: int

    @property
    def inside(self) -> Tensor:
        """Return a mask of the positions that belong to a range."""
        return self.ids < self.ranges

    def ends(self, *, is_reverse: bool) -> tuple[Tensor, Tensor]:
        """Return the first and the last position of each range, in the direction of a scan."""
        first, last = self.starts, self.stops - 1
        return (last, first) if is_reverse else (first, last)


class RaggedDim(Dim):
    """Dim that has a range of positions for each index of another dim.

    Args:
        name: see ``Dim``.
        ranges: the range for each index of the outer dim.
    """

    __slots__ = ("_segments", "outer", "ranges")

    def __init__(self, name: Callable[[], str], ranges: ElementRange) -> None:
        super().__init__(name)
        self.ranges = ranges
        self.outer = ranges.over
        self._segments: Segments | None = None

    def _positions(self) -> Tensor:
        """See ``Dim``."""
        return fill_outside(super()._positions(), [self], 0)

    @property
    def segments(self) -> Segments:
        """Return the ranges, and the range of each position.

        Raises:
            PositionError: ranges are out of order, or out of bounds.
        """
        if self._segments is None:
            self._segments = _segments(self)
        return self._segments


def _segments(dim: RaggedDim) -> Segments:
    size, count = dim.settle("its ranges"), dim.outer.settle("its ranges")
    starts, stops = (value.tensor.to(int64).expand(count).detach() for value in (dim.ranges.start, dim.ranges.stop))
    ends = functions().stack([starts, stops], 1).reshape(2 * count)
    behind = functions().cat([ends[1:], ends.new_full((1,), size)])[: 2 * count]
    # Wrong ends become out-of-bounds indices, which every backend refuses before it computes anything.
    at = functions().where((ends < 0) | (ends > behind), size + 1, ends)
    try:
        marks = ends.new_zeros((size + 1,)).scatter_add(0, at, functions().ones_like(ends))
    except PositionError as error:
        raise PositionError(
            f"the ranges of the dim {dim.name} are not consecutive in a dimension of size {size}: offsets must "
            "not be negative, must not decrease, and must not exceed the size."
        ) from error
    passed = marks[:size].cumsum(0)  # number of range ends at or before each position: odd within a range
    return Segments(functions().where((passed & 1) == 1, passed >> 1, count), starts, stops, count, size)


def ragged_among(dims: Iterable[Dim]) -> list[RaggedDim]:
    """Return the ragged dims among dims, inner ones first."""
    return [dim for dim in dims if isinstance(dim, RaggedDim)][::-1]


def spread(value: Any, dim: RaggedDim) -> Any:
    """Repeat the values of a ``DimTensor``: gather along the outer dim of a ragged dim, so that the result varies along
    the ragged dim. Other values are returned unchanged.
    """
    if not isinstance(value, DimTensor) or dim.outer not in value.depends:
        return value
    if dim in value.depends:
        raise DimError(
            f"a value varies along {dim.outer.name} and along {dim.name}, whose ranges belong to it. Read at one of "
            "them."
        )
    if value.mask is not None and dim.outer in value.mask.depends:
        raise DimError(
            f"a value read with x.outside('skip') along {dim.outer.name} has to be reduced before it is combined with "
            f"{dim.name}."
        )
    segments, axis = dim.segments, axes_of(value.dims)[dim.outer]
    tensor = value.tensor
    if segments.ranges == 0:
        tensor = tensor.new_zeros((*tensor.shape[:axis], segments.size, *tensor.shape[axis + 1 :]))
    elif tensor.shape[axis] == segments.ranges:
        tensor = tensor.index_select(axis, segments.ids.clamp(max=segments.ranges - 1))
    dims = tuple([dim if own is dim.outer else own for own in value.dims])
    return DimTensor(tensor, dims, value.mask, value.is_of_dims)


def spread_all(values: Any) -> Any:
    """Align arguments that vary along ragged dims or their outer dims: gather all of them to the positions of the
    ragged dims.
    """
    ragged = ragged_among(dict.fromkeys(dim for value in dim_tensors(values) for dim in value.depends))
    for dim in sorted(ragged, key=_depth):
        values = _mapped(values, dim)
    return values


def _depth(dim: RaggedDim) -> int:
    return 1 + (_depth(dim.outer) if isinstance(dim.outer, RaggedDim) else 0)


def _mapped(values: Any, dim: RaggedDim) -> Any:
    if isinstance(values, (tuple, list)):
        return type(values)([_mapped(value, dim) for value in values])
    return spread(values, dim)


# ------------------------------------------------------------------------------------------------------------- folds


def fold_ragged(base: str, value: DimTensor, dim: RaggedDim, dtype: DType | None) -> Tensor:
    """Compute a reduction of each range of a ragged dim.

    Args:
        base: name of the operator.
        value: varies along the dim.
        dim: the dim to fold.
        dtype: dtype of the result, if the call has one.

    Raises:
        DimError: there is no rule for the operator.
    """
    rule = _RULES.get(base)
    if rule is None:
        raise DimError(
            f"{base} along {dim.name}, whose ranges depend on elements: only {', '.join(sorted(_RULES))} support it. "
            "Write others with opdsl.fold or opdsl.scan."
        )
    if value.mask is not None:
        raise DimError(
            f"{base} along {dim.name} of a value read with x.outside('skip') is not supported. Give a value for "
            "indices out of bounds instead: x.outside(0.0)."
        )
    axis = axes_of(value.dims)[dim]
    elements = value.tensor if dtype is None else value.tensor.to(dtype)
    if elements.shape[axis] != dim.size:
        elements = elements.expand(*elements.shape[:axis], dim.size, *elements.shape[axis + 1 :])
    moved = elements.movedim(axis, 0)
    narrow = moved.dtype.is_floating_point and moved.dtype.itemsize < 4
    output = rule(moved.to(float32) if narrow else moved, dim.segments)
    output = output.to(moved.dtype) if narrow and output.dtype is float32 else output
    kept = dim if base in _KEEPING else dim.outer
    return over(output.movedim(0, axis), [kept if own is dim else own for own in value.dims])


_Rule = Callable[[Tensor, Segments], Tensor]


def _sum(value: Tensor, segments: Segments) -> Tensor:
    wide = value.to(int64) if value.dtype.category <= Category.INT else value
    total = wide.new_zeros((segments.ranges + 1, *wide.shape[1:]))
    return total.index_add(0, segments.ids, wide)[: segments.ranges]


def _reduced(value: Tensor, segments: Segments, reduce: str, neutral: float) -> Tensor:
    base = value.new_full((segments.ranges + 1, *value.shape[1:]), neutral)
    at = segments.ids.reshape(segments.size, *(1,) * (value.ndim - 1)).expand(value.shape)
    return base.scatter_reduce(0, at, value, reduce)[: segments.ranges]


def _extreme(reduce: str) -> _Rule:
    def rule(value: Tensor, segments: Segments) -> Tensor:
        sign = -1 if reduce == "amax" else 1
        if value.dtype.is_floating_point:
            return _reduced(value, segments, reduce, sign * float("inf"))
        if value.dtype is bool_:
            return _reduced(value.to(int64), segments, reduce, int(sign > 0)) > 0
        bounds = iinfo(value.dtype)
        return _reduced(value, segments, reduce, bounds.min if sign < 0 else bounds.max)

    return rule


def _count(value: Tensor, segments: Segments) -> Tensor:
    lengths = segments.stops - segments.starts
    return lengths.reshape(segments.ranges, *(1,) * (value.ndim - 1))


def _prod(value: Tensor, segments: Segments) -> Tensor:
    wide = value.to(int64) if value.dtype.category <= Category.INT else value
    return _reduced(wide, segments, "prod", 1)


def _at(value: Tensor, segments: Segments) -> Tensor:
    """Return, for each position, the result of its range; 1 for positions outside of all ranges."""
    padded = functions().cat([value, value.new_ones((1, *value.shape[1:]))])
    return cast(Tensor, padded.index_select(0, segments.ids))


def _finite_most(value: Tensor, segments: Segments) -> Tensor:
    most = _extreme("amax")(value.detach(), segments)
    return cast(Tensor, functions().where(most.abs() == float("inf"), 0.0, most))


def _logsumexp(value: Tensor, segments: Segments) -> Tensor:
    most = _finite_most(value, segments)
    return _sum((value - _at(most, segments)).exp(), segments).log() + most


def _softmax(value: Tensor, segments: Segments) -> Tensor:
    powers = (value - _at(_extreme("amax")(value.detach(), segments), segments)).exp()
    return powers / _at(_sum(powers, segments), segments)


def _log_softmax(value: Tensor, segments: Segments) -> Tensor:
    return value - _at(_logsumexp(value, segments), segments)


_RULES: dict[str, _Rule] = {
    "sum": _sum,
    "mean": lambda value, segments: _sum(value, segments) / _count(value, segments),
    "prod": _prod,
    "amax": _extreme("amax"),
    "amin": _extreme("amin"),
    "any": lambda value, segments: _sum((value != 0).to(int64), segments) > 0,
    "all": lambda value, segments: _sum((value == 0).to(int64), segments) == 0,
    "count_nonzero": lambda value, segments: _sum((value != 0).to(int64), segments),
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
}

_KEEPING = ("softmax", "log_softmax")


def fill_outside(tensor: Tensor, dims: Sequence[object], number: int) -> Tensor:
    """Replace the elements at positions that belong to no range by a number.

    Args:
        tensor: the elements.
        dims: dims of its first axes, None for other axes.
        number: the replacement.
    """
    for axis, dim in enumerate(dims):
        if isinstance(dim, RaggedDim) and tensor.shape[axis] == dim.size:
            shape = [1] * tensor.ndim
            shape[axis] = dim.size
            tensor = tensor.masked_fill(~dim.segments.inside.reshape(shape), number)
    return tensor


def neutral_outside(tensor: Tensor, dims: Sequence[object]) -> Tensor:
    """Replace the elements at positions that belong to no range by 1 or 0; see ``fill_outside``.

    Values computed from such positions reach no result and have no gradient; but 0 times infinity is NaN. So
    floating-point elements become 1, where most functions are smooth, and integers 0, which is a valid index.
    """
    return fill_outside(tensor, dims, int(tensor.dtype.category > Category.INT))
