"""The LAPACK that comes with NumPy's BLAS: factorizations of matrices, solvers and eigenvalues.

Matrices are arrays of float32, float64, complex64 or complex128 that lie column by column (Fortran order); they are
overwritten by results, as LAPACK's documentation of the routine says (https://www.netlib.org/lapack/lug/).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy

from opdsl.backends.cpu.blas import LETTERS, Blas, blas
from opdsl.errors import KernelError, MissingDependencyError

Array = numpy.ndarray[Any, Any]

# What routines of real numbers are called for complex ones.
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}


@attrs.frozen
class Work:
    """Memory that a routine needs for itself.

    dtype: of its elements; None for the matrix's own.
    size: how many; None for as many as the routine says when it is asked.
    is_counted: whether the routine is told how many there are.
    """

    dtype: Any = None
    size: int | None = None
    is_counted: bool = False


WORK = Work(is_counted=True)


@functools.cache
def integer() -> type[numpy.signedinteger[Any]]:
    """The type of LAPACK's integers.

    Raises:
        MissingDependencyError: NumPy has come without a LAPACK that can be called.
    """
    found = _library()
    return numpy.int64 if found.integer == "i64" else numpy.int32


def _library() -> Blas:
    found = blas()
    if found is None:
        raise MissingDependencyError(
            "Linear algebra needs the LAPACK of an OpenBLAS, which NumPy's wheels bring and this NumPy does not. "
            "Install it from the Python Package Index: pip install --force-reinstall numpy"
        )
    return found


@functools.cache
def _routine(name: str, dtype: Any) -> Callable[..., None]:
    letter = LETTERS[numpy.dtype(dtype).name]
    base = _OF_COMPLEX.get(name, name) if letter in "cz" else name
    found = _library()
    routine: Callable[..., None] = getattr(found.controller.dynlib, found.lapack.format(f"{letter}{base}"))
    routine.restype = None  # type: ignore[attr-defined]
    return routine


def call(name: str, dtype: Any, *given: object) -> int:
    """Calls a routine.

    Args:
        name: without the letter of its type; that of real numbers, where there are two.
        dtype: of the matrices.
        given: what it takes, in order, but for ``info``: letters as str, integers, floats of the matrix's type, arrays
            and ``Work``.

    Returns:
        ``info``, which is 0 unless the routine has failed in the way that its documentation says.

    Raises:
        KernelError: an argument makes no sense to the routine.
    """
    memory = [each if isinstance(each, Work) else None for each in given]
    sizes = {place: 1 if each.size is None else each.size for place, each in enumerate(memory) if each is not None}
    if any(each is not None and each.size is None for each in memory):
        asked = _run(name, dtype, given, sizes, is_query=True)[1]
        for place, answer in asked.items():
            work = memory[place]
            if work is not None and work.size is None:
                sizes[place] = int(answer[0].real)
    info = _run(name, dtype, given, sizes, is_query=False)[0]
    if info < 0 and name != "gesdd":  # which says so of what is not finite
        raise KernelError(f"LAPACK's {name} does not take its argument {-info}.")
    return info


def _run(
    name: str, dtype: Any, given: Sequence[object], sizes: dict[int, int], *, is_query: bool
) -> tuple[int, dict[int, Array]]:
    count = ctypes.c_int64 if integer() is numpy.int64 else ctypes.c_int32
    passed: list[Any] = []
    lengths = []
    memory = {}
    for place, each in enumerate(given):
        if isinstance(each, Work):
            memory[place] = numpy.empty(max(sizes[place], 1), each.dtype or dtype)
            passed.append(memory[place].ctypes)
            if each.is_counted:
                passed.append(ctypes.byref(count(-1 if is_query else sizes[place])))
        elif isinstance(each, str):
            passed.append(ctypes.c_char_p(each.encode()))
            lengths.append(ctypes.c_size_t(1))
        elif isinstance(each, int):
            passed.append(ctypes.byref(count(each)))
        elif isinstance(each, numpy.ndarray):
            passed.append(each.ctypes)
        else:
            passed.append(numpy.asarray(each, dtype).ctypes)
    info = count(0)
    _routine(name, numpy.dtype(dtype))(*passed, ctypes.byref(info), *lengths)
    return int(info.value), memory


def _leading(matrix: Array) -> int:
    """How many elements lie between neighbouring columns, which LAPACK wants to be at least 1."""
    return int(max(matrix.strides[-1] // matrix.itemsize, matrix.shape[0], 1))


def real_of(matrix: Array) -> Any:
    """The dtype of the real parts."""
    return matrix.real.dtype


# --------------------------------------------------------------------------------------------------------- one routine


def potrf(uplo: str, a: Array) -> int:
    """The Cholesky factor in the triangle ``uplo`` ("U" or "L") of a matrix; the other triangle stays."""
    return call("potrf", a.dtype, uplo, len(a), a, _leading(a))


def potrs(uplo: str, a: Array, b: Array) -> int:
    """Solves by a Cholesky factor; ``b`` becomes the solution."""
    return call("potrs", a.dtype, uplo, len(a), b.shape[1], a, _leading(a), b, _leading(b))


def potri(uplo: str, a: Array) -> int:
    """The triangle ``uplo`` of the inverse of the matrix that has this Cholesky factor."""
    return call("potri", a.dtype, uplo, len(a), a, _leading(a))


def getrf(a: Array, pivots: Array) -> int:
    """The factors L and U in one matrix, and for each row the one that it was exchanged with, counted from 1."""
    places = numpy.zeros(len(pivots), integer())
    info = call("getrf", a.dtype, *a.shape, a, _leading(a), places)
    pivots[...] = places
    return info


def getrs(trans: str, lu: Array, pivots: Array, b: Array) -> int:
    """Solves by the factors of ``getrf``, "N" as they are, "T" transposed or "C" adjoint."""
    places = pivots.astype(integer())
    return call("getrs", lu.dtype, trans, len(lu), b.shape[1], lu, _leading(lu), places, b, _leading(b))


def trsm(side: str, uplo: str, trans: str, diag: str, a: Array, b: Array) -> None:
    """Solves by a triangle; zeros in its diagonal, ones for ``diag="U"``, give what division by zero gives."""
    count = ctypes.c_int64 if integer() is numpy.int64 else ctypes.c_int32
    rows, columns, leading, leading_b = (ctypes.byref(count(each)) for each in (*b.shape, _leading(a), _leading(b)))
    one = numpy.ones(1, a.dtype)
    letters = [ctypes.c_char_p(each.encode()) for each in (side, uplo, trans, diag)]
    places = (rows, columns, one.ctypes, a.ctypes, leading, b.ctypes, leading_b)
    _routine("trsm", a.dtype)(*letters, *places, *(ctypes.c_size_t(1) for _ in letters))


def geqrf(a: Array, tau: Array) -> int:
    """The factor R in the upper triangle, and the reflectors of Q beneath it."""
    return call("geqrf", a.dtype, *a.shape, a, _leading(a), tau, WORK)


def orgqr(a: Array, tau: Array) -> int:
    """The first columns of Q, of the reflectors of ``geqrf``."""
    return call("orgqr", a.dtype, *a.shape, len(tau), a, _leading(a), tau, WORK)


def ormqr(side: str, trans: str, a: Array, tau: Array, c: Array) -> int:
    """``c`` times Q, or its adjoint, from the left or the right."""
    letter = "C" if trans == "T" and numpy.iscomplexobj(a) else trans
    return call("ormqr", a.dtype, side, letter, *c.shape, len(tau), a, _leading(a), tau, c, _leading(c), WORK)


def syevd(jobz: str, uplo: str, a: Array, w: Array) -> int:
    """The eigenvalues of a Hermitian matrix, of which the triangle ``uplo`` is read; its vectors in ``a`` for "V"."""
    n = len(a)
    real = (Work(real_of(a), 1 + 5 * n + 2 * n * n, True),) if numpy.iscomplexobj(a) else ()
    return call("syevd", a.dtype, jobz, uplo, n, a, _leading(a), w, WORK, *real, Work(integer(), 3 + 5 * n, True))


def geev(a: Array, w: Array, v: Array | None) -> int:
    """The eigenvalues of a matrix, complex in ``w``, and its vectors in ``v``."""
    n = len(a)
    right = numpy.empty((n, n) if v is not None else (1, 1), a.dtype, order="F")
    none = numpy.empty(1, a.dtype)
    jobs = ("N", "N" if v is None else "V")
    places = (none, 1, right, _leading(right))
    if numpy.iscomplexobj(a):
        values = numpy.empty(n, a.dtype)
        info = call("geev", a.dtype, *jobs, n, a, _leading(a), values, *places, WORK, Work(real_of(a), 2 * n))
        w[...] = values
        if v is not None:
            v[...] = right
        return info
    parts = numpy.empty((2, n), a.dtype)
    info = call("geev", a.dtype, *jobs, n, a, _leading(a), parts[0], parts[1], *places, WORK)
    w.real, w.imag = parts
    if v is not None:
        v[...] = right
        # Of two conjugate vectors the first column has the real parts, the second one the imaginary ones.
        for place in numpy.flatnonzero(parts[1] > 0):
            v.imag[:, place] = right[:, place + 1]
            v[:, place + 1] = v[:, place].conj()
    return info


def gesdd(jobz: str, a: Array, u: Array, s: Array, vt: Array) -> int:
    """The singular values, and for "A" all, for "S" the first singular vectors."""
    m, n = a.shape
    least, most = min(m, n), max(m, n)
    size = 7 * least if jobz == "N" else max(5 * least**2 + 7 * least, 2 * most * least + 2 * least**2 + least)
    real = (Work(real_of(a), size),) if numpy.iscomplexobj(a) else ()
    vectors = (s, u, _leading(u), vt, _leading(vt))
    return call("gesdd", a.dtype, jobz, m, n, a, _leading(a), *vectors, WORK, *real, Work(integer(), 8 * least))


def sytrf(name: str, uplo: str, a: Array, pivots: Array) -> int:
    """The factors L and D of a symmetric ("sytrf") or Hermitian ("hetrf") matrix, and its pivots."""
    places = numpy.zeros(len(pivots), integer())
    info = call(name, a.dtype, uplo, len(a), a, _leading(a), places, WORK)
    pivots[...] = places
    return info


def sytrs(name: str, uplo: str, a: Array, pivots: Array, b: Array) -> int:
    """Solves by the factors of ``sytrf`` ("sytrs") or ``hetrf`` ("hetrs")."""
    places = pivots.astype(integer())
    return call(name, a.dtype, uplo, len(a), b.shape[1], a, _leading(a), places, b, _leading(b))


def least_squares(driver: str, a: Array, b: Array, rcond: float, s: Array) -> tuple[int, int]:
    """The solution of least squares in the first rows of ``b``, by "gels", "gelsy", "gelsd" or "gelss".

    Args:
        driver: the routine; "gels" is for matrices of full rank.
        a: (m, n), overwritten.
        b: (max(m, n), columns).
        rcond: singular values up to this share of the largest one count as 0.
        s: where "gelsd" and "gelss" write the singular values.

    Returns:
        ``info``, and the rank that was found.
    """
    m, n = a.shape
    places = (m, n, b.shape[1], a, _leading(a), b, _leading(b))
    if driver == "gels":
        return call("gels", a.dtype, "N", *places, WORK), min(m, n)
    rank = numpy.zeros(1, integer())
    limit = numpy.asarray(rcond, real_of(a))
    is_complex = numpy.iscomplexobj(a)
    least = min(m, n)
    if driver == "gelsy":
        real = (Work(real_of(a), 2 * n),) if is_complex else ()
        order = numpy.zeros(n, integer())
        info = call(driver, a.dtype, *places, order, limit, rank, WORK, *real)
    elif driver == "gelss":
        real = (Work(real_of(a), 5 * least),) if is_complex else ()
        info = call(driver, a.dtype, *places, s, limit, rank, WORK, *real)
    else:
        real = (Work(real_of(a)),) if is_complex else ()
        info = call(driver, a.dtype, *places, s, limit, rank, WORK, *real, Work(integer()))
    return info, int(rank[0])
