"""Convolutions of signals, images and volumes, with or without a batch; conversion of windows to columns (im2col)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.nn.convolution import convolution
from opdsl.aten.nn.sliding import Sliding, as_sizes, collect, counts_of, lengths_of, spread
from opdsl.aten.nn.window_products import columns_of
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check, copy_
from opdsl.runtime import Category, Tensor
from opdsl.schema.vocabulary import Ints, Size, SymInt, SymIntList, SymInts

Sizes = int | Sequence[int]


def batched(operator: str, input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """Return an input with a batch dimension, and whether the given input had one (``batchify``).

    Raises:
        ShapeError: the input has a wrong number of dimensions.
    """
    check(
        input.ndim in (dims + 1, dims + 2),
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {operator}, but got input of size: "
        f"{list(input.shape)}",
    )
    return (input, True) if input.ndim == dims + 2 else (input.unsqueeze(0), False)


def convolved(
    operator: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    output_padding: Any = None,
) -> Tensor:
    """Compute a convolution of an input with or without a batch, or a transposed one if ``output_padding`` is given."""
    whole, has_batch = batched(operator, input, dims)
    transposed = output_padding is not None
    extra = as_sizes(0 if output_padding is None else output_padding)
    step, margin, gap = (as_sizes(setting) for setting in (stride, padding, dilation))
    filtered = convolution(whole, weight, bias, step, margin, gap, transposed, extra, groups)
    return filtered if has_batch else filtered.squeeze(0)


def padded_by_name(
    operator: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: str,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Compute a convolution of an input with or without a batch, with the padding ``valid`` or ``same``."""
    whole, has_batch = batched(operator, input, dims)
    sizes = [as_sizes(setting) for setting in (stride, dilation)]
    filtered = _convolution_mode(whole, weight, bias, sizes[0], padding, sizes[1], groups)
    return filtered if has_batch else filtered.squeeze(0)


@op("aten::_convolution_mode")
def _convolution_mode(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[SymInt],
    padding: str,
    dilation: list[SymInt],
    groups: SymInt,
) -> Tensor:
    """Compute ``convolution`` with the padding ``valid``, none, or ``same``, for a result as large as the input."""
    check(padding in ("valid", "same"), f"Invalid padding string: '{padding}'")
    dims = weight.ndim - 2
    none = (0,) * max(dims, 1)
    if padding == "valid":
        return convolution(input, weight, bias, stride, none, dilation, False, none, groups)
    check(all(number == 1 for number in stride), "padding='same' is not supported for strided convolutions")
    check(
        input.ndim == weight.ndim and dims > 0 and len(dilation) in (1, dims),
        f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, and "
        f"dilation of one or {dims} values, but got input of size {list(input.shape)} and dilation {list(dilation)}",
    )
    totals = [number * (size - 1) for number, size in zip(spread(dilation, dims), weight.shape[2:], strict=True)]
    odd = [total % 2 for total in totals]
    if any(odd):  # one element more at the end than at the start
        pad = [number for size in reversed(odd) for number in (0, size)]
        input = constant_pad_nd(input, pad)
    return convolution(input, weight, bias, stride, [total // 2 for total in totals], dilation, False, none, groups)


# ------------------------------------------------------------------------------------------------ by dimensions

SHAPES = {
    1: "signals, (channels, length)",
    2: "images, (channels, height, width)",
    3: "volumes, (channels, depth, height, width)",
}
"""Words for the input and its shape in docstrings, keyed by the number of window dimensions."""


def declare_convolutions(dims: int, overload: str) -> None:
    """Declare the convolutions over ``dims`` dimensions, and the transposed convolution.

    Args:
        dims: the number of dimensions that windows slide over.
        overload: the name of the transposed convolution's overload, with a dot in front.
    """
    base_name, batch = f"conv{dims}d", "with or without a batch; see ``convolution``."
    own = f"conv_transpose{dims}d"

    @op(f"aten::{base_name}")
    @documented(f"Return the convolution of {SHAPES[dims]}, {batch}")
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Annotated[SymIntList, Size(dims)] = 1,
        padding: Annotated[SymIntList, Size(dims)] = 0,
        dilation: Annotated[SymIntList, Size(dims)] = 1,
        groups: SymInt = 1,
    ) -> Tensor:
        return convolved(base_name, dims, input, weight, bias, stride, padding, dilation, groups)

    @op(f"aten::{base_name}.padding")
    @documented(
        f"Return ``{base_name}`` without padding for ``valid``, or padded to a result of the size of the input for "
        "``same``."
    )
    def convolve_padded(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Annotated[SymIntList, Size(dims)] = 1,
        padding: str = "valid",
        dilation: Annotated[SymIntList, Size(dims)] = 1,
        groups: SymInt = 1,
    ) -> Tensor:
        return padded_by_name(base_name, dims, input, weight, bias, stride, padding, dilation, groups)

    @op(f"aten::{own}{overload}")
    @documented(f"Return the transposed convolution of {SHAPES[dims]}, {batch}")
    def transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Annotated[SymIntList, Size(dims)] = 1,
        padding: Annotated[SymIntList, Size(dims)] = 0,
        output_padding: Annotated[SymIntList, Size(dims)] = 0,
        groups: SymInt = 1,
        dilation: Annotated[SymIntList, Size(dims)] = 1,
    ) -> Tensor:
        return convolved(own, dims, input, weight, bias, stride, padding, dilation, groups, output_padding)


declare_convolutions(1, "")
declare_convolutions(2, ".input")
declare_convolutions(3, ".input")


# ------------------------------------------------------------------------------------------------------------- columns


def columns_over(
    operator: str, sizes: Sequence[int], kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[Sliding, Sliding]:
    """Return the windows of ``im2col`` along height and width.

    Raises:
        ShapeError: a parameter is not two valid numbers, or no window fits.
    """
    check(len(sizes) == 2, f"{operator}: it is expected output_size equals to 2, but got size {len(sizes)}")
    named = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    lists = {name: spread(values, 2) for name, values in named.items()}
    for name, values in lists.items():
        check(len(values) == 2, f"{operator}: it is expected {name} equals to 2 numbers, but got {list(values)}")
        least = 0 if name == "padding" else 1
        check(min(values) >= least, f"{operator}: {name} should be at least {least}, but got {list(values)}")
    windows = []
    for size, length, gap, pad, step in zip(sizes, *lists.values(), strict=True):
        count = (size + 2 * pad - gap * (length - 1) - 1) // step + 1
        check(
            count >= 1,
            f"{operator}: given {list(sizes)} and kernel_size={kernel_size}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, there are {count} windows along a dimension, but there must be at least one",
        )
        windows.append(Sliding(size, count, length, -pad, step, gap))
    return windows[0], windows[1]


def require_inexact_or_bool(operator: str, self: Tensor) -> None:
    """Raise an error for integers, for which PyTorch has no kernels.

    Raises:
        UnsupportedDTypeError: the dtype is an integer dtype.
    """
    if self.dtype.category is Category.INT:
        raise UnsupportedDTypeError(
            f"\"{operator}_out_cpu\" not implemented for '{self.dtype.scalar_type}'. Convert first: x.to(float32)."
        )


@op("aten::im2col", python_module="nn", out=True)
def im2col(self: Tensor, kernel_size: Ints[2], dilation: Ints[2], padding: Ints[2], stride: Ints[2]) -> Tensor:
    """Return the elements of each window over the images as a column, (batch, channels * elements, windows)."""
    ...


@im2col.meta
def im2col_meta(ctx, self, kernel_size, dilation, padding, stride):
    check(
        self.ndim in (3, 4) and 0 not in self.shape[self.ndim - 3 :],
        "im2col: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
        f"input, but got: {list(self.shape)}",
    )
    windows = columns_over("im2col", self.shape[-2:], kernel_size, dilation, padding, stride)
    require_inexact_or_bool("im2col", self)
    (first, second), (height, width) = counts_of(windows), lengths_of(windows)
    ctx.set_output(0, (*self.shape[:-3], self.shape[-3] * height * width, first * second), like=self)


@im2col.out_kernel
def im2col_cpu(self, kernel_size, dilation, padding, stride, out):
    windows = columns_over("im2col", self.shape[-2:], kernel_size, dilation, padding, stride)
    whole = self if self.ndim == 4 else self.unsqueeze(0)
    copy_(out, columns_of(whole, windows, 1).view(out.shape))


@op("aten::col2im", python_module="nn", tags="core", out=Out(tags=()))
def col2im(
    self: Tensor, output_size: SymInts[2], kernel_size: Ints[2], dilation: Ints[2], padding: Ints[2], stride: Ints[2]
) -> Tensor:
    """Sum columns into images, the transpose of ``im2col``: an image element is the sum of its copies in columns."""
    ...


@col2im.meta
def col2im_meta(ctx, self, output_size, kernel_size, dilation, padding, stride):
    check(
        self.ndim in (2, 3) and 0 not in self.shape[self.ndim - 2 :],
        "col2im: Expected 2D or 3D (batch mode) tensor with possibly 0 batch size and non-zero dimensions for input, "
        f"but got: {list(self.shape)}",
    )
    windows = columns_over("col2im", output_size, kernel_size, dilation, padding, stride)
    (first, second), (height, width) = counts_of(windows), lengths_of(windows)
    rows, columns = self.shape[-2:]
    check(
        rows % (height * width) == 0,
        f"col2im: Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
        f"input.size(1)={rows} and kernel_size={(height, width)}",
    )
    check(
        columns == first * second,
        f"col2im: Given output_size={output_size}, expected size of input's dimension 2 to match the calculated "
        f"number of sliding blocks {first} * {second} = {first * second}, but got {columns}",
    )
    require_inexact_or_bool("col2im", self)
    ctx.set_output(0, (*self.shape[:-2], rows // (height * width), *output_size), like=self)


@col2im.out_kernel
def col2im_cpu(self, output_size, kernel_size, dilation, padding, stride, out):
    windows = columns_over("col2im", output_size, kernel_size, dilation, padding, stride)
    shape = (*out.shape[:-2], *lengths_of(windows), *counts_of(windows))
    lead = range(out.ndim - 2)
    n = len(lead)
    collect(out, self.reshape(shape).permute((*lead, n + 2, n + 3, n, n + 1)), windows)


col2im.adjoint(im2col, "self", output_size=lambda self: self.shape[-2:])
