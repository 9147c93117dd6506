"""Tests of antialiased upsampling, compared with PyTorch's; bytes are equal bit for bit."""

import pytest
import torch

import opdsl
import opdsl.nn.functional as F
from opdsl.errors import UnsupportedModeError

SIZES = [((7, 5), (3, 4)), ((4, 6), (9, 13)), ((8, 8), (3, 12)), ((5, 5), (1, 1)), ((3, 3), (3, 3))]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_images_and_gradients_are_pytorchs(mode: str, aligned: bool) -> None:
    ours, theirs = (getattr(lib.ops.aten, f"_upsample_{mode}2d_aa") for lib in (opdsl, torch))
    back, their_back = (getattr(lib.ops.aten, f"_upsample_{mode}2d_aa_backward") for lib in (opdsl, torch))
    for before, after in SIZES:
        for scales in ((None, None), (2.5, 3.0)):  # with smaller scales PyTorch reads out of bounds
            image = torch.randn(2, 3, *before, dtype=torch.float64)
            wanted = theirs(image, after, aligned, *scales)
            actual = ours(opdsl.from_dlpack(image), after, aligned, *scales)
            torch.testing.assert_close(torch.from_dlpack(actual), wanted)
            seed = opdsl.from_dlpack(wanted)
            actual = back(seed, after, (2, 3, *before), aligned, *scales)
            wanted = their_back(wanted, after, (2, 3, *before), aligned, *scales)
            torch.testing.assert_close(torch.from_dlpack(actual), wanted)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_bytes_are_pytorchs(mode: str) -> None:
    ours, theirs = (getattr(lib.ops.aten, f"_upsample_{mode}2d_aa") for lib in (opdsl, torch))
    shrunk = [size for size in SIZES if size[1] != (1, 1)]  # PyTorch's own check fails for these
    for before, after in (*shrunk, ((64, 48), (20, 31))):
        image = torch.randint(0, 256, (2, 3, *before), dtype=torch.uint8)
        result = ours(opdsl.from_dlpack(image), after, False)
        assert torch.equal(torch.from_dlpack(result), theirs(image, after, False))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolate_takes_antialias(mode: str) -> None:
    image = torch.randn(1, 2, 6, 8)
    for sizes in ({"size": (3, 5)}, {"scale_factor": 0.5}):
        resized = F.interpolate(opdsl.from_dlpack(image), **sizes, mode=mode, antialias=True)
        wanted = torch.nn.functional.interpolate(image, **sizes, mode=mode, antialias=True)
        torch.testing.assert_close(torch.from_dlpack(resized), wanted)
    with pytest.raises(UnsupportedModeError, match="antialias=True takes the modes bilinear, bicubic"):
        F.interpolate(opdsl.from_dlpack(image), size=(3, 5), antialias=True)
