"""Functions of PyTorch that are not operators, as a schema cannot describe their arguments or results."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any

import numpy

from opdsl.aten.create import combinations as grids
from opdsl.aten.create import construction
from opdsl.aten.index import uniqueness
from opdsl.aten.linalg import contractions
from opdsl.aten.shape.stacking import with_dimensions
from opdsl.errors import ArgumentError, InterchangeError, OptionError, ShapeError
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import DType, Tensor, bool_, install_method, wrap

# ------------------------------------------------------------------------------------------------------------ questions


def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor.

    Args:
        obj: anything.

    >>> import opdsl
    >>> opdsl.is_tensor(opdsl.ones(2)), opdsl.is_tensor([1.0, 1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Return the number of elements of a tensor.

    Args:
        input: the tensor.

    Raises:
        ArgumentError: ``input`` is no tensor.

    >>> import opdsl
    >>> opdsl.numel(opdsl.ones(2, 3))
    6
    """
    if not isinstance(input, Tensor):
        raise ArgumentError(f"numel(): argument 'input' must be Tensor, not {type(input).__name__}")
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Return whether the elements of a tensor are real floating-point numbers.

    Args:
        input: the tensor.

    >>> import opdsl
    >>> opdsl.is_floating_point(opdsl.ones(2)), opdsl.is_floating_point(opdsl.tensor([1]))
    (True, False)
    """
    return input.dtype.is_floating_point


def is_signed(input: Tensor) -> bool:
    """Return whether the dtype of a tensor can hold negative values.

    Args:
        input: the tensor.

    >>> import opdsl
    >>> opdsl.is_signed(opdsl.tensor([1])), opdsl.is_signed(opdsl.tensor([1], dtype=opdsl.uint8))
    (True, False)
    """
    return input.dtype.is_signed


def is_inference(input: Tensor) -> bool:
    """Return whether a tensor was made in inference mode.

    Args:
        input: the tensor.

    >>> import opdsl
    >>> with opdsl.inference_mode():
    ...     opdsl.is_inference(opdsl.ones(1))
    True
    """
    return input.is_inference()


def get_device(input: Tensor) -> int:
    """Return the index of a tensor's device; -1 for the CPU.

    Args:
        input: the tensor.

    >>> import opdsl
    >>> opdsl.get_device(opdsl.ones(1))
    -1
    """
    return input.get_device()


def is_complex(input: Tensor) -> bool:
    """Return whether the elements of a tensor are complex numbers.

    Args:
        input: the tensor.

    >>> import opdsl
    >>> opdsl.is_complex(opdsl.tensor([1j]))
    True
    """
    return input.dtype.is_complex


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which tensors of the given shapes broadcast.

    Args:
        shapes: the shapes; a number is a shape of one dimension.

    Raises:
        OptionError: a size is negative; it is a ValueError.
        ShapeError: two sizes differ and neither is 1.

    >>> import opdsl
    >>> opdsl.broadcast_shapes((3, 1), 4, (2, 1, 1))
    (2, 3, 4)
    """
    numbers = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    for shape in numbers:
        if any(size < 0 for size in shape):
            raise OptionError(f"broadcast_shapes: a size is never negative (got {shape})")
    return broadcast_all(numbers)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Return the distinct elements of a tensor in order, or its distinct slices along a dimension.

    Args:
        input: the tensor.
        sorted: has no effect; the result is always sorted.
        return_inverse: whether to also return the index of each element among the distinct ones.
        return_counts: whether to also return how often each distinct element occurs.
        dim: the dimension whose slices are compared; None compares elements.

    Returns:
        The distinct elements; a tuple if further results are requested.

    Raises:
        DimensionError: there is no such dimension.
        UnsupportedDTypeError: the elements are complex.

    >>> import opdsl
    >>> opdsl.unique(opdsl.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is None:
        uniques = uniqueness._unique2(input, sorted, return_inverse, return_counts)
    else:
        uniques = uniqueness.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _asked_for(uniques, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Return the elements of a tensor, or its slices along a dimension, that differ from the preceding one.

    Args:
        input: the tensor.
        return_inverse: whether to also return the index of each element's run of equal elements.
        return_counts: whether to also return the length of each run.
        dim: the dimension whose slices are compared; None compares elements.

    Returns:
        The first element or slice of each run; a tuple if further results are requested.

    Raises:
        DimensionError: there is no such dimension.

    >>> import opdsl
    >>> opdsl.unique_consecutive(opdsl.tensor([3, 3, 1, 3]), return_counts=True)
    (tensor([3, 1, 3]), tensor([2, 1, 1]))
    """
    tensors = uniqueness.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked_for(tensors, return_inverse, return_counts)


# As in PyTorch, these are methods, too.
for _method in (unique, unique_consecutive):
    install_method(_method.__name__, _method)


def _asked_for(tensors: Sequence[Tensor], *wanted: bool) -> Tensor | tuple[Tensor, ...]:
    """Return the first tensor, or a tuple of it and those further tensors that are wanted."""
    chosen = (tensors[0], *(gradient for gradient, is_wanted in zip(tensors[1:], wanted, strict=True) if is_wanted))
    return chosen if len(chosen) > 1 else chosen[0]


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert indices into a flattened tensor to indices for each of its dimensions.

    Args:
        indices: integers, of any shape.
        shape: the sizes of the tensor.

    Returns:
        An int64 tensor in the shape of ``indices`` for each dimension.

    Raises:
        ArgumentError: ``indices`` or sizes are no integers.
        OptionError: a negative size; it is a ValueError.

    >>> import opdsl
    >>> opdsl.unravel_index(opdsl.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype.is_floating_point or indices.is_complex() or indices.dtype is bool_:
        raise ArgumentError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, Tensor):
        raise ArgumentError("unravel_index: expected 'shape' to be int or sequence of ints, but got a tensor")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(hasattr(size, "__index__") and not isinstance(size, Tensor) for size in sizes):
        raise ArgumentError(f"unravel_index: sizes are whole numbers (got {sizes})")
    if any(size < 0 for size in sizes):
        raise OptionError(f"unravel_index: a size is never negative (got {sizes})")
    if not sizes:
        return ()
    steps = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    divisors, bounds = (construction.tensor(numbers, device=indices.device) for numbers in (steps, sizes))
    return tuple(indices.unsqueeze(-1).floor_divide(divisors).remainder(bounds).unbind(-1))


# ------------------------------------------------------------------------------------------------------ several tensors


def _each(tensors: Sequence[Any]) -> Sequence[Tensor]:
    """Return tensors that were passed as separate arguments or as one sequence."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _at_least(least: int, tensors: Sequence[Any]) -> Tensor | tuple[Tensor, ...]:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return with_dimensions(tensors[0], least)
    return tuple(with_dimensions(tensor, least) for tensor in _each(tensors))


def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return tensors with at least one dimension: a single tensor, or a tuple for several.

    Args:
        tensors: one or several, or a list of them.

    >>> import opdsl
    >>> opdsl.atleast_1d(opdsl.tensor(1), opdsl.tensor([2, 3]))
    (tensor([1]), tensor([2, 3]))
    """
    return _at_least(1, tensors)


def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return tensors with at least two dimensions; a vector becomes a row.

    Args:
        tensors: see ``atleast_1d``.

    >>> import opdsl
    >>> opdsl.atleast_2d(opdsl.tensor([2, 3]))
    tensor([[2, 3]])
    """
    return _at_least(2, tensors)


def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return tensors with at least three dimensions; a matrix gets a last dimension of size 1.

    Args:
        tensors: see ``atleast_1d``.

    >>> import opdsl
    >>> opdsl.atleast_3d(opdsl.tensor([2, 3])).shape
    (1, 2, 1)
    """
    return _at_least(3, tensors)


def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """Return the Cartesian product of vectors: a matrix with a row for each combination. A single vector is returned
    itself.

    Args:
        tensors: vectors.

    Raises:
        ShapeError: a tensor is not a vector.

    >>> import opdsl
    >>> opdsl.cartesian_prod(opdsl.tensor([1, 2]), opdsl.tensor([4, 5])).tolist()
    [[1, 4], [1, 5], [2, 4], [2, 5]]
    """
    return grids.cartesian_prod(list(_each(tensors)))


# ------------------------------------------------------------------------------------------------------------- products


def einsum(
    equation: str | Tensor,
    *operands: Tensor | Sequence[Tensor] | Sequence[int | EllipsisType],
    path: Sequence[int] | None = None,
) -> Tensor:
    """Return sums of products of the operands' elements as an equation describes them (Einstein summation).

    Args:
        equation: the labels of each operand's dimensions, letters, separated by commas; after ``->`` those of the
            result. Labels that are not in the result are summed over. ``...`` denotes any dimensions, which
            broadcast. Without an equation each operand is followed by a list of its labels, numbers from 0 to 51 or
            ``...``; a last list has the labels of the result.
        operands: the tensors, as separate arguments or as one list.
        path: indices of the two operands to contract in each step; the result is appended to the remaining
            operands. By default the first two are contracted, and the result becomes the first.

    Raises:
        ShapeError: the equation is invalid, or does not fit the operands.
        OptionError: a label is no number from 0 to 51; it is a ValueError.

    >>> import opdsl
    >>> opdsl.einsum("ij,j->i", opdsl.tensor([[1, 2], [3, 4]]), opdsl.tensor([1, 10]))
    tensor([21, 43])
    >>> opdsl.einsum(opdsl.tensor([[1, 2], [3, 4]]), [0, 1], [1, 0]).tolist()
    [[1, 3], [2, 4]]
    """
    if isinstance(equation, str):
        text, tensors = equation, list(_each(operands))
    else:
        alternating: list[Any] = [equation, *operands]
        count = len(alternating) // 2
        text = ",".join(map(_labels, alternating[1 : 2 * count : 2]))
        text += f"->{_labels(alternating[-1])}" if len(alternating) % 2 else ""
        tensors = alternating[: 2 * count : 2]
    pairs = None if path is None else list(path)
    renamed = contractions.with_standard_labels(text)
    try:
        return contractions.einsum(renamed, tensors, path=pairs)
    except ShapeError:
        if renamed == text:
            raise
    return contractions.einsum(text, tensors, path=pairs)  # raises the error with the caller's labels


def _labels(numbers: Iterable[int | EllipsisType]) -> str:
    letters = string.ascii_uppercase + string.ascii_lowercase
    parts = []
    for number in numbers:
        if number is not ... and not 0 <= number < len(letters):
            raise OptionError(f"einsum(): a label is a number from 0 to {len(letters) - 1}, or ... (got {number})")
        parts.append("..." if number is ... else letters[number])
    return "".join(parts)


def tensordot(
    a: Tensor, b: Tensor, dims: int | Tensor | Sequence[int] | Sequence[Sequence[int]] = 2, out: Tensor | None = None
) -> Tensor:
    """Return the sums of products over dimensions of two tensors; the other dimensions are kept.

    Args:
        a, b: the tensors, of one dtype.
        dims: the number of dimensions to sum over, the last of ``a`` and the first of ``b``; or a pair, the dimensions
            of ``a`` and those of ``b``. It may be a tensor of these numbers.
        out: a tensor to write the result into.

    Raises:
        OptionError: a negative number of dimensions, or more than there are; it is a ValueError.
        DTypeError: the dtypes differ.
        ShapeError: the sizes differ.

    >>> import opdsl
    >>> x = opdsl.ones(2, 3, 4)
    >>> opdsl.tensordot(x, opdsl.ones(4, 5), dims=1).shape, opdsl.tensordot(x, x, ([0, 2], [0, 2])).shape
    ((2, 3, 5), (3, 3))
    """
    axes: Any = dims.tolist() if isinstance(dims, Tensor) else dims
    if isinstance(axes, Sequence) and len(axes) == 1 and isinstance(axes[0], int):
        axes = axes[0]
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise OptionError(
                f"tensordot expects dims >= 0 and at most {min(a.ndim, b.ndim)}, the dimensions of both (got {axes})"
            )
        axes = range(a.ndim - axes, a.ndim), range(axes)
    ours, theirs = ([side] if isinstance(side, int) else list(side) for side in axes)
    named = {} if out is None else {"out": out}
    return contractions.tensordot(a, b, ours, theirs, **named)


# -------------------------------------------------------------------------------------------------------------- buffers


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a vector over the memory of an object with the buffer protocol; it is read-only if the memory is.

    Args:
        buffer: bytes, a bytearray, an array, a memory map.
        dtype: the dtype of the elements in the memory.
        count: how many elements; -1 for all.
        offset: how many bytes to skip at the start of the memory.
        requires_grad: whether autograd records operations on the result.

    Raises:
        InterchangeError: the memory ends before ``count`` elements, or ``buffer`` has no memory; it is a ValueError.

    >>> import opdsl
    >>> opdsl.frombuffer(bytearray([1, 2, 3]), dtype=opdsl.uint8, offset=1)
    tensor([2, 3], dtype=opdsl.uint8)
    """
    try:
        array = numpy.frombuffer(buffer, dtype.numpy, count, offset)
    except (TypeError, ValueError, AttributeError) as error:
        raise InterchangeError(f"frombuffer: {error}") from error
    output = wrap(array, dtype)
    return output.requires_grad_() if requires_grad else output
