"""Fourier transforms along several dimensions between complex and real tensors; all functions of ``opdsl.fft`` call
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.aten.shape.complex_views import real
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, op
from opdsl.errors import DimensionError
from opdsl.kernels import check, copy_, fourier
from opdsl.runtime import Tensor, float32, float64
from opdsl.schema.vocabulary import SymInt

NONE, BY_ROOT, BY_SIZE = range(3)
"""What results are divided by: nothing, the root of the number of points, or that number (``fft_norm_mode``)."""


def by_stride(self: Tensor, dims: Sequence[int]) -> list[int]:
    """Sort dimensions by their strides: the outermost dimension in memory comes first."""
    return sorted(dims, key=lambda dim: -self.strides[dim])


def strides_of(self: Tensor, shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a transform's result in PyTorch (``_exec_fft`` in ATen/native/mkl/SpectralOps.cpp).

    The transformed dimensions are innermost, in the given order. The others keep the memory order of the input.
    """
    others = by_stride(self, [dim for dim in range(self.ndim) if dim not in dims])
    strides = [0] * self.ndim
    step = 1
    for dim in reversed((*others, *dims)):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def require_dims(name: str, self: Tensor, dims: Sequence[int], least: int, normalization: int) -> None:
    """Check that the dimensions to transform exist and are unique, and that the normalization mode is valid.

    Raises:
        DimensionError: a dimension does not exist.
        ShapeError: a dimension is repeated, there are fewer than ``least``, or the normalization mode is not 0, 1 or 2.
    """
    check(0 <= normalization <= 2, f"{name}: normalization is 0, 1 or 2, got {normalization}")
    for dim in dims:
        if not 0 <= dim < self.ndim:
            raise DimensionError(f"{name}: a tensor of {self.ndim} dimensions has no dimension {dim}")
    check(len(set(dims)) == len(dims) >= least, f"{name}: dimensions must be unique, and at least {least}", got=dims)


def resized(shape: Sequence[int], dim: int, size: int) -> tuple[int, ...]:
    """Return a shape with the size of one dimension replaced."""
    return (*shape[:dim], size, *shape[dim + 1 :])


@op("aten::_fft_c2c", out=True)
def _fft_c2c(self: Tensor, dim: list[SymInt], normalization: int, forward: bool) -> Tensor:
    """Return the Fourier transform of a complex tensor along dimensions, or the inverse transform.

    Args:
        self: complex.
        dim: the dimensions, none of them negative.
        normalization: the divisor of the result: 0 for none, 1 for the root of the number of points, 2 for that number.
        forward: whether the exponent is negative; False computes the inverse transform.
    """
    ...


@_fft_c2c.meta
def _fft_c2c_meta(ctx, self, dim, normalization):
    check(self.is_complex(), f"_fft_c2c expects a complex tensor, but got {self.dtype.name}")
    require_dims("_fft_c2c", self, dim, 0, normalization)
    strides = strides_of(self, self.shape, by_stride(self, dim)) if dim else None
    ctx.set_output(0, self.shape, strides, like=self)


@_fft_c2c.out_kernel
def _fft_c2c_kernel(self, dim, normalization, forward, out):
    if not dim or not self.numel():
        copy_(out, self)
    else:
        fourier(self).c2c(self, dim, normalization, forward, out)


_fft_c2c.derivative(self=lambda grad, dim, normalization, forward: _fft_c2c(grad, dim, normalization, not forward))


@op("aten::_fft_r2c", tags="core", out=Out(tags=()))
def _fft_r2c(self: Tensor, dim: list[int], normalization: int, onesided: bool) -> Tensor:
    """Return the Fourier transform of a real tensor along dimensions.

    Args:
        self: float32 or float64.
        dim: the dimensions, none of them negative.
        normalization: the divisor of the result: 0 for none, 1 for the root of the number of points, 2 for that number.
        onesided: whether the last of the dimensions has only the ``n // 2 + 1`` frequencies that determine the others.
    """
    ...


@_fft_r2c.meta
def _fft_r2c_meta(ctx, self, dim, normalization, onesided):
    check(self.dtype in (float32, float64), f"_fft_r2c: Expected a floating point tensor, but got {self.dtype.name}")
    require_dims("_fft_r2c", self, dim, 1, normalization)
    last = dim[-1]
    shape = resized(self.shape, last, self.shape[last] // 2 + 1) if onesided else self.shape
    strides = strides_of(self, shape, [*by_stride(self, dim[:-1]), last])
    ctx.set_output(0, shape, strides, like=self, dtype=self.dtype.to_complex())


@_fft_r2c.out_kernel
def _fft_r2c_kernel(self, dim, normalization, onesided, out):
    if not self.numel():
        return
    if onesided:
        fourier(self).r2c(self, dim, normalization, out)
    else:
        fourier(self).c2c(self, dim, normalization, True, out)


@_fft_r2c.derivative("self")
def _fft_r2c_derivative(grad, self, dim, normalization, onesided):
    """Transform the gradient back; frequencies that ``onesided`` omitted have the gradient 0."""
    last = dim[-1]
    missing = self.shape[last] - grad.shape[last] if onesided else 0
    whole = constant_pad_nd(grad, (*(0, 0) * (grad.ndim - 1 - last), 0, missing)) if missing else grad
    return real(_fft_c2c(whole, dim, normalization, False))


@op("aten::_fft_c2r", tags="core", out=Out(tags=()))
def _fft_c2r(self: Tensor, dim: list[int], normalization: int, last_dim_size: SymInt) -> Tensor:
    """Return the inverse Fourier transform of the frequencies of a real tensor.

    Args:
        self: complex; the last of the dimensions has only the ``n // 2 + 1`` frequencies that determine the others.
        dim: the dimensions, none of them negative.
        normalization: the divisor of the result: 0 for none, 1 for the root of the number of points, 2 for that number.
        last_dim_size: how many points the result has along the last of the dimensions.
    """
    ...


@_fft_c2r.meta
def _fft_c2r_meta(ctx, self, dim, normalization, last_dim_size):
    check(self.is_complex(), f"_fft_c2r expects a complex tensor, but got {self.dtype.name}")
    require_dims("_fft_c2r", self, dim, 1, normalization)
    check(last_dim_size >= 0, f"Invalid number of data points ({last_dim_size}) specified")
    last = dim[-1]
    shape = resized(self.shape, last, last_dim_size)
    # PyTorch transforms the other dimensions first, and then the last one of their result.
    between = self
    if len(dim) > 1:
        between = self.as_strided(self.shape, strides_of(self, self.shape, by_stride(self, dim[:-1])))
    ctx.set_output(0, shape, strides_of(between, shape, [last]), like=self, dtype=self.dtype.to_real())


@_fft_c2r.out_kernel
def _fft_c2r_kernel(self, dim, normalization, out):
    if out.numel():
        fourier(self).c2r(self, dim, normalization, out)


@_fft_c2r.derivative("self")
def _fft_c2r_derivative(grad, dim, normalization):
    """Transform the real gradient; a frequency that also represents its negative counts twice."""
    last = dim[-1]
    c2r_derivative = _fft_r2c(grad, dim, normalization, True)
    twice = grad.shape[last] - c2r_derivative.shape[last]
    if twice <= 0:
        return c2r_derivative
    once = grad.new_ones((c2r_derivative.shape[last] - twice,))
    factors = cat([once[:1], grad.new_ones((twice,)) * 2, once[1:]])
    return c2r_derivative * factors.view((-1, *(1,) * (grad.ndim - 1 - last)))
