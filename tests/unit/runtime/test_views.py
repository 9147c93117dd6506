"""Tests of views: every rule and every error text against PyTorch."""

from __future__ import annotations

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.plans.lowered import Given, lower_call
from opdsl.errors import KernelError, OpdslError
from opdsl.runtime import (
    View,
    bfloat16,
    complex64,
    float32,
    float64,
    int16,
    make_view,
    to_dtype,
    view_of,
    views,
    wrap,
)
from opdsl.runtime.interchange import from_numpy, tensor
from opdsl.runtime.symbol import NotLoweredError

pytestmark = pytest.mark.usefixtures("plans_at_once")

SMALL = st.integers(-6, 6)


@st.composite
def based(draw):
    """Draw a PyTorch view of a storage of 64 float32 elements, with the opdsl view of the same memory."""
    storage = torch.arange(64.0)
    ndim = draw(st.integers(0, 4))
    shape = draw(st.lists(st.sampled_from([0, 1, 1, 2, 2, 3]), min_size=ndim, max_size=ndim))
    if draw(st.booleans()):
        strides = draw(st.lists(st.integers(0, 5), min_size=ndim, max_size=ndim))
    else:
        order, step, strides = draw(st.permutations(range(ndim))), 1, [0] * ndim
        for dim in order:
            strides[dim] = step
            step *= shape[dim] or 1
    offset = draw(st.integers(0, 9))
    if views.required_storage(shape, strides, offset) > 64:
        strides = [0] * ndim
    theirs = storage.as_strided(shape, strides, offset)
    ours = make_view(wrap(storage.numpy(), float32), tuple(shape), tuple(strides), offset)
    return theirs, ours


def outcome(function):
    """Return the geometry and elements of a result, or its kind of error with the text."""
    try:
        result = function()
    except (RuntimeError, IndexError, OpdslError) as error:
        kind = IndexError if isinstance(error, IndexError) else RuntimeError
        return kind, str(error).split("\n")[0]
    return tuple(result.shape), tuple(result.stride()), result.storage_offset(), result.tolist()


def same(pair, theirs, ours):
    """Check that a view of a pair of tensors has the same outcome in PyTorch and opdsl."""
    their_tensor, our_tensor = pair
    expected = outcome(lambda: theirs(their_tensor))
    actual = outcome(lambda: make_view(our_tensor, *ours(view_of(our_tensor))))
    assert expected == actual


@given(based(), st.lists(st.integers(-2, 6), max_size=5))
def test_view(pair, shape):
    same(pair, lambda x: x.view(shape), lambda source: views.view(source, shape))


@given(based(), st.permutations([2, 3, 1, 4, 1]), st.integers(0, 5))
def test_view_of_the_same_number_of_elements(pair, sizes, known):
    shape = [*sizes[:known], -1]
    same(pair, lambda x: x.view(shape), lambda source: views.view(source, shape))


@given(based(), st.permutations([2, 3, 1, 4, 1]), st.integers(0, 5))
def test_reshape_copies_when_pytorch_does(pair, sizes, known):
    theirs, ours = pair
    shape = [*sizes[:known], -1]
    expected = outcome(lambda: theirs.reshape(shape))
    try:
        inferred, view = views.reshape(view_of(ours), shape)
    except OpdslError as error:
        assert expected == (RuntimeError, str(error))
        return
    if theirs.reshape(shape).untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr():
        assert expected == outcome(lambda: make_view(ours, *view))
    else:
        assert (expected[0], None) == (inferred, view)


@given(based(), SMALL, SMALL)
def test_transpose(pair, dim0, dim1):
    same(pair, lambda x: x.transpose(dim0, dim1), lambda source: views.transpose(source, dim0, dim1))


@given(based())
def test_t(pair):
    same(pair, lambda x: x.t(), views.t)


@given(based(), st.data())
def test_permute(pair, data):
    dims = data.draw(st.permutations(range(pair[0].dim())) | st.lists(SMALL, max_size=4))
    same(pair, lambda x: x.permute(dims), lambda source: views.permute(source, dims))


@given(based(), SMALL, SMALL, SMALL)
def test_narrow(pair, dim, start, length):
    same(pair, lambda x: x.narrow(dim, start, length), lambda source: views.narrow(source, dim, start, length))


@given(based(), SMALL, SMALL)
def test_select(pair, dim, index):
    same(pair, lambda x: x.select(dim, index), lambda source: views.select(source, dim, index))


@given(based(), SMALL, st.none() | SMALL, st.none() | SMALL, SMALL)
def test_slice(pair, dim, start, end, step):
    same(
        pair,
        lambda x: torch.ops.aten.slice.Tensor(x, dim, start, end, step),
        lambda source: views.slice(source, dim, start, end, step),
    )


@given(based(), SMALL, SMALL, SMALL)
def test_diagonal(pair, offset, dim1, dim2):
    same(pair, lambda x: x.diagonal(offset, dim1, dim2), lambda source: views.diagonal(source, offset, dim1, dim2))


@given(based(), SMALL, SMALL, SMALL)
def test_unfold(pair, dim, size, step):
    same(pair, lambda x: x.unfold(dim, size, step), lambda source: views.unfold(source, dim, size, step))


@given(based(), st.data())
def test_expand(pair, data):
    kept = [data.draw(st.sampled_from([size, -1, 3])) for size in pair[0].shape]
    size = data.draw(st.lists(st.integers(0, 3), max_size=2)) + kept
    same(pair, lambda x: x.expand(size), lambda source: views.expand(source, size))


EXPAND_ERRORS = [((2, 2), [3]), ((2, 2), [3, 2]), ((2, 2), [-1, 2, 2]), ((2, 2), [2, -2]), ((0, 3), [2, 3])]


@pytest.mark.parametrize(("shape", "size"), EXPAND_ERRORS)
def test_expand_errors(shape, size, ours):
    theirs = torch.zeros(shape)
    same((theirs, ours(theirs)), lambda x: x.expand(size), lambda source: views.expand(source, size))


@given(based(), st.none() | SMALL | st.lists(st.integers(-4, 3), max_size=3))
def test_squeeze(pair, dims):
    same(
        pair,
        lambda x: x.squeeze() if dims is None else x.squeeze(dims),
        lambda source: views.squeeze(source, dims),
    )


@given(based(), SMALL)
def test_unsqueeze(pair, dim):
    same(pair, lambda x: x.unsqueeze(dim), lambda source: views.unsqueeze(source, dim))


@given(
    based(),
    st.lists(st.integers(0, 5), max_size=3),
    st.lists(st.integers(-1, 12), max_size=3),
    st.integers(-1, 70),
)
def test_as_strided(pair, shape, strides, offset):
    same(
        pair,
        lambda x: x.as_strided(shape, strides, offset),
        lambda source: views.as_strided(shape, strides, offset, 256, 4),
    )


@given(based(), st.sampled_from([torch.int16, torch.float64, torch.int32, torch.complex128, torch.bool]))
def test_view_as_dtype(pair, dtype):
    theirs, ours = pair
    target = to_dtype(str(dtype))

    def viewed():
        return make_view(ours, *views.view_as_dtype(view_of(ours), float32, target), dtype=target)

    expected, actual = outcome(lambda: theirs.view(dtype)), outcome(viewed)
    assert expected[:3] == actual[:3]
    if len(expected) == 4 and dtype is not torch.bool:
        assert repr(expected[3]) == repr(actual[3])


# ------------------------------------------------------------------------------------------- tensors that are views


def test_a_view_shares_memory(ours):
    base = ours(torch.zeros(2, 3))
    view = make_view(base, *views.t(view_of(base)))
    view.array[2, 1] = 7
    assert base.tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 7.0]]


def test_a_view_knows_its_root(ours):
    base = ours(torch.zeros(2, 3))
    view = make_view(make_view(base, (3,), (1,)), (1,), (1,))
    assert view._base is base and view.geometry.is_view


def test_a_view_keeps_the_memory_alive():
    view = make_view(tensor([1.0, 2.0, 3.0, 4.0]), (2,), (2,), 1)
    assert view.tolist() == [2.0, 4.0]


def test_a_view_of_a_read_only_tensor_is_read_only():
    array = numpy.zeros(4, "f4")
    array.flags.writeable = False
    view = make_view(wrap(array, float32), (2,), (1,), 1)
    assert view.geometry.read_only and not view.array.flags.writeable


def test_a_view_of_part_of_an_array_with_gaps():
    base = wrap(numpy.arange(20, dtype="f4").reshape(4, 5)[::2, 1:4], float32)
    assert make_view(base, *views.t(View((2, 2), (10, 1), 1))).tolist() == [[2.0, 12.0], [3.0, 13.0]]


def test_a_view_may_leave_its_view_but_not_the_storage(ours):
    base = ours(torch.arange(6.0))
    narrow = make_view(base, (2,), (1,), 2)
    assert base.tolist() == make_view(narrow, (6,), (1,), 0).tolist()


@pytest.mark.parametrize(("shape", "offset"), [((7,), 0), ((2,), 5), ((1,), -1)])
def test_a_view_never_leaves_the_storage(shape, offset, ours):
    with pytest.raises(KernelError, match="leaves its storage of 24 bytes"):
        make_view(ours(torch.arange(6.0)), shape, (1,), offset)


def test_a_view_as_another_dtype(ours):
    view = make_view(
        ours(torch.tensor([1.0, 2.0])), *views.view_as_dtype(View((2,), (1,)), float32, bfloat16), bfloat16
    )
    assert view.tolist() == [0.0, 1.0, 0.0, 2.0]


def test_complex_as_real(ours):
    view = make_view(ours(torch.tensor([1 + 2j])), (1, 2), (2, 1), 0, float32)
    assert view.tolist() == [[1.0, 2.0]]


def test_a_view_of_a_meta_tensor_has_an_offset():
    base = tensor([[1.0, 2.0], [3.0, 4.0]], device="meta")
    view = make_view(base, *views.select(view_of(base), 0, 1))
    assert (view.storage_offset(), make_view(view, *views.select(view_of(view), 0, 1)).storage_offset()) == (2, 3)


def view_plan(tensor, view):
    """Return the plan that makes a view of every tensor of one geometry."""
    offset = view.offset - tensor.storage_offset()

    def run(inputs, _):
        (source,) = inputs
        return make_view(source, view.shape, view.strides, source.storage_offset() + offset)

    return lower_call("view", run, run, ["x"], [Given("x", None, tensor, {Kind.TENSOR})], [])[0]


@given(based(), st.data())
def test_a_plan_makes_the_same_view(pair, data):
    _, ours = pair
    source = view_of(ours)
    candidates = [views.squeeze(source), views.unsqueeze(source, 0), source]
    if source.shape:
        order = data.draw(st.permutations(range(len(source.shape))))
        candidates += [views.permute(source, order), views.slice(source, 0, 1), views.slice(source, -1, 0, None, 2)]
        if 0 not in source.shape:
            candidates += [views.select(source, -1, -1)]
    _, reshaped = views.reshape(source, [*source.shape[::-1]])
    view = data.draw(st.sampled_from([candidate for candidate in [*candidates, reshaped] if candidate is not None]))
    planned, output = view_plan(ours, view)(ours), make_view(ours, *view)
    assert (output.geometry, output.tolist(), output._base) == (planned.geometry, planned.tolist(), planned._base)
    assert output.geometry.numel == 0 or output.data_ptr() == planned.data_ptr()


def test_a_plan_of_another_tensor_shares_its_memory(ours):
    plan = view_plan(ours(torch.zeros(2, 3)), View((3, 2), (1, 3)))
    other = ours(torch.arange(6.0).view(2, 3))
    assert numpy.shares_memory(plan(other).array, other.array)


def test_a_plan_of_a_read_only_tensor_is_read_only():
    array = numpy.zeros((2, 3), numpy.float32)
    array.flags.writeable = False
    source = from_numpy(array)
    assert not view_plan(source, View((3, 2), (1, 3)))(source).array.flags.writeable


def test_a_view_that_leaves_its_tensor_has_no_plan(ours):
    part = make_view(ours(torch.arange(6.0)), (2,), (1,), 2)
    for leaving in (View((3,), (1,), 2), View((2,), (1,), 1)):
        with pytest.raises(NotLoweredError):
            view_plan(part, leaving)


def test_storage_of_other_dtypes_counts_in_their_elements(ours):
    base = ours(torch.zeros(8, dtype=torch.float64))
    view = make_view(base, (2,), (1,), 6, int16)
    assert (view.storage_offset(), make_view(view, (1,), (1,), 1, float64).storage_offset()) == (6, 1)


def test_complex64_view_of_floats(ours):
    source = View((2,), (1,), 2)
    view = make_view(ours(torch.arange(4.0)), *views.view_as_dtype(source, float32, complex64), dtype=complex64)
    assert view.tolist() == [2 + 3j]
