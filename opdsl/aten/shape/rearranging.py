"""Operators that rearrange or repeat elements: ``flip``, ``roll``, ``rot90``, ``repeat``, ``tile``,
``repeat_interleave``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy

from opdsl.aten._shared.index_tensors import BOTH
from opdsl.aten.create.factories import zeros
from opdsl.aten.create.ranges import arange
from opdsl.aten.index.sorted_positions import places_above
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.slicing import narrow
from opdsl.declare import forward, op, traceable
from opdsl.kernels import check, gather, new_tensor
from opdsl.kernels.iteration.dimensions import reduced_dimensions
from opdsl.kernels.iteration.strides import dense_strides
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.runtime import MemoryFormat, Tensor, cpu, float64, from_numpy, int64, wrap_dimension
from opdsl.runtime.geometry import geometry
from opdsl.schema.vocabulary import Ints, SymInt, SymInts


@op("aten::flip", kernel=True, variants="function, method", tags="core", out=True)
def flip(self: Tensor, dims: list[int]) -> Tensor:
    """Return a copy of the tensor with the given dimensions reversed."""
    if is_beyond(self):  # negative strides would lead before the host copy's memory
        return cast("Tensor", through_host(flip, (self, dims)))
    flipped = reduced_dimensions(dims, self.shape, none_is_all=False)
    output = new_tensor(geometry(self.dtype, self.device, self.shape, dense_strides(self.geometry)))
    if output.numel() and not output.is_meta:
        # Begin at the last element, with negative strides.
        source = self
        for dim in flipped:
            source = narrow(source, dim, self.shape[dim] - 1, 1)
        gather(output, source, flipped_strides(self, flipped), [])
    return output


def flipped_strides(self: Tensor, flipped: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a tensor, negated along the dimensions to reverse."""
    return tuple(-step if dim in flipped else step for dim, step in enumerate(self.strides))


flip.derivative(self=lambda grad, dims: grad.flip(dims))


def flipped(self: Tensor, dim: int) -> tuple[int, ...]:
    """Return the dimension that ``fliplr`` or ``flipud`` reverses.

    Raises:
        ShapeError: the tensor has too few dimensions.
    """
    check(self.ndim > dim, f"Input must be >= {dim + 1}-d.")
    return (dim,)


@op("aten::fliplr", variants="function, method")
@forward(flip, dims=lambda self: flipped(self, 1))
def fliplr(self: Tensor) -> Tensor:
    """Reverse the second dimension: the columns of a matrix."""


@op("aten::flipud", variants="function, method")
@forward(flip, dims=lambda self: flipped(self, 0))
def flipud(self: Tensor) -> Tensor:
    """Reverse the first dimension: the rows of a matrix."""


@op("aten::roll", variants="function, method", out=True)
def roll(self: Tensor, shifts: SymInts[1], dims: Ints[1] = ()) -> Tensor:
    """Shift elements along dimensions cyclically: elements beyond the end reappear at the start."""
    ...


@roll.kernel
@traceable
def roll_kernel(self, shifts, dims):
    check(len(shifts) > 0, "`shifts` required")
    if not dims and len(shifts) == 1:
        return rolled(self.contiguous().view((-1,)), shifts[0], 0).view(self.shape)
    check(len(shifts) == len(dims), f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims, strict=True):
        self = rolled(self, shift, dim)
    return self


roll.derivative(
    self=lambda grad, shifts, dims: grad.roll(tuple(-shift for shift in reversed(shifts)), tuple(reversed(dims)))
)


def rolled(tensor: Tensor, shift: int, dim: int) -> Tensor:
    """Shift the elements of one dimension cyclically. Raises DimensionError: there is no such dimension."""
    if tensor.numel() == 0:
        return tensor.clone()
    size = tensor.size(dim)
    start = -shift % size
    return cat([narrow(tensor, dim, start, size - start), narrow(tensor, dim, 0, start)], dim)


@op("aten::rot90", kernel="CompositeExplicitAutograd", variants="function, method", out=True)
@traceable
def rot90(self: Tensor, k: int = 1, dims: list[int] = (0, 1)) -> Tensor:
    """Rotate by ``k`` right angles in the plane of two dimensions, from the first towards the second."""
    check(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    check(self.ndim >= 2, f"expected total dims >= 2, but got total dims = {self.ndim}")
    check(
        dims[0] != dims[1] and abs(dims[0] - dims[1]) != self.ndim,
        f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
    )
    first, second = (wrap_dimension(dim, self.ndim) for dim in dims)
    turns = k % 4
    if turns == 0:
        return self.clone(memory_format=MemoryFormat.contiguous_format)
    if turns == 2:
        return self.flip((first, second))
    return self.flip((second,) if turns == 1 else (first,)).transpose(first, second)


rot90.derivative(self=lambda grad, k, dims: grad.rot90(-k, dims))


@op("aten::repeat", kernel="CompositeExplicitAutograd", variants="method", tags="core")
@traceable
def repeat(self: Tensor, repeats: list[SymInt]) -> Tensor:
    """Repeat the whole tensor along each dimension the given number of times."""
    fresh = len(repeats) - self.ndim
    check(fresh >= 0, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    sizes = (*(1,) * fresh, *self.shape)
    shape = tuple(size * times for size, times in zip(sizes, repeats, strict=True))
    check(min(shape, default=0) >= 0, f"Trying to create tensor with negative dimension {min(shape, default=0)}")
    # Insert a dimension for the repetitions before each dimension.
    once = tuple(number for size in sizes for number in (1, size))
    tiles = tuple(number for pair in zip(repeats, sizes, strict=True) for number in pair)
    return self.reshape(once).expand(tiles).clone(memory_format=MemoryFormat.contiguous_format).view(shape)


@repeat.derivative("self")
def repeat_derivative(grad, self, repeats):
    sizes = (*(1,) * (len(repeats) - self.ndim), *self.shape)
    if 0 in repeats:
        return zeros(self.shape, dtype=self.dtype, device=self.device)
    tiles = grad.reshape(tuple(number for pair in zip(repeats, sizes, strict=True) for number in pair))
    summed = tiles.sum(tuple(range(0, tiles.ndim, 2))) if tiles.ndim else tiles
    return summed.reshape(self.shape)


@op("aten::tile", variants="function, method")
@forward(repeat, repeats=lambda self, dims: (*(1,) * (self.ndim - len(dims)), *dims))
def tile(self: Tensor, dims: list[SymInt]) -> Tensor:
    """Repeat the whole tensor along the last dimensions the given number of times, see ``repeat``."""


@op("aten::repeat_interleave.Tensor", kernel=True, tags="dynamic_output_shape", out=True)
def repeat_interleave(repeats: Tensor, *, output_size: SymInt | None = None) -> Tensor:
    """Return a vector in which each index ``i`` of ``repeats`` occurs ``repeats[i]`` times in succession."""
    check(repeats.ndim == 1, "repeat_interleave only accept 1D vector as repeat")
    check(repeats.dtype in BOTH, "repeats has to be Long or Int tensor")
    count = repeats.numel()
    check(not (repeats < 0).any().item(), "repeats can not be negative")
    ends = repeats.cumsum(0, dtype=int64)
    size = ends.select(0, count - 1).item() if count else 0
    whole = int(float(repeats.sum(dtype=float64)))
    if whole > _LARGE:
        repeats.new_empty((min(whole, 2**63 - 1),))  # raises OutOfMemoryError; the sum of integers may have overflowed
    check(output_size is None or output_size == size, "allocated size does not match required size")
    if repeats.device is cpu:
        return from_numpy(numpy.arange(count, dtype=repeats.array.dtype).repeat(repeats.array))
    places = places_above(ends.unsqueeze(0), arange(size, device=repeats.device).unsqueeze(0))
    return places.squeeze(0).to(repeats.dtype)


# More elements than any memory holds.
_LARGE = 1 << 45


@repeat_interleave.overload("self_Tensor", variants="function, method")
def repeat_interleave_each(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: SymInt | None = None
) -> Tensor:
    """Return the slices of a dimension, each slice ``i`` repeated ``repeats[i]`` times in succession."""
    source = self.flatten() if dim is None else self
    dimension = wrap_dimension(0 if dim is None else dim, self.ndim)
    size = source.shape[dimension] if source.ndim else 1
    check(repeats.ndim < 2, "repeats must be 0-dim or 1-dim tensor")
    if repeats.numel() == 1:
        repeats = repeats.reshape((1,)).expand((size,))
    check(
        repeats.numel() == size,
        f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.numel()} and "
        f"input.size({dimension}) = {size}",
    )
    return source.index_select(dimension, repeat_interleave(repeats, output_size=output_size))


@repeat_interleave.overload("self_int", variants="function, method")
@traceable
def repeat_interleave_times(
    self: Tensor, repeats: SymInt, dim: int | None = None, *, output_size: SymInt | None = None
) -> Tensor:
    """Return the slices of a dimension, each repeated ``repeats`` times in succession."""
    source = self.flatten() if dim is None else self
    dimension = wrap_dimension(0 if dim is None else dim, self.ndim)
    check(repeats >= 0, "Repeats must be non-negative")
    wide = source.unsqueeze(dimension + 1)
    shape = (*wide.shape[: dimension + 1], repeats, *wide.shape[dimension + 2 :])
    check(
        output_size is None or output_size == shape[dimension] * repeats,
        f"repeat_interleave: Invalid output_size, expected {shape[dimension] * repeats} but got {output_size}",
    )
    return wide.expand(shape).clone(memory_format=MemoryFormat.contiguous_format).flatten(dimension, dimension + 1)
