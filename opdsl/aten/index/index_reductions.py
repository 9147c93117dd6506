"""``index_reduce``: products, means and extrema at positions along a dimension."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.index_tensors import BOTH
from opdsl.aten.create.factories import full
from opdsl.aten.index.index_writing import check_vector, write_checks, write_selected
from opdsl.aten.index.scattering import IN_PLACE, REDUCES, add_scalar_function, scatter_reduce_derivative
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import Out, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_
from opdsl.runtime import Category, Tensor, bool_, wrap_dimension

# What replaces an element that does not count; extrema begin with a value of the source.
NEUTRAL = {"prod": 1, "mean": 0}
KINDS = ("prod", "mean", "amax", "amin")


@op(
    "aten::index_reduce",
    variants="function, method",
    inplace=IN_PLACE,
    out=Out(variants="function", precomputed=("dim -> int dim",)),
)
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``self`` with slices of ``source`` multiplied, averaged or compared at positions of a dimension.

    Args:
        self: any numbers but complex ones.
        dim: the dimension.
        index: which position each slice of ``source`` belongs to.
        source: of the same dtype, with the positions in place of the dimension.
        reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
        include_self: whether what is there counts.
    """
    ...


@index_reduce.meta
def index_reduce_meta(ctx, self, dim, index, source, reduce, include_self):
    dimension = wrap_dimension(dim, self.ndim)
    check(
        reduce in KINDS,
        f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
    )
    if self.dtype is bool_ or self.dtype.is_complex:
        raise UnsupportedDTypeError(f"\"index_reduce\" not implemented for '{self.dtype.scalar_type}'")
    if index.dtype not in BOTH:
        raise DTypeError(f"index_reduce(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_type}")
    if self.dtype is not source.dtype:
        raise DTypeError(
            f"index_reduce(): self ({self.dtype.scalar_type}) and source ({source.dtype.scalar_type}) must have the "
            "same scalar type"
        )
    check_vector("index_reduce", self, dimension, index, source)
    write_checks(ctx, self, dimension, index, source)
    return {"dim": dimension}


@index_reduce.out_kernel(alias_safe=True)
def index_reduce_cpu(self, dim, index, source, reduce, include_self, out):
    if not include_self:
        write_selected(self, dim, index, NEUTRAL.get(reduce, source), out)
        self = out
    write_selected(self, dim, index, source, out, REDUCES[reduce])
    if reduce == "mean":
        counts = full(out.shape, int(include_self), dtype=out.dtype, device=out.device)
        write_selected(counts, dim, index, 1, counts, add_scalar_function)
        counts = where(counts == 0, full([], 1, dtype=out.dtype, device=out.device), counts)
        rounding_mode = None if out.dtype.category >= Category.FLOAT else "floor"
        copy_(out, out.div(counts, rounding_mode=rounding_mode))


@index_reduce.derivative("self", "source")
def index_reduce_derivative(grad, self, dim, index, source, reduce, include_self, result):
    if not self.ndim:
        grad, self, result = (each.reshape((1,)) for each in (grad, self, result))
    given = source.reshape((-1,)) if self.ndim == 1 else source
    dimension = wrap_dimension(dim, self.ndim)
    shape = [-1 if each == dimension else 1 for each in range(self.ndim)]
    places = index.reshape(shape).expand(given.shape)
    found: Any = scatter_reduce_derivative(grad, self, dim, places, given, reduce, include_self, result)
    of_self, of_source = found
    return of_self, of_source.reshape(source.shape)
