"""Products of matrices: ``mm``, ``bmm``, ``matmul``."""

from __future__ import annotations

import math

from opdsl.declare import op, traceable
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check, multiply
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import DType, Tensor, bool_, int8, int32


def check_same_dtype(first: Tensor, second: Tensor) -> None:
    """Check that two factors have the same dtype, and that it is not bool.

    Raises:
        ShapeError: the dtypes differ.
        UnsupportedDTypeError: they are bool.
    """
    check(
        first.dtype is second.dtype,
        f"expected m1 and m2 to have the same dtype, but got: {first.dtype.schema_name} != {second.dtype.schema_name}",
    )
    if first.dtype is bool_:
        raise UnsupportedDTypeError(
            "matrix products are not implemented for bool. Convert to a number type first: x.to(float32)."
        )


def is_turned(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether a matrix is stored column by column, in which case its gradient is computed in that order, too."""
    return strides[0] == 1 and strides[1] == shape[0]


@op("aten::mm", variants="function, method", tags="core", out=True)
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices."""
    ...


@mm.meta
def mm_meta(ctx, self, mat2):
    check(self.ndim == 2, "self must be a matrix", got=self.shape)
    check(mat2.ndim == 2, "mat2 must be a matrix", got=mat2.shape)
    (rows, inner), (inner2, columns) = self.shape, mat2.shape
    check(inner == inner2, f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {inner2}x{columns})")
    check_same_dtype(self, mat2)
    ctx.set_output(0, (rows, columns), like=self)


mm.out_kernel(lambda self, mat2, out: multiply(self, mat2, out))
mm.sharding("ik,kj->ij")


@mm.derivative("self")
def mm_derivative(grad, self, mat2):
    if is_turned(self.shape, self.strides):
        return mat2.conj().mm(grad.t()).t() if grad.is_complex() else mat2.mm(grad.t()).t()
    return grad.mm(mat2.t().conj()) if grad.is_complex() else grad.mm(mat2.t())


@mm.derivative("mat2")
def mm_mat2_derivative(grad, self, mat2):
    if is_turned(mat2.shape, mat2.strides):
        return grad.t().mm(self.conj()).t() if grad.is_complex() else grad.t().mm(self).t()
    return self.t().conj().mm(grad) if grad.is_complex() else self.t().mm(grad)


@op("aten::bmm", variants="function, method", tags="core", out=True)
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the matrix product of each pair of matrices in two batches."""
    ...


@bmm.meta
def bmm_meta(ctx, self, mat2):
    check(self.ndim == 3, "batch1 must be a 3D tensor", got=self.shape)
    check(mat2.ndim == 3, "batch2 must be a 3D tensor", got=mat2.shape)
    (batch, rows, inner), (batch2, inner2, columns) = self.shape, mat2.shape
    check(
        (batch, inner) == (batch2, inner2),
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] "
        f"but got: [{batch2}, {inner2}].",
    )
    check_same_dtype(self, mat2)
    ctx.set_output(0, (batch, rows, columns), like=self)


bmm.out_kernel(lambda self, mat2, out: multiply(self, mat2, out))
bmm.sharding("bik,bkj->bij")


@bmm.derivative("self")
def bmm_derivative(grad, mat2):
    turned = mat2.transpose(1, 2)
    return grad.bmm(turned.conj() if grad.is_complex() else turned)


@bmm.derivative("mat2")
def bmm_mat2_derivative(grad, self):
    turned = self.transpose(1, 2)
    return (turned.conj() if grad.is_complex() else turned).bmm(grad)


@op("aten::matmul", variants="function, method", out=True)
@traceable
def matmul(self: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product, with the rules of ``numpy.matmul`` for vectors and broadcast batch dimensions."""
    check(
        self.ndim > 0 and other.ndim > 0, "both arguments to matmul need to be at least 1D", got=(self.ndim, other.ndim)
    )
    first = self.unsqueeze(0) if self.ndim == 1 else self
    second = other.unsqueeze(-1) if other.ndim == 1 else other
    product = _matrix_product(first, second)
    if self.ndim == 1:
        product = product.squeeze(-2)
    return product.squeeze(-1) if other.ndim == 1 else product


def _matrix_product(first: Tensor, second: Tensor) -> Tensor:
    """Return the matrix product of tensors of at least two dimensions; a batch times a single matrix is one ``mm``."""
    if second.ndim == 2:
        if first.ndim == 2:
            return first.mm(second)
        rows = first.reshape((math.prod(first.shape[:-1]), first.shape[-1]))
        return rows.mm(second).view((*first.shape[:-1], second.shape[-1]))
    batch = broadcast(first.shape[:-2], second.shape[:-2])
    count = math.prod(batch)
    flat = [
        factor.expand((*batch, *factor.shape[-2:])).reshape((count, *factor.shape[-2:])) for factor in (first, second)
    ]
    return flat[0].bmm(flat[1]).view((*batch, first.shape[-2], second.shape[-1]))


# ----------------------------------------------------------------------------------------------------- in another dtype


@op("aten::mm.dtype", out=True)
def mm_dtype(self: Tensor, mat2: Tensor, out_dtype: DType) -> Tensor:
    """Return ``mm`` of the factors converted to ``out_dtype``."""
    return mm(self.to(out_dtype), mat2.to(out_dtype))


@op("aten::bmm.dtype", out=True)
def bmm_dtype(self: Tensor, mat2: Tensor, out_dtype: DType) -> Tensor:
    """Return ``bmm`` of the factors converted to ``out_dtype``."""
    return bmm(self.to(out_dtype), mat2.to(out_dtype))


@op("aten::_int_mm", out=True)
def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two int8 matrices as int32."""
    check(self.dtype is int8 and mat2.dtype is int8, "expected matrices of int8")
    return mm(self.to(int32), mat2.to(int32))
