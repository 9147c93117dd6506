"""Blocks of memory: taken from a pool, counted, put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opdsl.backends.cpu.machine.call import wrong_count
from opdsl.backends.cpu.machine.language import (
    Address,
    Int32,
    Library,
    Pointer,
    Struct,
    Words,
    exported,
    internal,
    shared,
)
from opdsl.backends.cpu.machine.objects import Array, Object, python
from opdsl.backends.cpu.machine.tensor import slot

LARGEST_SMALL = 1 << 20
"""Bytes of the largest block that counts as small, as in PyTorch."""

# Where counters of a kind lie: of all blocks, of small ones, of large ones; bytes come first, then how many there are.
COUNTER_WORDS = 3
POOLS = 3


class Containers(Library):
    """More of CPython."""

    PyContextVar_Get: Callable[[Object, Object | None, Pointer[Object]], Int32]
    PyDict_GetItem: Callable[[Object, Object], Object | None]
    PyDict_Size: Callable[[Object], int]
    PyList_Append: Callable[[Object, Object], Int32]
    PyList_GetItem: Callable[[Object, int], Object]
    PyList_SetSlice: Callable[[Object, int, int, Object | None], Int32]
    PyList_Size: Callable[[Object], int]
    PyDict_Type: Object


containers = Containers()


class Layout(Struct):
    """Classes, where their slots lie in bytes, and objects that calls look at.

    array, block: the classes ``DeviceArray`` and ``Block``; what follows each are its slots.
    stream_handle, stream_pool, cache_counters: slots of ``Stream`` and ``Cache``.
    current, without: the context variable of current streams, and what it is where there are none but default ones.
    defaults, caches: default streams and caches by the index of the device.
    captured: of streams that are captured; empty as a rule.
    ended: a list that is not empty when the interpreter ends.
    finalize: function of a block that has died, where there is more to do.
    """

    array: Object
    array_block: int
    array_address: int
    array_index: int
    array_shape: int
    array_strides: int
    array_dtype: int
    block: Object
    block_address: int
    block_size: int
    block_owner: int
    block_stream: int
    block_uses: int
    block_cache: int
    block_pool: int
    block_keep: int
    stream_handle: int
    stream_pool: int
    cache_counters: int
    current: Object
    without: Object
    defaults: Object
    caches: Object
    captured: Object
    ended: Object
    finalize: Object


_layout = shared("cuda_layout", Address)


@exported
def use_layout(layout: Address) -> None:
    """Tell where the layout is."""
    _layout[0] = layout


@internal("alwaysinline")
def layout_of() -> Layout:
    """The layout of the process."""
    return cast(Layout, _layout[0])


@internal("alwaysinline")
def count_one(counter: Words, amount: int) -> None:
    """Move a counter: what there is, the most that there has been, all that has come."""
    counter[0] += amount
    if amount > 0:
        counter[1] = max(counter[1], counter[0])
        counter[2] += amount


@internal()
def count(layout: Layout, cache: Object, size: int, sign: int) -> None:
    """Count a block that an array gets (1), or that it has left (-1)."""
    counters = cast(Words, cast(Array, slot(cache, layout.cache_counters)[0]).data)
    pool = COUNTER_WORDS * (1 if size <= LARGEST_SMALL else 2)
    count_one(counters, size * sign)
    count_one(counters + pool, size * sign)
    count_one(counters + COUNTER_WORDS * POOLS, sign)
    count_one(counters + COUNTER_WORDS * POOLS + pool, sign)


@internal("alwaysinline")
def hold(of: Object, offset: int, value: Object) -> None:
    """Set a slot that has not been set."""
    python.Py_IncRef(value)
    slot(of, offset)[0] = value


@internal()
def set_block(
    layout: Layout, block: Object, cache: Object, size: Object, stream: Object, pool: Object, address: Object
) -> None:
    """Make a block that has nothing yet one of a stream, and count it."""
    none = python._Py_NoneStruct
    hold(block, layout.block_address, address)
    hold(block, layout.block_size, size)
    hold(block, layout.block_owner, stream)
    hold(block, layout.block_stream, stream)
    hold(block, layout.block_uses, none)
    hold(block, layout.block_cache, cache)
    hold(block, layout.block_pool, pool)
    hold(block, layout.block_keep, none)
    count(layout, cache, python.PyLong_AsLongLong(size), 1)


@internal()
def take(layout: Layout, cache: Object, size: Object, stream: Object) -> Object | None:
    """A block of memory that waits on a stream; None, and no exception, where none of that size does."""
    block = python.PyType_GenericAlloc(layout.block, 0)  # first: the garbage collector may run and change the lists
    if block is None:
        python.PyErr_Clear()
        return None
    pool = slot(stream, layout.stream_pool)[0]
    waiting = containers.PyDict_GetItem(pool, size)
    if waiting is None or containers.PyList_Size(waiting) == 0:
        python.Py_DecRef(block)
        return None
    last = containers.PyList_Size(waiting) - 1
    set_block(layout, block, cache, size, stream, pool, containers.PyList_GetItem(waiting, last))
    containers.PyList_SetSlice(waiting, last, last + 1, None)
    return block


@exported
def block_take(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Memory that waits: a cache, a size, a stream -> a block, or None."""
    if number != 3:
        return wrong_count()
    block = take(layout_of(), arguments[0], arguments[1], arguments[2])
    if block is not None:
        return block
    python.Py_IncRef(python._Py_NoneStruct)
    return python._Py_NoneStruct


@exported
def block_new(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Memory of the driver's: a cache, a size, a stream, the pool that it returns to, an address -> a block."""
    if number != 5:
        return wrong_count()
    layout = layout_of()
    block = python.PyType_GenericAlloc(layout.block, 0)
    if block is not None:
        set_block(layout, block, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
    return block


@exported
def block_returned(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Put the memory of a block back that others do not use any more: the block -> whether its pool took it."""
    if number != 1:
        return wrong_count()
    return python.PyLong_FromLongLong(1 if put_back(layout_of(), arguments[0]) else 0)


@internal()
def put_back(layout: Layout, block: Object) -> bool:
    """Put memory back into its pool, and count it; false where the pool has no list of its size."""
    size = slot(block, layout.block_size)[0]
    count(layout, slot(block, layout.block_cache)[0], python.PyLong_AsLongLong(size), -1)
    waiting = containers.PyDict_GetItem(slot(block, layout.block_pool)[0], size)
    return waiting is not None and containers.PyList_Append(waiting, slot(block, layout.block_address)[0]) == 0


@exported
def block_finalize(self: Object, nothing: Object) -> Object | None:
    """The method ``__del__`` of blocks."""
    layout = layout_of()
    cache = slot(self, layout.block_cache)[0]
    none = python._Py_NoneStruct
    # One that nobody has finished making has no cache at all.
    if cast(Address, cache) is not None and containers.PyList_Size(layout.ended) == 0:
        is_usual = cache is not none and slot(self, layout.block_uses)[0] is none
        if not is_usual or not put_back(layout, self):
            return python.PyObject_CallOneArg(layout.finalize, self)
    python.Py_IncRef(none)
    return none
