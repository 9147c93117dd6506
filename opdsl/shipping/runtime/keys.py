"""Keys of forms: calls that differ only in sizes of two or more, and in the values of numbers, have the same key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FLOAT, SCALAR, TENSOR, TENSORS, VALUE = "float", "Scalar", "Tensor", "Tensor[]", "value"
"""Kinds of parameters: plans are for a layout of a tensor, for the type of a number, and for any other value itself."""

NUMBERS = (bool, int, float, complex)


class Parameter(NamedTuple):
    """Parameter of an operator.

    name: its name in Python.
    kind: one of the kinds above.
    """

    name: str
    kind: str


def tensor_key(dtype: str, shape: Sequence[int], order: Sequence[int] | None = None) -> str:
    """Return the key of a tensor.

    Args:
        dtype: its name.
        shape: the sizes.
        order: the dimensions from the outermost to the innermost in memory; None for row-major order.

    >>> tensor_key("float32", (5, 1, 7)), tensor_key("float32", (5, 7), (1, 0))
    ('float32[n, 1, n]', 'float32[n, n].order(1, 0)')
    """
    sizes = ", ".join(str(size) if size < 2 else "n" for size in shape)
    suffix = "" if order is None else f".order({', '.join(map(str, order))})"
    return f"{dtype}[{sizes}]{suffix}"


def order_of(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return the order of dimensions in memory, outermost first, or None for a tensor with gaps, overlaps, or sizes
    below two.

    Args:
        shape: the sizes.
        strides: in elements.
    """
    order = tuple(sorted(range(len(shape)), key=lambda dim: -strides[dim]))
    step = 1
    for dim in reversed(order):
        if shape[dim] < 2 or strides[dim] != step:
            return None
        step *= shape[dim]
    return order


def value_key(value: object) -> str:
    """Return the key of an argument that is neither a tensor nor a number.

    >>> value_key([1, 2]), value_key(None)
    ('(1, 2)', 'None')
    """
    return repr(tuple(value)) if isinstance(value, (list, tuple)) else repr(value)
