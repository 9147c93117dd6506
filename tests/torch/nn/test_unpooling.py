"""Tests of fractional pooling and unpooling, compared with PyTorch's."""

import pytest
import torch

import opdsl
import opdsl.nn.functional as F
from opdsl.errors import PositionError

CASES = [
    ((7, 8), (2, 3), (3, 4)),
    ((9, 9), (3, 3), (7, 1)),
    ((9, 9), (3, 3), (0, 1)),
    ((6, 7, 8), (2, 3, 2), (3, 2, 5)),
    ((6, 7, 8), (2, 3, 2), (1, 0, 0)),
]


@pytest.mark.parametrize("batch", [(2,), ()])
@pytest.mark.parametrize(("size", "kernel", "count"), CASES)
def test_fractional_max_pool_is_pytorchs(batch: tuple[int, ...], size, kernel, count) -> None:
    name = f"fractional_max_pool{len(size)}d"
    image = torch.randn(*batch, 3, *size, dtype=torch.float64)
    shifts = torch.rand(2, 3, len(size), dtype=torch.float64)
    wanted = getattr(torch.ops.aten, name)(image, kernel, count, shifts)
    own = opdsl.from_dlpack(image)
    actual = getattr(opdsl.ops.aten, name)(own, kernel, count, opdsl.from_dlpack(shifts))
    assert [part.tolist() for part in actual] == [part.tolist() for part in wanted]
    gradient = torch.randn_like(wanted[0])
    wanted = getattr(torch.ops.aten, f"{name}_backward")(gradient, image, kernel, count, wanted[1])
    back = getattr(opdsl.ops.aten, f"{name}_backward")
    actual = back(opdsl.from_dlpack(gradient), own, kernel, count, actual[1])
    torch.testing.assert_close(torch.from_dlpack(actual), wanted)


def test_unpooling_keeps_the_memory_format() -> None:
    image = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    pooled, places = torch.nn.functional.max_pool2d(image, 2, return_indices=True)
    wanted = torch.ops.aten.max_unpool2d(pooled, places, (4, 4))
    actual = opdsl.ops.aten.max_unpool2d(opdsl.from_dlpack(pooled), opdsl.from_dlpack(places), (4, 4))
    assert actual.tolist() == wanted.tolist() and actual.stride() == wanted.stride()


def test_unpooling_refuses_indices_out_of_bounds() -> None:
    with pytest.raises(PositionError):
        opdsl.ops.aten.max_unpool2d(opdsl.ones(1, 1, 1), opdsl.full((1, 1, 1), 16), (4, 4))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_unpooling_an_empty_batch(dims: int) -> None:
    x = opdsl.ones(0, 2, *(4,) * dims, requires_grad=True)
    pooled, places = getattr(F, f"max_pool{dims}d")(x, 2, return_indices=True)
    getattr(F, f"max_unpool{dims}d")(pooled, places, 2).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
