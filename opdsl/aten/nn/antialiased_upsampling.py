"""Antialiased resizing of images: each output element is a weighted average of all input elements that it covers.

The rules are those of ATen/native/cpu/UpSampleKernel.cpp. Along a dimension the result is a product with a matrix of
weights, so its gradient is a product with the transposed matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy

from opdsl.aten._shared.checks import require_floating
from opdsl.aten.create.ranges import arange
from opdsl.aten.nn.interpolation import check_sizes, step_of
from opdsl.aten.nn.upsampling import by_factors
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor, float64, uint8
from opdsl.schema.vocabulary import Size, SymInt, SymIntList

# -------------------------------------------------------------------------------------------------------------- filters


def triangle(x: Tensor) -> Tensor:
    return 1 - x


def cubic(x: Tensor) -> Tensor:
    """Return the cubic convolution kernel with parameter -1/2, as in Pillow, at distances ``x`` from 0 on."""
    return where(x < 1, (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2)


def lanczos(x: Tensor) -> Tensor:
    weights: Tensor = x.sinc() * (x / 3).sinc()
    return weights


FILTERS: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {
    "bilinear": (triangle, 1),
    "bicubic": (cubic, 2),
    "lanczos": (lanczos, 3),
}
"""Filters by interpolation mode: the function from a distance to its weight, and the distance from which the weight is
0.
"""


def shares(mode: str, size: int, count: int, aligned: bool, scale: float | None, device: Any) -> Tensor:
    """Return the matrix of weights, (``count``, ``size``) in float64, that resizes a dimension from ``size`` to
    ``count``.
    """
    weight, reach = FILTERS[mode]
    step = step_of(int(size), int(count), scale, numpy.float64, aligned)
    wide = max(step, 1.0)
    places = arange(size, dtype=float64, device=device)
    centers = (arange(count, dtype=float64, device=device).unsqueeze(1) + 0.5) * step
    distances = ((places - centers + 0.5) / wide).abs()
    weights = where(distances < reach, weight(distances), 0.0)
    # Elements just outside of a window, which rounding would let in, get no weight, as in PyTorch.
    first, last = ((centers + reach * wide * side + 0.5).trunc() for side in (-1, 1))
    weights = where((places >= first).logical_and(places < last), weights, 0.0)
    total = weights.sum(1, keepdim=True)
    return weights / where(total == 0, 1.0, total)


def in_bytes(images: Tensor, weights: Tensor) -> Tensor:
    """Resize the last dimension of images of bytes with weights rounded to 16-bit integers, and round and clamp the
    sums.
    """
    powers = arange(1, 23, dtype=float64, device=weights.device).exp2()
    fitting = (weights.max() * powers + 0.5).trunc() < 2**15
    unit = fitting.sum().to(float64).exp2()
    whole = (weights * unit + 0.5 * weights.sign()).trunc()
    rounded: Tensor = ((images @ whole.t() + unit / 2) / unit).floor().clamp(0, 255)
    return rounded


def resized(name: str, mode: str, self: Tensor, output_size: Any, aligned: bool, *scales: float | None) -> Tensor:
    """Return images resized to ``output_size``.

    Args:
        name: the operator's name, for error messages.
        mode: the filter, a key of ``FILTERS``.
        self: the images, (batch, channels, height, width).
        output_size: height and width of the result.
        aligned: whether the corner elements of input and output coincide.
        scales: the scale factors of height and width, None where they follow from the sizes.

    Raises:
        ShapeError: the images have no elements before or after.
        UnsupportedDTypeError: the elements are neither floating-point numbers nor bytes.
    """
    check_sizes(self.shape[2:], output_size, 2, self.ndim)
    check(0 not in self.shape[1:], f"Non-empty 4D data tensor expected but got a tensor with sizes {list(self.shape)}")
    require_floating(name, self, uint8)
    memory_format = self.geometry.suggested_memory_format()
    if tuple(self.shape[2:]) == tuple(output_size):
        return self.clone(memory_format=memory_format)
    down, right = (
        shares(mode, size, count, aligned, scale, self.device)
        for size, count, scale in zip(self.shape[2:], output_size, scales, strict=True)
    )
    if self.dtype is uint8:
        turned = in_bytes(self.to(float64), right).transpose(-2, -1)
        resampled: Tensor = in_bytes(turned, down).transpose(-2, -1).to(uint8)
    else:
        resampled = down.to(self.dtype) @ (self @ right.to(self.dtype).t())
    output: Tensor = resampled.contiguous(memory_format=memory_format)
    return output


def spread(
    name: str, mode: str, grad: Tensor, output_size: Any, input_size: Any, aligned: bool, *scales: float | None
) -> Tensor:
    """Return the gradient of the images that ``resized`` has resized.

    Raises:
        ShapeError: the gradient does not have the shape of the resized images.
        UnsupportedDTypeError: the gradient's elements are not floating-point numbers.
    """
    check_sizes(input_size[2:], output_size, 2, len(input_size))
    wanted = [*input_size[:2], *output_size]
    check(
        list(grad.shape) == wanted,
        f"Expected grad_output to have the same shape as output; output has shape {wanted} but got grad_output with "
        f"shape {list(grad.shape)}",
    )
    require_floating(f"{name}_backward", grad)
    down, right = (
        shares(mode, size, count, aligned, scale, grad.device).to(grad.dtype)
        for size, count, scale in zip(input_size[2:], output_size, scales, strict=True)
    )
    gradient: Tensor = (down.t() @ (grad @ right)).contiguous(memory_format=grad.geometry.suggested_memory_format())
    return gradient


# ------------------------------------------------------------------------------------------------------------ operators


def declare_gradient(name: str, mode: str, *devices: str) -> None:
    """Declare the gradient operator of the antialiased resizing operator ``name``, which ``declare`` declares."""
    grad_input = Out(".grad_input", args=("grad_input",))

    @op(f"aten::{name}_backward", python_module="nn", out=grad_input)
    def upsample_backward(
        grad_output: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        input_size: Annotated[SymIntList, Size(4)],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Return the gradient of the images from the gradient of the resized images."""
        return spread(name, mode, grad_output, output_size, input_size, align_corners, scales_h, scales_w)


def declare(mode: str, *devices: str) -> Any:
    """Declare the resizing operators of a filter, for the devices that PyTorch supports, and the operator of their
    gradient.
    """
    base_name = f"_upsample_{mode}2d_aa"

    @op(f"aten::{base_name}", python_module="nn", out=True)
    def upsample(
        self: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Return images resized to ``output_size``, each element the weighted average of the elements it covers."""
        return resized(base_name, mode, self, output_size, align_corners, scales_h, scales_w)

    declare_gradient(base_name, mode, *devices)

    @op(f"aten::{base_name}.vec", python_module="nn")
    def upsample_by_factors(
        input: Tensor, output_size: list[SymInt] | None, align_corners: bool, scale_factors: list[float] | None
    ) -> Tensor:
        """Return images resized to ``output_size`` or by ``scale_factors``, each element the weighted average of those
        it covers.
        """
        return by_factors(upsample, 2, input, output_size, scale_factors, align_corners)

    return upsample


_upsample_bilinear2d_aa = declare("bilinear", "CPU", "CUDA", "MPS")
_upsample_bicubic2d_aa = declare("bicubic", "CPU", "CUDA", "MPS")
_upsample_lanczos2d_aa = declare("lanczos", "CPU")
