"""Tests of tensors without operators, with PyTorch's as oracle."""

from __future__ import annotations

import copy
import operator
import pickle
import sys
import typing
import weakref

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import ConversionError, DimensionError, DuplicateOperatorError, RequiresGradError, ShapeError
from opdsl.runtime import (
    CPUTensor,
    CUDATensor,
    Device,
    MemoryFormat,
    Tensor,
    bump_version,
    float32,
    install_method,
    make_view,
    remove_method,
    storage_root,
    version_of,
)
from opdsl.runtime.interchange import tensor
from opdsl.runtime.names import names_of, set_names

SAMPLES = {
    "matrix": torch.arange(6.0).view(2, 3),
    "transposed": torch.arange(24, dtype=torch.int16).view(2, 3, 4).transpose(0, 2),
    "number": torch.tensor(2.5, dtype=torch.float64),
    "one element": torch.tensor([[7]]),
    "empty": torch.empty(0, 3),
    "bool": torch.tensor([True, False]),
    "complex": torch.tensor([1 + 2j, -3j]),
    "half": torch.tensor([0.1, 65504.0], dtype=torch.float16),
    "bfloat16": torch.tensor([0.1, 3e38, float("nan")], dtype=torch.bfloat16),
    "image": torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last),
}

PROPERTIES = [
    "ndim",
    "itemsize",
    "nbytes",
    "requires_grad",
    "is_cpu",
    "is_cuda",
    "is_meta",
    "is_sparse",
    "is_quantized",
]
METHODS = [
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "size",
    "stride",
    "element_size",
    "get_device",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "storage_offset",
    "_is_view",
]

each_sample = pytest.mark.parametrize("theirs", SAMPLES.values(), ids=SAMPLES)


def base_less(theirs):
    """Return a copy of a sample with the same strides that is no view of another tensor."""
    return torch.empty_strided(theirs.shape, theirs.stride(), dtype=theirs.dtype).copy_(theirs)


@pytest.fixture
def meta_tensor():
    return tensor([1.0, 2.0], device="meta")


# ------------------------------------------------------------------------------------------- properties


@each_sample
@pytest.mark.parametrize("name", PROPERTIES)
def test_property_is_pytorchs(theirs, name, ours):
    assert getattr(theirs, name) == getattr(ours(theirs), name)


@each_sample
@pytest.mark.parametrize("name", METHODS)
def test_method_is_pytorchs(theirs, name, ours):
    theirs = base_less(theirs)
    assert getattr(theirs, name)() == getattr(ours(theirs), name)()


@each_sample
def test_shape_is_pytorchs(theirs, ours):
    assert tuple(theirs.shape) == ours(theirs).shape


@each_sample
def test_address_is_pytorchs(theirs, ours):
    assert theirs.data_ptr() == ours(theirs).data_ptr()


@each_sample
def test_device_and_layout_print_like_pytorchs(theirs, ours):
    mine = ours(theirs)
    assert (repr(theirs.device), "opdsl.strided") == (repr(mine.device), repr(mine.layout))


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_one_size_and_stride(dim, ours):
    theirs = SAMPLES["matrix"]
    assert (theirs.size(dim), theirs.stride(dim)) == (ours(theirs).size(dim), ours(theirs).stride(dim))


@pytest.mark.parametrize("name", ["size", "stride"])
@pytest.mark.parametrize(("sample", "dim"), [("matrix", 2), ("matrix", -3), ("number", 0)])
def test_dimension_that_is_not_there(name, sample, dim, ours):
    theirs = SAMPLES[sample]
    with pytest.raises(IndexError) as expected:
        getattr(theirs, name)(dim)
    with pytest.raises(DimensionError) as actual:
        getattr(ours(theirs), name)(dim)
    assert str(expected.value) == str(actual.value)


def test_memory_format_of_an_image(ours):
    assert ours(SAMPLES["image"]).is_contiguous(memory_format=MemoryFormat.channels_last)


def test_storage_offset_of_a_view_is_pytorchs(ours):
    theirs = torch.arange(12.0)
    mine = make_view(make_view(ours(theirs), (4,), (2,), 3), (2,), (1,), 5)
    assert (5, theirs[5:].data_ptr()) == (mine.storage_offset(), mine.data_ptr())


# --------------------------------------------------------------------------------------- Python values


@each_sample
def test_tolist_is_pytorchs(theirs, ours):
    assert repr(theirs.tolist()) == repr(ours(theirs).tolist())


@pytest.mark.parametrize("value", [True, -3, 2.5, 1 + 2j, float("nan")])
def test_item_is_pytorchs(value, ours):
    theirs = torch.tensor([[value]])
    actual = ours(theirs).item()
    assert (type(theirs.item()), repr(theirs.item())) == (type(actual), repr(actual))


CONVERSIONS = {
    "item": lambda x: x.item(),
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "len": len,
    "format": lambda x: f"{x:.3f}",
}
VALUES = {
    "one": torch.tensor([3]),
    "zero": torch.tensor(0),
    "true": torch.tensor(True),
    "fraction": torch.tensor(2.5),
    "brain": torch.tensor(2.5, dtype=torch.bfloat16),
    "real complex": torch.tensor(2 + 0j),
    "complex": torch.tensor(2j),
    "nan": torch.tensor(float("nan")),
    "infinity": torch.tensor(float("inf")),
    "two": torch.tensor([1, 2]),
    "none": torch.tensor([]),
}


def outcome(function, value):
    """Return the result of a conversion, or the exception that it raises."""
    try:
        return function(value)
    except Exception as error:
        return error


@pytest.mark.parametrize("function", CONVERSIONS.values(), ids=CONVERSIONS)
@pytest.mark.parametrize("theirs", VALUES.values(), ids=VALUES)
def test_conversion_is_pytorchs(function, theirs, ours):
    expected, actual = outcome(function, theirs), outcome(function, ours(theirs))
    if isinstance(expected, Exception):
        assert isinstance(actual, type(expected))
    else:
        assert repr(expected) == repr(actual)


@pytest.mark.parametrize("conversion", ["item", "bool", "int", "float", "complex", "index"])
def test_meta_tensors_have_no_value(conversion):
    with pytest.raises(ConversionError, match="meta"):
        CONVERSIONS[conversion](tensor(1, device="meta"))


def test_meta_tensors_have_no_list(meta_tensor):
    with pytest.raises(RuntimeError, match="no data"):
        meta_tensor.tolist()


def test_hash_is_identity(ours):
    one, other = ours(SAMPLES["matrix"]), ours(SAMPLES["matrix"])
    assert {one: 1, other: 2} == {one: 1, other: 2} and len({one, other}) == 2


def test_weak_references(ours):
    mine = ours(SAMPLES["matrix"])
    assert weakref.ref(mine)() is mine


def test_no_other_attributes(ours):
    with pytest.raises(AttributeError):
        ours(SAMPLES["matrix"]).something = 1


# -------------------------------------------------------------------------------------------- versions


def test_a_view_counts_writes_in_its_base(ours):
    base = ours(torch.zeros(4))
    view = make_view(make_view(base, (2,), (1,)), (1,), (1,))
    bump_version(view)
    assert (version_of(base), version_of(view)) == (1, 1)


def test_root_of_a_view_of_a_view(ours):
    base = ours(torch.zeros(4))
    assert storage_root(make_view(make_view(base, (2,), (1,)), (1,), (1,))) is base


# ------------------------------------------------------------------------------------------- copies


@each_sample
def test_deepcopy_has_its_own_memory(theirs, ours):
    mine = ours(theirs)
    copied = copy.deepcopy(mine)
    assert repr(mine) == repr(copied) and not numpy.shares_memory(mine.array, copied.array)


@each_sample
def test_deepcopy_keeps_strides(theirs, ours):
    assert theirs.stride() == copy.deepcopy(ours(theirs)).stride()


@each_sample
def test_pickle(theirs, ours):
    mine = ours(theirs)
    loaded = pickle.loads(pickle.dumps(mine))
    assert (repr(mine), mine.geometry) == (repr(loaded), loaded.geometry)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1],
        lambda x: x.t(),
        lambda x: x[:, ::2],
        lambda x: x.view(opdsl.int32),
        lambda x: x[1:1],
        lambda x: x[0].expand(2, 3),
        lambda x: x.detach(),
        lambda x: x[1][1:],
    ],
)
def test_pickled_views_share_memory_with_what_they_are_pickled_with(view):
    x = opdsl.arange(6.0).reshape(2, 3).t().contiguous().t()  # dense, but not contiguous
    y = view(x)
    loaded, viewed = pickle.loads(pickle.dumps((x, y)))
    assert (viewed.tolist(), viewed.stride(), viewed.dtype) == (y.tolist(), y.stride(), y.dtype)
    offset = y.data_ptr() - x.data_ptr()
    assert viewed.numel() == 0 or viewed.data_ptr() - loaded.data_ptr() == offset
    loaded.zero_()
    assert viewed.numel() == 0 or not any(viewed.reshape(-1).tolist())
    assert version_of(viewed) == version_of(loaded) == 1


def test_a_pickled_view_that_requires_grad_is_a_leaf():
    x = opdsl.ones(2, 3, requires_grad=True)
    loaded, viewed = pickle.loads(pickle.dumps((x, x[0])))
    assert (loaded.requires_grad, viewed.requires_grad, viewed.is_leaf) == (True, True, True)
    (viewed * 2.0).sum().backward()
    assert (viewed.grad.tolist(), loaded.grad) == ([2.0] * 3, None)


def test_deepcopy_of_an_expanded_tensor_is_contiguous(ours):
    mine = make_view(ours(torch.arange(3.0)), (2, 3), (0, 1))
    copied = copy.deepcopy(mine)
    assert ((3, 1), mine.tolist()) == (copied.stride(), copied.tolist())


def test_deepcopy_of_one_tensor_twice_is_one_tensor(ours):
    mine = ours(SAMPLES["matrix"])
    first, second = copy.deepcopy([mine, mine])
    assert first is second


def test_copy_shares_memory_and_versions(ours):
    mine = ours(torch.zeros(2))
    copied = copy.copy(mine)
    bump_version(copied)
    assert (mine.data_ptr(), 1) == (copied.data_ptr(), version_of(mine))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_meta_tensors(how, meta_tensor):
    copied = how(meta_tensor)
    assert ((2,), True, float32) == (copied.shape, copied.is_meta, copied.dtype)


# ------------------------------------------------------------------------------------------- typing, methods


def test_dimensions_may_have_names(ours):
    mine = ours(torch.zeros(2, 3, 4))
    set_names(mine, ("rows", None, None))
    assert names_of(mine) == ("rows", None, None)
    with pytest.raises(ShapeError, match="duplicate"):
        set_names(mine, ("rows", None, "rows"))
    set_names(mine, (None, None, None))
    assert names_of(mine) == (None, None, None)


def test_subscript_is_annotated():
    assert typing.Annotated[Tensor, "a"] == Tensor["a"]


def test_refinements_ask_for_the_device(ours, meta_tensor):
    mine = ours(SAMPLES["matrix"])
    assert [
        isinstance(mine, CPUTensor),
        isinstance(mine, CUDATensor),
        isinstance(meta_tensor, CPUTensor),
    ] == [True, False, False]


@pytest.fixture
def method():
    install_method("doubled", lambda self: [2 * number for number in self.tolist()])
    yield
    remove_method("doubled")


def test_installed_method_is_called(method, ours):
    assert ours(torch.tensor([1.0, 2.0])).doubled() == [2.0, 4.0]


def test_removed_method_is_gone(ours):
    install_method("doubled", lambda self: None)
    remove_method("doubled")
    assert not hasattr(ours(torch.zeros(1)), "doubled")


@pytest.mark.parametrize("name", ["doubled", "size", "shape", "array", "backward", "requires_grad_"])
def test_taken_name_is_refused(name, method):
    with pytest.raises(DuplicateOperatorError, match=rf"Tensor\.{name} is taken"):
        install_method(name, lambda self: None)


def test_installed_method_can_be_replaced(method, ours):
    install_method("doubled", lambda self: "other", replace=True)
    assert ours(torch.zeros(1)).doubled() == "other"


@pytest.fixture
def methods(monkeypatch):
    """Restore the methods that a test installs on Tensor."""
    for name in ("__eq__", "__radd__"):
        present = vars(Tensor).get(name)
        monkeypatch.setattr(Tensor, name, present, raising=False)
    module = sys.modules[install_method.__module__]
    monkeypatch.setattr(module, "_INSTALLED", dict(vars(module)["_INSTALLED"]))


def test_equality_can_be_installed_and_hash_stays(methods, ours):
    mine = ours(torch.zeros(1))
    install_method("__eq__", lambda self, other: "compared", replace=True)
    try:
        assert (mine == 1, hash(mine)) == ("compared", object.__hash__(mine))
    finally:
        remove_method("__eq__")


def test_numpy_arrays_leave_arithmetic_to_the_tensor(methods, ours):
    install_method("__radd__", lambda self, other: "ours", replace=True)
    try:
        assert numpy.ones(2) + ours(torch.zeros(2)) == "ours"
    finally:
        remove_method("__radd__")


def test_gradients_are_not_lost_silently(ours):
    mine = ours(torch.zeros(2))
    mine.requires_grad_()
    with pytest.raises(RequiresGradError, match="requires grad"):
        mine.numpy()


def test_device_of_an_index():
    mine = Tensor()
    mine.geometry = tensor([1], device="meta").geometry.replace(device=Device("cuda:1"))
    assert mine.get_device() == 1


def test_the_address_is_numpys() -> None:
    array = numpy.arange(6.0).reshape(2, 3)
    x = opdsl.from_numpy(array)
    assert x.data_ptr() == array.ctypes.data
    assert x[1:, 1].data_ptr() == array[1:, 1].ctypes.data
    assert (opdsl.empty(0).data_ptr(), x[:, :0].data_ptr(), opdsl.empty(3, device="meta").data_ptr()) == (0, 0, 0)


def test_a_tensor_that_shows_less_of_its_memory_has_an_offset() -> None:
    x = opdsl.arange(10)
    x.as_strided_((2,), (3,), 4)
    assert (x.storage_offset(), x.tolist()) == (4, [4, 7])
