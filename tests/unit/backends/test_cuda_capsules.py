"""Tests of hand-made DLPack capsules: NumPy and PyTorch read opdsl's, and opdsl reads theirs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

from opdsl.backends.cuda.capsules import Contents, capsule_of, contents_of
from opdsl.errors import InterchangeError
from opdsl.runtime.dtype import ALL_DTYPES, DType, bfloat16, float32

VERSIONS = [None, (1, 0)]


class Producer:
    """DLPack producer of a NumPy array, which it declares to be on the CPU."""

    def __init__(self, array: np.ndarray, dtype: DType, version: tuple[int, int] | None) -> None:
        self.array, self.dtype, self.version = array, dtype, version

    def __dlpack__(self, **options: object) -> object:
        address = self.array.__array_interface__["data"][0]
        contents = Contents(address, (1, 0), self.dtype, self.array.shape, self.array.strides)
        return capsule_of(contents, self.array, self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_pytorch_reads_ours(dtype: DType, version: tuple[int, int] | None) -> None:
    array = np.arange(6).astype(dtype.numpy).reshape(2, 3).T
    result = torch.utils.dlpack.from_dlpack(Producer(array, dtype, version).__dlpack__())
    assert str(result.dtype) == f"torch.{dtype.name.rstrip('_')}"
    assert result.data_ptr() == array.__array_interface__["data"][0]
    assert (tuple(result.shape), result.stride()) == ((3, 2), (1, 3))


@pytest.mark.parametrize("version", VERSIONS)
def test_numpy_reads_ours(version: tuple[int, int] | None) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)[:, 1:]
    assert np.from_dlpack(Producer(array, float32, version)).tolist() == array.tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.bool, torch.complex64, torch.int16])
def test_we_read_pytorchs(kind: torch.dtype, version: tuple[int, int] | None) -> None:
    foreign = torch.ones(4, 3, dtype=kind).t()[1:]
    contents, _ = contents_of(foreign.__dlpack__(max_version=version))
    itemsize = foreign.element_size()
    assert contents.address == foreign.data_ptr()
    assert (contents.shape, contents.strides) == ((2, 4), (itemsize, 3 * itemsize))
    assert contents.dtype.name == str(kind).removeprefix("torch.")


@pytest.mark.parametrize("version", VERSIONS)
def test_who_takes_it_lets_the_memory_go(version: tuple[int, int] | None) -> None:
    array = np.zeros(3, "f4")
    gone = weakref.ref(array)
    taken = torch.utils.dlpack.from_dlpack(Producer(array, float32, version).__dlpack__())
    del array
    gc.collect()
    held = gone() is not None
    del taken
    gc.collect()
    assert (held, gone()) == (True, None)


def test_the_producer_is_released_with_the_received_contents() -> None:
    array = np.zeros(3, "f4")
    gone = weakref.ref(array)
    received = contents_of(Producer(array, float32, None).__dlpack__())
    del array
    held = gone() is not None
    del received
    gc.collect()
    assert (held, gone()) == (True, None)


def test_a_capsule_is_taken_once() -> None:
    capsule = Producer(np.zeros(2, np.uint16), bfloat16, None).__dlpack__()
    held = contents_of(capsule)
    with pytest.raises(InterchangeError, match="no unused DLPack capsule"):
        contents_of(capsule)
    assert held.contents.dtype is bfloat16


def test_a_dtype_that_we_do_not_have_is_refused() -> None:
    with pytest.raises(InterchangeError, match="no dtype is stored like that"):
        contents_of(torch.zeros(2, dtype=torch.float8_e5m2fnuz).__dlpack__())
