"""Binary search in sorted rows, on the CPU and in CUDA."""

from __future__ import annotations

from typing import Any

from opdsl.declare import Library
from opdsl.kernels import check
from opdsl.runtime import Tensor, float64, int64

lib = Library("opdsl")

_THREADS = 256

_SOURCE = """
extern "C" __global__ void places_above(
    const bounds_t* bounds, const points_t* points, bool right, long long* out, long long bounds_size_1,
    long long points_size_1, long long out_numel) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= out_numel) {
        return;
    }
    const bounds_t* row = bounds + at / points_size_1 * bounds_size_1;
    const points_t point = points[at];
    long long low = 0, high = bounds_size_1;
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (right ? row[middle] > point : row[middle] >= point) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    out[at] = low;
}
"""


@lib.op(variants="function", out=True)
def places_above(bounds: Tensor, points: Tensor, right: bool = True) -> Tensor:
    """Return for each point the index of the first bound of its row above the point, by binary search.

    A bound that equals the point counts as above it unless ``right``. All comparisons with NaN are false: NaN is not
    above any point, and no bound is above NaN.

    Args:
        bounds: int64 or float64 (rows, length), each row ascending.
        points: (rows, count), of the same dtype.
        right: see above.

    Returns:
        int64 (rows, count).
    """
    ...


@places_above.meta
def places_above_meta(ctx, bounds, points):
    check(bounds.ndim == 2 and points.ndim == 2 and bounds.shape[0] == points.shape[0], "rows of bounds and of points")
    check(bounds.dtype is points.dtype and bounds.dtype in (int64, float64), "bounds and points are int64, or float64")
    ctx.set_output(0, points.shape, dtype=int64, like=points)


@places_above.out_kernel("CPU")
def places_above_cpu(bounds, points, right, out):
    for row in range(points.shape[0]):
        for column in range(points.shape[1]):
            point, low, high = points[row, column], 0, bounds.shape[1]
            while low < high:
                middle = low + (high - low) // 2
                bound = bounds[row, middle]
                is_above = bound > point if right else bound >= point
                if is_above:
                    high = middle
                else:
                    low = middle + 1
            out[row, column] = low


@places_above.out_kernel("CUDA", source=_SOURCE, entry="places_above")
def places_above_cuda(tensors: dict[str, Any], scalars: dict[str, Any]) -> tuple[int, int, int]:
    return -(-tensors["out"].numel() // _THREADS), _THREADS, 0
