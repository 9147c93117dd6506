"""Subscripts with dims, ``x[..., i, k]``: reads at dims are views, reads at computed indices gather."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy

from opdsl.errors import DimensionError, DimError, OptionError, PositionError
from opdsl.formulas.dim_affine import Windows
from opdsl.formulas.dim_axes import aligned, axes_of, computed_later, dim_tensors, over, union
from opdsl.formulas.dim_tensor import Dim, DimTensor, arange, functions, names
from opdsl.formulas.dim_windows import windows_of
from opdsl.formulas.ragged import RaggedDim, neutral_outside, ragged_among, spread_all
from opdsl.formulas.ranges import end_of
from opdsl.programs.branches import MaskedBranch, conditions, masked_branch
from opdsl.runtime import Category, Tensor, bool_, int64
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import NotLoweredError, is_symbol, largest

MODES = ("replicate", "reflect", "circular", "skip")

Mode = float | str | None
"""Treatment of indices that are out of bounds: a number to read, one of ``MODES``, or None for an error."""


class Position(NamedTuple):
    """Computed index along one dimension.

    value: integers, with or without dims.
    mode: padding mode for indices that are out of bounds.
    wraps: whether negative indices count from the end, as constants do.
    order: index of this part in the subscript.
    """

    value: Tensor
    mode: Mode
    wraps: bool
    order: int


class Place(NamedTuple):
    """Description of a read for error messages.

    shape: of the tensor that is read.
    parts: of the subscript.
    """

    shape: tuple[int, ...]
    parts: tuple[object, ...]

    def __str__(self) -> str:
        return f"the read [{', '.join(map(_text, self.parts))}] of a tensor of shape {self.shape}"


def _text(part: object) -> str:
    """Return a part of a subscript as text for error messages."""
    if part is ...:
        return "..."
    if isinstance(part, Dim):
        return part.name
    if isinstance(part, slice):
        bounds = ["" if bound is None else str(bound) for bound in (part.start, part.stop)]
        return ":".join(bounds if part.step is None else [*bounds, str(part.step)])
    if isinstance(part, (tuple, list)):
        return f"({', '.join(map(_text, part))})"
    if isinstance(part, DimTensor):
        return f"<positions over {names(part.depends)}>"
    return f"<positions of shape {part.shape}>" if isinstance(part, Tensor) else str(part)


# The dim or computed index at which an axis is read; None for a positional dimension of the result.
Label = Dim | Position | None


class Outside:
    """Tensor with a padding rule for out-of-bounds reads: ``x.outside(0.0)[..., i - 1]``."""

    __slots__ = ("_modes", "_value")

    def __init__(self, value: Tensor, what: object) -> None:
        modes: dict[Any, Any] = dict(what) if isinstance(what, Mapping) else {None: what}
        for dim, mode in modes.items():
            _require_mode(mode)
            if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
                raise OptionError(f"x.outside({{dim: ...}}): a dimension is an int (got {dim!r}). Write {{-1: 0.0}}.")
        self._value = value
        self._modes: dict[int | None, Mode] = modes

    def __getitem__(self, index: Any) -> Tensor:
        return read(self._value, index, self)

    def modes(self, count: int) -> list[Mode]:
        """Return the padding mode of each of ``count`` dimensions.

        Raises:
            DimensionError: the rule names a dimension that the tensor lacks.
        """
        listed: list[Mode] = [self._modes.get(None)] * count
        for dim, mode in self._modes.items():
            if dim is not None:
                if not -count <= dim < count:
                    raise DimensionError(
                        f"x.outside(...): there is no dimension {dim} of a tensor with {count}. Name one from {-count} "
                        f"to {count - 1}."
                    )
                listed[dim] = mode
        return listed


def _require_mode(mode: object) -> None:
    is_number = isinstance(mode, (bool, int, float, complex)) or is_symbol(mode)
    if not is_number and mode not in MODES:
        raise OptionError(
            f"x.outside(...): expected a number, or one of {', '.join(map(repr, MODES))}, for indices out of bounds "
            f"(got {mode!r}); a mapping has one for each dimension: {{-1: 0.0}}."
        )


def read(value: Tensor, index: object, outside: Outside | None) -> Tensor:
    """Return ``value[index]`` where parts of the index are dims or computed indices.

    Args:
        value: a tensor, with or without dims.
        index: the subscript.
        outside: padding rule; None makes out-of-bounds indices an error.

    Raises:
        DimError: a dim has another size, or a part of the subscript is no index.
        DimensionError, PositionError: there are more parts than dimensions, or an index is out of bounds.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    branch = masked_branch.get()
    if branch is None:
        return _read(value, index, parts, outside)
    # Indices without positional dimensions read for their own element only.
    moving = [part for part in parts if isinstance(part, Tensor) or (isinstance(part, DimTensor) and _has_axes(part))]
    branch.cross([value, moving], (), is_positional=True)
    nothing: MaskedBranch | None = None
    with Setting(conditions, ()), Setting(masked_branch, nothing):
        result = _read(value, index, parts, outside)
    branch.hand_on([value, parts], result)
    return result


def _has_axes(position: DimTensor) -> bool:
    """Return whether a computed index has, or may have, positional dimensions."""
    return position.lacks_sizes or position.ndim > 0


def _read(value: Tensor, index: object, parts: list[Any], outside: Outside | None) -> Tensor:
    """Return ``value[index]`` for the parts of an index; see ``read``."""
    end = None if outside is not None else end_of(value, parts)
    if end is not None:
        return cast(Tensor, end)  # element_range evaluates the ends of a range
    value, parts = _along_ranges(value, parts)
    if isinstance(value, DimTensor) and value.lacks_sizes:
        return computed_later(lambda: read(value, index, outside), [value, parts])
    own, tensor = (value.dims, value.tensor) if isinstance(value, DimTensor) else ((), value)
    mask = value.mask if isinstance(value, DimTensor) else None
    reading = _Reading(tensor, own, parts, outside)
    if any(position.value.lacks_sizes for position in reading.positions() if isinstance(position.value, DimTensor)):
        return computed_later(reading.gathered, [tensor, parts], [d for d in reading.labels if isinstance(d, Dim)])
    result = reading.gathered()
    if not isinstance(result, DimTensor):
        return result
    if mask is not None:
        result = DimTensor(result.tensor, result.dims, joined_mask(mask, result.mask), result.is_of_dims)
    result.is_gathered = bool(reading.positions())
    result.windows = reading.windows(result.tensor) if result.is_gathered and result.mask is None else None
    return result


def _along_ranges(value: Tensor, parts: list[Any]) -> tuple[Tensor, list[Any]]:
    """Align a tensor and the parts of its subscript: gather those that vary along the outer dim of a ragged dim to the
    positions of the ragged dim. Return both unchanged if no ragged dim occurs outside of the subscript.
    """
    known = [*dim_tensors([value, *[part for part in parts if not isinstance(part, RaggedDim)]])]
    if not ragged_among(dim for one in known for dim in one.depends):
        return value, parts
    value, *parts = spread_all([value, *parts])
    return value, parts


def joined_mask(one: DimTensor | None, other: DimTensor | None) -> DimTensor | None:
    """Return the intersection of two optional masks."""
    if one is None or other is None:
        return other if one is None else one
    return cast(DimTensor, one & other)


class _Reading:
    """Read of a tensor at a subscript: a view of the tensor, and a label for each axis of the view.

    seen: the view after ints, slices and None are applied.
    labels: the dim or computed index at which each axis of ``seen`` is read; None for a positional dimension.
    """

    def __init__(self, tensor: Tensor, own: tuple[Dim, ...], parts: list[Any], outside: Outside | None) -> None:
        self.place = Place(tensor.shape[len(own) :], tuple(parts))
        count = tensor.ndim - len(own)
        parts = self._spelled_out(parts, count)
        modes: list[Mode] = [None] * count if outside is None else outside.modes(count)
        basic: list[Any] = [slice(None)] * len(own)
        labels: list[Any] = list(own)
        taken = 0
        for order, index_part in enumerate(parts):
            part, size = index_part, 0 if index_part is None else tensor.shape[len(own) + taken]
            if _is_int(part) and modes[taken] is not None and not -size <= part < size:
                part = functions().scalar_tensor(part, dtype=int64)
            if part is None or isinstance(part, slice) or (_is_int(part)):
                basic.append(part)
                labels += [] if _is_int(part) else [None]
            else:
                basic.append(slice(None))
                labels.append(self._label(part, modes[taken], order))
            taken += part is not None
        is_whole = all(isinstance(part, slice) and part == slice(None) for part in basic)
        self.seen: Tensor = tensor if is_whole else tensor[tuple(basic)]
        self.labels: list[Label] = []
        self._split_packs(labels)
        for axis in range(len(own), len(self.labels)):
            label = self.labels[axis]
            if isinstance(label, Dim):
                label.bind(self.seen.shape[axis], self.place)
        self._take_diagonals()

    def _spelled_out(self, parts: list[Any], count: int) -> list[Any]:
        """Return the parts of a subscript with ``...`` replaced by slices, so that each dimension has one part."""
        used = sum(part is not None and part is not ... for part in parts)
        dots = [at for at, part in enumerate(parts) if part is ...]
        if len(dots) > 1:
            raise DimensionError(f"a subscript has one ... at most (got {self.place})")
        if used > count:
            problem = f"too many indices for a tensor of dimension {count}: {self.place}"
            is_product = count == 1 and all(isinstance(part, Dim) for part in parts)
            raise DimensionError(
                f"{problem}. Dims whose product is one dimension are written as a tuple, before a comma: "
                f"x[({', '.join(part.name for part in parts)}),]."
                if is_product
                else problem
            )
        at = dots[0] if dots else len(parts)
        return [*parts[:at], *[slice(None)] * (count - used), *parts[at + 1 :]]

    def _label(self, part: Any, mode: Mode, order: int) -> object:
        """Return the label of an axis: a dim, a tuple of dims, or a computed index."""
        if isinstance(part, Dim) and part.is_plain:
            return part
        if isinstance(part, (tuple, list)) and part and all(isinstance(dim, Dim) for dim in part):
            return tuple(part)
        wraps = not isinstance(part, Tensor | DimTensor)
        if wraps:
            if isinstance(part, (bool, str)) or not isinstance(part, (list, range, numpy.ndarray, numpy.generic)):
                raise DimError(
                    f"a subscript with dims holds ints, slices, None, ..., dims and integer tensors (got "
                    f"{type(part).__name__} in {self.place})"
                )
            part = _tensor(list(part) if isinstance(part, range) else part)
        is_unknown = isinstance(part, DimTensor) and part.lacks_sizes
        if not is_unknown and (part.dtype is bool_ or part.dtype.category > Category.INT):
            raise DimError(
                f"{self.place}: indices have to be integers (got {part.dtype}). "
                + ("Read at all indices, and choose with where." if part.dtype is bool_ else "Write p.to(int64).")
            )
        return Position(part, mode, wraps, order)

    def _split_packs(self, labels: Sequence[Any]) -> None:
        """Split each dimension that is read at a tuple of dims, ``x[(g, c),]``, into one axis for each dim."""
        for label in labels:
            if not isinstance(label, tuple) or isinstance(label, Position):
                self.labels.append(label)
                continue
            unknown = [dim for dim in label if not dim.is_bound]
            if len(unknown) > 1:
                raise DimError(
                    f"{self.place}: at most one of the dims of a product may lack a size (got "
                    f"{names(tuple(unknown))}). Pass sizes: dims(2, [4, None])."
                )
            axis = len(self.labels)
            sizes = [-1 if not dim.is_bound else dim.size for dim in label]
            self.seen = self.seen.unflatten(axis, sizes)
            self.labels += label

    def _take_diagonals(self) -> None:
        """Replace several axes that are read at the same dim by their diagonal."""
        for dim in {label: None for label in self.labels if isinstance(label, Dim)}:
            while True:
                first, *others = [axis for axis, label in enumerate(self.labels) if label is dim]
                if not others:
                    break
                second = others[0]
                sizes = list(self.seen.shape)
                sizes[first] = sizes[second] = dim.settle("a diagonal")
                self.seen = self.seen.expand(sizes).diagonal(0, first, second)
                self.labels = [label for axis, label in enumerate(self.labels) if axis not in (first, second)]
                self.labels.append(dim)

    def positions(self) -> list[Position]:
        """Return the computed indices of the read."""
        return [label for label in self.labels if isinstance(label, Position)]

    def windows(self, copied: Tensor) -> Windows | None:
        """Return the read as sliding windows, of which these are the elements; None if it is none."""
        labels = [(label.value, label.mode) if isinstance(label, Position) else label for label in self.labels]
        return windows_of(self.seen, copied, labels)

    def gathered(self) -> Tensor:
        """Return the elements that are read as a ``DimTensor`` over the dims of all parts."""
        if any(isinstance(label, RaggedDim) for label in self.labels):
            self.seen = neutral_outside(self.seen, self.labels)
        if not self.positions():
            return self._arranged(self.seen, self.labels, None)
        return self._gather(_Positions(self))

    def _arranged(self, tensor: Tensor, labels: Sequence[Label], mask: DimTensor | None) -> Tensor:
        """Permute a tensor so that axes of dims come first, then positional dimensions, each in their order."""
        leading = [axis for axis, label in enumerate(labels) if isinstance(label, Dim)]
        order = leading + [axis for axis in range(len(labels)) if axis not in leading]
        moved = tensor if order == list(range(len(order))) else tensor.permute(order)
        return over(moved, [dim for dim in labels if isinstance(dim, Dim)], mask)

    def _gather(self, at: _Positions) -> Tensor:
        """Read the elements at computed indices of a gather."""
        rest = [axis for axis in range(len(self.labels)) if axis not in at.axes]
        # Keep the memory layout of the tensor: indices replace the axes that they index.
        ahead = sum(axis < min(at.axes) for axis in rest)
        order = [*rest[:ahead], *sorted(at.axes), *rest[ahead:]]
        source = self.seen if order == list(range(len(order))) else self.seen.permute(order)
        gathered = at.read(source, self, ahead)
        if ahead:
            count = len(at.dims) + at.ndim
            moved = [*range(ahead, ahead + count), *range(ahead), *range(ahead + count, gathered.ndim)]
            gathered = gathered.permute(moved)
        labels = [self.labels[axis] for axis in rest]
        between: list[Label] = [None] * at.ndim
        is_adjacent = at.orders == list(range(at.orders[0], at.orders[0] + len(at.orders)))
        first = sum(self.labels[axis] is None for axis in range(at.axes[0])) if is_adjacent else 0
        if at.ndim and first:
            # As in NumPy, positional dimensions of adjacent indices take the position of the indexed axes.
            begin = len(at.dims) + at.ndim
            before = [begin + axis for axis, label in enumerate(labels) if label is None][:first]
            behind = [axis for axis in range(gathered.ndim) if axis not in before]
            placed = behind[: len(at.dims)] + before + behind[len(at.dims) :]
            full = [*at.dims, *between, *labels]
            return self._arranged(gathered.permute(placed), [full[axis] for axis in placed], at.mask())
        return self._arranged(gathered, [*at.dims, *between, *labels], at.mask())


class _Positions:
    """Computed indices of one read, aligned to common axes: first for their dims, then for their positional dimensions.

    dims: dims of all indices.
    ndim: number of their positional dimensions.
    axes: axes of the tensor that they index, including axes of dims that they share with the tensor.
    orders: indices of these parts in the subscript.
    """

    def __init__(self, reading: _Reading) -> None:
        labels = reading.labels
        positions = reading.positions()
        values = [position.value for position in positions]
        self.dims = union(dim_tensors(values))
        self.ndim = max(value.ndim for value in values)
        self.orders = [position.order for position in positions]
        places = axes_of(self.dims)
        joint = [axis for axis, label in enumerate(labels) if isinstance(label, Dim) and label in places]
        self.axes = [axis for axis, label in enumerate(labels) if isinstance(label, Position)] + joint
        device = reading.seen.device
        self._inside: list[tuple[Mode, Tensor]] = []
        self._indices: list[Tensor] = []
        for position, axis in zip(positions, self.axes, strict=False):
            value = position.value
            plain = aligned(value, self.dims, self.ndim) if isinstance(value, DimTensor) else value
            plain = (plain if plain.dtype is int64 else plain.to(int64)).to(device)
            self._indices.append(self._checked(plain, position, reading.seen.shape[axis], reading))
        for axis in joint:
            at = places[labels[axis]]
            shape = [1] * (len(self.dims) + self.ndim)
            shape[at] = reading.seen.shape[axis]
            self._indices.append(arange(shape[at], device).reshape(shape))

    def _checked(self, index: Tensor, position: Position, size: int, reading: _Reading) -> Tensor:
        """Return an index with the padding rule applied; without one, negative indices are moved out of bounds to be
        refused.
        """
        mode = position.mode
        if mode is None:
            # Negative indices do not count from the end here, so they are moved out of bounds.
            return index if position.wraps else _where(index < 0, size, index)
        if isinstance(mode, str) and mode != "skip":
            if type(size) is int and size == 0 and 0 not in index.shape:
                raise DimError(f"{reading.place}: there is no element to {mode}, since the dimension has size 0")
            return _RULES[mode](index, size)
        self._inside.append((mode, (index >= 0) & (index < size)))
        return index.clamp(0, size - 1)

    def read(self, source: Tensor, reading: _Reading, ahead: int) -> Tensor:
        """Gather the elements; in the result, axes of dims and indices replace the indexed axes.

        Args:
            source: the tensor that is read.
            reading: for messages.
            ahead: number of axes of the source before the indexed ones.
        """
        end = ahead + len(self.axes)
        if self._inside and any(type(size) is int and size == 0 for size in source.shape[ahead:end]):
            elements = self._nothing(source, ahead, end)
        else:
            try:
                elements = self._elements(source, ahead)
            except (DimensionError, PositionError) as error:
                raise PositionError(
                    f"{reading.place}: {self._where_outside(reading) or error}. Clamp the index, or give a value for "
                    "indices out of bounds: x.outside(0.0)[...]."
                ) from error
        for mode, inside in self._inside:
            if mode != "skip":
                behind = inside.reshape((*inside.shape, *(1,) * (source.ndim - end)))
                elements = elements.masked_fill(~behind, mode)
        return elements

    def _elements(self, source: Tensor, ahead: int) -> Tensor:
        """Return the elements at the indices. An index without dimensions gets one, since a subscript would read it as
        an int.
        """
        before = (slice(None),) * ahead
        indices = [index for _, index in sorted(zip(self.axes, self._indices, strict=True), key=lambda pair: pair[0])]
        if any(index.ndim for index in indices):
            return source[(*before, *indices)]
        return source[(*before, *[index.reshape(1) for index in indices])].squeeze(ahead)

    def _where_outside(self, reading: _Reading) -> str:
        """Return a message that says which indices are out of bounds."""
        for position, axis in zip(reading.positions(), self.axes, strict=False):
            value, size = position.value, reading.seen.shape[axis]
            index = value.tensor if isinstance(value, DimTensor) else value
            try:
                least, most = cast(int, index.amin().item()), cast(int, index.amax().item())
            except NotLoweredError:  # elements are unknown in a trace
                continue
            if position.mode is None and (least < (-size if position.wraps else 0) or most >= size):
                return f"computed indices range from {least} to {most}, but the dimension has size {size}"
        return ""

    def _nothing(self, source: Tensor, ahead: int, end: int) -> Tensor:
        """Return zeros for indices into a dimension of size 0, all of which are out of bounds.

        Args:
            source: the tensor that is read.
            ahead, end: its first indexed axis, and the first axis after the indexed ones.
        """
        shape = self._indices[0].shape
        for index in self._indices[1:]:
            shape = functions().broadcast_shapes(shape, index.shape)
        return source.new_zeros((*source.shape[:ahead], *shape, *source.shape[end:]))

    def mask(self) -> DimTensor | None:
        """Return the mask of indices that are in bounds, for dimensions with the padding mode ``skip``; None without
        such.
        """
        masks = [inside for mode, inside in self._inside if mode == "skip"]
        if not masks:
            return None
        if self.ndim or not self.dims:
            raise DimError(
                "x.outside('skip')[...]: indices may vary along dims only, so that a reduction can skip them."
            )
        mask = masks[0]
        for other in masks[1:]:
            mask = mask & other
        return DimTensor(mask, self.dims)


def _reflected(index: Tensor, size: int) -> Tensor:
    # A trace for larger sizes also serves size 1, whose period is not 0. Sizes of other libraries' traces are not 1.
    period = 2 * (size - 1)
    period = largest(period, 1) if type(size) is int or is_symbol(size) else period
    turned = index % period
    nearer: Tensor = functions().minimum(turned, period - turned)
    return nearer


_RULES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "replicate": lambda index, size: index.clamp(0, size - 1),
    "circular": lambda index, size: index % size,
    "reflect": _reflected,
}


def _where(condition: Tensor, number: int, other: Tensor) -> Tensor:
    chosen: Tensor = functions().where(condition, number, other)
    return chosen


def _tensor(data: object) -> Tensor:
    array = numpy.asarray(data)
    tensor: Tensor = functions().tensor(array if array.size else array.astype(numpy.int64))
    return tensor


def _is_int(part: object) -> bool:
    return is_symbol(part) or (
        not isinstance(part, (bool, numpy.bool_, Tensor, DimTensor)) and hasattr(part, "__index__")
    )
