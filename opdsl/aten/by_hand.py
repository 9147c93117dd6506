"""Functions of PyTorch's that are no operators: they take what no schema says, or return what none does."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.aten.uniqueness import _unique2, unique_dim
from opdsl.errors import ArgumentError, OptionError
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor.

    >>> import opdsl
    >>> opdsl.is_tensor(opdsl.ones(2)), opdsl.is_tensor([1.0, 1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """The number of elements of a tensor.

    Raises:
        ArgumentError: it is none.

    >>> import opdsl
    >>> opdsl.numel(opdsl.ones(2, 3))
    6
    """
    if not isinstance(input, Tensor):
        raise ArgumentError(f"numel(): argument 'input' must be Tensor, not {type(input).__name__}")
    return input.numel()


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of several shapes have together.

    Args:
        shapes: the shapes; a number is a shape of one dimension.

    Raises:
        OptionError: a size is negative; it is a ValueError.
        ShapeError: two sizes differ and neither is 1.

    >>> import opdsl
    >>> opdsl.broadcast_shapes((3, 1), 4, (2, 1, 1))
    (2, 3, 4)
    """
    given = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    for shape in given:
        if any(size < 0 for size in shape):
            raise OptionError(f"broadcast_shapes: a size is never negative (got {shape})")
    return broadcast_all(given)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements of a tensor in order, or its distinct slices along a dimension.

    Args:
        input: the tensor.
        sorted: has no effect: they always are.
        return_inverse: whether a second result says where each element is among them.
        return_counts: whether a last result says how often each is there.
        dim: along which slices are compared; elements are for None.

    Returns:
        The distinct elements; a tuple where more is asked for.

    Raises:
        DimensionError: there is no such dimension.
        UnsupportedDTypeError: the elements are complex.

    >>> import opdsl
    >>> opdsl.unique(opdsl.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is None:
        found = _unique2(input, sorted, return_inverse, return_counts)
    else:
        found = unique_dim(input, dim, sorted, return_inverse, return_counts)
    wanted = (True, return_inverse, return_counts)
    chosen = tuple(each for each, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return chosen if len(chosen) > 1 else chosen[0]
