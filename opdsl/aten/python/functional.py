"""Functions with PyTorch's Python signature where it differs from the operator's: ``cdist``, ``meshgrid``.

The operators themselves, with the arguments of their schemas, are in ``opdsl.ops.aten``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.aten.create import combinations
from opdsl.aten.linalg import distances
from opdsl.errors import OptionError
from opdsl.runtime import Tensor

# The operator's ``compute_mode`` for each name.
_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the ``p``-norm distances between all pairs of rows of two matrices (``torch.cdist``).

    Args:
        x1: of shape (..., P, M).
        x2: of shape (..., R, M).
        p: the order of the norm, from 0 to infinity.
        compute_mode: whether Euclidean distances are computed by a product of matrices, which is quicker and less
            exact: ``"use_mm_for_euclid_dist_if_necessary"`` for more than 25 rows, ``"use_mm_for_euclid_dist"``,
            ``"donot_use_mm_for_euclid_dist"``.

    Returns:
        Of shape (..., P, R).

    Raises:
        OptionError: there is no such mode; it is a ValueError.
        ShapeError: rows of different length, or no matrices.

    >>> import opdsl
    >>> opdsl.cdist(opdsl.tensor([[0.0, 0.0]]), opdsl.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _COMPUTE_MODES:
        known = ", ".join(_COMPUTE_MODES)
        raise OptionError(f"{compute_mode} is not a valid value for compute_mode. Use one of {known}.")
    return distances.cdist(x1, x2, p, _COMPUTE_MODES[compute_mode])


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return the coordinates of all points of a grid: one tensor for each vector (``torch.meshgrid``).

    Args:
        tensors: vectors as separate arguments, or a list of them.
        indexing: ``"ij"`` for matrix indexing, or ``"xy"`` with the first two dimensions swapped.

    Raises:
        ShapeError, DTypeError: no vectors, or of different dtypes.

    >>> import opdsl
    >>> x, y = opdsl.meshgrid(opdsl.arange(2), opdsl.arange(3))
    >>> x.tolist(), y.tolist()
    ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    is_list = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    listed: Any = tensors[0] if is_list else tensors
    return tuple(combinations.meshgrid_indexing(list(listed), indexing=indexing))
