"""Max unpooling, the inverse of max pooling with indices, and fractional max pooling, whose windows are random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.create.ranges import arange
from opdsl.aten.nn.max_pooling import gathered_derivative, pair_gradients
from opdsl.aten.nn.pooling import check_gradient, require_images
from opdsl.aten.nn.sliding import as_sizes
from opdsl.declare import Out, op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, int64
from opdsl.schema.vocabulary import IntList, Size, SymIntList

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator


# ------------------------------------------------------------------------------------------------------------ unpooling


def unpooled(name: str, self: Tensor, indices: Tensor, output_size: Sequence[int], dims: int) -> Tensor:
    """Return zeros with elements written at flat indices into the last ``dims`` dimensions.

    Raises:
        ShapeError, DTypeError, UnsupportedDTypeError, PositionError: the arguments do not fit.
    """
    require_floating(name, self)
    if indices.dtype is not int64:
        raise DTypeError(f"elements in indices should be type int64 but got: {indices.dtype.scalar_type}")
    check(len(output_size) == dims, f"{name}(): output_size should have {dims} elements, but got {list(output_size)}")
    require_images(name, self, dims)
    check(
        indices.shape == self.shape,
        f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices tensor "
        f"with shape: {list(indices.shape)}",
    )
    check(
        min(output_size) >= 0,
        f"{name}(): output_size must contain non-negative spatial dimensions, but got output_size={list(output_size)}",
    )
    outer, count = self.shape[:-dims], math.prod(self.shape[-dims:])
    flat = self.new_zeros((*outer, math.prod(output_size)))
    scattered: Tensor = flat.scatter(-1, indices.reshape((*outer, count)), self.reshape((*outer, count)))
    return scattered.view((*outer, *output_size))


@op("aten::max_unpool2d", kernel=True, python_module="nn", out=True)
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Annotated[SymIntList, Size(2)]) -> Tensor:
    """Return the elements at the indices where ``max_pool2d`` found them, with zeros elsewhere."""
    spread = unpooled("max_unpooling2d", self, indices, as_sizes(output_size), 2)
    return spread.contiguous(memory_format=self.geometry.suggested_memory_format()) if self.ndim == 4 else spread


max_unpool2d.derivative(self=lambda grad, indices: gathered_derivative(grad, indices, 2))


@op("aten::max_unpool3d", kernel=True, python_module="nn", out=True)
def max_unpool3d(
    self: Tensor,
    indices: Tensor,
    output_size: Annotated[SymIntList, Size(3)],
    stride: Annotated[IntList, Size(3)],
    padding: Annotated[IntList, Size(3)],
) -> Tensor:
    """Return the elements at the indices where ``max_pool3d`` found them, with zeros elsewhere."""
    stride, padding = as_sizes(stride), as_sizes(padding)
    fits = len(stride) == 3 and len(padding) == 3
    check(fits, f"expected 3 strides and margins, got {list(stride)}, {list(padding)}")
    check(min(stride) > 0, f"strides should be greater than zero, but got stride: {list(stride)}")
    return unpooled("max_unpooling3d", self, indices, as_sizes(output_size), 3)


max_unpool3d.derivative(self=lambda grad, indices: gathered_derivative(grad, indices, 3))


# ----------------------------------------------------------------------------------------------------- random windows


def begins(samples: Tensor, size: int, count: int, kernel: int) -> Tensor:
    """Return the indices at which ``count`` windows begin: at even steps that a random number from [0, 1) shifts.

    Args:
        samples: the random numbers, (...).
        size: the dimension's size.
        count: the number of windows.
        kernel: the number of elements of a window.

    Returns:
        A tensor (..., count) for random numbers (...).
    """
    at = arange(count, device=samples.device)
    step = (size - kernel) / (count - 1) if count > 1 else 0.0
    shift = samples.unsqueeze(-1)
    starts = ((at.to(samples.dtype) + shift) * step).trunc() - (shift * step).trunc()
    return starts.to(int64).clamp(0, size - kernel).masked_fill(at == count - 1, size - kernel)


def check_windows(name: str, self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], dims: int) -> None:
    """Check the dtype and the sizes of fractional max pooling's arguments, and that all windows fit.

    Raises:
        ShapeError, UnsupportedDTypeError: they do not.
    """
    for what, numbers in (("kernel_size", kernel_size), ("output_size", output_size)):
        check(len(numbers) == dims, f"{name}(): {what} should have {dims} elements, but got {list(numbers)}")
    require_images(name, self, dims)
    require_floating(name, self)
    check(min(kernel_size) > 0, f"{name}(): kernel_size should be greater than zero, but got {list(kernel_size)}")
    check(min(output_size) >= 0, f"{name}(): output_size should not be negative, but got {list(output_size)}")
    for kernel, count, size in zip(kernel_size, output_size, self.shape[-dims:], strict=True):
        check(
            count + kernel - 1 <= size,
            f"{name}(): pool size {kernel} too large for {count} windows relative to input size {size}",
        )


def check_samples(name: str, self: Tensor, samples: Tensor, dims: int) -> None:
    """Check that there is a random number for each pooled dimension of each channel.

    Raises:
        ShapeError, DTypeError: the random numbers do not fit.
    """
    if samples.dtype is not self.dtype:
        raise DTypeError(f"{name}(): Expect _random_samples to have the same dtype as input")
    batch = self.shape[0] if self.ndim == dims + 2 else 1
    wanted = (batch, self.shape[-dims - 1], dims)
    check(
        samples.ndim == 3 and samples.shape[0] >= batch and samples.shape[1:] == wanted[1:],
        f"{name}(): Expect _random_samples to have at least the shape {list(wanted)}",
        got=samples.shape,
    )


def pooled(
    name: str,
    dims: int,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    random_samples: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window of fractional max pooling, and its flat index.

    Raises:
        ShapeError, DTypeError: the arguments do not fit.
    """
    check_windows(name, self, kernel_size, output_size, dims)
    check_samples(name, self, random_samples, dims)
    outer, inner = self.shape[:-dims], self.shape[-dims:]
    shifts = random_samples[: outer[0]] if self.ndim == dims + 2 else random_samples[0]
    order = (1, 0) if dims == 2 else range(dims)  # PyTorch's samples for images begin with the width
    number: Any = 0
    for dim, which in enumerate(order):
        first = begins(shifts.select(-1, which), inner[dim], output_size[dim], kernel_size[dim])
        places = first.unsqueeze(-1) + arange(kernel_size[dim], device=self.device)
        here = [1] * (2 * dims)
        here[dim], here[dims + dim] = output_size[dim], kernel_size[dim]
        number = number * inner[dim] + places.reshape((*outer, *here))
    number = number.flatten(-dims)  # (..., windows in each dimension, elements of a window)
    flat = self.reshape((*outer, math.prod(inner)))
    values, at = (
        flat.gather(-1, number.reshape((*outer, math.prod(number.shape[-dims - 1 :])))).view(number.shape).max(-1)
    )
    return values, number.gather(-1, at.unsqueeze(-1)).squeeze(-1)


def pooled_gradient(
    name: str,
    dims: int,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Tensor,
) -> Tensor:
    """Return the gradient of the input of fractional max pooling.

    Raises:
        ShapeError, DTypeError: the arguments do not fit.
    """
    check_windows(name, self, kernel_size, output_size, dims)
    outer = self.shape[:-dims]
    check_gradient(name, grad_output, self, (*outer, *output_size), indices)
    places, gradient = (tensor.reshape((*outer, math.prod(output_size))) for tensor in (indices, grad_output))
    output: Tensor = self.new_zeros((*outer, math.prod(self.shape[-dims:]))).scatter_add(-1, places, gradient)
    return output.view(self.shape)


PRECOMPUTED: dict[int, dict[str, Any]] = {
    3: {
        "precomputed": {
            "kernel_size": {"poolSizeT": int, "poolSizeH": int, "poolSizeW": int},
            "output_size": {"outputT": int, "outputH": int, "outputW": int},
            None: {"numBatch": int, "numPlanes": int, "inputT": int, "inputH": int, "inputW": int},
        }
    }
}
"""Precomputed values that PyTorch declares for the ``out=`` variant, keyed by the number of pooled dimensions."""


def declare(dims: int) -> Operator[..., tuple[Tensor, Tensor]]:
    """Declare the operator of fractional max pooling and the operator of its gradient; return the first.

    Args:
        dims: the number of pooled dimensions.
    """
    base_name = f"fractional_max_pool{dims}d"

    results = Out(".output", args=("output", "indices"), **PRECOMPUTED.get(dims, {}))

    @op(f"aten::{base_name}", python_module="nn", kernel=True, out=results)
    def pool(
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        output_size: Annotated[IntList, Size(dims)],
        random_samples: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return the largest element of each of ``output_size`` windows at random positions, and its flat index."""
        return pooled(base_name, dims, self, as_sizes(kernel_size), as_sizes(output_size), random_samples)

    @op(f"aten::{base_name}_backward", python_module="nn", kernel=True, out=GRAD_INPUT)
    def pool_backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        output_size: Annotated[IntList, Size(dims)],
        indices: Tensor,
    ) -> Tensor:
        """Return the gradient of the input, where each window's gradient goes to the window's largest element."""
        sizes = as_sizes(kernel_size), as_sizes(output_size)
        return pooled_gradient(f"{base_name}_backward", dims, grad_output, self, *sizes, indices)

    pair_gradients(pool, pool_backward, dims)
    return pool


fractional_max_pool2d = declare(2)
fractional_max_pool3d = declare(3)
