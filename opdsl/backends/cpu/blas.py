"""The BLAS that NumPy has brought into the process: where its matrix products lie, and how many threads it uses.

Its own threads wait actively for milliseconds, and so do those of an OpenMP runtime: on one set of processors they
starve each other. So the worker pool divides products, and asks the BLAS to compute each share on one thread.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import attrs

# The letter of a type in the names of the BLAS.
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


@attrs.frozen(eq=False)
class Blas:
    """A loaded BLAS.

    products: the address of ``cblas_?gemm`` for each letter.
    integer: LLVM's type of its sizes.
    lapack: the names of LAPACK's routines beside it, with ``{}`` for the routine.
    controller: sets and tells the number of its threads (see threadpoolctl).
    """

    products: dict[str, int]
    integer: str
    lapack: str
    controller: Any


@functools.cache
def blas() -> Blas | None:
    """NumPy's BLAS, or None where it is none that shows its functions and the number of its threads."""
    import ctypes

    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().lib_controllers:
        if library.internal_api != "openblas" or "numpy" not in library.filepath:
            continue
        for prefix, suffix, integer in (("scipy_cblas", "64_", "i64"), ("cblas", "64_", "i64"), ("cblas", "", "i32")):
            names = {letter: f"{prefix}_{letter}gemm{suffix}" for letter in LETTERS.values()}
            if all(hasattr(library.dynlib, name) for name in names.values()):
                found = {letter: getattr(library.dynlib, name) for letter, name in names.items()}
                places = {letter: ctypes.cast(each, ctypes.c_void_p).value or 0 for letter, each in found.items()}
                lapack = f"{prefix.removesuffix('cblas')}{{}}_{suffix}"
                return Blas(places, integer, lapack, library)
    return None


@contextlib.contextmanager
def on_one_thread(controller: Any) -> Iterator[None]:
    """Inside, each call of the BLAS stays on the thread that makes it; what was set before comes back at the end.

    The number of threads is one for the process, so others' products are held to one thread meanwhile.
    """
    with _lock:
        if _State.users == 0:
            _State.threads = controller.get_num_threads()
            controller.set_num_threads(1)
        _State.users += 1
    try:
        yield
    finally:
        with _lock:
            _State.users -= 1
            if _State.users == 0:
                controller.set_num_threads(_State.threads)


class _State:
    """How many calls hold the BLAS to one thread, and how many threads it had before."""

    users = 0
    threads = 1


_lock = threading.Lock()


def _after_fork_in_child() -> None:
    # A thread that was inside does not exist in the child.
    global _lock
    _lock = threading.Lock()
    found = blas() if _State.users else None
    _State.users = 0
    if found is not None:
        found.controller.set_num_threads(_State.threads)


os.register_at_fork(after_in_child=_after_fork_in_child)
