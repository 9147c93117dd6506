"""Operators that search sorted boundaries (``searchsorted``, ``bucketize``) or test membership (``isin``).

The rules are those of ATen/native/Bucketization.cpp and TensorCompare.cpp.
"""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.checks import CONVERT, is_ordered, require_kernel
from opdsl.aten.index.sorted_positions import places_above
from opdsl.aten.index.sorting import sort_stable
from opdsl.aten.index.uniqueness import distinct
from opdsl.aten.shape.joining import cat
from opdsl.declare import Out, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DTypeError
from opdsl.kernels import MetaContext, check, copy_, range_of
from opdsl.runtime import Category, Tensor, bool_, float64, int32, int64, number_dtype, result_type
from opdsl.schema.vocabulary import Scalar

# --------------------------------------------------------------------------------------------------------- searchsorted


def is_behind(right: bool, side: str | None) -> bool:
    """Return whether a value is inserted after boundaries that equal it, according to ``right`` or ``side``.

    Raises:
        ShapeError: ``side`` is neither "left" nor "right", or contradicts ``right``.
    """
    check(side in (None, "left", "right"), f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    check(
        not (right and side == "left"),
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True",
    )
    return right or side == "right"


def check_sorter(boundaries: Tensor, sorter: Tensor | None) -> None:
    """Check that a sorter has the shape of the boundaries and valid indices.

    Raises:
        ShapeError: its shape differs, or an index is out of bounds.
        DTypeError: its dtype is not int64.
    """
    if sorter is None:
        return
    check(
        sorter.shape == boundaries.shape,
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
        f"{list(boundaries.shape)}and got sorter tensor {list(sorter.shape)}",
    )
    if sorter.dtype is not int64:
        raise DTypeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_type}"
        )
    numbers = None if sorter.is_meta else range_of(sorter)
    check(
        numbers is None or (numbers[0] >= 0 and numbers[1] < boundaries.shape[-1]),
        "torch.searchsorted(): sorter index out of range",
    )


def check_boundaries(boundaries: Tensor, shape: tuple[int, ...]) -> None:
    """Check that the boundaries' shape fits the values' ``shape`` (``searchsorted_pre_check``).

    Raises:
        ShapeError: the shapes do not fit.
    """
    ndim = boundaries.ndim
    check(
        len(shape) > 0 or ndim == 1,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        f"boundaries tensor dim({ndim}) and input value's dim({len(shape)}) numel(1)",
    )
    check(ndim != 0, "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    check(
        ndim == 1 or boundaries.shape[:-1] == shape[:-1],
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
        f"tensor and input value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and input "
        f"value tensor {list(shape)}",
    )


def places_meta(ctx: MetaContext, boundaries: Tensor, self: Tensor | Scalar, out_int32: bool) -> None:
    """Check the arguments of ``searchsorted`` or ``bucketize`` and set the shape and dtype of the output."""
    shape = self.shape if isinstance(self, Tensor) else ()
    wanted = int32 if out_int32 else int64
    out = ctx.maybe_get_output()
    if out is not None and out.dtype is not wanted:
        raise DTypeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
            f"on whether out_int32 flag is True, but we got output tensor's dtype {out.dtype.scalar_type} and "
            f"out_int32 flag is {out_int32}"
        )
    check_boundaries(boundaries, shape)
    if 0 not in shape:
        common = result_type((boundaries, self), get_default_dtype())
        require_kernel(is_ordered(common), "searchsorted_out_cpu", common, CONVERT)
    ctx.set_output(0, shape, like=boundaries, dtype=wanted)


def write_places(out: Tensor, boundaries: Tensor, self: Tensor | Scalar, right: bool, sorter: Tensor | None) -> None:
    """Write to ``out`` the index at which each value would be inserted into its sorted boundaries."""
    if out.numel() == 0:
        return
    common = result_type((boundaries, self), get_default_dtype())
    if sorter is not None:
        boundaries = boundaries.gather(-1, sorter)
    values = self if isinstance(self, Tensor) else boundaries.new_full((), self, dtype=number_dtype(self))
    wide = float64 if common.category is Category.FLOAT else int64
    edges, rows = (tensor.to(common).to(wide) for tensor in (boundaries, values))
    count = boundaries.numel() // max(boundaries.shape[-1], 1) if boundaries.ndim > 1 else 1
    # A reshape cannot infer the number of rows of no boundaries.
    if boundaries.shape[-1] == 0:
        out.fill_(0)
        return
    places = places_above(edges.reshape((count, -1)), rows.reshape((count, -1)), right)
    copy_(out, places.reshape(out.shape))


@op("aten::searchsorted.Tensor", out=Out("searchsorted.Tensor_out"))
def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return the indices at which numbers would be inserted into sorted numbers to keep these sorted.

    Args:
        sorted_sequence: sorted along its last dimension; a vector, or one row for each row of ``self``.
        self: the numbers.
        out_int32: whether the indices are int32 instead of int64.
        right: whether a number is inserted after those that equal it.
        side: ``left`` or ``right``, an alternative to the argument ``right``.
        sorter: indices that sort ``sorted_sequence``, which then need not be sorted.

    >>> import opdsl
    >>> opdsl.searchsorted(opdsl.tensor([1, 3, 5]), opdsl.tensor([3, 6]))
    tensor([1, 3])
    """
    ...


@searchsorted.meta
def searchsorted_meta(ctx, sorted_sequence, self, out_int32, right, side, sorter):
    is_behind(right, side)
    places_meta(ctx, sorted_sequence, self, out_int32)
    check_sorter(sorted_sequence, sorter)


@searchsorted.out_kernel
def searchsorted_cpu(sorted_sequence, self, out_int32, right, side, sorter, out):
    write_places(out, sorted_sequence, self, is_behind(right, side), sorter)


@searchsorted.overload("Scalar", out=Out("searchsorted.Scalar_out"))
def searchsorted_scalar(
    sorted_sequence: Tensor,
    self: Scalar,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return the index at which a number would be inserted into sorted numbers to keep these sorted."""
    ...


searchsorted_scalar.meta(searchsorted_meta)
searchsorted_scalar.out_kernel(searchsorted_cpu)


# ------------------------------------------------------------------------------------------------------------ bucketize


@op("aten::bucketize.Tensor", out=Out("bucketize.Tensor_out"))
def bucketize(self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return for each number the index of the interval between sorted boundaries that contains it.

    A number that equals a boundary belongs to the interval before the boundary, or to the one after it if ``right``.
    """
    ...


@bucketize.meta
def bucketize_meta(ctx, self, boundaries, out_int32):
    check(boundaries.ndim == 1, f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    places_meta(ctx, boundaries, self, out_int32)


bucketize.out_kernel(lambda self, boundaries, right, out: write_places(out, boundaries, self, right, None))


@bucketize.overload("Scalar", kernel=True)
def bucketize_scalar(self: Scalar, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return the index of the interval between sorted boundaries that contains a number."""
    check(boundaries.ndim == 1, f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted_scalar(boundaries, self, out_int32=out_int32, right=right)


# ----------------------------------------------------------------------------------------------------------------- isin

# Up to this many pairs of elements and tests are compared at once.
_PAIRS = 1 << 20


def found_by_sorting(elements: Tensor, tests: Tensor, *, assume_unique: bool) -> Tensor:
    """Return a mask of the elements that occur in ``tests``: after sorting both together, equal neighbors reveal
    them.
    """
    if assume_unique:
        values, inverse = elements.flatten(), None
    else:
        values, inverse, _ = distinct(elements.flatten())
        tests = distinct(tests.flatten())[0]
    ordered, order = sort_stable(cat((values, tests.flatten())), stable=True)
    repeats = ordered.new_zeros(ordered.shape, dtype=bool_)
    repeats.narrow(0, 0, ordered.shape[0] - 1).copy_(ordered[1:] == ordered[:-1])
    mask = repeats.new_zeros(repeats.shape).scatter(0, order, repeats).narrow(0, 0, values.shape[0])
    return (mask if inverse is None else mask.index_select(0, inverse)).reshape(elements.shape)


def found_one_by_one(elements: Tensor, tests: Tensor) -> Tensor:
    """Return a mask of the elements that occur in ``tests``, by comparing all of them with each test; for few tests."""
    if elements.numel() * tests.numel() <= _PAIRS:
        found_by_pairs: Tensor = (elements.unsqueeze(-1) == tests.flatten()).any(-1)
        return found_by_pairs
    contained = elements.new_zeros(elements.shape, dtype=bool_)
    for test in tests.flatten().unbind():
        contained = contained.logical_or(elements == test)
    return contained


def is_among(elements: Tensor, tests: Tensor, *, assume_unique: bool) -> Tensor:
    """Return a mask of the elements that occur in ``tests``, by comparison or by sorting as in
    ``isin_Tensor_Tensor_out`` of ATen.
    """
    if elements.numel() == 0 or tests.numel() == 0:
        return elements.new_zeros(elements.shape, dtype=bool_)
    common = result_type((elements, tests), get_default_dtype())
    elements, tests = elements.to(common), tests.to(common)
    if tests.numel() + 1 <= 10.0 * elements.numel() ** 0.145:  # PyTorch rounds the bound down, and compares with <
        return found_one_by_one(elements, tests)
    return found_by_sorting(elements, tests, assume_unique=assume_unique)


@op("aten::isin.Tensor_Tensor", out=True)
def isin_tensor_tensor(
    elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return a mask of the elements that occur in ``test_elements``, or of those that do not if ``invert``. NaN never
    does.
    """
    ...


@op("aten::isin.Tensor_Scalar", out=True)
def isin_tensor_scalar(
    elements: Tensor, test_element: Scalar, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return a mask of the elements that equal a number, or of those that do not if ``invert``."""
    ...


@op("aten::isin.Scalar_Tensor", out=True)
def isin_scalar_tensor(
    element: Scalar, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether a number occurs in ``test_elements``, or whether it does not if ``invert``."""
    ...


def isin_meta(ctx: MetaContext, *, elements: Tensor | None = None, test_elements: Tensor | None = None) -> None:
    for tensor in (elements, test_elements):
        if tensor is not None and (tensor.dtype is bool_ or tensor.dtype.is_complex):
            raise DTypeError(f"Unsupported input type encountered for isin(): {tensor.dtype.scalar_type}")
    like = test_elements if elements is None else elements
    ctx.set_output(0, () if elements is None else elements.shape, like=like, dtype=bool_)


def isin_kernel(
    assume_unique: bool,
    invert: bool,
    out: Tensor,
    *,
    elements: Tensor | None = None,
    test_elements: Tensor | None = None,
    element: complex = 0,
    test_element: complex = 0,
) -> None:
    if test_elements is None:
        differs: Any = elements != test_element if invert else elements == test_element
        copy_(out, differs)
        return
    if elements is None:
        among: Any = (test_elements == element).any()
    else:
        among = is_among(elements, test_elements, assume_unique=assume_unique)
    copy_(out, among.logical_not() if invert else among)


for _isin in (isin_tensor_tensor, isin_tensor_scalar, isin_scalar_tensor):
    _isin.meta(isin_meta)
    _isin.out_kernel(isin_kernel)
