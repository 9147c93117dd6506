"""Products of vectors (``dot``, ``vdot``, ``outer``, ``inner``), and ``linear``."""

from __future__ import annotations

from typing import Any

from opdsl import primitives
from opdsl.aten._shared.scalars import plus, times
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.linalg.matrix_sums import addmm
from opdsl.aten.pointwise.arithmetic import mul
from opdsl.declare import op, traceable
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, write_out
from opdsl.runtime import Tensor, bool_
from opdsl.scalar.intrinsics import conjugate
from opdsl.schema import Alias

# --------------------------------------------------------------------------------------------------------- dot and vdot


def check_vectors(self: Tensor, other: Tensor) -> None:
    """Check that two tensors are vectors of equal size and dtype (``dot_check``).

    Raises:
        ShapeError, DTypeError: they are not.
    """
    check(self.ndim == other.ndim == 1, f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    if self.dtype is not other.dtype:
        raise DTypeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{self.dtype.scalar_type} and {other.dtype.scalar_type}"
        )
    sizes = self.shape[0], other.shape[0]
    check(
        sizes[0] == sizes[1],
        f"inconsistent tensor size, expected tensor [{sizes[0]}] and src [{sizes[1]}] to have the same number of "
        f"elements, but got {sizes[0]} and {sizes[1]} elements respectively",
    )
    if self.dtype is bool_:
        raise UnsupportedDTypeError("\"dot\" not implemented for 'Bool'. Convert to a number type first: x.to(int64).")


dots = primitives.fold(plus, init=0, lift=times)
vdots = primitives.fold(plus, init=0, lift=lambda a, b: conjugate(a) * b)

PRODUCT: dict[str, Any] = {"variants": "function, method", "tags": (), "out": True}


@op("aten::dot", **PRODUCT)
def dot(self: Tensor, tensor: Tensor) -> Tensor:
    """Return the sum of the products of two vectors' elements."""
    ...


dot.meta(lambda ctx, self, tensor: check_vectors(self, tensor))


@dot.formula
def dot_formula(self: Tensor, tensor: Tensor) -> Tensor:
    return dots(self, tensor)


dot.derivative(self=lambda grad, tensor: grad * tensor.conj(), tensor=lambda grad, self: grad * self.conj())


@op("aten::vdot", **PRODUCT)
def vdot(self: Tensor, other: Tensor) -> Tensor:
    """Return the scalar product of two vectors, the first of them conjugated."""
    ...


vdot.meta(lambda ctx, self, other: check_vectors(self, other))


@vdot.formula
def vdot_formula(self: Tensor, other: Tensor) -> Tensor:
    return vdots(self, other)


vdot.derivative(self=lambda grad, other: grad.conj() * other, other=lambda grad, self: grad * self)


# ------------------------------------------------------------------------------------------------------ outer and inner


def column(self: Tensor, vec2: Tensor) -> Tensor:
    """Return the first factor of an outer product as a column. Raises ShapeError: a factor is not a vector."""
    for name, tensor in (("self", self), ("vec2", vec2)):
        check(tensor.ndim == 1, f"outer: Expected 1-D argument {name}, but got {tensor.ndim}-D")
    return self.reshape((self.shape[0], 1))


@op("aten::outer", variants="function, method", out=True)
@traceable
def outer(self: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the outer product of two vectors: ``self[i] * vec2[j]``."""
    return mul(column(self, vec2), vec2, out=out)


outer.sharding("i,j->ij")

ger = outer.alias("aten::ger")


@op("aten::inner", variants="function, method")
@traceable
def inner(self: Tensor, other: Tensor) -> Tensor:
    """Return the scalar products of all pairs of vectors along the last dimensions; a zero-dim tensor is multiplied."""
    if self.ndim == 0 or other.ndim == 0:
        return self * other
    size = self.shape[-1]
    check(
        size == other.shape[-1],
        "inner() the last dimension must match on both input tensors but got shapes "
        f"{list(self.shape)} and {list(other.shape)}",
    )
    check(self.dtype is other.dtype, "both inputs should have same dtype")
    kept = (*self.shape[:-1], *other.shape[:-1])
    rows, others = (factor.reshape((factor.numel() // size if size else 0, size)) for factor in (self, other))
    if not size:
        return self.new_zeros(kept)
    return rows.mm(others.t()).reshape(kept)


@inner.out_variant()
def inner_out(self: Tensor, other: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``inner`` into ``out``."""
    if self.ndim == 0 or other.ndim == 0:
        return mul.variants["out"](self, other, out=out)
    return write_out("aten::inner.out", out, inner(self, other))


# --------------------------------------------------------------------------------------------------------------- linear


@op("aten::linear", python_module="nn")
@traceable
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
    check(
        input.ndim != 0 and weight.ndim != 0,
        f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D",
    )
    if input.ndim == 2 and bias is not None:
        return addmm(bias, input, weight.t())
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


@linear.out_variant(kernel="CompositeExplicitAutograd", python_module="nn")
def linear_out(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``linear`` into ``out``."""
    if input.ndim == 1 and weight.ndim == 2:
        # PyTorch multiplies a matrix of one row, and gives `out` its shape meanwhile.
        write_out("aten::linear.out", out, linear(input.unsqueeze(0), weight, bias))
        return out.squeeze_(0)
    return write_out("aten::linear.out", out, linear(input, weight, bias))
