"""Tests of random subscripts, read and written: results, errors and shared memory equal PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import opdsl
from opdsl.runtime import share_storage
from tests.torch.twins import Twins, assert_fails, differences
from tests.torch.values import strided

Draw = some.DrawFn


@some.composite
def index_tensors(draw: Draw, size: int) -> torch.Tensor:
    """Return an index tensor for a dimension, sometimes with an index out of bounds."""
    shape = draw(some.sampled_from([(), (1,), (2,), (3,), (2, 1), (1, 3), (2, 3), (0,)]))
    outside = draw(some.integers(0, 15)) == 0
    bound = max(size, 1) + outside
    values = draw(some.lists(some.integers(-bound, bound - 1), min_size=6, max_size=6))
    dtype = draw(some.sampled_from([torch.int64, torch.int64, torch.int32]))
    return torch.tensor(values, dtype=dtype)[: int(numpy.prod(shape))].reshape(shape)


@some.composite
def masks(draw: Draw, sizes: tuple[int, ...]) -> torch.Tensor:
    """Return a mask of the next dimensions, sometimes of a wrong size."""
    count = draw(some.integers(1, max(len(sizes), 1)))
    shape = [size + (draw(some.integers(0, 20)) == 0) for size in sizes[:count]]
    numel = int(numpy.prod(shape))
    values = draw(some.lists(some.booleans(), min_size=numel, max_size=numel))
    return torch.tensor(values, dtype=torch.bool).reshape(shape)


@some.composite
def subscripts(draw: Draw, shape: tuple[int, ...]) -> Any:
    """Return a subscript of a tensor of the given shape, with parts of every kind in any order."""
    parts: list[Any] = []
    dim = 0
    while dim < len(shape) and draw(some.integers(0, 4)):
        size = shape[dim]
        kind = draw(some.sampled_from(["int", "slice", "None", "bool", "tensor", "tensor", "mask", "list", "..."]))
        if kind in ("None", "bool"):
            parts.append(None if kind == "None" else draw(some.booleans()))
            continue
        if kind == "mask":
            mask = draw(masks(shape[dim:]))
            parts.append(mask)
            dim += mask.ndim
            continue
        if kind == "...":
            parts.append(...)
            dim = draw(some.integers(dim, len(shape)))
            continue
        bounds = some.one_of(some.none(), some.integers(-5, 5))
        makers = {
            "int": some.integers(-size - (size == 0), max(size - 1, 0)),
            "slice": some.builds(slice, bounds, bounds, some.sampled_from([None, 1, 2, 3])),
            "tensor": index_tensors(size),
            "list": some.lists(some.integers(-max(size, 1), max(size - 1, 0)), min_size=1, max_size=3),
        }
        parts.append(draw(makers[kind]))
        dim += 1
    assume(not any(ends_beyond(part) for part in parts) or sum(part is ... for part in parts) < 2)
    return parts[0] if len(parts) == 1 and draw(some.booleans()) else tuple(parts)


def ends_beyond(part: Any) -> bool:
    """Return whether a part is a slice with an end, which PyTorch compares with a size read from other memory after two
    ``...``.
    """
    return isinstance(part, slice) and part.stop is not None


def outcome(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            return error


def raised_alike(result: Any, expected: Any) -> bool:
    """Return whether PyTorch raised; check that opdsl raised the same kind of error, or none."""
    if not isinstance(expected, Exception):
        if isinstance(result, Exception):
            raise result
        return False

    def again() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    assert_fails(again, expected)
    return True


@settings(max_examples=200)
@given(some.data())
def test_reading(data: some.DataObject) -> None:
    theirs = data.draw(strided())
    index = data.draw(subscripts(tuple(theirs.shape)))
    twins = Twins()
    ours, own = twins.of(theirs), twins.of(index)
    expected, actual = outcome(lambda: theirs[index]), outcome(lambda: ours[own])
    if raised_alike(actual, expected):
        return
    assert differences(actual, expected) == []
    if expected.numel():
        shared = expected.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr()
        assert share_storage(actual, ours) == shared


@settings(max_examples=200)
@given(some.data())
def test_writing(data: some.DataObject) -> None:
    base = data.draw(strided())
    theirs = torch.arange(float(base.numel())).reshape(base.shape)
    index = data.draw(subscripts(tuple(theirs.shape)))
    shape = outcome(lambda: theirs[index].shape)
    # All written values are equal, so that the order of writes to repeated indices does not matter.
    value: Any = -1.5
    if not isinstance(shape, Exception) and data.draw(some.booleans()):
        kept = data.draw(some.integers(0, len(shape)))
        value = torch.full([1] * data.draw(some.integers(0, 2)) + list(shape[kept:]), -2.5)
    twins = Twins()
    ours, own, written = twins.of(theirs), twins.of(index), twins.of(value)

    def write(target: Any, place: Any, inputs: Any) -> None:
        target[place] = inputs

    before = theirs.clone()
    expected, actual = outcome(lambda: write(theirs, index, value)), outcome(lambda: write(ours, own, written))
    # PyTorch may have written before it raised; opdsl has not.
    assert differences(ours, before if raised_alike(actual, expected) else theirs) == []


@settings(max_examples=60)
@given(some.data())
def test_adding_to_what_is_there(data: some.DataObject) -> None:
    theirs = torch.arange(float(data.draw(some.integers(1, 5)))) * 2
    index = data.draw(index_tensors(len(theirs)))
    twins = Twins()
    ours, own = twins.of(theirs), twins.of(index)
    value = torch.ones(())

    def add(target: Any, place: Any, inputs: Any) -> Any:
        return target.index_put_((place,), inputs, True)

    before = theirs.clone()
    expected, actual = outcome(lambda: add(theirs, index, value)), outcome(lambda: add(ours, own, opdsl.tensor(1.0)))
    assert differences(ours, before if raised_alike(actual, expected) else theirs) == []
