"""Operators that write or reduce values at indices along a dimension: ``scatter``, ``scatter_add``,
``scatter_reduce``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.aten._shared.index_tensors import BOTH, along, sizes_of
from opdsl.aten._shared.scalars import larger, plus, smaller, times
from opdsl.aten._shared.sharing import shared
from opdsl.aten.create.factories import full
from opdsl.aten.create.like_factories import ones_like, zeros_like
from opdsl.aten.index.gathering import require_apart
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Inplace, Out, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, scatter
from opdsl.kernels.iteration.numbers import to_element
from opdsl.runtime import Category, Tensor, bool_, int64, wrap_dimension
from opdsl.schema.vocabulary import Scalar

IN_PLACE = Inplace(variants="method")

# ----------------------------------------------------------------------------------------------- functions that combine


# Keyed by the names that `scatter` uses.
COMBINES = {"add": plus, "multiply": times}

# Keyed by the names that `scatter_reduce` uses. A mean is a sum that is divided afterwards.
REDUCES = {
    "sum": plus,
    "prod": times,
    "mean": plus,
    "amax": larger,
    "amin": smaller,
}

# Initial values of sums and products with include_self=False.
NEUTRAL = {"sum": 0, "mean": 0, "prod": 1}


def scatter_checks(
    ctx: Any, self: Tensor, dim: int, index: Tensor, *, src: Tensor | None = None, reduce: str | None = None
) -> None:
    """Check the arguments of a scatter and set its output (``scatter_meta_impl`` in
    ATen/native/TensorAdvancedIndexing.cpp).

    Raises:
        DTypeError, ShapeError, DimensionError, OverlapError, PositionError: the arguments do not fit.
    """
    check(reduce is None or reduce in COMBINES, "reduce argument must be either add or multiply.")
    dimension = wrap_dimension(dim, self.ndim)
    if index.numel() and index.dtype not in BOTH:
        raise DTypeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype is not self.dtype:
        raise DTypeError("scatter(): Expected self.dtype to be equal to src.dtype")
    ctx.set_output(0, self.shape, like=self)
    out = ctx.maybe_get_output()
    require_apart(out, self.shape, "aten::scatter.out", index, *(() if src is None else (src,)))
    if index.numel() == 0:
        return
    sizes, wanted = sizes_of(self), sizes_of(index)
    check(len(sizes) == len(wanted), "Index tensor must have the same number of dimensions as self tensor")
    if src is not None:
        numbers = sizes_of(src)
        check(len(numbers) == len(wanted), "Index tensor must have the same number of dimensions as src tensor")
    for number, size in enumerate(wanted):
        fits = (number == dimension or size <= sizes[number]) and (src is None or size <= numbers[number])
        beside = "" if src is None else f" and to be smaller than src {list(src.shape)}"
        check(
            fits,
            f"Expected index {list(index.shape)} to be smaller than self {list(self.shape)} apart from dimension "
            f"{dimension}{beside}",
        )
    along(self, dimension, index)


def write_along(
    self: Tensor,
    dim: int,
    index: Tensor,
    values: Tensor | complex,
    out: Tensor,
    combine: Callable[..., Any] | None = None,
) -> None:
    """Write ``self`` to ``out``, with values written or combined at indices along a dimension.

    Args:
        self, out: of one shape; the same memory in an in-place call.
        dim: the dimension that is indexed.
        index: int32 or int64.
        values: a number, or a tensor at least as large as ``index`` in every dimension.
        combine: a scalar function of the old element and a value; None replaces the element by the value.
    """
    dimension = wrap_dimension(dim, self.ndim)
    strides, positions = along(out, dimension, index) if index.numel() else ((), None)
    if out is not self and out.data_ptr() != self.data_ptr():
        copy_(out, self)
    if positions is None:
        return
    if isinstance(values, Tensor) and values.shape != index.shape:
        values = first_of_each(values, index.shape)
    scatter(out, index.shape, strides, [positions], values, combine)


def first_of_each(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the leading part of a tensor: the first ``shape[i]`` elements along dimension i. Zero-dim tensors stay as
    they are.
    """
    for dim, size in enumerate(shape if values.ndim else ()):
        values = values.narrow(dim, 0, size)
    return values


# ------------------------------------------------------------------------------------------------- scatter, scatter_add


def into(name: str) -> Out:
    """Return the description of an ``out=`` variant of the given name."""
    return Out(name, variants="function")


SCATTER: dict[str, Any] = {"variants": "function, method", "inplace": IN_PLACE}


@op("aten::scatter.src", out=into("scatter.src_out"), tags="core", **SCATTER)
def scatter_src(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``self`` with ``src`` written at indices along ``dim``: ``self[index[i, j], j] = src[i, j]`` for
    ``dim=0``.
    """
    ...


@op("aten::scatter.value", out=into("scatter.value_out"), tags="core", **SCATTER)
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
    """Return ``self`` with a number written at indices along ``dim``: ``self[index[i, j], j] = value`` for
    ``dim=0``.
    """
    ...


@op("aten::scatter.reduce", out=into("scatter.reduce_out"), **SCATTER)
def scatter_combined(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """Return ``self`` with ``src`` added or multiplied (``reduce``) to the elements at indices along a dimension."""
    ...


@op("aten::scatter.value_reduce", out=into("scatter.value_reduce_out"), **SCATTER)
def scatter_value_reduce(self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
    """Return ``self`` with a number added or multiplied (``reduce``) to the elements at indices along a dimension."""
    ...


@op("aten::scatter_add", out=Out(variants="function"), tags="core", **SCATTER)
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``self`` with ``src`` added at indices along ``dim``: ``self[index[i, j], j] += src[i, j]`` for
    ``dim=0``.
    """
    ...


def scatter_kernel(
    self: Tensor,
    dim: int,
    index: Tensor,
    out: Tensor,
    *,
    src: Tensor | None = None,
    value: complex = 0,
    reduce: str | None = None,
) -> None:
    values = to_element(value, self.dtype, self.numel()) if src is None else src
    write_along(self, dim, index, values, out, None if reduce is None else COMBINES[reduce])


for _scatter in (scatter_src, scatter_value, scatter_combined, scatter_value_reduce):
    _scatter.meta(scatter_checks)
    _scatter.out_kernel(alias_safe=True)(scatter_kernel)
scatter_add.meta(scatter_checks)


@scatter_add.out_kernel(alias_safe=True)
def scatter_add_kernel(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    write_along(self, dim, index, src, out, plus)


def read_part(source: Tensor, index: Tensor) -> Tensor:
    """Return the leading part of ``source`` that a scatter with the given index reads: as large as ``index``."""
    for dim, size in enumerate(index.shape):
        if size < source.shape[dim]:
            source = source.narrow(dim, 0, size)
    return source


def written_part(gradient: Tensor, source: Tensor) -> Tensor:
    """Pad the gradient of the part of a source that was read with zeros to the shape of the source."""
    if gradient.shape == source.shape:
        return gradient
    whole = gradient.new_zeros(source.shape)
    part = whole
    for dim, size in enumerate(gradient.shape):
        part = part.narrow(dim, 0, size)
    part.copy_(gradient)
    return whole


for _scatter in (scatter_src, scatter_value):
    _scatter.derivative(self=lambda grad, dim, index: grad.scatter(dim, index, 0))
for _scatter in (scatter_src, scatter_add):
    _scatter.derivative(src=lambda grad, dim, index, src: written_part(grad.gather(dim, index), src))
scatter_add.derivative(self=lambda grad: grad)


# ------------------------------------------------------------------------------------------------------- scatter_reduce


@op(
    "aten::scatter_reduce.two",
    variants="function, method",
    tags="core",
    inplace=IN_PLACE,
    out=Out("scatter_reduce.two_out", variants="function"),
)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Return ``self`` with ``src`` reduced (sum, product, mean or extremum) into the elements at indices along a
    dimension.

    With ``include_self=False`` the elements of ``self`` at the indices are not part of the reduction.
    """
    ...


@scatter_reduce.meta
def scatter_reduce_meta(ctx, self, dim, index, src, reduce):
    check(reduce in REDUCES, f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if (self.is_complex() and reduce in ("amax", "amin")) or (self.dtype is bool_ and reduce == "mean"):
        raise UnsupportedDTypeError(f'"scatter_reduce_{reduce}" not implemented for {self.dtype.scalar_type}')
    scatter_checks(ctx, self, dim, index, src=src)


@scatter_reduce.out_kernel(alias_safe=True)
def scatter_reduce_cpu(self, dim, index, src, reduce, include_self, out):
    if not include_self and index.numel():
        # Extrema begin with a value of src, which may count twice; sums and products begin with their neutral element.
        write_along(self, dim, index, NEUTRAL.get(reduce, src), out)
        self = out
    write_along(self, dim, index, src, out, REDUCES[reduce])
    if reduce == "mean" and index.numel():
        divide_by_counts(out, include_self, lambda counts: write_along(counts, dim, index, 1, counts, plus))


@scatter_reduce.derivative("self", "src")
def scatter_reduce_derivative(grad, self, dim, index, src, reduce, include_self, result):
    """Return the gradients of ``scatter_reduce`` as ATen does: extrema divide their gradient evenly among equal
    elements.
    """
    whole, src = src, read_part(src, index)
    if reduce == "sum":
        for_self, for_src = grad, grad.gather(dim, index)
    elif reduce == "mean":
        start = grad.new_full(grad.shape, int(include_self), dtype=int64)
        counts = start.scatter_add(dim, index, ones_like(src, dtype=int64)).clamp(min=1)
        for_self = shared(grad, counts)
        for_src = for_self.gather(dim, index)
    elif reduce == "prod":
        for_self, for_src = product_gradients(grad, self, dim, index, src, include_self, result)
    else:
        value = result.gather(dim, index)
        is_self, is_src = self == result, src == value
        counts = is_self.to(int64).scatter_add(dim, index, is_src.to(int64))
        part = shared(grad, counts)
        for_self, for_src = where(is_self, part, 0.0), where(is_src, part.gather(dim, index), 0.0)
    return (for_self if include_self else for_self.scatter(dim, index, 0)), written_part(for_src, whole)


def product_gradients(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of a product reduction for ``self`` and ``src``; also correct if a single factor is 0."""
    self, src, result = self.conj(), src.conj(), result.conj()
    masked = self.masked_fill(self == 0, 1)
    others = masked.scatter_reduce(dim, index, src, "prod", include_self=include_self)
    for_self = grad * others / masked
    is_zero = src == 0
    zeros = zeros_like(self).scatter_add(dim, index, is_zero.to(src.dtype)).gather(dim, index)
    nonzero = src.masked_fill(is_zero, 1)
    without_zeros = self.scatter_reduce(dim, index, nonzero, "prod", include_self=include_self).gather(dim, index)
    alone = is_zero.logical_and(zeros == 1)
    quotient = grad.gather(dim, index) * result.gather(dim, index) / nonzero
    return for_self, where(alone, grad.gather(dim, index) * without_zeros, quotient)


def divide_by_counts(sums: Tensor, include_self: bool, count: Callable[[Tensor], None]) -> None:
    """Divide sums in place by the number of their summands; integers are rounded down.

    Args:
        sums: the sums.
        include_self: whether the former elements were summands, too.
        count: adds to a tensor of the shape of the sums the numbers of further summands.
    """
    counts = full(sums.shape, int(include_self), dtype=int64, device=sums.device)
    count(counts)
    counts = counts.clamp(min=1)
    is_float = sums.dtype.category >= Category.FLOAT
    copy_(sums, shared(sums, counts) if is_float else sums.div(counts, rounding_mode="floor"))
