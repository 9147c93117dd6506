"""Machine code that kernel calls share: call entries, strided traversals, the worker pool (see ``machine``).

The code that every call needs is one object, the pool a second one, and each other function has its own: most
processes need few of them. Objects are loaded once in a process and never freed, since a thread of the pool may be
anywhere in its code at any time.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.machine import (
    author,
    call,
    forms,
    halves,
    pieces,
    pool,
    sequences,
    shipped,
    signals,
    tensor,
    walk,
    walks,
)
from opdsl.backends.cpu.machine.language import Library, exports, library_names
from opdsl.backends.cpu.machine.objects import Python
from opdsl.errors import ArgumentError
from opdsl.runtime.permanent import kept_forever

# Modules of `opdsl.backends.cpu.machine`: those that every call needs, those that run loops on several threads, and
# those with functions that few calls need, which have no variables.
_CALLS = (signals, call, walk)
_POOL = (pool, pieces)
_APART = (walks, forms, sequences, tensor, author)

# What a package of compiled operators needs of these: functions that plans refer to, and those that its run time calls.
_SHIPPED = (signals, call, walk, walks, pool, pieces, shipped, halves)
_REFERRED_TO = ("walk", "walk_chunks", "walk_later", "walk_tiles", "run_in_pieces")
_CALLED = (
    *("shipped_run", "signals_begin", "pool_set_threads", "pool_set_processors", "pool_use_openmp", "pool_reset"),
    engine.POLL,
)

# Indices in NumPy's table of C functions, which are part of its stable binary interface.
_NUMPY_ARRAY_TYPE = 2
_NUMPY_NEW_FROM_DESCR = 94
_NUMPY_SET_BASE_OBJECT = 282


@kept_forever
def code() -> engine.Code:
    """Return the object code that every call needs, loading it at the first use."""
    loaded = _compiled("calls", _CALLS, exports(_CALLS), {})
    ctypes.CFUNCTYPE(None)(loaded.address("signals_begin"))()
    return loaded


@kept_forever
def _pool() -> engine.Code:
    """Return the object code of the worker pool, loading it and setting the number of threads at the first use."""
    loaded = _compiled("pool", _POOL, exports(_POOL), _addresses())
    for name, count in (("pool_set_threads", _threads_at_first()), ("pool_set_processors", usable_processors())):
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(loaded.address(name))(count)
    os.register_at_fork(after_in_child=_after_fork_in_child)
    return loaded


@functools.cache
def entry(symbol: str) -> int:
    """Return the address of an exported function, loading the object code that contains it.

    Raises:
        KeyError: there is no such function.
    """
    if symbol in exports(_CALLS):
        return code().address(symbol)
    if symbol in exports(_POOL):
        return _pool().address(symbol)
    apart = {name: module for module in _APART for name in exports([module])}
    return _apart(apart[symbol], symbol).address(symbol)


@kept_forever
def _apart(module: ModuleType, symbol: str) -> engine.Code:
    """Return the object code of a function that is loaded on its own."""
    return _compiled(symbol, [module], [symbol], _addresses())


def _compiled(
    name: str, modules: Sequence[ModuleType], symbols: Sequence[str], addresses: Mapping[str, int]
) -> engine.Code:
    """Compile and load modules of ``machine``, linked with functions at ``addresses``."""
    make = functools.partial(_printed, modules, symbols)
    fingerprint = f"shared {name} {sys.abiflags} {object.__basicsize__}"
    title = f"what kernels of the CPU share: {name}"
    return engine.compile_ir(fingerprint, make, symbols, {**imports(), **addresses}, is_entry=True, title=title)


@functools.cache
def _addresses() -> dict[str, int]:
    """Return the addresses of the functions that every call needs, by name."""
    return {symbol: code().address(symbol) for symbol in exports(_CALLS)}


def shipped_code() -> tuple[engine.Source, dict[str, str]]:
    """Return the source of what packages of compiled operators need of the shared code, and the names of its exported
    functions in these: those that replace compiler-rt's have the names by which LLVM calls them.
    """
    symbols = (*_REFERRED_TO, *_CALLED, *engine.OF_HALVES.values())

    def text() -> str:
        # The word that names the stopped thread is the first one of ``signals.signals``.
        return f"{_printed(_SHIPPED, symbols)}\n@{engine.STOPPED} = alias i64, ptr @signals\n"

    names = {**dict.fromkeys(symbols, ""), **{ours: name for name, ours in engine.OF_HALVES.items()}}
    source = engine.Source("shared by shipped kernels", text, has_long_loops=False, is_entry=True)
    return source, {symbol: name or symbol for symbol, name in names.items()}


def shipped_symbols() -> dict[int, str]:
    """Return the names of the shared functions that plans refer to, by their addresses in this process."""
    return {entry(symbol): symbol for symbol in _REFERRED_TO}


def function(symbol: str, result: type | None, *arguments: type) -> Callable[..., Any]:
    """Return an exported function of the shared code as a ctypes function; the GIL is released while it runs."""
    return ctypes.CFUNCTYPE(result, *arguments)(entry(symbol))


def _stopped() -> int:
    """Return the address of the word that says whether a signal has stopped a call."""
    address: int = function("signals_stopped", ctypes.c_int64)()
    return address


engine.provided.update({engine.POLL: lambda: code().address(engine.POLL), engine.STOPPED: _stopped})


def share_threads() -> None:
    """Let the pool use the threads of PyTorch's OpenMP runtime once PyTorch is imported, so that the two do not
    compete.
    """
    # Not in a forked child: the runtime's threads do not exist there, and it would wait for them.
    if not _Shared.done and "torch._C" in sys.modules:
        _Shared.done = True
        process = ctypes.CDLL(None)
        names = ("GOMP_parallel", "omp_get_max_threads", "omp_get_thread_num")
        if all(hasattr(process, name) for name in names):
            kinds = [ctypes.c_void_p] * len(names)
            use = ctypes.CFUNCTYPE(None, *kinds)(entry("pool_use_openmp"))
            use(*(address_of(getattr(process, name)) for name in names))


class _Shared:
    """Flag that says whether ``share_threads`` has nothing more to do."""

    done = False


def _after_fork_in_child() -> None:
    _Shared.done = True
    ctypes.CFUNCTYPE(None)(entry("pool_reset"))()


def usable_processors() -> int:
    """Return how many processors the process may use, limited by its affinity and its container's CPU quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, _quota(), pool.LARGEST_POOL))


@functools.cache
def _quota() -> int:
    """Return the container's CPU quota in processors, rounded up, or the largest pool size if it has no quota."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return -(-int(limit) // int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return pool.LARGEST_POOL


def _threads_at_first() -> int:
    """Return the initial number of threads: ``OPDSL_NUM_THREADS``, or one for each usable processor."""
    asked = os.environ.get("OPDSL_NUM_THREADS", "")
    if not asked:
        return usable_processors()
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"OPDSL_NUM_THREADS: expected a positive integer, got {asked!r}.")
    return min(int(asked), pool.LARGEST_POOL)


def texts() -> list[str]:
    """Return the LLVM IR of all modules of the shared code."""
    parts = [_CALLS, _POOL, *[(module,) for module in _APART]]
    return [_printed(modules, exports(modules)) for modules in parts]


def _printed(modules: Sequence[ModuleType], symbols: Sequence[str]) -> str:
    from opdsl.backends.cpu.machine.text import module_text

    return module_text(modules, only=symbols)


@kept_forever
def imports() -> dict[str, int]:
    """Return the addresses of the functions of Python and NumPy that the code calls, by name."""
    addresses = names_of(Python)
    table = _numpy_table()
    addresses["PyArray_Type"] = table[_NUMPY_ARRAY_TYPE]
    addresses["PyArray_NewFromDescr"] = table[_NUMPY_NEW_FROM_DESCR]
    addresses["PyArray_SetBaseObject"] = table[_NUMPY_SET_BASE_OBJECT]
    return addresses


def names_of(library: type[Library]) -> dict[str, int]:
    """Return the addresses of the names that a ``Library`` declares, which CPython exports."""
    return {
        symbol: address_of(getattr(ctypes.pythonapi, symbol))
        if is_function
        else ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.pythonapi, symbol))
        for symbol, is_function in library_names(library).items()
    }


def address_of(function: Callable[..., Any]) -> int:
    """Return the address of a C function."""
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert address is not None
    return address


def _numpy_table() -> ctypes.Array[ctypes.c_size_t]:
    capsule = numpy._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_size_t * (_NUMPY_SET_BASE_OBJECT + 1)).from_address(get_pointer(capsule, None))
    assert table[_NUMPY_ARRAY_TYPE] == id(numpy.ndarray)
    return table
