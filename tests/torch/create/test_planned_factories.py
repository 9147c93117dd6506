"""Tests that repeated calls of factories and copies, with and without a plan, agree with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl.dispatch import Operator
from tests.torch.twins import DTYPES, Twins, assert_agree, differences, of
from tests.torch.values import layouts, ordinary

pytestmark = pytest.mark.usefixtures("plans_at_once")

COMPLEX = (torch.complex64, torch.complex128)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX], ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones", "zeros_like", "ones_like", "empty", "empty_like"])
def test_new_tensors(name: str, dtype: torch.dtype) -> None:
    for shape in ((2, 3), (), (0, 2), (2, 3)):
        pattern = torch.ones(shape) if name.endswith("_like") else shape
        expected = getattr(torch, name)(pattern, dtype=dtype)
        for _ in range(3):
            actual = getattr(opdsl, name)(
                of(pattern) if isinstance(pattern, torch.Tensor) else pattern, dtype=of(dtype)
            )
            assert (actual.shape, actual.stride(), actual.dtype) == (shape, expected.stride(), of(dtype))
            if not name.startswith("empty"):
                assert differences(actual, expected) == []


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "channels_last", "sliced", "expanded"])
@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: x.clone(),
        lambda lib, x: x.clone(memory_format=lib.contiguous_format),
        lambda lib, x: x.contiguous(),
        lambda lib, x: x.to(lib.float64),
        lambda lib, x: x.to(lib.int8),
        lambda lib, x: x.to(lib.bfloat16),
        lambda lib, x: x.to(lib.bool),
        lambda lib, x: x.to(lib.complex64),
        lambda lib, x: x.reshape(-1),
        lambda lib, x: lib.zeros_like(x),
        lambda lib, x: lib.ones_like(x, dtype=lib.int16),
    ],
)
def test_copies_of_every_layout(call: Callable[[Any, Any], Any], layout: str) -> None:
    x = layouts()[layout]
    expected = call(torch, x)
    for _ in range(3):
        assert_agree(call(opdsl, Twins().of(x)), expected)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX], ids=str)
def test_clones_of_every_dtype(dtype: torch.dtype) -> None:
    x = ordinary(dtype, (3, 4))
    for _ in range(3):
        assert_agree(of(x).clone(), x.clone())


def test_clones_keep_the_bits_of_nan() -> None:
    bits = torch.tensor([0x7FC00001, 0x7F800001, -0x003FFFFF], dtype=torch.int32)
    x = of(bits).view(opdsl.float32)
    for _ in range(3):
        assert x.clone().view(opdsl.int32).tolist() == bits.tolist()


@pytest.mark.parametrize("make", [lambda: opdsl.zeros(3), lambda: opdsl.full((3,), 0.0), lambda: opdsl.ones(3).mul(0)])
def test_each_call_makes_a_tensor_of_its_own(make: Callable[[], Any]) -> None:
    kept = [make() for _ in range(4)]
    kept[1].add_(1)
    assert [tensor.tolist() for tensor in kept] == [[0.0] * 3, [1.0] * 3, [0.0] * 3, [0.0] * 3]


def test_a_clone_is_no_view() -> None:
    x = opdsl.ones(3)
    for _ in range(3):
        x.clone().add_(1)
    assert x.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    "number", [1.5, -0.0, float("nan"), float("inf"), 3e38, 2, -(2**63), 2**63 - 1, True, 1 + 2j, 1.5]
)
def test_fill_values_of_every_kind(number: complex) -> None:
    for _ in range(3):
        assert differences(opdsl.full((2,), number), torch.full((2,), number)) == []


@pytest.mark.parametrize("number", [1e39, 2**63, -(2**63) - 1])
def test_fill_values_that_fit_no_more_after_some_that_did(number: float) -> None:
    fits = type(number)(1)
    for _ in range(2):
        assert opdsl.full((2,), fits).tolist() == [fits, fits]
    with pytest.raises((RuntimeError, OverflowError)) as first:
        opdsl.full((2,), number)
    with pytest.raises((RuntimeError, OverflowError)):
        torch.full((2,), number)
    with pytest.raises(type(first.value)) as second:
        opdsl.full((2,), number)
    assert str(first.value) == str(second.value)


def test_the_default_dtype_belongs_to_the_plan() -> None:
    for dtype in (opdsl.float32, opdsl.float64, opdsl.float32):
        opdsl.set_default_dtype(dtype)
        try:
            assert [opdsl.zeros(2).dtype, opdsl.empty(2).dtype, opdsl.full((2,), 0.5).dtype] == [dtype] * 3
        finally:
            opdsl.set_default_dtype(opdsl.float32)


def test_gradients_are_asked_for_each_time() -> None:
    for wanted in (False, True, False, True):
        assert opdsl.zeros(2, requires_grad=wanted).requires_grad is wanted


def test_meta_tensors_take_no_memory() -> None:
    for _ in range(3):
        assert opdsl.zeros(10**9, 10**6, device="meta").shape == (10**9, 10**6)
        assert opdsl.empty(10**9, device="meta").clone().is_meta


def test_factories_get_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(2, 3)
    calls = (
        lambda: opdsl.zeros(2, 3),
        lambda: opdsl.full((2,), 0.5),
        lambda: x.clone(),
        lambda: opdsl.empty_like(x),
        lambda: x.t().reshape(6),
    )
    for _ in range(4):  # factories get plans of their forms when calls are repeated
        expected = [call() for call in calls]
    monkeypatch.setattr(Operator, "find", None)
    assert [call().shape for call in calls] == [tensor.shape for tensor in expected]


def test_recorders_see_planned_and_unplanned_calls_alike() -> None:
    seen: list[list[str]] = []
    for _ in range(3):
        names: list[str] = []
        with opdsl.record_calls(lambda operator, *_, names=names: names.append(operator.__name__)):
            opdsl.zeros(2, 3)
        seen.append(names)
    assert seen[0] == seen[1] == seen[2]
