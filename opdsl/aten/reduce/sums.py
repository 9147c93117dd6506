"""Reductions by sum, product and mean; ``count_nonzero``, ``any``, ``all``, ``logsumexp``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from opdsl import primitives
from opdsl.aten._shared.entries import documented
from opdsl.aten._shared.scalars import plus, times
from opdsl.aten.pointwise.comparison import eq, where
from opdsl.aten.pointwise.division import div
from opdsl.aten.pointwise.exponentials import exp
from opdsl.aten.shape.joining import cat
from opdsl.declare import Library, Out, formula, forward, op, traceable
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, float32, int64, promote_types, wrap_dimension
from opdsl.runtime.promotion import can_cast
from opdsl.schema.vocabulary import IntList, Size

lib = Library("opdsl")

# ---------------------------------------------------------------------------------------------------------------- loops


def logsumexp_combine(a: float, m: float, b: float, n: float) -> tuple[float, float]:
    # Relative to the larger exponent; equal infinities must not give NaN.
    smaller = math.exp(0.0 if a == b else -abs(a - b))
    return max(a, b), (m + n * smaller if a >= b else m * smaller + n)


sums = primitives.fold(plus, init=0, promote="sum")
sums_of_numbers = primitives.fold(plus, init=0, lift=lambda x: 0 if x != x else x, promote="sum")
products = primitives.fold(times, init=1, promote="sum")
means = primitives.fold(plus, init=0, promote="float", finish=lambda total, count: total / count)
counts = primitives.fold(plus, init=0, lift=lambda x: int(x != 0), accumulators=("index",))
logarithms = primitives.fold(
    logsumexp_combine,
    init=(-math.inf, 0),
    # An exponent, and the factor of its exponential.
    lift=lambda x: (x.real, 1.0 if x.imag == 0 else math.exp(x - x.real)),
    finish=lambda largest, total, count: largest + math.log(total),
    accumulators=("real", "value"),
    results=("floating",),
    promote="int_to_float",
)

# ------------------------------------------------------------------------------------------------ sums, products, means


def restore_dims(reduced: Tensor, ndim: int, dim: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    """Insert the reduced dimensions with size 1 again, so that the result of a reduction broadcasts to the input.

    Args:
        reduced: the result, or its gradient.
        ndim: number of dimensions of the input.
        dim: the reduced dimensions; None or empty for all.
        keepdim: whether the result has them already.
    """
    if keepdim:
        return reduced
    for dimension in sorted(wrap_dimension(index, ndim) for index in dim or range(ndim)):
        reduced = reduced.unsqueeze(dimension) if ndim else reduced
    return reduced


@op(
    "aten::sum.dim_IntList",
    variants="function, method",
    tags=("core", "reduction"),
    out=Out("sum.IntList_out"),
)
@formula
def sum_dim(
    self: Tensor, dim: Annotated[IntList, Size(1)] | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    return sums(self, dim, keepdim, dtype=dtype)


sum_dim.derivative(self=lambda grad, self, dim, keepdim: restore_dims(grad, self.ndim, dim, keepdim).expand(self.shape))


@sum_dim.overload("", kernel="CompositeExplicitAutograd", variants="function, method", tags="reduction")
@forward(sum_dim, dim=None)
def sum_all(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Return the sum of all elements."""


sum_all.derivative(self=lambda grad, self: grad.expand(self.shape))


@op("aten::nansum", variants="function, method", tags="reduction", out=Out("nansum.out"))
def nansum(
    self: Tensor, dim: Annotated[IntList, Size(1)] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the sum along dimensions of all elements that are not NaN."""
    ...


@nansum.meta
def nansum_meta(ctx, self, dtype):
    check(not self.dtype.is_complex, "nansum does not support complex inputs")
    maybe_output = ctx.maybe_get_output()
    summed = dtype or (maybe_output.dtype if maybe_output is not None else self.dtype)
    if self.dtype.is_floating_point and not summed.is_floating_point:
        raise UnsupportedDTypeError(f"nansum is not implemented for '{summed.scalar_type}' of floating-point numbers")


@nansum.formula
def nansum_formula(self: Tensor, dim: Any, keepdim: bool, dtype: DType | None) -> Tensor:
    return sums_of_numbers(self, dim, keepdim, dtype=dtype)


@nansum.derivative("self")
def nansum_derivative(grad, self, dim, keepdim):
    spread = restore_dims(grad, self.ndim, dim, keepdim).expand(self.shape)
    return spread.masked_fill(self.isnan(), 0)


@op("aten::prod.dim_int", variants="function, method", tags=("core", "reduction"), out=Out("prod.int_out"))
@formula
def prod_dim(self: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the product along a dimension; integers are multiplied as int64."""
    return products(self, dim, keepdim, dtype=dtype)


@prod_dim.overload("", variants="function, method", tags=("core", "reduction"), out=True)
@formula
def prod_all(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Return the product of all elements."""
    return products(self, dtype=dtype)


@prod_dim.derivative("self")
def prod_dim_derivative(grad, self, dim, keepdim):
    return restore_dims(grad, self.ndim, (dim,), keepdim) * products_of_others(self.conj(), dim)


prod_all.derivative(
    self=lambda grad, self: grad * products_of_others(self.conj().reshape((-1,)), 0).reshape(self.shape)
)


def products_of_others(tensor: Tensor, dim: int) -> Tensor:
    """Return for each element along a dimension the product of all other elements."""
    if tensor.ndim == 0 or tensor.shape[dim] < 2:
        return tensor.new_ones(tensor.shape)
    size = tensor.shape[dim]
    is_zero, is_finite = tensor == 0, tensor.isfinite()
    zeros, infinite = is_zero.to(int64), is_finite.logical_not().to(int64)
    one = tensor.narrow(dim, 0, 1).new_ones(tensor.narrow(dim, 0, 1).shape)
    before = tensor.narrow(dim, 0, size - 1).cumprod(dim)
    after = tensor.narrow(dim, 1, size - 1).flip([dim]).cumprod(dim).flip([dim])
    products = cat([one, before], dim) * cat([after, one], dim)
    # A product of finite numbers that include 0 is 0, even if the others overflow.
    vanishes = (zeros.sum(dim, True) > zeros) * (infinite.sum(dim, True) == infinite)
    return where(products.isnan() * vanishes, 0.0, products)


@op("aten::mean.dim", variants="function, method", tags=("core", "reduction"), out=Out("mean.out"))
@formula
def mean_dim(
    self: Tensor, dim: Annotated[IntList, Size(1)] | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the mean along dimensions, along all for ``dim=None``."""
    return means(self, dim, keepdim, dtype=dtype)


@mean_dim.derivative("self")
def mean_dim_derivative(grad, self, dim, keepdim):
    spread = restore_dims(grad, self.ndim, dim, keepdim).expand(self.shape)
    return spread / (self.numel() // max(grad.numel(), 1))


@mean_dim.overload(
    "",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    tags=("core", "reduction"),
    out=Out("mean.dtype_out"),
)
@traceable
def mean_all(self: Tensor, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """Return the mean of all elements."""
    if out is not None and not can_cast(self.dtype, out.dtype):
        raise DTypeError(f"input types can't be cast to the desired output type {out.dtype.scalar_type}")
    return mean_dim(self, None, dtype=dtype, out=out)


mean_all.derivative(self=lambda grad, self: grad.expand(self.shape) / self.numel())


@op("aten::nanmean", variants="function, method", out=True)
@traceable
def nanmean(
    self: Tensor,
    dim: Annotated[IntList, Size(1)] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean along dimensions of all elements that are not NaN."""
    check(
        self.dtype.is_floating_point or self.dtype.is_complex,
        f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype.scalar_type}",
    )
    counted = sum_dim(eq(self, self), dim, keepdim)
    kept = self.dtype if dtype is None else dtype
    if kept.itemsize > 2 or (out is not None and out.dtype is not kept):
        return div(nansum(self, dim, keepdim, dtype=dtype, out=out), counted, out=out)
    # The sum and the count may overflow in 16 bits.
    total = nansum(self, dim, keepdim, dtype=promote_types(kept, float32))
    return div(total, counted).to(kept) if out is None else div(total, counted, out=out)


@op("aten::count_nonzero.dim_IntList", variants="function, method", tags="reduction", out=True)
@formula
def count_nonzero_dims(self: Tensor, dim: list[int]) -> Tensor:
    """Return the number of nonzero elements along dimensions."""
    return counts(self, dim)


@count_nonzero_dims.overload(
    "", kernel="CompositeExplicitAutograd", variants="function, method", tags="reduction", out=True
)
@forward(count_nonzero_dims, dim=lambda dim: () if dim is None else (dim,))
def count_nonzero(self: Tensor, dim: int | None = None) -> Tensor:
    """Return the number of nonzero elements along a dimension, or of all."""


# ------------------------------------------------------------------------------------------------------------- any, all


def declare_question(name: str, text: str, verb: str, none: bool, combine: Callable[..., bool], tags: object) -> None:
    """Declare ``any`` or ``all``: along a dimension, along several, and of all elements.

    Args:
        name: of the packet.
        text, verb: parts of the docstrings.
        none: the result for no elements.
        combine: the result for two bools.
        tags: of the functional operators.
    """
    entry: dict[str, Any] = {"variants": "function, method", "tags": tags}
    answer: dict[str, Any] = {"init": none, "lift": lambda x: x != 0, "accumulators": ("truth",)}
    answers, of_several = primitives.fold(combine, **answer), primitives.fold(combine, **answer, empty_is_all=False)

    @op(f"aten::{name}.dim", out=Out(f"{name}.out", tags="reduction"), **entry)
    @documented(f"Return whether {text} along a dimension {verb} not zero; a bool, or uint8 for uint8.")
    @formula
    def along(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
        return answers(self, dim, keepdim)

    @op(f"aten::{name}.dims", out=Out(f"{name}.dims_out", tags="reduction"), **entry)
    @documented(f"Return whether {text} along dimensions, along all for ``dim=None``, {verb} not zero.")
    @formula
    def along_several(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
        return of_several(self, dim, keepdim)

    @op(f"aten::{name}", out=Out(f"{name}.all_out", tags="reduction"), **entry)
    @documented(f"Return whether {text} {verb} not zero.")
    @formula
    def of_all(self: Tensor) -> Tensor:
        return answers(self)


declare_question("any", "any element", "is", False, lambda a, b: a or b, ("core", "reduction"))
declare_question("all", "all elements", "are", True, lambda a, b: a and b, "reduction")


# ------------------------------------------------------------------------------------------------------------ logsumexp


@op("aten::logsumexp", variants="function, method", tags="reduction", out=Out("logsumexp.out"))
@formula
def logsumexp(self: Tensor, dim: Annotated[IntList, Size(1)], keepdim: bool = False) -> Tensor:
    """``log(sum(exp(self)))`` along dimensions, without overflow; integers are converted to the default dtype."""
    return logarithms(self, dim, keepdim)


@logsumexp.derivative("self")
def logsumexp_derivative(grad, self, result, dim, keepdim):
    spread, total = (restore_dims(reduced, self.ndim, dim, keepdim) for reduced in (grad, result))
    return slope_of_logsumexp(spread, self, total)


@lib.op(variants="function")
@formula
def slope_of_logsumexp(grad: Tensor, self: Tensor, total: Tensor) -> Tensor:
    """``grad * exp(self - total)``: the gradient of ``logsumexp``, with ``grad`` and ``total`` broadcast to the
    input.
    """
    return grad * exp(self - total).conj()


special_logsumexp = logsumexp.alias("aten::special_logsumexp", variants="function", python_module="special")
