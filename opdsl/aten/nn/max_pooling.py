"""The largest element of windows that slide over signals, images and volumes; what all pools share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy

from opdsl.aten._shared.index_tensors import require_inside
from opdsl.aten.nn.padding import zero_derivative
from opdsl.aten.nn.sliding import (
    Sliding,
    Windows,
    added,
    as_sizes,
    counts_of,
    number_at,
    seen,
    specs_of,
    spread,
)
from opdsl.declare import Library, Out, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import Positions, check, fill_, new_tensor, pool_windows, scatter
from opdsl.runtime import (
    Category,
    DType,
    Tensor,
    bool_,
    contiguous_strides,
    int64,
    strides_for,
)
from opdsl.runtime.geometry import geometry
from opdsl.schema.vocabulary import IntList, Ints, Size
from opdsl.sharding.rules import Window

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator

lib = Library("opdsl")
Shape = tuple[int, ...]


class Parameters(NamedTuple):
    """What pools slide with, a number for each dimension."""

    kernel_size: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    ceil_mode: bool


# --------------------------------------------------------------------------------------------------------- the windows


def parameters(
    operator: str,
    dims: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Parameters:
    """The parameters of a pool; without a stride it is the size of the window.

    Raises:
        ShapeError: they are not one or ``dims`` numbers, or no windows at all.
    """
    given = {"kernel_size": kernel_size, "stride": stride or kernel_size, "padding": padding, "dilation": dilation}
    named = {name: as_sizes(values) for name, values in given.items()}
    for name, values in named.items():
        check(
            len(values) in (1, dims),
            f"{operator}: {name} must either be a single int, or a tuple of {dims} ints, got {list(values)}",
        )
    sizes = {name: spread(values, dims) for name, values in named.items()}
    made = Parameters(**sizes, ceil_mode=ceil_mode)
    for name, values in (("kernel size", made.kernel_size), ("stride", made.stride), ("dilation", made.dilation)):
        check(min(values) > 0, f"{operator}: {name} should be greater than zero, but got {list(values)}")
    for kernel, pad, dilated in zip(made.kernel_size, made.padding, made.dilation, strict=True):
        check(pad >= 0, f"{operator}: pad must be non-negative, but got pad: {pad}")
        check(
            pad <= ((kernel - 1) * dilated + 1) // 2 and pad <= kernel // 2,
            f"{operator}: pad should be at most half of effective kernel size, but got pad={pad}, "
            f"kernel_size={kernel} and dilation={dilated}",
        )
    return made


def slides(dims: int) -> Callable[..., list[Window | None]]:
    """What windows a pool slides over so many last dimensions, of its arguments."""

    def windows(self: Tensor, size: Any, stride: Any, padding: Any, *others: Any) -> list[Window | None]:
        dilation = others[0] if others and not isinstance(others[0], bool) else 1
        given = parameters("pool", dims, size, stride, padding, dilation)
        return list(map(Window, given.kernel_size, given.stride, given.padding, given.dilation))

    return windows


def windows_over(shape: Shape, given: Parameters) -> Windows:
    """The windows over the last dimensions of a shape (``pooling_output_shape`` in ATen/native/Pool.h).

    Raises:
        ShapeError: there is none.
    """
    made = []
    for size, kernel, stride, pad, dilation in zip(shape[-len(given.kernel_size) :], *given[:4], strict=True):
        reach = size + 2 * pad - dilation * (kernel - 1) - 1
        count = (reach + (stride - 1 if given.ceil_mode else 0)) // stride + 1
        if given.ceil_mode and (count - 1) * stride >= size + pad:
            count -= 1  # the last window would begin behind the tensor and its margin
        check(
            count >= 1,
            f"Given input size: {list(shape)}. Calculated output size: {count} of a dimension. It is too small",
        )
        made.append(Sliding(size, count, kernel, -pad, stride, dilation))
    return tuple(made)


def require_images(operator: str, self: Tensor, dims: int) -> None:
    """That a tensor has the dimensions that are slid over, channels and perhaps a batch, all but that not empty.

    Raises:
        ShapeError: it has not.
    """
    check(
        self.ndim in (dims + 1, dims + 2) and 0 not in self.shape[self.ndim - dims - 1 :],
        f"{operator}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got: {list(self.shape)}",
    )


def strides_like(self: Tensor, shape: Shape, dims: int) -> tuple[int, ...] | None:
    """The strides of a result in the memory format of the input; None for whatever it has."""
    if self.ndim != dims + 2:
        return None
    return strides_for(shape, self.geometry.suggested_memory_format())


def require_dtype(operator: str, self: Tensor, *others: DType) -> None:
    """Refuses what PyTorch has no kernel for.

    Raises:
        UnsupportedDTypeError: the dtype is neither floating nor one of the others.
    """
    if self.dtype.category is not Category.FLOAT and self.dtype not in others:
        raise UnsupportedDTypeError(
            f"\"{operator}\" not implemented for '{self.dtype.scalar_type}'. Convert first: x.to(float32)."
        )


# ------------------------------------------------------------------------------------------------- the largest element


class LargestAndPlace(NamedTuple):
    """The largest elements, and where they are among those that were looked at."""

    values: Tensor
    places: Tensor


@lib.op(variants="function", out=Out(args=("values", "places")))
def largest_seen(self: Tensor, dim: Annotated[IntList, Size(1)]) -> LargestAndPlace:
    """The largest elements along dimensions and their places, counted in row-major order.

    Of several equal ones it is the first, of several NaN the last, as in PyTorch's pools.
    """
    ...


def with_place(x, index):
    return x, index


def values_and_places(value, place, count):
    return value, place


@largest_seen.reduction(
    init=(-math.inf, 0),
    lift=with_place,
    finish=values_and_places,
    accumulators=("value", "index"),
    in_order=False,
)
def larger_seen(a, i, b, j):
    takes_b = b > a or (b != b and (a == a or j > i)) or (b == a and j < i)
    return (b if takes_b else a), (j if takes_b else i)


def lowest(dtype: DType) -> float:
    """What no element is smaller than."""
    return -math.inf if dtype.category is Category.FLOAT else int(numpy.iinfo(dtype.name).min)


def largest_of(self: Tensor, windows: Windows, out: Tensor, indices: Tensor) -> None:
    """Write the largest element of each window, and its number in the dimensions that are slid over."""
    if pool_windows("largest", self, specs_of(windows), out, indices):
        return
    shown = seen(self, windows, lowest(self.dtype))
    places = new_tensor(geometry(int64, indices.device, indices.shape, indices.strides))
    last = tuple(range(-len(windows), 0))
    largest_seen.variants["out"](shown, last, out=(out, places))
    number_at(indices, places, windows)


def add_to_numbered(grad_input: Tensor, grad_output: Tensor, indices: Tensor, dims: int) -> None:
    """Write the sums of the gradients of the elements that were the largest.

    Args:
        grad_input: through whose last dimensions one stride leads.
        grad_output: of what the windows gave.
        indices: the numbers of the elements in the last dimensions.
        dims: how many these are.

    Raises:
        PositionError: there is no element of such a number.
    """
    count = math.prod(grad_input.shape[-dims:])
    require_inside(indices, count, grad_input.ndim - dims)
    fill_(grad_input, 0)
    strides = (*grad_input.strides[:-dims], *(0,) * dims)
    found = [Positions(indices, count, grad_input.strides[-1])]
    scatter(grad_input, grad_output.shape, strides, found, grad_output, added)


def gathered_derivative(grad: Tensor, indices: Tensor, dims: int) -> Tensor:
    """The gradient of ``grad_output``: what the largest elements got (``max_pool_double_backward``)."""
    flat = grad.reshape((*grad.shape[:-dims], -1)).gather(-1, indices.reshape((*indices.shape[:-dims], -1)))
    return flat.view(indices.shape)


def check_gradient(operator: str, grad_output: Tensor, self: Tensor, shape: Shape, *others: Tensor) -> None:
    """That the gradient of a result has its shape and dtype, and what else belongs to the result its shape.

    Args:
        others: numbers of elements.

    Raises:
        ShapeError, DTypeError: they have not.
    """
    for each in (grad_output, *others):
        check(
            each.shape == shape,
            f"{operator}: Expected a gradient of shape {list(shape)}, and so what belongs to it, but got "
            f"{list(each.shape)}",
        )
    for each in others:
        if each.dtype is not int64:
            raise DTypeError(f"{operator}: expected scalar type Long but found {each.dtype.scalar_type}")
    if grad_output.dtype is not self.dtype:
        raise DTypeError(
            f"{operator}: expected dtype {self.dtype.scalar_type} for `grad_output` but got dtype "
            f"{grad_output.dtype.scalar_type}"
        )


def declare_max_pool(
    dims: int, *, structured: bool, backward_tags: tuple[str, ...]
) -> Operator[..., tuple[Tensor, Tensor]]:
    """Declare the operator of the largest elements, with their indices, and that of its gradient.

    Args:
        dims: how many dimensions windows slide over.
        structured: whether PyTorch's kernels are.
        backward_tags: the tags of the gradient's operator.
    """
    name = f"max_pool{dims}d_with_indices"

    @op(
        f"aten::{name}",
        python_module="nn",
        tags="core",
        structured=structured,
        out=Out(args=("out", "indices"), explicit=True, tags=()),
    )
    def pool(
        self: Tensor,
        kernel_size: Annotated[IntList, Size(dims)],
        stride: Annotated[IntList, Size(dims)] = (),
        padding: Annotated[IntList, Size(dims)] = 0,
        dilation: Annotated[IntList, Size(dims)] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""
        ...

    @pool.meta
    def pool_meta(ctx, self, kernel_size, stride, padding, dilation, ceil_mode):
        given = parameters(name, dims, kernel_size, stride, padding, dilation, ceil_mode)
        require_images(name, self, dims)
        shape = (*self.shape[:-dims], *counts_of(windows_over(self.shape, given)))
        if self.dtype is bool_ or self.dtype.category is Category.COMPLEX:
            raise UnsupportedDTypeError(f"\"max_pool{dims}d\" not implemented for '{self.dtype.scalar_type}'.")
        strides = strides_like(self, shape, dims)
        ctx.set_output(0, shape, strides, like=self)
        ctx.set_output(1, shape, strides, like=self, dtype=int64)

    pool.sharding(rows=dims)

    @pool.out_kernel("CPU", "CUDA", compiled=False)
    def pool_cpu(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices):
        given = parameters(name, dims, kernel_size, stride, padding, dilation, ceil_mode)
        largest_of(self, windows_over(self.shape, given), out, indices)

    @op(
        f"aten::{name}_backward",
        python_module="nn",
        tags=backward_tags,
        structured=structured,
        out=Out(f"{name}_backward.grad_input", args=("grad_input",), explicit=True, tags=()),
    )
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
        """The gradient of what was pooled: that of each largest element at its place."""
        ...

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
        given = parameters(name, dims, kernel_size, stride, padding, dilation, ceil_mode)
        require_images(name, self, dims)
        shape = (*self.shape[:-dims], *counts_of(windows_over(self.shape, given)))
        check_gradient(f"{name}_backward", grad_output, self, shape, indices)
        require_dtype(f"max_pool{dims}d_backward", self)
        strides = strides_like(self, self.shape, dims) or contiguous_strides(self.shape)
        ctx.set_output(0, self.shape, strides, like=self)

    pool_backward.sharding(rows=dims)

    @pool_backward.out_kernel("CPU", "CUDA", compiled=False)
    def pool_backward_cpu(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, grad_input):
        add_to_numbered(grad_input, grad_output, indices, dims)

    @pool.derivative("self")
    def pool_derivative(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1):
        return pool_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    @pool_backward.derivative("grad_output")
    def pool_backward_derivative(grad, indices):
        return gathered_derivative(grad, indices, dims)

    pool_backward.derivative("self")(zero_derivative)
    return pool


max_pool2d_with_indices = declare_max_pool(2, structured=True, backward_tags=("core",))
max_pool3d_with_indices = declare_max_pool(3, structured=False, backward_tags=())


@op("aten::max_pool2d")
def max_pool2d(
    self: Tensor,
    kernel_size: Ints[2],
    stride: Ints[2] = (),
    padding: Ints[2] = 0,
    dilation: Ints[2] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of images.

    Args:
        self: (channels, height, width), with or without a batch before them.
        kernel_size: of the windows; one number stands for both.
        stride: between windows; their size by default.
        padding: the margin, of what is smaller than every number.
        dilation: between the elements of a window.
        ceil_mode: whether windows that reach out of the margin count, if they begin inside of it.

    >>> import opdsl
    >>> opdsl.max_pool2d(opdsl.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), 2, 1)
    tensor([[[5., 6.]]])
    """
    return max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


max_pool2d.sharding(windows=slides(2))


@op("aten::max_pool3d")
def max_pool3d(
    self: Tensor,
    kernel_size: Ints[3],
    stride: Ints[3] = (),
    padding: Ints[3] = 0,
    dilation: Ints[3] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of volumes; see ``max_pool2d``."""
    return max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


max_pool3d.sharding(windows=slides(3))


def as_image(operator: str, self: Tensor) -> Tensor:
    """A signal, (channels, length) with or without a batch, as an image one element high.

    Raises:
        ShapeError: it is none.
    """
    check(
        self.ndim in (2, 3),
        f"{operator}() Expected 2D or 3D tensor for argument #1 'self', but got shape {list(self.shape)}",
    )
    return self.unsqueeze(-2)


def one_number(operator: str, **given: int | Sequence[int]) -> None:
    """That parameters are one number each; none stands for the default.

    Raises:
        ShapeError: one is not.
    """
    for name, values in ((name, as_sizes(each)) for name, each in given.items()):
        check(
            len(values) == 1 or (name == "stride" and not values),
            f"{operator}() argument '{name}' should contain one int (got {len(values)})",
        )


def with_one(values: int | Sequence[int], first: int = 1) -> Shape:
    """The parameter of an image one element high; none stays none."""
    sizes = as_sizes(values)
    return (first, *sizes) if sizes else ()


@op("aten::max_pool1d_with_indices")
def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Ints[1],
    stride: Ints[1] = (),
    padding: Ints[1] = 0,
    dilation: Ints[1] = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of signals, and where it is; see ``max_pool2d``."""
    image = as_image("max_pool1d", self)
    one_number("max_pool1d", kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation)
    values, indices = max_pool2d_with_indices(
        image, with_one(kernel_size), with_one(stride), with_one(padding, 0), with_one(dilation), ceil_mode
    )
    return values.squeeze(-2), indices.squeeze(-2)


@op("aten::max_pool1d")
def max_pool1d(
    self: Tensor,
    kernel_size: Ints[1],
    stride: Ints[1] = (),
    padding: Ints[1] = 0,
    dilation: Ints[1] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of signals; see ``max_pool2d``."""
    require_images("max_pool1d", self, 1)
    require_dtype("max_pool1d_impl", self)
    return max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
