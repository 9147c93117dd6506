"""PyTorch's other names of convolutions, each with the gradients of ``convolution``."""

from __future__ import annotations

from typing import Annotated

from opdsl.aten.nn.conv_functions import Sizes
from opdsl.aten.nn.convolution import convolution, convolution_backward
from opdsl.aten.nn.sliding import as_sizes
from opdsl.declare import Out, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import Bools, Name, SymInts


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
    """``convolution`` with a kernel whose size is said; transposed where there is an ``output_padding``.

    Raises:
        ShapeError: the weight has another size.
    """
    size = as_sizes(kernel_size)
    check(
        tuple(weight.shape[2:]) == size,
        f"expected a weight with a kernel of size {list(size)}, but got a weight of size {list(weight.shape)}",
    )
    transposed = output_padding is not None
    extra = as_sizes(0 if output_padding is None else output_padding)
    step, margin, gap = (as_sizes(each) for each in (stride, padding, dilation))
    return convolution(self, weight, bias, step, margin, gap, transposed, extra, groups)


@op(
    "aten::_slow_conv2d_forward",
    python_module="nn",
    dispatch={"CPU": "slow_conv2d_forward_cpu", "CUDA": "slow_conv2d_forward_cuda"},
    out=Out(
        "_slow_conv2d_forward.output",
        args=("output",),
        explicit=True,
        dispatch={"CPU": "slow_conv2d_forward_out_cpu", "CUDA": "slow_conv2d_forward_out_cuda"},
    ),
)
def _slow_conv2d_forward(
    self: Tensor, weight: Tensor, kernel_size: SymInts[2], bias: Tensor | None, stride: SymInts[2], padding: SymInts[2]
) -> Tensor:
    """``conv2d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::thnn_conv2d", python_module="nn", out=Out(explicit=True))
def thnn_conv2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[2],
    bias: Tensor | None = None,
    stride: SymInts[2] = 1,
    padding: SymInts[2] = 0,
) -> Tensor:
    """``conv2d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op(
    "aten::_slow_conv2d_backward.output_mask",
    python_module="nn",
    dispatch={"CPU": "slow_conv2d_backward_cpu", "CUDA": "slow_conv2d_backward_cuda"},
    autogen="_slow_conv2d_backward.output_mask_out",
)
def _slow_conv2d_backward_output_mask(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[2],
    stride: SymInts[2],
    padding: SymInts[2],
    output_mask: Bools[3],
) -> tuple[
    Annotated[Tensor, Name("grad_input")], Annotated[Tensor, Name("grad_weight")], Annotated[Tensor, Name("grad_bias")]
]:
    """The gradients of ``_slow_conv2d_forward``, those that ``output_mask`` asks for."""
    outputs, ones = (weight.shape[0],), (1, 1)
    return convolution_backward(
        grad_output, self, weight, outputs, as_sizes(stride), as_sizes(padding), ones, False, (0, 0), 1, output_mask
    )


@op(
    "aten::slow_conv3d_forward",
    python_module="nn",
    dispatch={"CPU": "slow_conv3d_forward_cpu"},
    out=Out(
        "slow_conv3d_forward.output", args=("output",), explicit=True, dispatch={"CPU": "slow_conv3d_forward_out_cpu"}
    ),
)
def slow_conv3d_forward(
    self: Tensor, weight: Tensor, kernel_size: SymInts[3], bias: Tensor | None, stride: SymInts[3], padding: SymInts[3]
) -> Tensor:
    """``conv3d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op("aten::slow_conv3d", python_module="nn", out=Out(explicit=True))
def slow_conv3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[3],
    bias: Tensor | None = None,
    stride: SymInts[3] = 1,
    padding: SymInts[3] = 0,
) -> Tensor:
    """``conv3d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding)


@op(
    "aten::slow_conv_dilated2d",
    python_module="nn",
    dispatch={"CPU": "slow_conv_dilated2d_cpu", "CUDA": "slow_conv_dilated2d_cuda"},
    autogen="slow_conv_dilated2d.out",
)
def slow_conv_dilated2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[2],
    bias: Tensor | None = None,
    stride: SymInts[2] = 1,
    padding: SymInts[2] = 0,
    dilation: SymInts[2] = 1,
) -> Tensor:
    """``conv2d`` with a dilation."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation)


@op(
    "aten::slow_conv_dilated3d",
    python_module="nn",
    dispatch={"CPU": "slow_conv_dilated3d_cpu", "CUDA": "slow_conv_dilated3d_cuda"},
    autogen="slow_conv_dilated3d.out",
)
def slow_conv_dilated3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[3],
    bias: Tensor | None = None,
    stride: SymInts[3] = 1,
    padding: SymInts[3] = 0,
    dilation: SymInts[3] = 1,
) -> Tensor:
    """``conv3d`` with a dilation."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation)


@op(
    "aten::slow_conv_transpose2d",
    python_module="nn",
    out=Out(
        structured=True,
        dispatch={"CPU": "slow_conv_transpose2d_structured_cpu", "CUDA": "slow_conv_transpose2d_structured_cuda"},
    ),
)
def slow_conv_transpose2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[2],
    bias: Tensor | None = None,
    stride: SymInts[2] = 1,
    padding: SymInts[2] = 0,
    output_padding: SymInts[2] = 0,
    dilation: SymInts[2] = 1,
) -> Tensor:
    """``conv_transpose2d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, output_padding)


@op(
    "aten::slow_conv_transpose3d",
    python_module="nn",
    dispatch={"CPU": "slow_conv_transpose3d_cpu", "CUDA": "slow_conv_transpose3d_cuda"},
    out=Out(explicit=True, dispatch={"CPU": "slow_conv_transpose3d_out_cpu", "CUDA": "slow_conv_transpose3d_out_cuda"}),
)
def slow_conv_transpose3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[3],
    bias: Tensor | None = None,
    stride: SymInts[3] = 1,
    padding: SymInts[3] = 0,
    output_padding: SymInts[3] = 0,
    dilation: SymInts[3] = 1,
) -> Tensor:
    """``conv_transpose3d``."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, output_padding)


@op(
    "aten::_conv_depthwise2d",
    python_module="nn",
    dispatch={"CUDA": "conv_depthwise2d_cuda"},
    out=Out(explicit=True, dispatch={"CUDA": "conv_depthwise2d_cuda_out"}),
)
def _conv_depthwise2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[2],
    bias: Tensor | None,
    stride: SymInts[2],
    padding: SymInts[2],
    dilation: SymInts[2],
) -> Tensor:
    """``conv2d`` of each channel for itself."""
    check(self.ndim == 4, "expected a (N, C, H, W) tensor", got=self.shape)
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, groups=self.shape[1])


@op(
    "aten::conv_depthwise3d",
    python_module="nn",
    dispatch={"CUDA": "conv_depthwise3d_cuda"},
    autogen="conv_depthwise3d.out",
)
def conv_depthwise3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: SymInts[3],
    bias: Tensor | None,
    stride: SymInts[3],
    padding: SymInts[3],
    dilation: SymInts[3],
) -> Tensor:
    """``conv3d`` of each channel for itself."""
    check(self.ndim == 5, "expected a (N, C, D, H, W) tensor", got=self.shape)
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, groups=self.shape[1])


@op("aten::conv_tbc", dispatch={"CompositeExplicitAutograd": "conv_tbc"}, autogen="conv_tbc.out")
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` of sequences laid out as (time, batch, channels), with a weight of (length, channels, outputs)."""
    images, kernels = self.permute((1, 2, 0)), weight.permute((2, 1, 0))
    made = convolution(images, kernels, bias, (1,), (pad,), (1,), False, (0,), 1)
    return made.permute((2, 0, 1)).contiguous()


@op("aten::conv_tbc_backward")
def conv_tbc_backward(
    self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``conv_tbc``."""
    images, kernels, given = input.permute((1, 2, 0)), weight.permute((2, 1, 0)), self.permute((1, 2, 0))
    of_images, of_kernels, of_bias = convolution_backward(
        given, images, kernels, tuple(bias.shape), (1,), (pad,), (1,), False, (0,), 1, (True, True, True)
    )
    return of_images.permute((2, 0, 1)), of_kernels.permute((2, 1, 0)), of_bias
