"""Implementation of ``Tensor.__array_function__``, by which NumPy's functions accept tensors.

Functions that the array API has, too, return tensors, with gradients; all others compute on arrays over the tensors'
memory, and return arrays. This is sufficient for dask and other libraries that call NumPy's functions on blocks of any
type.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any

import numpy

import opdsl.array_api as standard
from opdsl._attributes import aten
from opdsl.array_api.data_types import sum_dtype
from opdsl.errors import ArgumentError, DTypeError
from opdsl.runtime import Category, DType, Tensor, float64, int64, to_dtype
from opdsl.runtime.interchange import operand

Function = Callable[..., Any]
Shape = int | Sequence[int]


def call(function: Function, types: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a NumPy function with tensors among its arguments; see ``__array_function__``."""
    if not all(issubclass(type_, (Tensor, numpy.ndarray)) for type_ in types):
        return NotImplemented
    counterpart = _counterpart(function.__module__, function.__name__)
    bound = None if counterpart is None else _bound(function, counterpart, args, kwargs)
    if counterpart is not None and bound is not None:
        with suppress(ArgumentError, DTypeError):  # NumPy accepts more, such as determinants of integer matrices
            result = counterpart(*bound.args, **bound.kwargs)
            if result is not NotImplemented:
                return result
    return function(*_mapped(_array, tuple(args)), **_mapped(_array, dict(kwargs)))


@cache
def _counterpart(module: str, name: str) -> Function | None:
    """Return the function that computes a NumPy function on tensors, or None."""
    space = _SPACES.get(module)
    if space is None or name.startswith("_"):
        return None
    path = name if space is standard else f"{module.rpartition('.')[2]}.{name}"
    form = _FORMS.get(path) or getattr(space, _RENAMED.get(path, name), None)
    return form if callable(form) else None


_SPACES: dict[str, ModuleType] = {
    "numpy": standard,
    "numpy.linalg": standard.linalg,
    "numpy.fft": standard.fft,
}

# Further names that NumPy has for functions of the standard, and for arguments.
_RENAMED = {"amax": "max", "amin": "min"}
_ARGUMENTS = {"a_min": "min", "a_max": "max"}


def _bound(
    function: Function, counterpart: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments | None:
    """Bind the arguments of a NumPy function to its counterpart; return None if the counterpart lacks one of them.

    Leading arguments have different names in NumPy and in the standard; options are matched by name.
    """
    options = {name: value for name, value in kwargs.items() if not _is_default(value)}
    try:
        if counterpart not in _FORMS.values():
            named = dict(_signature(function).bind(*args, **kwargs).arguments)
            accepted = _signature(counterpart).parameters.values()
            first = [parameter for parameter in accepted if parameter.kind is parameter.POSITIONAL_ONLY]
            args = [named.pop(name) for name in list(named)[: len(first)]]
            options = {_ARGUMENTS.get(name, name): value for name, value in named.items() if not _is_default(value)}
        if "dtype" in options:
            options["dtype"] = _dtype(options["dtype"])
        return _signature(counterpart).bind(*_mapped(_tensor, list(args)), **_mapped(_tensor, options))
    except (TypeError, ValueError, DTypeError):
        return None


_signature = cache(inspect.signature)


def _dtype(value: Any) -> DType:
    """Convert anything that NumPy accepts as a dtype, such as ``"f4"`` and ``float``."""
    return value if isinstance(value, DType) else to_dtype(numpy.dtype(value))


def _is_default(value: object) -> bool:
    return value is None or value is numpy._NoValue


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to each leaf of nested lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(change, element) for element in value)
    return (
        {name: _mapped(change, element) for name, element in value.items()}
        if isinstance(value, dict)
        else change(value)
    )


def _array(value: Any) -> Any:
    """Convert a tensor to an array over its memory, and a dtype to NumPy's."""
    return numpy.asarray(value) if isinstance(value, Tensor) else value.numpy if isinstance(value, DType) else value


def _tensor(value: Any) -> Any:
    """Convert an array to a tensor, and a NumPy scalar to a Python number."""
    return value.item() if isinstance(value, numpy.generic) else operand(value)


# ---------------------------------------------------------------------------- functions whose forms or rules are others


def _asarray(a: Any, dtype: DType | None = None) -> Tensor:
    """Return a tensor with NumPy's dtypes for Python numbers: float64 and int64."""
    output = standard.asarray(a if isinstance(a, Tensor) else numpy.asarray(a))
    return output if dtype is None else output.to(dtype)


def _where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    return standard.nonzero(condition) if x is None and y is None else standard.where(condition, x, y)


def _concatenate(
    arrays: Sequence[Tensor], axis: int | None = 0, *, dtype: DType | None = None, casting: str = "same_kind"
) -> Any:
    if casting not in ("same_kind", "unsafe"):
        return NotImplemented
    output = standard.concat(arrays, axis=axis)
    return output if dtype is None else output.to(dtype)


def _dot(a: Any, b: Any) -> Tensor:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or 0 in (a.ndim, b.ndim):
        return standard.multiply(a, b)
    return standard.matmul(a, b) if b.ndim < 3 else standard.tensordot(a, b, axes=((-1,), (-2,)))


def _floating(name: str) -> Function:
    """Build a statistic that computes integers in float64, as NumPy does."""

    def function(
        a: Tensor, axis: Any = None, dtype: DType | None = None, *, ddof: float = 0.0, keepdims: bool = False
    ) -> Tensor:
        dtype = dtype or (float64 if a.dtype.category <= Category.INT else a.dtype)
        more = {} if name == "mean" else {"correction": ddof}
        function: Tensor = getattr(standard, name)(a.to(dtype), axis=axis, keepdims=keepdims, **more)
        return function

    return function


def _nansum(a: Tensor, axis: Any = None, dtype: DType | None = None, *, keepdims: bool = False) -> Tensor:
    return aten.nansum(a, axis, keepdims, dtype=dtype or sum_dtype(a.dtype))


def _cumulative(name: str) -> Function:
    def function(a: Tensor, axis: int | None = None, dtype: DType | None = None) -> Tensor:
        vectors = a.reshape(-1) if axis is None else a
        function: Tensor = getattr(standard, name)(vectors, axis=0 if axis is None else axis, dtype=dtype)
        return function

    return function


def _like(name: str) -> Function:
    """Build a function that creates a tensor with the dtype and device of another one, and with its shape or a given
    one.
    """

    def function(a: Tensor, dtype: DType | None = None, *, shape: Shape | None = None) -> Tensor:
        function: Tensor = getattr(standard, name)(
            a.shape if shape is None else shape, dtype=dtype or a.dtype, device=a.device
        )
        return function

    return function


def _full_like(a: Tensor, fill_value: Any, dtype: DType | None = None, *, shape: Shape | None = None) -> Tensor:
    sizes = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return standard.full(sizes, value, dtype=dtype or a.dtype, device=a.device)


def _take(a: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    vectors = a.reshape(-1) if axis is None else a
    return standard.take(vectors, _asarray(indices).to(int64), axis=0 if axis is None else axis)


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Tensor:
    positions = None if sorter is None else _asarray(sorter)
    return standard.searchsorted(_asarray(a), _asarray(v), side=side, sorter=positions)


def _reshape(a: Tensor, shape: Shape) -> Tensor:
    return standard.reshape(a, (shape,) if isinstance(shape, int) else tuple(shape))


def _tile(a: Tensor, reps: Shape) -> Tensor:
    return standard.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))


def _squeeze(a: Tensor, axis: Any = None) -> Tensor:
    return a.squeeze() if axis is None else standard.squeeze(a, axis)


def _transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return a.permute(tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


def _round(a: Tensor, decimals: int = 0) -> Tensor:
    return aten.round(a, decimals=decimals) if decimals else standard.round(a)


def _norm(x: Tensor, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is None or isinstance(axis, int) or (axis is None and x.ndim == 1):
        return standard.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)
    return standard.linalg.matrix_norm(x, keepdims=keepdims, ord=ord) if axis is None else NotImplemented


def _einsum(equation: str, *operands: Tensor, dtype: DType | None = None, optimize: object = False) -> Tensor:
    return aten.einsum(equation, *(factor if dtype is None else factor.to(dtype) for factor in operands))


def _shape(a: Tensor) -> tuple[int, ...]:
    return a.shape


def _ndim(a: Tensor) -> int:
    return a.ndim


def _size(a: Tensor, axis: int | Sequence[int] | None = None) -> int:
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(a.shape[number] for number in axes)


def _is_complex(x: Tensor) -> bool:
    return x.dtype.is_complex


def _is_real(x: Tensor) -> bool:
    return not x.dtype.is_complex


def _result_type(*arrays_and_dtypes: Any) -> Any:
    """Return NumPy's result dtype, by NumPy's rules."""
    dtypes = (and_dtype.dtype.numpy if isinstance(and_dtype, Tensor) else and_dtype for and_dtype in arrays_and_dtypes)
    return numpy.result_type(*dtypes)


_FORMS: dict[str, Function] = {
    "asarray": _asarray,
    "where": _where,
    "concatenate": _concatenate,
    "dot": _dot,
    "mean": _floating("mean"),
    "std": _floating("std"),
    "var": _floating("var"),
    "nansum": _nansum,
    "cumsum": _cumulative("cumulative_sum"),
    "cumprod": _cumulative("cumulative_prod"),
    "empty_like": _like("empty"),
    "zeros_like": _like("zeros"),
    "ones_like": _like("ones"),
    "full_like": _full_like,
    "take": _take,
    "searchsorted": _searchsorted,
    "reshape": _reshape,
    "tile": _tile,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "round": _round,
    "around": _round,
    "einsum": _einsum,
    "linalg.norm": _norm,
    "shape": _shape,
    "ndim": _ndim,
    "size": _size,
    "iscomplexobj": _is_complex,
    "isrealobj": _is_real,
    "result_type": _result_type,
}
