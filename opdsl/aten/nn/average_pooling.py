"""The mean of windows that slide over signals, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from opdsl.aten.nn.max_pooling import (
    Parameters,
    Shape,
    as_image,
    check_gradient,
    one_number,
    parameters,
    require_images,
    slides,
    strides_like,
    windows_over,
    with_one,
)
from opdsl.aten.nn.padding import zero_derivative
from opdsl.aten.nn.sliding import Windows, collect, counts_of, seen, specs_of
from opdsl.aten.pointwise.division import div
from opdsl.aten.reduce.sums import sum_dim
from opdsl.declare import Out, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check, fill_, pool_windows
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.outputs import table
from opdsl.runtime import Category, DType, Tensor, bfloat16, float16, float32, float64, int64
from opdsl.schema.vocabulary import IntList, Ints, Size

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator


class Means(NamedTuple):
    """The means of windows.

    windows: of the last dimensions.
    margins: of each dimension, how much of it counts.
    divisor: of the sums; 0 for how many elements a window has.
    """

    windows: Windows
    margins: Shape
    divisor: int = 0


def divisors(means: Means) -> int | Tensor:
    """What sums are divided by: a number, or one for each window, int64 (counts)."""
    if means.divisor:
        return means.divisor
    counts = []
    for each, margin in zip(means.windows, means.margins, strict=True):
        inside = (each.places >= -margin) & (each.places < each.size + margin)
        counts.append(inside.sum(1).clip(1))  # the sum of a margin alone is 0, and so is its mean
    if all((each == each[:1]).all() for each in counts):
        return math.prod(int(each[0]) for each in counts if each.size)
    product = counts[0]
    for each in counts[1:]:
        product = product[..., None] * each
    return table(product)


def divided(total: Tensor, divisor: int | Tensor, out: Tensor | None = None) -> Tensor:
    """The quotient; that of integers without what is behind the point."""
    mode = "trunc" if total.dtype.category is Category.INT else None
    divisor = divisor.to(total.device) if isinstance(divisor, Tensor) else divisor
    return div(total, divisor, rounding_mode=mode, **({} if out is None else {"out": out}))


def mean_of(self: Tensor, means: Means, out: Tensor) -> None:
    """Write the sum of each window, divided."""
    windows, margins, divisor = means
    if pool_windows("mean", self, specs_of(windows, margins), out, divisor=divisor):
        return
    last = tuple(range(-len(windows), 0))
    total = sum_dim(seen(self, windows), last, dtype=precision_of(self.dtype))
    divided(total, divisors(means), out)


def share_out(grad_output: Tensor, means: Means, grad_input: Tensor) -> None:
    """Write the gradient of what was averaged."""
    windows, margins, divisor = means
    fill_(grad_input, 0)
    if pool_windows("share", grad_input, specs_of(windows, margins), grad_output, divisor=divisor):
        return
    share = divided(grad_output, divisors(means))
    collect(grad_input, share.view((*share.shape, *(1 for _ in windows))), windows)


def average(
    operator: str,
    self: Tensor,
    dims: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> tuple[Parameters, Means]:
    """The parameters of means, and what they are of.

    Raises:
        ShapeError: they do not fit the tensor.
    """
    given = parameters(operator, dims, kernel_size, stride, padding, ceil_mode=ceil_mode)
    require_images(operator, self, dims)
    inner = self.shape[-dims:]
    check(
        dims < 3 or all(size >= kernel for size, kernel in zip(inner, given.kernel_size, strict=True)),
        f"{operator}: input image {list(inner)} smaller than kernel size {list(given.kernel_size)}",
    )
    check(divisor_override != 0, "divisor must be not zero")
    margins = given.padding if count_include_pad else (0,) * dims
    return given, Means(windows_over(self.shape, given), margins, divisor_override or 0)


def declare_avg_pool(
    dims: int, taken: tuple[DType, ...], *, precomputed: tuple[str, ...], backward_tags: tuple[str, ...]
) -> Operator[..., Tensor]:
    """Declare the operator of means, but for its out-kernel, and that of its gradient.

    Args:
        dims: how many dimensions windows slide over.
        taken: the dtypes that PyTorch has kernels for.
        precomputed: names of what the out-kernel gets in place of size, stride and padding.
        backward_tags: the tags of the gradient's operator.
    """
    name = f"avg_pool{dims}d"
    names = ("kernel_size", "stride", "padding")
    replaced = {
        argument: dict.fromkeys(precomputed[dims * index : dims * (index + 1)], int)
        for index, argument in enumerate(names)
    }
    options: dict[str, Any] = {"precomputed": replaced} if precomputed else {}

    def require_taken(operator: str, self: Tensor) -> None:
        if self.dtype not in taken:
            raise UnsupportedDTypeError(
                f"\"{operator}\" not implemented for '{self.dtype.scalar_type}'. Convert first: x.to(float32)."
            )

    def strides_of(self: Tensor, shape: Shape) -> tuple[int, ...] | None:
        return strides_like(self, shape, dims) if dims == 2 else None

    @op(f"aten::{name}", python_module="nn", tags="core", out=Out(tags=(), **options))
    def pool(
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)] = (),
        padding: Annotated[IntList, Size(dims)] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """
        ...

    @pool.meta
    def pool_meta(ctx, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        given, means = average(name, self, dims, *values)
        require_taken(name, self)
        shape = (*self.shape[:-dims], *counts_of(means.windows))
        ctx.set_output(0, shape, strides_of(self, shape), like=self)
        return dict(zip(precomputed, (*given.kernel_size, *given.stride, *given.padding), strict=False))

    @op(
        f"aten::{name}_backward",
        python_module="nn",
        tags=backward_tags,
        out=Out(f"{name}_backward.grad_input", args=("grad_input",), tags=()),
    )
    def pool_backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)],
        padding: Annotated[IntList, Size(dims)],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
        ...

    @pool_backward.meta
    def pool_backward_meta(
        ctx, grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        _, means = average(name, self, dims, *values)
        check_gradient(f"{name}_backward", grad_output, self, (*self.shape[:-dims], *counts_of(means.windows)))
        require_taken(f"{name}_backward", self)
        ctx.set_output(0, self.shape, strides_of(self, self.shape), like=self)

    pool_backward.sharding(rows=dims)

    @pool_backward.out_kernel("CPU", "CUDA", compiled=False)
    def pool_backward_cpu(
        grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, grad_input
    ):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        share_out(grad_output, average(name, self, dims, *values)[1], grad_input)

    @pool.derivative("self")
    def pool_derivative(grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return pool_backward(grad, self, *values)

    @pool_backward.derivative("grad_output")
    def pool_backward_derivative(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return pool(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    pool_backward.derivative("self")(zero_derivative)
    return pool


avg_pool2d = declare_avg_pool(
    2,
    (float16, bfloat16, float32, float64, int64),
    precomputed=("kH", "kW", "dH", "dW", "padH", "padW"),
    backward_tags=("core",),
)
avg_pool3d = declare_avg_pool(3, (float32, float64, int64), precomputed=(), backward_tags=())


avg_pool2d.sharding(windows=slides(2))


@avg_pool2d.out_kernel("CPU", "CUDA", compiled=False)
def avg_pool2d_cpu(self, kH, kW, dH, dW, padH, padW, ceil_mode, count_include_pad, divisor_override, out):
    values = ((kH, kW), (dH, dW), (padH, padW), ceil_mode, count_include_pad, divisor_override)
    mean_of(self, average("avg_pool2d", self, 2, *values)[1], out)


avg_pool3d.sharding(windows=slides(3))


@avg_pool3d.out_kernel("CPU", "CUDA", compiled=False)
def avg_pool3d_cpu(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out):
    values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    mean_of(self, average("avg_pool3d", self, 3, *values)[1], out)


@op("aten::avg_pool1d", tags="core", autogen="avg_pool1d.out")
def avg_pool1d(
    self: Tensor,
    kernel_size: Ints[1],
    stride: Ints[1] = (),
    padding: Ints[1] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of signals; ``count_include_pad`` says whether the zeros of the margin count."""
    image = as_image("avg_pool1d", self)
    one_number("avg_pool1d", kernel_size=kernel_size, stride=stride, padding=padding)
    values = (with_one(kernel_size), with_one(stride), with_one(padding, 0), ceil_mode, count_include_pad)
    return avg_pool2d(image, *values).squeeze(-2)
