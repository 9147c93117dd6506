"""Signals, images and volumes in another size: elements taken over, or interpolated.

The rules are those of ATen/native/UpSample.h. Each dimension is brought to its size by itself, from a few elements
for each place of the result (its taps) and their weights; gradients go the same way back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import MetaContext, check, copy_
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.outputs import table
from opdsl.runtime import DType, Tensor, float64, int64

Reals = numpy.ndarray[Any, numpy.dtype[Any]]

# The free parameter of the cubic convolution.
_CUBIC = -0.75

# -------------------------------------------------------------------------------------------------------------- taps


class Taps(NamedTuple):
    """Which elements of a dimension each place of the result is made of.

    positions: int64 (taps, places). weights: (taps, places); None where an element is taken over as it is.
    """

    positions: Reals
    weights: Reals | None


class Dimension(NamedTuple):
    """One dimension that gets another size.

    size, wanted: before and after. scale: what the caller says that the size was multiplied with, None if nothing.
    aligned: whether the centres of the first and of the last element stay where they are, and not their outer edges.
    """

    size: int
    wanted: int
    scale: float | None
    aligned: bool


def step_of(dimension: Dimension, kind: Any) -> Any:
    """How many elements a place of the result is wide (``area_pixel_compute_scale``)."""
    if dimension.aligned:
        return kind(dimension.size - 1) / kind(dimension.wanted - 1) if dimension.wanted > 1 else kind(0)
    if dimension.scale is not None and dimension.scale > 0:
        return kind(1.0 / dimension.scale)
    return kind(dimension.size) / kind(dimension.wanted)


def inside(places: Reals, dimension: Dimension) -> Reals:
    """Places as positions of elements that there are; steps may be so long that they are infinite or NaN."""
    found: Reals = numpy.nan_to_num(numpy.clip(places, 0, dimension.size - 1)).astype(numpy.int64)
    return found


def nearest(dimension: Dimension, kind: Any) -> Taps:
    """The element at the beginning of each place (``nearest_neighbor_compute_source_index``)."""
    places = numpy.arange(dimension.wanted)
    step = step_of(dimension, numpy.float32)
    return Taps(inside(numpy.floor(places.astype(numpy.float32) * step), dimension)[None], None)


def nearest_exact(dimension: Dimension, kind: Any) -> Taps:
    """The element at the centre of each place (``nearest_neighbor_exact_compute_source_index``)."""
    places = numpy.arange(dimension.wanted)
    step = step_of(dimension, numpy.float32)
    centres = ((places.astype(numpy.float64) + 0.5) * step).astype(numpy.float32)  # rounded before it is cut off
    return Taps(inside(numpy.floor(centres), dimension)[None], None)


def sources(dimension: Dimension, kind: Any) -> Reals:
    """Where the centres of the places lie among the elements (``area_pixel_compute_source_index``)."""
    places, step = numpy.arange(dimension.wanted).astype(kind), step_of(dimension, kind)
    found: Reals = places * step if dimension.aligned else step * (places + kind(0.5)) - kind(0.5)
    return found


def linear(dimension: Dimension, kind: Any) -> Taps:
    """The two elements around the centre of each place."""
    at = numpy.maximum(sources(dimension, kind), 0)
    if dimension.size == dimension.wanted:
        at = numpy.arange(dimension.wanted).astype(kind)
    first = inside(at, dimension)
    second = numpy.minimum(first + 1, dimension.size - 1)
    share = numpy.clip(at - first.astype(kind), 0, 1).astype(kind)
    return Taps(numpy.stack((first, second)), numpy.stack((1 - share, share)))


def cubic(dimension: Dimension, kind: Any) -> Taps:
    """The four elements around the centre of each place, by cubic convolution."""
    at = sources(dimension, kind)
    first = numpy.minimum(numpy.floor(at).astype(numpy.int64), dimension.size - 1)
    share = numpy.clip(at - first.astype(kind), 0, 1)
    beside = [share + 1, share, 1 - share, 2 - share]
    a = kind(_CUBIC)
    outer = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (beside[0], beside[3])]
    inner = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (beside[1], beside[2])]
    positions = numpy.stack([numpy.clip(first + offset, 0, dimension.size - 1) for offset in (-1, 0, 1, 2)])
    return Taps(positions, numpy.stack((outer[0], *inner, outer[1])).astype(kind))


Mode = Callable[[Dimension, Any], Taps]

# -------------------------------------------------------------------------------------------------------------- kernels


class Interpolation(NamedTuple):
    """An operator that gives tensors another size.

    name: of the operator. mode: the taps of a dimension. taken: of which kinds of numbers, besides floating ones.
    """

    name: str
    mode: Mode
    taken: tuple[DType, ...] = ()


def dimensions_of(
    inner: Sequence[int], wanted: Sequence[int], scales: Sequence[float | None], aligned: bool
) -> list[Dimension]:
    """The dimensions behind batch and channels, with what is wanted of each."""
    return [Dimension(*each, aligned) for each in zip(inner, wanted, scales, strict=True)]


def taps_of(how: Interpolation, dimension: Dimension, dtype: DType) -> Taps:
    """The taps of a dimension, computed in the precision that PyTorch's kernels compute them in."""
    with numpy.errstate(all="ignore"):
        return how.mode(dimension, numpy.float64 if dtype is float64 else numpy.float32)


def on_device(values: Reals, like: Tensor, place: int) -> Tensor:
    """Numbers along a dimension of a tensor, on its device."""
    return table(values.reshape((-1, *(1,) * (like.ndim - 1 - place)))).to(like.device)


def write_resized(how: Interpolation, self: Tensor, dimensions: Sequence[Dimension], out: Tensor) -> None:
    """Write a tensor with its last dimensions in another size."""
    found = self
    for at, dimension in reversed(list(enumerate(dimensions))):
        place = 2 + at
        positions, weights = taps_of(how, dimension, self.dtype)
        rows = [table(each).to(self.device) for each in positions]
        if weights is None:
            found = found.index_select(place, rows[0])
            continue
        found = found.to(precision_of(self.dtype))
        parts = [
            found.index_select(place, row) * on_device(weight, self, place)
            for row, weight in zip(rows, weights, strict=True)
        ]
        found = sum(parts[1:], start=parts[0])
    copy_(out, found.to(self.dtype))


def write_gradient(how: Interpolation, grad: Tensor, dimensions: Sequence[Dimension], grad_input: Tensor) -> None:
    """Write the gradient of a tensor of which ``write_resized`` made another."""
    found = grad.to(precision_of(grad.dtype))
    for at, dimension in enumerate(dimensions):
        place = 2 + at
        positions, weights = taps_of(how, dimension, grad.dtype)
        made = found.new_zeros((*found.shape[:place], dimension.size, *found.shape[place + 1 :]))
        for tap, row in enumerate(positions):
            share = found if weights is None else found * on_device(weights[tap], found, place)
            made = made.index_add(place, table(row).to(grad.device), share)
        found = made
    copy_(grad_input, found.to(grad.dtype))


# --------------------------------------------------------------------------------------------------------------- shapes


def check_sizes(inner: Sequence[int], wanted: Sequence[int], dims: int, ndim: int) -> None:
    """That there are elements before and after (``upsample_1d_common_check``).

    Raises:
        ShapeError: there are none, or in other dimensions.
    """
    check(len(wanted) == dims, f"It is expected output_size equals to {dims}, but got size {len(wanted)}")
    check(ndim == dims + 2, f"It is expected input_size equals to {dims + 2}, but got size {ndim}")
    names = "DHW"[-dims:]
    shown = [", ".join(f"{n}: {s}" for n, s in zip(names, sizes, strict=True)) for sizes in (inner, wanted)]
    check(
        min(*inner, *wanted) > 0,
        f"Input and output sizes should be greater than 0, but got input ({shown[0]}) and output ({shown[1]})",
    )


def require_kernel(how: Interpolation, name: str, dtype: DType) -> None:
    """That PyTorch has a kernel for the dtype.

    Raises:
        UnsupportedDTypeError: it has none.
    """
    if not dtype.is_floating_point and dtype not in how.taken:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{dtype.scalar_type}'. Convert first: x.float().")


def resized_meta(ctx: MetaContext, how: Interpolation, self: Tensor, output_size: Sequence[int], dims: int) -> None:
    """The shape of the result, and its strides: those of the memory format of ``self``."""
    check_sizes(self.shape[2:], output_size, dims, self.ndim)
    check(
        0 not in self.shape[1:],
        f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}",
    )
    require_kernel(how, how.name, self.dtype)
    memory_format = self.geometry.suggested_memory_format()
    ctx.set_output(0, (*self.shape[:2], *output_size), like=self, memory_format=memory_format)


def gradient_meta(
    ctx: MetaContext,
    how: Interpolation,
    grad: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    dims: int,
) -> None:
    """The shape of the gradient, which is that of the input."""
    check_sizes(input_size[2:], output_size, dims, len(input_size))
    check(
        grad.ndim == dims + 2,
        f"Expected grad_output to be a tensor of dimension {dims + 2} but got: dimension {grad.ndim}",
    )
    for dim, (ours, wanted) in enumerate(zip(grad.shape, (*input_size[:2], *output_size), strict=True)):
        check(
            ours == wanted,
            f"Expected grad_output to have the same shape as output; output.size({dim}) = {wanted} but got "
            f"grad_output.size({dim}) = {ours}",
        )
    require_kernel(how, f"{how.name}_backward", grad.dtype)
    memory_format = grad.geometry.suggested_memory_format()
    ctx.set_output(0, tuple(input_size), like=grad, memory_format=memory_format)


def wanted_size(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None, dims: int
) -> tuple[list[int], list[float | None]]:
    """The sizes that are wanted, or that factors give, and the factors (``compute_output_size``).

    Raises:
        ShapeError: not exactly one of both is given, or not one for each of ``dims`` dimensions.
        NumberError: a size is no int64.
    """
    check((output_size is None) != (scale_factors is None), "Must specify exactly one of output_size and scale_factors")
    given: Sequence[float] = output_size or scale_factors or ()
    inner = input.shape[2:]
    check(
        len(given) == len(inner) == dims,
        "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
        f"{list(inner)} and output size of {list(given)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
        "and output size in (o1, o2, ...,oK) format.",
    )
    if scale_factors is None:
        return [int(each) for each in given], [None] * len(inner)
    with numpy.errstate(over="ignore", invalid="ignore"):
        scaled = numpy.asarray(inner, numpy.float32) * numpy.asarray(scale_factors, numpy.float32)
    sizes = [convert(float(each), int64) for each in scaled]
    return sizes, list(scale_factors)
