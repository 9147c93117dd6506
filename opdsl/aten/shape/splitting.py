"""Operators that split a dimension into a list of views: ``split``, ``chunk``, ``unbind``, ``tensor_split``,
``hsplit``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.slicing import narrow, select, slice_tensor
from opdsl.declare import Library, forward, op, traceable
from opdsl.errors import DimensionError, OutOfMemoryError
from opdsl.kernels import check
from opdsl.runtime import Tensor, int64, wrap_dimension
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

lib = Library("aten")

# Each part is a tensor object of some hundred bytes, and all exist at once.
_MOST_PARTS = 2**26


def check_count(count: int) -> None:
    """Check that a list of ``count`` tensors fits in memory. Raises OutOfMemoryError: it does not."""
    if count > _MOST_PARTS:
        raise OutOfMemoryError(f"not enough memory for a list of {count} tensors; there are at most {_MOST_PARTS}")


@op("aten::unbind.int", kernel="CompositeExplicitAutograd", variants="function, method")
@traceable
def unbind(self: Tensor[Alias("a", after="*")], dim: int = 0) -> list[Tensor[Alias("a")]]:
    """Return a list of views, one for each index of a dimension, without that dimension."""
    if self.ndim == 0:
        raise DimensionError(f"aten::unbind.int: Dimension specified as {dim} but tensor has no dimensions")
    size = self.shape[wrap_dimension(dim, self.ndim)]
    check_count(size)
    return [select(self, dim, index) for index in range(size)]


def equal_sizes(size: int, split_size: int) -> list[int]:
    """Return the sizes of parts of ``split_size`` each; the last part has the rest.

    Raises:
        ShapeError: ``split_size`` is negative, or 0 for a dimension that is not empty.
    """
    check(split_size >= 0, f"split expects split_size be non-negative, but got split_size={split_size}")
    check(
        split_size > 0 or size == 0,
        f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}",
    )
    count = max(-(-size // split_size), 1) if split_size else 1
    check_count(count)
    return [split_size] * (count - 1) + [size - split_size * (count - 1)]


def parts(tensor: Tensor, sizes: Sequence[int], dim: int) -> list[Tensor]:
    """Return views of consecutive parts of a dimension with the given sizes."""
    starts = list(accumulate(sizes, initial=0))[:-1]
    return [narrow(tensor, dim, start, size) for start, size in zip(starts, sizes, strict=True)]


@traceable
def split_equally(tensor: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """Split a dimension into parts of ``split_size``: the kernel of ``split``.

    Raises:
        ShapeError: see ``equal_sizes``; or the tensor has no dimensions.
        DimensionError: there is no such dimension.
    """
    check(tensor.ndim != 0, "split expects at least a 1-dimensional tensor")
    return parts(tensor, equal_sizes(tensor.shape[wrap_dimension(dim, tensor.ndim)], split_size), dim)


@traceable
def split_by_sizes(tensor: Tensor, sizes: Sequence[int], dim: int) -> list[Tensor]:
    """Split a dimension into parts of given sizes: the kernel of ``split_with_sizes``.

    Raises:
        ShapeError: the sizes do not add up to that of the dimension, or the tensor has no dimensions.
        DimensionError: there is no such dimension.
    """
    check(tensor.ndim != 0, "split expects at least a 1-dimensional tensor")
    size = tensor.shape[wrap_dimension(dim, tensor.ndim)]
    check(
        all(size >= 0 for size in sizes),
        f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}",
    )
    check(
        sum(sizes) == size,
        f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), but "
        f"got split_sizes={list(sizes)}",
    )
    return parts(tensor, sizes, dim)


WITHOUT_CHECKS: dict[str, Any] = {"variants": "function, method"}
"""Options of ``op`` for splits, without device check and device guard."""


@op("aten::split.Tensor", kernel="CompositeExplicitAutograd", **WITHOUT_CHECKS)
def split(self: Tensor[Alias("a", after="*")], split_size: SymInt, dim: int = 0) -> list[Tensor[Alias("a")]]:
    """Return views of consecutive parts of a dimension, each of size ``split_size``; the last may be smaller."""
    return split_equally(self, split_size, dim)


@op("aten::split_with_sizes", kernel="CompositeExplicitAutograd", tags="core", **WITHOUT_CHECKS)
def split_with_sizes(
    self: Tensor[Alias("a", after="*")], split_sizes: list[SymInt], dim: int = 0
) -> list[Tensor[Alias("a")]]:
    """Return views of consecutive parts of a dimension with the given sizes."""
    return split_by_sizes(self, split_sizes, dim)


@lib.op("split.sizes", variants="function, method")
@forward(split_with_sizes, "self", "split_size")
def split_sizes(
    self: Tensor[Alias("a", after="*")], split_size: list[SymInt], dim: int = 0
) -> list[Tensor[Alias("a")]]:
    """Return views of consecutive parts of a dimension with the given sizes."""


# To autograd these parts are not views.
@op("aten::unsafe_split.Tensor", kernel="CompositeExplicitAutograd", may_alias=True, **WITHOUT_CHECKS)
def unsafe_split(self: Tensor, split_size: SymInt, dim: int = 0) -> list[Tensor]:
    """Return ``split`` for callers that write at most one of the parts: autograd does not treat them as views."""
    return split_equally(self, split_size, dim)


@op("aten::unsafe_split_with_sizes", kernel="CompositeExplicitAutograd", may_alias=True, **WITHOUT_CHECKS)
def unsafe_split_with_sizes(self: Tensor, split_sizes: list[SymInt], dim: int = 0) -> list[Tensor]:
    """Return ``split_with_sizes`` for callers that write at most one of the parts: autograd does not treat them as
    views.
    """
    return split_by_sizes(self, split_sizes, dim)


for _split in (unsafe_split, unsafe_split_with_sizes):
    _split.derivative(self=lambda grads, dim: cat(grads, dim))


def chunk_sizes(self: Tensor, chunks: int, dim: int) -> list[int]:
    """Return the sizes of the parts of ``chunk``: equal except for the last. There may be fewer parts than requested.

    Raises:
        ShapeError: fewer than one part, or the tensor has no dimensions.
        DimensionError: there is no such dimension.
        OutOfMemoryError: see ``check_count``.
    """
    check(self.ndim > 0, "chunk expects at least a 1-dimensional tensor")
    check(chunks > 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = self.shape[wrap_dimension(dim, self.ndim)]
    if size:
        return equal_sizes(size, -(-size // chunks))
    check_count(chunks)
    return [0] * chunks


@op("aten::chunk", variants="function, method")
@forward(split_with_sizes, split_sizes=chunk_sizes)
def chunk(self: Tensor[Alias("a", after="*")], chunks: int, dim: int = 0) -> list[Tensor[Alias("a")]]:
    """Split a dimension into ``chunks`` parts of equal size; the last may be smaller, or there may be fewer."""


@op("aten::unsafe_chunk", variants="function, method", tags="maybe_aliasing_or_mutating")
@forward(unsafe_split_with_sizes, split_sizes=chunk_sizes)
def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    """Return ``chunk`` for callers that write at most one of the parts: autograd does not treat them as views."""


def split_at(tensor: Tensor, indices: Sequence[int], dim: int) -> list[Tensor]:
    """Return views of the parts between indices of a dimension; indices out of bounds are clamped as in Python's
    slices.
    """
    bounds = pairwise([0, *indices, tensor.shape[dim]])
    return [slice_tensor(tensor, dim, start, end) for start, end in bounds]


def bounds_of_sections(size: int, sections: int) -> Iterator[int]:
    """Return the start indices of all parts but the first; sizes differ by one at most, and larger parts come first.

    Raises:
        ShapeError: fewer than one part.
        OutOfMemoryError: see ``check_count``.
    """
    check(sections > 0, f"number of sections must be larger than 0, got {sections}")
    check_count(sections)
    least, longer = size // sections, size % sections
    return (index * least + min(index, longer) for index in range(1, sections))


def require_dimension(tensor: Tensor, dim: int) -> int:
    """Return the dimension that ``tensor_split`` splits, counted from the front.

    Raises:
        ShapeError: the tensor has no dimensions.
        DimensionError: there is no such dimension.
    """
    check(
        tensor.ndim > 0,
        f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {tensor.ndim} dims",
    )
    return wrap_dimension(dim, tensor.ndim)


@op("aten::tensor_split.sections", variants="function, method")
@traceable
def tensor_split(self: Tensor[Alias("a", after="*")], sections: SymInt, dim: int = 0) -> list[Tensor[Alias("a")]]:
    """Split a dimension into ``sections`` parts, whose sizes differ by one at most."""
    dimension = require_dimension(self, dim)
    return split_at(self, list(bounds_of_sections(self.shape[dimension], sections)), dimension)


@tensor_split.overload("indices", variants="function, method")
@traceable
def tensor_split_indices(
    self: Tensor[Alias("a", after="*")], indices: list[SymInt], dim: int = 0
) -> list[Tensor[Alias("a")]]:
    """Split a dimension at the given indices."""
    return split_at(self, indices, require_dimension(self, dim))


@tensor_split.overload("tensor_indices_or_sections", variants="function, method")
def tensor_split_by_tensor(
    self: Tensor[Alias("a", after="*")], tensor_indices_or_sections: Tensor, dim: int = 0
) -> list[Tensor[Alias("a")]]:
    """Split a dimension by ``tensor_split``, with a tensor that is the number of parts or the indices."""
    splits = tensor_indices_or_sections
    expected = "tensor_split expected tensor_indices_or_sections to"
    require_dimension(self, dim)
    check(splits.is_cpu, f"{expected} be on cpu, but it's on {splits.device}")
    check(splits.dtype is int64, f"{expected} have dtype of long, but got {splits.dtype.scalar_type}")
    check(
        splits.ndim < 2,
        f"{expected} be a zero-dimensional or one-dimensional tensor, but got a tensor with {splits.ndim} dims",
    )
    return tensor_split(self, splits.tolist(), dim)


def split_dimension(tensor: Tensor, name: str, sections: int | None = None) -> int:
    """Return the dimension that ``hsplit``, ``vsplit`` or ``dsplit`` splits.

    Raises:
        ShapeError: the tensor has too few dimensions, or its size is not divisible by the number of parts.
    """
    least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
    check(
        tensor.ndim >= least,
        f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a tensor "
        f"with {tensor.ndim} dimensions!",
    )
    dim = {"hsplit": min(tensor.ndim - 1, 1), "vsplit": 0, "dsplit": 2}[name]
    size = tensor.shape[dim]
    check(
        sections is None or (sections != 0 and size % sections == 0),
        f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not divisible "
        f"by the split_size {sections}!",
    )
    return dim


def declare_split(name: str, text: str) -> None:
    """Declare ``hsplit``, ``vsplit`` or ``dsplit``, with overloads for parts of equal size and for given indices."""

    @op(f"aten::{name}.int", variants="function, method")
    @forward(tensor_split, dim=lambda self, sections: split_dimension(self, name, sections))
    @documented(f"Return ``sections`` views of parts of equal size {text}.")
    def equal(self: Tensor[Alias("a", after="*")], sections: int) -> list[Tensor[Alias("a")]]: ...

    @op(f"aten::{name}.array", variants="function, method")
    @forward(tensor_split_indices, dim=lambda self: split_dimension(self, name))
    @documented(f"Return views of the parts between ``indices`` {text}.")
    def between(self: Tensor[Alias("a", after="*")], indices: list[int]) -> list[Tensor[Alias("a")]]: ...


declare_split("hsplit", "along the second dimension, or the first of a one-dimensional tensor")
declare_split("vsplit", "along the first dimension")
declare_split("dsplit", "along the third dimension")
