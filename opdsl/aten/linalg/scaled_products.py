"""Products of float8 matrices that were divided by scales: ``_scaled_mm``."""

from __future__ import annotations

from typing import Any

from opdsl.aten.linalg.matrix_products import mm
from opdsl.declare import Out, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor, float32


def kernels(name: str) -> dict[str, Any]:
    """Return the names of PyTorch's kernels, by dispatch key."""
    return {key: f"{name}_{key.lower()}" for key in ("CPU", "CUDA", "XPU")}


@op("aten::_scaled_mm", tags="needs_exact_strides", out=Out(tags="needs_exact_strides"))
def _scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: DType | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """Return the product of two float8 matrices, each times its scale, computed in float32.

    Args:
        self: ``(rows, inner)``.
        mat2: ``(inner, columns)``.
        scale_a, scale_b: of float32 with one element each, or ``(rows, 1)`` and ``(1, columns)``.
        bias: ``(columns,)``.
        scale_result: what the result is divided by if ``out_dtype`` is float8, as on PyTorch's CPU.
        out_dtype: of the result; by default that of ``self``.
        use_fast_accum: has no effect: sums are in float32.
    """
    check_scaled(self, mat2, scale_a, scale_b)
    columns = mat2.shape[1]
    if bias is not None:
        check(bias.numel() == columns, f"Bias must be size {columns} but got {bias.numel()}")
    dtype = out_dtype or self.dtype
    product = mm(in_single_precision(self, scale_a), in_single_precision(mat2, scale_b))
    if bias is not None:
        product = product + bias
    if scale_result is not None and out_dtype is not None and out_dtype.is_stored_only:
        product = product / scale_result
    return product.to(dtype)


def in_single_precision(matrix: Tensor, scale: Tensor) -> Tensor:
    """Return a float8 matrix times its scale in float32."""
    return matrix.to(float32) * (scale.reshape(()) if scale.numel() == 1 else scale)


def check_scaled(self: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor) -> None:
    """Check the factors of a product, and that their scales fit them.

    Raises:
        ShapeError: they cannot be multiplied, or a scale has another shape.
        DTypeError: a scale is not of float32.
        UnsupportedDTypeError: a factor is not of float8.
    """
    check(self.ndim == 2, "mat1 must be a matrix", got=self.shape)
    check(mat2.ndim == 2, "mat2 must be a matrix", got=mat2.shape)
    (rows, inner), (inner2, columns) = self.shape, mat2.shape
    check(inner == inner2, f"mat_a and mat_b shapes cannot be multiplied ({rows}x{inner} and {inner2}x{columns})")
    for factor in (self, mat2):
        if not factor.dtype.is_stored_only:
            raise UnsupportedDTypeError(f"the factors must be float8 (got {factor.dtype!r}). Use mm for other dtypes.")
    for scale in (scale_a, scale_b):
        if scale.dtype is not float32:
            raise DTypeError(f"scales must be float32 (got {scale.dtype!r})")
    if scale_a.numel() == 1 and scale_b.numel() == 1:
        return
    check(
        scale_a.shape == (rows, 1) and scale_b.shape == (1, columns),
        f"scales must have one element each, or the shapes {(rows, 1)} and {(1, columns)}",
        got=(scale_a.shape, scale_b.shape),
    )
