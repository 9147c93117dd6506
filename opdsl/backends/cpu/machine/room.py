"""Temporary memory of a kernel: one allocated block, divided into parts that are aligned to cache lines."""

from __future__ import annotations

from typing import Any, cast

from opdsl.backends.cpu.machine.language import Address, Pointer, instruction, internal
from opdsl.backends.cpu.machine.objects import memory

LINE = 64


@instruction("call void @llvm.trap()")
def trap() -> None:
    """Abort the process."""


@internal("alwaysinline")
def room(size: int) -> Address:
    """Allocate a block of at least ``size`` bytes, to be freed by ``memory.free``; abort the process if memory is
    exhausted.
    """
    block = memory.malloc(size)
    if block is None:
        trap()
    return cast(Address, block)


@internal("alwaysinline")
def behind(place: Pointer[Any], size: int) -> Address:
    """Return the address of the next part of a block, after a part of ``size`` bytes."""
    return cast(Address, (cast(int, place) + size + LINE - 1) & -LINE)
