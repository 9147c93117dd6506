"""Tests of the CUDA runtime through its user interface; tests/unit/backends/test_cuda_runtime.py checks it call by
call.
"""

# Declarations have no bodies:
# mypy: disable-error-code="empty-body, no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import threading

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.errors import DeviceError, DriverError, OutOfMemoryError


def test_the_device_says_what_it_is() -> None:
    result = opdsl.cuda.get_device_properties()
    assert result.name and result.capability >= (7, 5)
    assert result.total_memory >= opdsl.cuda.mem_get_info()[0] > 0


def test_an_operator_computes(large: int) -> None:
    x = opdsl.arange(float(large))
    assert (x.cuda() * 2 + 1).cpu().tolist() == (x * 2 + 1).tolist()


def test_more_than_32_bits_of_elements() -> None:
    free, _ = opdsl.cuda.mem_get_info()
    count = (1 << 32) + 5
    if free < 3 * count:
        pytest.skip(f"needs {3 * count} bytes of free memory")
    x = opdsl.zeros(count, dtype=opdsl.uint8, device="cuda")
    y = x + 7
    assert (y[-3:].tolist(), y[:2].tolist()) == ([7, 7, 7], [7, 7])


def test_streams_wait_for_each_other(large: int) -> None:
    x = opdsl.ones(large).cuda()
    streams = [opdsl.cuda.Stream() for _ in range(4)]
    for turn in range(40):
        with streams[turn % 4]:
            x = x + 1
    assert (x.min().item(), x.max().item()) == (41, 41)


def test_memory_is_not_overwritten_while_another_stream_reads_it(large: int) -> None:
    side = opdsl.cuda.Stream()
    for _ in range(20):
        x = opdsl.full((large,), 3.0).cuda()
        with side:
            y = x * 2
        del x
        opdsl.zeros(large, device="cuda").fill_(-1)
        assert (y.min().item(), y.max().item()) == (6, 6)


def test_copies_that_do_not_wait(large: int) -> None:
    pinned = opdsl.arange(float(large)).pin_memory()
    y = (pinned.to("cuda", non_blocking=True) + 1).to("cpu", non_blocking=True)
    assert pinned.is_pinned() and y.is_pinned()
    opdsl.cuda.synchronize()
    assert y[-1].item() == large


def test_freed_memory_is_used_again(large: int) -> None:
    gc.collect()
    before = opdsl.cuda.memory_reserved()
    for _ in range(50):
        opdsl.empty(large, device="cuda")
    assert opdsl.cuda.memory_reserved() <= before + 2 * 4 * large + 1024


def test_out_of_memory_is_an_error_that_goes_away() -> None:
    _, total = opdsl.cuda.mem_get_info()
    with pytest.raises(OutOfMemoryError, match="CUDA out of memory on cuda:0"):
        opdsl.empty(2 * total, dtype=opdsl.uint8, device="cuda")
    assert opdsl.ones(3).cuda().sum().item() == 3


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(DeviceError, match="there is no device"):
        opdsl.empty(2, device=f"cuda:{opdsl.cuda.device_count()}")


def test_events_measure_time(large: int) -> None:
    start, end = opdsl.cuda.Event(enable_timing=True), opdsl.cuda.Event(enable_timing=True)
    x = opdsl.ones(large).cuda()
    start.record()
    for _ in range(10):
        x = x + 1
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_threads_compute_on_streams_of_their_own() -> None:
    results: dict[int, float] = {}

    def run(k: int) -> None:
        with opdsl.cuda.Stream():
            x = opdsl.full((1000,), float(k)).cuda()
            for _ in range(100):
                x = x + 1
            results[k] = x.sum().item()  # type: ignore[assignment]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: 1000.0 * (k + 100) for k in range(8)}


def test_graphs_give_what_the_function_gives() -> None:
    weight = opdsl.arange(1000.0).cuda()

    def formula(x: Tensor) -> Tensor:
        for _ in range(20):
            x = (x + weight) * 0.5
        return x.softmax(0)

    run = opdsl.cuda.graph(formula)
    for shift in (0.0, 1.0, 2.0):
        x = opdsl.arange(1000.0).cuda() + shift
        assert run(x).tolist() == formula(x).tolist()


def test_what_waits_cannot_be_captured() -> None:
    run = opdsl.cuda.graph(lambda x: x * x.sum().item())
    with pytest.raises(DriverError, match="waited for the device"):
        run(opdsl.ones(3).cuda())
    assert opdsl.ones(3).cuda().sum().item() == 3


def test_a_kernel_of_an_author() -> None:
    source = """
    extern "C" __global__ void shifted(const self_t* self, double by, out_t* out, long long out_numel) {
        const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
        if (at < out_numel) {
            store(out[at], load(self[at]) + static_cast<float>(by));
        }
    }
    """
    with Library("testgpu") as lib:

        @lib.op(out=True)
        def shifted(self: Tensor, by: float) -> Tensor: ...

        @shifted.meta
        def shifted_meta(ctx, self, by):
            ctx.set_output(0, self.shape, like=self)

        @shifted.out_kernel("CUDA", source=source, entry="shifted")
        def shifted_cuda(tensors, scalars):
            return (-(-tensors["out"].numel() // 256),), (256,), 0

        for dtype in (opdsl.float32, opdsl.float16, opdsl.bfloat16):
            assert shifted(opdsl.arange(1000).to(dtype).cuda(), 1.0).sum(dtype=opdsl.float32).item() > 0
        assert shifted(opdsl.arange(5.0).cuda(), 2.5).tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_matrix_products(dtype: str) -> None:
    x = (opdsl.arange(64 * 48) % 5 - 2).to(getattr(opdsl, dtype)).reshape(64, 48)
    try:
        result = x.cuda().t() @ x.cuda()
    except opdsl.errors.MissingDependencyError as error:
        pytest.skip(str(error))
    assert result.tolist() == (x.t() @ x).tolist()
