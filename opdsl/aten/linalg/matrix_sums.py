"""Matrix products that are added to a tensor: ``beta * self + alpha * (mat1 @ mat2)`` (``addmm``, ``baddbmm``,
``addmv``).
"""

from __future__ import annotations

from opdsl.aten.linalg.matrix_products import is_turned
from opdsl.declare import Inplace, op, traceable
from opdsl.errors import DTypeError, NumberError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, fill_, multiply, resize
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import Category, DType, Tensor, bool_, view_of, views
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar


def check_sum(self: Tensor, first: Tensor, second: Tensor, beta: complex, alpha: complex, message: str) -> None:
    """Check that the summand and the factors have one dtype, and that the numbers fit it.

    Raises:
        DTypeError: the dtypes differ; ``message`` is its text.
        UnsupportedDTypeError: the dtype is bool.
        NumberError: a number is complex and the dtype is not.
    """
    if not self.dtype is first.dtype is second.dtype:
        raise DTypeError(message)
    if self.dtype is bool_:
        raise UnsupportedDTypeError("matrix products are not implemented for 'Bool'. Convert first: x.to(float32).")
    for number in (beta, alpha):
        if isinstance(number, complex) and self.dtype.category is not Category.COMPLEX:
            raise NumberError(f"value cannot be converted to type {self.dtype.name} without overflow: {number}")


def add_product(self: Tensor, first: Tensor, second: Tensor, beta: complex, alpha: complex, out: Tensor) -> None:
    """Write ``beta * self + alpha * (first @ second)`` to ``out``. Operands that are multiplied by 0 are not read, as
    in BLAS.
    """
    beta, alpha = (_in_dtype(number, out) for number in (beta, alpha))
    if alpha == 0:
        fill_(out, 0)
        if beta != 0:
            out.add_(self, alpha=beta)
        return
    if beta != 0:
        copy_(out, self)
    multiply(first, second, out, alpha, beta)


def _in_dtype(number: complex, out: Tensor) -> complex:
    """Convert a number to the dtype in which the kernel computes; for integers the fraction is dropped.

    Raises:
        NumberError: the dtype cannot hold it.
    """
    size: complex = convert(number, precision_of(out.dtype))
    return size


@op("aten::addmm", variants="function, method", tags="core", inplace=Inplace(variants="method"), out=True)
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * self + alpha * (mat1 @ mat2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    ...


@addmm.meta
def addmm_meta(ctx, self, mat1, mat2, beta, alpha):
    check(mat1.ndim == 2, f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    check(mat2.ndim == 2, f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    (rows, inner), (inner2, columns) = mat1.shape, mat2.shape
    check(inner == inner2, f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {inner2}x{columns})")
    views.expand(view_of(self), (rows, columns))
    dtypes = [matrix.dtype.scalar_type for matrix in (self, mat2)]
    if mat1.dtype is not mat2.dtype:
        dtypes[0] = mat1.dtype.scalar_type
    message = f"self and mat2 must have the same dtype, but got {dtypes[0]} and {dtypes[1]}"
    check_sum(self, mat1, mat2, beta, alpha, message)
    ctx.set_output(0, (rows, columns), like=self)


addmm.out_kernel(lambda self, mat1, mat2, beta, alpha, out: add_product(self, mat1, mat2, beta, alpha, out))
addmm.sharding("ij,iK,Kj->ij")


def scaled(gradient: Tensor, factor: complex) -> Tensor:
    """Return a gradient times the conjugate of a number."""
    return gradient if factor == 1 else gradient * factor.conjugate()


@addmm.derivative("self")
def addmm_derivative(grad, beta):
    return scaled(grad, beta)


@addmm.derivative("mat1")
def addmm_mat1_derivative(grad, mat1, mat2, alpha):
    if is_turned(mat1.shape, mat1.strides):
        return scaled(mat2.mm(grad.adjoint()).adjoint(), alpha)
    return scaled(grad.mm(mat2.adjoint()), alpha)


@addmm.derivative("mat2")
def addmm_mat2_derivative(grad, mat1, mat2, alpha):
    if is_turned(mat2.shape, mat2.strides):
        return scaled(grad.adjoint().mm(mat1).adjoint(), alpha)
    return scaled(mat1.adjoint().mm(grad), alpha)


@op("aten::baddbmm", variants="function, method", inplace=Inplace(variants="method"), out=True)
def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    ...


@baddbmm.meta
def baddbmm_meta(ctx, self, batch1, batch2, beta, alpha):
    shape = batched_shape(batch1, batch2)
    views.expand(view_of(self), shape)
    dtypes = ", ".join(
        f"{name}: {tensor.dtype.schema_name}"
        for name, tensor in (("input", self), ("batch1", batch1), ("batch2", batch2))
    )
    check_sum(self, batch1, batch2, beta, alpha, f"Input dtypes must be the same, got: {dtypes}")
    ctx.set_output(0, shape, like=self)


def batched_shape(first: Tensor, second: Tensor) -> tuple[int, int, int]:
    """Return the shape of the products of two batches of matrices. Raises ShapeError: they cannot be multiplied."""
    check(first.ndim == 3, "batch1 must be a 3D tensor", got=first.shape)
    check(second.ndim == 3, "batch2 must be a 3D tensor", got=second.shape)
    (batch, rows, inner), (batch2, inner2, columns) = first.shape, second.shape
    check(
        (batch, inner) == (batch2, inner2),
        f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] "
        f"but got: [{batch2}, {inner2}].",
    )
    return batch, rows, columns


baddbmm.sharding("bij,biK,bKj->bij")
baddbmm.out_kernel(lambda self, batch1, batch2, beta, alpha, out: add_product(self, batch1, batch2, beta, alpha, out))
baddbmm.derivative("self")(addmm_derivative)
baddbmm.derivative(
    batch1=lambda grad, batch2, alpha: scaled(grad.bmm(batch2.adjoint()), alpha),
    batch2=lambda grad, batch1, alpha: scaled(batch1.adjoint().bmm(grad), alpha),
)


@op("aten::addbmm", kernel=True, variants="function, method")
@traceable
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * self + alpha * bmm(batch1, batch2).sum(0)``"""
    return addmm(self, *side_by_side(batch1, batch2), beta=beta, alpha=alpha)


def side_by_side(batch1: Tensor, batch2: Tensor) -> tuple[Tensor, Tensor]:
    """Return two matrices whose product is the sum of the products of a batch."""
    batch, rows, columns = batched_shape(batch1, batch2)
    inner = batch * batch1.shape[2]
    return batch1.transpose(0, 1).reshape((rows, inner)), batch2.reshape((inner, columns))


addbmm.derivative("self")(addmm_derivative)


@addbmm.derivative("batch1")
def addbmm_batch1_derivative(grad, batch1, batch2, alpha):
    return scaled(grad.expand((batch1.shape[0], *grad.shape)).bmm(batch2.adjoint()), alpha)


addbmm.derivative(
    batch2=lambda grad, batch1, alpha: scaled(batch1.adjoint().bmm(grad.expand((batch1.shape[0], *grad.shape))), alpha)
)


def become_sum(out: Tensor, value: Tensor) -> Tensor:
    """Copy a result into ``out``, which is resized without a warning even in place, as in PyTorch's kernel.

    Raises:
        DTypeError: the dtypes differ.
    """
    if out.dtype is not value.dtype:
        raise DTypeError(
            f"expected out to have dtype {value.dtype.scalar_type}, but got {out.dtype.scalar_type} instead"
        )
    if out.shape != value.shape:
        resize(out, value.shape)
    return copy_(out, value)


@addbmm.inplace_variant(kernel=True, variants="method")
def addbmm_(
    self: Tensor[Alias("a", write=True)], batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``addbmm`` into ``self``."""
    return become_sum(self, addbmm(self, batch1, batch2, beta=beta, alpha=alpha))


addbmm_.derivative(addbmm)


@addbmm.out_variant(kernel=True)
def addbmm_out(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Scalar = 1,
    alpha: Scalar = 1,
    out: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``addbmm`` into ``out``."""
    return become_sum(out, addbmm(self, batch1, batch2, beta=beta, alpha=alpha))


@op("aten::addmv", variants="function, method", inplace=Inplace(variants="function, method"), out=True)
def addmv(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * self + alpha * (mat @ vec)`` for a vector."""
    ...


@addmv.meta
def addmv_meta(ctx, self, mat, vec, beta, alpha):
    check(
        mat.ndim == 2 and vec.ndim == 1 and self.ndim <= 1,
        f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}",
    )
    (rows, inner), numel = mat.shape, self.geometry.numel
    check(
        inner == vec.shape[0] and numel in (rows, 1),
        f"size mismatch, got input ({numel}), mat ({rows}x{inner}), vec ({vec.shape[0]})",
    )
    dtypes = [operand.dtype.scalar_type for operand in (self, mat, vec)]
    message = f"addmv input tensors must have the same dtype, but got {dtypes[0]}, {dtypes[1]}, and {dtypes[2]}"
    check_sum(self, mat, vec, beta, alpha, message)
    ctx.set_output(0, (rows,), like=vec)


addmv.sharding("i,iK,K->i")
addmv.out_kernel(lambda self, mat, vec, beta, alpha, out: add_product(self, mat, vec, beta, alpha, out))
addmv.derivative("self")(addmm_derivative)
addmv.derivative(
    mat=lambda grad, vec, alpha: scaled(grad.unsqueeze(1) * vec.conj(), alpha),
    vec=lambda grad, mat, alpha: scaled(mat.adjoint().mv(grad), alpha),
)


@op("aten::mv", kernel="CompositeExplicitAutograd", variants="function, method", out=True)
@traceable
def mv(self: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector."""
    check_vector_product(self, vec)
    return addmv(vec.new_empty((self.shape[0],)), self, vec, beta=0)


mv.sharding("ik,k->i")


def check_vector_product(self: Tensor, vec: Tensor) -> None:
    """Check that a matrix and a vector can be multiplied. Raises ShapeError: the shapes do not fit."""
    check(self.ndim == 2 and vec.ndim == 1, f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")


mv.derivative(self=lambda grad, vec: grad.unsqueeze(1) * vec.conj(), vec=lambda grad, self: self.adjoint().mv(grad))


@op("aten::addmm.dtype", out=True)
def addmm_dtype(
    self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: DType, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor:
    """Return ``addmm`` of the operands converted to ``out_dtype``."""
    return addmm(self.to(out_dtype), mat1.to(out_dtype), mat2.to(out_dtype), beta=beta, alpha=alpha)


@op("aten::baddbmm.dtype", out=True)
def baddbmm_dtype(
    self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: DType, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor:
    """Return ``baddbmm`` of the operands converted to ``out_dtype``."""
    return baddbmm(self.to(out_dtype), batch1.to(out_dtype), batch2.to(out_dtype), beta=beta, alpha=alpha)
