"""``x.order(..., i, j)``: conversion of dims to positional dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opdsl.errors import DimError
from opdsl.formulas.dim_axes import axes_of, expanded, over
from opdsl.formulas.dim_tensor import Dim, DimTensor, names
from opdsl.formulas.ragged import fill_outside
from opdsl.programs.branches import MaskedBranch, masked_branch
from opdsl.runtime import Tensor
from opdsl.runtime.scopes import Setting


def order(value: Tensor, targets: Sequence[object]) -> Tensor:
    """Convert dims of a value to positional dimensions; see ``DimTensor.order``.

    Args:
        value: the value, with or without dims.
        targets: dims, tuples of dims, and ``...``.
    """
    groups = [_group(target) for target in targets]
    listed = [dim for group in groups if group is not None for dim in group]
    branch = masked_branch.get()
    if branch is None:
        return _ordered(value, targets, groups, listed)
    branch.cross(value, listed)
    nothing: MaskedBranch | None = None
    with Setting(masked_branch, nothing):
        result = _ordered(value, targets, groups, listed)
    branch.hand_on(value, result)
    return result


def _ordered(
    value: Tensor, targets: Sequence[object], groups: list[tuple[Dim, ...] | None], listed: list[Dim]
) -> Tensor:
    own, tensor = (value.dims, value.tensor) if isinstance(value, DimTensor) else ((), value)
    _require_listed(own, listed)
    ndim = tensor.ndim - len(own)
    dots = sum(group is None for group in groups)
    if dots > 1 or (ndim and not dots):
        raise DimError(
            f"order({', '.join(map(_text, targets))}): "
            + (f"... has to be listed once (got {dots})" if dots else "... is missing")
            + f" for the {ndim} positional dimensions of the value. Write order(..., {names(own)[1:-1].rstrip(',')})."
        )
    if isinstance(value, DimTensor) and value.mask is not None and set(listed) & set(value.mask.dims):
        raise DimError(
            "order(...) of a value read with x.outside('skip'): only reductions leave skipped elements out. Reduce it "
            "first, or give a value for indices out of bounds: x.outside(0.0)."
        )
    places, chosen = axes_of(own), set(listed)
    rest = [dim for dim in own if dim not in chosen]
    full = fill_outside(expanded(tensor, own, "order()"), [dim if dim in chosen else None for dim in own], 0)
    axes = [places[dim] for dim in rest]
    for group in groups:
        axes += range(len(own), tensor.ndim) if group is None else [places[dim] for dim in group]
    moved = full if axes == list(range(len(axes))) else full.permute(axes)
    return over(_flattened(moved, len(rest), groups, ndim), rest, value.mask if isinstance(value, DimTensor) else None)


def _group(target: object) -> tuple[Dim, ...] | None:
    """Return the dims that make up one dimension of the result; None for ``...``."""
    if target is ...:
        return None
    group: list[Dim] = []
    for dim in target if isinstance(target, (tuple, list)) else (target,):
        if not isinstance(dim, Dim):
            raise DimError(
                f"order(...) takes dims, tuples of dims, and ... (got {type(dim).__name__}: {_text(dim)}). Positional "
                "dimensions are permuted afterwards."
            )
        group.append(dim)
    return tuple(group)


def _require_listed(own: Sequence[Dim], listed: Sequence[Dim]) -> None:
    counts = Counter(listed)
    twice = tuple(dim for dim, count in counts.items() if count > 1)
    if twice:
        raise DimError(f"order(...): {names(twice)} is listed more than once. List each dim once.")
    absent = tuple(counts.keys() - set(own))
    if absent:
        raise DimError(
            f"order(...): the value does not vary along {names(absent)}, but along {names(tuple(own))}. List these."
        )


def _flattened(tensor: Tensor, begin: int, groups: Sequence[tuple[Dim, ...] | None], ndim: int) -> Tensor:
    """Reshape a tensor so that each group of dims is one dimension, of size 1 for an empty group.

    Args:
        tensor: has an axis for each dim of each group.
        begin: the first axis of the groups.
        groups: groups of dims; None for the positional dimensions.
        ndim: number of positional dimensions.
    """
    if all(group is None or len(group) == 1 for group in groups):
        return tensor
    sizes: list[int] = list(tensor.shape[:begin])
    axis = begin
    for group in groups:
        count = ndim if group is None else len(group)
        if group is None:
            sizes += tensor.shape[axis : axis + count]
        else:
            size = 1
            for dim in group:
                size = size * dim.size
            sizes.append(size)
        axis += count
    return tensor.reshape(sizes)


def _text(target: object) -> str:
    if isinstance(target, (tuple, list)):
        return f"({', '.join(map(_text, target))})"
    return "..." if target is ... else str(target)
