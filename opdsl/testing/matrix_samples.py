"""Samples of matrix decompositions and linear solvers, whose matrices have to be regular or positive definite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy

from opdsl.runtime import Tensor, bool_, float64, from_numpy, int8, int32
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _regular(make: Maker, *shape: int) -> Tensor:
    """Return square matrices that are far from singular."""
    result = make(*shape)
    return result + 8 * make(shape[-1]).new_ones((shape[-1],)).diag()


def _positive(make: Maker, *shape: int) -> Tensor:
    """Return Hermitian, positive definite matrices; any matrices for bool, which has no products."""
    result = make(*shape)
    if result.dtype is bool_:
        return result
    return result @ result.adjoint() + make(shape[-1]).new_ones((shape[-1],)).diag()


def _factor(make: Maker, *shape: int) -> Tensor:
    """Return lower triangular matrices with large diagonals."""
    return _regular(make, *shape).tril()


def _matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3))
    yield Sample(_regular(make, 2, 3, 3).transpose(-2, -1))


def _positive_matrices(make: Maker) -> Iterator[Sample]:
    yield Sample(_positive(make, 3, 3))
    yield Sample(_positive(make, 2, 3, 3), upper=True)


def _factors(make: Maker) -> Iterator[Sample]:
    yield Sample(_factor(make, 3, 3))
    yield Sample(_factor(make, 2, 3, 3).transpose(-2, -1), True)


def _solved_by_factors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), _factor(make, 3, 3), False)
    yield Sample(make(2, 3, 1), _factor(make, 2, 3, 3).transpose(-2, -1), True)


def _triangular_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(_factor(make, 3, 3), make(3, 2), upper=False)
    yield Sample(_factor(make, 2, 3, 3).transpose(-2, -1), make(2, 3), upper=True, left=False, unitriangular=True)


def _older_triangular_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), _factor(make, 3, 3), False)
    yield Sample(make(2, 3, 2), _factor(make, 3, 3), False, True, True)


def _systems(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), make(3, 2))
    yield Sample(_regular(make, 2, 3, 3), make(2, 3), left=True)
    yield Sample(_regular(make, 3, 3), make(2, 4, 3), left=False)


def _oblong(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3))
    yield Sample(make(2, 4, 3))


def _pivots(make: Maker, *shape: int) -> Tensor:
    """Return pivots that exchange the first row with the last one."""
    return make(*shape).new_zeros(shape, dtype=int32) + 3


def _packed(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), _pivots(make, 3))
    yield Sample(_regular(make, 2, 3, 3), _pivots(make, 2, 3), True, False)


def _packed_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), _pivots(make, 3), make(3, 2))
    yield Sample(_regular(make, 2, 3, 3), _pivots(make, 2, 3), make(2, 3), left=False, adjoint=True)


def _older_packed_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), _regular(make, 3, 3), _pivots(make, 3))


def _numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3).new_zeros((3,), dtype=int32), "linalg.inv", is_matrix=False)


def _tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 6, 6).reshape((2, 3, 3, 2)))


def _tensor_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 6, 6).reshape((2, 3, 3, 2)), make(2, 3))


def _hermitian(make: Maker) -> Iterator[Sample]:
    yield Sample(_positive(make, 3, 3))
    yield Sample(_positive(make, 2, 3, 3), "U")


def _chain(make: Maker) -> Iterator[Sample]:
    yield Sample([make(2, 3), make(3, 4), make(4, 2)])


def _norms_of_matrices(make: Maker) -> Iterator[Sample]:
    for order in (1, -1, 2, -2, math.inf, -math.inf):
        yield Sample(make(3, 4), order)
    yield Sample(make(2, 3, 4), 1, (0, 2), True)
    yield Sample(make(2, 3, 4), -math.inf, (2, 0))


def _named_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), "fro")
    yield Sample(make(2, 3, 4), "nuc", (2, 0), True)


def _any_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(5), 3)
    yield Sample(make(2, 3, 4), 1, (1, 2))
    yield Sample(make(2, 3, 4), 2, (1,), True)


def _conditions(make: Maker) -> Iterator[Sample]:
    for order in (None, 2, -2, 1, -math.inf):
        yield Sample(_regular(make, 2, 3, 3), order)


def _powers(make: Maker) -> Iterator[Sample]:
    for power in (0, 1, 2, 5, -2):
        yield Sample(_regular(make, 3, 3), power)
    yield Sample(_regular(make, 2, 3, 3).transpose(-2, -1), 3)


def _pseudo_inverses(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3))
    yield Sample(make(2, 4, 3), rtol=1e-9)


def _tolerances(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3))
    yield Sample(make(2, 4, 3), rtol=make(2, dtype=float64).abs() * 1e-9)


def _tolerance(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), 1e-6)
    yield Sample(make(2, 3, 4), 1e-9, False)


def _tolerance_of_each(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make(2, dtype=float64).abs() * 1e-9)


def _reflectors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(3))
    yield Sample(make(2, 4, 3).transpose(-2, -1)[..., :2], make(2, 2))


def _reflected(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), make(3), make(4, 2))
    yield Sample(make(2, 3, 3), make(2, 2), make(2, 4, 3), False, True)


def _symmetric(make: Maker) -> Iterator[Sample]:
    yield Sample(_positive(make, 3, 3))
    yield Sample(_positive(make, 2, 3, 3), hermitian=True)


def _symmetric_systems(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), _pivots(make, 3), make(3, 2))
    exchanged = from_numpy(numpy.array([[-3, -3, 3]] * 2, numpy.int32))
    yield Sample(_regular(make, 2, 3, 3), exchanged, make(3, 1), hermitian=True)


def _least_squares(make: Maker) -> Iterator[Sample]:
    yield Sample(_regular(make, 3, 3), make(3))
    yield Sample(make(4, 3), make(4, 2), driver="gels")
    yield Sample(make(2, 3, 4), make(1, 3, 2), 1e-9, driver="gelsd")


def _outer_sums(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3), make(4))
    yield Sample(make(3, 4), make(3), make(4), beta=2, alpha=3)
    yield Sample(make(3, 4), make(3), make(4), beta=0)


def _linear_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(2, 3, 5), make(5, 4), (True, True, True))
    yield Sample(make(4), make(5), make(5, 4), (True, False, True))


def _product_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5), make(2, 3, 4), make(4, 5), (True, True))
    yield Sample(make(2, 3), make(2, 3, 4), make(4), (True, False))
    yield Sample(make(), make(4), make(4), (True, True))


def _activated(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2), make(3, 4), make(4, 2))
    yield Sample(make(3, 2), make(3, 4), make(4, 2), beta=2, alpha=3, use_gelu=True)


def _grouped(make: Maker) -> Iterator[Sample]:
    ends = from_numpy(numpy.array([3, 8], numpy.int32))
    yield Sample(make(2, 3, 4), make(2, 4, 4))
    yield Sample(make(8, 4), make(2, 4, 4), ends)
    yield Sample(make(2, 3, 4), make(4, 8), ends)
    yield Sample(make(3, 8), make(8, 4), ends)


def _int8_weights(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(5, 4, dtype=int8), make(5))


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::linalg_matmul": lambda make: iter([Sample(make(2, 3), make(3, 2))]),
    "aten::linalg_diagonal": lambda make: iter([Sample(make(3, 4)), Sample(make(2, 3, 4), offset=1)]),
    "aten::linalg_multi_dot": _chain,
    "aten::chain_matmul": _chain,
    "aten::linalg_matrix_exp": lambda make: iter([Sample(make(3, 3)), Sample(make(2, 2, 2) * 4)]),
    "aten::matrix_exp": lambda make: iter([Sample(make(3, 3))]),
    "aten::matrix_exp_backward": lambda make: iter([Sample(make(3, 3), make(3, 3))]),
    "aten::_linalg_check_errors": _numbers,
    "aten::linalg_solve_triangular": _triangular_systems,
    "aten::triangular_solve": _older_triangular_systems,
    **dict.fromkeys(("aten::linalg_cholesky_ex", "aten::linalg_cholesky", "aten::cholesky"), _positive_matrices),
    "aten::cholesky_inverse": _factors,
    "aten::cholesky_solve": _solved_by_factors,
    "aten::_cholesky_solve_helper": _solved_by_factors,
    **dict.fromkeys(("aten::linalg_lu", "aten::linalg_lu_factor", "aten::linalg_lu_factor_ex"), _oblong),
    "aten::_lu_with_info": _oblong,
    "aten::lu_unpack": _packed,
    "aten::linalg_lu_solve": _packed_systems,
    "aten::lu_solve": _older_packed_systems,
    **dict.fromkeys(("aten::_linalg_solve_ex", "aten::linalg_solve_ex", "aten::linalg_solve"), _systems),
    **dict.fromkeys(("aten::linalg_inv_ex", "aten::linalg_inv", "aten::inverse"), _matrices),
    **dict.fromkeys(("aten::_linalg_det", "aten::linalg_det", "aten::det"), _matrices),
    **dict.fromkeys(("aten::_linalg_slogdet", "aten::linalg_slogdet", "aten::slogdet", "aten::logdet"), _matrices),
    **dict.fromkeys(("aten::_linalg_eigh", "aten::linalg_eigh", "aten::linalg_eigvalsh"), _hermitian),
    **dict.fromkeys(("aten::_linalg_svd", "aten::linalg_svd", "aten::linalg_svdvals"), _oblong),
    **dict.fromkeys(("aten::linalg_qr", "aten::qr"), _oblong),
    **dict.fromkeys(("aten::geqrf", "aten::svd"), _oblong),
    **dict.fromkeys(("aten::linalg_householder_product", "aten::orgqr"), _reflectors),
    "aten::ormqr": _reflected,
    **dict.fromkeys(("aten::linalg_eig", "aten::linalg_eigvals", "aten::_linalg_eigvals"), _matrices),
    **dict.fromkeys(("aten::linalg_ldl_factor", "aten::linalg_ldl_factor_ex"), _symmetric),
    "aten::linalg_ldl_solve": _symmetric_systems,
    "aten::linalg_lstsq": _least_squares,
    "aten::_grouped_mm": _grouped,
    "aten::_weight_int8pack_mm": _int8_weights,
    "aten::addr": _outer_sums,
    "aten::_compute_linear_combination": lambda make: iter([Sample(make(3, 2, 2), make(4, 3))]),
    "aten::linear_backward": _linear_gradients,
    "aten::matmul_backward": _product_gradients,
    "aten::_addmm_activation": _activated,
    "aten::linalg_matrix_norm": _norms_of_matrices,
    "aten::linalg_matrix_norm.str_ord": _named_norms,
    "aten::linalg_norm": _any_norms,
    "aten::linalg_norm.ord_str": lambda make: iter([Sample(make(3, 4), "nuc"), Sample(make(2, 3, 4), "fro", (2, 0))]),
    "aten::linalg__powsum": lambda make: iter([Sample(make(3, 4)), Sample(make(3, 4), 3, (1,), True)]),
    "aten::frobenius_norm.dim": lambda make: iter([Sample(make(3, 4), (1,)), Sample(make(3, 4), (0, 1), True)]),
    "aten::nuclear_norm": lambda make: iter([Sample(make(3, 4)), Sample(make(2, 3, 4), True)]),
    "aten::nuclear_norm.dim": lambda make: iter([Sample(make(2, 3, 4), (0, 2))]),
    "aten::norm_except_dim": lambda make: iter([Sample(make(3, 4), 2, 0), Sample(make(2, 3, 4), 2, 2)]),
    "aten::linalg_cond": _conditions,
    "aten::linalg_cond.p_str": lambda make: iter([Sample(_regular(make, 3, 3), order) for order in ("fro", "nuc")]),
    **dict.fromkeys(("aten::linalg_matrix_power", "aten::matrix_power"), _powers),
    **dict.fromkeys(("aten::linalg_pinv.atol_rtol_tensor", "aten::linalg_matrix_rank.atol_rtol_tensor"), _tolerances),
    **dict.fromkeys(
        ("aten::linalg_pinv.atol_rtol_float", "aten::linalg_matrix_rank.atol_rtol_float"), _pseudo_inverses
    ),
    **dict.fromkeys(("aten::linalg_pinv", "aten::linalg_matrix_rank"), _tolerance),
    "aten::pinverse": lambda make: iter([Sample(make(2, 4, 3)), Sample(_regular(make, 3, 3), 1e-9)]),
    **dict.fromkeys(("aten::linalg_pinv.rcond_tensor", "aten::linalg_matrix_rank.tol_tensor"), _tolerance_of_each),
    "aten::linalg_tensorinv": _tensors,
    "aten::linalg_tensorsolve": _tensor_systems,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
