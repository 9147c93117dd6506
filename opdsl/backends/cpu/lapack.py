"""LAPACK routines for stacks of matrices: factorizations, solvers and eigenvalues, in one loop without the GIL.

The pool's threads divide the loop of routines that need no work memory.

Stacks are arrays (count, rows, columns) of float32, float64, complex64 or complex128 whose matrices are in column-major
(Fortran) order; results overwrite them, as LAPACK's documentation of the routine says
(https://www.netlib.org/lapack/lug/). Vectors are stacks (count, size). ``info``, an int32 for each matrix, reports
failures.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs
import numpy

from opdsl.backends.cpu import builtin, engine, pool
from opdsl.backends.cpu.blas import LARGEST, LETTERS, Blas, blas
from opdsl.backends.cpu.builtin import Kernel
from opdsl.errors import KernelError
from opdsl.runtime.permanent import kept_forever

Array: TypeAlias = numpy.ndarray[Any, Any]

# The names of routines for complex numbers that differ from those for real numbers.
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}

# The number of multiplications, over all matrices, up to which the GIL is kept, and which is worth a thread.
_UNDER_GIL = 2**17

# The alignment in bytes of each array in the work memory.
_LINE = 64

# The number of multiplications per matrix up to which LAPACK stays on one thread: its threads spin for milliseconds.
_SINGLE_UP_TO = 2**28


# An array argument: the bytes from one matrix to the next.
_Stack: TypeAlias = tuple[int]


@attrs.frozen
class Work:
    """Temporary memory that a routine needs, shared by all matrices.

    dtype: of its elements; None for the dtype of the matrices.
    size: the number of elements; None to query the routine for it.
    is_counted: whether the routine takes the number of elements as an argument.
    """

    dtype: Any = None
    size: int | None = None
    is_counted: bool = False


WORK = Work(is_counted=True)
INTEGERS = Work(numpy.int32, is_counted=True)


def call(name: str, *arguments: str | int | Array | Work) -> Array:
    """Call a LAPACK routine for each matrix of a stack.

    Args:
        name: without the letter of the type; the name for real numbers if the one for complex numbers differs.
        arguments: those of the routine, in order, except ``info``: letters as str, integers, stacks of matrices or
            vectors, and ``Work``. The first array determines the number of matrices and their dtype.

    Returns:
        ``info``, which is 0 unless the routine has failed in the way that its documentation says.

    Raises:
        KernelError: the routine rejects an argument.
    """
    first = next(text for text in arguments if isinstance(text, numpy.ndarray))
    if not first.size:
        return numpy.zeros(len(first), numpy.int32)
    info: Array = _run(name, first, arguments)
    least = info[0] if len(info) == 1 else info.min()
    if least < 0 and name != "gesdd":  # gesdd reports matrices that are not finite in this way
        raise KernelError(f"LAPACK's {name} does not take its argument {-least}.")
    return info


def _run(name: str, first: Array, texts: Sequence[str | int | Array | Work], *, has_info: bool = True) -> Any:
    """Call a routine for each matrix; ``first`` determines the number of matrices and their dtype."""
    count, rows, *_ = shape = first.shape
    arrays: list[Array] = []
    form: list[str | int | Work | _Stack] = []
    for text in texts:
        if isinstance(text, numpy.ndarray):
            arrays.append(text)
            form.append((text.strides[0] if len(text) > 1 else 0,))  # an array of length 1 is used for all matrices
        else:
            form.append(text)
    work = first.size * min(rows, shape[-1])
    threads = pool.get_num_threads() if work > _SINGLE_UP_TO * count and blas().has_threads else 1
    grain = 0 if work <= _UNDER_GIL else count if threads > 1 else -(-_UNDER_GIL * count // work)
    return _planned(name, first.dtype, count, threads, grain, has_info, tuple(form))(*arrays)


@functools.lru_cache(maxsize=1024)
def _planned(
    name: str,
    dtype: Any,
    count: int,
    threads: int,
    grain: int,
    has_info: bool,
    form: tuple[str | int | Work | _Stack, ...],
) -> Kernel:
    """Return a built-in function of the array arguments of a routine that calls it for each matrix and returns
    ``info``.
    """
    words, scratch, kinds = [threads], 0, []
    for text, size in zip(form, _work_sizes(name, dtype, form), strict=True):
        if isinstance(text, Work):
            words.append(scratch)
            scratch += -(-size * numpy.dtype(text.dtype or dtype).itemsize // _LINE) * _LINE
            kinds.append("w")
            if text.is_counted:
                words.append(size)
                kinds.append("c")
        else:
            words.append(text[0] if isinstance(text, tuple) else ord(text) if isinstance(text, str) else text)
            kinds.append("a" if isinstance(text, tuple) else "c")
    if has_info:
        words.append(4)
        kinds.append("a")
    numbers = [word for word, kind in zip(words[1:], kinds, strict=True) if kind == "c"]
    if max(numbers, default=0) > LARGEST:
        raise KernelError(f"LAPACK takes sizes up to {LARGEST}, not {max(numbers)}.")
    code = _loop(name, dtype, "".join(kinds), blas())
    grain = count if grain and scratch else grain  # the work memory is shared, so the loop stays on one thread
    work = builtin.Work(code.address("stack"), count, grain, scratch=scratch, details=words)
    outputs = [builtin.New(numpy.dtype(numpy.int32), (count,), None)] if has_info else []
    return builtin.builtin(name, work, [builtin.ARRAY] * (kinds.count("a") - has_info), outputs, [code])


def _work_sizes(name: str, dtype: Any, form: Sequence[str | int | Work | _Stack]) -> tuple[int, ...]:
    """Return the size of each argument that is work memory; the routine is queried for sizes that are None."""
    known = [text.size if isinstance(text, Work) else 0 for text in form]
    if None not in known:
        return tuple(max(number or 0, 1) for number in known)
    passed: list[Array | str | int] = []
    asked: list[Array] = []
    for text in form:
        asked.append(numpy.zeros((1, 1), (text.dtype or dtype) if isinstance(text, Work) else dtype))
        passed.append(asked[-1] if isinstance(text, Work | tuple) else text)
        if isinstance(text, Work) and text.is_counted:
            passed.append(-1)
    _run(name, numpy.zeros((1, 1, 1), dtype), passed)
    answers = [int(workspace[0, 0].real) for workspace in asked]
    return tuple(max(answer if size is None else size, 1) for size, answer in zip(known, answers, strict=True))


@kept_forever
def _loop(name: str, dtype: Any, kinds: str, library: Blas) -> engine.Code:
    """Compile the loop that calls a routine for each matrix."""
    letter = LETTERS[numpy.dtype(dtype).name]
    base = _OF_COMPLEX.get(name, name) if letter in "cz" else name
    imports = {**library.imports, "routine": library.address(f"{letter}{base}")}
    return engine.compile_ir(f"stack {kinds}", lambda: _text(kinds), ["stack"], imports, has_long_loops=False)


def _text(kinds: str) -> str:
    """Return the LLVM IR of the loop that calls a routine for each matrix.

    The plan's words are the number of threads that the routine may use, and one for each argument: for an array ("a")
    the bytes from one matrix to the next, for work memory ("w") its offset, else ("c") the number itself.
    """
    lines = ["define void @stack(ptr %frame, i64 %begin, i64 %end) {", "entry:", "  %plan = load ptr, ptr %frame"]
    slots = kinds.count("a") + 1
    lines.append(f"  %scratch_at = getelementptr i8, ptr %frame, i64 {16 * slots}")
    if "w" in kinds:
        lines.append("  %scratch = load ptr, ptr %scratch_at")
    slot = 0
    for index, kind in enumerate("t" + kinds):
        lines.append(f"  %word{index} = getelementptr i64, ptr %plan, i64 {builtin.HEADER + index}")
        lines.append(f"  %value{index} = load i64, ptr %word{index}")
        if kind == "a":
            slot += 1
            lines.append(f"  %base{index}_at = getelementptr i8, ptr %frame, i64 {16 * slot}")
            lines.append(f"  %base{index} = load ptr, ptr %base{index}_at")
        elif kind == "w":
            lines.append(f"  %argument{index} = getelementptr i8, ptr %scratch, i64 %value{index}")
        elif kind == "c":
            lines.append(f"  %argument{index} = getelementptr i8, ptr %word{index}, i64 0")
    lines += [
        "  %limit = trunc i64 %value0 to i32",
        "  call void @blas_enter(i32 %limit)",
        "  br label %next",
        "next:",
        "  %matrix = phi i64 [ %begin, %entry ], [ %following, %one ]",
        "  %any = icmp slt i64 %matrix, %end",
        "  br i1 %any, label %one, label %done",
        "one:",
    ]
    for index, kind in enumerate(kinds, 1):
        if kind == "a":
            lines.append(f"  %offset{index} = mul i64 %matrix, %value{index}")
            lines.append(f"  %argument{index} = getelementptr i8, ptr %base{index}, i64 %offset{index}")
    called = ", ".join(f"ptr %argument{index}" for index in range(1, len(kinds) + 1))
    lines += [
        f"  call void @routine({called})",
        "  %following = add i64 %matrix, 1",
        "  br label %next",
        "done:",
        "  call void @blas_leave()",
        "  ret void",
        "}",
        f"declare void @routine({', '.join(['ptr'] * len(kinds))})",
        "declare void @blas_enter(i32)",
        "declare void @blas_leave()",
    ]
    return "\n".join(lines)


def _leading(stack: Array) -> int:
    """Return the leading dimension, the elements from one column to the next, which LAPACK wants to be at least 1."""
    return int(max(stack.strides[-1] // stack.itemsize, stack.shape[-2], 1))


def _real(stack: Array, size: int | None, *, is_counted: bool = False) -> tuple[Work, ...]:
    """Return real work memory as an argument list, which is empty for real matrices because only complex routines take
    it.
    """
    return (Work(stack.real.dtype, size, is_counted),) if numpy.iscomplexobj(stack) else ()


# ------------------------------------------------------------------------------------------------------------ routines


def potrf(uplo: str, a: Array) -> Array:
    """Compute Cholesky factors in place in the triangle ``uplo`` ("U" or "L"); the other triangle stays."""
    return call("potrf", uplo, a.shape[-1], a, _leading(a))


def potrs(uplo: str, a: Array, b: Array) -> Array:
    """Solve linear systems by Cholesky factors; the solutions overwrite ``b``."""
    return call("potrs", uplo, a.shape[-1], b.shape[-1], a, _leading(a), b, _leading(b))


def potri(uplo: str, a: Array) -> Array:
    """Compute the inverses of matrices from their Cholesky factors, in place, in the triangle ``uplo``."""
    return call("potri", uplo, a.shape[-1], a, _leading(a))


def getrf(a: Array, pivots: Array) -> Array:
    """Compute LU factors in place; ``pivots`` gets for each row the one that it was exchanged with (from 1)."""
    return call("getrf", *a.shape[1:], a, _leading(a), pivots)


def getrs(trans: str, lu: Array, pivots: Array, b: Array) -> Array:
    """Solve linear systems by the factors of ``getrf``: plain ("N"), transposed ("T") or adjoint ("C"); the solutions
    overwrite ``b``.
    """
    return call("getrs", trans, lu.shape[-1], b.shape[-1], lu, _leading(lu), pivots, b, _leading(b))


def trsm(side: str, uplo: str, trans: str, diag: str, a: Array, b: Array) -> None:
    """Solve triangular systems in place of ``b``; a zero on the diagonal gives infinities or NaN, and ``diag="U"``
    means a unit diagonal.
    """
    one = numpy.ones((1, 1), a.dtype)
    if b.size:
        passed = [side, uplo, trans, diag, *b.shape[1:], one, a, _leading(a), b, _leading(b)]
        _run("trsm", b, passed, has_info=False)


def laswp(a: Array, pivots: Array) -> None:
    """Exchange rows in the order of the pivots of ``getrf``, in place."""
    passed = [a.shape[2], a, _leading(a), 1, pivots.shape[1], pivots, 1]
    if a.size and pivots.size:
        _run("laswp", a, passed, has_info=False)


def geqrf(a: Array, tau: Array) -> Array:
    """Compute a QR factorization in place: R in the upper triangle, the reflectors of Q below it, and their factors in
    ``tau``.
    """
    return call("geqrf", *a.shape[1:], a, _leading(a), tau, WORK)


def orgqr(a: Array, tau: Array) -> Array:
    """Compute the first columns of Q from the reflectors of ``geqrf``, in place."""
    return call("orgqr", *a.shape[1:], tau.shape[-1], a, _leading(a), tau, WORK)


def ormqr(side: str, adjoint: bool, a: Array, tau: Array, c: Array) -> None:
    """Multiply ``c`` by Q, given by the reflectors of ``geqrf``, or by its adjoint, in place.

    Args:
        side: "L" if Q is on the left, "R" if it is on the right.
        adjoint: whether to multiply by the adjoint of Q.
        a, tau: the reflectors and their factors.
        c: the other matrices.
    """
    letter = "N" if not adjoint else "C" if numpy.iscomplexobj(a) else "T"
    call("ormqr", side, letter, *c.shape[1:], tau.shape[-1], a, _leading(a), tau, c, _leading(c), WORK)


def sytrf(name: str, uplo: str, a: Array, pivots: Array) -> Array:
    """Compute LDL factors in place, in the triangle ``uplo`` of symmetric ("sytrf") or Hermitian matrices ("hetrf")."""
    return call(name, uplo, a.shape[-1], a, _leading(a), pivots, WORK)


def sytrs(name: str, uplo: str, a: Array, pivots: Array, b: Array) -> Array:
    """Solve linear systems by the factors of ``sytrf`` ("sytrs") or of ``hetrf`` ("hetrs"); the solutions overwrite
    ``b``.
    """
    return call(name, uplo, a.shape[-1], b.shape[-1], a, _leading(a), pivots, b, _leading(b))


def geev(a: Array, values: Sequence[Array], vectors: Array | None) -> Array:
    """Compute the eigenvalues of matrices, and their right eigenvectors if ``vectors`` is given.

    The eigenvalues of real matrices are two arrays, their real and imaginary parts. Eigenvectors of real matrices for a
    conjugate pair of eigenvalues are two columns: the real and the imaginary part of the first vector.
    """
    n = a.shape[-1]
    right: tuple[Array | Work | int, ...] = (Work(size=1), 1) if vectors is None else (vectors, _leading(vectors))
    job = "N" if vectors is None else "V"
    return call("geev", "N", job, n, a, _leading(a), *values, Work(size=1), 1, *right, WORK, *_real(a, 2 * n))


def _limit(rcond: float, a: Array) -> Array:
    """Return the relative limit below which singular values count as 0, as an array that routines read."""
    with numpy.errstate(over="ignore"):
        return numpy.full((1, 1), rcond, a.real.dtype)


def gels(a: Array, b: Array) -> Array:
    """Solve least squares problems with matrices of full rank; ``b`` has as many rows as the larger side of ``a``."""
    return call("gels", "N", *a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), WORK)


def gelsy(a: Array, b: Array, rcond: float, rank: Array) -> Array:
    """Solve least squares problems by a QR factorization with column pivoting; the effective ranks are written to
    ``rank`` (int32).
    """
    m, n = a.shape[1:]
    exchanged = numpy.zeros((len(a), n), numpy.int32)
    arguments = (m, n, b.shape[-1], a, _leading(a), b, _leading(b), exchanged, _limit(rcond, a), rank)
    return call("gelsy", *arguments, WORK, *_real(a, 2 * n))


def gelsd(a: Array, b: Array, rcond: float, rank: Array, s: Array) -> Array:
    """Solve least squares problems by singular values with a divide-and-conquer algorithm, see ``gelsy``."""
    arguments = (*a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), s, _limit(rcond, a), rank)
    return call("gelsd", *arguments, WORK, *_real(a, None), Work(numpy.int32))


def gelss(a: Array, b: Array, rcond: float, rank: Array, s: Array) -> Array:
    """Solve least squares problems by singular values, see ``gelsy``."""
    arguments = (*a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), s, _limit(rcond, a), rank)
    return call("gelss", *arguments, WORK, *_real(a, 5 * min(a.shape[1:])))


def syevd(jobz: str, uplo: str, a: Array, w: Array) -> Array:
    """Compute the eigenvalues of Hermitian matrices from the triangle ``uplo``; with ``jobz="V"`` the eigenvectors
    overwrite ``a``.
    """
    n = a.shape[-1]
    return call("syevd", jobz, uplo, n, a, _leading(a), w, WORK, *_real(a, None, is_counted=True), INTEGERS)


def gesdd(jobz: str, a: Array, u: Array | None, s: Array, vt: Array | None) -> Array:
    """Compute the singular values of matrices, and with ``jobz="A"`` all, with "S" the first singular vectors."""
    m, n = a.shape[1:]
    least, most = min(m, n), max(m, n)
    size = 7 * least if jobz == "N" else max(5 * least**2 + 7 * least, 2 * most * least + 2 * least**2 + least)
    none: tuple[Work | int, ...] = (Work(size=1), 1)
    left = none if u is None else (u, _leading(u))
    right = none if vt is None else (vt, _leading(vt))
    integers = Work(numpy.int32, 8 * least)
    return call("gesdd", jobz, m, n, a, _leading(a), s, *left, *right, WORK, *_real(a, size), integers)
