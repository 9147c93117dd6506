"""BLAS and LAPACK from oneMKL or SciPy: the addresses of their routines, and control of their thread count.

A BLAS divides its work among its own threads, which spin for milliseconds, and so do those of an OpenMP runtime: on
one set of processors they starve each other, and two processes on one machine even more. Therefore opdsl's own worker
pool divides products, and each share is computed on one thread (``blas_enter`` and ``blas_leave``).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import attrs

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.mkl import address, mkl
from opdsl.backends.cpu.scipy_modules import load
from opdsl.errors import MissingDependencyError
from opdsl.runtime.permanent import kept_forever

# The prefix of a dtype in the names of BLAS and LAPACK routines.
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}

# The largest size: BLAS takes 32-bit integers.
LARGEST = 2**31 - 1

_MODULES = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")

# The names of the functions that get and set the number of threads, by library.
_THREADS = {
    "openblas": [
        (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
        for prefix in ("scipy_", "")
        for suffix in ("", "64_", "_64", "_")
    ],
    "mkl": [("MKL_Get_Max_Threads", "MKL_Set_Num_Threads")],
    "blis": [("bli_thread_get_num_threads", "bli_thread_set_num_threads")],
}


@attrs.frozen(eq=False)
class Blas:
    """BLAS library: its routines, and functions that limit its number of threads.

    name: of the library, for people.
    address: function that returns the address of a routine by its Fortran name. Routines have the Fortran interface:
        every argument is an address.
    has_threads: whether the library divides its work among its own threads.
    threads: code that defines ``blas_enter``, ``blas_leave`` and ``blas_reset``.
    """

    name: str
    address: Callable[[str], int]
    has_threads: bool
    threads: engine.Code

    @property
    def imports(self) -> dict[str, int]:
        """Return the addresses that code calling routines is linked with: ``void blas_enter(i32 threads)``, ``void
        blas_leave()``.
        """
        return {routine: self.threads.address(routine) for routine in ("blas_enter", "blas_leave")}


def blas() -> Blas:
    """Return the BLAS and LAPACK of oneMKL if it is installed, else of SciPy.

    Raises:
        MissingDependencyError: SciPy is missing too, or its BLAS has another interface.
    """
    import threadpoolctl  # noqa: F401  before the lock: imports have their own

    return _blas(*(map(load, _MODULES) if mkl() is None else ()))


@kept_forever
def _blas(*modules: ModuleType) -> Blas:
    library = mkl()
    if library is not None:
        return Blas("oneMKL", functools.partial(address, library), False, _threads(*_thread_functions()))
    routines = {name: capsule for module in modules for name, capsule in module.__pyx_capi__.items()}
    if b"int *" not in _capsule_name(routines["dgemm"]):
        raise MissingDependencyError("opdsl calls a BLAS of 32-bit sizes. Install SciPy's wheel: pip install scipy")
    return Blas("SciPy's", functools.partial(_routine, routines), True, _threads(*_thread_functions()))


def _routine(routines: Mapping[str, Any], name: str) -> int:
    """Return the address of a SciPy routine from its capsule."""
    capsule = routines[name]
    return int(_capsule_address(capsule, _capsule_name(capsule)))


@contextlib.contextmanager
def on_one_thread() -> Iterator[None]:
    """Limit SciPy's or NumPy's BLAS to the calling thread inside the context."""
    enter, leave = (blas().imports[routine] for routine in ("blas_enter", "blas_leave"))
    ctypes.CFUNCTYPE(None, ctypes.c_int32)(enter)(1)
    try:
        yield
    finally:
        ctypes.CFUNCTYPE(None)(leave)()


# ------------------------------------------------------------------------------------------------------------- threads


def _thread_functions() -> list[tuple[int, int]]:
    """Return the addresses of the functions that get and set the number of threads, for each BLAS in the process."""
    from threadpoolctl import ThreadpoolController

    thread_functions = []
    for library in ThreadpoolController().lib_controllers:
        for names in _THREADS.get(library.internal_api, ()):
            if all(hasattr(library.dynlib, name) for name in names):
                get, put = (ctypes.cast(getattr(library.dynlib, name), ctypes.c_void_p).value or 0 for name in names)
                thread_functions.append((get, put))
                break
    return thread_functions


def _threads(*libraries: tuple[int, int]) -> engine.Code:
    """Compile ``blas_enter``, ``blas_leave`` and ``blas_reset``, which limit the threads of BLAS libraries.

    The limit is global to the process: with concurrent calls the smallest one holds. When the last one leaves, the
    number from before the first comes back.
    """
    imports = {
        f"{word}{index}": address
        for index, pair in enumerate(libraries)
        for word, address in zip(("get", "set"), pair, strict=True)
    }
    symbols = ("blas_enter", "blas_leave", "blas_reset")
    count = len(libraries)
    code = engine.compile_ir(f"threads of {count} BLAS", lambda: _text(count), symbols, imports, has_long_loops=False)
    # A thread that had entered does not exist in a forked child, so the count of users is reset.
    os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(code.address("blas_reset")))
    return code


_HEADER = """
@lock = internal global i32 0
@users = internal global i64 0
@threads = internal global i32 0

define internal void @take() {
  br label %try
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %is_held = icmp ne i32 %old, 0
  br i1 %is_held, label %try, label %done
done:
  ret void
}

define internal void @release() {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

define void @blas_enter(i32 %count) {
  call void @take()
  %users = load i64, ptr @users
  %more = add i64 %users, 1
  store i64 %more, ptr @users
  %is_first = icmp eq i64 %users, 0
  %now = load i32, ptr @threads
  %is_fewer = icmp slt i32 %count, %now
  br i1 %is_first, label %save, label %compare
save:
  call void @save_all()
  br label %put
compare:
  br i1 %is_fewer, label %put, label %done
put:
  store i32 %count, ptr @threads
  call void @set_all(i32 %count)
  br label %done
done:
  call void @release()
  ret void
}

define internal void @leave_one() {
  %users = load i64, ptr @users
  %fewer = sub i64 %users, 1
  store i64 %fewer, ptr @users
  %is_last = icmp eq i64 %fewer, 0
  br i1 %is_last, label %last, label %done
last:
  call void @restore_all()
  br label %done
done:
  ret void
}

define void @blas_leave() {
  call void @take()
  call void @leave_one()
  call void @release()
  ret void
}

define void @blas_reset() {
  %users = load i64, ptr @users
  %is_used = icmp ne i64 %users, 0
  br i1 %is_used, label %used, label %done
used:
  store i64 1, ptr @users
  call void @leave_one()
  br label %done
done:
  call void @release()
  ret void
}
"""


def _text(count: int) -> str:
    declared = [
        f"declare i32 @get{index}()\ndeclare void @set{index}(i32)\n@saved{index} = internal global i32 0"
        for index in range(count)
    ]
    save, put, restore = [], [], []
    for index in range(count):
        save += [f"  %found{index} = call i32 @get{index}()", f"  store i32 %found{index}, ptr @saved{index}"]
        put += [f"  call void @set{index}(i32 %count)"]
        restore += [f"  %kept{index} = load i32, ptr @saved{index}", f"  call void @set{index}(i32 %kept{index})"]
    functions = [
        "\n".join([f"define internal void @{name} {{", *body, "  ret void", "}"])
        for name, body in (("save_all()", save), ("set_all(i32 %count)", put), ("restore_all()", restore))
    ]
    return "\n".join([*declared, _HEADER, *functions])


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
