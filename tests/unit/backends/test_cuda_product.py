"""Matrix products on CUDA: what cuBLAS is told of matrices, held against what it would compute of that."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda import cublas
from opdsl.errors import MissingDependencyError, UnsupportedDTypeError
from tests.unit.backends.fake_driver import FakeDriver

DTYPES = {0: np.float32, 1: np.float64, 2: np.float16, 4: np.complex64, 5: np.complex128}


class FakeLibrary:
    """cuBLAS as its documentation describes it, column by column, computed by NumPy on the stream that is set."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver = driver
        self.stream = 0

    def cublasCreate_v2(self, handle: Any) -> int:
        return 0

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.stream = stream.value or 0
        return 0

    def cublasGemmStridedBatchedEx(self, handle: Any, *given: Any) -> int:
        operations, (rows, columns, inner) = given[:2], given[2:5]
        alpha, first, second, beta, out = given[5], given[6:10], given[10:14], given[14], given[15:19]
        count, compute = given[19:21]
        dtype = DTYPES[out[1]]
        wide = {np.float16: np.float32}.get(dtype, dtype)
        assert compute == (70 if np.dtype(dtype) in (np.float64, np.complex128) else 68)
        factors = [
            np.frombuffer(ctypes.string_at(each._obj, np.dtype(wide).itemsize), wide)[0] for each in (alpha, beta)
        ]

        def matrix(said: Any, transposed: int, rows: int, columns: int, at: int) -> np.ndarray:
            address, kind, leading, step = said
            tall, wide = (columns, rows) if transposed else (rows, columns)
            assert leading >= max(1, tall), "cuBLAS refuses such a leading dimension"
            itemsize = np.dtype(DTYPES[kind]).itemsize
            size = ((wide - 1) * leading + tall) * itemsize if wide and tall else 0
            if size == 0:
                return np.zeros((rows, columns), DTYPES[kind])
            memory = (ctypes.c_char * size).from_address((address.value or 0) + at * step.value * itemsize)
            found: np.ndarray = np.ndarray((tall, wide), DTYPES[kind], memory, 0, (itemsize, leading * itemsize))
            return found.T if transposed else found

        def run() -> None:
            for at in range(count):
                one = matrix(first, operations[0], rows, inner, at).astype(wide)
                two = matrix(second, operations[1], inner, columns, at).astype(wide)
                target = matrix(out, 0, rows, columns, at)
                # What beta = 0 multiplies is not read.
                target[...] = factors[0] * (one @ two) + (factors[1] * target if factors[1] else 0)

        self.driver._put(self.stream, run)
        return 0


@pytest.fixture
def library(cuda: FakeDriver) -> Iterator[FakeLibrary]:
    made = FakeLibrary(cuda)
    cublas.use(made)
    yield made
    cublas.use(None)


def numbers(*shape: int, dtype: Any = opdsl.float32) -> Tensor:
    count = int(np.prod(shape))
    return (opdsl.arange(count) % 7 - 3).to(dtype).reshape(shape)


def within(x: Tensor, shape: tuple[int, ...], step: int) -> Tensor:
    """The same elements, a part of a larger tensor."""
    return opdsl.zeros(shape, device=x.device)[..., : x.shape[-1] * step : step].copy_(x)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "wide rows": lambda x: within(x, (*x.shape[:-1], 2 * x.shape[-1]), 1),
    "every other": lambda x: within(x, (*x.shape[:-1], 2 * x.shape[-1]), 2),
}


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_factors_of_every_layout(library: FakeLibrary, first: str, second: str) -> None:
    x, y = LAYOUTS[first](numbers(3, 4)), LAYOUTS[second](numbers(4, 5))
    on_device = LAYOUTS[first](numbers(3, 4).cuda()), LAYOUTS[second](numbers(4, 5).cuda())
    assert (on_device[0] @ on_device[1]).tolist() == (x @ y).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_of_every_layout(library: FakeLibrary, layout: str) -> None:
    x, y = numbers(3, 4), numbers(4, 5)
    out = LAYOUTS[layout](opdsl.zeros((3, 5), device="cuda"))
    assert opdsl.mm(x.cuda(), y.cuda(), out=out) is out
    assert out.tolist() == (x @ y).tolist()


@pytest.mark.parametrize("sizes", [(1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (3, 0, 5)])
def test_sizes_of_one_and_none(library: FakeLibrary, sizes: tuple[int, int, int]) -> None:
    x, y = numbers(*sizes[:2]), numbers(*sizes[1:])
    assert (x.cuda() @ y.cuda()).tolist() == (x @ y).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_every_dtype(library: FakeLibrary, dtype: str) -> None:
    kind = getattr(opdsl, dtype)
    x, y = numbers(3, 4, dtype=kind), numbers(4, 2, dtype=kind)
    made = x.cuda() @ y.cuda()
    assert made.dtype is kind and made.tolist() == (x @ y).tolist()


def test_batches(library: FakeLibrary) -> None:
    x, y = numbers(2, 3, 4), numbers(2, 4, 5)
    assert opdsl.bmm(x.cuda(), y.cuda()).tolist() == opdsl.bmm(x, y).tolist()
    assert (x.cuda() @ y.cuda()[0].expand(2, 4, 5)).tolist() == (x @ y[0].expand(2, 4, 5)).tolist()


def test_sums_with_numbers(library: FakeLibrary) -> None:
    c, x, y = numbers(3, 5), numbers(3, 4), numbers(4, 5)
    expected = opdsl.addmm(c, x, y, beta=2, alpha=3)
    assert opdsl.addmm(c.cuda(), x.cuda(), y.cuda(), beta=2, alpha=3).tolist() == expected.tolist()


def test_a_beta_of_zero_reads_nothing(library: FakeLibrary) -> None:
    x, y, nan = numbers(2, 2), numbers(2, 2), opdsl.full((2, 2), float("nan"))
    assert opdsl.addmm(nan.cuda(), x.cuda(), y.cuda(), beta=0).tolist() == (x @ y).tolist()


def test_a_vector(library: FakeLibrary) -> None:
    x, v = numbers(3, 4), numbers(4)
    assert (x.cuda() @ v.cuda()).tolist() == (x @ v).tolist()


def test_it_runs_on_the_current_stream(library: FakeLibrary) -> None:
    x, side = numbers(2, 2).cuda(), opdsl.cuda.Stream()
    with side:
        y = x @ x
    assert library.stream == side.handle
    assert y.tolist() == (numbers(2, 2) @ numbers(2, 2)).tolist()


def test_integers_are_refused_as_by_pytorch(cuda: FakeDriver) -> None:
    x = opdsl.ones((2, 2), dtype=opdsl.int32).cuda()
    with pytest.raises(UnsupportedDTypeError, match="not implemented for 'Int'"):
        x @ x


def test_without_cublas_the_command_that_installs_it_is_named(
    cuda: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda import pathfinder

    def missing(name: str) -> None:
        raise RuntimeError(f"no {name}")

    cublas.use(None)
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", missing)
    x = opdsl.ones((2, 2)).cuda()
    with pytest.raises(MissingDependencyError, match="pip install nvidia-cublas"):
        x @ x
