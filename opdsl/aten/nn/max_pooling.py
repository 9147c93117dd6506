"""Max pooling: the largest element of windows that slide over signals, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

from opdsl import primitives
from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.index_tensors import require_inside
from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.nn.pooling import (
    AT,
    OVER,
    Windows,
    check_gradient,
    one_number,
    over_signals,
    parameters,
    place,
    require_images,
    slides,
    sliding,
    strides_like,
    with_one,
)
from opdsl.aten.nn.sliding import added
from opdsl.declare import Out, forward, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import MetaContext, Positions, fill_, scatter
from opdsl.runtime import Category, Tensor, bool_, contiguous_strides, int64
from opdsl.schema.vocabulary import IntList, Size

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator


# ------------------------------------------------------------------------------------------------- the largest element


def element_1(self: Any, windows: Any, parts: Any, i: int, u: int) -> Any:
    x = place(windows, parts, 0, i, u)
    return self[..., x], x


def element_2(self: Any, windows: Any, parts: Any, i: int, j: int, u: int, v: int) -> Any:
    y, x = place(windows, parts, 0, i, u), place(windows, parts, 1, j, v)
    return self[..., y, x], y * self.shape[-1] + x


def element_3(self: Any, windows: Any, parts: Any, i: int, j: int, k: int, u: int, v: int, w: int) -> Any:
    z, y, x = place(windows, parts, 0, i, u), place(windows, parts, 1, j, v), place(windows, parts, 2, k, w)
    return self[..., z, y, x], (z * self.shape[-2] + y) * self.shape[-1] + x


ELEMENTS: dict[int, Callable[..., Any]] = {1: element_1, 2: element_2, 3: element_3}
"""Functions that return an element of a window and its flat index in the pooled dimensions, keyed by their number."""


def take_largest(pool: Operator[..., tuple[Tensor, Tensor]], dims: int) -> None:
    """Define the formula of a max pooling operator with indices whose meta function returns the windows."""
    extrema = primitives.positions(
        ELEMENTS[dims], at=("...", *AT[:dims]), over=tuple(OVER[:dims]), fold="max", margin="skip"
    )

    @pool.formula
    def largest(self: Tensor) -> tuple[Tensor, Tensor]:
        return cast("tuple[Tensor, Tensor]", extrema(self))


def set_largest(ctx: MetaContext, self: Tensor, windows: Windows, strides: tuple[int, ...] | None) -> dict[str, Any]:
    """Set the outputs of a max pooling operator with indices, and return the arguments of its scalar function."""
    shape = (*self.shape[: self.ndim - len(windows.sizes)], *windows.counts)
    ctx.set_output(0, shape, strides, like=self)
    ctx.set_output(1, shape, strides, like=self, dtype=int64)
    return windows.numbers


def add_to_numbered(grad_input: Tensor, grad_output: Tensor, indices: Tensor, dims: int) -> None:
    """Write the gradient of a max pooling's input: sum the gradient of each window at its largest element.

    Args:
        grad_input: the tensor to write, whose last ``dims`` dimensions can be flattened to one stride.
        grad_output: the gradient of the windows' largest elements.
        indices: the flat indices of the largest elements in the last ``dims`` dimensions.
        dims: the number of pooled dimensions.

    Raises:
        PositionError: an index is out of bounds.
    """
    count = math.prod(grad_input.shape[-dims:])
    require_inside(indices, count, grad_input.ndim - dims)
    fill_(grad_input, 0)
    strides = (*grad_input.strides[:-dims], *(0,) * dims)
    positions = [Positions(indices, count, grad_input.strides[-1])]
    scatter(grad_input, grad_output.shape, strides, positions, grad_output, added)


def gathered_derivative(grad: Tensor, indices: Tensor, dims: int) -> Tensor:
    """Return the double backward of max pooling with respect to ``grad_output``: the elements of ``grad`` at
    ``indices`` (``max_pool_double_backward``).
    """
    return grad.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)


def pair_gradients(pool: Any, backward: Any, dims: int) -> None:
    """Register ``backward`` as the gradient of a max pooling operator with indices, and register its own gradients."""
    pool.derivative(self=forward(backward, indices=lambda result1: result1))
    backward.derivative(
        grad_output=lambda grad, indices: gathered_derivative(grad, indices, dims),
        self=lambda grad, self: zeros_like(self),
    )


def give_back(pool: Any, backward: Any, dims: int) -> None:
    """Define the kernel, the sharding and the gradients of ``backward``, the gradient operator of a max pooling."""
    backward.sharding(rows=dims)

    def to_numbered(grad_output: Tensor, indices: Tensor, grad_input: Tensor) -> None:
        add_to_numbered(grad_input, grad_output, indices, dims)

    backward.out_kernel(to_numbered)
    pair_gradients(pool, backward, dims)


def declare_max_pool(
    dims: int, *, backward_tags: tuple[str, ...]
) -> tuple[Operator[..., tuple[Tensor, Tensor]], Operator[..., Tensor]]:
    """Declare the operator of max pooling with indices and the operator of its gradient; return both.

    Args:
        dims: the number of pooled dimensions.
        backward_tags: the tags of the gradient operator.
    """
    base_name = f"max_pool{dims}d_with_indices"
    both = Out(args=("out", "indices"), tags=())

    @op(f"aten::{base_name}", tags="core", python_module="nn", out=both)
    def pool(
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)] = [],  # noqa: B006
        padding: Annotated[IntList, Size(dims)] = 0,
        dilation: Annotated[IntList, Size(dims)] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Return the largest element of each window, and its flat index in the pooled dimensions."""
        ...

    into = Out(".grad_input", args=("grad_input",), tags=())

    @op(f"aten::{base_name}_backward", tags=backward_tags, python_module="nn", out=into)
    def pool_backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)],
        padding: Annotated[IntList, Size(dims)],
        dilation: Annotated[IntList, Size(dims)],
        ceil_mode: bool,
        indices: Tensor,
    ) -> Tensor:
        """Return the gradient of the input, where each window's gradient goes to the window's largest element."""
        ...

    @pool.meta
    def pool_meta(ctx, self, kernel_size, stride, padding, dilation, ceil_mode):
        params = parameters(base_name, dims, kernel_size, stride, padding, dilation, ceil_mode)
        require_images(base_name, self, dims)
        windows = sliding(self.shape, params)
        if self.dtype is bool_ or self.dtype.category is Category.COMPLEX:
            raise UnsupportedDTypeError(f"\"max_pool{dims}d\" not implemented for '{self.dtype.scalar_type}'.")
        return set_largest(ctx, self, windows, strides_like(self, (*self.shape[:-dims], *windows.counts), dims))

    pool.sharding(rows=dims)
    take_largest(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
        params = parameters(base_name, dims, kernel_size, stride, padding, dilation, ceil_mode)
        require_images(base_name, self, dims)
        shape = (*self.shape[:-dims], *sliding(self.shape, params).counts)
        check_gradient(f"{base_name}_backward", grad_output, self, shape, indices)
        require_floating(f"max_pool{dims}d_backward", self)
        strides = strides_like(self, self.shape, dims) or contiguous_strides(self.shape)
        ctx.set_output(0, self.shape, strides, like=self)

    give_back(pool, pool_backward, dims)
    return pool, pool_backward


max_pool2d_with_indices, max_pool2d_with_indices_backward = declare_max_pool(2, backward_tags=("core",))
max_pool3d_with_indices, _ = declare_max_pool(3, backward_tags=())


@op("aten::max_pool2d")
@forward(max_pool2d_with_indices, result=0)
def max_pool2d(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(2)],
    stride: Annotated[IntList, Size(2)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(2)] = 0,
    dilation: Annotated[IntList, Size(2)] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest element of each window of images.

    Args:
        self: (channels, height, width), with or without a batch dimension in front.
        kernel_size: the size of the windows; one number applies to both dimensions.
        stride: the distance between windows; their size by default.
        padding: the width of the padding, whose value is smaller than every number.
        dilation: the distance between the elements of a window.
        ceil_mode: whether windows that reach beyond the padding count, if they begin inside of it.

    >>> import opdsl
    >>> opdsl.max_pool2d(opdsl.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), 2, 1)
    tensor([[[5., 6.]]])
    """


@op("aten::max_pool3d")
@forward(max_pool3d_with_indices, result=0)
def max_pool3d(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(3)],
    stride: Annotated[IntList, Size(3)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(3)] = 0,
    dilation: Annotated[IntList, Size(3)] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest element of each window of volumes; see ``max_pool2d``."""


@op("aten::max_pool2d_backward")
def max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Annotated[IntList, Size(2)],
    stride: Annotated[IntList, Size(2)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(2)] = 0,
    dilation: Annotated[IntList, Size(2)] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the gradient of the input of ``max_pool2d``, searching for the largest elements again."""
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    _, indices = max_pool2d_with_indices(self, *windows)
    return max_pool2d_with_indices_backward(grad_output, self, *windows, indices)


@op("aten::max_pool1d_with_indices")
def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(1)],
    stride: Annotated[IntList, Size(1)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(1)] = 0,
    dilation: Annotated[IntList, Size(1)] = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window of signals, and its index in the signal; see ``max_pool2d``."""
    sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    values, indices = over_signals("max_pool1d", max_pool2d_with_indices, self, ceil_mode, **sizes)
    return values.squeeze(-2), indices.squeeze(-2)


@op("aten::max_pool1d")
def max_pool1d(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(1)],
    stride: Annotated[IntList, Size(1)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(1)] = 0,
    dilation: Annotated[IntList, Size(1)] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Return the largest element of each window of signals; see ``max_pool2d``."""
    require_images("max_pool1d", self, 1)
    require_floating("max_pool1d_impl", self)
    one_number("max_pool1d", kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
    largest: Tensor = largest_of_windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    return largest


max_pool2d.sharding(windows=slides(2))
max_pool3d.sharding(windows=slides(3))


@op("opdsl::largest_of_windows")
def largest_of_windows(
    self: Tensor,
    kernel_size: Annotated[IntList, Size(1)],
    stride: Annotated[IntList, Size(1)] = [],  # noqa: B006
    padding: Annotated[IntList, Size(1)] = 0,
    dilation: Annotated[IntList, Size(1)] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Compute ``max_pool1d`` without indices: writing them costs half as much again, and gradients recompute them."""
    ...


@largest_of_windows.meta
def largest_of_windows_meta(ctx, self, kernel_size, stride, padding, dilation, ceil_mode):
    if self.dtype.category is Category.COMPLEX:
        raise UnsupportedDTypeError(f"\"max_pool1d\" not implemented for '{self.dtype.scalar_type}'.")
    windows = sliding(self.shape, parameters("max_pool1d", 1, kernel_size, stride, padding, dilation, ceil_mode))
    ctx.set_output(0, (*self.shape[:-1], *windows.counts), like=self)
    return windows.numbers


def element_of_window(self: Any, windows: Any, parts: Any, i: int, u: int) -> Any:
    return self[..., place(windows, parts, 0, i, u)]


largest_elements = primitives.positions(element_of_window, at=("...", "i"), over=("u",), fold="max", margin="skip")


@largest_of_windows.formula
def largest_of_window(self: Tensor) -> Tensor:
    return largest_elements(self)


largest_of_windows.sharding(rows=1)


@largest_of_windows.derivative("self")
def largest_of_windows_derivative(grad, self, kernel_size, stride, padding, dilation, ceil_mode):
    values = with_one(kernel_size), with_one(stride), with_one(padding, 0), with_one(dilation), ceil_mode
    return max_pool2d_backward(grad.unsqueeze(-2), self.unsqueeze(-2), *values).squeeze(-2)
