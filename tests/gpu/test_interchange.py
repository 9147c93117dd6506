"""Tests of memory shared with torch, cupy and numba on a GPU; a test is skipped if its library is not installed."""

from __future__ import annotations

from typing import Any

import pytest

import opdsl


@pytest.fixture
def torch() -> Any:
    result = pytest.importorskip("torch")
    if not result.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return result


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "bool", "complex64"])
def test_torch_sees_our_memory(torch: Any, dtype: str) -> None:
    x = opdsl.ones((3, 4), device="cuda").to(getattr(opdsl, dtype))
    y = torch.from_dlpack(x)
    assert y.data_ptr() == x.data_ptr() and y.dtype is getattr(torch, dtype)
    y.zero_()
    torch.cuda.synchronize()
    assert not x.any().item()


def test_we_see_torchs_memory(torch: Any) -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    y = opdsl.from_dlpack(x)
    y.add_(1)
    opdsl.cuda.synchronize()
    assert y.data_ptr() == x.data_ptr() and x.tolist() == y.tolist()


def test_streams_of_both_sides_are_ordered(torch: Any) -> None:
    side = torch.cuda.Stream()
    for _ in range(20):
        x = opdsl.zeros(1 << 22, device="cuda") + 1
        with torch.cuda.stream(side):
            y = torch.from_dlpack(x) + 1
            z = opdsl.from_dlpack(y) + 1
        assert (z.min().item(), z.max().item()) == (3, 3)


def test_a_stream_of_torchs_is_ours(torch: Any) -> None:
    side = torch.cuda.Stream()
    with opdsl.cuda.Stream.of(side), torch.cuda.stream(side):
        x = opdsl.ones(1 << 20).cuda() * 2
        y = torch.from_dlpack(x) * 2
    torch.cuda.synchronize()
    assert y.min().item() == y.max().item() == 4


def test_the_array_interface_with_torch(torch: Any) -> None:
    ours = opdsl.arange(4.0).cuda()
    assert torch.as_tensor(ours, device="cuda").data_ptr() == ours.data_ptr()


def test_cupy_both_ways() -> None:
    cupy = pytest.importorskip("cupy")
    ours = opdsl.arange(6.0).cuda().reshape(2, 3)
    y = cupy.asarray(ours)
    y += 1
    z = opdsl.as_tensor(y, device="cuda")
    assert z.data_ptr() == ours.data_ptr() == y.data.ptr
    assert ours.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_numba_both_ways() -> None:
    pytest.importorskip("numba_cuda")
    from numba import cuda

    ours = opdsl.arange(6.0).cuda()
    y = cuda.as_cuda_array(ours)
    assert y.copy_to_host().tolist() == ours.tolist()
    assert opdsl.as_tensor(y, device="cuda").data_ptr() == ours.data_ptr()


def test_a_numba_cuda_kernel_overrides_an_operator() -> None:
    pytest.importorskip("numba_cuda")
    from numba import cuda

    from opdsl.backends.dsl import numba_cuda_dsl
    from opdsl.dispatch.overrides.overriding import overrides

    @numba_cuda_dsl.launched(lambda self, other: (-(-self.numel() // 128), 128))
    def product_plus_one(self, other, out):  # type: ignore[no-untyped-def]
        at = cuda.grid(1)
        if at < out.size:
            out[at] = self[at] * other[at] + 1

    numba_cuda_dsl.register_op_override("aten", "mul.Tensor", "CUDA", lambda self, other: True, product_plus_one)
    try:
        x = opdsl.arange(300.0).cuda()
        assert opdsl.mul(x, x).tolist() == [index * index + 1.0 for index in range(300)]
    finally:
        for op_override in opdsl.list_op_overrides():
            overrides.remove(op_override)
