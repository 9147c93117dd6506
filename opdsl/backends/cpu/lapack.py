"""LAPACK: factorizations of matrices, solvers and eigenvalues, of stacks of matrices in one loop without the GIL.

Stacks are arrays (count, rows, columns) of float32, float64, complex64 or complex128 whose matrices lie column by
column (Fortran order); they are overwritten by results, as LAPACK's documentation of the routine says
(https://www.netlib.org/lapack/lug/). Vectors are stacks (count, size). What fails is told by ``info``, an int32 for
each matrix.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs
import numpy

from opdsl.backends.cpu import engine, pool
from opdsl.backends.cpu.blas import LARGEST, LETTERS, blas
from opdsl.errors import KernelError

Array: TypeAlias = numpy.ndarray[Any, Any]

# What routines of real numbers are called for complex ones.
_OF_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd"}

# What is the same for all matrices; as a tuple, since a union is made anew wherever it is written.
_SCALAR = (str, int)

# Multiplications of one matrix from which LAPACK's own threads pay: they wait actively, for milliseconds.
_SINGLE_UP_TO = 2**28


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


def call(name: str, *given: str | int | Array | Work) -> Array:
    """Calls a routine for each matrix of a stack.

    Args:
        name: without the letter of its type; that of real numbers, where there are two.
        given: what it takes, in order, but for ``info``: letters as str, integers, stacks of matrices or vectors, and
            ``Work``. The first array says how many matrices there are, and their type.

    Returns:
        ``info``, which is 0 unless the routine has failed in the way that its documentation says.

    Raises:
        KernelError: an argument makes no sense to the routine.
    """
    first = next(each for each in given if isinstance(each, numpy.ndarray))
    info = numpy.zeros(len(first), numpy.int32)
    if not first.size:
        return info
    kinds = tuple(None if isinstance(each, numpy.ndarray) else each for each in given)
    sizes = _work_sizes(name, first.dtype, kinds)
    passed: list[Array | str | int] = []
    for each, size in zip(given, sizes, strict=True):
        if isinstance(each, Work):
            passed.append(numpy.empty((1, size), each.dtype or first.dtype))
            if each.is_counted:
                passed.append(size)
        else:
            passed.append(each)
    _run(name, first.dtype, [*passed, info], len(first), _threads(first))
    if info.min() < 0 and name != "gesdd":  # which says so of what is not finite
        raise KernelError(f"LAPACK's {name} does not take its argument {-info.min()}.")
    return info


@functools.lru_cache(maxsize=1024)
def _work_sizes(name: str, dtype: Any, kinds: tuple[str | int | Work | None, ...]) -> tuple[int, ...]:
    """For each argument how many elements it has where it is work memory; routines are asked where they know better."""
    known = [each.size if isinstance(each, Work) else 0 for each in kinds]
    if None not in known:
        return tuple(max(each or 0, 1) for each in known)
    passed: list[Array | str | int] = []
    asked: list[Array] = []
    for each in kinds:
        asked.append(numpy.zeros((1, 1), (each.dtype or dtype) if isinstance(each, Work) else dtype))
        passed.append(each if isinstance(each, _SCALAR) else asked[-1])
        if isinstance(each, Work) and each.is_counted:
            passed.append(-1)
    _run(name, dtype, [*passed, numpy.zeros(1, numpy.int32)], 1, 1)
    answers = [int(each[0, 0].real) for each in asked]
    return tuple(max(answer if size is None else size, 1) for size, answer in zip(known, answers, strict=True))


def _numbers(values: Sequence[str | int]) -> Array:
    """Letters and integers, each of which is the same for all matrices."""
    numbers = [ord(value) if isinstance(value, str) else value for value in values]
    if max(numbers, default=0) > LARGEST:
        raise KernelError(f"LAPACK takes sizes up to {LARGEST}, not {max(numbers)}.")
    return numpy.array(numbers, numpy.int32)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]  # which ``ctypes.data`` makes objects for
    return address


def _threads(stack: Array) -> int:
    sizes = stack.shape[1:]
    return pool.get_num_threads() if max(sizes) * min(sizes) ** 2 > _SINGLE_UP_TO else 1


def _run(name: str, dtype: Any, passed: Sequence[Array | str | int], count: int, threads: int) -> None:
    numbers = _numbers([each for each in passed if isinstance(each, _SCALAR)])
    words, number = [count, threads], _address(numbers)
    for each in passed:
        if isinstance(each, _SCALAR):
            words += number, 0
            number += numbers.itemsize
        else:
            words += _address(each), each.strides[0] if len(each) > 1 else 0
    frame = numpy.array(words, numpy.int64)
    loop = _routine(name, dtype, len(passed))[1]
    loop(_address(frame))


@functools.cache
def _routine(name: str, dtype: Any, arguments: int) -> tuple[engine.Code, Callable[[int], None]]:
    """The loop over a routine; the code lives as long as the function."""
    letter = LETTERS[numpy.dtype(dtype).name]
    base = _OF_COMPLEX.get(name, name) if letter in "cz" else name
    found = blas()
    imports = {**found.imports, "routine": found.address(f"{letter}{base}")}
    code = engine.compile_ir(f"stack {arguments}", lambda: _text(arguments), ["stack"], imports, has_long_loops=False)
    return code, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address("stack"))


def _text(arguments: int) -> str:
    """A loop that calls a routine for each matrix.

    The frame has the number of matrices, the number of threads that the routine may use, and for each argument its
    address and the bytes from one matrix to the next.
    """
    lines = ["define void @stack(ptr %frame) {", "entry:"]
    fields = ["count", "threads", *(f"{word}{index}" for index in range(arguments) for word in ("base", "step"))]
    for index, field in enumerate(fields):
        lines.append(f"  %{field}_at = getelementptr i64, ptr %frame, i64 {index}")
        lines.append(f"  %{field} = load {'ptr' if field.startswith('base') else 'i64'}, ptr %{field}_at")
    lines += [
        "  %limit = trunc i64 %threads to i32",
        "  call void @blas_enter(i32 %limit)",
        "  br label %next",
        "next:",
        "  %matrix = phi i64 [ 0, %entry ], [ %following, %one ]",
        "  %any = icmp slt i64 %matrix, %count",
        "  br i1 %any, label %one, label %done",
        "one:",
    ]
    for index in range(arguments):
        lines.append(f"  %offset{index} = mul i64 %matrix, %step{index}")
        lines.append(f"  %argument{index} = getelementptr i8, ptr %base{index}, i64 %offset{index}")
    called = ", ".join(f"ptr %argument{index}" for index in range(arguments))
    lines += [
        f"  call void @routine({called})",
        "  %following = add i64 %matrix, 1",
        "  br label %next",
        "done:",
        "  call void @blas_leave()",
        "  ret void",
        "}",
        f"declare void @routine({', '.join(['ptr'] * arguments)})",
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
    passed = [side, uplo, trans, diag, *b.shape[1:], one, a, _leading(a), b]
    if b.size:
        _run("trsm", a.dtype, [*passed, _leading(b)], len(b), _threads(b))


def laswp(a: Array, pivots: Array) -> None:
    """Exchanges rows as the pivots of ``getrf`` say, in order."""
    passed = [a.shape[2], a, _leading(a), 1, pivots.shape[1], pivots, 1]
    if a.size and pivots.size:
        _run("laswp", a.dtype, passed, len(a), 1)


def geqrf(a: Array, tau: Array) -> Array:
    """The factor R in the upper triangle, and the reflectors of Q beneath it."""
    return call("geqrf", *a.shape[1:], a, _leading(a), tau, WORK)


def orgqr(a: Array, tau: Array) -> Array:
    """The first columns of Q, of the reflectors of ``geqrf``."""
    return call("orgqr", *a.shape[1:], tau.shape[-1], a, _leading(a), tau, WORK)


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
