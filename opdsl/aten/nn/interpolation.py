"""Interpolation of signals, images and volumes to another size: source indices, weights, shapes and checks.

The rules are those of ATen/native/UpSample.h: each element of the result is a weighted sum of a few elements along each
dimension. Sums begin with their first term instead of 0: adding 0 changes -0, so no compiler removes that addition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opdsl.aten._shared.checks import require_floating
from opdsl.aten.nn.grid_sampling import weights
from opdsl.kernels import MetaContext, check
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import DType, Tensor, float64, int64, uint8
from opdsl.runtime.lowering import deferred

# -------------------------------------------------------------------------------------------- elements of one dimension

# Factor of Veltkamp's split, which rounds a float64 to the precision of float32.
_SPLIT = 2.0**29 + 1


def source(mode: Any, i: Any, step: Any, shift: Any, is_double: Any) -> Any:
    """Return the fractional input index that an output index ``i`` reads at (``area_pixel_compute_source_index``)."""
    at = (i + shift) * step
    if mode != "nearest":
        return at - shift if mode == "bicubic" else max(at - shift, 0.0)
    # PyTorch computes the index in float32 for all dtypes.
    wide = _SPLIT * at
    return math.floor(wide - (wide - at) if is_double else at)


def first_of(mode: Any, at: Any, size: Any) -> Any:
    """Return the index of the element before a fractional index; only for cubic convolution it may be out of bounds."""
    if mode == "nearest":
        return min(max(int(at), 0), size - 1)
    return min(int(math.floor(at) if mode == "bicubic" else at), size - 1)


def share_of(at: Any, first: Any) -> Any:
    """Return the fractional distance of an index from the element before it, at most 1."""
    return min(at - first, 1.0)


def tap(mode: Any, first: Any, offset: Any, size: Any) -> Any:
    """Return the index of one of the elements around a point, clamped to the bounds."""
    if mode == "bicubic":
        return min(max(first + offset - 1, 0), size - 1)
    return min(first + offset, size - 1) if offset else first


def whole(unit: Any, total: Any) -> Any:
    """Round a weighted sum of bytes and clamp it to 0 and 255; return other dtypes' sums (``unit`` None) unchanged."""
    return total if unit is None else min(max(math.floor(total + 0.5), 0), 255)


def fixed(unit: Any, weight: Any) -> Any:
    """Round a weight for bytes to a multiple of ``1 / unit``; return a weight for other dtypes unchanged."""
    return weight if unit is None else math.floor(weight * unit + 0.5) / unit


def resized_1(self: Any, mode: Any, steps: Any, shifts: Any, is_double: Any, i: int) -> Any:
    x = source(mode, i, steps[0], shifts[0], is_double)
    left = first_of(mode, x, self.shape[-1])
    total = 0
    for a, right in enumerate(weights(mode, share_of(x, left))):
        value = self[..., tap(mode, left, a, self.shape[-1])] * right
        total = total + value if a else value
    return total


def resized_2(self: Any, mode: Any, steps: Any, shifts: Any, is_double: Any, units: Any, i: int, j: int) -> Any:
    y = source(mode, i, steps[0], shifts[0], is_double)
    x = source(mode, j, steps[1], shifts[1], is_double)
    top, left = first_of(mode, y, self.shape[-2]), first_of(mode, x, self.shape[-1])
    total = 0
    for b, down in enumerate(weights(mode, share_of(y, top))):
        row = 0
        for a, right in enumerate(weights(mode, share_of(x, left))):
            value = self[..., tap(mode, top, b, self.shape[-2]), tap(mode, left, a, self.shape[-1])]
            value = value * fixed(units[1], right)
            row = row + value if a else value
        row = whole(units[1], row) * fixed(units[0], down)
        total = total + row if b else row
    return whole(units[0], total)


def resized_3(self: Any, mode: Any, steps: Any, shifts: Any, is_double: Any, i: int, j: int, k: int) -> Any:
    z = source(mode, i, steps[0], shifts[0], is_double)
    y = source(mode, j, steps[1], shifts[1], is_double)
    x = source(mode, k, steps[2], shifts[2], is_double)
    front, top = first_of(mode, z, self.shape[-3]), first_of(mode, y, self.shape[-2])
    left, total = first_of(mode, x, self.shape[-1]), 0
    for c, deep in enumerate(weights(mode, share_of(z, front))):
        slab = tap(mode, front, c, self.shape[-3])
        plane = 0
        for b, down in enumerate(weights(mode, share_of(y, top))):
            row = 0
            for a, right in enumerate(weights(mode, share_of(x, left))):
                line = tap(mode, top, b, self.shape[-2])
                value = self[..., slab, line, tap(mode, left, a, self.shape[-1])] * right
                row = row + value if a else value
            plane = plane + row * down if b else row * down
        total = total + plane * deep if c else plane * deep
    return total


RESIZED: dict[int, Callable[..., Any]] = {1: resized_1, 2: resized_2, 3: resized_3}
"""Functions that return an element of the resized tensor, keyed by the number of resized dimensions."""


def numbers(
    mode: str,
    inner: Sequence[int],
    wanted: Sequence[int],
    scales: Sequence[float | None],
    dtype: DType,
    *,
    aligned: bool,
) -> dict[str, Any]:
    """Return the arguments that the scalar functions of interpolation take.

    Args:
        mode: ``nearest``, ``nearest-exact``, ``bilinear`` (of any number of dimensions) or ``bicubic``.
        inner, wanted: the sizes before and after.
        scales: the scale factors that the caller gives, None for a dimension without one.
        dtype: the dtype of the elements.
        aligned: whether the centers of the first and of the last element stay in place, instead of their outer edges.
    """
    is_double = dtype is float64
    kind = numpy.float64 if (is_double or dtype is uint8) and not mode.startswith("nearest") else numpy.float32
    steps, shifts = [], []
    for size, count, scale in zip(inner, wanted, scales, strict=True):
        is_kept = mode == "bilinear" and size == count
        steps.append(1.0 if is_kept else step_of(size, count, scale, kind, aligned))
        shifts.append(0.0 if mode == "nearest" or aligned or is_kept else 0.5)
    named = "nearest" if mode == "nearest-exact" else mode
    values = {"mode": named, "steps": tuple(steps), "shifts": tuple(shifts), "is_double": is_double}
    if len(steps) == 2:  # only images are interpolated in bytes
        is_bytes = dtype is uint8 and named != "nearest"
        axes = zip(inner, wanted, steps, shifts, strict=True)
        values["units"] = tuple(unit_of(named, *one) for one in axes) if is_bytes else (None, None)
    return values


@deferred
def unit_of(mode: str, size: int, count: int, step: float, shift: float) -> float:
    """Return the scale, a power of two, by which PyTorch converts interpolation weights for uint8 images to int16: the
    largest one for which all weights fit (``_compute_index_ranges_int16_weights``).
    """
    at = (numpy.arange(count) + shift) * step - shift
    at = at if mode == "bicubic" else numpy.maximum(at, 0.0)
    first = numpy.minimum(numpy.floor(at), size - 1)
    factors = numpy.stack(weights(mode, numpy.clip(at - first, 0.0, 1.0)))
    offsets = numpy.arange(len(factors)) - (mode == "bicubic")
    places = numpy.clip(first + offsets[:, None], 0, size - 1)
    # Weights of elements that are clamped to the same border element are added up.
    largest = max(float((factors * (places == place)).sum(0).max()) for place in places)
    return float(2 ** max(bits for bits in range(23) if math.trunc(largest * 2**bits + 0.5) < 2**15))


@deferred
def step_of(size: int, wanted: int, scale: float | None, kind: Any, aligned: bool) -> float:
    """Return the distance in the input between neighboring elements of the output (``area_pixel_compute_scale``)."""
    with numpy.errstate(all="ignore"):
        if aligned:
            return float(kind(size - 1) / kind(wanted - 1)) if wanted > 1 else 0.0
        if scale is not None and scale > 0:
            return float(kind(numpy.float64(1.0) / scale))
        return float(kind(size) / kind(wanted))


# --------------------------------------------------------------------------------------------------------------- shapes


def check_sizes(inner: Sequence[int], wanted: Sequence[int], dims: int, ndim: int) -> None:
    """Check the number of dimensions, and that all sizes before and after are positive (``upsample_1d_common_check``).

    Raises:
        ShapeError: a size is not positive, or the number of dimensions is wrong.
    """
    check(len(wanted) == dims, f"It is expected output_size equals to {dims}, but got size {len(wanted)}")
    check(ndim == dims + 2, f"It is expected input_size equals to {dims + 2}, but got size {ndim}")
    names = "DHW"[-dims:]
    shown = [", ".join(f"{n}: {s}" for n, s in zip(names, sizes, strict=True)) for sizes in (inner, wanted)]
    check(
        all(size > 0 for size in (*inner, *wanted)),
        f"Input and output sizes should be greater than 0, but got input ({shown[0]}) and output ({shown[1]})",
    )


def resized_meta(
    ctx: MetaContext, name: str, taken: Sequence[DType], self: Tensor, output_size: Sequence[int], dims: int
) -> None:
    """Check the arguments of a resizing operator, and set its output, in the memory format of ``self``."""
    check_sizes(self.shape[2:], output_size, dims, self.ndim)
    check(
        0 not in self.shape[1:],
        f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}",
    )
    require_floating(name, self, *taken)
    memory_format = self.geometry.suggested_memory_format()
    ctx.set_output(0, (*self.shape[:2], *output_size), like=self, memory_format=memory_format)


def gradient_meta(
    ctx: MetaContext,
    name: str,
    taken: Sequence[DType],
    grad: Tensor,
    output_size: Sequence[int],
    input_size: Sequence[int],
    dims: int,
) -> None:
    """Check the arguments of a resizing operator's gradient, and set its output, which has the shape of the input."""
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
    require_floating(f"{name}_backward", grad, *taken)
    memory_format = grad.geometry.suggested_memory_format()
    ctx.set_output(0, tuple(input_size), like=grad, memory_format=memory_format)


def wanted_size(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None, dims: int
) -> tuple[list[int], list[float | None]]:
    """Return the output sizes, as given or computed from scale factors, and the factors (``compute_output_size``).

    Raises:
        ShapeError: not exactly one of sizes and factors is given, or there is not one for each of ``dims`` dimensions.
        NumberError: a size does not fit int64.
    """
    check((output_size is None) != (scale_factors is None), "Must specify exactly one of output_size and scale_factors")
    values: Sequence[float] = output_size or scale_factors or ()
    inner = input.shape[2:]
    check(
        len(values) == len(inner) == dims,
        "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
        f"{list(inner)} and output size of {list(values)}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
        "format and output size in (o1, o2, ...,oK) format.",
    )
    if scale_factors is None:
        return [*(output_size or ())], [None] * len(inner)
    return [scaled_size(*pair) for pair in zip(inner, scale_factors, strict=True)], list(scale_factors)


@deferred
def scaled_size(size: int, factor: float) -> int:
    """Return a size times a factor, computed in float32 as in PyTorch.

    Raises:
        NumberError: the result does not fit int64.
    """
    with numpy.errstate(over="ignore", invalid="ignore"):
        scaled = numpy.float32(size) * numpy.float32(factor)
    number: int = convert(float(scaled), int64)
    return number
