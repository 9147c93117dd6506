"""Sorting operators for rows of int64 keys, with equal keys in the order of PyTorch's kernels
(``machine/ordering.py``).

``order_keys`` converts the elements of a tensor to keys: integers in the order in which to sort the elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opdsl.declare import Library
from opdsl.kernels import check, copy_
from opdsl.kernels.compiler import compiler_for
from opdsl.kernels.outputs import array_of
from opdsl.kernels.primitives.ordering import key_loop
from opdsl.runtime import MemoryFormat, Tensor, TensorMeta, contiguous_strides, int64

lib = Library("opdsl")

LONG = 32768
"""Row length from which equal elements keep their order, as in PyTorch's sort of integers."""


# ----------------------------------------------------------------------------------------------------- rows of a matrix


@lib.op(variants="function", out=True)
def order_keys(self: Tensor, dim: int, descending: bool) -> Tensor:
    """Convert real numbers to int64 keys in the same order, NaN last and the two zeros equal; each row is a line along
    ``dim``.

    Args:
        self: real, of at least one dimension.
        dim: the dimension.
        descending: whether the keys are in the opposite order.

    Returns:
        int64 (rows, length).
    """
    ...


@order_keys.meta
def order_keys_meta(ctx, self, dim):
    check(-self.ndim <= dim < self.ndim, "expected one of the dimensions", got=dim)
    length = self.shape[dim]
    dim %= self.ndim
    ctx.set_output(0, (math.prod(self.shape[:dim]) * math.prod(self.shape[dim + 1 :]), length), like=self, dtype=int64)


def keys_loop(self: Tensor, dim: int, descending: bool, out: TensorMeta) -> Callable[[Any, Any], object]:
    """Return the compiled function that writes the keys of a tensor's array into the array of ``out``."""
    dim %= self.ndim
    order = (*(index for index in range(self.ndim) if index != dim), dim)
    shape, strides = (tuple(sizes[dim] for dim in order) for sizes in (self.shape, self.strides))
    form = out.replace(shape=shape, strides=contiguous_strides(shape))
    return key_loop(self.geometry.replace(shape=shape, strides=strides), form, descending)


@order_keys.out_kernel("CPU", compiled=False)
def order_keys_cpu(self, dim, descending, out):
    if out.numel():
        target = out if out.is_contiguous() else out.new_empty(out.shape)
        keys_loop(self, dim, descending, target.geometry)(self.array, target.array)
        if target is not out:
            copy_(out, target)


def check_keys(keys: Tensor) -> None:
    """Check that keys are rows of int64, as kernels do not check it. Raises ShapeError: they are not."""
    check(keys.dtype is int64 and keys.ndim == 2, "expected int64 rows", got=(keys.dtype, keys.shape))


def run_by_rows(name: str, keys: Tensor, numbers: tuple[int, ...], out: Tensor) -> None:
    """Run a handwritten CPU kernel on rows of keys; it writes a row of indices for each."""
    if out.numel():
        rows = keys if keys.is_contiguous() else keys.clone(memory_format=MemoryFormat.contiguous_format)
        target = out if out.is_contiguous() else out.new_empty(out.shape)
        compiler_for("cpu").handwritten(name)(array_of(rows), *numbers, array_of(target))
        if target is not out:
            copy_(out, target)


@lib.op(variants="function", out=True)
def first_places(keys: Tensor, count: int, ordered: bool) -> Tensor:
    """Return the indices of the ``count`` smallest keys of each row, chosen as PyTorch's ``topk`` does.

    Args:
        keys: int64 (rows, length).
        count: how many.
        ordered: whether the smallest comes first.

    Returns:
        int64 (rows, count).
    """
    ...


@first_places.meta
def first_places_meta(ctx, keys, count):
    check_keys(keys)
    check(0 <= count <= keys.shape[1], "expected a count of at most the row's length", got=count, row=keys.shape[1])
    ctx.set_output(0, (keys.shape[0], count), like=keys, dtype=int64)


@first_places.out_kernel("CPU", compiled=False)
def first_places_cpu(keys, count, ordered, out):
    run_by_rows("first_places", keys, (count, ordered), out)


@lib.op(variants="function", out=True)
def sorted_places(keys: Tensor) -> Tensor:
    """Return the indices that sort each row of keys in ascending order, as PyTorch's ``sort`` does.

    Equal keys of long rows stay in order.

    Args:
        keys: int64 (rows, length).

    Returns:
        int64 (rows, length).
    """
    ...


@sorted_places.meta
def sorted_places_meta(ctx, keys):
    check_keys(keys)
    ctx.set_output(0, keys.shape, like=keys, dtype=int64)


@sorted_places.out_kernel("CPU", compiled=False)
def sorted_places_cpu(keys, out):
    run_by_rows("sorted_places", keys, (), out)


@lib.op(variants="function", out=True)
def stable_places(keys: Tensor) -> Tensor:
    """Return the indices that sort each row of keys in ascending order, with equal keys in their original order.

    Args:
        keys: int64 (rows, length).

    Returns:
        int64 (rows, length).
    """
    ...


stable_places.meta(sorted_places_meta)


@stable_places.out_kernel("CPU", compiled=False)
def stable_places_cpu(keys, out):
    run_by_rows("stable_places", keys, (), out)


@lib.op(variants="function", out=True)
def nth_place(keys: Tensor, nth: int) -> Tensor:
    """Return the index of the ``nth`` smallest key of each row, counted from 0, as PyTorch's ``kthvalue`` finds it.

    Args:
        keys: int64 (rows, length).
        nth: which one.

    Returns:
        int64 (rows, 1).
    """
    ...


@nth_place.meta
def nth_place_meta(ctx, keys, nth):
    check_keys(keys)
    check(0 <= nth < keys.shape[1], "expected an index within the row's length", got=nth, row=keys.shape[1])
    ctx.set_output(0, (keys.shape[0], 1), like=keys, dtype=int64)


@nth_place.out_kernel("CPU", compiled=False)
def nth_place_cpu(keys, nth, out):
    run_by_rows("nth_place", keys, (nth,), out)
