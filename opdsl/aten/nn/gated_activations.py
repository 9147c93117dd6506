"""Activation functions of several operands: gated linear units, and those with a learned or random slope."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.checks import real, require_floating
from opdsl.aten.create.like_factories import empty_like, ones_like, zeros_like
from opdsl.aten.nn.activation_gradients import leaky_relu_backward
from opdsl.aten.nn.activations import leaky_relu
from opdsl.aten.pointwise.arithmetic import mul
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, formula, forward, op
from opdsl.kernels import check, write_out
from opdsl.runtime import Generator, Tensor, wrap_dimension
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar

# ----------------------------------------------------------------------------------------------------------------- glu


def halves(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the two halves of a dimension: the values, and the arguments of the gates.

    Raises:
        ShapeError: the tensor has no dimension, or the dimension's size is odd.
    """
    check(self.ndim > 0, "glu does not support 0-dimensional tensors")
    at = wrap_dimension(dim, self.ndim)
    size = self.shape[at]
    check(size % 2 == 0, f"Halving dimension must be even, but dimension {at} is size {size}")
    return self.narrow(at, 0, size // 2), self.narrow(at, size // 2, size // 2)


@op("aten::glu", python_module="nn", structured_inherits="TensorIteratorBase", out=True)
def glu(self: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of a dimension times the sigmoid of the second half (gated linear unit, Dauphin et al.,
    2017).
    """
    ...


@glu.meta
def glu_meta(ctx, self, dim):
    first, _ = halves(self, dim)
    require_floating("glu_cpu", self)
    ctx.set_output(0, first.shape, like=self)


@glu.out_kernel
def glu_out_kernel(self, dim, out):
    first, second = halves(self, dim)
    mul.variants["out"](first, second.sigmoid(), out=out)


@op("aten::glu_backward", kernel=True, python_module="nn", out=Out("glu_backward.grad_input", args=("grad_input",)))
def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return the gradient of ``glu`` with respect to its input."""
    first, second = halves(self, dim)
    require_floating("glu_backward_cpu", self)
    gate = second.sigmoid()
    return cat([grad_output * gate, grad_output * first * gate * (1 - gate)], wrap_dimension(dim, self.ndim))


@glu_backward.derivative("grad_output")
def glu_backward_grad_derivative(grad, self, dim):
    """Return the gradient of ``glu_backward`` with respect to ``grad_output``, in which it is linear."""
    (first, second), (to_first, to_second) = halves(self, dim), halves(grad, dim)
    gate = second.sigmoid()
    return to_first * gate + to_second * first * gate * (1 - gate)


@glu_backward.derivative("self")
def glu_backward_derivative(grad, grad_output, self, dim):
    (first, second), (to_first, to_second) = halves(self, dim), halves(grad, dim)
    gate = second.sigmoid()
    slope = gate * (1 - gate)
    back_first = grad_output * to_second * slope
    back_second = grad_output * slope * (to_first + to_second * first * (1 - 2 * gate))
    return cat([back_first, back_second], wrap_dimension(dim, self.ndim))


glu.derivative(self=glu_backward)


@op("aten::glu_jvp", kernel=True, python_module="nn")
def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    """Return the directional derivative of ``glu`` at ``x`` in the direction ``dx``."""
    (_, second), (change, change_of_second) = halves(x, dim), halves(dx, dim)
    gate = second.sigmoid()
    return gate * change + change_of_second * (glu - gate * glu)


@op("aten::glu_backward_jvp", kernel=True, python_module="nn")
def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    """Return the directional derivative of ``glu_backward`` in the directions ``dgrad_glu`` and ``dx``."""
    (first, second), (change, change_of_second) = halves(x, dim), halves(dx, dim)
    gate = second.sigmoid()
    slope = gate * (1 - gate)
    to_first = dgrad_glu * gate + grad_glu * slope * change_of_second
    curved = grad_glu * first * slope * (1 - 2 * gate) * change_of_second
    to_second = dgrad_glu * first * slope + grad_glu * change * slope + curved
    return cat([to_first, to_second], wrap_dimension(dim, x.ndim))


# --------------------------------------------------------------------------------------------------------------- prelu


@op("aten::prelu", variants="function, method")
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """``self``, multiplied where negative by a learned weight, one for all or one per channel (He et al., 2015)."""
    check(
        self.dtype is weight.dtype,
        f"prelu: Type promoting not supported. Got {self.dtype.scalar_type} and {weight.dtype.scalar_type}",
    )
    if weight.numel() != 1:
        check(self.ndim > 0, "Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.ndim > 1 else 1
        check(
            channels == weight.numel(),
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
            f"channel size = {channels}.",
        )
    check(weight.ndim <= 1, f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.ndim != self.ndim:
        weight = weight.reshape([weight.numel() if at == 1 else 1 for at in range(self.ndim)])
    return _prelu_kernel(self, weight)


@op("aten::_prelu_kernel", tags=())
@formula(dtypes="floating")
def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    """``self``, multiplied by ``weight`` where it is not positive."""
    return self if self > 0 else weight * self


@op("aten::_prelu_kernel_backward", tags=())
@formula(dtypes="floating")
def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``_prelu_kernel`` before they are summed over broadcast dimensions."""
    positive = self > 0
    return grad_output if positive else weight * grad_output, where(positive, 0.0, self * grad_output)


_prelu_kernel.derivative("self", "weight")(_prelu_kernel_backward)


# --------------------------------------------------------------------------------------------------------------- rrelu

RRELU: dict[str, Any] = {"tags": "nondeterministic_seeded", "python_module": "nn"}


def mean_slope(lower: Any, upper: Any) -> float:
    """Return the slope that is used in evaluation, the mean of both bounds."""
    return (real(lower) + real(upper)) / 2


def leaking(self: Tensor, noise: Tensor, lower: Any, upper: Any, training: bool, generator: Any) -> Tensor:
    """Multiply the elements of ``self`` that are not positive by slopes; in training these are random, and written to
    ``noise``.

    Raises:
        ShapeError, UnsupportedDTypeError: the arguments do not fit.
    """
    check(real(lower) <= real(upper), "Lower bound should be less than or equal to the upper bound")
    check(
        self.shape == noise.shape,
        f"noise tensor shape must match self tensor shape. Got self.shape = {list(self.shape)} noise.shape = "
        f"{list(noise.shape)}",
    )
    require_floating("rrelu_with_noise_out_cpu", self)
    if not training:
        return leaky_relu(self, mean_slope(lower, upper))
    slopes = empty_like(self).uniform_(real(lower), real(upper), generator=generator)
    return self * noise.copy_(where(self <= 0, slopes, ones_like(self)))


@op("aten::rrelu_with_noise", kernel=True, **RRELU)
def rrelu_with_noise(
    self: Tensor,
    noise: Tensor[Alias("b", write=True)],
    lower: Scalar = 0.125,
    upper: Scalar = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """``self``, multiplied where negative by random slopes, which are written to ``noise`` (Xu et al., 2015)."""
    return leaking(self, noise, lower, upper, training, generator)


@op("aten::rrelu_with_noise.out", kernel=True, **RRELU)
def rrelu_with_noise_out(
    self: Tensor,
    noise: Tensor[Alias("b", write=True)],
    lower: Scalar = 0.125,
    upper: Scalar = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
    *,
    out: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``rrelu_with_noise`` into ``out``."""
    slopes = noise.clone()
    result = leaking(self, slopes, lower, upper, training, generator)
    written = write_out("aten::rrelu_with_noise.out", out, result)
    noise.copy_(slopes)  # not reached if ``out`` does not fit
    return written


@op("aten::rrelu_with_noise_", kernel=True, **RRELU)
def rrelu_with_noise_(
    self: Tensor[Alias("a", write=True)],
    noise: Tensor[Alias("b", write=True)],
    lower: Scalar = 0.125,
    upper: Scalar = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor[Alias("a", write=True)]:
    """``rrelu_with_noise`` in place."""
    return self.copy_(leaking(self, noise, lower, upper, training, generator))


@op("aten::rrelu_with_noise_backward", kernel="CompositeExplicitAutograd", python_module="nn")
def rrelu_with_noise_backward(
    grad_output: Tensor, self: Tensor, noise: Tensor, lower: Scalar, upper: Scalar, training: bool, self_is_result: bool
) -> Tensor:
    """Return the gradient of ``rrelu_with_noise`` with respect to its input."""
    if training and real(upper) - real(lower) > 1e-6:
        return grad_output * noise
    return leaky_relu_backward(grad_output, self, mean_slope(lower, upper), self_is_result)


rrelu_with_noise.derivative(self=forward(rrelu_with_noise_backward, self_is_result=False))

for _rrelu in (rrelu_with_noise, rrelu_with_noise_):
    _rrelu.non_differentiable("noise")
rrelu_with_noise_.derivative(self=forward(rrelu_with_noise_backward, "grad", "result", self_is_result=True))
rrelu_with_noise_backward.derivative(
    grad_output=forward(rrelu_with_noise_backward, self_is_result=False), self=lambda grad: zeros_like(grad)
)


@op("aten::rrelu", tags=("pointwise", "nondeterministic_seeded"))
@forward(rrelu_with_noise, noise=lambda self: empty_like(self))
def rrelu(
    self: Tensor,
    lower: Scalar = 0.125,
    upper: Scalar = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """``self``, multiplied where negative by a slope: in training a random one per element, else the mean of both
    bounds.
    """


@op("aten::rrelu_", tags="nondeterministic_seeded")
@forward(rrelu_with_noise_, noise=lambda self: empty_like(self))
def rrelu_(
    self: Tensor[Alias("a", write=True)],
    lower: Scalar = 0.125,
    upper: Scalar = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor[Alias("a", write=True)]:
    """``rrelu`` in place."""
