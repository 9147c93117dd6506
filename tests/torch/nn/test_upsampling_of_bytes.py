"""Tests of resized images of bytes: as in PyTorch, weights have 16 bits, and results of each dimension are rounded."""

from __future__ import annotations

import pytest
import torch

import opdsl
import opdsl.nn.functional as F

# Share of elements with another weight, since PyTorch computes positions in double precision, opdsl in single.
MOST_THAT_DIFFER = 0.005


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("size", "wanted"), [((32, 32), (40, 17)), ((64, 64), (32, 100)), ((16, 16), (31, 5))])
@pytest.mark.parametrize("channels", [3, 8])
def test_bytes_are_those_of_pytorch(
    channels: int, size: tuple[int, int], wanted: tuple[int, int], mode: str, *, aligned: bool
) -> None:
    generator = torch.Generator().manual_seed(channels)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        images = torch.randint(0, 256, (2, channels, *size), dtype=torch.uint8, generator=generator)
        images = images.to(memory_format=memory_format)
        resized = F.interpolate(opdsl.from_dlpack(images), size=wanted, mode=mode, align_corners=aligned)
        expected = torch.nn.functional.interpolate(images, size=wanted, mode=mode, align_corners=aligned)
        assert resized.dtype is opdsl.uint8 and resized.stride() == expected.stride()
        apart = (torch.from_dlpack(resized).int() - expected.int()).abs()
        assert apart.max() <= (1 if mode == "bilinear" else 2)  # bicubic weights may exceed 1
        assert (apart > 0).float().mean() < MOST_THAT_DIFFER


def test_sums_beyond_bytes_are_cut_off() -> None:
    images = torch.tensor([0, 255, 255, 0, 0, 255], dtype=torch.uint8).expand(6, 6).reshape(1, 1, 6, 6).contiguous()
    resized = F.interpolate(opdsl.from_dlpack(images), scale_factor=3, mode="bicubic")
    expected = torch.nn.functional.interpolate(images, scale_factor=3, mode="bicubic")
    assert resized.tolist() == expected.tolist()
