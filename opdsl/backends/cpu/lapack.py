"""LAPACK: factorizations of matrices, solvers and eigenvalues, of stacks of matrices in one loop without the GIL.

The pool's threads share the loop of routines that need no work memory.

Stacks are arrays (count, rows, columns) of float32, float64, complex64 or complex128 whose matrices lie column by
column (Fortran order); they are overwritten by results, as LAPACK's documentation of the routine says
(https://www.netlib.org/lapack/lug/). Vectors are stacks (count, size). What fails is told by ``info``, an int32 for
each matrix.
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

# What routines of real numbers are called for complex ones.
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd"}

# Multiplications of all matrices together for which the GIL is kept; as many are worth a thread of their own.
_UNDER_GIL = 2**17

# Bytes that the parts of work memory are aligned to, in it.
_LINE = 64

# Multiplications of one matrix from which LAPACK's own threads pay: they wait actively, for milliseconds.
_SINGLE_UP_TO = 2**28


# An array among what a routine takes: the bytes from one matrix to the next.
_Stack: TypeAlias = tuple[int]


@attrs.frozen
class Work:
    """Memory that a routine needs for itself, one for all matrices.

    dtype: of its elements; None for the matrix's own.
    size: how many; None for as many as the routine says when it is asked.
    is_counted: whether the routine is told how many there are.
    """

    dtype: Any = None
    size: int | None = None
    is_counted: bool = False


WORK = Work(is_counted=True)
INTEGERS = Work(numpy.int32, is_counted=True)


def call(name: str, *arguments: str | int | Array | Work) -> Array:
    """Calls a routine for each matrix of a stack.

    Args:
        name: without the letter of its type; that of real numbers, where there are two.
        arguments: what it takes, in order, but for ``info``: letters as str, integers, stacks of matrices or vectors,
            and ``Work``. The first array says how many matrices there are, and their type.

    Returns:
        ``info``, which is 0 unless the routine has failed in the way that its documentation says.

    Raises:
        KernelError: an argument makes no sense to the routine.
    """
    first = next(text for text in arguments if isinstance(text, numpy.ndarray))
    if not first.size:
        return numpy.zeros(len(first), numpy.int32)
    info: Array = _run(name, first, arguments)
    least = info[0] if len(info) == 1 else info.min()
    if least < 0 and name != "gesdd":  # which says so of what is not finite
        raise KernelError(f"LAPACK's {name} does not take its argument {-least}.")
    return info


def _run(name: str, first: Array, texts: Sequence[str | int | Array | Work], *, has_info: bool = True) -> Any:
    """Calls a routine for each matrix; ``first`` says how many, and their type."""
    count, rows, *_ = shape = first.shape
    arrays: list[Array] = []
    form: list[str | int | Work | _Stack] = []
    for text in texts:
        if isinstance(text, numpy.ndarray):
            arrays.append(text)
            form.append((text.strides[0] if len(text) > 1 else 0,))  # one array may be for all
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
    """The built-in function of the arrays among what a routine takes, which gives ``info``."""
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
    grain = count if grain and scratch else grain  # all share the work memory
    work = builtin.Work(code.address("stack"), count, grain, scratch=scratch, details=words)
    outputs = [builtin.New(numpy.dtype(numpy.int32), (count,), None)] if has_info else []
    return builtin.builtin(name, work, [builtin.ARRAY] * (kinds.count("a") - has_info), outputs, [code])


def _work_sizes(name: str, dtype: Any, form: Sequence[str | int | Work | _Stack]) -> tuple[int, ...]:
    """For each argument how many elements it has where it is work memory; routines are asked where they know better."""
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
    answers = [int(tensor[0, 0].real) for tensor in asked]
    return tuple(max(answer if size is None else size, 1) for size, answer in zip(known, answers, strict=True))


@kept_forever
def _loop(name: str, dtype: Any, kinds: str, library: Blas) -> engine.Code:
    """The loop over a routine."""
    letter = LETTERS[numpy.dtype(dtype).name]
    base = _OF_COMPLEX.get(name, name) if letter in "cz" else name
    imports = {**library.imports, "routine": library.address(f"{letter}{base}")}
    return engine.compile_ir(f"stack {kinds}", lambda: _text(kinds), ["stack"], imports, has_long_loops=False)


def _text(kinds: str) -> str:
    """A loop that calls a routine for each matrix.

    The plan's words are the number of threads that the routine may use, and one for each argument: of an array ("a")
    the bytes from one matrix to the next, of work memory ("w") its place, else ("c") the number itself.
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
    """How many elements lie between neighbouring columns, which LAPACK wants to be at least 1."""
    return int(max(stack.strides[-1] // stack.itemsize, stack.shape[-2], 1))


def _real(stack: Array, size: int | None, *, is_counted: bool = False) -> tuple[Work, ...]:
    """Memory of real numbers, which routines want of complex matrices only."""
    return (Work(stack.real.dtype, size, is_counted),) if numpy.iscomplexobj(stack) else ()


# ------------------------------------------------------------------------------------------------------------ routines


def potrf(uplo: str, a: Array) -> Array:
    """The Cholesky factors in the triangle ``uplo`` ("U" or "L") of matrices; the other triangle stays."""
    return call("potrf", uplo, a.shape[-1], a, _leading(a))


def potrs(uplo: str, a: Array, b: Array) -> Array:
    """Solves by Cholesky factors; ``b`` becomes the solutions."""
    return call("potrs", uplo, a.shape[-1], b.shape[-1], a, _leading(a), b, _leading(b))


def potri(uplo: str, a: Array) -> Array:
    """The triangle ``uplo`` of the inverses of the matrices that have these Cholesky factors."""
    return call("potri", uplo, a.shape[-1], a, _leading(a))


def getrf(a: Array, pivots: Array) -> Array:
    """The factors L and U in one matrix, and for each row the one that it was exchanged with (int32, from 1)."""
    return call("getrf", *a.shape[1:], a, _leading(a), pivots)


def getrs(trans: str, lu: Array, pivots: Array, b: Array) -> Array:
    """Solves by the factors of ``getrf``, "N" as they are, "T" transposed or "C" adjoint."""
    return call("getrs", trans, lu.shape[-1], b.shape[-1], lu, _leading(lu), pivots, b, _leading(b))


def trsm(side: str, uplo: str, trans: str, diag: str, a: Array, b: Array) -> None:
    """Solves by triangles; zeros in a diagonal, ones for ``diag="U"``, give what division by zero gives."""
    one = numpy.ones((1, 1), a.dtype)
    if b.size:
        passed = [side, uplo, trans, diag, *b.shape[1:], one, a, _leading(a), b, _leading(b)]
        _run("trsm", b, passed, has_info=False)


def laswp(a: Array, pivots: Array) -> None:
    """Exchanges rows as the pivots of ``getrf`` say, in order."""
    passed = [a.shape[2], a, _leading(a), 1, pivots.shape[1], pivots, 1]
    if a.size and pivots.size:
        _run("laswp", a, passed, has_info=False)


def geqrf(a: Array, tau: Array) -> Array:
    """The factor R in the upper triangle, and the reflectors of Q beneath it."""
    return call("geqrf", *a.shape[1:], a, _leading(a), tau, WORK)


def orgqr(a: Array, tau: Array) -> Array:
    """The first columns of Q, of the reflectors of ``geqrf``."""
    return call("orgqr", *a.shape[1:], tau.shape[-1], a, _leading(a), tau, WORK)


def ormqr(side: str, adjoint: bool, a: Array, tau: Array, c: Array) -> None:
    """The products of Q, of the reflectors of ``geqrf``, or of its adjoint, with ``c``, which becomes them.

    Args:
        side: "L" where Q stands to the left, "R" to the right.
    """
    letter = "N" if not adjoint else "C" if numpy.iscomplexobj(a) else "T"
    call("ormqr", side, letter, *c.shape[1:], tau.shape[-1], a, _leading(a), tau, c, _leading(c), WORK)


def sytrf(name: str, uplo: str, a: Array, pivots: Array) -> Array:
    """The factors L and D in the triangle ``uplo`` of symmetric matrices ("sytrf"), or Hermitian ones ("hetrf")."""
    return call(name, uplo, a.shape[-1], a, _leading(a), pivots, WORK)


def sytrs(name: str, uplo: str, a: Array, pivots: Array, b: Array) -> Array:
    """Solves by the factors of ``sytrf`` ("sytrs"), or of ``hetrf`` ("hetrs")."""
    return call(name, uplo, a.shape[-1], b.shape[-1], a, _leading(a), pivots, b, _leading(b))


def geev(a: Array, values: Sequence[Array], vectors: Array | None) -> Array:
    """The eigenvalues of matrices, of real ones their real and imaginary parts, and the vectors to the right.

    Real matrices' vectors come in pairs: the real and the imaginary part of the first of two that are conjugates.
    """
    n = a.shape[-1]
    right: tuple[Array | Work | int, ...] = (Work(size=1), 1) if vectors is None else (vectors, _leading(vectors))
    job = "N" if vectors is None else "V"
    return call("geev", "N", job, n, a, _leading(a), *values, Work(size=1), 1, *right, WORK, *_real(a, 2 * n))


def _limit(rcond: float, a: Array) -> Array:
    """Which part of the largest one a singular value has to be, as routines read it."""
    with numpy.errstate(over="ignore"):
        return numpy.full((1, 1), rcond, a.real.dtype)


def gels(a: Array, b: Array) -> Array:
    """Least squares of matrices of full rank; ``b`` has as many rows as the larger side of ``a``."""
    return call("gels", "N", *a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), WORK)


def gelsy(a: Array, b: Array, rcond: float, rank: Array) -> Array:
    """Least squares by a factor with exchanged columns; ``rank`` (int32) becomes how many of these count."""
    m, n = a.shape[1:]
    exchanged = numpy.zeros((len(a), n), numpy.int32)
    arguments = (m, n, b.shape[-1], a, _leading(a), b, _leading(b), exchanged, _limit(rcond, a), rank)
    return call("gelsy", *arguments, WORK, *_real(a, 2 * n))


def gelsd(a: Array, b: Array, rcond: float, rank: Array, s: Array) -> Array:
    """Least squares by singular values, by dividing and conquering; see ``gelsy``."""
    arguments = (*a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), s, _limit(rcond, a), rank)
    return call("gelsd", *arguments, WORK, *_real(a, None), Work(numpy.int32))


def gelss(a: Array, b: Array, rcond: float, rank: Array, s: Array) -> Array:
    """Least squares by singular values; see ``gelsy``."""
    arguments = (*a.shape[1:], b.shape[-1], a, _leading(a), b, _leading(b), s, _limit(rcond, a), rank)
    return call("gelss", *arguments, WORK, *_real(a, 5 * min(a.shape[1:])))


def syevd(jobz: str, uplo: str, a: Array, w: Array) -> Array:
    """The eigenvalues of Hermitian matrices, of which the triangle ``uplo`` is read; their vectors in ``a`` for "V"."""
    n = a.shape[-1]
    return call("syevd", jobz, uplo, n, a, _leading(a), w, WORK, *_real(a, None, is_counted=True), INTEGERS)


def gesdd(jobz: str, a: Array, u: Array | None, s: Array, vt: Array | None) -> Array:
    """The singular values, and for "A" all, for "S" the first singular vectors."""
    m, n = a.shape[1:]
    least, most = min(m, n), max(m, n)
    size = 7 * least if jobz == "N" else max(5 * least**2 + 7 * least, 2 * most * least + 2 * least**2 + least)
    none: tuple[Work | int, ...] = (Work(size=1), 1)
    left = none if u is None else (u, _leading(u))
    right = none if vt is None else (vt, _leading(vt))
    integers = Work(numpy.int32, 8 * least)
    return call("gesdd", jobz, m, n, a, _leading(a), s, *left, *right, WORK, *_real(a, size), integers)
