"""Filling of tensors whose elements are functions of their index: ranges, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy

from opdsl.kernels.compiler import Compiled, abilities, compile_elements
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.tensor_iterator import pointwise_layout
from opdsl.kernels.outputs import array_of, check_written, new_tensor
from opdsl.kernels.primitives.copying import copy_elements
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.kernels.steps import step
from opdsl.runtime.device import cpu, meta
from opdsl.runtime.dtype import DType, bool_, complex128, float32, float64, int64
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import SymbolicArray, lowering, made_once
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Together(NamedTuple):
    """Scalar function that computes several elements at once, since they share most of their work.

    Rows of ``ROW`` elements, which begin at multiples of it, are split into as many runs as it has results. It is
    called with the index of a row's first element and an index within the first run, and returns the element at that
    index of each
    run: bit for bit the results of the scalar function that it replaces.
    """

    function: Callable[..., Any]
    runs: int


ROW = 1 << 12
_WORD = 1 << 64
_COLUMNS = numpy.arange(ROW, dtype=numpy.int64)
_IN_SINGLE_PRECISION: set[Callable[..., Any]] = set()
_TOGETHER: dict[Callable[..., Any], Together] = {}
_NUMBERS: dict[type, DType] = {int: int64, float: float64, bool: bool_, complex: complex128}


def in_single_precision(function: _Function) -> _Function:
    """Mark a scalar function to be computed in float32: its numbers, and integers converted to floating point."""
    _IN_SINGLE_PRECISION.add(function)
    return function


def together(single: Callable[..., Any], runs: int) -> Callable[[_Function], _Function]:
    """Register a scalar function that fills long tensors in place of ``single``, ``runs`` elements at once."""

    def register(function: _Function) -> _Function:
        _TOGETHER[single] = Together(function, runs)
        return function

    return register


def fill_by_index(target: Tensor, function: Callable[..., Any], operands: Sequence[Any], first: int = 0) -> Tensor:
    """Fill a tensor with a scalar function of each element's index.

    Args:
        target: of any shape and strides. Indices count its elements in row-major order.
        function: a scalar function, called with two int64 whose sum is the index, then with ``operands``.
        operands: numbers, passed as int64, float64, complex128 or bool, and tensors of the target's shape, of
            which it gets the element.
        first: the index of the first element, an int64; indices wrap at 64 bits.

    Returns:
        ``target``.

    Raises:
        OverlapError: elements of the target share memory.
    """
    check_written(target, [operand for operand in operands if isinstance(operand, Tensor)], [])
    if target.device is meta or not target.geometry.numel:
        return target
    if is_beyond(target):
        through_host(fill_by_index, (target, function, operands, first), [target])
    else:
        _fill(target, function, operands, first)
    return target


def _fill(target: Tensor, function: Callable[..., Any], operands: Sequence[Any], first: int) -> None:
    dense = target if target.is_contiguous() else _dense_like(target)
    if dense.geometry.numel <= ROW or abilities(dense.device.type).counts:
        _fill_at_once([dense], function, operands, first)
    else:
        values = tuple([_contiguous(operand) if isinstance(operand, Tensor) else operand for operand in operands])
        kinds = tuple([value.dtype if isinstance(value, Tensor) else value.__class__ for value in values])
        _fill_in_rows(dense, function, dense.dtype, kinds, first, values)
    if dense is not target:
        copy_elements(target, dense)


def fill_together(
    targets: Sequence[Tensor], function: Callable[..., Any], operands: Sequence[Any], first: int = 0
) -> None:
    """Fill contiguous tensors of one shape in one kernel, on a backend whose kernels generate indices.

    Args:
        targets: new tensors of at least one element.
        function: returns an element of each of the targets; see ``fill_by_index``, also for the other arguments.
    """
    _fill_at_once(targets, function, operands, first)


def _fill_at_once(targets: Sequence[Tensor], function: Callable[..., Any], operands: Sequence[Any], first: int) -> None:
    """Fill tensors in one loop: of one no longer than a row, or on a backend whose kernels generate indices."""
    target_forms = tuple([target.geometry for target in targets])
    values = [_contiguous(operand) if isinstance(operand, Tensor) else operand for operand in operands]
    forms = tuple([value.geometry if isinstance(value, Tensor) else value.__class__ for value in values])
    arrays = [array_of(value) if isinstance(value, Tensor) else value for value in values]
    column = _column(target_forms[0])
    _short_loop(function, target_forms, forms)(first, column, *arrays, *map(array_of, targets))


def _column(form: TensorMeta) -> Any:
    """Return the array of a tensor's element indices; for a backend that generates indices, the first index."""
    if abilities(form.device.type).counts:
        return 0
    recorder = lowering.get()
    if recorder is None:
        return _first_columns(form.shape)
    if recorder.is_exact:
        return SymbolicArray(recorder.constant(_first_columns(form.shape)), int64.numpy)
    (variable,) = recorder.run(_first_columns, (form.shape,), ["array"])
    return SymbolicArray(variable, int64.numpy)


def _first_columns(shape: tuple[int, ...]) -> Any:
    """Return the row-major indices of the elements of a shape."""
    columns = _COLUMNS[: math.prod(shape)]
    return columns if len(shape) == 1 else columns.reshape(shape)


@step
def _fill_in_rows(
    dense: Any, function: Callable[..., Any], dtype: DType, kinds: tuple[DType | type, ...], first: int, operands: Any
) -> None:
    """Fill all whole rows, then the rest, so that no array of all indices is needed.

    Args:
        dense: the array to fill, which is contiguous, as all arrays of ``operands`` are.
        function: the scalar function.
        dtype: of the elements of ``dense``.
        kinds: for each of ``operands`` its dtype, or the class of a number.
        first: the index of the first element.
        operands: of the function.
    """
    flat = dense.reshape(-1)
    values = [operand.reshape(-1) if isinstance(operand, numpy.ndarray) else operand for operand in operands]
    together = None if any(isinstance(value, numpy.ndarray) for value in values) else _TOGETHER.get(function)
    if together is not None:
        _fill_in_runs(flat, together, dtype, kinds, first, values)
        return
    whole, rest = divmod(flat.size, ROW)
    for start, rows, columns in ((0, whole, ROW), (whole * ROW, 1, rest)):
        if rows and columns:
            parts = [
                value[start : start + rows * columns].reshape(rows, columns)
                if isinstance(value, numpy.ndarray)
                else value
                for value in [*values, flat]
            ]
            loop = _loop(function, dtype, (rows, columns), kinds)
            loop(_beginnings(first + start, rows, columns), _COLUMNS[None, :columns], *parts)


def _fill_in_runs(
    flat: Any, together: Together, dtype: DType, kinds: tuple[DType | type, ...], first: int, values: Sequence[Any]
) -> None:
    """Fill an array by a function that computes one element of each run of a row; the first and last rows may be
    partial.
    """
    columns = ROW // together.runs

    def fill(start: int, target: Any) -> None:
        """Fill whole rows, starting at an index."""
        rows = target.reshape(-1, together.runs, columns)
        loop = _loop(together, dtype, (len(rows), columns), kinds)
        parts = [rows[:, part] for part in range(together.runs)]
        loop(_beginnings(start, len(rows), ROW), _COLUMNS[None, :columns], *values, *parts)

    before = -first % ROW
    after = (flat.size - before) % ROW
    if flat.size > before + after:
        fill(first + before, flat[before : flat.size - after])
    row = numpy.empty(ROW, flat.dtype)
    if before:
        fill(first + before - ROW, row)
        flat[:before] = row[ROW - before :]
    if after:
        fill(first + flat.size - after, row)
        flat[flat.size - after :] = row[:after]


def _beginnings(first: int, rows: int, columns: int) -> Any:
    """Return the indices of the first elements of rows, as a column."""
    starts = numpy.arange(rows, dtype=numpy.uint64) * columns + numpy.uint64(first % _WORD)
    return starts.view(numpy.int64)[:, None]


def _contiguous(source: Tensor) -> Tensor:
    if source.is_contiguous():
        return source
    dense = _dense_like(source)
    copy_elements(dense, source)
    return dense


def _dense_like(source: Tensor) -> Tensor:
    form = source.geometry
    return new_tensor(geometry(form.dtype, form.device, form.shape, contiguous_strides(form.shape)))


@made_once(512)
def _loop(
    function: Callable[..., Any] | Together, dtype: DType, shape: tuple[int, int], dtypes: tuple[DType | type, ...]
) -> Compiled:
    """Return the loop over rows, called with the indices of rows' first elements, column indices, operands and the
    target.
    """
    rows, columns = shape
    row, column = geometry(int64, cpu, (rows, 1), (1, 1)), geometry(int64, cpu, (1, columns), (columns, 1))
    runs = function.runs if isinstance(function, Together) else 1
    target = geometry(dtype, cpu, shape, (runs * columns, 1))
    forms = [geometry(kind, cpu, shape) if isinstance(kind, DType) else kind for kind in dtypes]
    return _compiled(function, [target] * runs, row, column, forms)


@made_once(512)
def _short_loop(
    function: Callable[..., Any], targets: tuple[TensorMeta, ...], geometries: tuple[TensorMeta | type, ...]
) -> Compiled:
    first = targets[0]
    column = geometry(int64, first.device, first.shape, contiguous_strides(first.shape))
    return _compiled(function, targets, int64, column, geometries)


def _compiled(
    function: Callable[..., Any] | Together,
    targets: Sequence[TensorMeta],
    row: TensorMeta | DType,
    column: TensorMeta,
    geometries: Sequence[TensorMeta | type],
) -> Compiled:
    if isinstance(function, Together):
        function = function.function
    scalar = _read(function)
    device, shape = targets[0].device.type, targets[0].shape
    numbers = {**_NUMBERS, float: float32} if function in _IN_SINGLE_PRECISION else _NUMBERS
    inputs = (row, column, *(spec if isinstance(spec, TensorMeta) else numbers[spec] for spec in geometries))
    dtypes = [input.dtype if isinstance(input, TensorMeta) else input for input in inputs]
    types = {name: precision_of(dtype).name for name, dtype in zip(scalar.parameters, dtypes, strict=True)}
    precision = numbers[float].name
    results = tuple([precision_of(target.dtype).name for target in targets])
    graph = scalar.specialise(types, results=results, default_float=precision)
    layout = pointwise_layout(shape, inputs, targets)
    if abilities(device).counts:
        start, index, *others = layout.inputs
        layout = layout._replace(inputs=(start, index._replace(counts=True), *others))
    return compile_elements(device, graph, layout)


@lru_cache(maxsize=64)
def _read(function: Callable[..., Any]) -> Any:
    from opdsl.scalar import read

    return read(function)
