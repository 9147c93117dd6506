"""Tests of matrix products against NumPy, in memory layouts that the BLAS reads and in others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from threadpoolctl import ThreadpoolController

import opdsl
from opdsl.backends.cpu import blas, product
from opdsl.kernels import multiply
from opdsl.kernels.primitives import products

SIZES = ((2, 3, 4), (5, 1, 7), (200, 70, 33), (33, 70, 300), (1, 8, 9), (9, 8, 1), (3, 0, 4), (0, 3, 4))
DTYPES = ("float32", "float64", "complex64", "complex128", "int32")
RANDOM = numpy.random.default_rng(0)


@pytest.fixture(autouse=True, params=["BLAS", "NumPy"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "NumPy":
        monkeypatch.setattr(product, "_through_blas", lambda call: None)
    products.product_loop.cache_clear()
    yield
    products.product_loop.cache_clear()


def matrix(shape: tuple[int, ...], dtype: str, *, turned: bool = False) -> numpy.ndarray:
    entries = RANDOM.normal(size=(*shape[:-2], shape[-1], shape[-2]) if turned else shape) * 4
    values = (
        (entries + 1j * RANDOM.normal(size=entries.shape)).astype(dtype) if dtype[0] == "c" else entries.astype(dtype)
    )
    return values.swapaxes(-1, -2) if turned else values


@pytest.mark.parametrize("turned", list(itertools.product((False, True), repeat=3)))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_product_of_matrices(sizes: tuple[int, int, int], dtype: str, turned: tuple[bool, bool, bool]) -> None:
    rows, inner, columns = sizes
    first, second = matrix((rows, inner), dtype, turned=turned[0]), matrix((inner, columns), dtype, turned=turned[1])
    out = matrix((rows, columns), dtype, turned=turned[2])
    expected = 3 * (first @ second) + 2 * out
    multiply(*map(opdsl.from_numpy, (first, second, out)), 3, 2)
    numpy.testing.assert_allclose(out, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_product_of_batches(dtype: str) -> None:
    first, second = matrix((7, 40, 60), dtype), matrix((7, 60, 50), dtype, turned=True)
    out = matrix((7, 40, 50), dtype)
    multiply(*map(opdsl.from_numpy, (first, second, out)))
    numpy.testing.assert_allclose(out, first @ second, rtol=2e-4, atol=2e-4)


def test_batch_that_repeats_one_matrix() -> None:
    first, second = matrix((1, 30, 20), "float32"), matrix((5, 20, 40), "float32")
    out = numpy.empty((5, 30, 40), "float32")
    multiply(opdsl.from_numpy(first).expand(5, 30, 20), opdsl.from_numpy(second), opdsl.from_numpy(out))
    numpy.testing.assert_allclose(out, first @ second, rtol=2e-4, atol=2e-4)


def test_matrices_whose_lines_are_apart() -> None:
    first, second = matrix((60, 80), "float32")[::2, ::2], matrix((80, 70), "float32")[::2]
    assert numpy.allclose((opdsl.from_numpy(first) @ opdsl.from_numpy(second)).numpy(), first @ second, atol=1e-3)


def test_one_element_in_the_place_of_all_times_columns() -> None:
    first = numpy.broadcast_to(numpy.float32(3), (2, 5, 30))
    second = matrix((2, 30, 8), "float32", turned=True)
    out = numpy.empty((2, 5, 8), "float32")
    multiply(*map(opdsl.from_numpy, (first, second, out)))
    numpy.testing.assert_allclose(out, first @ second, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("sizes", [(40, 30, 1), (1, 30, 40), (1, 30, 1), (300, 1, 1), (2, 3, 5)])
def test_what_is_not_added_is_not_read(sizes: tuple[int, int, int]) -> None:
    rows, inner, columns = sizes
    first, second = matrix((rows, inner), "float32"), matrix((inner, columns), "float32")
    out = numpy.full((rows, columns), numpy.nan, "float32")
    multiply(*map(opdsl.from_numpy, (first, second, out)))
    numpy.testing.assert_allclose(out, first @ second, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columnwise", [False, True])
def test_vectors_whose_elements_are_apart(dtype: str, columnwise: bool) -> None:
    left, vector = matrix((60, 300), dtype, turned=columnwise), matrix((300, 3), dtype)[:, 1]
    out = numpy.zeros((60, 2), dtype)
    multiply(opdsl.from_numpy(left), opdsl.from_numpy(vector), opdsl.from_numpy(out)[:, 1])
    numpy.testing.assert_allclose(out[:, 1], left @ vector, rtol=1e-3, atol=1e-3)
    assert not out[:, 0].any()


def test_batch_of_products_with_vectors() -> None:
    first, second = matrix((9, 50, 300), "float32"), matrix((9, 300, 1), "float32")
    out = opdsl.from_numpy(first).bmm(opdsl.from_numpy(second))
    numpy.testing.assert_allclose(out.numpy(), first @ second, rtol=1e-3, atol=1e-3)


def _threads() -> list[int]:
    return [
        lib_controller.get_num_threads()
        for lib_controller in ThreadpoolController().select(user_api="blas").lib_controllers
    ]


def test_threads_of_the_blas_come_back() -> None:
    first, second = (opdsl.from_numpy(matrix((150, 150), "float32")) for _ in range(2))
    first.mm(second)
    before = _threads()
    with ThreadPoolExecutor(4) as threads:
        for future in [threads.submit(first.mm, second) for _ in range(40)]:
            future.result()
    assert _threads() == before
    with blas.on_one_thread():
        assert set(_threads()) == {1}
    assert _threads() == before
