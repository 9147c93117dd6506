"""Loader of oneMKL, if its package is installed: its BLAS, LAPACK and Fourier transforms, set to one thread per call.

The package is found by its metadata (``pip install "opdsl[mkl]"``) and loaded on first use. ``OPDSL_MKL=0`` in the
environment disables it.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
from pathlib import Path

from opdsl.runtime.permanent import kept_forever

_PACKAGE = "mkl"
_LIBRARY = "libmkl_rt.so"

# The settings of libmkl_rt: the threading layer without threads, and the interface with 32-bit integers.
_SEQUENTIAL, _INTEGERS_OF_32_BITS = 1, 0

# The fastest instructions (2), with results that do not depend on alignment or on how rows are divided (0x10000): the
# variants of an operator, which allocate differently, must agree, and so must different numbers of threads.
_REPRODUCIBLE = 2 | 0x10000


def mkl() -> ctypes.CDLL | None:
    """Return the library, or None if it is not installed, is switched off or cannot be loaded; see ``problem``."""
    return _opened()[0]


def problem() -> str:
    """Return why the library is not used, without a full stop, or "" if it is used."""
    return _opened()[1]


def version() -> str:
    """Return the version of the installed package, or "" if none is installed."""
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return ""


def address(library: ctypes.CDLL, name: str) -> int:
    """Return the address of a BLAS or LAPACK routine by its Fortran name."""
    return ctypes.cast(getattr(library, f"{name}_"), ctypes.c_void_p).value or 0


@functools.cache
def path() -> Path | None:
    """Return the path of the library, or None if the package is not installed."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name.startswith(_LIBRARY)), None)


@kept_forever
def _opened() -> tuple[ctypes.CDLL | None, str]:
    if os.environ.get("OPDSL_MKL", "1") in ("", "0"):
        return None, "switched off by OPDSL_MKL=0"
    file = path()
    if file is None:
        return None, "not installed"
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        return None, f"cannot be loaded ({error})"
    if library.MKL_Set_Threading_Layer(_SEQUENTIAL) != _SEQUENTIAL:
        return None, "another package has set its threads"
    if library.MKL_Set_Interface_Layer(_INTEGERS_OF_32_BITS) != _INTEGERS_OF_32_BITS:
        return None, "another package has set the width of its integers"
    library.MKL_CBWR_Set(_REPRODUCIBLE)
    return library, ""
