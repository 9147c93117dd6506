"""Operators that write, add or reduce slices at a vector of indices along a dimension (``index_add``, ``index_fill``),
and ``put``.
"""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.checks import check_alpha, is_ordered, require_kernel
from opdsl.aten._shared.index_tensors import BOTH, LONG, among_all, as_int64, require_inside, sizes_of
from opdsl.aten._shared.scalars import plus
from opdsl.aten.index.gathering import require_apart, selected
from opdsl.aten.index.scattering import (
    IN_PLACE,
    REDUCES,
    divide_by_counts,
    scatter_reduce_derivative,
)
from opdsl.declare import Out, op, traceable
from opdsl.errors import DimensionError, DTypeError, PositionError
from opdsl.kernels import Positions, check, clone, copy_, scatter
from opdsl.kernels.iteration.numbers import to_element
from opdsl.runtime import Tensor, require_no_overlap, require_writable, wrap_dimension
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar


def write_selected(self: Tensor, dim: int, index: Tensor, values: Tensor | complex, out: Tensor, *combine: Any) -> None:
    """Write ``self`` to ``out``, with values written or combined at a vector of indices along a dimension.

    Args:
        self, out: of one shape; the same memory in an in-place call.
        dim: the dimension that is indexed.
        index: a vector of int32 or int64.
        values: a number, or a tensor of the shape of ``self`` with ``len(index)`` as the size of the dimension.
        combine: a scalar function of the old element, a value and further numbers, followed by these numbers; nothing
            replaces the elements by the values.
    """
    dimension = wrap_dimension(dim, self.ndim)
    strides, positions = selected(out, dimension, index)
    if out is not self and out.data_ptr() != self.data_ptr():
        copy_(out, self)
    shape = (*self.shape[:dimension], index.numel(), *self.shape[dimension + 1 :]) if self.ndim else (index.numel(),)
    if not self.ndim:
        strides, positions = (0,), positions._replace(tensor=as_int64(index).reshape((-1,)))
    function, *numbers = combine or (None,)
    scatter(out, shape, strides, [positions], values, function, numbers)


@op(
    "aten::index_add",
    variants="function, method",
    inplace=IN_PLACE,
    out=Out(variants="function", precomputed={"dim": {"dim": int}}),
)
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """Return ``self`` with the slices of ``alpha * source`` added at the indices ``index`` along a dimension."""
    ...


@index_add.meta
def index_add_meta(ctx, self, dim, index, source, alpha):
    dimension = wrap_dimension(dim, self.ndim)
    if index.dtype not in BOTH:
        raise DTypeError(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_type}")
    if self.dtype is not source.dtype:
        raise DTypeError(
            f"index_add_(): self ({self.dtype.scalar_type}) and source ({source.dtype.scalar_type}) must have the same "
            "scalar type"
        )
    check_vector("index_add_", self, dimension, index, source)
    check_alpha(self, source, alpha)
    write_checks(ctx, self, dimension, index, source)
    return {"dim": dimension}


@index_add.out_kernel(alias_safe=True)
def index_add_cpu(self, dim, index, source, alpha, out):
    number = to_element(alpha, self.dtype, 1)
    write_selected(self, dim, index, source, out, add_scaled_scalar_function, number)


index_add.derivative(self=lambda grad: grad)


@index_add.derivative("source")
def index_add_source_derivative(grad, dim, index, source, alpha):
    picked = grad.index_select(dim, index) * alpha
    return picked if source.ndim else picked.sum()


def add_scaled_scalar_function(old: Any, new: Any, alpha: Any) -> Any:
    return old + alpha * new


def check_vector(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Check that an index vector fits a source.

    Raises:
        ShapeError: the index has several dimensions or another length than the source, or the shapes do not fit.
    """
    check(index.ndim < 2, f"{name}(): Index is supposed to be a vector", got=index.shape)
    count = source.shape[dim] if source.ndim > dim else 1
    check(
        index.numel() == count,
        f"{name}(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({count}), for dim: {dim}",
    )
    check(
        source.ndim in (0, self.ndim) or self.ndim == 0,
        f"{name}(): When source and destination are not scalars, their dimensionality must match. Source "
        f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})",
    )
    for number, (mine, size) in enumerate(zip(self.shape, source.shape, strict=False)):
        check(
            number == dim or mine == size,
            f"{name}(): Source/destination tensor must have same slice shapes. Destination shape: {list(self.shape)} "
            f"at dimension {dim} and source shape: {list(source.shape)}",
        )


def write_checks(ctx: Any, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Set the output's shape and dtype, and check the bounds of the index and that no memory overlaps.

    Raises:
        OverlapError: the output shares memory with an input.
        PositionError: an index is out of bounds.
    """
    ctx.set_output(0, self.shape, like=self)
    require_apart(ctx.maybe_get_output(), self.shape, "out=", index, source)
    require_inside(as_int64(index), sizes_of(self)[dim], dim)


@op(
    "aten::index_copy",
    variants="function, method",
    inplace=IN_PLACE,
    out=Out(variants="function", precomputed={"dim": {"dim": int}}),
)
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return ``self`` with the slices of ``source`` written at the indices ``index`` along a dimension."""
    ...


@index_copy.meta
def index_copy_meta(ctx, self, dim, index, source):
    dimension = wrap_dimension(dim, self.ndim)
    if index.dtype not in LONG:
        raise DTypeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_type}")
    if self.dtype is not source.dtype:
        raise DTypeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.scalar_type} and (source) {source.dtype.scalar_type}"
        )
    if index.ndim >= 2:
        raise DimensionError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.numel() != 1:
        raise DimensionError(
            f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})"
        )
    if source.ndim and self.ndim and source.ndim != self.ndim:
        raise DimensionError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    check_vector_of_copy(self, dimension, index, source)
    write_checks(ctx, self, dimension, index, source)
    return {"dim": dimension}


def check_vector_of_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Check that the source of ``index_copy`` has the shape of ``self`` with one slice for each index.

    Raises:
        ShapeError: its slices have another shape.
        DimensionError: it has another number of slices than the index has elements.
    """
    mine = [size for number, size in enumerate(self.shape) if number != dim]
    sizes = [size for number, size in enumerate(source.shape) if number != dim]
    check(
        source.ndim == 0 or self.ndim == 0 or mine == sizes,
        "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
        f"{mine} at dimension {dim} and source slice shape: {sizes} at dimension {dim}.",
    )
    if source.ndim and index.numel() != source.shape[dim]:
        raise DimensionError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )


@index_copy.out_kernel(alias_safe=True)
def index_copy_cpu(self, dim, index, source, out):
    write_selected(self, dim, index, source, out)


index_copy.derivative(self=lambda grad, dim, index: grad.index_fill(dim, index, 0))


@index_copy.derivative("source")
def index_copy_source_derivative(grad, dim, index, source):
    picked = grad.index_select(dim, index)
    return picked if source.ndim else picked.sum()


def fill_selected(self: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    """Fill the slices at the indices ``index`` along a dimension in place: the kernel of ``index_fill_``.

    Raises:
        DimensionError: the index is no int64 tensor, or there is no such dimension.
        PositionError: an index is out of bounds.
        ShapeError, OverlapError, NumberError: the arguments do not fit.
    """
    if isinstance(value, Tensor):
        check(
            value.ndim == 0,
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).",
        )
    if index.dtype not in LONG:
        raise DimensionError("index_fill_(): Expected dtype int64 for index.")
    require_writable(self, "aten::index_fill_")
    require_no_overlap(self, index, "aten::index_fill_")
    dimension = wrap_dimension(dim, self.ndim)
    check(index.ndim < 2, "Index has to be a vector/scalar", got=index.shape)
    is_complex = value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)
    check(
        self.is_complex() or not is_complex,
        "index_fill_(): Converting complex Scalar to non-complex type is not supported",
    )
    filled = value if isinstance(value, Tensor) else to_element(value, self.dtype, self.numel())
    require_inside(index, sizes_of(self)[dimension], dimension, least=-sizes_of(self)[dimension])
    shape, strides, position = standing(self, dimension, index)
    scatter(self, shape, strides, [position], filled)
    return self


def standing(self: Tensor, place: int, index: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], Positions]:
    """Return the shape, the strides and the index tensor with which ``scatter`` visits the slices at a vector of
    indices.
    """
    size, strides = sizes_of(self)[place], list(self.strides or (0,))
    stride, strides[place] = strides[place], 0
    shape = (*self.shape[:place], index.numel(), *self.shape[place + 1 :])
    return shape, tuple(strides), Positions(index.reshape((-1, *(1,) * (len(shape) - 1 - place))), size, stride)


@traceable
def filled_copy(self: Tensor, dim: int, index: Tensor, value: Tensor | complex) -> Tensor:
    """Return a copy with filled slices: the kernel of ``index_fill``."""
    return self.clone().index_fill_(dim, index, value)


@op("aten::index_fill_.int_Scalar", kernel=True, variants="method")
def index_fill_number_(
    self: Tensor[Alias("a", write=True)], dim: int, index: Tensor, value: Scalar
) -> Tensor[Alias("a", write=True)]:
    """Fill the slices at the indices ``index`` along a dimension with a number, in place."""
    return fill_selected(self, dim, index, value)


@op("aten::index_fill_.int_Tensor", kernel=True, variants="method")
def index_fill_tensor_(
    self: Tensor[Alias("a", write=True)], dim: int, index: Tensor, value: Tensor
) -> Tensor[Alias("a", write=True)]:
    """Fill the slices at the indices ``index`` along a dimension with the element of a zero-dim tensor, in place."""
    return fill_selected(self, dim, index, value)


@op("aten::index_fill.int_Scalar", kernel="CompositeExplicitAutograd", variants="function, method")
def index_fill_number(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
    """Return ``self`` with the slices at the indices ``index`` along a dimension set to a number."""
    return filled_copy(self, dim, index, value)


@op("aten::index_fill.int_Tensor", kernel="CompositeExplicitAutograd", variants="function, method")
def index_fill_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """Return ``self`` with the slices at the indices ``index`` along a dimension set to the element of a zero-dim
    tensor.
    """
    return filled_copy(self, dim, index, value)


for _fill in (index_fill_number_, index_fill_tensor_, index_fill_number, index_fill_tensor):
    _fill.derivative(self=lambda grad, dim, index: grad.index_fill(dim, index, 0))
for _fill in (index_fill_tensor_, index_fill_tensor):
    _fill.derivative(value=lambda grad, dim, index: (grad * grad.new_zeros(grad.shape).index_fill(dim, index, 1)).sum())


@op("aten::put_", kernel=True, variants="method")
def put_(
    self: Tensor[Alias("a", write=True)], index: Tensor, source: Tensor, accumulate: bool = False
) -> Tensor[Alias("a", write=True)]:
    """Write values at indices into the flattened tensor, or add them if ``accumulate``, in place."""
    if index.dtype not in LONG:
        raise DTypeError(f"put_(): Expected a long tensor for index, but got {index.dtype.scalar_type}")
    if self.dtype is not source.dtype:
        raise DTypeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {self.dtype.scalar_type} "
            f"and source.dtype = {source.dtype.scalar_type}"
        )
    check(
        source.numel() == index.numel(),
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
        f"{source.numel()}, index.numel() = {index.numel()}",
    )
    require_writable(self, "aten::put_")
    for read in (index, source):
        require_no_overlap(self, read, "aten::put_")
    if self.numel() == 0 and index.numel():
        raise PositionError("put_(): Tried to put elements into an empty tensor")
    flat = index.reshape((-1,))
    positions = among_all(self, flat)
    scatter(self, flat.shape, (0,), positions, source.reshape((-1,)), plus if accumulate else None)
    return self


@put_.derivative("self")
def put_derivative(grad, index, source, accumulate):
    return grad if accumulate else grad.put(index, grad.new_zeros(source.shape), False)


put_.derivative(source=lambda grad, index, source: grad.take(index).reshape(source.shape))


@op("aten::put", kernel="CompositeExplicitAutograd", variants="function, method")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Return ``self`` with values written at indices into the flattened tensor, or added if ``accumulate``."""
    return clone(self).put_(index, source, accumulate)


put.derivative(put_)


# Initial values with include_self=False; extrema begin with a value of the source.
NEUTRAL = {"prod": 1, "mean": 0}
KINDS = ("prod", "mean", "amax", "amin")


@op(
    "aten::index_reduce",
    variants="function, method",
    inplace=IN_PLACE,
    out=Out(variants="function", precomputed={"dim": {"dim": int}}),
)
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Return ``self`` with the slices of ``source`` reduced into those at the indices ``index`` along a dimension.

    Args:
        self: any numbers but complex ones.
        dim: the dimension.
        index: for each slice of ``source``, the index of the slice of ``self`` that it is reduced into.
        source: of the dtype of ``self``, with one slice for each index.
        reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
        include_self: whether the elements of ``self`` are part of the reduction.
    """
    ...


@index_reduce.meta
def index_reduce_meta(ctx, self, dim, index, source, reduce, include_self):
    dimension = wrap_dimension(dim, self.ndim)
    check(reduce in KINDS, f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    require_kernel(is_ordered(self.dtype), "index_reduce", self.dtype)
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
        divide_by_counts(out, include_self, lambda counts: write_selected(counts, dim, index, 1, counts, plus))


@index_reduce.derivative("self", "source")
def index_reduce_derivative(grad, self, dim, index, source, reduce, include_self, result):
    if not self.ndim:
        grad, self, result = (tensor.reshape((1,)) for tensor in (grad, self, result))
    updates = source.reshape((-1,)) if self.ndim == 1 else source
    dimension = wrap_dimension(dim, self.ndim)
    shape = [-1 if number == dimension else 1 for number in range(self.ndim)]
    places = index.reshape(shape).expand(updates.shape)
    gradients: Any = scatter_reduce_derivative(grad, self, dim, places, updates, reduce, include_self, result)
    of_self, of_source = gradients
    return of_self, of_source.reshape(source.shape)
