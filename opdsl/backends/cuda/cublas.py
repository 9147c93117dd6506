"""Wrapper of cuBLAS, NVIDIA's library of matrix products, which is optional; the only module that calls it.

Its matrices are column-major. Numbers of its interface: ``cublas_api.h`` and ``library_types.h``.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, NamedTuple

from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.streams import Stream
from opdsl.errors import DriverError, MissingDependencyError

__all__ = ["DTYPES", "Matrix", "multiply", "use"]

_OPERATIONS = {False: 0, True: 1}  # CUBLAS_OP_N, CUBLAS_OP_T
_DEFAULT_ALGORITHM = -1


class _Kind(NamedTuple):
    """cuBLAS's constants for a dtype.

    data: ``cudaDataType``.
    compute: ``cublasComputeType_t``.
    number: ctypes type of ``alpha`` and ``beta``.
    is_complex: whether ``alpha`` and ``beta`` have two parts.
    """

    data: int
    compute: int
    number: Any
    is_complex: bool = False


DTYPES = {
    "float16": _Kind(2, 68, ctypes.c_float),
    "bfloat16": _Kind(14, 68, ctypes.c_float),
    "float32": _Kind(0, 68, ctypes.c_float),
    "float64": _Kind(1, 70, ctypes.c_double),
    "complex64": _Kind(4, 68, ctypes.c_float, True),
    "complex128": _Kind(5, 70, ctypes.c_double, True),
}
"""Dtypes of matrices that cuBLAS multiplies, by name; sums of 16-bit numbers are accumulated in float32."""


class Matrix(NamedTuple):
    """Memory layout of a batch of matrices.

    address: of the first element.
    transposed: whether they are row-major.
    leading: elements between neighboring columns, or between neighboring rows of row-major ones.
    batch: elements between neighboring matrices.
    """

    address: int
    transposed: bool
    leading: int
    batch: int


_lock = threading.Lock()
_library: Any = None
_handles: dict[int, Any] = {}


def multiply(
    dtypes: tuple[str, str],
    sizes: tuple[int, int, int, int],
    first: Matrix,
    second: Matrix,
    out: Matrix,
    alpha: complex,
    beta: complex,
    stream: Stream,
) -> None:
    """Queue ``alpha * first @ second + beta * out``, written into ``out``, which is column-major.

    Args:
        dtypes: names in ``DTYPES``, of the factors and of the result: the same, or float32 for factors of 16 bits.
        sizes: size of the batch, rows and columns of the result, and the inner size.

    Raises:
        MissingDependencyError: cuBLAS is not installed.
        DriverError: cuBLAS reports an error.
    """
    kind, result_type = (DTYPES[dtype] for dtype in dtypes)
    batch, rows, columns, inner = sizes
    numbers = [_number(kind, number) for number in (alpha, beta)]
    driver().activate(stream.index)
    with _lock:  # a handle has one current stream
        library = _loaded()
        handle = _handle(library, stream.index)
        _check("cublasSetStream", library.cublasSetStream_v2(handle, ctypes.c_void_p(stream.handle)))
        status = library.cublasGemmStridedBatchedEx(
            handle,
            _OPERATIONS[first.transposed],
            _OPERATIONS[second.transposed],
            rows,
            columns,
            inner,
            ctypes.byref(numbers[0]),
            *_given(first, kind),
            *_given(second, kind),
            ctypes.byref(numbers[1]),
            *_given(out, result_type),
            batch,
            kind.compute,
            _DEFAULT_ALGORITHM,
        )
        _check("cublasGemmStridedBatchedEx", status)


def _number(kind: _Kind, value: complex) -> Any:
    if not kind.is_complex:
        return (kind.number * 1)(value.real)
    return (kind.number * 2)(value.real, value.imag)


def _given(matrix: Matrix, kind: _Kind) -> tuple[Any, int, int, Any]:
    return ctypes.c_void_p(matrix.address), kind.data, matrix.leading, ctypes.c_longlong(matrix.batch)


def _handle(library: Any, index: int) -> Any:
    handle = _handles.get(index)
    if handle is None:
        handle = ctypes.c_void_p()
        _check("cublasCreate", library.cublasCreate_v2(ctypes.byref(handle)))
        _handles[index] = handle
    return handle


def _check(name: str, status: int) -> None:
    if status:
        raise DriverError(f"{name} of cuBLAS failed with status {status}")


def _loaded() -> Any:
    global _library
    if _library is None:
        try:
            from cuda.pathfinder import load_nvidia_dynamic_lib

            _library = ctypes.CDLL(load_nvidia_dynamic_lib("cublas").abs_path)
        except (ImportError, OSError, RuntimeError) as error:
            raise MissingDependencyError(
                "matrix products on CUDA need NVIDIA's cuBLAS, which is not installed: pip install nvidia-cublas"
            ) from error
    return _library


def use(library: Any) -> None:
    """Replace the cuBLAS library, for tests; None has the next call load it again."""
    global _library
    with _lock:
        _library = library
        _handles.clear()
