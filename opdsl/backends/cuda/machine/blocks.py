"""Machine code for memory blocks: takes them from a pool, counts them for statistics, and returns them."""

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
"""Size in bytes of the largest block that counts as small, as in PyTorch."""

# Layout of the counters: bytes of all blocks, of small ones, of large ones; then the numbers of blocks in this order.
COUNTER_WORDS = 3
POOLS = 3


class Containers(Library):
    """Functions of CPython's API for context variables, dicts and lists."""

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
    """Classes, byte offsets of their slots, and objects that the machine code reads.

    array, block: the classes ``DeviceArray`` and ``Block``; the fields after each are its slots.
    stream_handle, stream_pool, cache_counters: slots of ``Stream`` and ``Cache``.
    current, without: the context variable of current streams, and its value while only default streams are current.
    defaults, caches: default streams and caches by the index of the device.
    captured: the streams that are being captured; usually empty.
    ended: a list that is not empty once the interpreter ends.
    finalize: Python function for a dying block that needs more than a return to its pool.
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
    """Set the address of the layout that the machine code reads."""
    _layout[0] = layout


@internal("alwaysinline")
def layout_of() -> Layout:
    """Return the layout of the process."""
    return cast(Layout, _layout[0])


@internal("alwaysinline")
def count_one(counter: Words, amount: int) -> None:
    """Add an amount to a statistics counter, which has three words: current value, peak, and total of all increases."""
    counter[0] += amount
    if amount > 0:
        counter[1] = max(counter[1], counter[0])
        counter[2] += amount


@internal()
def count(layout: Layout, cache: Object, size: int, sign: int) -> None:
    """Count a block that is allocated (sign 1) or freed (sign -1) in the statistics."""
    counters = cast(Words, cast(Array, slot(cache, layout.cache_counters)[0]).data)
    pool = COUNTER_WORDS * (1 if size <= LARGEST_SMALL else 2)
    count_one(counters, size * sign)
    count_one(counters + pool, size * sign)
    count_one(counters + COUNTER_WORDS * POOLS, sign)
    count_one(counters + COUNTER_WORDS * POOLS + pool, sign)


@internal("alwaysinline")
def hold(of: Object, offset: int, value: Object) -> None:
    """Set a slot that has no value yet, and increase the value's reference count."""
    python.Py_IncRef(value)
    slot(of, offset)[0] = value


@internal()
def set_block(
    layout: Layout, block: Object, cache: Object, size: Object, stream: Object, pool: Object, address: Object
) -> None:
    """Initialize the slots of a new block that belongs to a stream, and count it."""
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
    """Return a block of free memory from a stream's pool; None, without an exception, if no free memory has
    that size.
    """
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
    """Take free memory: a cache, a size, a stream -> a block, or None. Python's entry point for ``take``."""
    if number != 3:
        return wrong_count()
    block = take(layout_of(), arguments[0], arguments[1], arguments[2])
    if block is not None:
        return block
    python.Py_IncRef(python._Py_NoneStruct)
    return python._Py_NoneStruct


@exported
def block_new(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Make a block of memory from the driver: a cache, a size, a stream, the pool that it returns to, an address -> a
    block.
    """
    if number != 5:
        return wrong_count()
    layout = layout_of()
    block = python.PyType_GenericAlloc(layout.block, 0)
    if block is not None:
        set_block(layout, block, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
    return block


@exported
def block_returned(self: Array, arguments: Pointer[Object], number: int) -> Object | None:
    """Return the memory of a block that other streams do not use any more: the block -> whether its pool took the
    memory.
    """
    if number != 1:
        return wrong_count()
    return python.PyLong_FromLongLong(1 if put_back(layout_of(), arguments[0]) else 0)


@internal()
def put_back(layout: Layout, block: Object) -> bool:
    """Return a block's memory to its pool, and count that; return False if the pool has no list for its size."""
    size = slot(block, layout.block_size)[0]
    count(layout, slot(block, layout.block_cache)[0], python.PyLong_AsLongLong(size), -1)
    waiting = containers.PyDict_GetItem(slot(block, layout.block_pool)[0], size)
    return waiting is not None and containers.PyList_Append(waiting, slot(block, layout.block_address)[0]) == 0


@exported
def block_finalize(self: Object, nothing: Object) -> Object | None:
    """Return a dying block's memory to its pool if only one stream has used it, else call Python. The ``__del__`` of
    blocks.
    """
    layout = layout_of()
    cache = slot(self, layout.block_cache)[0]
    none = python._Py_NoneStruct
    # A block whose construction failed has no cache at all.
    if cast(Address, cache) is not None and containers.PyList_Size(layout.ended) == 0:
        is_usual = cache is not none and slot(self, layout.block_uses)[0] is none
        if not is_usual or not put_back(layout, self):
            return python.PyObject_CallOneArg(layout.finalize, self)
    python.Py_IncRef(none)
    return none
