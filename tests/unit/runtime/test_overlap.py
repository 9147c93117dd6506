"""Tests of checks for overlapping memory: they are exact, and at least as strict as PyTorch's."""

from __future__ import annotations

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opdsl.errors import OverlapError, ReadOnlyError
from opdsl.runtime import (
    Overlap,
    cpu,
    float32,
    has_internal_overlap,
    make_view,
    require_no_overlap,
    require_no_partial_overlap,
    require_writable,
    share_storage,
    wrap,
)
from opdsl.runtime.geometry import geometry
from opdsl.runtime.interchange import tensor
from opdsl.runtime.overlap import overlap, relation_of


@st.composite
def strided(draw):
    ndim = draw(st.integers(0, 3))
    shape = draw(st.lists(st.integers(0, 4), min_size=ndim, max_size=ndim))
    strides = draw(st.lists(st.integers(0, 9), min_size=ndim, max_size=ndim))
    return tuple(shape), tuple(strides)


def places(shape, strides, offset=0):
    """Return the offset of each element in row-major order."""
    return [
        offset + sum(index * stride for index, stride in zip(indices, strides, strict=True))
        for indices in numpy.ndindex(*shape)
    ]


@given(strided())
def test_internal_overlap_is_exact(sample):
    result = places(*sample)
    assert (len(set(result)) < len(result)) == has_internal_overlap(geometry(float32, cpu, *sample))


def test_internal_overlap_of_a_huge_expanded_tensor_is_found():
    assert has_internal_overlap(geometry(float32, cpu, (1 << 40, 1 << 20), (0, 1)))


def test_internal_overlap_of_huge_windows_is_found():
    assert has_internal_overlap(geometry(float32, cpu, (1 << 20, 16), (1, 1)))


def test_a_huge_transposed_tensor_has_no_internal_overlap():
    assert not has_internal_overlap(geometry(float32, cpu, (1 << 20, 1 << 20), (1, (1 << 20) + 3)))


@given(strided(), st.integers(0, 9), strided(), st.integers(0, 9))
def test_overlap_is_exact(first, offset, second, other_offset):
    base = wrap(numpy.zeros(128, "f4"), float32)
    one, other = make_view(base, *first, offset), make_view(base, *second, other_offset)
    result, other_found = places(*first, offset), places(*second, other_offset)
    actual = overlap(one, other)
    if not set(result) & set(other_found):
        assert actual is Overlap.NONE
    elif first == second and offset == other_offset:
        assert actual is Overlap.FULL
    else:
        assert actual is Overlap.PARTIAL


@given(strided(), strided(), st.integers(-20, 20), st.booleans())
def test_the_relation_of_layouts_is_exact(first, second, ahead, is_same):
    second = first if is_same else second
    own, others = places(*first), places(*second, ahead)
    relation = relation_of(4 * ahead, *first, 4, *second, 4)
    assert (relation is Overlap.NONE) == (not set(own) & set(others)) or (relation is Overlap.FULL and own == others)


def test_a_tensor_overlaps_itself_fully(ours):
    mine = ours(torch.zeros(3))
    assert overlap(mine, mine) is Overlap.FULL


def test_other_memory_does_not_overlap(ours):
    assert overlap(ours(torch.zeros(3)), ours(torch.zeros(3))) is Overlap.NONE


def test_interleaved_tensors_do_not_overlap(ours):
    base = ours(torch.zeros(6))
    assert overlap(make_view(base, (3,), (2,), 0), make_view(base, (3,), (2,), 1)) is Overlap.NONE


def test_two_tensors_over_one_array_overlap():
    array = numpy.zeros(4, "f4")
    first, second = wrap(array[:3], float32), wrap(array[1:], float32)
    assert (overlap(first, second), share_storage(first, second)) == (Overlap.PARTIAL, False)


def test_views_share_the_storage(ours):
    base = ours(torch.zeros(6))
    assert share_storage(make_view(base, (3,), (2,), 0), make_view(base, (3,), (2,), 1))


META = {
    "full": ((3,), (1,), 2, Overlap.FULL),
    "partial": ((3,), (1,), 3, Overlap.PARTIAL),
    "apart": ((2,), (1,), 5, Overlap.NONE),
    "gaps": ((2,), (2,), 1, Overlap.UNKNOWN),
}


@pytest.mark.parametrize(("shape", "strides", "offset", "expected"), META.values(), ids=META)
def test_meta_tensors_overlap_by_their_offsets(shape, strides, offset, expected):
    base = tensor(list(range(8)), device="meta")
    assert expected is overlap(make_view(base, (3,), (1,), 2), make_view(base, shape, strides, offset))


def test_nothing_overlaps_what_has_no_elements_or_lives_elsewhere():
    base = tensor(list(range(8)), device="meta")
    assert overlap(make_view(base, (0,), (1,), 2), make_view(base, (0,), (1,), 2)) is Overlap.NONE
    assert overlap(tensor([1.0]), base) is Overlap.NONE


# -------------------------------------------------------------------------------------------- requirements


def test_a_tensor_over_a_read_only_array_is_not_written():
    array = numpy.zeros(2, "f4")
    array.flags.writeable = False
    with pytest.raises(ReadOnlyError, match=r"add_: .* read-only array .* tensor\.clone\(\)"):
        require_writable(wrap(array, float32), "add_")


def test_an_expanded_tensor_is_not_written_with_pytorchs_words(ours):
    with pytest.raises(RuntimeError) as expected:
        torch.zeros(1).expand(3).add_(1)
    with pytest.raises(OverlapError) as actual:
        require_writable(make_view(ours(torch.zeros(1)), (3,), (0,)), "add_")
    assert f"add_: {str(expected.value).splitlines()[0]}" == str(actual.value)


def test_partial_overlap_is_refused_with_pytorchs_words(ours):
    theirs = torch.zeros(4)
    with pytest.raises(RuntimeError) as expected:
        torch.add(theirs[:3], 1, out=theirs[1:])
    mine = ours(theirs)
    with pytest.raises(OverlapError) as actual:
        require_no_partial_overlap(make_view(mine, (3,), (1,), 1), make_view(mine, (3,), (1,), 0), "add")
    assert f"add: {str(expected.value).splitlines()[0]}" == str(actual.value)


def test_full_overlap_is_no_partial_overlap(ours):
    mine = ours(torch.zeros(4))
    assert require_no_partial_overlap(mine, mine, "add") is None


def test_full_overlap_is_an_overlap(ours):
    mine = ours(torch.zeros(4))
    with pytest.raises(OverlapError):
        require_no_overlap(mine, mine, "cumsum")
