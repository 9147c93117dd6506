"""Tests of geometries: interning, and properties of shapes and strides, with PyTorch as oracle."""

from __future__ import annotations

import copy
import itertools
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opdsl.errors import DimensionError, InterchangeError, ShapeError
from opdsl.runtime import MemoryFormat, contiguous_strides, cpu, float32, geometry_of, meta, strides_for, wrap_dimension
from opdsl.runtime.geometry import geometry

FORMATS = {
    torch.contiguous_format: MemoryFormat.contiguous_format,
    torch.channels_last: MemoryFormat.channels_last,
    torch.channels_last_3d: MemoryFormat.channels_last_3d,
}


@st.composite
def strided(draw, ndims=(0, 5)):
    """Draw shapes and strides of all kinds: permuted, with gaps, overlapping, with sizes 0 and 1."""
    ndim = draw(st.integers(*ndims))
    shape = draw(st.lists(st.integers(0, 4), min_size=ndim, max_size=ndim))
    if draw(st.booleans()):
        return tuple(shape), tuple(draw(st.lists(st.integers(0, 12), min_size=ndim, max_size=ndim)))
    order = draw(st.permutations(range(ndim)))
    strides, step = [0] * ndim, 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1) + draw(st.sampled_from([0, 0, 0, 1]))
    return tuple(shape), tuple(strides)


def theirs(shape, strides):
    return torch.empty_strided(shape, strides, device="meta")


@given(strided())
def test_contiguity_is_pytorchs(sample):
    ours = geometry(float32, cpu, *sample)
    for their_format, our_format in FORMATS.items():
        expected = theirs(*sample).is_contiguous(memory_format=their_format)
        assert expected == ours.is_contiguous(our_format), our_format


@given(strided(ndims=(4, 5)))
def test_contiguity_of_images_is_pytorchs(sample):
    ours = geometry(float32, cpu, *sample)
    for their_format, our_format in FORMATS.items():
        expected = theirs(*sample).is_contiguous(memory_format=their_format)
        assert expected == ours.is_contiguous(our_format), our_format


@given(strided())
def test_density_is_pytorchs(sample):
    expected = torch.ops.aten.is_non_overlapping_and_dense(theirs(*sample))
    assert expected == geometry(float32, cpu, *sample).is_non_overlapping_and_dense()


@given(strided(ndims=(3, 5)))
def test_suggested_memory_format_is_pytorchs(sample):
    tensor = theirs(*sample)
    expected = FORMATS[torch._prims_common.suggest_memory_format(tensor)]
    assert expected is geometry(float32, cpu, *sample).suggested_memory_format()


@given(st.lists(st.integers(0, 4), max_size=5))
def test_contiguous_strides_are_pytorchs(shape):
    assert torch.empty(shape, device="meta").stride() == contiguous_strides(shape)


@pytest.mark.parametrize("shape", list(itertools.product((0, 1, 3), repeat=4)))
def test_channels_last_strides_are_pytorchs(shape):
    expected = torch.empty(shape, memory_format=torch.channels_last, device="meta").stride()
    assert expected == strides_for(shape, MemoryFormat.channels_last)


def test_channels_last_3d_strides_are_pytorchs():
    expected = torch.empty((2, 3, 4, 5, 6), memory_format=torch.channels_last_3d, device="meta").stride()
    assert expected == strides_for((2, 3, 4, 5, 6), MemoryFormat.channels_last_3d)


def test_channels_last_needs_four_dimensions():
    with pytest.raises(ShapeError, match="required rank 4 tensor to use channels_last format"):
        strides_for((2, 3), MemoryFormat.channels_last)


def test_preserve_format_is_no_order():
    with pytest.raises(ShapeError):
        strides_for((2, 3), MemoryFormat.preserve_format)


def test_equal_values_give_one_object():
    assert geometry(float32, cpu, (2, 3)) is geometry(float32, cpu, (2, 3), (3, 1))


@pytest.mark.parametrize("flag", ["requires_grad", "is_view", "read_only"])
def test_flags_make_another_object(flag):
    assert geometry(float32, cpu, (2,)) is not geometry(float32, cpu, (2,), **{flag: True})


def test_replace_keeps_the_rest():
    before = geometry(float32, cpu, (2, 3), is_view=True)
    assert before.replace(device=meta) is geometry(float32, meta, (2, 3), is_view=True)


def test_copies_are_the_same_object():
    form = geometry(float32, cpu, (2, 3), requires_grad=True)
    assert pickle.loads(pickle.dumps(form)) is copy.deepcopy(form) is copy.copy(form) is form


def test_geometries_nobody_refers_to_are_forgotten():
    form = weakref.ref(geometry(float32, cpu, (123, 7)))
    for size in range(1 << 14):
        geometry(float32, cpu, (size, 7))
    assert form() is None


def test_a_geometry_that_is_used_stays_the_same_object():
    form = geometry(float32, cpu, (123, 7))
    for size in range(1 << 14):
        geometry(float32, cpu, (size, 7))
    assert geometry(float32, cpu, (123, 7)) is form


def test_threads_get_the_same_object():
    shapes = [(size, 77) for size in range(200)]

    def make(_):
        return [geometry(float32, cpu, shape) for shape in shapes]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(make, range(8))
    assert all(one is another for other in others for one, another in zip(first, other, strict=True))


def test_geometry_of_an_array_has_its_strides_in_elements():
    array = numpy.zeros((4, 6), "f4")[::2, 1::3]
    assert (geometry_of(array, float32).shape, geometry_of(array, float32).strides) == ((2, 2), (12, 3))


def test_geometry_of_a_read_only_array_says_so():
    array = numpy.zeros(3, "f4")
    array.flags.writeable = False
    assert geometry_of(array, float32).read_only


def test_negative_strides_are_refused_with_the_fix():
    with pytest.raises(InterchangeError, match=r"numpy\.ascontiguousarray"):
        geometry_of(numpy.zeros(3, "f4")[::-1], float32)


def test_strides_between_elements_are_refused():
    records = numpy.zeros(3, [("a", "i1"), ("b", "f4")])
    with pytest.raises(InterchangeError, match="multiples of the itemsize"):
        geometry_of(records["b"], float32)


@pytest.mark.parametrize(("dim", "ndim"), [(0, 2), (-1, 2), (-2, 2), (0, 0), (-1, 0)])
def test_dimensions_wrap(dim, ndim):
    assert wrap_dimension(dim, ndim) == (dim % ndim if ndim else 0)


@pytest.mark.parametrize(("dim", "ndim"), [(2, 2), (-3, 2), (1, 0)])
def test_dimension_out_of_range_is_told_as_pytorch_does(dim, ndim):
    with pytest.raises(IndexError) as expected:
        torch.empty((1,) * ndim).sum(dim)
    with pytest.raises(DimensionError) as actual:
        wrap_dimension(dim, ndim)
    assert str(expected.value) == str(actual.value)
