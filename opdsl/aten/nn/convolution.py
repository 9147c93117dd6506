"""Convolutions, transposed ones too, as matrix products with what windows show; and their derivatives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import attrs

from opdsl.aten.nn.sliding import Sliding, collect, counts_of, lengths_of, seen, spread
from opdsl.declare import Library, Row, forward, op
from opdsl.errors import DeviceError, DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, fill_, multiply, new_tensor, slide
from opdsl.kernels.calls import WindowSpec
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import (
    Category,
    DType,
    MemoryFormat,
    Tensor,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int64,
)
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.strides import strides_for
from opdsl.schema.vocabulary import Bools, SymInt
from opdsl.sharding.rules import Window

Shape = tuple[int, ...]
Slides = tuple[Sliding, ...]

_ELEMENTS = 1 << 21
"""So many elements of columns are laid out at once, for as many samples as that is."""

_FAR = 1 << 12
"""Windows that reach further may have elements that lie in margins alone."""

_FEW = 8
"""Channels of groups that are read in rows of one channel, unless it is one, which may be a lane."""

COMMON = (float32, float16, bfloat16)
"""The dtypes for which PyTorch has a library of its own."""

LAYOUTS = {2: MemoryFormat.channels_last, 3: MemoryFormat.channels_last_3d}


class Parameters(NamedTuple):
    """What a convolution slides with, a number for each dimension."""

    stride: Shape
    padding: Shape
    dilation: Shape
    transposed: bool
    output_padding: Shape
    groups: int


# ------------------------------------------------------------------------------------------------------------ products


def parts(batch: int, elements: int) -> Iterator[tuple[int, int]]:
    """Where parts of a batch begin, and how many samples they have: what memory close by holds of columns.

    elements: of the columns of a sample.
    """
    step = max(1, _ELEMENTS // max(elements, 1))
    for start in range(0, batch, step):
        yield start, min(step, batch - start)


def empty_in(
    like: Tensor, shape: Shape, layout: MemoryFormat = MemoryFormat.contiguous_format, dtype: DType | None = None
) -> Tensor:
    """Memory on a tensor's device, of its dtype unless another is given."""
    return new_tensor(geometry(dtype or like.dtype, like.device, shape, strides_for(shape, layout)))


def columns_of(images: Tensor, windows: Slides, groups: int) -> Tensor:
    """What windows show, a column each: (batch, groups, channels of a group * elements, windows)."""
    shown, dims = seen(images, windows), len(windows)
    batch, channels = images.shape[:2]
    turned = shown.permute((0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims)))
    rows = channels // groups * math.prod(lengths_of(windows))
    return turned.reshape((batch, groups, rows, math.prod(counts_of(windows))))


def multiply_samples(first: Tensor, second: Tensor, out: Tensor) -> None:
    """Write the products of matrices that all samples share with those of each.

    first: (groups, rows, inner). second: (batch, groups, inner, columns). out: (batch, groups, rows, columns).
    """
    batch, groups = second.shape[:2]
    if groups == 1:
        multiply(first.expand((batch, *first.shape[1:])), second.squeeze(1), out.squeeze(1))
        return
    for sample in range(batch):
        multiply(first, second.select(0, sample), out.select(0, sample))


class Operands(NamedTuple):
    """A convolution without its bias: of these three it makes the results, its gradients the other two.

    images: (batch, channels, sizes).
    weight: (outputs, channels of a group, lengths).
    results: (batch, outputs, counts).
    windows: over the images.
    groups: of channels and outputs.
    slides: the windows, as backends take them; None where there is nothing for these to compute.
    """

    images: Tensor
    weight: Tensor
    results: Tensor
    windows: Slides
    groups: int
    slides: tuple[WindowSpec, ...] | None

    def write(self, kind: str, bias: Tensor | None = None) -> None:
        """Compute one from the others, see ``slide``; with a bias for the channels of what is written."""
        if any(each.dilation * (each.length - 1) > _FAR for each in self.windows):
            met = [_met(each) for each in self.windows]
            if any(count < each.length for (_, count), each in zip(met, self.windows, strict=True)):
                self._write_near(kind, bias, met)
                return
        if self.slides is not None:
            dense = bias if bias is None or bias.is_contiguous() else bias.contiguous()
            if slide(kind, self.images, self.weight, self.results, self.slides, self.groups, dense):
                return
        made = _BY_COLUMNS[kind](self)
        if bias is not None:
            made.add_(bias.view((-1, *(1,) * len(self.windows))))

    def _write_near(self, kind: str, bias: Tensor | None, met: Sequence[tuple[int, int]]) -> None:
        """``write`` by some elements of the windows alone: those in margins see zeros, and have no gradients.

        met: of each dimension the first one, and how many.
        """
        part, windows = self.weight, []
        for dim, (each, (first, count)) in enumerate(zip(self.windows, met, strict=True), 2):
            part = part.narrow(dim, first, count)
            windows.append(attrs.evolve(each, length=count, first=each.first + first * each.dilation))
        near = self._replace(weight=part.contiguous(), windows=tuple(windows))
        if self.slides is not None and part.numel():
            near = near._replace(slides=slides_of(windows))
        written = {"correlate": self.results, "spread": self.images, "weigh": self.weight}[kind]
        if kind == "weigh" or not part.numel():
            fill_(written, 0)
        if part.numel():
            near.write(kind, bias)
            if kind == "weigh":
                copy_(part, near.weight)
        elif bias is not None:
            written.add_(bias.view((-1, *(1,) * len(windows))))

    @property
    def kernels(self) -> Tensor:
        """The weight as matrices: (groups, outputs of a group, elements of a window)."""
        outputs = self.weight.shape[0]
        return self.weight.reshape((self.groups, outputs // self.groups, math.prod(self.weight.shape[1:])))

    @property
    def flat(self) -> Tensor:
        """The results as matrices: (batch, groups, outputs of a group, windows)."""
        batch, outputs = self.results.shape[:2]
        count = math.prod(counts_of(self.windows))
        return self.results.reshape((batch, self.groups, outputs // self.groups, count))


def slides_of(windows: Sequence[Sliding]) -> tuple[WindowSpec, ...]:
    """Windows as backends take them."""
    return tuple(
        WindowSpec(each.size, each.count, each.length, each.first, each.stride, each.dilation) for each in windows
    )


def _met(window: Sliding) -> tuple[int, int]:
    """Which of a window's elements lie between the first and the last place of the images for some window, or none."""
    last = window.first + (window.count - 1) * window.stride
    begin = max(0, -(last // window.dilation))
    end = min(window.length, (window.size - 1 - window.first) // window.dilation + 1)
    return (begin, end - begin) if begin < end else (0, 0)


def correlate(operands: Operands) -> Tensor:
    """Write the products of the weight with all windows into the results."""
    images, _, results, windows, groups, _ = operands
    kernels, count = operands.kernels, math.prod(counts_of(windows))
    batch = images.shape[0]
    made = empty_in(images, (batch, groups, kernels.shape[1], count))
    for start, size in parts(batch, groups * kernels.shape[2] * count):
        columns = columns_of(images.narrow(0, start, size), windows, groups)
        multiply_samples(kernels, columns, made.narrow(0, start, size))
    return copy_(results, made.view(results.shape))


def spread_out(operands: Operands) -> Tensor:
    """The transpose of ``correlate``: write the images from the results."""
    images, weight, results, windows, groups, _ = operands
    batch, count = results.shape[0], math.prod(counts_of(windows))
    inner, dims = weight.shape[1], len(windows)
    kernels, flat = operands.kernels.transpose(1, 2), operands.flat
    back = (0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
    for start, size in parts(batch, groups * kernels.shape[1] * count):
        columns = empty_in(results, (size, groups, kernels.shape[1], count))
        multiply_samples(kernels, flat.narrow(0, start, size), columns)
        shape = (size, groups * inner, *lengths_of(windows), *counts_of(windows))
        collect(images.narrow(0, start, size), columns.view(shape).permute(back), windows)
    return images


def weight_gradient(operands: Operands) -> Tensor:
    """Write the gradient of the weight of ``correlate``, of which the results are the gradients of its results."""
    images, weight, _, windows, groups, _ = operands
    batch, outputs, count = *operands.results.shape[:2], math.prod(counts_of(windows))
    made = empty_in(images, (groups, outputs // groups, math.prod(weight.shape[1:])))
    fill_(made, 0)
    flat = operands.flat
    for sample in range(batch if count else 0):
        columns = columns_of(images.narrow(0, sample, 1), windows, groups).squeeze(0)
        multiply(flat.select(0, sample), columns.transpose(1, 2), made, 1, 1)
    return copy_(weight, made.view(weight.shape))


_BY_COLUMNS = {"correlate": correlate, "spread": spread_out, "weigh": weight_gradient}


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
    """The parameters of a convolution over so many dimensions.

    Raises:
        ShapeError: they are not one or ``dims`` numbers, or too small.
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


def check_operands(input: TensorMeta, weight: TensorMeta, bias_sizes: Shape | None, given: Parameters) -> None:
    """That input, weight and bias fit each other (``check_shape_forward`` in ATen/native/Convolution.cpp).

    Raises:
        ShapeError: they do not.
    """
    groups, shape = given.groups, list(weight.shape)
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
    channels = weight.shape[0] if given.transposed else weight.shape[1] * groups
    check(
        input.shape[1] == channels,
        f"Given groups={groups}, weight of size {shape}, expected input{list(input.shape)} to have {channels} "
        f"channels, but got {input.shape[1]} channels instead",
    )
    check(
        0 not in input.shape or 0 in input.shape[:2],
        f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input.shape)}",
    )
    outputs = weight.shape[1] * groups if given.transposed else weight.shape[0]
    check(
        bias_sizes is None or tuple(bias_sizes) == (outputs,),
        f"Given weight of size {shape}, expected bias to be 1-dimensional with {outputs} elements, but got bias of "
        f"size {bias_sizes} instead",
    )


def windows_of(input: TensorMeta, weight: TensorMeta, given: Parameters) -> Slides:
    """The windows over the input; over the result of a transposed convolution, which may be empty for common dtypes.

    Raises:
        ShapeError: there is none.
    """
    lengths = weight.shape[2:]
    steps = zip(input.shape[2:], lengths, given.stride, given.padding, given.dilation, strict=True)
    reaches = [dilation * (length - 1) + 1 for length, dilation in zip(lengths, given.dilation, strict=True)]
    if given.transposed:
        sizes = [
            (size - 1) * stride - 2 * pad + reach + extra
            for (size, _, stride, pad, _), reach, extra in zip(steps, reaches, given.output_padding, strict=True)
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
            f"Calculated input size per channel: {sizes}, padded by {list(given.padding)}. Kernel size: "
            f"{list(lengths)}, dilated by {list(given.dilation)}. Kernel size can't be greater than actual input size",
        )
    each = zip(sizes, counts, lengths, given.padding, given.stride, given.dilation, strict=True)
    return tuple(
        Sliding(size, count, length, -pad, stride, dilation) for size, count, length, pad, stride, dilation in each
    )


def check_dtypes(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, *, transposed: bool) -> None:
    """That input, weight and bias have one dtype, for which PyTorch has a kernel, and one device.

    Raises:
        DTypeError, DeviceError: they have not. UnsupportedDTypeError: it has none.
    """
    for name, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.device is not input.device:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but the input is on {input.device}, and {name} on "
                f"{each.device}"
            )
        if each is not None and each.dtype is not input.dtype:
            raise DTypeError(
                f"Input type ({input.dtype.scalar_type}) and {name} type ({each.dtype.scalar_type}) should be the same"
            )
    narrow = input.dtype.category is Category.INT and input.dtype is not int64
    if input.dtype is bool_ or (transposed and narrow):
        raise UnsupportedDTypeError(
            f"this convolution is not implemented for '{input.dtype.scalar_type}'. Convert first: x.to(float32)."
        )


def layout_of(input: TensorMeta, weight: TensorMeta) -> MemoryFormat:
    """The memory format of a result: channels last if the input or the weight is.

    Only the library that PyTorch has for the common dtypes leaves volumes so.
    """
    layout = LAYOUTS.get(input.ndim - 2) if input.dtype in COMMON or input.ndim < 5 else None
    formats = (input.suggested_memory_format(), weight.suggested_memory_format())
    return layout if layout is not None and layout in formats else MemoryFormat.contiguous_format


# ---------------------------------------------------------------------------------------------------------- convolution


class Problem(NamedTuple):
    """What follows from the geometries of a call of a convolution.

    given: its parameters.
    windows: over what is larger, the input or the result of a transposed one.
    slides: see ``Operands``.
    shape, layout: of the result. As in PyTorch it has no channels where the input has none.
    inner: the layout that is computed in; None where any will do.
    dtype: that is computed in.
    """

    given: Parameters
    windows: Slides
    slides: tuple[WindowSpec, ...] | None
    shape: Shape
    layout: MemoryFormat
    inner: MemoryFormat | None
    dtype: DType

    def operands(self, input: Tensor, weight: Tensor, result: Tensor) -> Operands:
        """The roles of the tensors of the call."""
        pair = (result, input) if self.given.transposed else (input, result)
        return Operands(pair[0], weight, pair[1], self.windows, self.given.groups, self.slides)

    def given_in(self, tensor: Tensor) -> Tensor:
        """An input, or a gradient of a result, as it is computed with."""
        wide = widened(tensor, self.dtype)
        return wide if self.inner is None else wide.contiguous(memory_format=self.inner)

    def empty(self, like: Tensor, shape: Shape) -> Tensor:
        """Memory for a result, or for a gradient of the input."""
        return empty_in(like, shape, self.inner or self.layout, self.dtype)

    def given_out(self, made: Tensor, dtype: DType) -> Tensor:
        """What is returned of what has been made."""
        if self.inner in (None, self.layout):
            return widened(made, dtype)
        return copy_(empty_in(made, made.shape, self.layout, dtype), made)


@lru_cache(maxsize=1024)
def problem_of(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, values: tuple[Any, ...]) -> Problem:
    """Check a call and say what it comes to; ``values`` are its parameters.

    Raises:
        ShapeError, DTypeError: the operands do not fit.
    """
    check(weight.ndim > 2, "weight should have at least three dimensions", got=weight.shape)
    given = parameters(weight.ndim - 2, *values)
    check_operands(input, weight, None if bias is None else bias.shape, given)
    check_dtypes(input, weight, bias, transposed=given.transposed)
    windows = windows_of(input, weight, given)
    outputs = weight.shape[1] * given.groups if given.transposed else weight.shape[0]
    inner = tuple(each.size for each in windows) if given.transposed else counts_of(windows)
    shape = (input.shape[0], outputs if input.shape[1] or given.transposed else 0, *inner)
    wide, slides = precision_of(input.dtype), None
    if wide in (float32, float64) and not any(0 in sizes for sizes in (input.shape, weight.shape, shape)):
        slides = slides_of(windows)
    layout: MemoryFormat = layout_of(input, weight)
    taken = max(weight.shape[1], weight.shape[0] // given.groups)
    computed: MemoryFormat | None = None
    if given.groups > 1 and taken < _FEW:
        computed = layout if taken == 1 and slides is not None else MemoryFormat.contiguous_format
    return Problem(given, windows, slides, shape, layout, computed, wide)


def widened(tensor: Tensor, dtype: DType) -> Tensor:
    """A tensor in a dtype; itself where it has it."""
    return tensor if tensor.dtype is dtype else tensor.to(dtype)


def convolve(input: Tensor, weight: Tensor, bias: Tensor | None, *values: Any) -> Tensor:
    """The kernel of all convolutions; ``values`` are their parameters.

    Raises:
        ShapeError, DTypeError: the operands do not fit.
    """
    problem = problem_of(input.geometry, weight.geometry, None if bias is None else bias.geometry, values)
    if input.shape[1] == 0:
        return empty_in(input, (input.shape[0], 0, *counts_of(problem.windows)))
    made = problem.empty(input, problem.shape)
    operands = problem.operands(problem.given_in(input), widened(weight, problem.dtype), made)
    kind = "spread" if problem.given.transposed else "correlate"
    operands.write(kind, None if bias is None else widened(bias, problem.dtype))
    return problem.given_out(made, input.dtype)


@op("aten::convolution", kernel="CompositeExplicitAutograd", tags="core", autogen="convolution.out")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[SymInt],
    groups: SymInt,
) -> Tensor:
    """The products of a weight with windows that slide over signals, images or volumes; or what is their transpose.

    Args:
        input: (batch, channels, ...).
        weight: (outputs, channels / groups, ...); (channels, outputs / groups, ...) of a transposed convolution.
        bias: (outputs,), added to the results.
        stride: between windows.
        padding: the margin of zeros; what is cut off the result of a transposed convolution.
        dilation: between the elements of a window.
        transposed: whether it is the transpose, as gradients are.
        output_padding: by how much the result of a transposed convolution is larger behind.
        groups: of channels and outputs; each convolves by itself.
    """
    return convolve(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def slides(
    input: Tensor,
    weight: Tensor,
    bias: object,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    *others: object,
) -> list[Window | None]:
    """What windows a convolution slides over; channels are read whole, and so is what is spread instead."""
    dims = weight.ndim - 2
    if transposed:
        return [None] * (dims + 1)
    each = (
        tuple(weight.shape[2:]),
        *(tuple(value) * (dims if len(value) == 1 else 1) for value in (stride, padding, dilation)),
    )
    return [None, *itertools.starmap(Window, zip(*each, strict=True))]


convolution.sharding(windows=slides)


@convolution.derivative("input", "weight", "bias")
def convolution_derivative(
    grad, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    sizes = None if bias is None else bias.shape
    values = (stride, padding, dilation, transposed, output_padding, groups)
    return convolution_backward(grad, input.conj(), weight.conj(), sizes, *values, output_mask)


@op("aten::convolution_backward", tags="core", autogen="convolution_backward.out")
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: list[SymInt] | None,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[SymInt],
    groups: SymInt,
    output_mask: Bools[3],
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``convolution``'s input, weight and bias, those that the mask asks for."""
    ...


@convolution_backward.kernel("CompositeExplicitAutograd")
def convolution_backward_kernel(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
):
    values = (stride, padding, dilation, transposed, output_padding, groups)
    problem = problem_of(input.geometry, weight.geometry, None, values)
    check_dtypes(grad_output.geometry, input.geometry, weight.geometry, transposed=transposed)
    check(
        grad_output.shape == problem.shape,
        f"Expected grad_output of shape {list(problem.shape)}, but got {list(grad_output.shape)}",
    )
    found: list[Any]  # None for what is not asked for
    if input.shape[1] == 0:
        shapes = (input.shape, weight.shape, bias_sizes or ())
        found = [fill_(empty_in(input, tuple(shape)), 0) for shape in shapes]
        found = [each if asked else None for each, asked in zip(found, output_mask, strict=True)]
        return found[0], found[1], found[2]
    grad = problem.given_in(grad_output)
    operands = problem.operands(problem.given_in(input), widened(weight, problem.dtype), grad)
    found = [None, None, None]
    if output_mask[0]:
        made = problem.empty(input, input.shape)
        wanted = operands._replace(results=made) if transposed else operands._replace(images=made)
        wanted.write("correlate" if transposed else "spread")
        found[0] = problem.given_out(made, input.dtype)
    if output_mask[1]:
        made = empty_in(weight, weight.shape, problem.layout, problem.dtype)
        operands._replace(weight=made).write("weigh")
        found[1] = widened(made, weight.dtype)
    if output_mask[2]:
        found[2] = widened(grad.sum((0, *range(2, grad.ndim))), grad_output.dtype)
    return found[0], found[1], found[2]


@convolution_backward.derivative("grad_output", "input", "weight")
def convolution_backward_derivative(
    grads, grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """A convolution is linear in its input and in its weight."""
    to_input, to_weight, to_bias = grads
    values = (stride, padding, dilation, transposed, output_padding, groups)
    terms = []
    if output_mask[0]:
        if to_input is not None:
            terms.append(convolution(to_input, weight.conj(), None, *values))
        if to_weight is not None:
            terms.append(convolution(input.conj(), to_weight, None, *values))
        if to_bias is not None:
            terms.append(to_bias.view((-1, *(1,) * (input.ndim - 2))).expand(grad_output.shape))
    flipped = grad_output.conj()
    found: list[Any] = [sum(terms[1:], start=terms[0]) if terms else None, None, None]
    if output_mask[1] and to_weight is not None:
        found[1] = convolution_backward(flipped, input, to_weight, None, *values, (True, False, False))[0]
    if output_mask[2] and to_input is not None:
        found[2] = convolution_backward(flipped, to_input, weight, None, *values, (False, True, False))[1]
    return found[0], found[1], found[2]


_HOW = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed"
)
_LIBRARY = ("benchmark", "deterministic", "cudnn_enabled")
_FLAGS = ", ".join(f"bool {each}" for each in _LIBRARY)

_made = Library("aten").table(
    {
        f"_convolution({_HOW}, SymInt[] output_padding, SymInt groups, {_FLAGS}, bool allow_tf32) -> Tensor": Row(
            "``convolution``; the last four arguments are for kernels of cuDNN.",
            forward(convolution, unused=(*_LIBRARY, "allow_tf32")),
            kernel="CompositeExplicitAutograd",
            autogen="_convolution.out",
        ),
        f"_convolution.deprecated({_HOW}, int[] output_padding, SymInt groups, {_FLAGS}) -> Tensor": Row(
            "``_convolution`` without its last argument.", forward(convolution, unused=_LIBRARY)
        ),
    }
)
_made["_convolution"].derivative("input", "weight", "bias")(convolution_derivative)
