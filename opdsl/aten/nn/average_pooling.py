"""Average pooling: means of windows that slide over signals, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from opdsl import primitives
from opdsl.aten._shared.checks import CONVERT, require_kernel
from opdsl.aten.nn.pooling import (
    AT,
    OVER,
    Parameters,
    Shape,
    Windows,
    check_gradient,
    counted,
    over_signals,
    parameters,
    place,
    require_images,
    slides,
    sliding,
    strides_like,
)
from opdsl.declare import Out, op
from opdsl.kernels import MetaContext, check
from opdsl.runtime import Category, DType, Tensor, bfloat16, float16, float32, float64, int64
from opdsl.scalar.intrinsics import trunc_divide
from opdsl.schema.vocabulary import IntList, Size

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator


def quotient(total: Any, divisor: Any, is_whole: Any) -> Any:
    """Return ``total / divisor``, truncated to an integer for integer dtypes."""
    return trunc_divide(total, divisor) if is_whole else total / divisor


def element_2(self: Any, windows: Any, parts: Any, i: int, j: int, u: int, v: int) -> Any:
    return self[..., place(windows, parts, 0, i, u), place(windows, parts, 1, j, v)]


def mean_2(total: Any, windows: Any, parts: Any, divisor: Any, is_whole: Any, i: int, j: int) -> Any:
    if divisor is None:
        divisor = counted(windows, parts, 0, i) * counted(windows, parts, 1, j)
    return quotient(total, divisor, is_whole)


def element_3(self: Any, windows: Any, parts: Any, i: int, j: int, k: int, u: int, v: int, w: int) -> Any:
    z, y, x = place(windows, parts, 0, i, u), place(windows, parts, 1, j, v), place(windows, parts, 2, k, w)
    return self[..., z, y, x]


def mean_3(total: Any, windows: Any, parts: Any, divisor: Any, is_whole: Any, i: int, j: int, k: int) -> Any:
    if divisor is None:
        divisor = counted(windows, parts, 0, i) * counted(windows, parts, 1, j) * counted(windows, parts, 2, k)
    return quotient(total, divisor, is_whole)


ELEMENTS: dict[int, Callable[..., Any]] = {2: element_2, 3: element_3}
"""Functions that return an element of a window, keyed by the number of window dimensions."""

MEANS: dict[int, Callable[..., Any]] = {2: mean_2, 3: mean_3}
"""Functions that compute the mean of a window from its sum, keyed by the number of window dimensions."""


def set_means(
    ctx: MetaContext, self: Tensor, windows: Windows, strides: tuple[int, ...] | None, divisor: int | None = None
) -> dict[str, Any]:
    """Set the output of an average pooling operator, and return the arguments that its scalar functions take.

    Args:
        ctx: the meta function's context.
        self: the tensor that is pooled.
        windows: the windows.
        strides: the output's strides; None for contiguous ones.
        divisor: the number that sums are divided by; None for the number of elements of each window.
    """
    ctx.set_output(0, (*self.shape[: self.ndim - len(windows.sizes)], *windows.counts), strides, like=self)
    return means(self, windows, divisor)


def means(self: Tensor, windows: Windows, divisor: int | None = None) -> dict[str, Any]:
    """Return the arguments that the scalar functions of average pooling take: the windows and the divisor."""
    if divisor is None and is_even(windows):
        divisor = math.prod(windows.lengths)
    return {**windows.numbers, "divisor": divisor, "is_whole": self.dtype.category is Category.INT}


def is_even(windows: Windows) -> bool:
    """Return whether all windows count the same number of elements."""
    rows = zip(windows.first, windows.counts, windows.stride, windows.lengths, windows.sizes, strict=True)
    return windows.parts is None and all(
        first >= -margin and first + (count - 1) * stride + length <= size + margin
        for margin, (first, count, stride, length, size) in zip(windows.margins, rows, strict=True)
    )


def take_means(pool: Operator[..., Tensor], dims: int) -> None:
    """Define the formula of an average pooling operator whose meta function returns the arguments made by ``means``."""
    sums = primitives.positions(
        ELEMENTS[dims],
        at=("...", *AT[:dims]),
        over=tuple(OVER[:dims]),
        fold="sum",
        margin="skip",
        finish=MEANS[dims],
    )

    @pool.formula
    def mean(self: Tensor) -> Tensor:
        return sums(self)


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
) -> tuple[Parameters, Windows]:
    """Check the arguments of average pooling; return its parameters and its windows.

    Raises:
        ShapeError: the parameters do not fit the tensor.
    """
    params = parameters(operator, dims, kernel_size, stride, padding, ceil_mode=ceil_mode)
    require_images(operator, self, dims)
    inner = self.shape[-dims:]
    check(
        dims < 3 or all(size >= kernel for size, kernel in zip(inner, params.kernel_size, strict=True)),
        f"{operator}: input image {list(inner)} smaller than kernel size {list(params.kernel_size)}",
    )
    check(divisor_override != 0, "divisor must be not zero")
    windows = sliding(self.shape, params)
    return params, windows._replace(margins=params.padding) if count_include_pad else windows


def declare_avg_pool(
    dims: int, taken: tuple[DType, ...], *, precomputed: tuple[str, ...], backward_tags: tuple[str, ...]
) -> Operator[..., Tensor]:
    """Declare the operator of average pooling and the operator of its gradient; return the first.

    Args:
        dims: the number of pooled dimensions.
        taken: the dtypes that PyTorch has kernels for.
        precomputed: the names of the numbers that the out kernel receives in place of size, stride and padding.
        backward_tags: the tags of the gradient operator.
    """
    base_name = f"avg_pool{dims}d"
    replaced = {
        option: dict.fromkeys(precomputed[dims * index : dims * (index + 1)], int)
        for index, option in enumerate(("kernel_size", "stride", "padding"))
    }
    options: dict[str, Any] = {"precomputed": replaced} if precomputed else {}

    def require_taken(operator: str, self: Tensor) -> None:
        require_kernel(self.dtype in taken, operator, self.dtype, CONVERT)

    def strides_of(self: Tensor, shape: Shape) -> tuple[int, ...] | None:
        return strides_like(self, shape, dims) if dims == 2 else None

    @op(f"aten::{base_name}", python_module="nn", tags="core", out=Out(tags=(), **options))
    def pool(
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)] = [],  # noqa: B006
        padding: Annotated[IntList, Size(dims)] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """Return the mean of each window.

        Args:
            count_include_pad: whether the zeros of the padding count as elements.
            divisor_override: the number that sums are divided by, instead of the number of elements.
        """
        ...

    into = Out(".grad_input", args=("grad_input",), tags=())

    @op(f"aten::{base_name}_backward", python_module="nn", tags=backward_tags, out=into)
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
        """Return the gradient of the input, where each window's gradient is divided equally among the window's
        elements.
        """
        ...

    @pool.meta
    def pool_meta(ctx, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        params, windows = average(base_name, self, dims, *values)
        require_taken(base_name, self)
        strides = strides_of(self, (*self.shape[:-dims], *windows.counts))
        sizes = dict(zip(precomputed, (*params.kernel_size, *params.stride, *params.padding), strict=False))
        return sizes | set_means(ctx, self, windows, strides, divisor_override)

    take_means(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(
        ctx, grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        values = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        _, windows = average(base_name, self, dims, *values)
        check_gradient(f"{base_name}_backward", grad_output, self, (*self.shape[:-dims], *windows.counts))
        require_taken(f"{base_name}_backward", self)
        ctx.set_output(0, self.shape, strides_of(self, self.shape), like=self)
        return means(self, windows, divisor_override)

    pool_backward.sharding(rows=dims)
    pool_backward.adjoint(pool, "self")
    return pool


avg_pool2d = declare_avg_pool(
    2,
    (float16, bfloat16, float32, float64, int64),
    precomputed=("kH", "kW", "dH", "dW", "padH", "padW"),
    backward_tags=("core",),
)
avg_pool3d = declare_avg_pool(3, (float32, float64, int64), precomputed=(), backward_tags=())


avg_pool2d.sharding(windows=slides(2))
avg_pool3d.sharding(windows=slides(3))


@op("aten::avg_pool1d", tags="core")
def avg_pool1d(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(1)],
    stride: Annotated[IntList, Size(1)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(1)] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window of signals; with ``count_include_pad``, padding zeros count as elements."""
    means_of_rows: Tensor = over_signals(
        *("avg_pool1d", avg_pool2d, self, ceil_mode, count_include_pad),
        kernel_size=kernel_size,
        stride=stride,
        padding=padding,
    )
    return means_of_rows.squeeze(-2)
