"""Tests of mm, bmm and matmul: values, dtypes, shapes, strides and errors are compared with PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.torch.twins import DTYPES, agree, agree_or_fail
from tests.torch.values import ordinary, positive

LOOSE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-13}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["mm", "matmul"])
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    x, y = positive(dtype, (5, 7)), positive(dtype, (7, 3), 1)
    agree_or_fail(lambda lib, a, b: getattr(lib, name)(a, b), x, y, tolerance=LOOSE.get(dtype, 0.0))


@pytest.mark.parametrize("second", ["plain", "transposed", "strided", "expanded"])
@pytest.mark.parametrize("first", ["plain", "transposed", "strided", "expanded"])
def test_layouts(first: str, second: str) -> None:
    def form(kind: str, rows: int, columns: int, seed: int) -> torch.Tensor:
        forms = {
            "plain": positive(torch.float32, (rows, columns), seed),
            "transposed": positive(torch.float32, (columns, rows), seed).t(),
            "strided": positive(torch.float32, (rows * 2, columns * 2), seed)[::2, ::2],
            "expanded": positive(torch.float32, (1, columns), seed).expand(rows, columns),
        }
        return forms[kind]

    agree(lambda lib, x, y: lib.mm(x, y), form(first, 4, 6, 0), form(second, 6, 5, 1), tolerance=1e-5)


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (65, 70, 33)], ids=str)
def test_sizes(sizes: tuple[int, int, int]) -> None:
    rows, inner, columns = sizes
    x, y = positive(torch.float32, (rows, inner)), positive(torch.float32, (inner, columns))
    agree(lambda lib, a, b: lib.mm(a, b), x, y, tolerance=1e-5)


@settings(max_examples=100)
@given(some.lists(some.integers(1, 3), max_size=4), some.lists(some.integers(1, 3), max_size=4))
def test_any_shapes_of_matmul(one: list[int], two: list[int]) -> None:
    x, y = positive(torch.float64, one), positive(torch.float64, two, 1)
    agree_or_fail(lambda lib, a, b: lib.matmul(a, b), x, y, tolerance=1e-13)


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (4, 5)), ((2,), (2, 3)), ((2, 3), (3,)), ((2, 3, 4), (4, 2)), ((2, 3), (2, 3)), ((), (2, 3))],
    ids=str,
)
@pytest.mark.parametrize("name", ["mm", "bmm"])
def test_shapes_that_do_not_fit(name: str, shapes: Any) -> None:
    x, y = (ordinary(torch.float32, shape) for shape in shapes)
    agree_or_fail(lambda lib, a, b: getattr(lib, name)(a, b), x, y)


@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (3, 4, 5)), ((0, 3, 4), (0, 4, 5))], ids=str)
def test_batches(shapes: Any) -> None:
    x, y = (positive(torch.float32, shape) for shape in shapes)
    agree_or_fail(lambda lib, a, b: lib.bmm(a, b), x, y, tolerance=1e-5)


@pytest.mark.parametrize("name", ["mm", "bmm", "matmul"])
def test_different_dtypes_are_refused(name: str) -> None:
    shape = (2, 2, 2) if name == "bmm" else (2, 2)
    x, y = ordinary(torch.float32, shape), ordinary(torch.float64, shape)
    agree_or_fail(lambda lib, a, b: getattr(lib, name)(a, b), x, y)


def test_the_operator_of_python() -> None:
    x = positive(torch.float32, (3, 4))
    agree(lambda lib, a: a @ a.t(), x, tolerance=1e-5)


@pytest.mark.parametrize(
    "shapes", [((30, 5), (7, 5)), ((3, 1, 30, 5), (2, 26, 5)), ((0, 5), (40, 5)), ((30, 0), (4, 0))]
)
def test_gradients_of_distances_of_many_rows(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    def gradients(lib: Any, first: Any, second: Any) -> Any:
        leaves = [leaf.detach().requires_grad_() for leaf in (first, second)]
        lib.cdist(*leaves).pow(3).sum().backward()
        return leaves[0].grad, leaves[1].grad

    x, y = (ordinary(torch.float64, shape, seed) for seed, shape in enumerate(shapes))
    agree_or_fail(gradients, x, y, tolerance=1e-11)
