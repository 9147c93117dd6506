"""Products of several matrices (``multi_dot``) and the matrix exponential (``matrix_exp``)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from opdsl.aten.linalg.decompositions import require_numbers, require_square
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.slicing import diagonal
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema import Alias

LINALG: dict[str, Any] = {"python_module": "linalg", "variants": "function"}
"""Options of ``op`` for most functions of ``torch.linalg``."""


# ------------------------------------------------------------------------------------------------------------- products


linalg_matmul = matmul.alias("aten::linalg_matmul", out=True, **LINALG)


@op("aten::linalg_diagonal", **LINALG)
@forward(diagonal, "A")
def linalg_diagonal(A: Tensor[Alias("a")], *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor[Alias("a")]:
    """Return a view of diagonals, by default those of the matrices in the last two dimensions."""


@op("aten::linalg_multi_dot", python_module="linalg", out=True)
def linalg_multi_dot(tensors: list[Tensor]) -> Tensor:
    """Return the product of several matrices, multiplied in the order that takes the fewest operations.

    Args:
        tensors: matrices; the first and the last may be vectors.
    """
    check(len(tensors) >= 2, f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for index, tensor in enumerate(tensors):
        allowed = (1, 2) if index in (0, len(tensors) - 1) else (2,)
        check(tensor.ndim in allowed, f"multi_dot(): tensor {index} must be {' or '.join(map(str, allowed))}D")
    first, *middle, last = tensors
    chain = [first.unsqueeze(0) if first.ndim == 1 else first, *middle, last.unsqueeze(1) if last.ndim == 1 else last]
    product = in_best_order(chain)
    shape = (product.shape[0],) * (first.ndim == 2) + (product.shape[1],) * (last.ndim == 2)
    return product.view(shape)


def in_best_order(chain: Sequence[Tensor]) -> Tensor:
    """Return the product of matrices, in the order of the lowest cost (matrix chain multiplication by dynamic
    programming).
    """
    sizes = [chain[0].shape[0], *(matrix.shape[1] for matrix in chain)]

    @functools.cache
    def best(begin: int, end: int) -> tuple[int, int]:
        """Return the lowest cost of the product of ``chain[begin:end]``, and the index at which to split it."""
        if end - begin == 1:
            return 0, begin
        return min(
            (best(begin, at)[0] + best(at, end)[0] + sizes[begin] * sizes[at] * sizes[end], at)
            for at in range(begin + 1, end)
        )

    def product(begin: int, end: int) -> Tensor:
        at = best(begin, end)[1]
        return chain[begin] if end - begin == 1 else matmul(product(begin, at), product(at, end))

    return product(0, len(chain))


@op("aten::chain_matmul", variants="function", out=True)
def chain_matmul(matrices: list[Tensor]) -> Tensor:
    """Return the product of several matrices, multiplied in the order that takes the fewest operations."""
    check(all(matrix.ndim == 2 for matrix in matrices), "chain_matmul(): expected matrices")
    return matrices[0] if len(matrices) == 1 else linalg_multi_dot(matrices)


# --------------------------------------------------------------------------------------------------------- exponentials

# Up to this norm a series of 18 terms is exact to rounding in any precision; larger matrices are halved repeatedly.
_NORM = 1.09
_TERMS = 18


@op("aten::linalg_matrix_exp", kernel=True, **LINALG)
def linalg_matrix_exp(self: Tensor) -> Tensor:
    """Return the exponentials of square matrices: ``1 + A + A @ A / 2 + ...``."""
    require_numbers("linalg.matrix_exp", self)
    require_square("linalg.matrix_exp", self)
    if not self.numel() or self.is_meta:
        return self.new_empty(self.shape)  # the computation depends on the elements
    largest = abs(self.abs().sum(-2).amax().item())
    halvings = max(0, math.ceil(math.log2(largest / _NORM))) if 0 < largest < math.inf else 0
    scaled = self * 2.0**-halvings
    one = self.new_ones(self.shape[-1:]).diag()
    # Write the series as a polynomial of the fourth power (Paterson and Stockmeyer 1973).
    powers = [one.expand(self.shape), scaled, matmul(scaled, scaled)]
    powers.append(matmul(powers[2], scaled))
    fourth = matmul(powers[2], powers[2])
    series = self.new_zeros(self.shape)
    for begin in range(_TERMS // 4 * 4, -1, -4):
        series = matmul(series, fourth)
        for at in range(begin, min(begin + 4, _TERMS + 1)):
            series = series + powers[at - begin] * (1 / math.factorial(at))
    for _ in range(halvings):
        series = matmul(series, series)
    return series


def of_direction(matrix: Tensor, direction: Tensor) -> Tensor:
    """Return the differential of the matrix exponential at ``matrix`` in a direction: a block of ``exp([[A, G], [0,
    A]])``.
    """
    is_square = matrix.ndim > 1 and matrix.shape[-1] == matrix.shape[-2]
    check(is_square, "expected square matrices", got=matrix.shape)
    check(direction.shape == matrix.shape, f"expected a gradient of shape {list(matrix.shape)}", got=direction.shape)
    size = matrix.shape[-1]
    upper, lower = cat([matrix, direction], -1), cat([matrix.new_zeros(matrix.shape), matrix], -1)
    return linalg_matrix_exp(cat([upper, lower], -2)).narrow(-2, 0, size).narrow(-1, size, size)


linalg_matrix_exp.derivative(self=lambda grad, self: of_direction(self.adjoint(), grad))


matrix_exp = linalg_matrix_exp.alias("aten::matrix_exp", variants="function, method", out=False)


@op("aten::matrix_exp_backward")
def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient of ``matrix_exp``."""
    return of_direction(self.adjoint(), grad)
