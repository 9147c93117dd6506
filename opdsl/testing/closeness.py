"""Comparison of results up to rounding errors: ``assert_close``, with PyTorch's tolerances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from opdsl.aten.create.construction import as_tensor, tensor
from opdsl.errors import OptionError
from opdsl.runtime import (
    DType,
    Tensor,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    promote_types,
)

__all__ = ["assert_close"]

# The relative and the absolute tolerance for each dtype, as in torch.testing.
_TOLERANCES = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
_EXACT = 0.0, 0.0


class _Asked(NamedTuple):
    """Options of a comparison."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    attributes: tuple[str, ...]

    def tolerances(self, one: DType, other: DType) -> tuple[float, float]:
        """Return the relative and absolute tolerance: the given ones, or the larger ones of two dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = _TOLERANCES.get(one, _EXACT), _TOLERANCES.get(other, _EXACT)
        return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | None = None,
) -> None:
    """Check that two results agree: ``abs(actual - expected) <= atol + rtol * abs(expected)`` for each element.

    Args:
        actual, expected: tensors, NumPy arrays, numbers, or sequences and mappings of them.
        rtol, atol: the tolerances, both or none. By default they depend on the dtypes, and are 0 for integers.
        equal_nan: whether NaN is close to NaN.
        check_device, check_dtype, check_layout, check_stride: whether these attributes have to be equal, too.
        msg: replaces the error message.

    Raises:
        AssertionError: they are not close, or differ in structure or attributes; the message says where and how much.
        OptionError: one of ``rtol`` and ``atol`` without the other; it is a ValueError.

    >>> import opdsl
    >>> opdsl.testing.assert_close(opdsl.tensor([1.0]), opdsl.tensor([1.0 + 1e-7]))
    >>> opdsl.testing.assert_close([opdsl.tensor([1.0, 2.0])], [opdsl.tensor([1.0, 2.5])])
    Traceback (most recent call last):
      ...
    AssertionError: item [0]: 1 of 2 elements are not close; the greatest difference is 0.5 at (1,): 2.0 for 2.5, \
with rtol=1.3e-06 and atol=1e-05
    """
    if (rtol is None) != (atol is None):
        raise OptionError(f"assert_close takes rtol and atol together, or none (got rtol={rtol}, atol={atol})")
    checked = (("device", check_device), ("dtype", check_dtype), ("layout", check_layout), ("stride", check_stride))
    asked = _Asked(rtol, atol, equal_nan, tuple(name for name, is_checked in checked if is_checked))
    fault = next(_faults(actual, expected, "", asked), None)
    if fault is not None:
        raise AssertionError(fault if msg is None else msg)


def _faults(actual: Any, expected: Any, where: str, asked: _Asked) -> Iterator[str]:
    """Yield the differences between two results, one sentence each, in order."""
    prefix = f"item {where}: " if where else ""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if actual.keys() != expected.keys():
            yield f"{prefix}the keys are {list(actual)} for {list(expected)}"
            return
        for key in expected:
            yield from _faults(actual[key], expected[key], f"{where}[{key!r}]", asked)
    elif _is_sequence(expected) and _is_sequence(actual):
        if len(actual) != len(expected):
            yield f"{prefix}there are {len(actual)} items for {len(expected)}"
            return
        for at, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _faults(one, other, f"{where}[{at}]", asked)
    elif actual is not expected:
        left, right = _tensor(actual), _tensor(expected)
        if left is None or right is None:
            yield f"{prefix}{type(actual).__name__} and {type(expected).__name__} cannot be compared"
        else:
            yield from (prefix + problem for problem in _of_tensors(left, right, asked))


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _tensor(value: Any) -> Tensor | None:
    """Convert a tensor, array or number to a tensor; Python numbers get the widest dtype. Return None for other
    values.
    """
    if isinstance(value, float):
        return tensor(value, dtype=float64)
    if isinstance(value, complex):
        return tensor(value, dtype=complex128)
    known = isinstance(value, (Tensor, numpy.ndarray, numpy.generic, bool, int))
    return as_tensor(value).detach() if known else None


def _of_tensors(actual: Tensor, expected: Tensor, asked: _Asked) -> Iterator[str]:
    if actual.shape != expected.shape:
        yield f"the shape is {actual.shape} for {expected.shape}"
        return
    for name in asked.attributes:
        one, other = (
            operand.stride() if name == "stride" else getattr(operand, name) for operand in (actual, expected)
        )
        if one != other:
            yield f"the {name} is {one} for {other}"
    rtol, atol = asked.tolerances(actual.dtype, expected.dtype)
    common = promote_types(actual.dtype, expected.dtype)
    wide = float64 if common.is_floating_point else common
    left, right = (numpy.asarray(operand.to(device="cpu", dtype=wide)) for operand in (actual, expected))
    are_close = numpy.isclose(left, right, rtol, atol, asked.equal_nan) if rtol or atol else left == right
    if are_close.all():
        return
    with numpy.errstate(invalid="ignore"):
        distances = numpy.nan_to_num(abs(left * 1.0 - right), nan=numpy.inf, posinf=numpy.inf)
    errors = numpy.where(are_close, -1.0, distances)
    at = tuple(map(int, numpy.unravel_index(errors.argmax(), errors.shape)))
    yield (
        f"{int((~are_close).sum())} of {are_close.size} elements are not close; the greatest difference is "
        f"{errors[at]:.6g} at {at}: {left[at]} for {right[at]}, with rtol={rtol:g} and atol={atol:g}"
    )
