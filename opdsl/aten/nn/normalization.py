"""Softmax, layer normalization, root mean square normalization, and their derivatives."""

from __future__ import annotations

import math
from typing import Annotated, Any, cast

import numpy

from opdsl import primitives
from opdsl.aten._shared.checks import require_floating
from opdsl.aten.create.like_factories import zeros_like
from opdsl.declare import Library, Out, forward, op
from opdsl.dispatch import is_grad_enabled
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import Category, DType, Tensor, bfloat16, float16, float32, wrap_dimension
from opdsl.scalar.intrinsics import row_max, row_mean, row_sum
from opdsl.schema.vocabulary import BoolList, Size, SymInt

# ------------------------------------------------------------------------------------------------------------- softmax


def softmax_meta(ctx, self, dim, half_to_float):
    dimension = wrap_dimension(dim, self.ndim)
    require_floating("softmax", self)
    check(not half_to_float, "softmax with half to float conversion is not supported on CPU")
    ctx.set_output(0, self.shape, like=self)
    return (dimension,) if self.ndim else ()


def softmax_backward_meta(ctx, grad_output, output, dim, input_dtype):
    check(
        grad_output.shape == output.shape,
        f"Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but "
        f"{list(grad_output.shape)} does not equal {list(output.shape)} "
        "(while checking arguments for softmax_backward)",
    )
    dimension = wrap_dimension(dim, grad_output.ndim)
    require_floating("softmax_backward", grad_output)
    if output.dtype is not grad_output.dtype:
        raise DTypeError(f"expected scalar type {grad_output.dtype.scalar_type} but found {output.dtype.scalar_type}")
    halves = grad_output.dtype is float32 and input_dtype is float16
    ctx.set_output(0, grad_output.shape, like=grad_output, dtype=float16 if halves else grad_output.dtype)
    return (dimension,) if grad_output.ndim else ()


@op("aten::_softmax", out=True, tags="core")
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """``exp(x) / sum(exp(x))`` along dimension ``dim`` of ``self``, without overflow."""
    ...


_softmax.meta(softmax_meta)


@op("aten::_softmax_backward_data", out=Out(args=("grad_input",)))
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """Return the gradient of the input of ``softmax``, from the gradient of its output and the output."""
    ...


_softmax_backward_data.meta(softmax_backward_meta)


@op("aten::_log_softmax", out=True, tags="core")
def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Return the logarithm of ``softmax`` along dimension ``dim``, without overflow."""
    ...


_log_softmax.meta(softmax_meta)


@op("aten::_log_softmax_backward_data", out=True)
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """Return the gradient of the input of ``log_softmax``, from the gradient of its output and the output."""
    ...


_log_softmax_backward_data.meta(softmax_backward_meta)


def softmax_row(self: Any) -> Any:
    exponential = math.exp(self - row_max(self))
    return exponential / row_sum(exponential)


def softmax_backward_row(grad_output: Any, output: Any) -> Any:
    return (grad_output - row_sum(grad_output * output)) * output


def log_softmax_row(self: Any) -> Any:
    shifted = self - row_max(self)
    return shifted - math.log(row_sum(math.exp(shifted)))


def log_softmax_backward_row(grad_output: Any, output: Any) -> Any:
    return grad_output - math.exp(output) * row_sum(grad_output)


softmax_rows = primitives.rows(softmax_row, promote="floating")
softmax_backward_rows = primitives.rows(softmax_backward_row, promote="floating")
log_softmax_rows = primitives.rows(log_softmax_row, promote="floating")
log_softmax_backward_rows = primitives.rows(log_softmax_backward_row, promote="floating")


@_softmax.formula
def shares(self: Tensor) -> Tensor:
    return softmax_rows(self)


@_softmax_backward_data.formula
def shares_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return softmax_backward_rows(grad_output, output)


@_log_softmax.formula
def log_shares(self: Tensor) -> Tensor:
    return log_softmax_rows(self)


@_log_softmax_backward_data.formula
def log_shares_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return log_softmax_backward_rows(grad_output, output)


_softmax.derivative(self=lambda grad, result, dim, self: _softmax_backward_data(grad, result, dim, self.dtype))
_log_softmax.derivative(self=lambda grad, result, dim, self: _log_softmax_backward_data(grad, result, dim, self.dtype))


@_softmax_backward_data.derivative("grad_output")
def softmax_backward_derivative(grad, output, dim, input_dtype):
    return _softmax_backward_data(grad.to(output.dtype), output, dim, input_dtype)


@_softmax_backward_data.derivative("output")
def softmax_backward_output_derivative(grad, grad_output, output, dim):
    grad = grad.to(output.dtype)
    along = grad_output * grad - (output * grad_output).sum([dim], True) * grad
    return along - grad_output * (output * grad).sum([dim], True)


@_log_softmax_backward_data.derivative("grad_output")
def log_softmax_backward_derivative(grad, output, dim):
    grad = grad.to(output.dtype)
    return grad - (grad * output.exp()).sum([dim], True)


@_log_softmax_backward_data.derivative("output")
def log_softmax_backward_output_derivative(grad, grad_output, output, dim):
    return -(grad_output.sum([dim], True) * output.exp() * grad.to(output.dtype))


def in_dtype(self: Tensor, dtype: DType | None) -> Tensor:
    """Convert a tensor to a dtype; return it unchanged for None."""
    return self if dtype is None else self.to(dtype)


@op("aten::softmax.int", variants="function, method", out=Out("softmax.int_out"))
@forward(_softmax, self=in_dtype, half_to_float=False)
def softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along dimension ``dim``, where ``x`` is ``self``, converted to ``dtype`` if given."""


@op("aten::log_softmax.int", variants="function, method", out=Out("log_softmax.int_out"))
@forward(_log_softmax, self=in_dtype, half_to_float=False)
def log_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of ``softmax`` along dimension ``dim`` of ``self``, converted to ``dtype`` if given."""


# -------------------------------------------------------------------------------------------------- layer normalization


def normalized_dims(input: Tensor, normalized_shape: tuple[int, ...], **parameters: Tensor | None) -> range:
    """Return the dimensions that are normalized together, the last ones with ``normalized_shape``
    (``_check_layer_norm_inputs``).

    Raises:
        ShapeError: the shapes do not fit.
    """
    check(
        normalized_shape,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []",
    )
    for name, parameter in parameters.items():
        if parameter is not None:
            check(
                parameter.shape == normalized_shape,
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.shape)} and normalized_shape = {list(normalized_shape)}",
            )
    begin = input.ndim - len(normalized_shape)
    wanted = ", ".join(map(str, ("*", *normalized_shape)))
    check(
        begin >= 0 and input.shape[begin:] == normalized_shape,
        f"Given normalized_shape={list(normalized_shape)}, expected input with shape [{wanted}], but got input of "
        f"size {list(input.shape)}",
    )
    return range(begin, input.ndim)


def statistics_dtype(input: Tensor, *parameters: Tensor | None) -> DType:
    """Return the dtype of mean and 1 / deviation: the input's, or float32 for a 16-bit input with float32 parameters.

    Raises:
        DTypeError: the dtypes do not fit.
    """
    dtypes = [parameter.dtype for parameter in parameters if parameter is not None]
    if all(dtype is input.dtype for dtype in dtypes):
        return input.dtype
    if input.dtype not in (float16, bfloat16):
        other = next(dtype for dtype in dtypes if dtype is not input.dtype)
        raise DTypeError(f"expected scalar type {input.dtype.scalar_type} but found {other.scalar_type}")
    if any(dtype is not float32 for dtype in dtypes):
        raise DTypeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    return float32


@op("aten::native_layer_norm", tags="core", out=True)
def native_layer_norm(
    input: Tensor, normalized_shape: list[SymInt], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize the last dimensions, multiply by ``weight`` and add ``bias``; return also mean and 1 / standard
    deviation.
    """
    ...


@native_layer_norm.meta
def native_layer_norm_meta(ctx, input, normalized_shape, weight, bias):
    dims = normalized_dims(input, normalized_shape, weight=weight, bias=bias)
    require_floating("LayerNormKernelImpl", input)
    dtype = statistics_dtype(input, weight, bias)
    rows = (*input.shape[: dims.start], *(1 for _ in dims))
    ctx.set_output(0, input.shape, like=input)
    ctx.set_output(1, rows, like=input, dtype=dtype)
    ctx.set_output(2, rows, like=input, dtype=dtype)
    return dims


def native_layer_norm_row(input: Any, eps: Any, weight: Any = 1.0, bias: Any = 0.0) -> Any:
    mean = row_mean(input)
    deviation = input - mean
    rstd = 1.0 / math.sqrt(row_mean(deviation * deviation) + eps)
    return deviation * rstd * weight + bias, mean, rstd


native_layer_norm_rows = primitives.rows(native_layer_norm_row, promote="floating")


@native_layer_norm.formula
def normalized(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    return cast("tuple[Tensor, Tensor, Tensor]", native_layer_norm_rows(input, weight, bias, eps))


@native_layer_norm.kernel("CompositeExplicitAutograd")
def native_layer_norm_kernel(input, normalized_shape, weight, bias, eps):
    dims = list(normalized_dims(input, normalized_shape, weight=weight, bias=bias))
    mean = input.mean(dims, True)
    deviation = input - mean
    rstd = ((deviation * deviation).mean(dims, True) + eps).rsqrt()
    result = deviation * rstd
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias, mean, rstd


@native_layer_norm.derivative("input", "weight", "bias")
def native_layer_norm_derivative(grad, input, normalized_shape, weight, eps, result1, result2, output_mask):
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    mean, rstd = result1, result2
    if is_grad_enabled():  # the saved ones are not differentiable
        mean = input.to(mean.dtype).mean(dims, True)
        rstd = ((input - mean) * (input - mean)).mean(dims, True).add(eps).rsqrt()
    standardized = (input - mean) * rstd
    scaled = grad if weight is None else grad * weight
    of_grad = None
    if output_mask[0]:
        along = standardized * (scaled * standardized).mean(dims, True)
        of_grad = rstd * (scaled - scaled.mean(dims, True) - along)
    return of_grad, grad * standardized if output_mask[1] else None, grad


lib = Library("opdsl")


@lib.op(variants="function")
def layer_norm_input_gradient(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, dims: int
) -> Tensor:
    """Return the gradient of ``layer_norm`` with respect to its input.

    mean, rstd: results of ``native_layer_norm``, with size 1 in the last ``dims`` dimensions.
    """
    ...


@layer_norm_input_gradient.meta
def layer_norm_input_gradient_meta(ctx, input, dims):
    ctx.set_output(0, input.shape, like=input)
    return range(input.ndim - dims, input.ndim)


def layer_norm_input_gradient_row(grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any = 1.0) -> Any:
    normalized = (input - mean) * rstd
    scaled = grad_out * weight
    return (scaled - row_mean(scaled) - normalized * row_mean(scaled * normalized)) * rstd


layer_norm_input_gradient_rows = primitives.rows(layer_norm_input_gradient_row, promote="floating")


@layer_norm_input_gradient.formula
def gradient_of_input(grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None) -> Tensor:
    return layer_norm_input_gradient_rows(grad_out, input, mean, rstd, weight)


@op("aten::native_layer_norm_backward", kernel=True, tags="core")
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[SymInt],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``native_layer_norm`` with respect to input, weight and bias that ``output_mask``
    selects.
    """
    asked: Any = output_mask
    dims = normalized_dims(input, tuple(normalized_shape), weight=weight, bias=bias)
    check(grad_out.shape == input.shape, f"expected a gradient of shape {list(input.shape)}", got=grad_out.shape)
    rows = list(range(dims.start))
    wide = precision_of(input.dtype)
    grads: list[Any] = [None, None, None]  # None for gradients that are not wanted
    if asked[0]:
        grads[0] = layer_norm_input_gradient(grad_out, input, mean, rstd, weight, len(dims))
    if asked[1]:
        normalized = (input.to(wide) - mean.to(wide)) * rstd.to(wide)
        kept = input.dtype if weight is None else weight.dtype
        grads[1] = sum_of_rows(normalized * grad_out.to(wide), rows).to(kept)
    if asked[2]:
        grads[2] = sum_of_rows(grad_out.to(wide), rows).to(input.dtype if bias is None else bias.dtype)
    return grads[0], grads[1], grads[2]


@native_layer_norm_backward.derivative("grad_out", "input", "weight", "bias")
def native_layer_norm_backward_derivative(grads, grad_out, input, normalized_shape, mean, rstd, weight):
    dims = list(range(input.ndim - len(normalized_shape), input.ndim))
    if is_grad_enabled():  # the saved ones are not differentiable
        mean = input.mean(dims, True)
        variance = ((input - mean) * (input - mean)).mean(dims, True)
        rstd = (variance + ((rstd * rstd).reciprocal() - variance).detach()).rsqrt()
    of_grad, of_input, of_weight = second_gradients(grads, grad_out, input, weight, mean, rstd, dims)
    return of_grad, of_input, of_weight, None


def second_gradients(
    grads: tuple[Tensor | None, ...],
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    rstd: Tensor,
    dims: list[int],
    *,
    training: bool = True,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the gradients of a normalization's backward with respect to the incoming gradient, the input and the
    weight.

    All of them have the input's shape.

    Args:
        grads: the gradients of the gradients of input, weight and bias; None for undefined ones.
        grad_out, input: the incoming gradient and the input of the backward.
        weight, mean, rstd: tensors whose shapes broadcast to the input's.
        dims: the dimensions that are normalized together.
        training: whether mean and deviation are functions of the input.
    """
    of_input, of_weight, of_bias = (zeros_like(input) if grad is None else grad for grad in grads)
    normalized = (input - mean) * rstd
    scaled = grad_out if weight is None else grad_out * weight

    def back(gradient: Tensor) -> Tensor:
        if not training:
            return rstd * gradient
        return rstd * (gradient - gradient.mean(dims, True) - normalized * (gradient * normalized).mean(dims, True))

    through = back(of_input)
    result = grad_out * of_weight
    if training:
        crossed = of_input * (scaled * normalized).mean(dims, True) + scaled * (of_input * normalized).mean(dims, True)
        result = back(result - rstd * crossed) - rstd * normalized * (of_input * back(scaled)).mean(dims, True)
    else:
        result = back(result)
    of_scale = None if weight is None else grad_out * through
    through = through if weight is None else through * weight
    return through + of_weight * normalized + of_bias, result, of_scale


def sum_of_rows(tensor: Tensor, dims: list[int]) -> Tensor:
    """Return the sum over dimensions, or the tensor itself if there are no dimensions to sum over."""
    return tensor.sum(dims) if dims else tensor


@op("aten::layer_norm")
@forward(native_layer_norm, unused=("cudnn_enable",), result=0)
def layer_norm(
    input: Tensor,
    normalized_shape: list[SymInt],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalize the last dimensions to mean 0 and variance 1, multiply them by ``weight`` and add ``bias``."""


# ------------------------------------------------------------------------------------------------------------ rms_norm


@op("aten::_fused_rms_norm")
def _fused_rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """Divide the last dimensions by their root mean square, times ``weight``; return also 1 / the root mean square."""
    dims = normalized_dims(input, tuple(normalized_shape), weight=weight)
    if input.dtype.category < Category.FLOAT:
        raise UnsupportedDTypeError(f"\"rms_norm\" not implemented for '{input.dtype.scalar_type}'.")
    wide = input.to(precision_of(input.dtype))
    least = float(numpy.finfo(wide.dtype.name).eps) if eps is None else eps
    inverse = ((wide * wide).mean(list(dims), True) + least).rsqrt()
    scaled = wide * inverse
    if weight is not None:
        scaled = scaled * weight
    return scaled.to(input.dtype).contiguous(), inverse


@op("aten::_fused_rms_norm_backward")
def _fused_rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Annotated[BoolList, Size(2)],
) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``_fused_rms_norm`` with respect to input and weight that ``output_mask`` selects."""
    dims = list(normalized_dims(input, tuple(normalized_shape), weight=weight))
    check(grad_out.shape == input.shape, f"expected a gradient of shape {list(input.shape)}", got=grad_out.shape)
    asked: Any = output_mask
    wide = precision_of(input.dtype)
    gradient, scaled = grad_out.to(wide), input.to(wide) * rstd.to(wide)
    through = gradient if weight is None else gradient * weight
    of_input: Any = None
    if asked[0]:
        of_input = ((through - scaled * (through * scaled).mean(dims, True)) * rstd).to(input.dtype)
    kept = input.dtype if weight is None else weight.dtype
    of_weight: Any = sum_of_rows(gradient * scaled, list(range(dims[0]))).to(kept) if asked[1] else None
    return of_input, of_weight


@op("aten::rms_norm")
@forward(_fused_rms_norm, result=0)
def rms_norm(
    input: Tensor, normalized_shape: list[SymInt], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last dimensions by their root mean square, and multiply them by ``weight``."""
