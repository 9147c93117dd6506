"""Loader of the machine code for device calls (``machine``), which gets the slot offsets of Python objects."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.builtin import function_of, method_of, plan_of
from opdsl.backends.cpu.machine.language import exports, words
from opdsl.backends.cpu.native import imports, names_of
from opdsl.backends.cpu.tensors import slots_of
from opdsl.backends.cuda.machine import blocks, launches
from opdsl.runtime.permanent import kept_forever

__all__ = ["BlockFunctions", "code", "install"]

_MODULES = (blocks, launches)

_SLOTS = {
    "array": ("block", "address", "index", "shape", "strides", "dtype"),
    "block": ("address", "size", "owner", "stream", "uses", "cache", "pool", "keep"),
    "stream": ("handle", "pool"),
    "cache": ("counters",),
}


class BlockFunctions(NamedTuple):
    """Machine code functions that take and return memory blocks.

    take: a cache, a size and a stream -> a block of free memory of the stream, None if no free memory has that size.
    new: a cache, a size, a stream, a pool and an address -> a block of this memory.
    put_back: a dying block -> whether its pool has a list for its size, to which the memory has been returned then.
    """

    take: Callable[..., Any]
    new: Callable[..., Any]
    put_back: Callable[..., int]


@kept_forever
def code() -> engine.Code:
    """Return the machine code of the modules ``blocks`` and ``launches``, loaded on the first call."""

    def text() -> str:
        from opdsl.backends.cpu.machine.text import module_text

        return module_text(_MODULES)

    source = hashlib.sha256(b"".join(Path(module.__file__ or "").read_bytes() for module in _MODULES)).hexdigest()[:16]
    fingerprint = f"CUDA calls {source} {sys.abiflags} {object.__basicsize__}"
    names = {**imports(), **names_of(blocks.Containers)}
    return engine.compile_ir(fingerprint, text, exports(_MODULES), names, has_long_loops=False)


def install(classes: Mapping[str, type], **objects: object) -> BlockFunctions:
    """Pass object layouts to the machine code, give blocks their ``__del__``, and return the functions for blocks.

    Args:
        classes: ``array``, ``block``, ``stream`` and ``cache``.
        objects: the other fields of ``blocks.Layout``; the caller keeps them alive.
    """
    slots: dict[str, int] = {}
    for kind, names in _SLOTS.items():
        if kind in ("array", "block"):
            slots[kind] = id(classes[kind])
        slots.update({f"{kind}_{name}": offset for name, offset in slots_of(classes[kind], names).items()})
    header: list[Any] = words(blocks.Layout, **slots, **{name: id(value) for name, value in objects.items()})
    layout = plan_of(header, [])
    machine = code()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(machine.address("use_layout"))(layout.address)
    block: Any = classes["block"]
    block.__del__ = method_of(block, "__del__", machine.address("block_finalize"))
    entries = ("block_take", "block_new", "block_returned")
    return BlockFunctions(*(function_of(entry, machine.address(entry), layout) for entry in entries))
