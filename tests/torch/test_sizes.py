"""Tests of extreme sizes, strides and triangles: results equal PyTorch's where it has one."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import OutOfMemoryError, ShapeError

LIBRARIES = (torch, opdsl)


def form(tensor: Any) -> tuple[Any, ...]:
    """Return shape, strides, storage offset and elements of a tensor of either library."""
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.tolist()


FAR = {
    "slice": lambda x: x[1 : 2**63 - 1 : 2**62],
    "window": lambda x: x.unfold(0, 1, 2**63 - 1),
    "sum": lambda x: x[:: 2**62] + 1,
    "reduction": lambda x: x.view(5, 1).unfold(0, 2, 2**62).sum(-1),
    "copy": lambda x: x[:: 2**62].clone(),
}


@pytest.mark.parametrize("name", FAR)
def test_strides_beyond_64_bits_in_bytes(name: str) -> None:
    expected, actual = (form(FAR[name](lib.arange(5))) for lib in LIBRARIES)
    assert actual == expected


def test_strides_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ShapeError, match="Storage size calculation overflowed"):
        opdsl.arange(12).view(6, 2).unfold(0, 1, 2**63 - 1)


def test_more_dimensions_than_arrays_have() -> None:
    assert opdsl.ones([1] * 64).ndim == 64
    with pytest.raises(ShapeError, match="at most 64 dimensions"):
        opdsl.ones([1] * 65)


@pytest.mark.parametrize("count", (65, 2**61))
def test_combinations_of_more_elements_than_arrays_have_dimensions(count: int) -> None:
    with pytest.raises(ShapeError, match="at most 64 elements"):
        opdsl.combinations(opdsl.arange(3), count)


def test_memory_that_cannot_be_had() -> None:
    with pytest.raises(OutOfMemoryError, match=f"{2**52} bytes"):
        opdsl.empty(2**50)


@pytest.mark.parametrize("name", ("tril_indices", "triu_indices"))
def test_triangles(name: str) -> None:
    for row in range(5):
        for column in range(5):
            for offset in range(-6, 7):
                expected, actual = (getattr(lib, name)(row, column, offset) for lib in LIBRARIES)
                assert actual.tolist() == expected.tolist()
                assert getattr(opdsl, name)(row, column, offset, device="meta").shape == tuple(expected.shape)


def test_triangles_take_the_memory_of_their_result() -> None:
    expected, actual = (lib.triu_indices(2**40, 3, 1).tolist() for lib in LIBRARIES)
    assert actual == expected == [[0, 0, 1], [1, 2, 2]]


@pytest.mark.parametrize("count", (3, 2000, 1 << 16))
def test_filling_elements_that_share_memory_stays_inside(count: int) -> None:
    memory = numpy.zeros(count + 1, numpy.float32)
    opdsl.from_numpy(memory)[:1].expand(count).fill_(3)
    assert memory[0] == 3 and not memory[1:].any()


OVERLAPPING = {
    "expanded": lambda lib, x: (x[:1] * 1).expand(3).as_strided((2,), (0,)),
    "rows": lambda lib, x: (x[:3].view(3, 1) * 1).expand(3, 4).as_strided((2, 2), (1, 1)),
    "windows": lambda lib, x: (x * 1).as_strided((3, 3), (1, 1)).as_strided((2, 3), (1, 2)),
    "with gaps": lambda lib, x: (x * 1).as_strided((2,), (3,)).as_strided((2, 2), (1, 2), 1),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_gradient_through_strides_of_what_overlaps(name: str) -> None:
    both = []
    for lib in LIBRARIES:
        x = lib.arange(6.0).requires_grad_()
        shown = OVERLAPPING[name](lib, x)
        (shown * lib.arange(1.0, 1.0 + shown.numel()).view(tuple(shown.shape))).sum().backward()
        both.append(x.grad.tolist())
    assert both[0] == pytest.approx(both[1], rel=1e-6)


def test_a_tensor_grows_back_into_the_memory_that_it_had() -> None:
    both = []
    for lib in (torch, opdsl):
        x = lib.arange(6)
        address = x.data_ptr()
        for size in (2, 3, 6):
            x.resize_(size)
        both.append((x.tolist(), x.data_ptr() == address))
    assert both[0] == both[1]


def test_resize_as_keeps_every_memory_format() -> None:
    strides = []
    for lib in LIBRARIES:
        for size, memory_format in (((2, 3, 4, 5), lib.channels_last), ((2, 3, 4, 5, 6), lib.channels_last_3d)):
            like = lib.empty(size).contiguous(memory_format=memory_format)
            strides.append(tuple(lib.empty(0).resize_as_(like, memory_format=lib.preserve_format).stride()))
    assert strides[:2] == strides[2:]


def test_gradients_of_meta_tensors_whose_results_are_kept() -> None:
    for lib in LIBRARIES:
        x = lib.empty(3, device="meta", requires_grad=True)
        x.erfinv().sum().backward()
        assert x.grad.is_meta and x.grad.shape == (3,)


@pytest.mark.parametrize("name", ("upsample_nearest1d", "_upsample_nearest_exact1d"))
@pytest.mark.parametrize("scale", (None, 0.3, 0.5, 1.7, 2.0, -1.0, float("inf")))
def test_scales_of_neighbours(name: str, scale: float | None) -> None:
    for size in (1, 5, 7):
        for wanted in (1, 3, 9, 14):
            expected, actual = (
                getattr(lib.ops.aten, name)(lib.arange(2.0 * size).view(1, 2, size), [wanted], scale).tolist()
                for lib in LIBRARIES
            )
            assert actual == expected


@pytest.mark.parametrize("scale", (1e-300, 1e-44))
def test_scales_that_lead_beyond_the_elements(scale: float) -> None:
    """Tiny scales never read out of bounds, as PyTorch does."""
    signal = opdsl.arange(1.0, 5.0).view(1, 1, 4)
    for result in (
        opdsl.ops.aten.upsample_nearest1d(signal, [6], scale),
        opdsl.ops.aten._upsample_nearest_exact1d(signal, [6], scale),
    ):
        assert set(result.view(-1).tolist()) <= {1.0, 2.0, 3.0, 4.0}


@pytest.mark.parametrize("device", ("cpu:7", "cpu:0", "meta:3"))
def test_devices_that_are_one_have_no_index(device: str) -> None:
    for lib in LIBRARIES:
        for _ in range(2):
            tensors = (
                lib.randperm(3, device=device),
                lib.zeros(2).to(device),
                lib.empty_like(lib.ones(2), device=device),
            )
            assert [str(tensor.device) for tensor in tensors] == [device.partition(":")[0]] * 3


@pytest.mark.parametrize("counts", ([2**61, 2**61], [2**62] * 4, [2**63 - 1, 2]))
def test_positions_that_are_repeated_too_often(counts: list[int]) -> None:
    """Repeat counts whose sum overflows are rejected, also if the sum wraps to 0."""
    with pytest.raises(RuntimeError):
        torch.repeat_interleave(torch.tensor(counts[:2]))
    with pytest.raises(opdsl.errors.ShapeError, match="overflow"):
        opdsl.repeat_interleave(opdsl.tensor(counts))


def test_fft_of_negative_lengths() -> None:
    for lib, error in ((torch, RuntimeError), (opdsl, opdsl.errors.ShapeError)):
        with pytest.raises(error):
            lib.ops.aten._fft_c2r(lib.ones(3, 2, dtype=lib.complex128), [0], 0, -2)


PARTS = {
    "chunk": lambda x, parts: x.chunk(parts),
    "unsafe_chunk": lambda x, parts: x.unsafe_chunk(parts),
    "tensor_split": lambda x, parts: x.tensor_split(parts),
    "hsplit": lambda x, parts: x.hsplit(parts),
    "split": lambda x, parts: x.new_empty(parts, 0, device="meta").split(1),
    "unbind": lambda x, parts: x.new_empty(parts, 0, device="meta").unbind(),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("parts", (2**31, 2**60))
def test_splits_into_too_many_parts(name: str, parts: int) -> None:
    with pytest.raises(OutOfMemoryError, match=f"a list of {parts} tensors"):
        PARTS[name](opdsl.ones(0), parts)
