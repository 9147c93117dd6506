"""Products of Householder reflections, the form in which LAPACK stores orthogonal factors: ``geqrf``,
``householder_product``, ``ormqr``.
"""

from __future__ import annotations

from typing import NamedTuple

from opdsl.aten.create.triangles import eye
from opdsl.aten.linalg.decompositions import by_column, given_out, require_matrix, require_numbers, require_same_dtype
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, op
from opdsl.kernels import check, copy_, linear_algebra
from opdsl.runtime import Tensor, contiguous_strides


class Reflectors(NamedTuple):
    """R in the upper triangle with the Householder vectors of Q below the diagonal, and the coefficients of the
    reflections.
    """

    a: Tensor
    tau: Tensor


@op("aten::geqrf", variants="function, method", out=Out("geqrf.a", args=("a", "tau")))
def geqrf(self: Tensor) -> Reflectors:
    """Return the QR decomposition in LAPACK's packed form; see ``linalg.qr`` for separate factors.

    Args:
        self: (..., m, n).
    """
    ...


@geqrf.meta
def geqrf_meta(ctx, self):
    require_matrix("torch.geqrf", self, "input")
    require_numbers("geqrf", self)
    ctx.set_output(0, self.shape, by_column(self.shape), like=self)
    shape = (*self.shape[:-2], min(self.shape[-2:]))
    ctx.set_output(1, shape, contiguous_strides(shape), like=self)


geqrf.sharding(rows=2)


@geqrf.out_kernel
def geqrf_kernel(self, a, tau):
    copy_(a, self)
    linear_algebra(a).geqrf(a, tau)


# ------------------------------------------------------------------------------------------------------------ gradients


def reflections_gradient(
    grad: Tensor, input: Tensor, tau: Tensor, other: Tensor, adjoint: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of a product of Householder reflections ``I - tau v v^H`` with a matrix to its right.

    Args:
        grad: of the product.
        input: has the vectors ``v`` below its diagonal; each begins with an implicit 1 on the diagonal.
        tau: the coefficients of the reflections.
        other: the matrix to the right.
        adjoint: whether the adjoint of the reflections' product was multiplied.

    Returns:
        The gradients of ``input``, ``tau`` and ``other``.
    """
    count = tau.shape[-1]
    one = eye(input.shape[-2], count, dtype=input.dtype, device=input.device)
    vectors = input.narrow(-1, 0, count).tril(-1) + one
    factors = tau.conj() if adjoint else tau
    order = range(count) if adjoint else range(count - 1, -1, -1)
    of_vectors = [grad.new_zeros(())] * count
    of_factors = list(of_vectors)
    seen = []
    for index in order:  # keep the right factor of each reflection
        seen.append(other)
        vector, factor = vectors.narrow(-1, index, 1), factors.narrow(-1, index, 1).unsqueeze(-1)
        other = other - factor * matmul(vector, matmul(vector.adjoint(), other))
    for index, tensor in zip(reversed(order), reversed(seen), strict=True):
        vector, factor = vectors.narrow(-1, index, 1), factors.narrow(-1, index, 1).unsqueeze(-1)
        along, across = matmul(tensor.adjoint(), vector), matmul(vector.adjoint(), grad)
        through = matmul(grad, along)
        of_factors[index] = -matmul(vector.adjoint(), through).squeeze(-1)
        of_vectors[index] = -factor.conj() * through - factor * matmul(tensor, across.adjoint())
        grad = grad - factor.conj() * matmul(vector, across)
    rest = input.new_zeros((*input.shape[:-1], input.shape[-1] - count))
    of_input = cat([*(gradient.expand((*input.shape[:-1], 1)) for gradient in of_vectors), rest], -1).tril(-1)
    of_tau = cat(of_factors, -1) if count else tau.new_zeros(tau.shape)
    return of_input, of_tau.conj() if adjoint else of_tau, grad


# -------------------------------------------------------------------------------------------------------------- columns


def require_reflectors(name: str, input: Tensor, tau: Tensor) -> None:
    """Check that each matrix has at most as many reflection coefficients as columns, and that the dtypes are equal.

    Raises:
        ShapeError, DTypeError: the shapes or dtypes do not fit.
    """
    require_matrix(name, input, "input")
    check(
        input.ndim - tau.ndim == 1,
        f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
        f"input.ndim is equal to {input.ndim}",
    )
    check(
        input.shape[:-2] == tau.shape[:-1],
        f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}",
    )
    check(input.shape[-1] >= tau.shape[-1], f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    require_same_dtype(name, input, tau, ("input", "tau"))
    require_numbers(name, input)


@op("aten::linalg_householder_product", kernel=True, python_module="linalg", out=True)
def linalg_householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first columns of a product of Householder reflections: the factor Q from the result of ``geqrf``.

    Args:
        input: (..., m, n) with m >= n, whose columns have the Householder vectors below the diagonal.
        tau: (..., k) with n >= k, the coefficients of the reflections.
    """
    operator = "torch.linalg.householder_product"
    require_reflectors(operator, input, tau)
    check(
        input.shape[-2] >= input.shape[-1],
        f"{operator}: input.shape[-2] must be greater than or equal to input.shape[-1]",
    )
    orthogonal = input.new_empty_strided(input.shape, by_column(input.shape))
    if input.device.type != "meta":
        copy_(orthogonal, input)
        linear_algebra(orthogonal).householder_product(orthogonal, tau)
    return given_out("linalg_householder_product", orthogonal, out)


linalg_householder_product.sharding(rows=2)


@linalg_householder_product.derivative("input", "tau")
def linalg_householder_product_derivative(grad, input, tau):
    one = eye(*input.shape[-2:], dtype=input.dtype, device=input.device)
    return reflections_gradient(grad, input, tau, one, False)[:2]


orgqr = linalg_householder_product.alias(
    "aten::orgqr", names={"input": "self", "tau": "input2"}, variants="function, method", out=True
)


# ------------------------------------------------------------------------------------------------------------- products


@op("aten::ormqr", kernel=True, variants="function, method", out=True)
def ormqr(
    self: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the product of an orthogonal matrix, stored as Householder reflections, with other matrices.

    Args:
        self: (..., m, n), the Householder vectors as ``geqrf`` returns them.
        input2: (..., k), the coefficients of the reflections.
        input3: (..., m, p), or (..., p, m) if not ``left``.
        left: whether the orthogonal matrix is the left factor.
        transpose: whether to multiply by the adjoint of the orthogonal matrix.
    """
    operator = "torch.ormqr"
    require_reflectors(operator, self, input2)
    require_matrix(operator, input3, "other")
    place = -2 if left else -1
    check(
        input3.shape[place] >= input2.shape[-1],
        f"{operator}: other.shape[{place}] must be greater than or equal to tau.shape[-1]",
    )
    check(input3.shape[place] == self.shape[-2], f"{operator}: other.shape[{place}] must be equal to input.shape[-2]")
    check(
        self.shape[:-2] == input3.shape[:-2],
        f"{operator}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
        f"{list(input3.shape[:-2])}",
    )
    require_same_dtype(operator, self, input3, ("input", "other"))
    if out is not None:
        require_same_dtype(operator, self, out, ("input", "result"))
    product = input3.new_empty_strided(input3.shape, by_column(input3.shape))
    if input3.device.type != "meta":
        copy_(product, input3)
        linear_algebra(product).ormqr(self, input2, product, left, transpose)
    return given_out("ormqr", product, out)


ormqr.sharding(rows=2)


@ormqr.derivative("self", "input2", "input3")
def ormqr_derivative(grad, self, input2, input3, left, transpose):
    """Return the gradients; for the right factor Q from ``C Q = (Q^H C^H)^H``."""
    if left:
        return reflections_gradient(grad, self, input2, input3, transpose)
    of_self, of_factors, of_other = reflections_gradient(grad.adjoint(), self, input2, input3.adjoint(), not transpose)
    return of_self, of_factors, of_other.adjoint()
