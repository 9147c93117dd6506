"""Pointwise functions of two or three tensors: ``lerp``, ``addcmul``, ``addcdiv``, ``logaddexp``, ``xlogy``,
``hypot``.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.entries import BINARY, UNARY
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.exponentials import exp, exp2
from opdsl.declare import Inplace, Out, formula, op
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor
from opdsl.scalar.intrinsics import fma
from opdsl.schema.vocabulary import Scalar


def check_same(self: Tensor, *others: tuple[str, Tensor]) -> None:
    """Check that other tensors have the dtype of ``self``. Raises ShapeError: a tensor does not."""
    for name, other in others:
        check(
            self.dtype is other.dtype,
            f"expected dtype {self.dtype.scalar_type} for `{name}` but got dtype {other.dtype.scalar_type}",
        )


def lerp_scalar_function(self: Any, end: Any, weight: Any) -> Any:
    near = weight.real * weight.real + weight.imag * weight.imag < 0.25
    return fma(weight, end - self, self) if near else fma(weight - 1, end - self, end)


lerp_elements = primitives.elements(lerp_scalar_function, dtypes=("floating", "complex"))


@op("aten::lerp.Scalar", **BINARY)
@formula
def lerp(self: Tensor, end: Tensor, weight: Scalar) -> Tensor:
    """``self + weight * (end - self)``; exact for a weight of 1."""
    return lerp_elements(self, end, weight)


lerp.meta(reads_numbers=False)(lambda ctx, self, end: check_same(self, ("end", end)))


lerp_tensor_elements = primitives.elements(lerp_scalar_function, dtypes=("floating", "complex"), cast="same")


@lerp.overload("Tensor", **BINARY)
@formula
def lerp_tensor(self: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """``self + weight * (end - self)`` with a weight for each element; exact for a weight of 1."""
    return lerp_tensor_elements(self, end, weight)


lerp_tensor.meta(lambda ctx, self, end, weight: check_same(self, ("end", end), ("weight", weight)))

# ----------------------------------------------------------------------------------------------------- sums of products


def addcdiv_scalar_function(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    return self + value * tensor1 / tensor2


addcdiv_elements = primitives.elements(addcdiv_scalar_function, dtypes=("floating", "complex"))


@op("aten::addcdiv", **BINARY)
@formula
def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """``self + value * tensor1 / tensor2``"""
    return addcdiv_elements(self, tensor1, tensor2, value=value)


@addcdiv.meta(reads_numbers=False)
def addcdiv_meta(ctx, tensor1, tensor2):
    check(
        max(tensor1.dtype.category, tensor2.dtype.category) >= Category.FLOAT,
        "Integer division with addcdiv is no longer supported. Divide with div(..., rounding_mode='trunc'), or convert "
        "tensor1 or tensor2 to a floating-point dtype.",
    )


# ----------------------------------------------------------------------------------------------------------- logarithms


def sum_of_exponentials(x: Any, y: Any) -> Any:
    same = math.isinf(x) and x == y
    return x if same else max(x, y) + math.log1p(math.exp(-abs(x - y)))


def sum_of_complex_exponentials(x: Any, y: Any) -> Any:
    first = x.real >= y.real
    larger, smaller = (x if first else y), (y if first else x)
    log_sum = larger + cmath.log(1 + cmath.exp(smaller - larger))
    same = math.isinf(x.real) and x.real == y.real
    return (x if x.real < 0 else cmath.log(cmath.exp(x) + cmath.exp(y))) if same else log_sum


# Gradients are PyTorch's: NaN if an operand is NaN, or if both are the same infinity.
@op("aten::logaddexp", variants="method, function", tags="pointwise", out=True)
def logaddexp(self: Tensor, other: Tensor) -> Tensor:
    """``log(exp(self) + exp(other))``, without overflow."""
    ...


logaddexp.derivative(
    self=lambda grad, self, other: grad / (1 + exp(other - self)).conj(),
    other=lambda grad, self, other: grad / (1 + exp(self - other)).conj(),
)

logaddexp_elements = primitives.elements(sum_of_exponentials)
logaddexp_complex_elements = primitives.elements(sum_of_complex_exponentials)


@logaddexp.formula(dtypes="floating")
def logaddexp_floating(self: Tensor, other: Tensor) -> Tensor:
    return logaddexp_elements(self, other)


@logaddexp.formula(dtypes="complex")
def logaddexp_complex(self: Tensor, other: Tensor) -> Tensor:
    return logaddexp_complex_elements(self, other)


@op("aten::logaddexp2", variants="method, function", tags="pointwise", out=True)
@formula(dtypes="floating")
def logaddexp2(self: Tensor, other: Tensor) -> Tensor:
    """``log2(2**self + 2**other)``, without overflow."""
    is_same = self.isinf() & (self == other)
    return self if is_same else self.maximum(other) + (-abs(self - other)).exp2().log1p() * (1.0 / math.log(2.0))


logaddexp2.derivative(
    self=lambda grad, self, other: grad / (1 + exp2(other - self)),
    other=lambda grad, self, other: grad / (1 + exp2(self - other)),
)


def xlogy_gradient(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    """Return the gradient of ``xlogy`` for ``self``: ``grad * log(other)``, but 0 where ``self`` is 0 and ``other`` is
    at most 0.
    """
    return where((self == 0) * (other <= 0), 0.0, grad.xlogy(other))


xlogy_elements = primitives.elements(
    lambda x, y: y if math.isnan(y) else 0.0 if x == 0 else x * math.log(y), promote="int_to_float", dtypes="floating"
)


@op("aten::xlogy.Tensor", **{**UNARY, "out": Out("xlogy.OutTensor", variants="function")})
@formula
def xlogy(self: Tensor, other: Tensor) -> Tensor:
    """``self * log(other)``; 0 where ``self`` is 0."""
    return xlogy_elements(self, other)


xlogy.derivative(self=xlogy_gradient, other=lambda grad, self, other: grad * self / other)
number_xlogy = xlogy.number_overload(
    "self", "Scalar_Self", variants="function", tags="pointwise", out=Out("xlogy.OutScalar_Self")
)
xlogy_number = xlogy.number_overload(
    "other",
    "Scalar_Other",
    variants="function, method",
    inplace=Inplace(tags=()),
    tags="pointwise",
    out=Out("xlogy.OutScalar_Other"),
)

# --------------------------------------------------------------------------------------------------------------- others


addcmul_elements = primitives.elements(
    lambda x, one, other, value: fma(value * one, other, x), dtypes=("integer", "floating", "complex")
)


@op("aten::addcmul", **BINARY)
@formula
def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """``self + value * tensor1 * tensor2``"""
    return addcmul_elements(self, tensor1, tensor2, value=value)


@op("aten::hypot", **BINARY)
@formula
def hypot(self: Tensor, other: Tensor) -> Tensor:
    """``sqrt(self**2 + other**2)``, without overflow."""
    return primitives.hypot(self, other)
