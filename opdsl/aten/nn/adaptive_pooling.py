"""Pools whose windows divide a tensor into as many parts as are asked for."""

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
    """The windows that give an output of a size.

    every: whether channels may not be empty, as only a batch may be.

    Raises:
        ShapeError: it is no size, or the tensor has not the dimensions.
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
    """The strides of a result: images keep their memory format."""
    return strides_like(self, shape, dims) if dims == 2 else None


# ------------------------------------------------------------------------------------------------------------ the mean


def check_mean_gradient(operator: str, grad_output: Tensor, self: Tensor, dims: int) -> Windows:
    """The windows of the mean that a gradient belongs to.

    Raises:
        ShapeError, DTypeError: it does not fit the tensor.
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
    """Declare the operator of means, and that of its gradient.

    Args:
        dims: how many dimensions are divided.
        backward_tags: of the gradient's entry.
    """
    name = f"adaptive_avg_pool{dims}d"
    errors = name if dims == 2 else f"{name}_cpu"

    @op(f"aten::_{name}", tags="core", structured=False, out=True)
    def pool(self: Tensor, output_size: Annotated[SymIntList, Size(dims)]) -> Tensor:
        """The means of as many windows as ``output_size`` says."""
        ...

    into = Out(python_module=None)

    @op(f"aten::_{name}_backward", python_module="nn", structured=False, tags=backward_tags, out=into)
    def pool_backward(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
        ...

    @pool.meta
    def pool_meta(ctx, self, output_size):
        windows = windows_into(name, self, output_size, dims, every=dims == 3)
        require_floating(errors, self)
        return set_means(ctx, self, windows, format_of(self, (*self.shape[:-dims], *windows.counts), dims))

    pool.sharding(rows=dims)
    take_means(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self):
        windows = check_mean_gradient(f"{name}_backward", grad_output, self, dims)
        ctx.set_output(0, self.shape, format_of(self, self.shape, dims), like=self)
        return means(self, windows)

    pool_backward.sharding(rows=dims)
    pool_backward.adjoint(pool, "self", output_size=lambda grad_output: grad_output.shape[-dims:])
    return pool, pool_backward


_adaptive_avg_pool2d, _ = declare_mean(2, backward_tags=("core",))
_adaptive_avg_pool3d, _adaptive_avg_pool3d_backward = declare_mean(3, backward_tags=())


def mean_into(dims: int, pool: Callable[..., Tensor], self: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The means; the one mean of all elements is in a memory format of its own.

    Raises:
        ShapeError: ``output_size`` is no size.
    """
    name = f"adaptive_avg_pool{dims}d"
    output_size = as_sizes(output_size)
    check(len(output_size) == dims, f"{name}: output_size must be {dims}")
    check(
        min(output_size) >= 0,
        f"{name}: elements of output_size must be greater than or equal to 0 but received {list(output_size)}",
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
    """The means of as many windows of images as are asked for.

    Args:
        self: (channels, height, width), with or without a batch before them.
        output_size: how many windows there are along each dimension; they overlap where it does not divide it.

    >>> import opdsl
    >>> opdsl.nn.adaptive_avg_pool2d(opdsl.tensor([[[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]]]), (1, 2))
    tensor([[[2.5000, 5.0000]]])
    """
    return mean_into(2, _adaptive_avg_pool2d, self, output_size)


@op("aten::adaptive_avg_pool3d", python_module="nn")
def adaptive_avg_pool3d(self: Tensor, output_size: Annotated[SymIntList, Size(3)]) -> Tensor:
    """The means of as many windows of volumes as are asked for; see ``adaptive_avg_pool2d``."""
    return mean_into(3, _adaptive_avg_pool3d, self, output_size)


@op("aten::adaptive_avg_pool1d", tags="core", autogen="adaptive_avg_pool1d.out")
def adaptive_avg_pool1d(self: Tensor, output_size: Ints[1]) -> Tensor:
    """The means of as many windows of signals as are asked for; see ``adaptive_avg_pool2d``."""
    tensor: Tensor = over_signals("adaptive_avg_pool1d", adaptive_avg_pool2d, self, output_size=output_size)
    return tensor.squeeze(-2)


# Into given tensors there is no memory format of their own.
@op("aten::adaptive_avg_pool2d.out", kernel=True, python_module="nn")
@forward(_adaptive_avg_pool2d)
def adaptive_avg_pool2d_out(
    self: Tensor, output_size: Annotated[SymIntList, Size(2)], *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """``adaptive_avg_pool2d`` into a given tensor."""


@op("aten::adaptive_avg_pool3d.out", kernel=True, python_module="nn")
@forward(_adaptive_avg_pool3d)
def adaptive_avg_pool3d_out(
    self: Tensor, output_size: Annotated[SymIntList, Size(3)], *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """``adaptive_avg_pool3d`` into a given tensor."""


@op("aten::adaptive_avg_pool3d_backward.grad_input", python_module="nn", dispatch="CPU, CUDA")
@forward(_adaptive_avg_pool3d_backward)
def adaptive_avg_pool3d_backward(
    grad_output: Tensor, self: Tensor, *, grad_input: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """The gradient of ``adaptive_avg_pool3d``, written into a tensor."""


# ------------------------------------------------------------------------------------------------- the largest element


def declare_largest(dims: int) -> Operator[..., tuple[Tensor, Tensor]]:
    """Declare the operator of the largest elements, with their indices, and that of its gradient.

    dims: how many dimensions are divided.
    """
    name = f"adaptive_max_pool{dims}d"
    errors = name if dims == 2 else f"{name}_cpu"

    @op(f"aten::{name}", python_module="nn", out=Out(args=("out", "indices")))
    def pool(self: Tensor, output_size: Annotated[IntList, Size(dims)]) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as are asked for, and their numbers in what is divided."""
        ...

    @op(f"aten::{name}_backward", python_module="nn", out=GRAD_INPUT)
    def pool_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
        ...

    @pool.meta
    def pool_meta(ctx, self, output_size):
        windows = windows_into(name, self, output_size, dims, every=True)
        require_floating(errors, self)
        return set_largest(ctx, self, windows, format_of(self, (*self.shape[:-dims], *windows.counts), dims))

    pool.sharding(rows=dims)
    take_largest(pool, dims)

    @pool_backward.meta
    def pool_backward_meta(ctx, grad_output, self, indices):
        check(
            0 not in grad_output.shape[1:],
            f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but got "
            f"{list(grad_output.shape)}",
        )
        windows = windows_into(f"{name}_backward", self, grad_output.shape[-dims:], dims, every=True)
        check_gradient(f"{name}_backward", grad_output, self, (*self.shape[:-dims], *windows.counts), indices)
        require_floating(f"{name}_backward", self)
        strides = format_of(self, self.shape, dims) or contiguous_strides(self.shape)
        ctx.set_output(0, self.shape, strides, like=self)

    give_back(pool, pool_backward, dims)
    return pool


adaptive_max_pool2d = declare_largest(2)
adaptive_max_pool3d = declare_largest(3)


@op("aten::adaptive_max_pool1d")
def adaptive_max_pool1d(self: Tensor, output_size: Ints[1]) -> tuple[Tensor, Tensor]:
    """The largest elements of as many windows of signals as are asked for, and where they are."""
    values, indices = over_signals("adaptive_max_pool1d", adaptive_max_pool2d, self, output_size=output_size)
    return values.squeeze(-2), indices.squeeze(-2)
