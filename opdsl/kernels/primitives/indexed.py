"""Tensors whose elements are functions of their index: ranges, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy

from opdsl.kernels.compiler import Compiled, compiler_for, counts
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.tensor_iterator import pointwise_call
from opdsl.kernels.outputs import array_of, check_written, new_tensor
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.runtime.device import meta
from opdsl.runtime.dtype import DType, bool_, complex128, float32, float64, int64
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import SymbolicArray, lowering, made_once
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view

_Function = TypeVar("_Function", bound=Callable[..., Any])

_WIDTH = 1 << 12
_WORD = 1 << 64
_COLUMNS = numpy.arange(_WIDTH, dtype=numpy.int64)
_IN_SINGLE_PRECISION: set[Callable[..., Any]] = set()
_NUMBERS: dict[type, DType] = {int: int64, float: float64, bool: bool_, complex: complex128}


def in_single_precision(function: _Function) -> _Function:
    """Have a scalar function computed in float32: numbers that it gets, and integers that become floating point."""
    _IN_SINGLE_PRECISION.add(function)
    return function


def fill_by_index(target: Tensor, function: Callable[..., Any], given: Sequence[Any], first: int = 0) -> Tensor:
    """Writes a function of its index into every element of a tensor.

    Args:
        target: of any shape and strides. Indices count its elements in row-major order.
        function: a scalar function, called with two int64 whose sum is the index, then with ``given``.
        given: numbers, which it gets as int64, float64, complex128 or bool, and tensors of the target's shape, of which
            it gets the element.
        first: the index of the first element, an int64; indices wrap at 64 bits.

    Returns:
        ``target``.

    Raises:
        OverlapError: elements of the target share memory.
    """
    check_written(target, [each for each in given if isinstance(each, Tensor)], [])
    if target.device is meta or not target.geometry.numel:
        return target
    if is_beyond(target):
        through_host(fill_by_index, (target, function, given, first), [target])
    else:
        _fill(target, function, given, first)
    return target


def _fill(target: Tensor, function: Callable[..., Any], given: Sequence[Any], first: int) -> None:
    dense = target if target.is_contiguous() else _dense_like(target)
    if dense.geometry.numel <= _WIDTH or counts(dense.device.type):
        _fill_at_once(dense, function, given, first)
    else:
        _fill_in_rows(dense, function, given, first)
    if dense is not target:
        copy_elements(target, dense)


def _fill_at_once(dense: Tensor, function: Callable[..., Any], given: Sequence[Any], first: int) -> None:
    """Fill a tensor that is as short as the rows are, or of a backend whose kernels count by themselves."""
    form = dense.geometry
    values = [_contiguous(each) if isinstance(each, Tensor) else each for each in given]
    forms = tuple([each.geometry if isinstance(each, Tensor) else each.__class__ for each in values])
    arrays = [array_of(each) if isinstance(each, Tensor) else each for each in values]
    column = _column(form)
    _short_loop(function, form, forms)(first, column, *arrays, array_of(dense))


def _column(form: TensorMeta) -> Any:
    """The indices of a tensor's elements; of those that a backend counts by itself the first one."""
    if counts(form.device.type):
        return 0
    recorder = lowering.get()
    if recorder is None:
        return _first_columns(form.shape)
    if recorder.is_exact:
        return SymbolicArray(recorder.constant(_first_columns(form.shape)), int64.numpy)
    (name,) = recorder.run(_first_columns, (form.shape,), ["array"])
    return SymbolicArray(name, int64.numpy)


def _first_columns(shape: tuple[int, ...]) -> Any:
    """The indices of the elements of a shape."""
    columns = _COLUMNS[: math.prod(shape)]
    return columns if len(shape) == 1 else columns.reshape(shape)


def _fill_in_rows(dense: Tensor, function: Callable[..., Any], given: Sequence[Any], first: int) -> None:
    """Fill as many whole rows as there are, then the rest: no array of all indices is needed."""
    flat = _flat(dense)
    values = [_flat(each) if isinstance(each, Tensor) else each for each in given]
    whole, rest = divmod(flat.geometry.numel, _WIDTH)
    for part in ((0, whole, _WIDTH), (whole * _WIDTH, 1, rest)):
        if part[1] and part[2]:
            _fill_rows(flat, function, values, part, first)


def _contiguous(tensor: Tensor) -> Tensor:
    if tensor.is_contiguous():
        return tensor
    dense = _dense_like(tensor)
    copy_elements(dense, tensor)
    return dense


def _dense_like(tensor: Tensor) -> Tensor:
    form = tensor.geometry
    return new_tensor(geometry(form.dtype, form.device, form.shape, contiguous_strides(form.shape)))


def _flat(tensor: Tensor) -> Tensor:
    """The elements in one dimension, in row-major order."""
    tensor = _contiguous(tensor)
    return make_view(tensor, (tensor.geometry.numel,), (1,))


def _fill_rows(
    flat: Tensor, function: Callable[..., Any], given: Sequence[Any], part: tuple[int, int, int], first: int
) -> None:
    start, rows, columns = part
    beginnings = numpy.arange(rows, dtype=numpy.uint64) * columns + numpy.uint64((first + start) % _WORD)
    target = _rows(flat, part)
    values = [_rows(each, part) if isinstance(each, Tensor) else each for each in given]
    forms = tuple(each.geometry if isinstance(each, Tensor) else each.__class__ for each in values)
    arrays = [array_of(each) if isinstance(each, Tensor) else each for each in values]
    index = beginnings.view(numpy.int64)[:, None], _COLUMNS[None, :columns]
    _loop(function, target.geometry, forms)(*index, *arrays, array_of(target))


def _rows(flat: Tensor, part: tuple[int, int, int]) -> Tensor:
    start, rows, columns = part
    return make_view(flat, (rows, columns), (columns, 1), flat.storage_offset() + start)


@made_once(512)
def _loop(function: Callable[..., Any], target: TensorMeta, given: tuple[TensorMeta | type, ...]) -> Compiled:
    rows, columns = target.shape
    row = geometry(int64, target.device, (rows, 1), (1, 1))
    return _compiled(function, target, row, geometry(int64, target.device, (1, columns), (columns, 1)), given)


@made_once(512)
def _short_loop(function: Callable[..., Any], target: TensorMeta, given: tuple[TensorMeta | type, ...]) -> Compiled:
    column = geometry(int64, target.device, target.shape, contiguous_strides(target.shape))
    return _compiled(function, target, int64, column, given)


def _compiled(
    function: Callable[..., Any],
    target: TensorMeta,
    row: TensorMeta | DType,
    column: TensorMeta,
    given: Sequence[TensorMeta | type],
) -> Compiled:
    scalar = _read(function)
    device = target.device.type
    numbers = {**_NUMBERS, float: float32} if function in _IN_SINGLE_PRECISION else _NUMBERS
    inputs = (row, column, *(each if isinstance(each, TensorMeta) else numbers[each] for each in given))
    dtypes = [each.dtype if isinstance(each, TensorMeta) else each for each in inputs]
    types = {name: precision_of(dtype).name for name, dtype in zip(scalar.parameters, dtypes, strict=True)}
    precision = numbers[float].name
    graph = scalar.specialise(types, results=(precision_of(target.dtype).name,), default_float=precision)
    call = pointwise_call(target.shape, inputs, [target])
    if counts(device):
        start, index, *others = call.inputs
        call = call._replace(inputs=(start, index._replace(counts=True), *others))
    return compiler_for(device).pointwise(graph, call)


@lru_cache(maxsize=64)
def _read(function: Callable[..., Any]) -> Any:
    from opdsl.scalar import read

    return read(function)
