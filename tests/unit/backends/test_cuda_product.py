"""Tests of matrix products on CUDA: the arguments that describe matrices to cuBLAS, against NumPy's products
for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda import cublas
from opdsl.errors import MissingDependencyError, UnsupportedDTypeError
from tests.emulation.driver import EmulatedDriver
from tests.emulation.products import HostProducts


@pytest.fixture
def library(cuda: EmulatedDriver) -> Iterator[HostProducts]:
    host_products = HostProducts(cuda)
    cublas.use(host_products)
    yield host_products
    cublas.use(None)


def numbers(*shape: int, dtype: Any = opdsl.float32) -> Tensor:
    count = int(np.prod(shape))
    return (opdsl.arange(count) % 7 - 3).to(dtype).reshape(shape)


def within(x: Tensor, shape: tuple[int, ...], step: int) -> Tensor:
    """Return a copy of a tensor that is a part of a larger tensor."""
    return opdsl.zeros(shape, device=x.device)[..., : x.shape[-1] * step : step].copy_(x)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "wide rows": lambda x: within(x, (*x.shape[:-1], 2 * x.shape[-1]), 1),
    "every other": lambda x: within(x, (*x.shape[:-1], 2 * x.shape[-1]), 2),
}


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_factors_of_every_layout(library: HostProducts, first: str, second: str) -> None:
    x, y = LAYOUTS[first](numbers(3, 4)), LAYOUTS[second](numbers(4, 5))
    on_device = LAYOUTS[first](numbers(3, 4).cuda()), LAYOUTS[second](numbers(4, 5).cuda())
    assert (on_device[0] @ on_device[1]).tolist() == (x @ y).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_of_every_layout(library: HostProducts, layout: str) -> None:
    x, y = numbers(3, 4), numbers(4, 5)
    out = LAYOUTS[layout](opdsl.zeros((3, 5), device="cuda"))
    assert opdsl.mm(x.cuda(), y.cuda(), out=out) is out
    assert out.tolist() == (x @ y).tolist()


@pytest.mark.parametrize("sizes", [(1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (3, 0, 5)])
def test_sizes_of_one_and_none(library: HostProducts, sizes: tuple[int, int, int]) -> None:
    x, y = numbers(*sizes[:2]), numbers(*sizes[1:])
    assert (x.cuda() @ y.cuda()).tolist() == (x @ y).tolist()


@pytest.mark.parametrize(
    "dtype", ["float8_e5m2", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_every_dtype(library: HostProducts, dtype: str) -> None:
    kind = getattr(opdsl, dtype)
    x, y = numbers(3, 4, dtype=kind), numbers(4, 2, dtype=kind)
    product = x.cuda() @ y.cuda()
    assert product.dtype is kind and product.tolist() == (x @ y).tolist()


def test_batches(library: HostProducts) -> None:
    x, y = numbers(2, 3, 4), numbers(2, 4, 5)
    assert opdsl.bmm(x.cuda(), y.cuda()).tolist() == opdsl.bmm(x, y).tolist()
    assert (x.cuda() @ y.cuda()[0].expand(2, 4, 5)).tolist() == (x @ y[0].expand(2, 4, 5)).tolist()


def test_sums_with_numbers(library: HostProducts) -> None:
    c, x, y = numbers(3, 5), numbers(3, 4), numbers(4, 5)
    expected = opdsl.addmm(c, x, y, beta=2, alpha=3)
    assert opdsl.addmm(c.cuda(), x.cuda(), y.cuda(), beta=2, alpha=3).tolist() == expected.tolist()


def test_a_beta_of_zero_reads_nothing(library: HostProducts) -> None:
    x, y, nan = numbers(2, 2), numbers(2, 2), opdsl.full((2, 2), float("nan"))
    assert opdsl.addmm(nan.cuda(), x.cuda(), y.cuda(), beta=0).tolist() == (x @ y).tolist()


def test_a_vector(library: HostProducts) -> None:
    x, v = numbers(3, 4), numbers(4)
    assert (x.cuda() @ v.cuda()).tolist() == (x @ v).tolist()


def test_it_runs_on_the_current_stream(library: HostProducts) -> None:
    x, side = numbers(2, 2).cuda(), opdsl.cuda.Stream()
    with side:
        y = x @ x
    assert library.stream == side.handle
    assert y.tolist() == (numbers(2, 2) @ numbers(2, 2)).tolist()


def test_integers_are_refused_as_by_pytorch(cuda: EmulatedDriver) -> None:
    x = opdsl.ones((2, 2), dtype=opdsl.int32).cuda()
    with pytest.raises(UnsupportedDTypeError, match="not implemented for 'Int'"):
        x @ x


def test_without_cublas_the_command_that_installs_it_is_named(
    cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda import pathfinder

    def missing(name: str) -> None:
        raise RuntimeError(f"no {name}")

    cublas.use(None)
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", missing)
    x = opdsl.ones((2, 2)).cuda()
    with pytest.raises(MissingDependencyError, match="pip install nvidia-cublas"):
        x @ x
