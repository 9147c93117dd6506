"""PyTorch's other names of convolutions, each with the gradients of ``convolution``."""

from __future__ import annotations

from functools import partial
from typing import Any

from opdsl.aten._shared.results import store_results
from opdsl.aten.nn.convolution import convolution, convolution_backward, convolution_backward_derivative
from opdsl.aten.nn.sliding import as_sizes
from opdsl.declare import Library, Out, Row, forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor

lib = Library("aten")


def convolve(self, weight, kernel_size, bias, stride, padding, dilation=1, output_padding=None, groups=1):
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


def by_channel(dims, self, weight, kernel_size, bias, stride, padding, dilation):
    """``convolve`` of each channel for itself, in tensors with a batch."""
    check(self.ndim == dims + 2, f"expected a tensor of a batch, channels and {dims} dimensions", got=self.shape)
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, groups=self.shape[1])


def transposed(self, weight, kernel_size, bias, stride, padding, output_padding, dilation):
    """``convolve``, with the arguments as transposed convolutions have them."""
    return convolve(self, weight, kernel_size, bias, stride, padding, dilation, output_padding)


def kernels(*names: str) -> dict[str, str]:
    """What entries call the kernels of the CPU, and of CUDA if there is one."""
    return dict(zip(("CPU", "CUDA"), names, strict=False))


GIVEN = {dims: f"Tensor self, Tensor weight, SymInt[{dims}] kernel_size, Tensor? bias" for dims in (2, 3)}
SIZES = {dims: f"SymInt[{dims}] stride, SymInt[{dims}] padding" for dims in (2, 3)}
DEFAULTS = {dims: f"{GIVEN[dims]}=None, SymInt[{dims}] stride=1, SymInt[{dims}] padding=0" for dims in (2, 3)}

lib.table(
    {
        f"_slow_conv2d_forward({GIVEN[2]}, {SIZES[2]}) -> Tensor": Row(
            "``conv2d``.",
            convolve,
            dispatch=kernels("slow_conv2d_forward_cpu", "slow_conv2d_forward_cuda"),
            out=Out(
                "_slow_conv2d_forward.output",
                args=("output",),
                explicit=True,
                dispatch=kernels("slow_conv2d_forward_out_cpu", "slow_conv2d_forward_out_cuda"),
            ),
        ),
        f"thnn_conv2d({DEFAULTS[2]}) -> Tensor": Row("``conv2d``.", convolve, out=Out(explicit=True)),
        f"slow_conv3d_forward({GIVEN[3]}, {SIZES[3]}) -> Tensor": Row(
            "``conv3d``.",
            convolve,
            dispatch=kernels("slow_conv3d_forward_cpu"),
            out=Out(
                "slow_conv3d_forward.output",
                args=("output",),
                explicit=True,
                dispatch=kernels("slow_conv3d_forward_out_cpu"),
            ),
        ),
        f"slow_conv3d({DEFAULTS[3]}) -> Tensor": Row("``conv3d``.", convolve, out=Out(explicit=True)),
        **{
            f"slow_conv_dilated{dims}d({DEFAULTS[dims]}, SymInt[{dims}] dilation=1) -> Tensor": Row(
                f"``conv{dims}d`` with a dilation.",
                convolve,
                dispatch=kernels(f"slow_conv_dilated{dims}d_cpu", f"slow_conv_dilated{dims}d_cuda"),
                autogen=f"slow_conv_dilated{dims}d.out",
            )
            for dims in (2, 3)
        },
        f"slow_conv_transpose2d({DEFAULTS[2]}, SymInt[2] output_padding=0, SymInt[2] dilation=1) -> Tensor": Row(
            "``conv_transpose2d``.",
            transposed,
            out=Out(
                structured=True,
                dispatch=kernels("slow_conv_transpose2d_structured_cpu", "slow_conv_transpose2d_structured_cuda"),
            ),
        ),
        f"slow_conv_transpose3d({DEFAULTS[3]}, SymInt[3] output_padding=0, SymInt[3] dilation=1) -> Tensor": Row(
            "``conv_transpose3d``.",
            transposed,
            dispatch=kernels("slow_conv_transpose3d_cpu", "slow_conv_transpose3d_cuda"),
            out=Out(explicit=True, dispatch=kernels("slow_conv_transpose3d_out_cpu", "slow_conv_transpose3d_out_cuda")),
        ),
        f"_conv_depthwise2d({GIVEN[2]}, {SIZES[2]}, SymInt[2] dilation) -> Tensor": Row(
            "``conv2d`` of each channel for itself.",
            partial(by_channel, 2),
            dispatch={"CUDA": "conv_depthwise2d_cuda"},
            out=Out(explicit=True, dispatch={"CUDA": "conv_depthwise2d_cuda_out"}),
        ),
        f"conv_depthwise3d({GIVEN[3]}, {SIZES[3]}, SymInt[3] dilation) -> Tensor": Row(
            "``conv3d`` of each channel for itself.",
            partial(by_channel, 3),
            dispatch={"CUDA": "conv_depthwise3d_cuda"},
            autogen="conv_depthwise3d.out",
        ),
    },
    python_module="nn",
)


_GRADIENTS = "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)"

_slow_conv2d_backward_output_mask = lib.table(
    {
        "_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, "
        f"{SIZES[2]}, bool[3] output_mask) -> {_GRADIENTS}": Row(
            "The gradients of ``_slow_conv2d_forward``, those that the mask asks for.",
            forward(
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
            ),
            python_module="nn",
            dispatch=kernels("slow_conv2d_backward_cpu", "slow_conv2d_backward_cuda"),
            autogen="_slow_conv2d_backward.output_mask_out",
        )
    }
)["_slow_conv2d_backward.output_mask"]


@op("aten::conv_tbc", dispatch={"CompositeExplicitAutograd": "conv_tbc"}, autogen="conv_tbc.out")
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` of sequences laid out as (time, batch, channels), with a weight of (length, channels, outputs)."""
    images, kernels = self.permute((1, 2, 0)), weight.permute((2, 1, 0))
    made: Tensor = convolution(images, kernels, bias, (1,), (pad,), (1,), False, (0,), 1)
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


# -------------------------------------------------------------------------------------------------- other signatures


convolution_overrideable = convolution.alias(
    "aten::convolution_overrideable", kernel="CompositeExplicitAutograd", autogen="convolution_overrideable.out"
)


convolution_backward_overrideable = lib.table(
    {
        "convolution_backward_overrideable(Tensor grad_output, Tensor input, Tensor weight, SymInt[] stride, "
        "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
        f"bool[3] output_mask) -> {_GRADIENTS}": Row(
            "The gradients of ``convolution_overrideable``, those that ``output_mask`` asks for.",
            forward(convolution_backward, bias_sizes=None),
            kernel="CompositeExplicitAutograd",
            autogen="convolution_backward_overrideable.out",
        )
    }
)["convolution_backward_overrideable"]

convolution_overrideable.derivative("input", "weight", "bias")(
    forward(convolution_backward_overrideable, input=lambda input: input.conj(), weight=lambda weight: weight.conj())
)
convolution_backward_overrideable.derivative("grad_output", "input", "weight")(convolution_backward_derivative)


@lib.entry(
    "_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, "
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
    "SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def _convolution_double_backward(
    ggI, ggW, ggb, gO, weight, self, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The gradients of ``convolution_backward``: of the gradient, the input and the weight.

    Args:
        ggI, ggW, ggb: the gradients of what it gave: of the gradients of input, weight and bias.
        gO, weight, self: what it was given.
        stride, padding, dilation, transposed, output_padding, groups: as of ``convolution``.
        output_mask: which of the three are asked for.
    """
    for name, each, given in (("ggI", ggI, self), ("ggW", ggW, weight)):
        check(each is None or each.shape == given.shape, f"{name} must have the shape {list(given.shape)}")
    check(ggb is None or (gO.ndim > 1 and ggb.shape == gO.shape[1:2]), "ggb must have a number for each output channel")
    formula: Any = convolution_backward_derivative
    values = stride, padding, dilation, transposed, output_padding, groups
    found: tuple[Tensor, Tensor, Tensor] = formula((ggI, ggW, ggb), gO, self, weight, *values, output_mask)
    return found


def slow_gradients(
    grad_output: Tensor, self: Tensor, weight: Tensor, kernel_size: Any, stride: Any, padding: Any, **outs: Tensor
) -> tuple[Tensor, ...]:
    """``_slow_conv2d_backward.output_mask`` with all gradients, into given tensors."""
    made = _slow_conv2d_backward_output_mask(
        grad_output, self, weight, kernel_size, stride, padding, (True, True, True)
    )
    return store_results("_slow_conv2d_backward.grad_input", tuple(outs.values()), made)


lib.define(
    "_slow_conv2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, "
    "SymInt[2] stride, SymInt[2] padding, *, Tensor(a!) grad_input, Tensor(b!) grad_weight, Tensor(c!) grad_bias) -> "
    "(Tensor(a!), Tensor(b!), Tensor(c!))",
    slow_gradients,
    dispatch={"CPU": "slow_conv2d_backward_out_cpu", "CUDA": "slow_conv2d_backward_out_cuda"},
    python_module="nn",
)
