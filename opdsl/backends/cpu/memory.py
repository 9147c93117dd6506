"""Memory of CPU tensors: NumPy's allocator for small arrays, cached blocks for large ones.

The C library returns a large block to the system when it is freed, and each new one costs page faults. Therefore blocks
of ``LARGE`` bytes and more are cached when their last array dies, up to a limit, and reused. Of smaller blocks, and of
those that libraries allocate, the C library keeps as many as the program has been seen to use.

An array holds its block through an owner object that is not an ndarray: NumPy shortens a chain of ndarrays to the
last one, so a block held by an ndarray would be freed while views of it are alive.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import functools
import math
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy

from opdsl.errors import OutOfMemoryError
from opdsl.runtime.lowering import Lowering, SymbolicArray, lowering
from opdsl.runtime.references import references_to_an_attribute
from opdsl.runtime.strides import byte_strides, check_sizes, contiguous_strides

if TYPE_CHECKING:
    from opdsl.runtime.device import Device
    from opdsl.runtime.dtype import DType
    from opdsl.runtime.geometry import TensorMeta
    from opdsl.runtime.tensor import Tensor

NDArray: TypeAlias = numpy.ndarray[Any, Any]

LARGE = 1 << 20
_ALIGNMENT = 64
_SMALLEST_STEP = 4096
_MOST_CACHED = 1 << 30
_LARGEST_COUNTED = 31 << 20


def empty(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
) -> NDArray:
    """Return a new array with undefined contents.

    Args:
        shape: sizes.
        strides: in elements; None for contiguous. Strides that leave gaps get memory for the gaps.
        dtype: the element type; the array has the NumPy dtype that stores it.
        device: the CPU; there is no other here.

    Returns:
        The array; from 1 MiB on in a cached block, aligned to 64 bytes.
    """
    return maker(shape, strides, dtype, device)()


def maker(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, device: Device | None = None
) -> Callable[[], NDArray]:
    """Return a function without arguments that allocates an array of this shape, strides and dtype at each call (see
    ``empty``); while a plan is recorded, it records the allocation instead.
    """
    in_bytes = None
    if strides is not None and strides != contiguous_strides(shape):
        in_bytes = byte_strides(strides, dtype.itemsize)
    recorder = lowering.get()
    if recorder is not None:
        return functools.partial(recorded, recorder, shape, dtype.numpy, in_bytes)
    return allocator(shape, dtype.numpy, in_bytes)


def view(array: NDArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> NDArray:
    """Return another array over the same memory; strides and offset are in elements of ``dtype``.

    Raises:
        KernelError: the view would leave the memory of ``array``.
    """
    from opdsl.runtime.viewing import view_array

    steps = byte_strides(strides, dtype.itemsize)
    return view_array(array, shape, steps, offset * dtype.itemsize, dtype.numpy)


def viewer(source: TensorMeta, view: TensorMeta, offset: int) -> Callable[[Tensor], Tensor]:
    """Return a built-in function that creates a fixed view of any tensor with a given geometry, without a bounds check.

    Args:
        source: the geometry of the tensors.
        view: the geometry of the views.
        offset: elements from the first one of the tensor to the first one of the view.
    """
    from opdsl.backends.cpu.tensors import view_function  # imported late: allocation does not need LLVM

    return view_function(source, view, offset)


def address(array: NDArray) -> int:
    """Return the address of the first element, or 0 if the array has no elements."""
    return array.ctypes.data if array.size else 0


def address_reader() -> Callable[[object], int]:
    """Return a built-in function from an array to the address of its first element (0 if it has none); others raise
    TypeError.
    """
    from opdsl.backends.cpu.builtin import builtin_over

    return builtin_over("array_address", "array_address", [0], [])


def copy(source: NDArray, target: NDArray) -> None:
    """Copy an array into another one of the same shape and dtype."""
    numpy.copyto(target, source, casting="no")


def to_host(array: NDArray) -> NDArray:
    """Return the array itself, which is in host memory already."""
    return array


def from_host(array: NDArray, device: Device, dtype: DType) -> NDArray:
    """Return a copy of the array."""
    return array.copy()


def current_stream(device: Device) -> int:
    """Return 0: the CPU has no streams, and kernels have finished when their call returns."""
    return 0


def synchronize(device: Device) -> None:
    """Do nothing: CPU kernels have finished when their call returns."""


def allocator(
    shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...] | None = None
) -> Callable[[], NDArray]:
    """Return a function that allocates arrays of a fixed shape, dtype and strides in bytes."""
    size = extent(shape, dtype.itemsize, strides)
    if size < LARGE:
        if strides is None:
            return functools.partial(numpy.empty, shape, dtype)
        return functools.partial(_within, shape, dtype, strides, size)
    return functools.partial(_in_block, shape, dtype, strides, _round_up(size))


class Extent(NamedTuple):
    """Shape, dtype and strides in bytes of an array; the strides are None if it is contiguous."""

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    strides: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """Return the number of bytes from the first element to the end of the last one."""
        return extent(self.shape, self.dtype.itemsize, self.strides)


def made_by(make: Callable[..., Any]) -> Extent | None:
    """Return the extent of the arrays that a function of ``allocator`` makes, or None for any other function."""
    makers = (numpy.empty, _in_block, _within)
    return Extent(*make.args[:3]) if isinstance(make, functools.partial) and make.func in makers else None


def allocated(shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...] | None = None) -> NDArray:
    """Return a new array; strides are in bytes.

    Raises:
        ShapeError: no tensor can have such sizes.
        OutOfMemoryError: there is not enough memory.
    """
    if strides is None and math.prod(shape) * dtype.itemsize < LARGE:
        try:
            return numpy.empty(shape, dtype)
        except ValueError:
            pass  # check_sizes below raises a clearer error
    check_sizes(shape, contiguous_strides(shape), dtype.itemsize)
    return allocator(shape, dtype, strides)()


def recorded(
    recorder: Lowering, shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...] | None
) -> Any:
    """Record the allocation of an array in a plan, and return the symbolic array; strides are in bytes."""
    if strides is None:
        (variable,) = recorder.run(array_maker(dtype, len(shape)), shape, ["array"])
    else:
        (variable,) = recorder.run(allocated, (shape, dtype, strides), ["array"])
    return SymbolicArray(variable, dtype)


@functools.lru_cache(maxsize=512)
def array_maker(dtype: numpy.dtype[Any], ndim: int) -> Callable[..., NDArray]:
    """Return a built-in function that takes sizes and returns a new contiguous array."""
    from opdsl.backends.cpu.builtin import builtin_over
    from opdsl.backends.cpu.machine.language import words
    from opdsl.backends.cpu.machine.tensor import ArrayPlan

    def slow(*shape: int) -> NDArray:
        return allocated(shape, dtype)

    header = words(ArrayPlan, dtype=id(dtype), dimensions=ndim, itemsize=dtype.itemsize, slow=id(slow))
    return builtin_over("array_new", "array_new", header, [dtype, slow], ("empty", dtype))


def array_viewer(dtype: numpy.dtype[Any], ndim: int) -> Callable[..., NDArray]:
    """Return a built-in function that makes a view, from an array, an offset in bytes, sizes, and strides in bytes."""
    from opdsl.backends.cpu.builtin import builtin_over
    from opdsl.backends.cpu.machine.language import words
    from opdsl.backends.cpu.machine.tensor import ArrayPlan

    header = words(ArrayPlan, dtype=id(dtype), dimensions=ndim)
    return builtin_over("array_view", "array_view", header, [dtype], ("view", dtype))


def extent(shape: tuple[int, ...], itemsize: int, strides: tuple[int, ...] | None) -> int:
    """Return the number of bytes from the first element to the end of the last one; strides are in bytes and not
    negative.
    """
    if strides is None:
        return math.prod(shape) * itemsize
    if 0 in shape:
        return 0
    return itemsize + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def is_own_block(array: NDArray) -> bool:
    """Return whether an array is the only one in its cached block."""
    owner = array.base
    return isinstance(owner, _Owner) and sys.getrefcount(owner) <= _OWNER_OF_ONE


# The reference count of the owner of a block that a single array uses.
_OWNER_OF_ONE = references_to_an_attribute()


def empty_cache() -> None:
    """Free all cached blocks."""
    _blocks.trim(0)


def memory_stats() -> dict[str, int]:
    """Return counters of the block cache.

    Returns:
        ``in_use`` and ``cached``: bytes of blocks that arrays hold, and of free ones; ``allocations``: the number of
        blocks allocated; ``hits``: how many of them came from the cache; ``limit``: the most bytes of free blocks.
    """
    return _blocks.statistics()


def _within(shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...], size: int) -> NDArray:
    return numpy.ndarray(shape, dtype, numpy.empty(max(size, 1), numpy.uint8), 0, strides)


def _in_block(
    shape: tuple[int, ...], dtype: numpy.dtype[Any], strides: tuple[int, ...] | None, rounded: int
) -> NDArray:
    return numpy.ndarray(shape, dtype, _blocks.take(rounded), 0, strides)  # type: ignore[arg-type]


def _round_up(size: int) -> int:
    """Return the next block size: there are eight to each power of two, so that at most an eighth is wasted."""
    step = max(_SMALLEST_STEP, 1 << (size.bit_length() - 4))
    return -(-size // step) * step


class _Owner(ctypes.Array[ctypes.c_char]):
    """Owner of a block, which all arrays in the block refer to, and which returns it to the cache when the last one
    dies.
    """

    _length_ = 0
    _type_ = ctypes.c_char
    _return: Callable[[NDArray], None] | None = None
    _block: NDArray

    def __del__(self) -> None:
        if self._return is not None:
            self._return(self._block)


@functools.cache
def _owner_type(size: int) -> type[_Owner]:
    return type("Owner", (_Owner,), {"_length_": size, "_type_": ctypes.c_char})


class _Blocks:
    """Cache of free blocks, by size; a block is a one-dimensional uint8 array that is ``_ALIGNMENT`` longer than its
    size.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Owners may die anywhere, even inside `take` when the garbage collector runs, so they only append here.
        self._returned: collections.deque[NDArray] = collections.deque()
        self._free: dict[int, list[tuple[int, NDArray]]] = {}
        self._cached = 0
        self._in_use = 0
        self._allocations = 0
        self._hits = 0
        self._clock = 0
        self._is_closed = False
        self.limit = min(_MOST_CACHED, _physical_memory() // 8)

    def take(self, size: int) -> _Owner:
        """Return a block of a rounded size, held by a new owner.

        Raises:
            OutOfMemoryError: there is not enough memory.
        """
        with self._lock:
            self._settle()
            self._allocations += 1
            self._in_use += size
            waiting = self._free.get(size)
            block = None
            if waiting:
                block = waiting.pop()[1]
                self._cached -= size
                self._hits += 1
        if block is None:
            block = self._new(size)
        owner = _owner_type(size).from_buffer(block, -block.ctypes.data % _ALIGNMENT)  # type: ignore[arg-type]
        owner._block = block
        owner._return = self.put_back
        return owner

    def put_back(self, block: NDArray) -> None:
        """Return a block to the cache whose owner has died, without waiting for the lock, which the dying thread may
        hold.
        """
        if self._is_closed:
            return
        self._returned.append(block)
        if self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Stop caching blocks at interpreter exit, when the objects that this needs may be gone already."""
        self._is_closed = True

    def trim(self, limit: int) -> None:
        """Free the blocks that have been unused longest until at most ``limit`` bytes are cached."""
        with self._lock:
            self._settle()
            self._trim(limit)

    def statistics(self) -> dict[str, int]:
        """Return the counters, see ``memory_stats``."""
        with self._lock:
            self._settle()
            return {
                "in_use": self._in_use,
                "cached": self._cached,
                "allocations": self._allocations,
                "hits": self._hits,
                "limit": self.limit,
            }

    def after_fork_in_child(self) -> None:
        """Replace the lock: a thread that held it does not exist in the child."""
        self._lock = threading.Lock()

    def _new(self, size: int) -> NDArray:
        for _ in range(2):
            try:
                return numpy.empty(size + _ALIGNMENT, numpy.uint8)
            except (MemoryError, ValueError):  # ValueError if the size exceeds NumPy's limit
                self.trim(0)
        with self._lock:
            self._in_use -= size
        raise OutOfMemoryError(f"not enough memory: a tensor takes {size} bytes (you may need a smaller one)")

    def _settle(self) -> None:
        """Move the blocks that owners have returned to the free lists."""
        while self._returned:
            block = self._returned.popleft()
            size = block.nbytes - _ALIGNMENT
            self._in_use -= size
            self._cached += size
            self._clock += 1
            self._free.setdefault(size, []).append((self._clock, block))
        if self._cached > self.limit:
            self._trim(self.limit)

    def _trim(self, limit: int) -> None:
        while self._cached > limit:
            size = min((waiting[0][0], size) for size, waiting in self._free.items() if waiting)[1]
            del self._free[size][0]
            self._cached -= size


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 8 << 30


def _free_one() -> None:
    """Free one large block, so that the C library keeps more free memory, as for a program that works with such blocks.

    The free top of its heap goes back to the system beyond twice the largest block that has been freed, of up to 32 MiB
    (``M_MMAP_THRESHOLD`` in mallopt(3)). In a process that has freed none, arrays of some hundred KiB cost page faults
    at each call. Limits that the user has set remain.
    """
    numpy.empty(_LARGEST_COUNTED, numpy.uint8)


_blocks = _Blocks()
_free_one()
atexit.register(_blocks.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blocks.after_fork_in_child)
