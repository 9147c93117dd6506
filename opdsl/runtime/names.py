"""Names of dimensions, stored outside of the tensors since they are rare."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from opdsl.errors import ShapeError
from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.tensor_base import TensorBase

Names = tuple[str | None, ...]

_names: dict[int, tuple[weakref.ref[TensorBase], Names]] = {}


def names_of(tensor: TensorBase) -> Names:
    """Return the names of a tensor's dimensions, with None for unnamed ones."""
    entry = _names.get(id(tensor))
    return (None,) * tensor.geometry.ndim if entry is None or entry[0]() is not tensor else entry[1]


def set_names(tensor: TensorBase, names: Sequence[str | None]) -> None:
    """Set the names of a tensor's dimensions.

    Raises:
        ShapeError: the number of names differs from that of dimensions, or a name occurs twice.
    """
    texts = tuple(names)
    known = [text for text in texts if text is not None]
    if len(texts) != tensor.geometry.ndim:
        raise ShapeError(f"Number of names ({len(texts)}) and number of dimensions ({tensor.geometry.ndim}) differ.")
    if len(set(known)) < len(known):
        raise ShapeError(f"Cannot construct a tensor with duplicate names: {texts}.")
    key = id(tensor)
    if known and lowering.get() is not None:
        raise NotLoweredError("named dimensions")
    if known:
        _names[key] = weakref.ref(tensor, lambda _: _names.pop(key, None)), texts
    else:
        _names.pop(key, None)


def check_names(tensor: TensorBase, names: Names) -> None:
    """Check that the names of an ``out=`` tensor agree with those of the result.

    Raises:
        ShapeError: a dimension has another name.
    """
    for index, (mine, wanted) in enumerate(zip(names_of(tensor), names, strict=False)):
        if mine is not None and wanted is not None and mine != wanted:
            raise ShapeError(
                f"dimension {index} of the out tensor has the name {mine!r}, but that of the result has {wanted!r}. "
                "Give an output without names, or with these."
            )
