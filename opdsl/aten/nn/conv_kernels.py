"""Further convolution operators of PyTorch, all computed by ``convolution``, which gives them their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from opdsl.aten._shared.results import store_results
from opdsl.aten.nn.convolution import convolution, convolution_backward, convolution_backward_derivative
from opdsl.aten.nn.sliding import as_sizes
from opdsl.declare import Out, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema import Alias
from opdsl.schema.vocabulary import BoolList, Name, Size, SymInt, SymIntList

Sizes = int | Sequence[int]


def convolve(
    self: Tensor,
    weight: Tensor,
    kernel_size: Sizes,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes = 1,
    output_padding: Sizes | None = None,
    groups: int = 1,
) -> Tensor:
    """Compute ``convolution`` after checking the weight's kernel size, transposed if ``output_padding`` is given.

    Raises:
        ShapeError: the weight's kernel has another size than ``kernel_size``.
    """
    size = as_sizes(kernel_size)
    check(
        tuple(weight.shape[2:]) == size,
        f"expected a weight with a kernel of size {list(size)}, but got a weight of size {list(weight.shape)}",
    )
    transposed = output_padding is not None
    extra = as_sizes(0 if output_padding is None else output_padding)
    step, margin, gap = (as_sizes(number) for number in (stride, padding, dilation))
    return convolution(self, weight, bias, step, margin, gap, transposed, extra, groups)


def by_channel(
    dims: int,
    self: Tensor,
    weight: Tensor,
    kernel_size: Sizes,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
) -> Tensor:
    """Compute ``convolve`` of each channel separately (a depthwise convolution), for a tensor with a batch."""
    check(self.ndim == dims + 2, f"expected a tensor of a batch, channels and {dims} dimensions", got=self.shape)
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, groups=self.shape[1])


@op("aten::_slow_conv2d_forward", python_module="nn", out=Out("_slow_conv2d_forward.output", args=("output",)))
def _slow_conv2d_forward(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    bias: Tensor | None,
    stride: Annotated[SymIntList, Size(2)],
    padding: Annotated[SymIntList, Size(2)],
) -> Tensor:
    """Compute ``conv2d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::thnn_conv2d", python_module="nn", out=True)
def thnn_conv2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(2)] = 1,
    padding: Annotated[SymIntList, Size(2)] = 0,
) -> Tensor:
    """Compute ``conv2d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::slow_conv3d_forward", python_module="nn", out=Out("slow_conv3d_forward.output", args=("output",)))
def slow_conv3d_forward(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(3)],
    bias: Tensor | None,
    stride: Annotated[SymIntList, Size(3)],
    padding: Annotated[SymIntList, Size(3)],
) -> Tensor:
    """Compute ``conv3d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::slow_conv3d", python_module="nn", out=True)
def slow_conv3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(3)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(3)] = 1,
    padding: Annotated[SymIntList, Size(3)] = 0,
) -> Tensor:
    """Compute ``conv3d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::slow_conv_dilated2d", python_module="nn")
def slow_conv_dilated2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(2)] = 1,
    padding: Annotated[SymIntList, Size(2)] = 0,
    dilation: Annotated[SymIntList, Size(2)] = 1,
) -> Tensor:
    """Compute ``conv2d`` with a given kernel size and a dilation."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation)


@op("aten::slow_conv_dilated3d", python_module="nn")
def slow_conv_dilated3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(3)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(3)] = 1,
    padding: Annotated[SymIntList, Size(3)] = 0,
    dilation: Annotated[SymIntList, Size(3)] = 1,
) -> Tensor:
    """Compute ``conv3d`` with a given kernel size and a dilation."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation)


@op("aten::slow_conv_transpose2d", python_module="nn", out=True)
def slow_conv_transpose2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(2)] = 1,
    padding: Annotated[SymIntList, Size(2)] = 0,
    output_padding: Annotated[SymIntList, Size(2)] = 0,
    dilation: Annotated[SymIntList, Size(2)] = 1,
) -> Tensor:
    """Compute ``conv_transpose2d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, output_padding)


@op("aten::slow_conv_transpose3d", python_module="nn", out=True)
def slow_conv_transpose3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(3)],
    bias: Tensor | None = None,
    stride: Annotated[SymIntList, Size(3)] = 1,
    padding: Annotated[SymIntList, Size(3)] = 0,
    output_padding: Annotated[SymIntList, Size(3)] = 0,
    dilation: Annotated[SymIntList, Size(3)] = 1,
) -> Tensor:
    """Compute ``conv_transpose3d`` with a given kernel size."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, output_padding)


@op("aten::_conv_depthwise2d", python_module="nn", out=True)
def _conv_depthwise2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    bias: Tensor | None,
    stride: Annotated[SymIntList, Size(2)],
    padding: Annotated[SymIntList, Size(2)],
    dilation: Annotated[SymIntList, Size(2)],
) -> Tensor:
    """Compute ``conv2d`` of each channel separately (a depthwise convolution)."""
    return by_channel(2, self, weight, kernel_size, bias, stride, padding, dilation)


@op("aten::conv_depthwise3d", python_module="nn")
def conv_depthwise3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(3)],
    bias: Tensor | None,
    stride: Annotated[SymIntList, Size(3)],
    padding: Annotated[SymIntList, Size(3)],
    dilation: Annotated[SymIntList, Size(3)],
) -> Tensor:
    """Compute ``conv3d`` of each channel separately (a depthwise convolution)."""
    return by_channel(3, self, weight, kernel_size, bias, stride, padding, dilation)


@op("aten::_slow_conv2d_backward.output_mask", python_module="nn")
@forward(
    convolution_backward,
    bias_sizes=lambda weight: weight.shape[:1],
    input=lambda self: self,
    stride=lambda stride: as_sizes(stride),
    padding=lambda padding: as_sizes(padding),
    dilation=(1, 1),
    transposed=False,
    output_padding=(0, 0),
    groups=1,
    unused=("kernel_size",),
)
def _slow_conv2d_backward_output_mask(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    stride: Annotated[SymIntList, Size(2)],
    padding: Annotated[SymIntList, Size(2)],
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[
    Annotated[Tensor, Name("grad_input")], Annotated[Tensor, Name("grad_weight")], Annotated[Tensor, Name("grad_bias")]
]:
    """Return the gradients of ``_slow_conv2d_forward`` that ``output_mask`` selects."""


@op("aten::conv_tbc")
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Compute ``conv1d`` of sequences with shape (time, batch, channels) and a weight (length, channels, outputs)."""
    images, kernels = self.permute((1, 2, 0)), weight.permute((2, 1, 0))
    convolved: Tensor = convolution(images, kernels, bias, (1,), (pad,), (1,), False, (0,), 1)
    return convolved.permute((2, 0, 1)).contiguous()


@op("aten::conv_tbc_backward")
def conv_tbc_backward(
    self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``conv_tbc`` with respect to input, weight and bias."""
    images, kernels, gradient = input.permute((1, 2, 0)), weight.permute((2, 1, 0)), self.permute((1, 2, 0))
    of_images, of_kernels, of_bias = convolution_backward(
        gradient, images, kernels, tuple(bias.shape), (1,), (pad,), (1,), False, (0,), 1, (True, True, True)
    )
    return of_images.permute((2, 0, 1)), of_kernels.permute((2, 1, 0)), of_bias


# -------------------------------------------------------------------------------------------------- other signatures


convolution_overrideable = convolution.alias("aten::convolution_overrideable", kernel="CompositeExplicitAutograd")


@op("aten::convolution_backward_overrideable", kernel="CompositeExplicitAutograd")
@forward(convolution_backward, bias_sizes=None)
def convolution_backward_overrideable(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[SymInt],
    groups: SymInt,
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[
    Annotated[Tensor, Name("grad_input")], Annotated[Tensor, Name("grad_weight")], Annotated[Tensor, Name("grad_bias")]
]:
    """Return the gradients of ``convolution_overrideable`` that ``output_mask`` selects."""


convolution_overrideable.derivative("input", "weight", "bias")(
    forward(convolution_backward_overrideable, input=lambda input: input.conj(), weight=lambda weight: weight.conj())
)
convolution_backward_overrideable.derivative("grad_output", "input", "weight")(convolution_backward_derivative)


@op("aten::_convolution_double_backward")
def _convolution_double_backward(
    ggI: Tensor | None,
    ggW: Tensor | None,
    ggb: Tensor | None,
    gO: Tensor,
    weight: Tensor,
    self: Tensor,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[SymInt],
    groups: SymInt,
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``convolution_backward`` with respect to the output gradient, the input and the weight.

    Args:
        ggI, ggW, ggb: the gradients of its results, which are the gradients of input, weight and bias.
        gO, weight, self: its arguments: the output gradient, the weight and the input.
        stride, padding, dilation, transposed, output_padding, groups: see ``convolution``.
        output_mask: whether each of the three gradients is wanted.
    """
    for name, gradient, operand in (("ggI", ggI, self), ("ggW", ggW, weight)):
        check(gradient is None or gradient.shape == operand.shape, f"{name} must have the shape {list(operand.shape)}")
    check(ggb is None or (gO.ndim > 1 and ggb.shape == gO.shape[1:2]), "ggb must have a number for each output channel")
    formula: Any = convolution_backward_derivative
    values = stride, padding, dilation, transposed, output_padding, groups
    gradients: tuple[Tensor, Tensor, Tensor] = formula((ggI, ggW, ggb), gO, self, weight, *values, output_mask)
    return gradients


@op("aten::_slow_conv2d_backward.grad_input", python_module="nn")
def _slow_conv2d_backward(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    kernel_size: Annotated[SymIntList, Size(2)],
    stride: Annotated[SymIntList, Size(2)],
    padding: Annotated[SymIntList, Size(2)],
    *,
    grad_input: Tensor[Alias("a", write=True)],
    grad_weight: Tensor[Alias("b", write=True)],
    grad_bias: Tensor[Alias("c", write=True)],
) -> tuple[Tensor[Alias("a", write=True)], Tensor[Alias("b", write=True)], Tensor[Alias("c", write=True)]]:
    """Write all gradients of ``_slow_conv2d_forward`` into given tensors."""
    gradients = _slow_conv2d_backward_output_mask(
        grad_output, self, weight, kernel_size, stride, padding, (True, True, True)
    )
    outs = (grad_input, grad_weight, grad_bias)
    stored = store_results("_slow_conv2d_backward.grad_input", outs, gradients)
    return stored[0], stored[1], stored[2]
