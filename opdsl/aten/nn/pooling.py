"""Windows of pooling operators, which slide over or divide signals, images and volumes; checks that pools share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opdsl.aten.nn.sliding import as_sizes, spread
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, int64, strides_for
from opdsl.sharding.windows import Window

Shape = tuple[int, ...]


class Parameters(NamedTuple):
    """Parameters of a pooling operator, with one number per pooled dimension."""

    kernel_size: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    ceil_mode: bool


# --------------------------------------------------------------------------------------------------------- parameters


def parameters(
    operator: str,
    dims: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Parameters:
    """Check the parameters of a pooling operator and return them per dimension; the stride defaults to the kernel size.

    Raises:
        ShapeError: a parameter has neither one nor ``dims`` numbers, or an invalid number.
    """
    numbers = {"kernel_size": kernel_size, "stride": stride or kernel_size, "padding": padding, "dilation": dilation}
    named = {name: as_sizes(values) for name, values in numbers.items()}
    for name, values in named.items():
        check(
            len(values) in (1, dims),
            f"{operator}: {name} must either be a single int, or a tuple of {dims} ints, got {list(values)}",
        )
    sizes = {name: spread(values, dims) for name, values in named.items()}
    params = Parameters(**sizes, ceil_mode=ceil_mode)
    for name, values in (("kernel size", params.kernel_size), ("stride", params.stride), ("dilation", params.dilation)):
        check(min(values) > 0, f"{operator}: {name} should be greater than zero, but got {list(values)}")
    for kernel, pad, dilated in zip(params.kernel_size, params.padding, params.dilation, strict=True):
        check(pad >= 0, f"{operator}: pad must be non-negative, but got pad: {pad}")
        check(
            pad <= ((kernel - 1) * dilated + 1) // 2 and pad <= kernel // 2,
            f"{operator}: pad should be at most half of effective kernel size, but got pad={pad}, "
            f"kernel_size={kernel} and dilation={dilated}",
        )
    return params


def slides(dims: int) -> Callable[..., list[Window | None]]:
    """Return a function that computes the windows of a pooling operator from its arguments, for sharding."""

    def windows(self: Tensor, size: Any, stride: Any, padding: Any, *others: Any) -> list[Window | None]:
        dilation = others[0] if others and not isinstance(others[0], bool) else 1
        params = parameters("pool", dims, size, stride, padding, dilation)
        return list(map(Window, params.kernel_size, params.stride, params.padding, params.dilation))

    return windows


def require_images(operator: str, self: Tensor, dims: int) -> None:
    """Check that a tensor has ``dims`` pooled dimensions, channels and perhaps a batch, all nonempty but the batch.

    Raises:
        ShapeError: the tensor has a wrong number of dimensions, or an empty one.
    """
    check(
        self.ndim in (dims + 1, dims + 2) and 0 not in self.shape[self.ndim - dims - 1 :],
        f"{operator}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got: {list(self.shape)}",
    )


def strides_like(self: Tensor, shape: Shape, dims: int) -> tuple[int, ...] | None:
    """Return the strides of a result in the memory format of the input; None (contiguous) if there is no batch."""
    if self.ndim != dims + 2:
        return None
    return strides_for(shape, self.geometry.suggested_memory_format())


def check_gradient(operator: str, grad_output: Tensor, self: Tensor, shape: Shape, *others: Tensor) -> None:
    """Check that a gradient has the shape of the result and the dtype of the input, and that indices fit.

    Args:
        operator: the operator's name, for error messages.
        grad_output: the gradient of the result.
        self: the input.
        shape: the shape of the result.
        others: indices of elements, int64 tensors of the result's shape.

    Raises:
        ShapeError, DTypeError: a shape or a dtype differs.
    """
    for tensor in (grad_output, *others):
        check(
            tensor.shape == shape,
            f"{operator}: Expected a gradient of shape {list(shape)}, and so what belongs to it, but got "
            f"{list(tensor.shape)}",
        )
    for tensor in others:
        if tensor.dtype is not int64:
            raise DTypeError(f"{operator}: expected scalar type Long but found {tensor.dtype.scalar_type}")
    if grad_output.dtype is not self.dtype:
        raise DTypeError(
            f"{operator}: expected dtype {self.dtype.scalar_type} for `grad_output` but got dtype "
            f"{grad_output.dtype.scalar_type}"
        )


def as_image(operator: str, self: Tensor) -> Tensor:
    """Return a signal, (channels, length) with or without a batch, as an image of height 1.

    Raises:
        ShapeError: the signal has a wrong number of dimensions.
    """
    check(
        self.ndim in (2, 3),
        f"{operator}() Expected 2D or 3D tensor for argument #1 'self', but got shape {list(self.shape)}",
    )
    return self.unsqueeze(-2)


def one_number(operator: str, **params: int | Sequence[int]) -> None:
    """Check that each parameter is one number; the stride may also be empty, for its default.

    Raises:
        ShapeError: a parameter has more or fewer numbers.
    """
    for name, values in ((name, as_sizes(value)) for name, value in params.items()):
        check(
            len(values) == 1 or (name == "stride" and not values),
            f"{operator}() argument '{name}' should contain one int (got {len(values)})",
        )


def with_one(values: int | Sequence[int], first: int = 1) -> Shape:
    """Return a signal's pooling parameter as that of an image of height 1: ``(first, number)``; () stays ()."""
    sizes = as_sizes(values)
    return (first, *sizes) if sizes else ()


def over_signals(operator: str, pool: Callable[..., Any], self: Tensor, *others: Any, **params: Any) -> Any:
    """Apply a pooling operator for images to signals, as images of height 1; the result has height 1, too.

    Args:
        operator: the name of the operator for signals, for error messages.
        pool: the operator for images.
        self: the signals.
        params: the parameters, a number each.
        others: further arguments of ``pool``.

    Raises:
        ShapeError: ``self`` or a parameter has a wrong number of dimensions.
    """
    image = as_image(operator, self)
    one_number(operator, **params)
    return pool(image, *(with_one(value, int(name != "padding")) for name, value in params.items()), *others)


# --------------------------------------------------------------------------------------------------------- the windows


class Windows(NamedTuple):
    """Pooling windows over the last dimensions of a tensor, with one number per dimension.

    Element u of window i has the index ``first + i * stride + u * dilation``. Adaptive windows, which divide a
    dimension, begin and end at fractions of it, rounded outwards to whole elements, so that neighbors may overlap.

    sizes: the sizes of the dimensions.
    counts: the numbers of windows.
    lengths: the numbers of elements of the longest windows.
    margins: the number of padding elements before and after that count in a mean.
    parts: the numbers of adaptive windows; None where windows slide.
    """

    sizes: Shape
    counts: Shape
    lengths: Shape
    first: Shape
    stride: Shape
    dilation: Shape
    margins: Shape
    parts: Shape | None = None

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the arguments that scalar functions of windows take: ranges, and six numbers for each dimension."""
        fields = (self.first, self.stride, self.dilation, self.sizes, self.lengths, self.margins)
        windows = tuple(number for dim_numbers in zip(*fields, strict=True) for number in dim_numbers)
        return {**dict(zip(OVER, self.lengths, strict=False)), "windows": windows, "parts": self.parts}


def sliding(shape: Shape, params: Parameters) -> Windows:
    """Return the windows that slide over the last dimensions of a shape (``pooling_output_shape`` in
    ATen/native/Pool.h).

    Raises:
        ShapeError: no window fits.
    """
    sizes, counts = shape[len(shape) - len(params.kernel_size) :], []
    for size, kernel, stride, pad, dilation in zip(sizes, *params[:4], strict=True):
        reach = size + 2 * pad - dilation * (kernel - 1) - 1
        count = (reach + (stride - 1 if params.ceil_mode else 0)) // stride + 1
        if params.ceil_mode and (count - 1) * stride >= size + pad:
            count -= 1  # the last window would begin after the tensor and its padding
        check(
            count >= 1,
            f"Given input size: {list(shape)}. Calculated output size: {count} of a dimension. It is too small",
        )
        counts.append(count)
    first = tuple(-pad for pad in params.padding)
    return Windows(sizes, tuple(counts), params.kernel_size, first, params.stride, params.dilation, (0,) * len(first))


def dividing(sizes: Shape, counts: Shape) -> Windows:
    """Return adaptive windows: ``counts`` of them divide dimensions of ``sizes`` as evenly as whole elements allow."""
    ones, nothing = (1,) * len(sizes), (0,) * len(sizes)
    if any(count and size % count for size, count in zip(sizes, counts, strict=True)):
        longest = tuple(_longest(size, count) for size, count in zip(sizes, counts, strict=True))
        return Windows(sizes, counts, longest, ones, ones, ones, nothing, counts)
    lengths = tuple(size // count if count else 1 for size, count in zip(sizes, counts, strict=True))
    return Windows(sizes, counts, lengths, nothing, lengths, ones, nothing)


def _longest(size: int, count: int) -> int:
    """Return the length of the longest of ``count`` adaptive windows over ``size`` elements."""
    if not count or size % count == 0:
        return size // count if count else 1
    return size // count + (1 if count % (size % count) == 0 else 2)


AT, OVER = "ijk", "uvw"
"""The indices of windows, and of their elements."""


def begin_of(windows: Any, parts: Any, at: int, i: Any) -> Any:
    """Return the index at which window ``i`` begins along dimension ``at``."""
    first, stride, size = windows[6 * at], windows[6 * at + 1], windows[6 * at + 3]
    return first + i * stride if parts is None else i * size // parts[at]


def end_of(windows: Any, parts: Any, at: int, i: Any) -> Any:
    """Return the index at which adaptive window ``i`` ends along dimension ``at``."""
    return ((i + 1) * windows[6 * at + 3] - 1) // parts[at] + 1


def place(windows: Any, parts: Any, at: int, i: Any, u: Any) -> Any:
    """Return the index of element ``u`` of window ``i`` along dimension ``at``, out of bounds (-1) beyond the window's
    end.
    """
    position = begin_of(windows, parts, at, i) + u * windows[6 * at + 2]
    return position if parts is None or position < end_of(windows, parts, at, i) else -1


def counted(windows: Any, parts: Any, at: int, i: Any) -> Any:
    """Return the number of elements of window ``i`` along dimension ``at`` that a mean divides by, at least 1."""
    begin = begin_of(windows, parts, at, i)
    if parts is not None:
        return end_of(windows, parts, at, i) - begin
    size, length, margin = windows[6 * at + 3], windows[6 * at + 4], windows[6 * at + 5]
    return max(min(begin + length, size + margin) - max(begin, -margin), 1)
