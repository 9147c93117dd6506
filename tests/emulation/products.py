"""Emulated cuBLAS: column-major products as its documentation describes them, computed by NumPy on an emulated driver's
streams.

It checks that matrices are described as cuBLAS requires, and does not reproduce how cuBLAS computes.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from opdsl.scalar.narrow_values import narrow, widen
from tests.emulation.driver import EmulatedDriver

__all__ = ["HostProducts"]

_BFLOAT16 = 14
# By ``cudaDataType``: the dtype of elements in memory, and the dtype of the computation.
_DTYPES: dict[int, tuple[Any, Any]] = {
    0: (np.float32, np.float32),
    1: (np.float64, np.float64),
    2: (np.float16, np.float32),
    4: (np.complex64, np.complex64),
    5: (np.complex128, np.complex128),
    _BFLOAT16: (np.uint16, np.float32),
}
_COMPUTES_IN_FLOAT, _COMPUTES_IN_DOUBLE = 68, 70


class HostProducts:
    """Emulation of the functions of cuBLAS that opdsl calls.

    Args:
        driver: the emulated driver whose streams run the products.

    stream: the current stream.
    """

    def __init__(self, driver: EmulatedDriver) -> None:
        self.driver = driver
        self.stream = 0

    def cublasCreate_v2(self, handle: Any) -> int:
        return 0

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.stream = stream.value or 0
        return 0

    def cublasGemmStridedBatchedEx(self, handle: Any, *inputs: Any) -> int:
        operations, (rows, columns, inner) = inputs[:2], inputs[2:5]
        alpha, first, second, beta, out = inputs[5], inputs[6:10], inputs[10:14], inputs[14], inputs[15:19]
        count, compute = inputs[19:21]
        kind, own = first[1], out[1]
        _, wide = _DTYPES[kind]
        assert own == kind or (own == 0 and kind in (2, _BFLOAT16)), "cuBLAS has no such results"
        assert compute == (_COMPUTES_IN_DOUBLE if wide in (np.float64, np.complex128) else _COMPUTES_IN_FLOAT)
        scale, kept = (
            np.frombuffer(ctypes.string_at(factor._obj, wide().itemsize), wide)[0] for factor in (alpha, beta)
        )

        def run() -> None:
            for at in range(count):
                one = _numbers(_matrix(first, operations[0], rows, inner, at), kind)
                two = _numbers(_matrix(second, operations[1], inner, columns, at), kind)
                target = _matrix(out, 0, rows, columns, at)
                # With beta = 0 the target is not read.
                product = scale * (one @ two) + (kept * _numbers(target, own) if kept else 0)
                target[...] = narrow(product.astype(wide), "bfloat16") if own == _BFLOAT16 else product

        self.driver.queue(self.stream, run)
        return 0


def _matrix(said: Any, transposed: int, rows: int, columns: int, at: int) -> np.ndarray:
    """Return one matrix of a batch as an array over its memory."""
    address, kind, leading, step = said
    tall, wide = (columns, rows) if transposed else (rows, columns)
    assert leading >= max(1, tall), "cuBLAS refuses such a leading dimension"
    dtype = np.dtype(_DTYPES[kind][0])
    size = ((wide - 1) * leading + tall) * dtype.itemsize if wide and tall else 0
    if size == 0:
        return np.zeros((rows, columns), dtype)
    memory = (ctypes.c_char * size).from_address((address.value or 0) + at * step.value * dtype.itemsize)
    matrix: np.ndarray = np.ndarray((tall, wide), dtype, memory, 0, (dtype.itemsize, leading * dtype.itemsize))
    return matrix.T if transposed else matrix


def _numbers(matrix: np.ndarray, kind: int) -> np.ndarray:
    """Convert elements to the dtype of the computation."""
    return widen(matrix, "bfloat16") if kind == _BFLOAT16 else matrix.astype(_DTYPES[kind][1])
