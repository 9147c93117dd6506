"""Analysis of a convolution call: its parameters, windows, memory layouts and dtypes, and checks of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opdsl.aten.nn.sliding import Sliding, counts_of, spread
from opdsl.aten.nn.window_products import Operands, Shape, Slides, empty_in, slides_of
from opdsl.errors import DeviceError, DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_
from opdsl.kernels.calls import WindowSpec
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import Category, DType, MemoryFormat, Tensor, bfloat16, bool_, float16, float32, float64, int64
from opdsl.runtime.geometry import TensorMeta

_FEW = 8
"""Number of channels per group below which grouped convolutions compute in the contiguous layout; with one channel per
group they keep the layout of the result, whose channels can be vector lanes.
"""

COMMON = (float32, float16, bfloat16)
"""Dtypes for which PyTorch calls a convolution library."""

LAYOUTS = {2: MemoryFormat.channels_last, 3: MemoryFormat.channels_last_3d}


class Parameters(NamedTuple):
    """Parameters of a convolution, with one number per dimension that windows slide over."""

    stride: Shape
    padding: Shape
    dilation: Shape
    transposed: bool
    output_padding: Shape
    groups: int


# ------------------------------------------------------------------------------------------------------------- checks


def parameters(
    dims: int,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Parameters:
    """Check the parameters of a convolution over ``dims`` dimensions, and return them with one number per dimension.

    Raises:
        ShapeError: a parameter has neither one nor ``dims`` numbers, or a number is too small.
    """
    named = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    least = {"stride": 1, "dilation": 1}
    for name, values in named.items():
        check(
            len(values) in (1, dims),
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list(values)}",
        )
        smallest = least.get(name, 0)
        what = "negative" if smallest == 0 else "non-positive"
        check(min(values) >= smallest, f"{what} {name} is not supported, got {list(values)}")
    check(groups > 0, f"non-positive groups is not supported, got {groups}")
    sizes = {name: spread(values, dims) for name, values in named.items()}
    return Parameters(**sizes, transposed=transposed, groups=groups)


def check_operands(input: TensorMeta, weight: TensorMeta, bias_sizes: Shape | None, params: Parameters) -> None:
    """Check that input, weight and bias fit each other (``check_shape_forward`` in ATen/native/Convolution.cpp).

    Raises:
        ShapeError: the shapes do not fit.
    """
    groups, shape = params.groups, list(weight.shape)
    check(
        weight.ndim == input.ndim,
        f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {shape}, but got "
        f"{input.ndim}-dimensional input of size {list(input.shape)} instead",
    )
    check(
        weight.shape[0] >= groups and weight.shape[0] % groups == 0,
        f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
        f"{shape} instead",
    )
    channels = weight.shape[0] if params.transposed else weight.shape[1] * groups
    check(
        input.shape[1] == channels,
        f"Given groups={groups}, weight of size {shape}, expected input{list(input.shape)} to have {channels} "
        f"channels, but got {input.shape[1]} channels instead",
    )
    check(
        0 not in input.shape or 0 in input.shape[:2],
        f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input.shape)}",
    )
    outputs = weight.shape[1] * groups if params.transposed else weight.shape[0]
    check(
        bias_sizes is None or tuple(bias_sizes) == (outputs,),
        f"Given weight of size {shape}, expected bias to be 1-dimensional with {outputs} elements, but got bias of "
        f"size {bias_sizes} instead",
    )


def windows_of(input: TensorMeta, weight: TensorMeta, params: Parameters) -> Slides:
    """Return the windows of a convolution over its input, or over the result if the convolution is transposed.

    The result of a transposed convolution may be empty for the dtypes in ``COMMON``.

    Raises:
        ShapeError: no window fits, or the result would be too small.
    """
    lengths = weight.shape[2:]
    steps = zip(input.shape[2:], lengths, params.stride, params.padding, params.dilation, strict=True)
    reaches = [dilation * (length - 1) + 1 for length, dilation in zip(lengths, params.dilation, strict=True)]
    if params.transposed:
        sizes = [
            (size - 1) * stride - 2 * pad + reach + extra
            for (size, _, stride, pad, _), reach, extra in zip(steps, reaches, params.output_padding, strict=True)
        ]
        least = 0 if input.dtype in COMMON else 1
        check(
            all(size >= least for size in sizes) or 0 in input.shape,
            f"Given input size per channel: {list(input.shape[2:])}. Calculated output size per channel: {sizes}. "
            "Output size is too small",
        )
        counts = list(input.shape[2:])
    else:
        sizes = list(input.shape[2:])
        counts = [
            (size + 2 * pad - reach) // stride + 1
            for (size, _, stride, pad, _), reach in zip(steps, reaches, strict=True)
        ]
        check(
            all(length > 0 for length in lengths) and all(count > 0 for count in counts),
            f"Calculated input size per channel: {sizes}, padded by {list(params.padding)}. Kernel size: "
            f"{list(lengths)}, dilated by {list(params.dilation)}. Kernel size can't be greater than actual input size",
        )
    windows = zip(sizes, counts, lengths, params.padding, params.stride, params.dilation, strict=True)
    return tuple(
        Sliding(size, count, length, -pad, stride, dilation) for size, count, length, pad, stride, dilation in windows
    )


def check_dtypes(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, *, transposed: bool) -> None:
    """Check that input, weight and bias have one device, and one dtype that PyTorch has a kernel for.

    Raises:
        DTypeError, DeviceError: dtypes or devices differ.
        UnsupportedDTypeError: PyTorch has no kernel for the dtype.
    """
    for name, geometry in (("weight", weight), ("bias", bias)):
        if geometry is not None and geometry.device is not input.device:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but the input is on {input.device}, and {name} on "
                f"{geometry.device}"
            )
        if geometry is not None and geometry.dtype is not input.dtype:
            raise DTypeError(
                f"Input type ({input.dtype.scalar_type}) and {name} type ({geometry.dtype.scalar_type}) should be "
                "the same"
            )
    narrow = input.dtype.category is Category.INT and input.dtype is not int64
    if input.dtype is bool_ or (transposed and narrow):
        raise UnsupportedDTypeError(
            f"this convolution is not implemented for '{input.dtype.scalar_type}'. Convert first: x.to(float32)."
        )


def layout_of(input: TensorMeta, weight: TensorMeta) -> MemoryFormat:
    """Return the memory format of a result: channels last if the input or the weight has that format.

    Volumes keep it only for the dtypes in ``COMMON``, as in the library that PyTorch calls for those.
    """
    layout = LAYOUTS.get(input.ndim - 2) if input.dtype in COMMON or input.ndim < 5 else None
    formats = (input.suggested_memory_format(), weight.suggested_memory_format())
    return layout if layout is not None and layout in formats else MemoryFormat.contiguous_format


# --------------------------------------------------------------------------------------------------- analysis of a call


class Problem(NamedTuple):
    """Analysis of a convolution call, computed from the geometries of its tensors.

    params: the parameters.
    windows: the windows over the input, or over the result of a transposed convolution.
    slides: see ``Operands``.
    shape, layout: the result's shape and memory format. As in PyTorch it has no channels where the input has none.
    inner: the memory format that is computed in; None where any will do.
    dtype: the dtype that is computed in.
    """

    params: Parameters
    windows: Slides
    slides: tuple[WindowSpec, ...] | None
    shape: Shape
    layout: MemoryFormat
    inner: MemoryFormat | None
    dtype: DType

    def operands(self, input: Tensor, weight: Tensor, result: Tensor) -> Operands:
        """Return the tensors of the call in their roles; a transposed convolution swaps input and result."""
        pair = (result, input) if self.params.transposed else (input, result)
        return Operands(pair[0], weight, pair[1], self.windows, self.params.groups, self.slides)

    def given_in(self, tensor: Tensor) -> Tensor:
        """Convert an input, or the gradient of a result, to the dtype and the memory format that is computed in."""
        wide = widened(tensor, self.dtype)
        return wide if self.inner is None else wide.contiguous(memory_format=self.inner)

    def empty(self, like: Tensor, shape: Shape) -> Tensor:
        """Return an uninitialized tensor for a result or for the gradient of an input."""
        return empty_in(like, shape, self.inner or self.layout, self.dtype)

    def given_out(self, tensor: Tensor, dtype: DType) -> Tensor:
        """Convert a computed tensor to the dtype and the memory format in which it is returned."""
        if self.inner in (None, self.layout):
            return widened(tensor, dtype)
        return copy_(empty_in(tensor, tensor.shape, self.layout, dtype), tensor)


@lru_cache(maxsize=1024)
def problem_of(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, values: tuple[Any, ...]) -> Problem:
    """Check a convolution call and analyze it; ``values`` are the parameters from ``stride`` to ``groups``.

    Raises:
        ShapeError, DTypeError: the operands do not fit.
    """
    check(weight.ndim > 2, "weight should have at least three dimensions", got=weight.shape)
    params = parameters(weight.ndim - 2, *values)
    check_operands(input, weight, None if bias is None else bias.shape, params)
    check_dtypes(input, weight, bias, transposed=params.transposed)
    windows = windows_of(input, weight, params)
    outputs = weight.shape[1] * params.groups if params.transposed else weight.shape[0]
    inner = tuple(window.size for window in windows) if params.transposed else counts_of(windows)
    shape = (input.shape[0], outputs if input.shape[1] or params.transposed else 0, *inner)
    wide, slides = precision_of(input.dtype), None
    if wide in (float32, float64) and not any(0 in sizes for sizes in (input.shape, weight.shape, shape)):
        slides = slides_of(windows)
    layout: MemoryFormat = layout_of(input, weight)
    taken = max(weight.shape[1], weight.shape[0] // params.groups)
    computed: MemoryFormat | None = None
    if params.groups > 1 and taken < _FEW:
        computed = layout if taken == 1 and slides is not None else MemoryFormat.contiguous_format
    return Problem(params, windows, slides, shape, layout, computed, wide)


def widened(tensor: Tensor, dtype: DType) -> Tensor:
    """Convert a tensor to a dtype; return the tensor itself if it has that dtype."""
    return tensor if tensor.dtype is dtype else tensor.to(dtype)
