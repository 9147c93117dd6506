"""The machine code that every kernel call shares: the call entry (``call.ll``) and the worker pool (``pool.ll``).

It is loaded once in a process and never freed, since a helper of the pool may be anywhere in it at any time.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy

from opdsl.backends.cpu import engine
from opdsl.errors import ArgumentError

LARGEST_POOL = 256

# What the texts call by name. The kinds are shared with builtin.py.
CONSTANTS = MappingProxyType(
    {
        "TYPE_OFFSET": object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p),
        "DATA_OFFSET": object.__basicsize__,
        "DIMENSIONS_OFFSET": object.__basicsize__ + 8,
        "SHAPE_OFFSET": object.__basicsize__ + 16,
        "STRIDES_OFFSET": object.__basicsize__ + 24,
        "FLAGS_OFFSET": object.__basicsize__ + 48,
        "ARRAY_WRITEABLE": 0x400,
        "ARRAY": 0,
        "FLOAT": 1,
        "INTEGER": 2,
        "TRUTH": 3,
        "COMPLEX": 4,
        "NOTHING": 5,
        "WORD": 6,
        "GIVEN": 0,
        "NEW": 1,
        "CALL": 2,
        "ARRAY_OF": 0,
        "ARGUMENT": 1,
        "OBJECT": 2,
        "ACROSS": 0,
        "ALONG": 1,
        "ORDERED": 2,
        "ROWS": 3,
        "FULL_SET": 128,
        "PIECES_FOR_EACH_THREAD": 4,
        "AUTHOR_LEAVES_GIL_FROM": 16_384,
        "LARGEST_POOL": LARGEST_POOL,
        "IDLE": 0,
        "ASLEEP": 1,
        "POSTED": 2,
        "WORKING": 3,
        "HELPER_SPINS": 1_000,
        "CALLER_SPINS": 4_000,
        "TILE_ROWS": 64,
        "TILE_COLUMNS": 32,
        "NEW_UP_TO": 1 << 20,
    }
)

_SYMBOLS = (
    "kernel_call",
    "form_call",
    "run_frame",
    "sequence_call",
    "author_call",
    "tensor_call",
    "view_call",
    "array_view",
    "array_new",
    "array_address",
    "walk",
    "walk_tiles",
    "reduce",
    "reduce_complete",
    "pool_run",
    "pool_set_threads",
    "pool_get_threads",
    "pool_use_openmp",
    "pool_reset",
)

_PYTHON_FUNCTIONS = (
    "Py_IncRef",
    "Py_DecRef",
    "PyType_IsSubtype",
    "PyFloat_AsDouble",
    "PyComplex_RealAsDouble",
    "PyComplex_ImagAsDouble",
    "PyLong_FromVoidPtr",
    "PyObject_CallFunctionObjArgs",
    "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLong",
    "PyObject_IsTrue",
    "PyErr_Occurred",
    "PyErr_NoMemory",
    "PyErr_SetString",
    "PyErr_ExceptionMatches",
    "PyErr_Clear",
    "PyType_GenericAlloc",
    "PyObject_Vectorcall",
    "PyObject_CallNoArgs",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyThread_allocate_lock",
    "PyThread_acquire_lock",
    "PyThread_release_lock",
    "PyThread_start_new_thread",
)
_PYTHON_EXCEPTIONS = ("PyExc_TypeError", "PyExc_OverflowError")

# Places in NumPy's table of C functions; they are part of its stable binary interface.
_NUMPY_ARRAY_TYPE = 2
_NUMPY_NEW_FROM_DESCR = 94
_NUMPY_SET_BASE_OBJECT = 282

# How a spinning thread tells the processor: declaration and call.
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

# The functions that store and load the register that says how floating-point numbers are rounded and flushed.
_ARM_CONTROL = """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define internal void @get_control(ptr %at) alwaysinline {
  %word = call i64 @llvm.aarch64.get.fpcr()
  store i64 %word, ptr %at
  ret void
}
define internal void @set_control(ptr %at) alwaysinline {
  %word = load i64, ptr %at
  call void @llvm.aarch64.set.fpcr(i64 %word)
  ret void
}"""
_CONTROLS = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define internal void @get_control(ptr %at) alwaysinline {
  call void @llvm.x86.sse.stmxcsr(ptr %at)
  ret void
}
define internal void @set_control(ptr %at) alwaysinline {
  call void @llvm.x86.sse.ldmxcsr(ptr %at)
  ret void
}""",
    "aarch64": _ARM_CONTROL,
    "arm64": _ARM_CONTROL,
}
_NO_CONTROL = """
define internal void @get_control(ptr %at) alwaysinline {
  ret void
}
define internal void @set_control(ptr %at) alwaysinline {
  ret void
}"""


@functools.cache
def code() -> engine.Code:
    """The shared code, loaded on the first call."""
    fingerprint = f"shared {sys.abiflags} {object.__basicsize__}"
    loaded = engine.compile_ir(fingerprint, _text, _SYMBOLS, imports(), has_long_loops=False)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(loaded.address("pool_set_threads"))(_threads_at_first())
    os.register_at_fork(after_in_child=_after_fork_in_child)
    return loaded


def function(symbol: str, result: type | None, *arguments: type) -> Callable[..., Any]:
    """A function of the shared code as a ctypes function; the GIL is released while it runs."""
    return ctypes.CFUNCTYPE(result, *arguments)(code().address(symbol))


def share_threads() -> None:
    """Let the pool use the threads of an OpenMP runtime, once the process has one that PyTorch uses."""
    # Not in a forked child: there the runtime believes in threads that do not exist, and waits for them.
    if not _Shared.done and "torch" in sys.modules:
        _Shared.done = True
        parallel = getattr(ctypes.CDLL(None), "GOMP_parallel", None)
        if parallel is not None:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code().address("pool_use_openmp"))(address_of(parallel))


class _Shared:
    """Whether the question of an OpenMP runtime is settled."""

    done = False


def _after_fork_in_child() -> None:
    _Shared.done = True
    ctypes.CFUNCTYPE(None)(code().address("pool_reset"))()


def usable_processors() -> int:
    """How many processors the process may run on."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, LARGEST_POOL)


def _threads_at_first() -> int:
    """``OPDSL_NUM_THREADS``, or as many as there are processors."""
    asked = os.environ.get("OPDSL_NUM_THREADS", "")
    if not asked:
        return usable_processors()
    if not asked.isdecimal() or int(asked) < 1:
        raise ArgumentError(f"OPDSL_NUM_THREADS: expected a positive integer, got {asked!r}.")
    return min(int(asked), LARGEST_POOL)


def _text() -> str:
    declaration, pause = _PAUSES.get(platform.machine(), ("", "fence seq_cst"))
    words = {
        **{name: str(value) for name, value in CONSTANTS.items()},
        "PAUSE_DECLARATION": declaration,
        "CONTROL_FUNCTIONS": _CONTROLS.get(platform.machine(), _NO_CONTROL),
        "PAUSE": pause,
    }
    pattern = re.compile(r"(?<![@%.\w])(" + "|".join(sorted(words, key=len, reverse=True)) + r")(?![\w:])")
    folder = Path(__file__).parent
    lines = "\n".join(
        (folder / name).read_text() for name in ("pool.ll", "call.ll", "walk.ll", "reduce.ll", "author.ll", "tensor.ll")
    ).splitlines()
    # Comments name the constants too, and "%helper, ptr %helper" must stay: only bare words are replaced.
    return "\n".join(pattern.sub(lambda match: words[match[1]], line.split(";")[0]) for line in lines)


@functools.cache
def imports() -> dict[str, int]:
    """Where the functions of Python and NumPy lie that the code calls by name."""
    addresses = {name: address_of(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    for name in _PYTHON_EXCEPTIONS:
        addresses[name] = ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.pythonapi, name))
    addresses["_Py_NoneStruct"] = id(None)
    addresses["PyLong_Type"] = id(int)
    table = _numpy_table()
    addresses["PyArray_Type"] = table[_NUMPY_ARRAY_TYPE]
    addresses["PyArray_NewFromDescr"] = table[_NUMPY_NEW_FROM_DESCR]
    addresses["PyArray_SetBaseObject"] = table[_NUMPY_SET_BASE_OBJECT]
    return addresses


def address_of(function: Callable[..., Any]) -> int:
    """The address of a C function."""
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
