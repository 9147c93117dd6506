"""``opdsl.scan`` and ``opdsl.fold``: sequential recurrences that carry values along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, TypeVarTuple, cast, overload

from opdsl.errors import DimError
from opdsl.formulas.carrying import Carrying
from opdsl.formulas.dim_tensor import Dim
from opdsl.formulas.ragged import RaggedDim
from opdsl.formulas.ragged_carrying import RaggedCarrying
from opdsl.formulas.scan_steps import Number
from opdsl.runtime import Tensor

__all__ = ["fold", "scan"]

Carried = TypeVar("Carried", bound=tuple[Tensor, ...])
Values = TypeVarTuple("Values")
Start = Tensor | Number


@overload
def scan(
    step: Callable[[Tensor, *Values], Tensor],
    init: Start,
    *values: *Values,
    along: int | Dim,
    reverse: bool = ...,
) -> Tensor: ...
@overload
def scan(
    step: Callable[[Carried, *Values], Carried],
    init: tuple[Start, ...],
    *values: *Values,
    along: int | Dim,
    reverse: bool = ...,
) -> Carried: ...
def scan(
    step: Callable[[Any, *Values], Any],
    init: Any,
    *values: *Values,
    along: int | Dim,
    reverse: bool = False,
) -> Any:
    """Carry values from index to index of a dimension by a step function, and return the carried values after each
    step.

    Unlike ``jax.lax.scan`` it returns the carried values themselves, not a second output, and ``values`` follow
    ``init``.

    Args:
        step: takes the carried value, then an element of each of ``values``; returns the new carried value.
        init: initial carried value: a number, a tensor, or a tuple of these. Carried values have the dtype to which
            ``init`` and the results of steps promote.
        values: tensors, with or without dims, and numbers.
        along: the dim, or the positional dimension, over which the scan iterates.
        reverse: whether the steps begin at its end.

    Returns:
        The carried value after each step; a tuple if ``init`` is one.

    Raises:
        DimError: no value varies along the dim, it has no size, or a step returns another structure than it takes.

    >>> import opdsl
    >>> t = opdsl.dim()
    >>> decay, x = opdsl.tensor([0.5, 0.5, 2.0]), opdsl.ones(3)
    >>> opdsl.scan(lambda h, a, b: a * h + b, 0.0, decay[t], x[t], along=t).order(t)
    tensor([1.0000, 1.5000, 4.0000])
    """
    if not isinstance(reverse, bool):
        raise DimError(f"opdsl.scan: reverse= has to be True or False (got {reverse!r})")
    return _kind((along,))("scan", step, init, values, (along,), is_reverse=reverse).scan()


@overload
def fold(
    combine: Callable[[Tensor, *Values], Tensor],
    init: Start,
    *values: *Values,
    over: int | Dim | Sequence[Dim],
) -> Tensor: ...
@overload
def fold(
    combine: Callable[[Carried, *Values], Carried],
    init: tuple[Start, ...],
    *values: *Values,
    over: int | Dim | Sequence[Dim],
) -> Carried: ...
def fold(
    combine: Callable[[Any, *Values], Any],
    init: Any,
    *values: *Values,
    over: int | Dim | Sequence[Dim],
) -> Any:
    """Fold values in order by a function of your own; the result is the last carried value of ``scan``.

    Args:
        combine: takes the carried value, then an element of each of ``values``; returns the new carried value.
        init: see ``scan``; the result if there are no elements.
        values: tensors, with or without dims, and numbers.
        over: the dim or the positional dimension to fold, or several dims, the last of which varies fastest.

    Raises:
        DimError: see ``scan``.

    >>> import opdsl
    >>> i, k = opdsl.dims(2)
    >>> x = opdsl.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, 1.0]])
    >>> def least_two(carry, x):
    ...     first, second = carry
    ...     return opdsl.minimum(first, x), opdsl.minimum(second, opdsl.maximum(first, x))
    >>> first, second = opdsl.fold(least_two, (opdsl.inf, opdsl.inf), x[i, k], over=k)
    >>> second.order(i)
    tensor([2., 1.])
    """
    folded = cast("tuple[int | Dim, ...]", tuple(over) if isinstance(over, (tuple, list)) else (over,))
    return _kind(folded)("fold", combine, init, values, folded, is_reverse=False).fold()


def _kind(targets: tuple[int | Dim, ...]) -> type[Carrying]:
    """Return the class that runs a scan or fold: that for ragged dims if one is among the targets."""
    return RaggedCarrying if any(isinstance(target, RaggedDim) for target in targets) else Carrying
