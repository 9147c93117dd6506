"""cuBLAS as its documentation describes it, column by column, computed by NumPy on an emulated driver's streams.

It holds that matrices are described to cuBLAS as cuBLAS wants them, and nothing of how cuBLAS computes.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from opdsl.runtime.bfloat16_values import narrow, widen
from tests.emulation.driver import EmulatedDriver

__all__ = ["HostProducts"]

_BFLOAT16 = 14
# By ``cudaDataType``: how elements lie in memory, and what they are computed in.
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
    """The functions of cuBLAS that are called.

    Args:
        driver: whose streams it works on.

    stream: the one that is set.
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
        kind = out[1]
        _, wide = _DTYPES[kind]
        assert compute == (_COMPUTES_IN_DOUBLE if wide in (np.float64, np.complex128) else _COMPUTES_IN_FLOAT)
        scale, kept = (
            np.frombuffer(ctypes.string_at(factor._obj, wide().itemsize), wide)[0] for factor in (alpha, beta)
        )

        def run() -> None:
            for at in range(count):
                one = _numbers(_matrix(first, operations[0], rows, inner, at), kind)
                two = _numbers(_matrix(second, operations[1], inner, columns, at), kind)
                target = _matrix(out, 0, rows, columns, at)
                # What beta = 0 multiplies is not read.
                output = scale * (one @ two) + (kept * _numbers(target, kind) if kept else 0)
                target[...] = narrow(output.astype(wide)) if kind == _BFLOAT16 else output

        self.driver.queue(self.stream, run)
        return 0


def _matrix(said: Any, transposed: int, rows: int, columns: int, at: int) -> np.ndarray:
    """One matrix of a batch, in its memory."""
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
    """Elements as they are computed with."""
    return widen(matrix) if kind == _BFLOAT16 else matrix.astype(_DTYPES[kind][1])
