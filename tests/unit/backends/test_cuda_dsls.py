"""Tests of overrides written in numba-cuda and torch: their arguments, and when these packages are imported."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.dsl import numba_cuda_dsl
from opdsl.dispatch.overrides.overriding import overrides
from opdsl.interop.torch import dsl as torch_dsl
from tests.emulation.driver import EmulatedDriver


@pytest.fixture(autouse=True)
def no_overrides_left() -> Iterator[None]:
    yield
    for op_override in opdsl.list_op_overrides():
        overrides.remove(op_override)
    opdsl.reenable_op_overrides(enable_dsl_names=["numba-cuda", "torch"])


class FakeNumba:
    """Fake of the used parts of ``numba.cuda``: kernels run on host memory, in the order of their stream."""

    def __init__(self, driver: EmulatedDriver) -> None:
        self.driver = driver
        self.launches: list[tuple[Any, ...]] = []
        self.compiled = 0

    def external_stream(self, handle: int) -> int:
        return handle

    def as_cuda_array(self, source: Tensor, sync: bool) -> np.ndarray:
        said = source.__cuda_array_interface__
        size = int(np.prod(said["shape"])) * np.dtype(said["typestr"]).itemsize
        memory = (ctypes.c_char * size).from_address(said["data"][0])
        assert not sync
        return np.ndarray(said["shape"], said["typestr"], memory, 0, said["strides"])

    def jit(self, function: Any) -> Any:
        self.compiled += 1

        class Kernel:
            def __getitem__(kernel, configuration: tuple[Any, ...]) -> Any:
                self.launches.append(configuration)
                return lambda *arrays: self.driver.queue(configuration[2], lambda: function(*arrays))

        return Kernel()


@pytest.fixture
def numba_cuda(cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch) -> FakeNumba:
    fake_numba = FakeNumba(cuda)
    monkeypatch.setitem(sys.modules, "numba.cuda", fake_numba)
    monkeypatch.setattr(numba_cuda_dsl, "unavailable_reason", lambda: None)
    return fake_numba


def one_block(*inputs: Any) -> tuple[int, int]:
    return 1, 32


def test_a_numba_cuda_kernel_overrides_an_operator(numba_cuda: FakeNumba) -> None:
    @numba_cuda_dsl.launched(one_block)
    def product_plus_one(self, other, out):  # type: ignore[no-untyped-def]
        out[...] = self * other + 1

    numba_cuda_dsl.register_op_override(
        "aten", "mul.Tensor", "CUDA", lambda self, other: self.ndim == 1, product_plus_one
    )
    x = opdsl.arange(3.0).cuda()
    assert [opdsl.mul(x, x).tolist() for _ in range(3)] == [[1, 2, 5]] * 3
    assert opdsl.mul(x.reshape(3, 1), x.reshape(3, 1)).tolist() == [[0], [1], [4]]
    assert numba_cuda.compiled == 1


def test_it_is_queued_on_the_current_stream(numba_cuda: FakeNumba) -> None:
    @numba_cuda_dsl.launched(one_block)
    def twice(self, out):  # type: ignore[no-untyped-def]
        out[...] = 2 * self

    x, side = opdsl.ones(4).cuda(), opdsl.cuda.Stream()
    with side:
        y = twice(x)
    assert numba_cuda.launches == [(1, 32, side.handle)]
    assert (y + 1).tolist() == [3] * 4


def test_the_output_may_have_another_geometry(numba_cuda: FakeNumba) -> None:
    @numba_cuda_dsl.launched(one_block, result=lambda self: self.geometry.replace(dtype=opdsl.int64))
    def places(self, out):  # type: ignore[no-untyped-def]
        out[...] = np.arange(self.size)

    positions = places(opdsl.ones(3).cuda())
    assert (positions.tolist(), positions.dtype) == ([0, 1, 2], opdsl.int64)


def test_a_function_of_torch_overrides_an_operator() -> None:
    @torch_dsl.computed
    def product_plus_one(self, other):  # type: ignore[no-untyped-def]
        return self * other + 1

    torch_dsl.register_op_override("aten", "mul.Tensor", "CPU", lambda self, other: self.ndim == 1, product_plus_one)
    x = opdsl.arange(3.0)
    assert opdsl.mul(x, x).tolist() == [1, 2, 5]
    torch_dsl.deregister_op_overrides()
    assert opdsl.mul(x, x).tolist() == [0, 1, 4]


def test_memory_is_shared_with_torch() -> None:
    @torch_dsl.computed
    def same(self):  # type: ignore[no-untyped-def]
        return self.view(-1), [self]

    x = opdsl.zeros((2, 2), dtype=opdsl.bfloat16)
    flat, (whole,) = same(x)  # type: ignore[misc]
    assert flat.data_ptr() == whole.data_ptr() == x.data_ptr()


def test_neither_is_imported_before_its_kernel_runs() -> None:
    script = """
import sys, opdsl
from opdsl.backends.dsl.numba_cuda_dsl import launched
from opdsl.interop.torch.dsl import computed
for name, key in (("torch", "CPU"), ("numba-cuda", "CUDA")):
    opdsl.register_op_override(name, "aten", "mul.Tensor", key, lambda self, other: False, computed(print))
launched(print)(print)
opdsl.mul(opdsl.ones(2), opdsl.ones(2))
print([name for name in ("torch", "numba", "numba_cuda", "cuda") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
