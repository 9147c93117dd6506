"""Storage of tensors: which tensor owns the memory of a view, and which counts the writes."""

from __future__ import annotations

from typing import TypeVar

from opdsl.runtime.geometry import Creation
from opdsl.runtime.lowering import Written, lowering
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.tensor_base import TensorBase

T = TypeVar("T", bound=TensorBase)


def storage_root(tensor: T) -> T:
    """Return the tensor that owns the memory: the base of a view, otherwise the tensor itself."""
    base = tensor._base
    while base is not None:
        tensor, base = base, base._base
    return tensor


def base_for_view(tensor: T) -> T:
    """Return the base of a view of the tensor."""
    base = tensor._base
    return tensor if base is None or tensor.geometry.creation.is_apart else base


def version_of(tensor: TensorBase) -> int:
    """Return how often the memory of a tensor has been written, through the tensor or any view of it."""
    return version_counter(tensor)._writes


def bump_version(tensor: TensorBase, before: int | None = None) -> None:
    """Count a write to the memory of a tensor.

    Args:
        tensor: the tensor that was written.
        before: its version before the write; writes counted since then are part of this write.
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
    """Count a write also for the autograd node that keeps a tensor's memory."""
    kept = getattr(tensor, "kept", None)
    if kept is not None:
        kept._writes += 1


def version_counter(tensor: T) -> T:
    """Return the tensor that counts the writes to a tensor's memory; one from ``data`` counts its own writes."""
    base = tensor._base
    while base is not None and tensor.geometry.creation is not Creation.DATA:
        tensor, base = base, base._base
    return tensor
