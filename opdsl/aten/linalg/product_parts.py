"""Outer products added to matrices (``addr``), gradients of products, and quantized or grouped matrix products."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten._shared.checks import category_of, check_alpha
from opdsl.aten.create.ranges import arange
from opdsl.aten.linalg.matrix_products import bmm, matmul, mm
from opdsl.aten.linalg.matrix_sums import add_product, addmm_meta
from opdsl.aten.nn.activations import gelu, relu
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.joining import cat
from opdsl.declare import Inplace, Library, Out, formula, op
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import DType, Tensor, int8, int32, int64
from opdsl.schema.vocabulary import Bools, Scalar

lib = Library("opdsl")


def scaled_sum_scalar(self: Any, first: Any, second: Any, beta: Any, alpha: Any) -> Any:
    return (beta * self if beta != 0 else 0 * first) + alpha * first * second


scaled_sum_elements = primitives.elements(scaled_sum_scalar)


@lib.op(variants="function")
@formula
def scaled_sum(self: Tensor, first: Tensor, second: Tensor, beta: Scalar, alpha: Scalar) -> Tensor:
    """``beta * self + alpha * first * second``; for ``beta=0`` NaN in ``self`` is ignored."""
    return scaled_sum_elements(self, first, second, beta, alpha)


@op("aten::addr", variants="function, method", inplace=Inplace(variants="method"), out=Out(cast="safe"))
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
    """``beta * self + alpha * outer(vec1, vec2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    check(vec1.ndim == 1, f"addr: Expected 1-D argument vec1, but got {vec1.ndim}-D")
    check(vec2.ndim == 1, f"addr: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    for name, number in (("beta", beta), ("alpha", alpha)):
        check_alpha(self if category_of(self) > category_of(vec1) else vec1, vec2, number, name)
    return scaled_sum(self.expand((vec1.shape[0], vec2.shape[0])), vec1.unsqueeze(1), vec2, beta, alpha)


@op("aten::_compute_linear_combination", out=True)
def _compute_linear_combination(input: Tensor, coefficients: Tensor) -> Tensor:
    """Return linear combinations of the slices of ``input``: ``tensordot(coefficients, input, 1)``.

    Args:
        input: (n, ...).
        coefficients: (m, n).
    """
    check(
        input.ndim > 0 and coefficients.ndim == 2 and coefficients.shape[1] == input.shape[0],
        "_compute_linear_combination: expected coefficients for each of the tensors",
        got=(input.shape, coefficients.shape),
    )
    columns = input.reshape((input.shape[0], -1)) if input.numel() else input.new_zeros((input.shape[0], 0))
    return mm(coefficients, columns).reshape((coefficients.shape[0], *input.shape[1:]))


@op("aten::linear_backward")
def linear_backward(
    self: Tensor, grad_output: Tensor, weight: Tensor, output_mask: Bools[3]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``linear`` for its input, weight and bias, as far as ``output_mask`` requests them."""
    check(
        grad_output.shape[:-1] == self.shape[:-1] and grad_output.ndim > 0,
        "linear_backward: the gradient must have the rows of the input",
        got=(self.shape, grad_output.shape),
    )
    asked: Any = output_mask
    rows = grad_output.reshape((-1, grad_output.shape[-1]))
    of_input: Any = matmul(grad_output, weight) if asked[0] else None
    of_weight: Any = mm(rows.adjoint(), self.reshape((-1, self.shape[-1]))) if asked[1] else None
    of_bias: Any = rows.sum(0) if asked[2] else None
    return of_input, of_weight, of_bias


@op("aten::matmul_backward")
def matmul_backward(grad: Tensor, self: Tensor, other: Tensor, mask: Bools[2]) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``matmul`` for both factors, as far as ``mask`` requests them."""
    check(self.ndim > 0 and other.ndim > 0, "matmul_backward: both factors need at least 1 dimension")
    first, second = self if self.ndim > 1 else self.unsqueeze(0), other if other.ndim > 1 else other.unsqueeze(1)
    shape = (*broadcast(first.shape[:-2], second.shape[:-2]), first.shape[-2], second.shape[-1])
    kept = shape[:-2] + shape[-2:-1] * (self.ndim > 1) + shape[-1:] * (other.ndim > 1)
    check(grad.shape == kept, "matmul_backward: the gradient must have the shape of the product", got=grad.shape)
    asked: Any = mask
    gradient = grad.reshape(shape)
    of_first: Any = (
        matmul(gradient, second.adjoint()).sum_to_size(first.shape).reshape(self.shape) if asked[0] else None
    )
    of_second: Any = (
        matmul(first.adjoint(), gradient).sum_to_size(second.shape).reshape(other.shape) if asked[1] else None
    )
    return of_first, of_second


@op("aten::_addmm_activation", variants="function, method", out=True)
def _addmm_activation(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, use_gelu: bool = False
) -> Tensor:
    """``relu(addmm(self, mat1, mat2))``, or ``gelu`` of it for ``use_gelu``"""
    ...


_addmm_activation.meta(addmm_meta)


@_addmm_activation.out_kernel
def _addmm_activation_kernel(self, mat1, mat2, beta, alpha, use_gelu, out):
    add_product(self, mat1, mat2, beta, alpha, out)
    copy_(out, gelu(out) if use_gelu else relu(out))


# --------------------------------------------------------------------------------------------------- groups and weights


@op("aten::_weight_int8pack_mm", kernel=True)
def _weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Return the product with the transpose of an int8 matrix, each row of which is multiplied by a scale.

    Args:
        self: (m, k), of floating numbers.
        mat2: int8 (n, k).
        scales: (n,), of the dtype of ``self``.
    """
    operator = "_weight_int8pack_mm"
    check(self.ndim == 2, f"{operator}: expect A to be 2D tensor", got=self.shape)
    check(mat2.ndim == 2 and mat2.shape[1] == self.shape[1], f"{operator}: expect B.size(1) == {self.shape[1]}")
    check(scales.shape == mat2.shape[:1], f"{operator}: expect scales to be 1d tensor with size {mat2.shape[0]}")
    if not self.dtype.is_floating_point or mat2.dtype is not int8 or scales.dtype is not self.dtype:
        raise DTypeError(f"{operator}: expected floating numbers, int8, and scales of the first dtype")
    wide = precision_of(self.dtype)
    return (mm(self.to(wide), mat2.to(wide).t()) * scales.to(wide)).to(self.dtype)


@op("aten::_grouped_mm")
def _grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: DType | None = None
) -> Tensor:
    """Return the matrix product of each group, where groups are a dimension or consecutive ranges of one dimension.

    Args:
        self, mat2: of 3 dimensions, the first for groups; or of 2, in which groups are consecutive rows of ``self`` or
            columns of ``mat2``, or, if both have 2 dimensions, consecutive ranges of the inner dimension.
        offs: int32, the end of each group, if a factor has 2 dimensions. Elements beyond the last end become 0.
        bias: must be None.
        out_dtype: of the result; must be that of the factors.
    """
    check(self.ndim in (2, 3) and mat2.ndim in (2, 3), "_grouped_mm: expected matrices of 2 or 3 dimensions")
    check(
        (offs is None) == (self.ndim == mat2.ndim == 3),
        "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d",
    )
    check(bias is None, "Bias not supported yet")
    if not self.dtype.is_floating_point or self.dtype is not mat2.dtype or out_dtype not in (None, self.dtype):
        raise DTypeError("_grouped_mm: expected factors, and a result, of one floating dtype")
    is_summed = self.ndim == mat2.ndim == 2
    shapes = self.shape, mat2.shape
    check(self.shape[-1] == mat2.shape[-2], "contraction dimension of mat_a and mat_b must match", got=shapes)
    if offs is None:
        return bmm(self, mat2)
    check(offs.ndim == 1, "offs has to be 1D", got=offs.shape)
    if offs.dtype is not int32:
        raise DTypeError("Offsets have to be int32")
    count = offs.shape[0]
    check(
        is_summed or (mat2 if self.ndim == 2 else self).shape[0] == count,
        "_grouped_mm: expected an offset for each group",
        got=offs.shape,
    )
    # An index of the dimension of the groups belongs to the first group that ends after it.
    length = self.shape[-1] if is_summed else self.shape[0] if self.ndim == 2 else mat2.shape[1]
    ends = offs.to(int64).unsqueeze(1)
    places = arange(length, device=offs.device)
    begins = cat([ends.new_zeros((min(count, 1), 1)), ends.narrow(0, 0, max(count - 1, 0))])
    is_own = (places >= begins).logical_and(places < ends)
    if is_summed:
        return matmul(where(is_own.unsqueeze(1), self, 0.0), where(is_own.unsqueeze(2), mat2, 0.0))
    place = 2 if self.ndim == 2 else 1
    return where(is_own.unsqueeze(place), matmul(self, mat2), 0.0).sum(0)
