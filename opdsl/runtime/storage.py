"""Which tensor owns the memory of another one, and which counts its writes."""

from __future__ import annotations

from typing import TypeVar

from opdsl.runtime.geometry import Creation
from opdsl.runtime.lowering import Written, lowering
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.tensor_base import TensorBase

T = TypeVar("T", bound=TensorBase)


def storage_root(tensor: T) -> T:
    """The tensor that owns the memory: the base of a view, otherwise the tensor itself."""
    base = tensor._base
    while base is not None:
        tensor, base = base, base._base
    return tensor


def base_for_view(tensor: T) -> T:
    """What a view of the tensor has for a base."""
    base = tensor._base
    return tensor if base is None or tensor.geometry.creation.is_apart else base


def version_of(tensor: TensorBase) -> int:
    """How often the memory of the tensor has been written, through it or through any other view of it."""
    return version_counter(tensor)._writes


def bump_version(tensor: TensorBase, before: int | None = None) -> None:
    """Counts a write to the memory of the tensor.

    Args:
        tensor: what was written.
        before: its version before the write, of which whatever was counted since is a part.
    """
    counter = version_counter(tensor)
    present = counter._writes
    counter._writes = (present if before is None else before) + 1
    count_in_kept(counter)
    recorder = lowering.get()
    if recorder is not None:
        amount = counter._writes - present
        if type(amount) is not int:
            raise NotLoweredError("a version that is not counted")
        recorder.steps.append(Written(counter, amount))


def count_in_kept(tensor: TensorBase) -> None:
    """Have the node that keeps a tensor's memory see that it was written."""
    kept = getattr(tensor, "kept", None)
    if kept is not None:
        kept._writes += 1


def version_counter(tensor: T) -> T:
    """The tensor that counts the writes: data counts its own."""
    base = tensor._base
    while base is not None and tensor.geometry.creation is not Creation.DATA:
        tensor, base = base, base._base
    return tensor
