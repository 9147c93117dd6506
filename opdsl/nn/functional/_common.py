"""Helpers for functions of several topics: reductions, sizes, checks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.runtime import Tensor

Size = int | Sequence[int]
"""Size of windows: one number for all spatial dimensions, or one for each."""

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Return the reduction, ``none``, ``mean`` or ``sum``; PyTorch's two former arguments take precedence, with a
    warning.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.
    """
    if size_average is not None or reduce is not None:
        averages, reduces = size_average is not False, reduce is not False
        reduction = "none" if not reduces else "mean" if averages else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in REDUCTIONS:
        raise OptionError(f"{reduction} is not a valid value for reduction. Use 'none', 'mean' or 'sum'.")
    return reduction


def code_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """Return the number by which operators take a reduction."""
    return REDUCTIONS[reduction_of(reduction, size_average, reduce)]


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """Return the losses, their mean, or their sum, according to a reduction."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def sizes(size: Size, count: int) -> tuple[int, ...]:
    """Return a size as a tuple with one number for each of ``count`` dimensions.

    Raises:
        OptionError: it has another number of elements; it is a ValueError.
    """
    numbers = (size,) * count if isinstance(size, int) else tuple(size)
    if len(numbers) != count:
        raise OptionError(f"expected one number, or {count}, one for each dimension, but got {size}")
    return numbers


def check_images(name: str, input: Tensor, count: int) -> None:
    """Check that an input has ``count`` spatial dimensions, with or without a batch dimension.

    Raises:
        ShapeError: it has another number of dimensions.
    """
    check(
        input.ndim in (count + 1, count + 2),
        f"{name}: expected an input of {count + 1} or {count + 2} dimensions, but got one of shape {input.shape}",
    )


def stride_of(stride: Size | None) -> Size:
    """Return a stride as operators expect it: an empty tuple for None, which means the window size."""
    return () if stride is None else stride


def adaptive_size(input: Tensor, output_size: int | Sequence[int | None] | None, count: int) -> list[int]:
    """Return the output size of adaptive pooling for each dimension; None means the size of the input.

    Raises:
        OptionError: the input has too few dimensions; it is a ValueError.
    """
    numbers = [output_size] * count if output_size is None or isinstance(output_size, int) else output_size
    if not isinstance(output_size, int) and input.ndim <= len(numbers):
        raise OptionError(
            f"adaptive pooling to {output_size}: Input dimension should be at least {len(numbers) + 1}, but got an "
            f"input of shape {input.shape}"
        )
    return [input.shape[place - len(numbers)] if number is None else number for place, number in enumerate(numbers)]


def in_place_or_not(name: str, inplace: bool, input: Tensor, *rest: object) -> Tensor:
    """Call an operator, or its in-place variant, on an input."""
    return aten[name + "_" if inplace else name](input, *rest)
