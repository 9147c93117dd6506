"""Memory layout of Python and NumPy objects for machine code, and the functions of both that it calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Annotated

from opdsl.backends.cpu.machine.language import Address, Int32, Library, Padding, Pointer, Struct, Words

_WORD = ctypes.sizeof(ctypes.c_void_p)


class Object(Struct):
    """Header of every Python object; the size of the fields before the type depends on how Python is built."""

    count: Annotated[None, Padding(object.__basicsize__ - _WORD)]
    type: Object


class Array(Object):
    """NumPy ndarray, as in NumPy's stable binary interface; a plan is the data of one."""

    data: Address
    dimensions: Int32
    shape: Words
    strides: Words
    base: Object
    descriptor: Object
    flags: Int32


WRITEABLE = 0x400


class Python(Library):
    """Functions and objects of CPython's C API."""

    Py_IncRef: Callable[[Object], None]
    Py_DecRef: Callable[[Object], None]
    PyType_IsSubtype: Callable[[Object, Object], Int32]
    PyType_GenericAlloc: Callable[[Object, int], Object | None]
    PyFloat_AsDouble: Callable[[Object], float]
    PyComplex_RealAsDouble: Callable[[Object], float]
    PyComplex_ImagAsDouble: Callable[[Object], float]
    PyLong_AsLongLong: Callable[[Object], int]
    PyLong_AsUnsignedLongLong: Callable[[Object], int]
    PyLong_FromVoidPtr: Callable[[Address | None], Object | None]
    PyLong_FromLongLong: Callable[[int], Object | None]
    PyObject_IsTrue: Callable[[Object], Int32]
    PyObject_RichCompareBool: Callable[[Object, Object, Int32], Int32]
    PyObject_CallNoArgs: Callable[[Object], Object | None]
    PyObject_CallOneArg: Callable[[Object, Object], Object | None]
    PyObject_Vectorcall: Callable[[Object, Pointer[Object], int, Object | None], Object | None]
    PyTuple_New: Callable[[int], Object | None]
    PyTuple_Size: Callable[[Object], int]
    PyTuple_SetItem: Callable[[Object, int, Object], Int32]
    PyErr_Occurred: Callable[[], Object | None]
    PyErr_NoMemory: Callable[[], Object]
    PyErr_SetString: Callable[[Object, bytes], None]
    PyErr_ExceptionMatches: Callable[[Object], Int32]
    PyErr_Clear: Callable[[], None]
    PyErr_CheckSignals: Callable[[], Int32]
    PyGILState_Check: Callable[[], Int32]
    PyGILState_Ensure: Callable[[], Int32]
    PyGILState_Release: Callable[[Int32], None]
    PyEval_SaveThread: Callable[[], Address]
    PyEval_RestoreThread: Callable[[Address], None]
    PyThread_allocate_lock: Callable[[], Address | None]
    PyThread_acquire_lock: Callable[[Address, Int32], Int32]
    PyThread_acquire_lock_timed: Callable[[Address, int, Int32], Int32]
    PyThread_release_lock: Callable[[Address], None]
    PyThread_start_new_thread: Callable[[Callable[..., None], object], int]
    PyThread_get_thread_ident: Callable[[], int]
    PyThread_tss_create: Callable[[object], Int32]
    PyThread_tss_get: Callable[[object], Address | None]
    PyThread_tss_set: Callable[[object, Words | None], Int32]
    PyExc_TypeError: Pointer[Object]
    PyExc_OverflowError: Pointer[Object]
    PyFloat_Type: Object
    PyLong_Type: Object
    _Py_NoneStruct: Object


class NumPy(Library):
    """Functions and objects of NumPy's C API."""

    PyArray_Type: Object
    PyArray_NewFromDescr: Callable[
        [Object, Object, Int32, Words, Words | None, Address | None, Int32, Object | None], Array | None
    ]
    PyArray_SetBaseObject: Callable[[Array, Object], Int32]


class Memory(Library):
    """Functions of the C library."""

    malloc: Callable[[int], Address | None]
    free: Callable[[Address], None]
    clock_gettime: Callable[[Int32, Words], Int32]


python, numpy, memory = Python(), NumPy(), Memory()
