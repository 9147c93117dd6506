"""Broadcasting of shapes."""

from __future__ import annotations

from collections.abc import Iterable

from opdsl.errors import ShapeError
from opdsl.runtime.symbols import expected

Shape = tuple[int, ...]


def broadcast(first: Shape, second: Shape) -> Shape:
    """Return the broadcast shape of two operands (``at::infer_size`` in ATen/ExpandUtils.cpp).

    Raises:
        ShapeError: two sizes differ and neither is 1.

    >>> broadcast((3, 1), (2, 1, 4))
    (2, 3, 4)
    """
    # Lengths first: sizes that are symbols must not be compared with those of other dimensions.
    if not first:
        return second
    if len(first) == len(second) and first == second:
        return first
    ndim = max(len(first), len(second))
    left = (1,) * (ndim - len(first)) + first
    right = (1,) * (ndim - len(second)) + second
    sizes = [1] * ndim
    # From the last dimension on, since PyTorch's message names the last mismatch.
    for dim in range(ndim - 1, -1, -1):
        one, other = left[dim], right[dim]
        message = (
            f"The size of tensor a ({one}) must match the size of tensor b ({other}) at non-singleton dimension {dim}"
        )
        if one == 1:
            sizes[dim] = other
        elif other == 1 or expected(one == other, message):
            sizes[dim] = one
        else:
            raise ShapeError(message)
    return tuple(sizes)


def broadcast_all(shapes: Iterable[Shape]) -> Shape:
    """Return the broadcast shape of all operands, ``()`` for none.

    Raises:
        ShapeError: two sizes differ and neither is 1.
    """
    common: Shape = ()
    for shape in shapes:
        common = broadcast(common, shape)
    return common
