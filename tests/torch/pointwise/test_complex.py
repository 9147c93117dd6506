"""Tests of complex tensors and numbers, compared with PyTorch's: values, dtypes, layouts and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.kernels import fill_
from tests.torch.twins import Twins, agree, agree_or_fail, assert_agree, assert_fails
from tests.torch.values import ordinary

DTYPES = (torch.complex64, torch.complex128)
UNARY = ("neg", "reciprocal", "exp", "log", "tanh", "sigmoid")
ARITHMETIC = ("add", "sub", "mul", "div", "rsub")
COMPARISONS = ("eq", "ne")
NUMBERS = (2, 2.5, True, 1j, 2 - 3j, -0.5j, 0, 0j)

# Tolerances of PyTorch's own tests of complex numbers.
TOLERANCE = {torch.complex64: 1.3e-6, torch.complex128: 1e-7}

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "every other": lambda x: x[::2, ::3],
    "expanded": lambda x: x[:1].expand(6, -1),
    "single": lambda x: x[2, 3],
    "empty": lambda x: x[:0],
}


def random(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    real = torch.float32 if dtype is torch.complex64 else torch.float64
    return torch.complex(ordinary(real, shape, seed), ordinary(real, shape, seed + 1))


PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -40.0, 100.0, 1e-3, 1.00001, math.inf, -math.inf, math.nan)


def edges(dtype: torch.dtype, *more: float) -> torch.Tensor:
    """Return all complex numbers whose parts are special, such as zeros, infinities and NaN."""
    parts = (*PARTS, *more)
    return torch.tensor([complex(real, y) for real in parts for y in parts], dtype=dtype)


def parts_agree(call: Any, *operands: torch.Tensor) -> None:
    """Compare complex results part by part: infinite and NaN parts are equal, others are close relative to the
    number.
    """
    expected = call(torch, *operands)
    actual = call(opdsl, *Twins().of(operands))
    assert (actual.dtype.name, actual.shape) == (str(expected.dtype).removeprefix("torch."), tuple(expected.shape))
    ours, theirs = (torch.view_as_real(side) for side in (torch.from_numpy(actual.numpy().copy()), expected))
    odd = ~theirs.isfinite()
    assert torch.equal(ours.isnan(), theirs.isnan())
    assert torch.equal(ours[odd].nan_to_num(), theirs[odd].nan_to_num())
    size = theirs.abs().where(~odd, 0.0).amax(-1, keepdim=True)
    assert bool(((ours - theirs).abs()[~odd] <= (size.expand_as(theirs) * TOLERANCE[expected.dtype])[~odd]).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_values(name: str, dtype: torch.dtype) -> None:
    largest, tiny = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal
    parts_agree(lambda lib, x: getattr(lib, name)(x), torch.cat((edges(dtype, largest, tiny), random(dtype, 500))))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_binary_values(name: str, dtype: torch.dtype) -> None:
    first = torch.cat((edges(dtype), random(dtype, 50)))
    parts_agree(lambda lib, x, y: getattr(lib, name)(x, y), first[:, None], first)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, dtype: torch.dtype) -> None:
    values = edges(dtype)
    agree(lambda lib, x, y: getattr(lib, name)(x, y), values[:, None], values)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ("add", "mul", "div", "eq"))
def test_layouts(name: str, dtype: torch.dtype, layout: str) -> None:
    x, y = (LAYOUTS[layout](random(dtype, 6, 6, seed=seed)) for seed in (0, 5))
    for operands in ((x, y), (x, random(dtype, 1)), (random(dtype, 1), y)):
        agree(lambda lib, a, b: getattr(lib, name)(a, b), *operands, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("other", (torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ("add", "mul", "div", "eq"))
def test_other_dtypes_beside_complex(name: str, dtype: torch.dtype, other: torch.dtype) -> None:
    x, y = random(dtype, 4, 5), ordinary(other, (5,))
    agree(lambda lib, a, b: getattr(lib, name)(a, b), x, y, tolerance=1.3e-6)
    agree(lambda lib, a, b: getattr(lib, name)(b, a), x, y, tolerance=1.3e-6)


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("dtype", (torch.int64, torch.bool, torch.float32, torch.float64, *DTYPES), ids=str)
@pytest.mark.parametrize("name", ("add", "sub", "mul", "div", "rsub", "eq", "ne"))
def test_numbers_beside_tensors(name: str, dtype: torch.dtype, number: complex) -> None:
    x = random(dtype, 7) if dtype.is_complex else ordinary(dtype, (7,))
    agree_or_fail(lambda lib, a: getattr(lib, name)(a, number), x, tolerance=1.3e-6)


def test_a_plan_takes_numbers_of_other_values() -> None:
    x = random(torch.complex64, 3)
    (ours,) = Twins().of((x,))
    for number in (1j, 2 + 3j, -1 - 1j):
        assert_agree(opdsl.add(ours, number), torch.add(x, number))


@pytest.mark.parametrize("alpha", (2j, 1 - 1j, 2, 0.5))
@pytest.mark.parametrize("name", ("add", "sub", "rsub"))
def test_alpha(name: str, alpha: complex) -> None:
    x, y = (random(torch.complex64, 5, seed=seed) for seed in (0, 3))
    agree(lambda lib, a, b: getattr(lib, name)(a, b, alpha=alpha), x, y, tolerance=1.3e-6)


def test_a_number_that_complex64_does_not_hold() -> None:
    x = torch.ones(2, dtype=torch.complex64)
    (ours,) = Twins().of((x,))
    assert_agree(opdsl.add(ours, ours, alpha=1j), torch.add(x, x, alpha=1j))
    with pytest.raises(RuntimeError, match="overflow") as expected:
        torch.add(x, x, alpha=1e300j)
    assert_fails(lambda: opdsl.add(ours, ours, alpha=1e300j), expected.value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_where(dtype: torch.dtype) -> None:
    condition = torch.tensor([True, False, True])
    x, y = random(dtype, 3), random(dtype, 4, 3, seed=3)
    agree(lambda lib, c, a, b: lib.where(c, a, b), condition, x, y)
    agree(lambda lib, c, a: lib.where(c, a, 1j), condition, x)
    agree(lambda lib, c, a: lib.where(c, 2.5, a), condition, x)
    agree(lambda lib, c: lib.where(c, 1j, 2.0), condition)


@pytest.mark.parametrize("dim", (None, 0, 1, 2, (0, 2), (0, 1, 2)))
@pytest.mark.parametrize("shape", ((3, 4, 5), (1, 1, 1), (70, 3, 100), (2, 0, 3), (4096, 1, 9)), ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ("sum", "mean"))
def test_reductions(name: str, dtype: torch.dtype, shape: tuple[int, ...], dim: Any) -> None:
    x = random(dtype, *shape)
    inputs = dim if dim is not None else (0, 1, 2)
    expected = getattr(x.to(torch.complex128), name)(inputs)
    (ours,) = Twins().of((x,))
    for result in (getattr(opdsl, name)(ours, inputs), getattr(opdsl, name)(ours, inputs)):
        near = torch.from_numpy(result.numpy().copy()).to(torch.complex128)
        scale = (
            x.abs().sum(inputs).to(torch.float64) / (x.numel() / max(1, expected.numel()) if name == "mean" else 1) + 1
        )
        assert result.dtype.name == str(dtype).removeprefix("torch.")
        assert torch.equal(near.isnan(), expected.isnan())
        assert bool(((near - expected).abs().nan_to_num() <= 1e-6 * scale.nan_to_num()).all())


def test_reductions_of_other_dtypes_into_complex() -> None:
    agree(lambda lib, x: lib.sum(x, dtype=lib.complex64), ordinary(torch.float32, (3, 4)), tolerance=1.3e-6)
    agree(lambda lib, x: lib.mean(x, (0,), dtype=lib.complex128), ordinary(torch.int64, (3, 4)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_inplace_and_out(name: str, dtype: torch.dtype) -> None:
    x = random(dtype, 4, 3)
    agree(lambda lib, a: getattr(a.clone(), f"{name}_")(), x, tolerance=TOLERANCE[dtype])
    agree(lambda lib, a, out: getattr(lib, name)(a, out=out), x, torch.empty_like(x).t().contiguous().t(),
          tolerance=TOLERANCE[dtype])  # fmt: skip


def test_real_results_are_written_to_complex_outputs() -> None:
    x = ordinary(torch.float32, (3,))
    agree(lambda lib, a, out: lib.add(a, 1, out=out), x, torch.empty(3, dtype=torch.complex64))
    agree_or_fail(lambda lib, a, out: lib.add(a, 1j, out=out), x, torch.empty(3))
    agree_or_fail(lambda lib, a: a.add_(1j), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.relu(x),
        lambda lib, x: lib.lt(x, x),
        lambda lib, x: lib.le(x, 1),
        lambda lib, x: lib.gt(x, 1j),
        lambda lib, x: lib.ge(x, x),
        lambda lib, x: lib.maximum(x, x),
        lambda lib, x: lib.amax(x),
        lambda lib, x: lib.div(x, x, rounding_mode="floor"),
        lambda lib, x: lib.div(x, 2, rounding_mode="trunc"),
    ],
    ids=["relu", "lt", "le", "gt", "ge", "maximum", "amax", "floor", "trunc"],
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_complex_numbers_have_no_order(call: Any, dtype: torch.dtype) -> None:
    agree_or_fail(call, random(dtype, 3))


def test_the_message_says_what_there_is() -> None:
    with pytest.raises(NotImplementedError, match=r"lt.*not implemented for 'ComplexFloat'(?s:.*)There are \+, -"):
        opdsl.lt(opdsl.tensor([1j]), 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_products_of_matrices(dtype: torch.dtype) -> None:
    x, y = random(dtype, 4, 5), random(dtype, 3, 5, seed=3).t()
    agree(lambda lib, a, b: lib.mm(a, b), x, y, tolerance=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_full_and_fill(dtype: torch.dtype) -> None:
    (ours,) = Twins().of((random(dtype, 4, 3),))
    fill_(ours, 1 - 2j)
    assert_agree(ours, torch.full((4, 3), 1 - 2j, dtype=dtype))
    agree(lambda lib: lib.full([2, 3], 1j))


NUMBER_GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda lib, x: x * 1j,
    "reversed mul": lambda lib, x: (1 + 2j) * x,
    "div": lambda lib, x: x / (2 - 1j),
    "reversed div": lambda lib, x: 1j / x,
    "pow": lambda lib, x: x ** (1 + 1j),
    "reversed pow": lambda lib, x: (1 + 1j) ** x,
    "rsub": lambda lib, x: 1j - x * 2j,
    "sum": lambda lib, x: lib.sub(x, x * 1j),
    "addcmul": lambda lib, x: lib.addcmul(x * 1j, x, x, value=2j),
    "lerp": lambda lib, x: lib.lerp(x * 1j, x + 0j, 0.3j),
}


@pytest.mark.parametrize("name", NUMBER_GRADIENTS)
def test_gradients_of_real_tensors_beside_complex_numbers(name: str) -> None:
    def second(lib: Any) -> list[Any]:
        x = lib.tensor([0.5, 1.5], dtype=lib.float64, requires_grad=True)
        weight = lib.tensor([1 + 2j, 3 - 1j], dtype=lib.complex128)
        real = (NUMBER_GRADIENTS[name](lib, x) * weight).real
        [gradient] = lib.autograd.grad((real * real).sum(), x, create_graph=True)
        return [*gradient.tolist(), *lib.autograd.grad(gradient.sum(), x)[0].tolist()]

    assert second(opdsl) == pytest.approx(second(torch))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["atan", "atanh"])
def test_nan_beside_numbers_that_are_large(name: str, dtype: str) -> None:
    largest = 1e30 if dtype == "complex64" else 1e300
    parts = [float("nan"), largest, -largest, float("inf"), 1.0]
    numbers = [
        complex(real, imaginary) for real in parts for imaginary in parts if real != real or imaginary != imaginary
    ]
    ours = getattr(opdsl, name)(opdsl.tensor(numbers, dtype=getattr(opdsl, dtype))).numpy()
    theirs = getattr(torch, name)(torch.tensor(numbers, dtype=getattr(torch, dtype))).numpy()
    for part in ("real", "imag"):  # C does not specify signs of zeros if the other part is NaN
        numpy.testing.assert_allclose(abs(getattr(ours, part)), abs(getattr(theirs, part)), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "replacements", [{}, {"nan": 12}, {"nan": 1.5, "posinf": 3, "neginf": -3}, {"posinf": 2.5}], ids=str
)
def test_nan_to_num_replaces_parts(dtype: torch.dtype, replacements: dict[str, float]) -> None:
    parts = (math.nan, math.inf, -math.inf, 1.0)
    x = torch.tensor([complex(real, imag) for real in parts for imag in parts], dtype=dtype)
    agree(lambda lib, x: lib.nan_to_num(x, **replacements), x)


PARTS = (0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan)
SPECIAL = [complex(real, imag) for real in PARTS for imag in PARTS]


@pytest.mark.parametrize("exponent", [0j, -0j, 0, 0.0, 1j, 2.0 + 1j, 2, -2, 0.5], ids=str)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float64])
def test_powers_of_zeros_infinities_and_nan(dtype: torch.dtype, exponent: complex) -> None:
    """Powers have the special values of C99's annex G for exponentials and logarithms, as in PyTorch."""
    parts = SPECIAL if dtype.is_complex else PARTS
    x = torch.tensor(parts, dtype=dtype)
    actual, expected = opdsl.from_numpy(x.numpy()) ** exponent, x**exponent
    numpy.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-5 if dtype is torch.complex64 else 1e-12)
