"""Tests of exchange with NumPy and DLPack: memory is shared where possible, and errors elsewhere say how to copy."""

from __future__ import annotations

import array as arrays
import math
import subprocess
import sys

import ml_dtypes
import numpy
import pytest
import torch

import opdsl
from opdsl.errors import ConversionError, DeviceError, DTypeError, InterchangeError
from opdsl.runtime import (
    ALL_DTYPES,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    int32,
    uint8,
)
from opdsl.runtime.interchange import tensor

each_dtype = pytest.mark.parametrize("dtype", ALL_DTYPES, ids=repr)


def sample(dtype):
    """Return a transposed PyTorch tensor of a dtype."""
    return torch.arange(6, dtype=torch.float64).view(2, 3).t().to(getattr(torch, dtype.name))


# ---------------------------------------------------------------------------------------------------- NumPy


@pytest.mark.parametrize("code", ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_from_numpy_is_pytorchs(code):
    array = numpy.arange(6).reshape(2, 3).astype(code).T
    theirs, mine = torch.from_numpy(array), from_numpy(array)
    expected = (str(theirs.dtype), theirs.stride(), theirs.data_ptr(), theirs.tolist())
    assert expected == (f"torch.{mine.dtype.name}", mine.stride(), mine.data_ptr(), mine.tolist())


def test_from_numpy_shares_memory():
    array = numpy.zeros(2, "f4")
    mine = from_numpy(array)
    array[1] = 5
    assert mine.tolist() == [0.0, 5.0]


def test_from_numpy_takes_ml_dtypes_bfloat16():
    array = numpy.array([1.5, -2.0], ml_dtypes.bfloat16)
    mine = from_numpy(array)
    assert (bfloat16, [1.5, -2.0]) == (mine.dtype, mine.tolist()) and numpy.shares_memory(mine.array, array)


def test_from_numpy_keeps_no_subclass():
    masked = numpy.ma.array([1.0, 2.0], mask=[True, False])
    assert type(from_numpy(masked).array) is numpy.ndarray


def read_only():
    array = numpy.zeros(2)
    array.flags.writeable = False
    return array


def test_from_numpy_marks_what_must_not_be_written():
    assert from_numpy(read_only()).geometry.read_only


def test_numpy_of_a_read_only_tensor_is_read_only():
    assert not from_numpy(read_only()).numpy().flags.writeable


REFUSED = {
    "negative strides": (lambda: numpy.zeros(3)[::-1], r"numpy\.ascontiguousarray"),
    "byte order": (lambda: numpy.zeros(3, ">f4"), r"array\.astype\('[<=]f4'\)"),
    "objects": (lambda: numpy.array([None]), "type object"),
    "strings": (lambda: numpy.array(["a"]), "type <U1"),
    "long double": (lambda: numpy.zeros(3, "longdouble"), r"array\.astype"),
    "records": (lambda: numpy.zeros(3, [("a", "f4")]), "can't convert"),
    "between elements": (lambda: numpy.zeros(3, [("a", "i1"), ("b", "f4")])["b"], r"numpy\.ascontiguousarray"),
    "no array": (lambda: [1], r"expected np.ndarray \(got list\)"),
    "scalar": (lambda: numpy.float64(1), r"expected np.ndarray \(got float64\)"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_from_numpy_refuses(make, message):
    with pytest.raises(InterchangeError, match=message):
        from_numpy(make())


@each_dtype
def test_numpy_gives_the_memory(dtype, ours):
    mine = ours(sample(dtype))
    assert numpy.shares_memory(mine.numpy(), mine.array)


@each_dtype
def test_numpy_gives_the_values(dtype, ours):
    theirs = sample(dtype)
    assert theirs.tolist() == ours(theirs).numpy().tolist()


def test_numpy_of_bfloat16_is_ml_dtypes(ours):
    assert ours(sample(bfloat16)).numpy().dtype == ml_dtypes.bfloat16


def test_numpy_of_bfloat16_without_ml_dtypes(ours, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(InterchangeError, match="pip install ml_dtypes"):
        ours(sample(bfloat16)).numpy()


def test_numpy_of_meta_is_refused_with_pytorchs_words():
    with pytest.raises(TypeError) as expected:
        torch.empty(2, device="meta").numpy()
    with pytest.raises(InterchangeError) as actual:
        tensor([1.0], device="meta").numpy()
    assert str(expected.value) == str(actual.value)


def test_asarray_shares_memory(ours):
    mine = ours(torch.zeros(3))
    assert numpy.shares_memory(numpy.asarray(mine), mine.array)


def test_asarray_with_another_dtype(ours):
    assert numpy.asarray(ours(torch.tensor([1.5])), dtype="f8").dtype == numpy.float64


def test_array_copies(ours):
    mine = ours(torch.zeros(3))
    assert not numpy.shares_memory(numpy.array(mine), mine.array)


def test_array_that_must_not_copy_but_has_to(ours):
    with pytest.raises(ValueError, match="copy=False"):
        numpy.array(ours(torch.zeros(3)), dtype="f8", copy=False)


# --------------------------------------------------------------------------------------------------- DLPack


@each_dtype
def test_pytorch_takes_our_memory(dtype, ours):
    mine = ours(sample(dtype).clone())
    theirs = torch.from_dlpack(mine)
    assert (f"torch.{dtype.name}", mine.stride(), mine.data_ptr()) == (
        str(theirs.dtype),
        theirs.stride(),
        theirs.data_ptr(),
    )


@each_dtype
def test_we_take_pytorchs_memory(dtype):
    theirs = sample(dtype)
    mine = from_dlpack(theirs)
    assert (dtype, theirs.stride(), theirs.data_ptr()) == (mine.dtype, mine.stride(), mine.data_ptr())


@each_dtype
def test_there_and_back(dtype):
    theirs = sample(dtype)
    back = torch.from_dlpack(from_dlpack(theirs))
    assert torch.equal(theirs, back) and theirs.data_ptr() == back.data_ptr()


@each_dtype
def test_capsules_without_a_version(dtype):
    theirs = sample(dtype)
    mine = from_dlpack(theirs.__dlpack__())
    assert (dtype, theirs.tolist(), False) == (mine.dtype, mine.tolist(), mine.geometry.read_only)


class Old:
    """DLPack producer from before version 1.0."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return torch.utils.dlpack.to_dlpack(self.tensor)

    def __dlpack_device__(self):
        return (1, 0)


def test_old_producers_may_be_written():
    theirs = torch.zeros(2)
    mine = from_dlpack(Old(theirs))
    mine.array[0] = 3
    assert theirs.tolist() == [3.0, 0.0]


def test_memory_lives_as_long_as_the_tensor():
    mine = from_dlpack(torch.tensor([1.0, 2.0]))
    assert mine.tolist() == [1.0, 2.0]


def test_our_memory_lives_as_long_as_pytorchs_tensor():
    theirs = torch.from_dlpack(tensor([1.0, 2.0]))
    assert theirs.tolist() == [1.0, 2.0]


def test_from_dlpack_of_our_own(ours):
    mine = ours(torch.zeros(2, dtype=torch.bfloat16))
    taken = from_dlpack(mine)
    assert (bfloat16, mine.data_ptr()) == (taken.dtype, taken.data_ptr())


def test_numpy_takes_our_memory_by_dlpack(ours):
    mine = ours(torch.zeros(2))
    assert numpy.shares_memory(numpy.from_dlpack(mine), mine.array)


def test_dlpack_device(ours):
    assert ours(torch.zeros(2)).__dlpack_device__() == (1, 0)


def test_dlpack_copy(ours):
    mine = ours(torch.zeros(2))
    theirs = torch.from_dlpack(mine.__dlpack__(copy=True))
    assert theirs.data_ptr() != mine.data_ptr()


def test_read_only_memory_needs_a_new_consumer():
    with pytest.raises(BufferError, match="copy=True"):
        from_numpy(read_only()).__dlpack__()


def test_read_only_memory_stays_read_only():
    assert from_dlpack(from_numpy(read_only())).geometry.read_only


def test_dlpack_of_meta():
    with pytest.raises(InterchangeError, match="no device 'meta'"):
        tensor([1.0], device="meta").__dlpack_device__()


def test_dlpack_to_another_device(ours):
    with pytest.raises(InterchangeError, match=r"dl_device=\(2, 0\)"):
        ours(torch.zeros(2)).__dlpack__(dl_device=(2, 0))


def test_a_capsule_is_used_once():
    capsule = torch.zeros(2).__dlpack__()
    from_dlpack(capsule)
    with pytest.raises(InterchangeError, match="no unused DLPack capsule"):
        from_dlpack(capsule)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2fnuz, torch.float8_e8m0fnu], ids=str)
def test_dtypes_that_are_not_here(dtype):
    with pytest.raises(InterchangeError, match="from_dlpack cannot take"):
        from_dlpack(torch.zeros(2, dtype=torch.uint8).to(dtype))


def test_from_dlpack_of_something_else():
    with pytest.raises(InterchangeError, match=r"got list"):
        from_dlpack([1])


@pytest.mark.parametrize(
    "source", [torch.zeros(2, requires_grad=True), torch.zeros(2, device="meta")], ids=["requires grad", "meta"]
)
def test_what_pytorch_does_not_share(source):
    with pytest.raises(InterchangeError, match="Tensor does not share its memory"):
        from_dlpack(source)


def test_from_dlpack_of_another_kind_of_device():
    class Elsewhere(Old):
        def __dlpack_device__(self):
            return (8, 0)

    with pytest.raises(InterchangeError, match="device type 8"):
        from_dlpack(Elsewhere(torch.zeros(2)))


# --------------------------------------------------------------------------------------------------- tensor()

DATA = {
    "int": 3,
    "negative": -3,
    "float": 2.5,
    "bool": True,
    "complex": 1 + 2j,
    "nan": math.nan,
    "no data": [],
    "no columns": [[], []],
    "ints": [1, 2],
    "tuple": (1, 2),
    "range": range(3),
    "mixed": [1, 2.5],
    "bool and int": [True, 2],
    "bool and float": [True, 2.5],
    "complex and int": [1j, 2],
    "nested": [[[1], [2]], [[3], [4]]],
    "tuples in lists": [(1, 2), [3, 4]],
    "float32 scalar": numpy.float32(1),
    "int16 scalar": numpy.int16(1),
    "bool scalar": numpy.bool_(True),
    "scalars": [numpy.float32(1), 2],
    "scalars and floats": [numpy.float32(1), 2.0],
    "doubles": [numpy.float64(1), 2],
    "small scalars": [numpy.int8(1), numpy.int16(2)],
    "complex scalars": [numpy.complex64(1j)],
    "array": numpy.ones((2, 3), "f2"),
    "transposed array": numpy.ones((2, 3)).T,
    "array with gaps": numpy.arange(12).reshape(3, 4)[::2, ::2],
    "rows": [numpy.ones(2, "f4"), numpy.zeros(2, "f4")],
    "overflowing float": 1e40,
    "largest": 2**63 - 1,
    "bytes in memory": bytearray(b"ab"),
    "array module": arrays.array("d", [1.0, 2.0]),
}


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_tensor_is_pytorchs(data):
    theirs, mine = torch.tensor(data), tensor(data)
    expected = (f"opdsl.{str(theirs.dtype)[6:]}", theirs.stride(), repr(theirs.tolist()))
    assert expected == (repr(mine.dtype), mine.stride(), repr(mine.tolist()))


CASTS = {
    "float to int": (1.5, "int32"),
    "negative float to int": (-1.5, "int32"),
    "float to half": (65520.0, "float16"),
    "overflow to half": (70000.0, "float16"),
    "double rounding to half": (1.0 + 2**-11 + 2**-40, "float16"),
    "to bfloat16": ([1.0039, 3.4e38, math.nan, -math.inf], "bfloat16"),
    "overflow to float": (1e40, "float32"),
    "float to bool": ([0.5, 0.0, math.nan], "bool"),
    "int to complex": ([1, 2], "complex64"),
    "negative to uint8": ([-1, -255], "uint8"),
    "int to float": (2**24 + 1, "float32"),
    "array": (numpy.array([1.5, -2.5]), "int8"),
    "array to bfloat16": (numpy.array([1.00390625, 1.01171875, 1e-40]), "bfloat16"),
    "no data": ([], "int16"),
}


@pytest.mark.parametrize(("data", "name"), CASTS.values(), ids=CASTS)
def test_tensor_of_a_dtype_is_pytorchs(data, name):
    theirs = torch.tensor(data, dtype=getattr(torch, name))
    mine = tensor(data, dtype=next(dtype for dtype in ALL_DTYPES if dtype.name == name))
    assert repr(theirs.tolist()) == repr(mine.tolist())


ERRORS = {
    "ragged": [[1, 2], [3]],
    "number among sequences": [[1, 2], 3],
    "sequence among numbers": [1, [2]],
    "text": "a",
    "texts": ["a"],
    "bytes": b"a",
    "none": None,
    "none inside": [None],
    "dictionary": {1: 2},
    "iterator": iter([1]),
    "too large": 2**63,
    "far too large": [2**64],
}


@pytest.mark.parametrize("data", ERRORS.values(), ids=ERRORS)
def test_tensor_refuses_what_pytorch_refuses(data):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as expected:
        torch.tensor(data)
    with pytest.raises(ConversionError) as actual:
        tensor(data)
    assert isinstance(actual.value, expected.type)


@pytest.mark.parametrize(("data", "dtype"), [(300, uint8), (math.nan, int32), (1j, float32), (10**400, float64)])
def test_numbers_that_do_not_fit(data, dtype):
    with pytest.raises(ConversionError):
        tensor(data, dtype)


def test_ragged_data_is_told_as_pytorch_does():
    with pytest.raises(ValueError, match="expected sequence") as expected:
        torch.tensor([[1, 2], [3]])
    with pytest.raises(ConversionError) as actual:
        tensor([[1, 2], [3]])
    assert str(expected.value) == str(actual.value)


def test_data_that_contains_itself():
    data = []
    data.append(data)
    with pytest.raises(ConversionError, match="64 deep"):
        tensor(data)


def test_tensors_inside_data(ours):
    assert (float64, [1.0, 2.0]) == (
        (output := tensor([ours(torch.tensor(1)), ours(torch.tensor([2.0], dtype=torch.float64))])).dtype,
        output.tolist(),
    )


def test_rows_that_are_tensors_are_refused_as_in_pytorch(ours):
    with pytest.raises(ValueError, match="only one element tensors") as expected:
        torch.tensor([torch.ones(2), torch.ones(2)])
    with pytest.raises(ConversionError, match=str(expected.value)):
        tensor([ours(torch.ones(2)), ours(torch.ones(2))])


def test_default_dtype():
    assert (float64, float16) == (tensor(1.0, default_dtype=float64).dtype, tensor([], default_dtype=float16).dtype)


@pytest.mark.parametrize("make", [lambda a: a, from_numpy, torch.from_numpy], ids=["numpy", "opdsl", "torch"])
def test_tensor_copies(make):
    array = numpy.zeros(2)
    mine = tensor(make(array))
    array[0] = 1
    assert mine.tolist() == [0.0, 0.0]


def test_tensor_of_pytorchs_bfloat16():
    assert (bfloat16, [1.5]) == ((output := tensor(torch.tensor([1.5], dtype=torch.bfloat16))).dtype, output.tolist())


def test_tensor_keeps_strides_without_gaps(ours):
    theirs = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert theirs.clone().stride() == tensor(ours(theirs)).stride()


def test_tensor_takes_other_byte_orders_and_negative_strides():
    assert tensor(numpy.array([1, 2, 3], ">f4")[::-1]).tolist() == [3.0, 2.0, 1.0]


def test_tensor_on_meta_has_no_memory():
    assert not hasattr(tensor([1.0], device="meta"), "array")


def test_tensor_on_a_device_that_is_not_there():
    with pytest.raises(DeviceError):
        tensor([1.0], device="tpu")


def test_tensor_with_a_dtype_that_is_none():
    with pytest.raises(DTypeError):
        tensor([1.0], dtype="float8")


def test_tensor_with_the_name_of_a_dtype():
    assert tensor([1], dtype="bool").dtype is bool_


# --------------------------------------------------------------------------------------------------- imports


def test_runtime_imports_nothing_heavy():
    code = (
        "import sys, numpy; before = set(sys.modules); import opdsl.runtime; "
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} & "
        "{'ml_dtypes', 'torch', 'numba', 'llvmlite', 'typing_extensions', 'inspect', 'importlib.metadata'}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_numpy_refuses_what_requires_grad_where_autograd_follows_as_in_pytorch():
    values = opdsl.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    for value, package in zip(values, (opdsl, torch), strict=True):
        with pytest.raises(RuntimeError, match="requires grad"):
            value.numpy()
        with pytest.raises(RuntimeError, match="requires grad"):
            numpy.asarray(value)
        with package.no_grad():
            assert value.numpy().tolist() == numpy.asarray(value).tolist() == [1.0, 2.0]
            with package.enable_grad(), pytest.raises(RuntimeError, match="requires grad"):
                value.numpy()


def test_a_capsule_of_bfloat16_that_is_refused_is_left_as_it_was() -> None:
    capsule = torch.utils.dlpack.to_dlpack(torch.ones([1] * 65, dtype=torch.bfloat16))  # NumPy has 64 dimensions
    with pytest.raises(InterchangeError, match="NumPy refuses it"):
        opdsl.from_dlpack(capsule)
    assert torch.utils.dlpack.from_dlpack(capsule).dtype is torch.bfloat16
