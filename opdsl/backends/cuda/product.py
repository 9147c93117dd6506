"""Matrix products on CUDA, computed by cuBLAS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opdsl.backends.arrays import DeviceArray
from opdsl.backends.cuda import cublas
from opdsl.backends.cuda.arrays import stream_for, used_by
from opdsl.backends.cuda.copies import contiguous, copy
from opdsl.errors import UnsupportedDTypeError

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall

__all__ = ["NO_PRODUCTS", "product"]

NO_PRODUCTS = "matrix products on CUDA are not implemented for"
"""Beginning of the error message for dtypes whose matrix products cuBLAS does not compute."""


def product(call: ProductCall) -> Callable[..., None]:
    """Return a function that multiplies matrices by cuBLAS, see ``Compiler.product``.

    Raises:
        UnsupportedDTypeError: cuBLAS has no such products (of integers).
    """
    if call.dtype.name not in cublas.DTYPES:
        known = ", ".join(cublas.DTYPES)
        raise UnsupportedDTypeError(
            f"{NO_PRODUCTS} '{call.dtype.scalar_type}' (have {known}). Convert first: x.to(opdsl.float32)."
        )
    result_type = (call.result or call.dtype).name
    sizes = (call.rows, call.inner), (call.inner, call.columns), (call.rows, call.columns)
    places = [
        _orientation(layout, *size) for layout, size in zip((call.first, call.second, call.out), sizes, strict=True)
    ]

    def run(first: DeviceArray, second: DeviceArray, alpha: complex, beta: complex, out: DeviceArray) -> None:
        device_arrays = [first, second, out]
        arrays = [
            device_array if place else contiguous(device_array)
            for device_array, place in zip(device_arrays, places, strict=True)
        ]
        stream = stream_for(out)
        matrices = []
        for array, place, (rows, columns) in zip(arrays, places, sizes, strict=True):
            matrix = place or cublas.Matrix(0, True, max(1, columns), rows * columns)
            matrices.append(matrix._replace(address=used_by(array, stream, writes=array is arrays[2])))
        one, two, output = matrices
        if output.transposed:
            # A row-major product is its column-major transpose: multiply the transposed factors in reverse order.
            one, two = (matrix._replace(transposed=not matrix.transposed) for matrix in (two, one))
            shape = call.batch, call.columns, call.rows, call.inner
        else:
            shape = call.batch, call.rows, call.columns, call.inner
        cublas.multiply((call.dtype.name, result_type), shape, one, two, output, alpha, beta, stream)
        if arrays[2] is not out:
            copy(arrays[2], out)

    return run


def _orientation(layout: MatrixLayout, rows: int, columns: int) -> cublas.Matrix | None:
    """Return the memory layout of a batch of matrices as cuBLAS takes it, without an address, or None: neither rows nor
    columns are contiguous, or elements overlap.
    """
    if (columns == 1 or layout.column == 1) and (rows == 1 or layout.row >= max(1, columns)):
        return cublas.Matrix(0, True, layout.row if rows > 1 else max(1, columns), layout.batch)
    if (rows == 1 or layout.row == 1) and (columns == 1 or layout.column >= max(1, rows)):
        return cublas.Matrix(0, False, layout.column if columns > 1 else max(1, rows), layout.batch)
    return None
