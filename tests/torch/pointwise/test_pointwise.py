"""Tests of pointwise operators, compared with PyTorch's: values, dtypes, shapes and strides."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings

import opdsl
from tests.torch.twins import DTYPES, FLOATING, INTEGERS, agree, agree_or_fail, of
from tests.torch.values import broadcastable, layouts, ordinary, special, strided

UNARY = ("neg", "exp", "log", "tanh", "sigmoid", "relu", "reciprocal")
ARITHMETIC = ("add", "sub", "mul", "div", "maximum")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ROUNDINGS = ("floor", "trunc")

# Functions whose last bits differ between libraries, with units in the last place of float32 and float64.
LOOSE = {"exp": 2, "log": 2, "tanh": 3, "sigmoid": 3}


def tolerance(name: str, dtype: torch.dtype) -> float | None:
    if name not in LOOSE:
        return 0.0 if name != "div" else None
    return LOOSE[name] * torch.finfo(dtype).eps if dtype.is_floating_point else None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_values(name: str, dtype: torch.dtype) -> None:
    values = torch.cat((special(dtype), ordinary(dtype, (50,))))
    agree_or_fail(lambda lib, x: getattr(lib, name)(x), values, tolerance=tolerance(name, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", (*ARITHMETIC, *COMPARISONS))
def test_binary_values(name: str, dtype: torch.dtype) -> None:
    values = special(dtype)
    agree_or_fail(lambda lib, x, y: getattr(lib, name)(x, y), values[:, None], values, tolerance=tolerance(name, dtype))


@pytest.mark.parametrize("dtype", (*INTEGERS, *FLOATING), ids=str)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rounded_division(rounding: str, dtype: torch.dtype) -> None:
    numerators, divisors = special(dtype), special(dtype)
    if not dtype.is_floating_point:
        divisors = divisors[divisors != 0]
        numerators = numerators[numerators != torch.iinfo(dtype).min]  # its quotient by -1 is undefined in C
    # PyTorch rounds 16-bit operands once more before it computes a floor.
    slack = torch.finfo(dtype).eps if dtype in (torch.float16, torch.bfloat16) else 0.0
    agree(lambda lib, x, y: lib.div(x, y, rounding_mode=rounding), numerators[:, None], divisors, tolerance=slack)


DIVISIONS: dict[str, Any] = {
    "floor": lambda lib, x, y: lib.div(x, y, rounding_mode="floor"),
    "trunc": lambda lib, x, y: lib.div(x, y, rounding_mode="trunc"),
    "floor_divide": lambda lib, x, y: lib.floor_divide(x, y),
    "fmod": lambda lib, x, y: lib.fmod(x, y),
    "remainder": lambda lib, x, y: lib.remainder(x, y),
}


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", DIVISIONS)
def test_an_integer_zero_among_the_divisors_raises(name: str, dtype: torch.dtype) -> None:
    x, zeros = torch.tensor([[7, 2, 3]], dtype=dtype), torch.tensor([[3, 0, 2], [1, 1, 1]], dtype=dtype)
    agree_or_fail(DIVISIONS[name], x.repeat(2, 1), zeros)
    agree_or_fail(DIVISIONS[name], x, 0)
    agree_or_fail(DIVISIONS[name], x, False)
    agree_or_fail(DIVISIONS[name], x, 256)  # which is 0 in 8 bits


@pytest.mark.parametrize("name", DIVISIONS)
def test_nothing_is_divided_where_there_are_no_elements(name: str) -> None:
    agree_or_fail(DIVISIONS[name], torch.zeros(0, 1, dtype=torch.int32), torch.zeros(1, 3, dtype=torch.int32))


def test_a_zero_is_found_by_a_plan_too() -> None:
    x, y = of(torch.tensor([7, 2])), of(torch.tensor([3, 2]))
    assert (x // y).tolist() == [2, 1]
    assert (x // y).tolist() == [2, 1]
    y[0] = 0
    with pytest.raises(ZeroDivisionError):
        x // y
    with pytest.raises(ZeroDivisionError):
        x.floor_divide_(y)
    assert x.tolist() == [7, 2]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_no_division_of_integers_crashes(rounding: str, dtype: torch.dtype) -> None:
    """Dividing the least integer by -1, which is undefined in C, does not crash."""
    values = special(dtype)
    divisors = values[values != 0]
    expected = torch.broadcast_shapes(values[:, None].shape, divisors.shape)
    assert opdsl.div(of(values[:, None]), of(divisors), rounding_mode=rounding).shape == expected


@pytest.mark.parametrize("number", [0, 1, -3, 2.5, float("nan"), float("inf"), True, 300, 2**40, 1e39], ids=repr)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", (*ARITHMETIC[:4], *COMPARISONS))
def test_numbers_beside_tensors(name: str, dtype: torch.dtype, number: complex) -> None:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib, name)(x, number)

    x = special(dtype)
    agree_or_fail(call, x, tolerance=tolerance(name, dtype))


@pytest.mark.parametrize("alpha", [1, 2, -1, 0.5, 3.3, True])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_alpha(name: str, dtype: torch.dtype, alpha: float) -> None:
    def call(lib: Any, x: Any, y: Any) -> Any:
        return getattr(lib, name)(x, y, alpha=alpha)

    x, y = ordinary(dtype, (33,)), ordinary(dtype, (33,), 1)
    if dtype.is_floating_point:  # powers of 2, so that products are exact: some processors' PyTorch rounds them
        x, y = (operand.sign() * operand.abs().log2().round().exp2() for operand in (x, y))
    agree_or_fail(call, x, y)


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_products_with_alpha_are_not_rounded_before_the_sum(name: str) -> None:
    x, y = (ordinary(torch.float32, (33,), seed) for seed in range(2))
    alpha = numpy.float32(3.3)
    actual = getattr(opdsl, name)(of(x), of(y), alpha=float(alpha))
    wide_x, wide_y = (operand.numpy().astype(numpy.longdouble) for operand in (x, y))
    expected = {"add": wide_x + alpha * wide_y, "sub": wide_x - alpha * wide_y, "rsub": wide_y - alpha * wide_x}
    numpy.testing.assert_array_equal(actual.numpy(), expected[name].astype(numpy.float32))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_where_values(dtype: torch.dtype) -> None:
    values = special(dtype)
    condition = torch.arange(len(values)) % 2 == 0
    agree(lambda lib, c, x, y: lib.where(c, x, y), condition, values, values.flip(0))


@pytest.mark.parametrize("other", layouts(), ids=str)
@pytest.mark.parametrize("one", layouts(), ids=str)
def test_strides_of_two_layouts(one: str, other: str) -> None:
    laid_out = layouts()
    agree(lambda lib, x, y: lib.add(x, y), laid_out[one], laid_out[other])


@pytest.mark.parametrize("layout", layouts(), ids=str)
def test_strides_of_one_layout(layout: str) -> None:
    agree(lambda lib, x: lib.neg(x), layouts()[layout])


@pytest.mark.parametrize("layout", layouts(), ids=str)
def test_strides_beside_a_zero_dim_tensor_of_another_dtype(layout: str) -> None:
    agree(lambda lib, x, y: lib.mul(x, y), layouts()[layout], torch.tensor(2.0, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32], ids=str)
@pytest.mark.parametrize("layout", layouts(), ids=str)
def test_strides_of_mixed_dtypes(layout: str, dtype: torch.dtype) -> None:
    agree(lambda lib, x, y: lib.add(x, y), layouts()[layout], layouts(dtype)["permuted"])


@settings(max_examples=60)
@given(strided())
def test_any_layout_of_one_operand(x: torch.Tensor) -> None:
    agree(lambda lib, value: lib.neg(value), x)


@settings(max_examples=150)
@given(broadcastable())
def test_any_layouts_of_two_operands(operands: list[torch.Tensor]) -> None:
    agree(lambda lib, x, y: lib.add(x, y), *operands)


@settings(max_examples=80)
@given(broadcastable(3))
def test_any_layouts_of_three_operands(operands: list[torch.Tensor]) -> None:
    agree(lambda lib, c, x, y: lib.where(lib.gt(c, 0), x, y), *operands)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2), (1, 1), (1,), (), (2,) * 9, (1, 5, 1, 2, 1, 3)], ids=str)
def test_unusual_shapes(shape: tuple[int, ...]) -> None:
    x = ordinary(torch.float32, shape)
    agree(lambda lib, value: lib.add(value, value), x)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1023, 70_000, 300_001])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32], ids=str)
def test_sizes_around_vectors_and_threads(dtype: torch.dtype, size: int) -> None:
    agree(lambda lib, x, y: lib.mul(x, y), ordinary(dtype, (size,)), ordinary(dtype, (size,), 1))
