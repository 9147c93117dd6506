"""Tests of dtypes, with PyTorch's as oracle."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy
import pytest
import torch

from opdsl.errors import DTypeError
from opdsl.runtime import dtype as dtypes
from opdsl.runtime.dtype import ALIASES, ALL_DTYPES, DType, to_dtype

each_dtype = pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)


def torch_dtype(dtype: DType) -> torch.dtype:
    return getattr(torch, dtype.name)


@each_dtype
def test_properties_are_pytorchs(dtype):
    theirs = torch_dtype(dtype)
    expected = (theirs.itemsize, theirs.is_floating_point, theirs.is_complex, theirs.is_signed)
    assert expected == (dtype.itemsize, dtype.is_floating_point, dtype.is_complex, dtype.is_signed)


@each_dtype
def test_storage_is_numpys_of_the_same_size(dtype):
    assert dtype.numpy.itemsize == dtype.itemsize


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL_DTYPES if not dtype.is_encoded], ids=repr)
def test_numpy_storage_is_what_pytorch_hands_out(dtype):
    assert torch.empty(0, dtype=torch_dtype(dtype)).numpy().dtype == dtype.numpy


@each_dtype
def test_repr(dtype):
    assert str(torch_dtype(dtype)).replace("torch.", "opdsl.") == repr(dtype)


@each_dtype
def test_real_type_is_pytorchs(dtype):
    assert str(torch_dtype(dtype).to_real()) == f"torch.{dtype.to_real().name}"


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64", "complex64", "complex128"])
def test_complex_type_is_pytorchs(name):
    assert str(getattr(torch, name).to_complex()) == f"torch.{to_dtype(name).to_complex().name}"


@pytest.mark.parametrize("name", ["bool", "int64", "float16"])
def test_complex_type_that_is_not_there(name):
    with pytest.raises(DTypeError, match="has no complex type"):
        to_dtype(name).to_complex()


@each_dtype
def test_pickle_and_copy_give_the_same_object(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is copy.copy(dtype) is dtype


def test_dtypes_cannot_be_changed():
    with pytest.raises(AttributeError):
        dtypes.float32.itemsize = 8


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_aliases_are_pytorchs(name):
    assert str(getattr(torch, name)) == f"torch.{to_dtype(name).name}"


@each_dtype
def test_schema_names_are_torchgens_and_pytorchs(dtype):
    assert getattr(torch, dtype.schema_name) is torch_dtype(dtype)


@pytest.mark.parametrize("kind", [bool, int, float, complex])
def test_python_types_mean_what_they_mean_to_pytorch(kind):
    assert str(torch.empty(0, dtype=kind).dtype) == f"torch.{to_dtype(kind).name}"


@pytest.mark.parametrize("value", ["opdsl.float32", "torch.float32", "float", numpy.dtype("f4"), numpy.float32])
def test_spellings_of_float32(value):
    assert to_dtype(value) is dtypes.float32


def test_ml_dtypes_bfloat16_is_bfloat16():
    assert to_dtype(numpy.dtype(ml_dtypes.bfloat16)) is dtypes.bfloat16


@pytest.mark.parametrize("value", ["float8", numpy.dtype("m8[s]"), numpy.dtype(">f4"), numpy.dtype("O"), str, 3, None])
def test_no_such_dtype(value):
    with pytest.raises(DTypeError, match="Use one of: bool, uint8"):
        to_dtype(value)
