"""Views: computes shapes, strides and offsets of views, by PyTorch's rules and with its error messages.

The functions map the memory layout of a tensor to that of its view. They access no memory, so meta tensors and plans
use them, too; ``viewing.make_view(tensor, *transpose(viewing.view_of(tensor), 0, 1))`` makes a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opdsl.errors import DimensionError, ShapeError
from opdsl.runtime.dtype import DType
from opdsl.runtime.strides import contiguous_strides, number_of_elements, wrap_dimension

Sizes = tuple[int, ...]


class View(NamedTuple):
    """Memory layout of a view: shape, strides and offset.

    shape, strides: sizes, and strides in elements.
    offset: the elements in the storage before the first one, ``Tensor.storage_offset()``.
    """

    shape: Sizes
    strides: Sizes
    offset: int = 0


# ------------------------------------------------------------------------------------------------- view and reshape


def infer_size(shape: Sequence[int], numel: int) -> Sizes:
    """Return a shape with its -1, if there is one, replaced by the inferred size (aten/src/ATen/InferSize.h).

    Raises:
        ShapeError: the shape does not have ``numel`` elements, or cannot be inferred.

    >>> infer_size((2, -1), 6)
    (2, 3)
    """
    unknown: int | None = None
    known = 1
    for dim, size in enumerate(shape):
        if size == -1:
            if unknown is not None:
                raise ShapeError("only one dimension can be inferred")
            unknown = dim
        elif size < 0:
            raise ShapeError(f"invalid shape dimension {size} at index {dim} of shape {list(shape)}")
        else:
            known *= size
    if unknown is None and known == numel:
        return tuple(shape)
    if unknown is None or (known and numel % known) or (known == 0 and numel):
        raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if known == 0:
        raise ShapeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    return (*shape[:unknown], numel // known, *shape[unknown + 1 :])


def view_strides(shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]) -> Sizes | None:
    """Return the strides with which ``new_shape`` is a view of the same elements; None if they must be copied.

    ``computeStride`` in aten/src/ATen/TensorUtils.cpp: dimensions are merged into chunks with uniform strides, and
    every chunk has to be filled by dimensions of the new shape.

    >>> view_strides((2, 3), (3, 1), (3, 2)), view_strides((2, 3), (1, 2), (6,))
    ((2, 1), None)
    """
    if not shape:
        return (1,) * len(new_shape)
    if number_of_elements(shape) == 0:
        return tuple(strides) if tuple(shape) == tuple(new_shape) else contiguous_strides(new_shape)
    new_strides = [0] * len(new_shape)
    new_dim = len(new_shape) - 1
    chunk_stride, chunk_numel, new_numel = strides[-1], 1, 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk_numel *= shape[dim]
        if dim and (shape[dim - 1] == 1 or strides[dim - 1] == chunk_numel * chunk_stride):
            continue
        while new_dim >= 0 and (new_numel < chunk_numel or new_shape[new_dim] == 1):
            new_strides[new_dim] = new_numel * chunk_stride
            new_numel *= new_shape[new_dim]
            new_dim -= 1
        if new_numel != chunk_numel:
            return None
        if dim:
            chunk_stride, chunk_numel, new_numel = strides[dim - 1], 1, 1
    return tuple(new_strides) if new_dim == -1 else None


def view(source: View, new_shape: Sequence[int]) -> View:
    """Return the view of ``Tensor.view``: the same elements with another shape.

    Raises:
        ShapeError: the number of elements differs, or the elements would have to be copied.
    """
    inferred = infer_size(new_shape, number_of_elements(source.shape))
    new_strides = view_strides(source.shape, source.strides, inferred)
    if new_strides is None:
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return View(inferred, new_strides, source.offset)


def reshape(source: View, new_shape: Sequence[int]) -> tuple[Sizes, View | None]:
    """Return the inferred shape of ``Tensor.reshape``, and its view, or None if the elements have to be copied.

    Raises:
        ShapeError: the number of elements differs.
    """
    inferred = infer_size(new_shape, number_of_elements(source.shape))
    new_strides = view_strides(source.shape, source.strides, inferred)
    return inferred, None if new_strides is None else View(inferred, new_strides, source.offset)


def view_as_dtype(source: View, dtype: DType, new_dtype: DType) -> View:
    """Return the view of ``Tensor.view(dtype)``: the same bytes as elements of another dtype.

    Args:
        source: the layout of the tensor; its storage offset has to be a multiple of the new elements, too.
        dtype, new_dtype: the dtypes of the tensor and of the view.

    Returns:
        The view, in new elements.

    Raises:
        ShapeError: the bytes do not divide into whole elements.
    """
    shape, strides, offset = source
    old_size, new_size = dtype.itemsize, new_dtype.itemsize
    if old_size == new_size:
        return View(shape, strides, offset)
    clause = f"to view {dtype.scalar_type} as {new_dtype.scalar_type} (different element sizes)"
    if not shape:
        raise ShapeError(f"self.dim() cannot be 0 {clause}")
    if old_size > new_size:
        _require_adjacent(strides, clause)
        ratio = old_size // new_size
        wider = tuple(stride * ratio for stride in strides[:-1])
        return View((*shape[:-1], shape[-1] * ratio), (*wider, 1), offset * ratio)
    ratio = new_size // old_size
    _require_divisible(shape[-1], ratio, "size(-1)", clause)
    _require_divisible(offset, ratio, "storage_offset()", clause)
    _require_adjacent(strides, clause)
    for dim, stride in enumerate(strides[:-1]):
        _require_divisible(stride, ratio, f"stride({dim})", clause)
    narrower = tuple(stride // ratio for stride in strides[:-1])
    return View((*shape[:-1], shape[-1] // ratio), (*narrower, 1), offset // ratio)


def _require_adjacent(strides: Sizes, clause: str) -> None:
    if strides[-1] != 1:
        raise ShapeError(f"self.stride(-1) must be 1 {clause}, but got {strides[-1]}")


def _require_divisible(value: int, ratio: int, name: str, clause: str) -> None:
    if value % ratio:
        raise ShapeError(f"self.{name} must be divisible by {ratio} {clause}, but got {value}")


# ------------------------------------------------------------------------------------------------ order of dimensions


def transpose(source: View, dim0: int, dim1: int) -> View:
    """Return the view of ``Tensor.transpose``: two dimensions are swapped.

    Raises:
        DimensionError: there is no such dimension.
    """
    shape = source.shape
    first, second = wrap_dimension(dim0, len(shape)), wrap_dimension(dim1, len(shape))
    order = list(range(len(shape)))
    if order:
        order[first], order[second] = second, first
    return _reordered(source, order)


def t(source: View) -> View:
    """Return the view of ``Tensor.t``: the transpose of a matrix; vectors and zero-dim tensors are unchanged.

    Raises:
        ShapeError: more than two dimensions.
    """
    shape = source.shape
    if len(shape) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(shape)}D")
    return View(source.shape[::-1], source.strides[::-1], source.offset)


def permute(source: View, dims: Sequence[int]) -> View:
    """Return the view of ``Tensor.permute``: the dimensions in another order.

    Raises:
        ShapeError: ``dims`` does not name every dimension once.
        DimensionError: there is no such dimension.
    """
    shape = source.shape
    if len(dims) != len(shape):
        raise ShapeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {len(shape)} is not equal to len(dims) = {len(dims)}"
        )
    order: list[int] = []
    for dim in dims:
        wrapped = wrap_dimension(dim, len(shape))
        if wrapped in order:
            raise ShapeError("permute(): duplicate dims are not allowed.")
        order.append(wrapped)
    return _reordered(source, order)


def _reordered(source: View, order: Sequence[int]) -> View:
    shape, strides, offset = source
    return View(tuple(shape[dim] for dim in order), tuple(strides[dim] for dim in order), offset)


# ---------------------------------------------------------------------------------------------- parts of a dimension


def narrow(source: View, dim: int, start: int, length: int) -> View:
    """Return the view of ``Tensor.narrow``: ``length`` elements of a dimension, beginning at index ``start``.

    Raises:
        ShapeError: the tensor has no dimensions, or the range exceeds the dimension.
        DimensionError: there is no such dimension, or ``start`` is out of bounds.
    """
    shape = source.shape
    if not shape:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    dim = wrap_dimension(dim, len(shape))
    size = shape[dim]
    if not -size <= start <= size:
        raise DimensionError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start > size - length:
        raise ShapeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice(source, dim, start, start + length)


def select(source: View, dim: int, index: int) -> View:
    """Return the view of ``Tensor.select``: one index of a dimension, which is removed.

    Raises:
        DimensionError: there is no such dimension or index.
    """
    shape, strides, offset = source
    if not shape:
        raise DimensionError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dimension(dim, len(shape))
    if not -shape[dim] <= index < shape[dim]:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}"
        )
    position = index + shape[dim] if index < 0 else index
    return View(shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], offset + position * strides[dim])


def slice(source: View, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> View:
    """Return the view of ``aten::slice.Tensor``: the indices ``start:end:step`` of a dimension, clamped as in Python.

    Raises:
        DimensionError: there is no such dimension.
        ShapeError: the step is not positive.
    """
    shape, strides, offset = source
    if not shape:
        raise DimensionError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dimension(dim, len(shape))
    if step <= 0:
        raise ShapeError("slice step must be positive")
    size = shape[dim]
    first = _clamp(0 if start is None else start, size)
    last = max(first, _clamp(size if end is None else end, size))
    length = (last - first + step - 1) // step
    return View(
        (*shape[:dim], length, *shape[dim + 1 :]),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]),
        offset + first * strides[dim],
    )


def _clamp(position: int, size: int) -> int:
    return min(max(position + size if position < 0 else position, 0), size)


def diagonal(source: View, offset: int = 0, dim1: int = 0, dim2: int = 1) -> View:
    """Return the view of ``Tensor.diagonal``: two dimensions are replaced by their diagonal, as the last dimension.

    Raises:
        DimensionError: there is no such dimension.
        ShapeError: both dimensions are the same.
    """
    shape, strides, start = source
    first, second = wrap_dimension(dim1, len(shape)), wrap_dimension(dim2, len(shape))
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length = max(min(shape[first], shape[second] - offset), 0)
        skipped = offset * strides[second]
    else:
        length = max(min(shape[first] + offset, shape[second]), 0)
        skipped = -offset * strides[first]
    kept = [dim for dim in range(len(shape)) if dim not in (first, second)]
    rest = _reordered(source, kept)
    return View(
        (*rest.shape, length), (*rest.strides, strides[first] + strides[second]), start + (skipped if length else 0)
    )


def unfold(source: View, dimension: int, size: int, step: int) -> View:
    """Return the view of ``Tensor.unfold``: windows of ``size`` elements, ``step`` apart, as a new last dimension.

    Raises:
        DimensionError: there is no such dimension.
        ShapeError: the size or the step does not fit.
    """
    shape, strides, offset = source
    dim = wrap_dimension(dimension, len(shape))
    length, stride = (shape[dim], strides[dim]) if shape else (1, 1)
    if size < 0:
        raise ShapeError(f"size is {size} but must be >= 0")
    if size > length:
        raise ShapeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise ShapeError(f"step is {step} but must be > 0")
    if not shape:
        return View((size,), (1,), offset)
    return View(
        (*shape[:dim], (length - size) // step + 1, *shape[dim + 1 :], size),
        (*strides[:dim], step * stride, *strides[dim + 1 :], stride),
        offset,
    )


# ---------------------------------------------------------------------------------------------- dimensions of size 1


def expand(source: View, size: Sequence[int], type_name: str = "torch.FloatTensor") -> View:
    """Return the view of ``Tensor.expand``: dimensions of size 1 and new leading ones repeat, with stride 0.

    Args:
        source: the layout of the tensor.
        size: the new sizes, with -1 to keep one.
        type_name: the name of the tensor type in the error for too few sizes.

    Raises:
        ShapeError: a size differs from one that is not 1.
    """
    shape, strides, offset = source
    fresh = len(size) - len(shape)
    if fresh < 0:
        raise ShapeError(
            f"expand({type_name}{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    sizes: list[int] = []
    steps: list[int] = []
    for dim in range(len(size) - 1, -1, -1):
        target = size[dim]
        if dim >= fresh:
            length, stride = shape[dim - fresh], strides[dim - fresh]
        else:
            length, stride = 1, sizes[-1] * steps[-1] if sizes else 1
        if target == -1:
            if dim < fresh:
                raise ShapeError(
                    f"The expanded size of the tensor ({target}) isn't allowed in a leading, non-existing "
                    f"dimension {dim}"
                )
            target = length
        if target != length:
            if length != 1 or target < 0:
                raise ShapeError(
                    f"The expanded size of the tensor ({target}) must match the existing size ({length}) at "
                    f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
                )
            stride = 0
        sizes.append(target)
        steps.append(stride)
    new_strides = tuple(reversed(steps)) if shape else (0,) * len(size)
    return View(tuple(reversed(sizes)), new_strides, offset)


def squeeze(source: View, dims: int | Sequence[int] | None = None) -> View:
    """Return the view of ``Tensor.squeeze``: without dimensions of size 1, or only those that ``dims`` names.

    Raises:
        DimensionError: there is no such dimension.
        ShapeError: a dimension is named twice.
    """
    shape = source.shape
    named: set[int] = set()
    for dim in range(len(shape)) if dims is None else (dims,) if isinstance(dims, int) else dims:
        wrapped = wrap_dimension(dim, len(shape))
        if wrapped in named:
            raise ShapeError(f"dim {wrapped} appears multiple times in the list of dims")
        named.add(wrapped)
    return _reordered(source, [dim for dim in range(len(shape)) if dim not in named or shape[dim] != 1])


def unsqueeze(source: View, dim: int) -> View:
    """Return the view of ``Tensor.unsqueeze``: with an additional dimension of size 1.

    Raises:
        DimensionError: there is no such position.
    """
    shape, strides, offset = source
    dimension = wrap_dimension(dim, len(shape) + 1)
    stride = 1 if dimension == len(shape) else shape[dimension] * strides[dimension]
    return View(
        (*shape[:dimension], 1, *shape[dimension:]), (*strides[:dimension], stride, *strides[dimension:]), offset
    )


# ------------------------------------------------------------------------------------------------------- as_strided


def required_storage(shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> int:
    """Return how many elements a storage needs for a view; 0 for a view without elements.

    >>> required_storage((2, 3), (4, 1), 5)
    12
    """
    if 0 in shape:
        return 0
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def as_strided(
    shape: Sequence[int], strides: Sequence[int], storage_offset: int, storage_size: int, itemsize: int
) -> View:
    """Return the view of ``Tensor.as_strided``: any shape and strides within the storage.

    Args:
        shape, strides: the shape and strides of the view.
        storage_offset: the offset in elements from the beginning of the storage, also of the result.
        storage_size: the size of the storage in bytes.
        itemsize: the size of an element in bytes.

    Raises:
        ShapeError: the view exceeds the storage.
    """
    if len(shape) != len(strides):
        raise ShapeError("mismatch in length of strides and shape")
    if any(stride < 0 for stride in strides):
        raise ShapeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}")
    if any(size < 0 for size in shape):
        raise ShapeError(f"as_strided: sizes must not be negative (got {list(shape)})")
    if storage_offset < 0:
        raise ShapeError(f"Tensor: invalid storage offset {storage_offset}")
    needed = required_storage(shape, strides, storage_offset) * itemsize
    if needed > storage_size:
        raise ShapeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {storage_offset}, and itemsize "
            f"{itemsize} requiring a storage size of {needed} are out of bounds for storage of size {storage_size}"
        )
    return View(tuple(shape), tuple(strides), storage_offset)
