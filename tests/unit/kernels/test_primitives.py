"""Tests of copying, casting, filling and storing results, with PyTorch as oracle."""

from __future__ import annotations

import math
from types import BuiltinFunctionType

import pytest
import torch
from hypothesis import given, settings, strategies

import opdsl
from opdsl.errors import DTypeError, KernelError, NumberError, OverlapError, ShapeError
from opdsl.kernels import cast, check_inplace, clone, copy_, fill_, new_tensor, resize, resize_output, write_out
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.primitives.products import product_loop
from opdsl.runtime import ALL_DTYPES, MemoryFormat, cpu, float32, meta, to_dtype
from opdsl.runtime.geometry import geometry
from opdsl.runtime.storage import version_of
from opdsl.runtime.viewing import make_view
from tests.unit.kernels.geometries import tensors
from tests.unit.kernels.operators import assert_same, ours, theirs

NAMES = [dtype.name for dtype in ALL_DTYPES]
VALUES = torch.tensor([0.0, 1.0, 2.0, 100.0, 1.5])


def sample(name):
    values = VALUES.to(getattr(torch, name))
    return values + 0.5j * VALUES if values.is_complex() else values


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_copies_between_all_dtypes(source, target):
    values = sample(source)
    out = torch.zeros(5, dtype=getattr(torch, target))
    assert_same(out.clone().copy_(values), copy_(ours(out), ours(values)))


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_one_dtype_keep_every_bit(name):
    dtype = getattr(torch, name)
    bits = torch.randint(0, 2 if name == "bool" else 256, (4, dtype.itemsize), dtype=torch.uint8)
    values = bits.view(dtype).reshape(-1)
    out = torch.zeros(4, dtype=dtype)
    copy_(ours(out), ours(values))
    assert torch.equal(out.reshape(-1, 1).view(torch.uint8), bits)


@settings(max_examples=100)
@given(strategies.data())
def test_copies_between_all_layouts(data):
    shape = tuple(data.draw(strategies.lists(strategies.integers(0, 4), max_size=4)))
    source = data.draw(tensors(shape, [torch.float32, torch.int16]))
    out = torch.zeros(shape[::-1]).permute(tuple(range(len(shape)))[::-1])
    assert_same(out.clone().copy_(source), copy_(ours(out), ours(source)))


@settings(max_examples=100)
@given(strategies.data())
def test_clones_and_casts_have_pytorchs_strides(data):
    shape = tuple(data.draw(strategies.lists(strategies.integers(0, 4), max_size=4)))
    source = data.draw(tensors(shape, [torch.float32]))
    assert_same(source.clone(), clone(ours(source)))
    assert_same(
        source.clone(memory_format=torch.contiguous_format), clone(ours(source), MemoryFormat.contiguous_format)
    )
    assert_same(source.to(torch.float64), cast(ours(source), to_dtype("float64")))


def test_a_copy_to_itself_is_allowed():
    x = ours(torch.arange(3.0))
    assert copy_(x, x).tolist() == [0, 1, 2]


def test_a_copy_within_a_tensor_is_not():
    base = ours(torch.arange(4.0))
    with pytest.raises(OverlapError):
        copy_(make_view(base, (3,), (1,), 0), make_view(base, (3,), (1,), 1))


def test_a_copy_needs_a_target_of_the_broadcast_shape():
    with pytest.raises(ShapeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
        copy_(ours(torch.zeros(3)), ours(torch.ones(2, 3)))


def test_copies_to_meta_do_nothing():
    target = new_tensor(geometry(float32, meta, (2,)))
    assert copy_(target, ours(torch.ones(2))) is target


# -------------------------------------------------------------------------------------------------------------- filling


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, 1, True, 2.5, 100])
def test_fills_are_pytorchs(name, value):
    out = torch.zeros(2, 3, dtype=getattr(torch, name)).t()
    assert_same(out.clone().fill_(value), fill_(ours(out), value))


def test_complex_fills():
    out = torch.zeros(3, dtype=torch.complex64)
    assert_same(out.clone().fill_(1 + 2j), fill_(ours(out), 1 + 2j))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uint8", 300),
        ("int32", 2**40),
        ("int32", float("nan")),
        ("int16", float("inf")),
        ("float32", 1e300),
        ("float16", 1e6),
        ("bfloat16", 1e39),
        ("float32", 1 + 2j),
        ("complex64", 1e300),
    ],
)
def test_fills_that_do_not_fit_raise_pytorchs_text(name, value):
    out = torch.zeros(2, dtype=getattr(torch, name))
    with pytest.raises(RuntimeError) as expected:
        out.fill_(value)
    with pytest.raises(NumberError) as actual:
        fill_(ours(out), value)
    assert str(actual.value) == str(expected.value).splitlines()[0]


@pytest.mark.parametrize(("name", "value"), [("uint8", -1), ("int32", 2.9), ("float32", float("inf")), ("bool", 7)])
def test_fills_that_fit(name, value):
    out = torch.zeros(2, dtype=getattr(torch, name))
    assert_same(out.clone().fill_(value), fill_(ours(out), value))


def test_expanded_tensors_are_filled():
    assert fill_(make_view(ours(torch.ones(1)), (3,), (0,)), 2).tolist() == [2, 2, 2]


# -------------------------------------------------------------------------------------------- storing, resizing, checks


def test_results_are_stored_in_out():
    out = ours(torch.zeros(0))
    assert write_out("f", out, ours(torch.ones(2, 2))) is out
    assert (out.tolist(), version_of(out)) == ([[1, 1], [1, 1]], 1)


def test_a_result_that_is_out_already_stays():
    out = ours(torch.ones(2))
    assert write_out("f", out, out) is out


def test_out_must_have_the_result_s_dtype():
    with pytest.raises(DTypeError, match="f: Expected out tensor to have dtype float, but got long int instead"):
        write_out("f", ours(torch.zeros(2, dtype=torch.int64)), ours(torch.ones(2)))


def test_resizing_keeps_memory_that_is_large_enough():
    x = ours(torch.arange(6.0))
    address = x.data_ptr()
    resize(x, (2, 2))
    assert (x.tolist(), x.data_ptr(), x.strides) == ([[0, 1], [2, 3]], address, (2, 1))


def test_resizing_takes_new_memory_otherwise():
    base = ours(torch.arange(6.0))
    view = make_view(base, (2,), (1,))
    resize(view, (7,))
    fill_(view, 7)
    assert (view.geometry.is_view, view._base, base.tolist()) == (False, None, [0, 1, 2, 3, 4, 5])


def test_a_view_grows_inside_of_its_storage():
    base, expected = ours(torch.arange(6.0)), torch.arange(6.0)
    view, wanted = make_view(base, (2,), (1,), 1), expected[1:3]
    resize(view, (2, 2))
    wanted.resize_(2, 2).fill_(7)
    fill_(view, 7)
    assert (view._base, base.tolist()) == (base, expected.tolist())


def test_a_tensor_that_shrank_grows_again_into_its_memory():
    shrunk = ours(torch.arange(6.0))
    resize(shrunk, (2,))
    resize(shrunk, (2, 3))
    assert shrunk.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_views_outlive_the_resizing_of_their_base():
    """Views keep the memory that their base had before it was resized, and views of them stay in its bounds."""
    base = ours(torch.arange(6.0))
    view = make_view(base, (3,), (2,), 1)
    resize(base, (100, 100))
    fill_(base, 7)
    again = make_view(view, (2,), (4,), view.storage_offset())
    assert (view.storage_offset(), view.tolist(), again.tolist()) == (1, [1, 3, 5], [1, 5])
    with pytest.raises(KernelError, match="leaves its storage"):
        make_view(view, (3,), (4,), 1)


def test_resize_output_says_whether_it_did():
    x = ours(torch.zeros(0))
    assert (resize_output(x, (2,)), resize_output(x, (2,))) == (True, False)


def test_resizing_meta_tensors():
    x = new_tensor(geometry(float32, meta, (2,)))
    resize(x, (10**6, 10**6))
    assert x.shape == (10**6, 10**6)


def test_inplace_results_must_fit():
    target = ours(torch.ones(2))
    check_inplace("f_", target, ours(torch.ones(2)))
    with pytest.raises(
        ShapeError, match=r"f_: Bad in-place call: input tensor size \[2\] and output tensor size \[3\]"
    ):
        check_inplace("f_", target, ours(torch.ones(3)))
    with pytest.raises(DTypeError, match="f_: Bad in-place call: input tensor dtype float and output tensor dtype int"):
        check_inplace("f_", target, ours(torch.ones(2, dtype=torch.int32)))


def test_new_tensors_have_their_geometry():
    form = geometry(float32, cpu, (2, 3), (1, 2))
    output = new_tensor(form)
    assert (output.geometry, output.array.strides, output._version, output._base) == (form, (4, 8), 0, None)
    assert theirs(output).stride() == (1, 2)


def test_a_product_with_a_vector_is_one_call_of_the_blas() -> None:
    matrix, vector, out = opdsl.empty(3, 4), opdsl.empty(4), opdsl.empty(3)
    assert type(product_loop(matrix.geometry, vector.geometry, out.geometry)) is BuiltinFunctionType


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_the_largest_number_of_a_dtype_is_one_of_its_numbers(name: str) -> None:
    largest, dtype = torch.finfo(getattr(torch, name)).max, getattr(opdsl, name)
    assert (convert(largest, dtype), convert(-largest, dtype)) == (largest, -largest)
    with pytest.raises(NumberError, match="without overflow"):
        convert(math.nextafter(largest, math.inf), dtype)


def test_copies_of_long_vectors_whose_elements_lie_far_apart():
    values = torch.arange(1 << 17, dtype=torch.float32)[::32]
    assert_same(values.clone(), clone(ours(values)))
