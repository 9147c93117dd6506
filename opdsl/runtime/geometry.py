"""Geometry of tensors: shape, strides, dtype, device and flags as one interned object, which is part of plan keys."""

from __future__ import annotations

import math
import sys
import threading
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy

from opdsl.errors import InterchangeError, ShapeError
from opdsl.runtime.device import Device, Layout, MemoryFormat, backends, cpu
from opdsl.runtime.dtype import DType
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.lowering import lowering
from opdsl.runtime.strides import (
    CHANNELS_LAST_ORDERS,
    MOST_DIMENSIONS,
    check_sizes,
    contiguous_strides,
    is_contiguous,
    is_dense_in_order,
    is_non_overlapping_and_dense,
    suggest_memory_format,
)
from opdsl.runtime.symbol import is_symbol


class Creation(Enum):
    """Mode in which a view was created, which decides whether autograd allows in-place writes (``CreationMeta``).

    A detached tensor shares the memory, but no history; a tensor from ``data`` does not share the version counter
    either. Views of such a tensor are views of it, and not of the tensor that it was taken from.
    """

    DEFAULT = "with grad mode on"
    SEVERAL = "as one of several that an operator returned"
    NO_GRAD = "in no_grad mode"
    INFERENCE = "in inference mode"
    DETACHED = "detached"
    DATA = "as data"

    @property
    def is_apart(self) -> bool:
        """Return whether autograd does not treat the tensor as a view."""
        return self is Creation.DETACHED or self is Creation.DATA


class Form:
    """Form (shape class): common to all geometries that differ only in sizes of 2 or more.

    It contains dtype, device, flags, which sizes are 0 or 1, and the order of the dimensions in memory.

    order: the dimensions from the outermost to the innermost, for a tensor without gaps; None for a tensor with other
        strides, which are independent of its sizes.
    """

    __slots__ = ("order",)

    def __init__(self, order: tuple[int, ...] | None) -> None:
        self.order = order


class TensorMeta:
    """Geometry of a tensor: dtype, device, sizes, strides and flags; interned by ``geometry``, compared by ``is``.

    dtype, device: the dtype and device of the tensor.
    shape, strides: the sizes, and the strides in elements.
    ndim, numel: the number of dimensions and of elements.
    requires_grad: whether autograd records operations on the tensor.
    is_view: whether its memory belongs to another tensor, its base.
    creation: the mode in which the view was created.
    is_inference: whether it was made in inference mode, so that autograd can never record operations on it.
    read_only: whether its memory must not be written (a NumPy array that is not writeable).
    is_conj, is_neg: whether its elements are the conjugates or the negatives of the values in its memory.
    backend: the backend component of its dispatch keys, ``"CPU"``.
    table: returns the geometries with the same dtype, device and flags for other sizes and strides.
    """

    __slots__ = (
        "__weakref__",
        "_contiguous",
        "_dense",
        "_form",
        "_suggested",
        "backend",
        "creation",
        "device",
        "dtype",
        "is_conj",
        "is_inference",
        "is_neg",
        "is_view",
        "ndim",
        "numel",
        "read_only",
        "requires_grad",
        "shape",
        "strides",
        "table",
    )

    dtype: DType
    device: Device
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    ndim: int
    numel: int
    requires_grad: bool
    is_view: bool
    creation: Creation
    is_inference: bool
    read_only: bool
    is_conj: bool
    is_neg: bool
    backend: str
    table: MetaTable
    _contiguous: bool | None
    _dense: bool | None
    _form: Form | None
    _suggested: MemoryFormat | None

    @property
    def form(self) -> Form:
        """Return the form (shape class): the geometry without its sizes."""
        form = self._form
        if form is None:
            form = self._form = _form_of(self)
        return form

    @property
    def layout(self) -> Layout:
        """Return the layout, which is always strided."""
        return Layout.strided

    @property
    def is_tracked_view(self) -> bool:
        """Return whether autograd treats the tensor as a view."""
        return self.is_view and not self.is_inference and not self.creation.is_apart

    def is_contiguous(self, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
        """Return whether the elements have no gaps in memory, in the order of ``memory_format``.

        Raises:
            ShapeError: ``memory_format`` is ``preserve_format``, which is no order.
        """
        if memory_format is MemoryFormat.contiguous_format:
            if self._contiguous is None:
                self._contiguous = is_contiguous(self.shape, self.strides)
            return self._contiguous
        order = CHANNELS_LAST_ORDERS.get(memory_format)
        if order is None:
            raise ShapeError("preserve memory format is unsupported by the contiguous operator")
        return len(order) == self.ndim and is_dense_in_order(self.shape, self.strides, order)

    def is_non_overlapping_and_dense(self) -> bool:
        """Return whether elements neither overlap nor have gaps in memory, in any order of dimensions."""
        if self._dense is None:
            self._dense = self.is_contiguous() or is_non_overlapping_and_dense(self.shape, self.strides)
        return self._dense

    def lies_like(self, other: TensorMeta) -> None:
        """Copy cached properties of the memory layout from a geometry of the same form, whose elements are dense."""
        self._contiguous, self._dense = other.is_contiguous(), True

    def suggested_memory_format(self) -> MemoryFormat:
        """Return the memory format that results of operators should have (see ``c10::TensorImpl``)."""
        if self._suggested is None:
            self._suggested = suggest_memory_format(self.shape, self.strides)
        return self._suggested

    def replace(
        self,
        *,
        dtype: DType | None = None,
        device: Device | None = None,
        shape: tuple[int, ...] | None = None,
        strides: tuple[int, ...] | None = None,
        requires_grad: bool | None = None,
        is_view: bool | None = None,
        creation: Creation | None = None,
        is_inference: bool | None = None,
        read_only: bool | None = None,
        is_conj: bool | None = None,
        is_neg: bool | None = None,
    ) -> TensorMeta:
        """Return the geometry that differs from this one only in the given attributes.

        If it becomes no view, its creation is reset to the default, and its conjugate and negative bits are cleared.
        """
        kept = self.creation if is_view is not False else Creation.DEFAULT
        dtype = self.dtype if dtype is None else dtype
        return geometry(
            dtype,
            self.device if device is None else device,
            self.shape if shape is None else shape,
            self.strides if strides is None else strides,
            requires_grad=self.requires_grad if requires_grad is None else requires_grad,
            is_view=self.is_view if is_view is None else is_view,
            creation=kept if creation is None else creation,
            is_inference=self.is_inference if is_inference is None else is_inference,
            read_only=self.read_only if read_only is None else read_only,
            is_conj=self.is_conj and is_view is not False and dtype.is_complex if is_conj is None else is_conj,
            is_neg=self.is_neg and is_view is not False if is_neg is None else is_neg,
        )

    def __repr__(self) -> str:
        flags = "".join(f", {flag}" for flag in _FLAGS if getattr(self, flag))
        return f"TensorMeta({self.dtype.name}, {self.device}, {self.shape}, strides={self.strides}{flags})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _restore, (self.dtype, self.device, self.shape, self.strides, *(getattr(self, mark) for mark in _MARKS))

    def __copy__(self) -> TensorMeta:
        return self

    def __deepcopy__(self, memo: object) -> TensorMeta:
        return self


_FLAGS = ("requires_grad", "is_view", "is_inference", "read_only", "is_conj", "is_neg")
_MARKS = ("requires_grad", "is_view", "creation", "is_inference", "read_only", "is_conj", "is_neg")

_LOCK = held_across_fork(threading.Lock())
_SMALLEST_LIMIT = 1 << 12


# Sizes in bytes stay far below 64 bits if the number of elements and the strides are below this limit.
_FEW = 1 << 30


class MetaTable:
    """Table of geometries with one dtype, device and flags, by sizes and strides; each is interned.

    Calling it returns the geometry of sizes and strides. Unreferenced geometries are dropped when the table has grown.
    """

    __slots__ = ("_known", "_limit", "_marks")

    def __init__(self, *marks: Any) -> None:
        device: Device = marks[1]
        self._marks = (self, *marks, _BACKENDS.get(device.type) or _backend_of(device.type))
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], TensorMeta] = {}
        self._limit = _SMALLEST_LIMIT

    def __call__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> TensorMeta:
        """Return the interned geometry of plain sizes and strides.

        Raises:
            ShapeError: no tensor can have these sizes.
        """
        key = (shape, strides)
        with _LOCK:
            try:
                meta = self._known.get(key)
            except TypeError:  # symbolic sizes of another library's tracer have no hash
                return self.new(shape, strides)
            if meta is None:
                meta = self.new(shape, strides)
                # Nearly all tensors stay far below 64 bits: the last offset is below the product of both limits.
                is_small = not shape or (0 < meta.numel < _FEW and max(strides) < _FEW and min(shape) > 0)
                if not is_small or meta.ndim > MOST_DIMENSIONS:
                    check_sizes(shape, strides, meta.dtype.itemsize)
                if len(self._known) >= self._limit:
                    self._forget_unused()
                self._known[key] = meta
            return meta

    def __repr__(self) -> str:
        return f"MetaTable({self._marks[1].name}, {self._marks[2]})"

    def new(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> TensorMeta:
        """Return a new geometry that is not interned."""
        tensor_meta = TensorMeta()
        (
            tensor_meta.table,
            tensor_meta.dtype,
            tensor_meta.device,
            tensor_meta.requires_grad,
            tensor_meta.is_view,
            tensor_meta.creation,
            tensor_meta.is_inference,
            tensor_meta.read_only,
            tensor_meta.is_conj,
            tensor_meta.is_neg,
            tensor_meta.backend,
        ) = self._marks
        tensor_meta.shape = shape
        tensor_meta.strides = strides
        tensor_meta.ndim = len(shape)
        tensor_meta.numel = math.prod(shape[1:], start=shape[0]) if shape else 1
        tensor_meta._contiguous = tensor_meta._dense = tensor_meta._form = tensor_meta._suggested = None
        return tensor_meta

    def _forget_unused(self) -> None:
        for key, value in list(self._known.items()):
            # References of the table, of this loop's list and variable, and of the argument of getrefcount.
            if sys.getrefcount(value) <= _UNUSED:
                del self._known[key]
        self._limit = max(_SMALLEST_LIMIT, 2 * len(self._known))


_TABLES: dict[tuple[object, ...], MetaTable] = {}


def _references_of_unused() -> int:
    """Return the result of ``sys.getrefcount`` for a geometry that only the table refers to."""
    table = {"key": TensorMeta()}
    return next(sys.getrefcount(value) for _, value in list(table.items()))


_UNUSED = _references_of_unused()


def geometry(
    dtype: DType,
    device: Device,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    *,
    requires_grad: bool = False,
    is_view: bool = False,
    creation: Creation = Creation.DEFAULT,
    is_inference: bool = False,
    read_only: bool = False,
    is_conj: bool = False,
    is_neg: bool = False,
) -> TensorMeta:
    """Return the interned geometry with the given attributes.

    Args:
        dtype, device: the dtype and device of the tensor.
        shape: the sizes, plain ints.
        strides: the strides in elements, plain ints; None for contiguous ones.
        requires_grad, is_view, creation, is_inference, read_only, is_conj, is_neg: see ``TensorMeta``.

    Returns:
        An object that stays the same as long as anything refers to it, so it may be compared with ``is``. Geometries
        with symbolic sizes (``torch.SymInt``) are new objects each time, since it is unknown whether sizes are equal.
    """
    if strides is None:
        strides = contiguous_strides(shape)
    # The hash of an Enum is a Python function, which is slower than id().
    key = (dtype, device, requires_grad, is_view, id(creation), is_inference, read_only, is_conj, is_neg)
    table = _TABLES.get(key)
    if table is None:
        meta_table = MetaTable(
            dtype, device, requires_grad, is_view, creation, is_inference, read_only, is_conj, is_neg
        )
        table = _TABLES.setdefault(key, meta_table)
    recorder = lowering.get()
    if recorder is not None:
        if not recorder.is_exact:
            return table.new(shape, strides)  # symbolic geometries must not enter caches by geometry
        # A symbolic number that becomes a size specializes the plan to this number.
        shape, strides = tuple(map(int, shape)), tuple(map(int, strides))
    return table(shape, strides)


_FORMS: dict[tuple[object, ...], Form] = {}
_ROW_MAJOR = [tuple(range(ndim)) for ndim in range(MOST_DIMENSIONS + 1)]


def _form_of(geometry: TensorMeta) -> Form:
    shape, strides = geometry.shape, geometry.strides
    if geometry.device.type == "meta" and any(type(size) is not int and not is_symbol(size) for size in shape):
        raise TypeError("sizes that another library traces (torch.SymInt) have no form: it would ask about them")
    # ``min`` would compare symbolic sizes with each other, which makes guards.
    small = len(shape) if all(size > 1 for size in shape) else tuple([2 if size > 1 else size for size in shape])
    order: tuple[int, ...] | None = _ROW_MAJOR[len(shape)]
    if strides != contiguous_strides(shape):
        order = tuple(sorted(range(len(shape)), key=lambda dim: -strides[dim]))
        step = 1
        for dim in reversed(order):
            if strides[dim] != step:
                order = None
                break
            step *= shape[dim] or 1
    lies: object = order if order is not None else tuple([min(stride, 2) for stride in strides])
    flags = tuple([getattr(geometry, flag) for flag in _FLAGS])
    key = (geometry.dtype, geometry.device, small, lies, order is None, id(geometry.creation), flags)
    form = _FORMS.get(key)
    return _FORMS.setdefault(key, Form(order)) if form is None else form


_BACKENDS: dict[str, str] = {}


def _backend_of(device_type: str) -> str:
    backend = _BACKENDS[device_type] = backends.key_of(device_type)
    return backend


def _restore(dtype: DType, device: Device, shape: tuple[int, ...], strides: tuple[int, ...], *marks: Any) -> TensorMeta:
    return geometry(dtype, device, shape, strides, **dict(zip(_MARKS, marks, strict=True)))


def geometry_of(array: numpy.ndarray[Any, Any], dtype: DType, *, is_view: bool = False) -> TensorMeta:
    """Return the geometry of a CPU tensor over a NumPy array.

    Args:
        array: the array, in the storage dtype of ``dtype``.
        dtype: the dtype of the elements (``bfloat16`` for an array of uint16, for example).
        is_view: whether the memory belongs to another tensor.

    Raises:
        InterchangeError: a stride is negative or no multiple of the itemsize.
    """
    return _geometry_of(dtype, array.shape, array.strides, is_view, not array.flags.writeable)


@lru_cache(maxsize=1024)
def _geometry_of(
    dtype: DType, shape: tuple[int, ...], steps: tuple[int, ...], is_view: bool, read_only: bool
) -> TensorMeta:
    strides = []
    for step in steps:
        elements, rest = divmod(step, dtype.itemsize)
        if rest or elements < 0:
            raise InterchangeError(
                f"an array with strides {steps} (bytes, itemsize {dtype.itemsize}) cannot be shared: strides must be "
                "positive multiples of the itemsize. Copy it first with numpy.ascontiguousarray(array)."
            )
        strides.append(elements)
    return geometry(dtype, cpu, shape, tuple(strides), is_view=is_view, read_only=read_only)
