"""Adaptive pooling: means and maxima of windows whose sizes follow from the wanted output size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.nn.average_pooling import means, set_means, take_means
from opdsl.aten.nn.max_pooling import give_back, set_largest, take_largest
from opdsl.aten.nn.pooling import Shape, Windows, check_gradient, dividing, over_signals, strides_like
from opdsl.aten.nn.sliding import as_sizes
from opdsl.declare import Out, forward, op
from opdsl.kernels import check
from opdsl.runtime import MemoryFormat, Tensor, contiguous_strides
from opdsl.schema import Alias
from opdsl.schema.vocabulary import IntList, Ints, Size, SymIntList

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator


def windows_into(operator: str, self: Tensor, output_size: Sequence[int], dims: int, *, every: bool) -> Windows:
    """Return the windows with which adaptive pooling gives an output of ``output_size``.

    Args:
        operator: the operator's name, for error messages.
        self: the tensor that is pooled.
        output_size: the number of windows along each dimension.
        dims: the number of pooled dimensions.
        every: whether all dimensions but the first must be nonempty, instead of the pooled ones only.

    Raises:
        ShapeError: ``output_size`` is invalid, or the tensor has a wrong number of dimensions or an empty one.
    """
    check(
        self.ndim in (dims + 1, dims + 2),
        f"{operator}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(self.shape)}",
    )
    check(len(output_size) == dims, f"{operator}: internal error: output_size.size() must be {dims}")
    required = range(1 if every else self.ndim - dims, self.ndim)
    check(
        all(self.shape[dim] > 0 for dim in required),
        f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
        f"{list(self.shape)}",
    )
    check(
        min(output_size) >= 0, f"elements of output_size must be greater than or equal to 0 but received {output_size}"
    )
    return dividing(self.shape[-dims:], tuple(output_size))


def format_of(self: Tensor, shape: Shape, dims: int) -> tuple[int, ...] | None:
    """Return the strides of a result: those of the input's memory format for images, None (contiguous) otherwise."""
    return strides_like(self, shape, dims) if dims == 2 else None


# ------------------------------------------------------------------------------------------------------------ the mean


def check_mean_gradient(operator: str, grad_output: Tensor, self: Tensor, dims: int) -> Windows:
    """Check that a gradient fits adaptive average pooling of a tensor, and return the pooling's windows.

    Raises:
        ShapeError, DTypeError: the gradient does not fit the tensor.
    """
    check(grad_output.ndim == self.ndim, f"{operator}: Expected dimensions {self.ndim}, but got {grad_output.ndim}")
    windows = windows_into(operator, self, grad_output.shape[-dims:], dims, every=True)
    check(
        0 not in grad_output.shape[1:],
        f"{operator}(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes "
        f"{list(grad_output.shape)} with an empty dimension",
    )
    check_gradient(operator, grad_output, self, (*self.shape[:-dims], *windows.counts))
    require_floating(operator, self)
    return windows


def declare_mean(dims: int, *, backward_tags: tuple[str, ...]) -> tuple[Operator[..., Tensor], Operator[..., Tensor]]:
    """Declare the operator of adaptive average pooling and the operator of its gradient; return both.

    Args:
        dims: the number of pooled dimensions.
        backward_tags: the tags of the gradient operator.
    """
    base_name = f"adaptive_avg_pool{dims}d"
    errors = base_name if dims == 2 else f"{base_name}_cpu"

    @op(f"aten::_{base_name}", tags="core", out=True)
    def pool(self: Tensor, output_size: Annotated[SymIntList, Size(dims)]) -> Tensor:
        """Return the means of the windows that ``output_size`` divides each image or volume into."""
        ...

    into = Out(python_module=None)

    @op(f"aten::_{base_name}_backward", python_module="nn", tags=backward_tags, out=into)
    def pool_backward(grad_output: Tensor, self: Tensor) -> Tensor:
        """Return the gradient of the input, where each window's gradient is divided equally among the window's
        elements.
        """
        ...

    @pool.meta
    def pool_meta(ctx, self, output_size):
        windows = windows_into(base_name, self, output_size, dims, every=dims == 3)
        require_floating(errors, self)
        return set_means(ctx, self, windows, format_of(self, (*self.shape[:-dims], *windows.counts), dims))

    pool.sharding(rows=dims)
    take_means(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self):
        windows = check_mean_gradient(f"{base_name}_backward", grad_output, self, dims)
        ctx.set_output(0, self.shape, format_of(self, self.shape, dims), like=self)
        return means(self, windows)

    pool_backward.sharding(rows=dims)
    pool_backward.adjoint(pool, "self", output_size=lambda grad_output: grad_output.shape[-dims:])
    return pool, pool_backward


_adaptive_avg_pool2d, _ = declare_mean(2, backward_tags=("core",))
_adaptive_avg_pool3d, _adaptive_avg_pool3d_backward = declare_mean(3, backward_tags=())


def mean_into(dims: int, pool: Callable[..., Tensor], self: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Compute adaptive average pooling with ``pool``, or, for an output size of 1, as a mean over the dimensions.

    Such a mean has the strides of the input's memory format.

    Raises:
        ShapeError: ``output_size`` has a wrong length or a negative element.
    """
    base_name = f"adaptive_avg_pool{dims}d"
    output_size = as_sizes(output_size)
    check(len(output_size) == dims, f"{base_name}: output_size must be {dims}")
    check(
        min(output_size) >= 0,
        f"{base_name}: elements of output_size must be greater than or equal to 0 but received {list(output_size)}",
    )
    if any(size != 1 for size in output_size) or self.ndim < dims:
        return pool(self, output_size)
    mean = self.mean(tuple(range(-dims, 0)), True)
    if self.geometry.suggested_memory_format() is MemoryFormat.contiguous_format:
        return mean
    batch, channels = self.shape[:2]
    return mean.as_strided((batch, channels, *(1,) * dims), (channels, 1, *(channels,) * dims))


@op("aten::adaptive_avg_pool2d", python_module="nn")
def adaptive_avg_pool2d(self: Tensor, output_size: Annotated[SymIntList, Size(2)]) -> Tensor:
    """Return the means of the windows that ``output_size`` divides each image into.

    Args:
        self: (channels, height, width), with or without a batch dimension in front.
        output_size: the number of windows along each dimension; windows overlap where it does not divide the size.

    >>> import opdsl
    >>> opdsl.nn.adaptive_avg_pool2d(opdsl.tensor([[[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]]]), (1, 2))
    tensor([[[2.5000, 5.0000]]])
    """
    return mean_into(2, _adaptive_avg_pool2d, self, output_size)


@op("aten::adaptive_avg_pool3d", python_module="nn")
def adaptive_avg_pool3d(self: Tensor, output_size: Annotated[SymIntList, Size(3)]) -> Tensor:
    """Return the means of the windows that ``output_size`` divides each volume into; see ``adaptive_avg_pool2d``."""
    return mean_into(3, _adaptive_avg_pool3d, self, output_size)


@op("aten::adaptive_avg_pool1d", tags="core")
def adaptive_avg_pool1d(self: Tensor, output_size: Ints[1]) -> Tensor:
    """Return the means of the windows that ``output_size`` divides each signal into; see ``adaptive_avg_pool2d``."""
    pooled: Tensor = over_signals("adaptive_avg_pool1d", adaptive_avg_pool2d, self, output_size=output_size)
    return pooled.squeeze(-2)


# The out variants always run the kernel: a given tensor keeps its own memory format.
@op("aten::adaptive_avg_pool2d.out", kernel=True, python_module="nn")
@forward(_adaptive_avg_pool2d)
def adaptive_avg_pool2d_out(
    self: Tensor, output_size: Annotated[SymIntList, Size(2)], *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``adaptive_avg_pool2d`` into ``out``."""


@op("aten::adaptive_avg_pool3d.out", kernel=True, python_module="nn")
@forward(_adaptive_avg_pool3d)
def adaptive_avg_pool3d_out(
    self: Tensor, output_size: Annotated[SymIntList, Size(3)], *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``adaptive_avg_pool3d`` into ``out``."""


@op("aten::adaptive_avg_pool3d_backward.grad_input", python_module="nn")
@forward(_adaptive_avg_pool3d_backward)
def adaptive_avg_pool3d_backward(
    grad_output: Tensor, self: Tensor, *, grad_input: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Write the gradient of the input of ``adaptive_avg_pool3d`` into ``grad_input``."""


# ------------------------------------------------------------------------------------------------- the largest element


def declare_largest(dims: int) -> Operator[..., tuple[Tensor, Tensor]]:
    """Declare the operator of adaptive max pooling with indices and the operator of its gradient; return the first.

    Args:
        dims: the number of pooled dimensions.
    """
    base_name = f"adaptive_max_pool{dims}d"
    errors = base_name if dims == 2 else f"{base_name}_cpu"

    @op(f"aten::{base_name}", python_module="nn", out=Out(args=("out", "indices")))
    def pool(self: Tensor, output_size: Annotated[IntList, Size(dims)]) -> tuple[Tensor, Tensor]:
        """Return the largest element of each window that ``output_size`` divides the input into, and its flat index in
        the pooled dimensions.
        """
        ...

    @op(f"aten::{base_name}_backward", python_module="nn", out=GRAD_INPUT)
    def pool_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        """Return the gradient of the input, where each window's gradient goes to the window's largest element."""
        ...

    @pool.meta
    def pool_meta(ctx, self, output_size):
        windows = windows_into(base_name, self, output_size, dims, every=True)
        require_floating(errors, self)
        return set_largest(ctx, self, windows, format_of(self, (*self.shape[:-dims], *windows.counts), dims))

    pool.sharding(rows=dims)
    take_largest(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self, indices):
        check(
            0 not in grad_output.shape[1:],
            f"{base_name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but got "
            f"{list(grad_output.shape)}",
        )
        windows = windows_into(f"{base_name}_backward", self, grad_output.shape[-dims:], dims, every=True)
        check_gradient(f"{base_name}_backward", grad_output, self, (*self.shape[:-dims], *windows.counts), indices)
        require_floating(f"{base_name}_backward", self)
        strides = format_of(self, self.shape, dims) or contiguous_strides(self.shape)
        ctx.set_output(0, self.shape, strides, like=self)

    give_back(pool, pool_backward, dims)
    return pool


adaptive_max_pool2d = declare_largest(2)
adaptive_max_pool3d = declare_largest(3)


@op("aten::adaptive_max_pool1d")
def adaptive_max_pool1d(self: Tensor, output_size: Ints[1]) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window that ``output_size`` divides each signal into, and its index in the
    signal.
    """
    values, indices = over_signals("adaptive_max_pool1d", adaptive_max_pool2d, self, output_size=output_size)
    return values.squeeze(-2), indices.squeeze(-2)
