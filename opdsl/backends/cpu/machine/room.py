"""Memory that a kernel takes for itself: one block in parts, each of which begins on a line of the cache."""

from __future__ import annotations

from typing import Any, cast

from opdsl.backends.cpu.machine.language import Address, Pointer, instruction, internal
from opdsl.backends.cpu.machine.objects import memory

LINE = 64


@instruction("call void @llvm.trap()")
def trap() -> None:
    """End the process."""


@internal("alwaysinline")
def room(size: int) -> Address:
    """A block of at least so many bytes, which ``memory.free`` takes back."""
    block = memory.malloc(size)
    if block is None:
        trap()
    return cast(Address, block)


@internal("alwaysinline")
def behind(place: Pointer[Any], size: int) -> Address:
    """Where a part begins that follows on one of so many bytes."""
    return cast(Address, (cast(int, place) + size + LINE - 1) & -LINE)
