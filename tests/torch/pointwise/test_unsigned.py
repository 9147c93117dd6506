"""Tests of unsigned integers of 16, 32 and 64 bits, compared with PyTorch, or with NumPy where PyTorch has no
kernels.
"""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import opdsl
from opdsl import testing
from opdsl.errors import ConversionError, DTypeError, NumberError
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.runtime.dtype import Category

FULL = "OPDSL_TEST_FULL" in os.environ
UNSIGNED = (opdsl.uint16, opdsl.uint32, opdsl.uint64)
each_dtype = pytest.mark.parametrize("dtype", UNSIGNED, ids=str)


def edges(dtype: DType) -> tuple[opdsl.Tensor, opdsl.Tensor]:
    """Return all pairs of small and large numbers, the second one not 0."""
    most = opdsl.iinfo(dtype).max
    numbers = [0, 1, 2, 3, 7, most // 2, most // 2 + 1, most - 1, most]
    first, second = np.meshgrid(np.array(numbers, dtype.name), np.array(numbers[1:], dtype.name))
    return opdsl.tensor(first), opdsl.tensor(second)


@each_dtype
def test_conversions_are_pytorchs(dtype: DType) -> None:
    mine = edges(dtype)[0]
    theirs = torch.from_numpy(mine.numpy())
    for other in ALL_DTYPES:
        expected = theirs.to(getattr(torch, other.name))
        assert testing.assert_close(opdsl.from_dlpack(expected), mine.to(other), rtol=0, atol=0) is None
        # Values that do not fit depend on the machine, as in PyTorch.
        back = mine.to(other) if other.category is not Category.FLOAT else opdsl.tensor([0.0, 2.5, 60000.0]).to(other)
        assert back.to(dtype).tolist() == torch.from_dlpack(back).to(getattr(torch, dtype.name)).tolist()


@each_dtype
def test_floats_beyond_the_largest(dtype: DType) -> None:
    numbers = [-1.5, 3e9, 1.8e19, 2.0**63, 2.0**64, 1e30, -0.5]
    for name in ("float32", "float64"):
        expected = torch.tensor(numbers, dtype=getattr(torch, name)).to(getattr(torch, dtype.name))
        assert opdsl.tensor(numbers, dtype=name).to(dtype).tolist() == expected.tolist()


BY_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "maximum": np.maximum,
    "lt": np.less,
    "ge": np.greater_equal,
    "eq": np.equal,
    "bitwise_xor": np.bitwise_xor,
    "gcd": np.gcd,
}


@each_dtype
def test_arithmetic_and_comparisons(dtype: DType) -> None:
    x, y = edges(dtype)
    for name, function in BY_NUMPY.items():
        result = getattr(opdsl, name)(x, y)
        np.testing.assert_array_equal(result.numpy(), function(x.numpy(), y.numpy()), strict=True, err_msg=name)
        try:
            theirs = getattr(torch, name)(torch.from_numpy(x.numpy()), torch.from_numpy(y.numpy()))
        except NotImplementedError:
            continue
        np.testing.assert_array_equal(result.numpy(), theirs.numpy(), strict=True, err_msg=name)


@each_dtype
def test_reductions_and_order(dtype: DType) -> None:
    x = edges(dtype)[0]
    array = x.numpy()
    theirs = torch.from_numpy(array)
    np.testing.assert_array_equal(x.sum().numpy(), theirs.sum().numpy(), strict=True)
    np.testing.assert_array_equal(x.prod(0).numpy(), theirs.prod(0).numpy(), strict=True)
    np.testing.assert_array_equal(x.cumsum(1).numpy(), theirs.cumsum(1).numpy(), strict=True)
    np.testing.assert_array_equal(x.amax(0).numpy(), array.max(0), strict=True)
    assert x.argmin(1).tolist() == array.argmin(1).tolist()
    np.testing.assert_array_equal(x.sort(1, descending=True).values.numpy(), np.sort(array, 1)[:, ::-1], strict=True)
    np.testing.assert_array_equal(opdsl.unique(x).numpy(), theirs.unique().numpy(), strict=True)


@each_dtype
def test_numbers_up_to_the_largest(dtype: DType) -> None:
    """Numbers up to the largest are exact, also in repeated calls, whose plans pass numbers to machine code."""
    most = opdsl.iinfo(dtype).max
    for number in (most, 1, most - 1, most // 2 + 1, 0, most):
        assert opdsl.full((2,), number, dtype=dtype).tolist() == [number] * 2
        assert opdsl.zeros(2, dtype=dtype).fill_(number).tolist() == [number] * 2
        x = opdsl.tensor([1, most], dtype=dtype)
        assert (x * number).tolist() == [number, most * number % (most + 1)]
        assert (x ^ number).tolist() == [1 ^ number, most ^ number]
        assert (x == number).tolist() == [number == 1, number == most]
    assert opdsl.full((2,), -1, dtype=dtype).tolist() == [most] * 2
    with pytest.raises(NumberError, match=f"{dtype.name}_t without overflow"):
        opdsl.full((2,), most + 1, dtype=dtype)


def test_data_of_64_bits() -> None:
    assert opdsl.tensor([(1 << 64) - 1, 0], dtype="uint64").tolist() == [(1 << 64) - 1, 0]
    for number in (-1, 1 << 64):
        with pytest.raises(ConversionError):
            opdsl.tensor([number], dtype=opdsl.uint64)
    assert opdsl.tensor([-1], dtype=opdsl.uint16).item() == torch.tensor([-1], dtype=torch.uint16).item()


@each_dtype
def test_they_promote_to_floats_alone(dtype: DType) -> None:
    x = opdsl.ones(2, dtype=dtype)
    for other in (dtype for dtype in ALL_DTYPES if not dtype.is_stored_only):
        if other.is_floating_point or other is dtype:
            assert (x + opdsl.ones(2, dtype=other)).dtype is other
        else:
            with pytest.raises(DTypeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
                x + opdsl.ones(2, dtype=other)
    assert [(x * 2).dtype, (x / x).dtype, (x * 2.5).dtype] == [dtype, opdsl.float32, opdsl.float32]


@each_dtype
def test_unsigned_tensors_are_pickled_copied_and_shared(dtype: DType) -> None:
    x = edges(dtype)[0]
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), opdsl.from_dlpack(x), opdsl.from_numpy(x.numpy())):
        assert other.dtype is dtype
        assert other.tolist() == x.tolist()
    assert opdsl.from_dlpack(torch.from_dlpack(x)).data_ptr() == x.data_ptr()
    assert str(opdsl.tensor([1], dtype=dtype)) == f"tensor([1], dtype=opdsl.{dtype.name})"


@pytest.mark.skipif(not FULL, reason="takes long: OPDSL_TEST_FULL=1")
@each_dtype
def test_every_pointwise_operator_and_reduction_is_pytorchs_where_it_computes(dtype: DType) -> None:
    wrong = []
    for packet in list(opdsl.registry.packets.values()):
        for operator in packet.overloads.values():
            if "pointwise" in operator.tags or "reduction" in operator.tags:
                wrong += _differences(operator, dtype)
    assert wrong == []


def _differences(operator: Any, dtype: DType) -> list[str]:
    from opdsl.testing.samples import samples_of

    theirs = getattr(
        getattr(torch.ops.aten, operator.schema.name.base, None), operator.schema.name.overload or "default", None
    )
    if theirs is None or operator.schema.kind.value != "functional":
        return []
    differences = []
    for sample in samples_of(operator, dtype):
        try:
            expected = theirs(*map(_to_torch, sample.positional), **{k: _to_torch(v) for k, v in sample.named.items()})
        except (NotImplementedError, RuntimeError, TypeError):
            continue
        actual = sample.call(packet_function(operator))
        if isinstance(expected, torch.Tensor) and not np.array_equal(expected.numpy(), actual.numpy(), equal_nan=True):
            differences.append(f"{operator.name} {sample}: {actual} instead of {expected}")
    return differences


def packet_function(operator: Any) -> Any:
    return opdsl.registry.packets[operator.packet_name].operator_function(operator)


def _to_torch(value: Any) -> Any:
    if isinstance(value, opdsl.Tensor):
        return torch.from_dlpack(value)
    if isinstance(value, DType):
        return getattr(torch, value.name)
    return type(value)(map(_to_torch, value)) if isinstance(value, (list, tuple)) else value
