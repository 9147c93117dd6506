"""Convolutions, also transposed ones, computed as matrix products with windows; and their derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any

from opdsl.aten.nn.convolution_problems import check_dtypes, problem_of, widened
from opdsl.aten.nn.sliding import counts_of
from opdsl.aten.nn.window_products import empty_in
from opdsl.declare import forward, op
from opdsl.kernels import check, fill_
from opdsl.kernels.primitives.convolutions import convolves_16_bits
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import BoolList, Size, SymInt
from opdsl.sharding.windows import Window


def convolve(input: Tensor, weight: Tensor, bias: Tensor | None, *values: Any) -> Tensor:
    """Compute the convolution of all convolution operators; ``values`` are the parameters from ``stride`` to
    ``groups``.

    Raises:
        ShapeError, DTypeError: the operands do not fit.
    """
    problem = problem_of(input.geometry, weight.geometry, None if bias is None else bias.geometry, values)
    if input.shape[1] == 0:
        return empty_in(input, (input.shape[0], 0, *counts_of(problem.windows)))
    if not problem.params.transposed and problem.slides is not None and convolves_16_bits(input):
        problem = problem._replace(dtype=input.dtype)
    output = problem.empty(input, problem.shape)
    operands = problem.operands(problem.given_in(input), widened(weight, problem.dtype), output)
    kind = "spread" if problem.params.transposed else "correlate"
    operands.write(kind, None if bias is None else widened(bias, problem.dtype))
    return problem.given_out(output, input.dtype)


@op("aten::convolution", kernel="CompositeExplicitAutograd", tags="core")
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
    """Return the products of a weight with windows that slide over signals, images or volumes, or the transposed
    operation.

    Args:
        input: (batch, channels, ...).
        weight: (outputs, channels / groups, ...), or (channels, outputs / groups, ...) if transposed.
        bias: (outputs,), added to the results.
        stride: the distance between windows.
        padding: the number of zeros around the input, or of elements cut off the result if transposed.
        dilation: the distance between the elements of a window.
        transposed: whether to compute the transposed operation, which is the gradient of a convolution.
        output_padding: the number of elements added at the end of the result if transposed.
        groups: the number of groups of channels and outputs that are convolved separately.
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
    """Return the window along each dimension from the channels on, for sharding; None for a dimension that is read
    whole.
    """
    dims = weight.ndim - 2
    if transposed:
        return [None] * (dims + 1)
    numbers = (
        tuple(weight.shape[2:]),
        *(tuple(option) * (dims if len(option) == 1 else 1) for option in (stride, padding, dilation)),
    )
    return [None, *itertools.starmap(Window, zip(*numbers, strict=True))]


convolution.sharding(windows=slides)


@convolution.derivative("input", "weight", "bias")
def convolution_derivative(
    grad, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    sizes = None if bias is None else bias.shape
    values = (stride, padding, dilation, transposed, output_padding, groups)
    return convolution_backward(grad, input.conj(), weight.conj(), sizes, *values, output_mask)


@op("aten::convolution_backward", kernel="CompositeExplicitAutograd", tags="core")
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
    output_mask: Annotated[BoolList, Size(3)],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``convolution`` with respect to input, weight and bias that ``output_mask`` selects."""
    asked: Any = output_mask
    values = (stride, padding, dilation, transposed, output_padding, groups)
    problem = problem_of(input.geometry, weight.geometry, None, values)
    check_dtypes(grad_output.geometry, input.geometry, weight.geometry, transposed=transposed)
    check(
        grad_output.shape == problem.shape,
        f"Expected grad_output of shape {list(problem.shape)}, but got {list(grad_output.shape)}",
    )
    gradients: list[Any]  # None for gradients that are not wanted
    if input.shape[1] == 0:
        shapes = (input.shape, weight.shape, bias_sizes or ())
        gradients = [fill_(empty_in(input, tuple(shape)), 0) for shape in shapes]
        gradients = [gradient if wanted else None for gradient, wanted in zip(gradients, asked, strict=True)]
        return gradients[0], gradients[1], gradients[2]
    grad = problem.given_in(grad_output)
    operands = problem.operands(problem.given_in(input), widened(weight, problem.dtype), grad)
    gradients = [None, None, None]
    if asked[0]:
        target = problem.empty(input, input.shape)
        wanted = operands._replace(results=target) if transposed else operands._replace(images=target)
        wanted.write("correlate" if transposed else "spread")
        gradients[0] = problem.given_out(target, input.dtype)
    if asked[1]:
        target = empty_in(weight, weight.shape, problem.layout, problem.dtype)
        operands._replace(weight=target).write("weigh")
        gradients[1] = widened(target, weight.dtype)
    if asked[2]:
        gradients[2] = widened(grad.sum((0, *range(2, grad.ndim))), grad_output.dtype)
    return gradients[0], gradients[1], gradients[2]


@convolution_backward.derivative("grad_output", "input", "weight")
def convolution_backward_derivative(
    grads, grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """Return the gradients of ``convolution_backward``; a convolution is linear in its input and in its weight."""
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
    gradients: list[Any] = [sum(terms[1:], start=terms[0]) if terms else None, None, None]
    if output_mask[1] and to_weight is not None:
        gradients[1] = convolution_backward(flipped, input, to_weight, None, *values, (True, False, False))[0]
    if output_mask[2] and to_input is not None:
        gradients[2] = convolution_backward(flipped, to_input, weight, None, *values, (False, True, False))[1]
    return gradients[0], gradients[1], gradients[2]


_LIBRARY = ("benchmark", "deterministic", "cudnn_enabled")


@op("aten::_convolution", kernel="CompositeExplicitAutograd")
@forward(convolution, unused=(*_LIBRARY, "allow_tf32"))
def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[SymInt],
    groups: SymInt,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Tensor:
    """Compute ``convolution``; the last four arguments concern cuDNN and are ignored."""


@op("aten::_convolution.deprecated")
@forward(convolution, unused=_LIBRARY)
def _convolution_deprecated(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[SymInt],
    padding: list[SymInt],
    dilation: list[SymInt],
    transposed: bool,
    output_padding: list[int],
    groups: SymInt,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
) -> Tensor:
    """Compute ``_convolution``, without its last argument."""


_convolution.derivative("input", "weight", "bias")(convolution_derivative)
