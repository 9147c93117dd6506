"""Norms of vectors: ``linalg.vector_norm``, of all elements or along dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from opdsl import primitives
from opdsl.aten._shared.scalars import larger, plus, smaller
from opdsl.aten._shared.sharing import shared
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.sums import restore_dims
from opdsl.aten.reduce.variances import Dimensions, square
from opdsl.declare import op
from opdsl.kernels import check
from opdsl.primitives import Loop
from opdsl.runtime import DType, Tensor, promote_types, wrap_dimension
from opdsl.schema.vocabulary import Scalar

# ---------------------------------------------------------------------------------------------------------------- loops

NORM: dict[str, Any] = {"accumulators": ("real",), "promote": "floating"}

lengths = primitives.fold(plus, init=0, lift=square, finish=lambda total, count: math.sqrt(total), **NORM)
roots_of_powers = primitives.fold(
    plus,
    init=0,
    lift=lambda x, ord: math.pow(abs(x), ord),
    finish=lambda total, count, ord: math.pow(total, 1.0 / ord),
    **NORM,
)
LOOPS: dict[float | None, Loop] = {
    2: lengths,
    1: primitives.fold(plus, init=0, lift=lambda x: abs(x), **NORM),
    0: primitives.fold(plus, init=0, lift=lambda x: 1.0 if x != 0 else 0.0, **NORM),
    math.inf: primitives.fold(larger, init=0, lift=lambda x: abs(x), **NORM),
    -math.inf: primitives.fold(smaller, init=math.inf, lift=lambda x: abs(x), **NORM),
}
"""Reduction loops of single orders, each faster than the general loop with powers."""


def attach_norms(
    norm: Any,
    name: str,
    function: Callable[[Loop], Callable[..., Tensor]],
    loops: Mapping[float | None, Loop],
    others: Loop,
) -> None:
    """Register the formulas of a norm operator: one for each special order, and one for all others.

    Args:
        norm: the operator.
        name: of the argument that is the order.
        function: returns a formula of the operator that calls a loop.
        loops: the reduction loops of special orders.
        others: the reduction loop of all other orders.
    """
    for order, loop in loops.items():
        norm.formula(when={name: order})(function(loop))
    norm.formula(function(others))


# ---------------------------------------------------------------------------------------------------------------- norms


@op("aten::linalg_vector_norm", variants="function", tags="reduction", python_module="linalg", out=True)
def linalg_vector_norm(
    self: Tensor, ord: Scalar = 2, dim: Dimensions | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """``sum(abs(self) ** ord) ** (1 / ord)`` along dimensions.

    For ``inf`` it is the largest magnitude, for ``-inf`` the smallest, and for 0 the number of nonzero elements.
    """
    ...


@linalg_vector_norm.meta
def linalg_vector_norm_meta(ctx, self, ord, dim, dtype):
    operator = "linalg.vector_norm"
    check(
        self.dtype.is_floating_point or self.dtype.is_complex,
        f"{operator}: Expected a floating point or complex tensor as input. Got {self.dtype.scalar_type}",
    )
    check_identity(self, ord, dim)
    check_norm_dtype(operator, self.dtype, dtype)


def check_identity(self: Tensor, ord: Any, dim: Any) -> None:
    """Check that a norm without a value for empty tensors is not computed for an empty tensor.

    Raises:
        ShapeError: the norm of no elements is undefined, or ``ord`` is complex.
        DimensionError: there is no such dimension.
    """
    check(not isinstance(ord, complex), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if self.numel() or not (ord < 0 or ord == math.inf):
        return
    dims = (dim,) if isinstance(dim, int) else dim
    check(
        bool(dims),
        f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have an "
        "identity",
    )
    for axis in dims:
        check(
            self.shape[wrap_dimension(axis, self.ndim)] != 0,
            f"linalg.vector_norm cannot compute the {ord} norm on the dimension {axis} because this dimension is "
            "empty and the operation does not have an identity",
        )


def check_norm_dtype(name: str, source: DType, wanted: DType | None) -> None:
    """Check that ``dtype=`` is real or complex like the input, and not narrower. Raises ShapeError: it is not."""
    if wanted is None:
        return
    check(
        wanted.is_floating_point or wanted.is_complex,
        f"{name}: dtype should be floating point or complex. Got {wanted.scalar_type}",
    )
    kind = "complex" if source.is_complex else "real"
    check(
        wanted.is_complex == source.is_complex,
        f"{name}: dtype should be {kind} for {kind} inputs. Got {wanted.scalar_type}",
    )
    check(
        promote_types(source, wanted) is wanted,
        f"{name}: the dtype of the input ({source.scalar_type}) should be convertible without narrowing to the "
        f"specified dtype ({wanted.scalar_type})",
    )


def norm_by(loop: Loop) -> Callable[..., Tensor]:
    """Return the formula of ``linalg_vector_norm`` that calls a reduction loop."""

    def norm(self: Tensor, ord: Scalar, dim: Dimensions | None, keepdim: bool, dtype: DType | None) -> Tensor:
        return loop(self, ord, dim, keepdim, dtype=dtype)

    return norm


attach_norms(linalg_vector_norm, "ord", norm_by, LOOPS, roots_of_powers)


def norm_gradient(grad: Tensor, self: Tensor, result: Tensor, p: Any, dim: Any, keepdim: bool) -> Tensor:
    """Return the gradient of a norm (``norm_backward`` of ATen); 0 where the norm is 0."""
    self = self.to(promote_types(self.dtype, result.dtype))
    spread, norm = (restore_dims(reduced, self.ndim, dim, keepdim) for reduced in (grad, result))
    order = 2.0 if p is None else float(p)
    direction, size = self.sgn(), self.abs()
    if order == 0:
        return grad.new_zeros(self.shape)
    if order == 1:
        return direction * spread
    vanishing, norm = norm == 0, norm.masked_fill(norm == 0, 1)
    if order == 2:
        return (self * (spread / norm)).masked_fill(vanishing, 0)
    if math.isinf(order):
        hits = size == norm.masked_fill(vanishing, 0)
        return direction * shared(spread, hits.sum(dim or None, True)) * hits.to(size.dtype)
    slope = where(size == 0, 0.0, size.masked_fill(size == 0, 1).pow(order - 1))
    return (direction * slope * (spread / norm.pow(order - 1))).masked_fill(vanishing, 0)


linalg_vector_norm.derivative(
    self=lambda grad, self, result, ord, dim, keepdim: norm_gradient(grad, self, result, ord, dim, keepdim)
)
