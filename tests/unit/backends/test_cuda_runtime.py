"""Tests of the host side of the CUDA backend on an emulated driver: memory, streams, copies, launches.

Work queued there runs only when something waits for it, so that a missing wait leads to a wrong number.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.backends.cuda import allocator
from opdsl.errors import DeviceError, InterchangeError, NumberError, OptionError, OutOfMemoryError
from tests.emulation.driver import EmulatedDriver


def values(tensor: Tensor) -> list[float]:
    numbers: list[float] = tensor.cpu().tolist()
    return numbers


def names(driver: EmulatedDriver) -> list[str]:
    return [call.name for call in driver.calls]


# -------------------------------------------------------------------------------------------------------------- launch


def test_an_operator_computes_on_the_device(cuda: EmulatedDriver) -> None:
    x, y = opdsl.arange(6.0).reshape(2, 3), opdsl.ones(3)
    assert values(opdsl.add(x.cuda(), y.cuda(), alpha=2)) == (x + 2 * y).tolist()


def test_a_repeated_call_launches_and_does_nothing_else(cuda: EmulatedDriver) -> None:
    x = opdsl.arange(6.0).cuda()
    for _ in range(3):
        y = x * x
    cuda.calls.clear()
    y = x * x
    assert names(cuda) == ["launch"]
    assert values(y) == [0, 1, 4, 9, 16, 25]


def test_a_kernel_is_loaded_once_for_all_shapes(cuda: EmulatedDriver) -> None:
    for size in (3, 5, 300):
        opdsl.ones(size).cuda().rsqrt()
    assert len(cuda.named("load")) <= 1


@pytest.mark.parametrize(("begin", "kernel"), [(0, "vectors"), (1, "strided")])
def test_the_alignment_of_the_arrays_chooses_the_kernel(cuda: EmulatedDriver, begin: int, kernel: str) -> None:
    base = opdsl.arange(9.0).cuda()[begin : begin + 8]
    cuda.calls.clear()
    y = base + base
    assert [call[0] for call in cuda.named("launch")] == [kernel]
    assert values(y) == [2.0 * index for index in range(begin, begin + 8)]


def test_strides_broadcasting_and_numbers_arrive(cuda: EmulatedDriver) -> None:
    x = opdsl.arange(12.0).reshape(3, 4)
    expected = (x.t()[:, ::2] * 2.5 + opdsl.tensor([[10.0]])).tolist()
    assert values(x.cuda().t()[:, ::2] * 2.5 + opdsl.tensor([[10.0]]).cuda()) == expected


def test_complex_numbers_arrive(cuda: EmulatedDriver) -> None:
    assert values(opdsl.tensor([1 + 2j, 3]).cuda() * 2j) == [-4 + 2j, 6j]


def test_a_cpu_number_stands_beside_device_tensors(cuda: EmulatedDriver) -> None:
    assert values(opdsl.ones(2).cuda() * opdsl.tensor(3.0)) == [3, 3]


def test_outputs_that_are_given_are_written(cuda: EmulatedDriver) -> None:
    x, out = opdsl.arange(4.0).cuda(), opdsl.empty(0, device="cuda")
    assert opdsl.exp(x * 0, out=out) is out
    assert values(out) == [1, 1, 1, 1]


def test_in_place_through_a_view(cuda: EmulatedDriver) -> None:
    x = opdsl.zeros((2, 3), device="cuda")
    x[:, 1].add_(5)
    assert values(x) == [[0, 5, 0], [0, 5, 0]]


def test_a_number_that_does_not_fit_is_the_cpus_error(cuda: EmulatedDriver) -> None:
    with pytest.raises(NumberError):
        opdsl.tensor([1], dtype=opdsl.int8).cuda().add_(1, alpha=1000)


def test_a_number_too_large_in_a_repeated_call(cuda: EmulatedDriver) -> None:
    x = opdsl.tensor([1], dtype=opdsl.int32).cuda()
    for _ in range(3):
        x + 1
    with pytest.raises(RuntimeError):
        x + (1 << 70)


def test_threads_share_a_plan(cuda: EmulatedDriver) -> None:
    xs = [opdsl.full((64,), float(k)).cuda() for k in range(8)]
    xs[0] + 1
    results: list[list[float]] = [[] for _ in xs]

    def run(k: int) -> None:
        results[k] = values(xs[k] + k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2.0 * k] * 64 for k in range(8)]


# -------------------------------------------------------------------------------------------------------------- memory


def test_freed_memory_is_used_again_on_its_stream(cuda: EmulatedDriver) -> None:
    address = opdsl.empty(100, device="cuda").data_ptr()
    assert opdsl.empty(100, device="cuda").data_ptr() == address
    assert len(cuda.named("allocate")) == 1


def test_freed_memory_is_not_handed_to_another_stream(cuda: EmulatedDriver) -> None:
    address = opdsl.empty(100, device="cuda").data_ptr()
    with opdsl.cuda.Stream():
        assert opdsl.empty(100, device="cuda").data_ptr() != address


def test_statistics_count_what_is_in_use(cuda: EmulatedDriver) -> None:
    x = opdsl.empty(1024, device="cuda")
    assert (opdsl.cuda.memory_allocated(), opdsl.cuda.memory_reserved()) == (4096, 4096)
    del x
    assert (opdsl.cuda.memory_allocated(), opdsl.cuda.max_memory_allocated()) == (0, 4096)
    assert (opdsl.cuda.memory_reserved(), opdsl.cuda.max_memory_reserved()) == (4096, 4096)


def test_an_empty_cache_gives_memory_back(cuda: EmulatedDriver) -> None:
    opdsl.empty(1024, device="cuda")
    before = cuda.in_use
    opdsl.cuda.empty_cache()
    assert before - cuda.in_use == 4096


def test_out_of_memory_gives_the_cache_back_and_tries_again(cuda: EmulatedDriver) -> None:
    opdsl.empty(40 << 20, device="cuda")
    assert opdsl.empty(45 << 20, device="cuda").shape == (45 << 20,)


def test_out_of_memory_says_what_there_is(cuda: EmulatedDriver) -> None:
    kept = opdsl.empty(32 << 20, device="cuda")
    with pytest.raises(
        OutOfMemoryError, match=r"cuda:0: tried to allocate 384\.0 MiB, 12[78]\.\d MiB of 256\.0 MiB are"
    ):
        opdsl.empty(96 << 20, device="cuda")
    assert kept.numel() == 32 << 20


def test_a_view_keeps_the_memory(cuda: EmulatedDriver) -> None:
    view = (opdsl.arange(4.0).cuda() * 2)[1:]
    opdsl.empty(4, device="cuda").fill_(-1)
    assert values(view) == [2, 4, 6]


# ------------------------------------------------------------------------------------------------------------- streams


def test_a_stream_waits_for_what_it_reads(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()
    with opdsl.cuda.Stream():
        y = x + 1
    assert values(y * 2) == [4] * 8


def test_writing_waits_for_readers_on_other_streams(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()
    side = opdsl.cuda.Stream()
    with side:
        y = x + 1
    x.fill_(100)
    opdsl.cuda.current_stream().synchronize()
    side.synchronize()
    assert values(y) == [2] * 8


def test_readers_do_not_wait_for_each_other(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()
    first, second = opdsl.cuda.Stream(), opdsl.cuda.Stream()
    with first:
        x + 1
    with second:
        x + 2
    cuda.calls.clear()
    with first:
        x + 3
    assert "wait_event" not in names(cuda)


def test_memory_that_another_stream_still_reads_is_not_overwritten(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(1000).cuda() * 3
    side = opdsl.cuda.Stream()
    with side:
        y = x + 1
    address = x.data_ptr()
    del x
    z = opdsl.zeros(1000, device="cuda")
    assert z.data_ptr() == address
    opdsl.cuda.current_stream().synchronize()
    assert values(y) == [4] * 1000


def test_record_stream_keeps_memory_for_foreign_work(cuda: EmulatedDriver) -> None:
    side = opdsl.cuda.Stream()
    x = opdsl.ones(10).cuda()
    x.record_stream(side)
    cuda.calls.clear()
    del x
    assert [call[0] for call in cuda.named("wait_event")] == [0]


def test_the_current_stream_belongs_to_the_thread(cuda: EmulatedDriver) -> None:
    handles = []
    with opdsl.cuda.Stream():
        thread = threading.Thread(target=lambda: handles.append(opdsl.cuda.current_stream().handle))
        thread.start()
        thread.join()
    assert handles == [0]


def test_streams_nest(cuda: EmulatedDriver) -> None:
    one, two = opdsl.cuda.Stream(), opdsl.cuda.Stream(device=1)
    with opdsl.cuda.stream(one):
        with two, one:
            assert opdsl.cuda.current_device() == 0
        assert opdsl.cuda.current_stream() is one
        assert opdsl.cuda.current_stream(1).handle == 0
    assert opdsl.cuda.current_stream().handle == 0


def test_a_stream_of_another_library_is_current(cuda: EmulatedDriver) -> None:
    class Foreign:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 4711

    x = opdsl.ones(3).cuda()
    cuda.calls.clear()
    with opdsl.cuda.Stream.of(Foreign()):
        x + 1
    assert cuda.named("launch")[0][-1] == 4711


def test_a_stream_is_one_to_other_libraries(cuda: EmulatedDriver) -> None:
    stream = opdsl.cuda.Stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert opdsl.cuda.Stream.of(stream).handle == stream.handle


def test_what_is_no_stream_is_refused(cuda: EmulatedDriver) -> None:
    with pytest.raises(InterchangeError, match="__cuda_stream__"):
        opdsl.cuda.Stream.of("stream")


def test_events_measure_time(cuda: EmulatedDriver) -> None:
    start, end = opdsl.cuda.Event(enable_timing=True), opdsl.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert not end.query()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) == 1.5


def test_events_without_timing_measure_none(cuda: EmulatedDriver) -> None:
    event = opdsl.cuda.Event()
    event.record()
    with pytest.raises(OptionError, match="enable_timing=True"):
        event.elapsed_time(event)


# -------------------------------------------------------------------------------------------------------------- copies


def test_a_copy_to_the_host_is_complete(cuda: EmulatedDriver) -> None:
    assert (opdsl.arange(4.0).cuda() * 2).cpu().tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "float64", "complex64"])
def test_there_and_back(cuda: EmulatedDriver, dtype: str) -> None:
    x = opdsl.tensor([[1, 0, 3], [4, 5, 6]], dtype=getattr(opdsl, dtype))
    back = x.t().cuda().cpu()
    assert back.tolist() == x.t().tolist()
    assert (back.dtype, back.strides) == (x.dtype, x.t().strides)


def test_what_has_gaps_is_made_dense_before_it_moves(cuda: EmulatedDriver) -> None:
    x = opdsl.arange(4096.0).cuda()[::1024]
    cuda.calls.clear()
    assert values(x) == [0, 1024, 2048, 3072]
    assert cuda.named("copy")[0][2] == 16


@pytest.mark.parametrize("read", [lambda x: x.tolist(), lambda x: x.cpu().tolist()])
def test_copies_to_the_host_skip_bytes_between_elements(cuda: EmulatedDriver, read: Callable[[Tensor], object]) -> None:
    table = opdsl.arange(64.0 * 4096).reshape(64, 4096)
    column = table.cuda()[:, 7]
    cuda.calls.clear()
    assert read(column) == table[:, 7].tolist()
    assert [size for *_, size, _ in cuda.named("copy")] == [64 * 4]


def test_a_copy_that_does_not_wait_is_done_later(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(4).cuda() + 1
    y = x.to("cpu", non_blocking=True)
    assert y.is_pinned()
    before = y.tolist()
    opdsl.cuda.synchronize()
    assert before != y.tolist() == [2, 2, 2, 2]


def test_page_locked_memory_waits_for_copies_before_it_is_used_again(cuda: EmulatedDriver) -> None:
    pinned = opdsl.arange(8.0).pin_memory()
    address, y = pinned.data_ptr(), pinned.to("cuda", non_blocking=True)
    del pinned
    assert opdsl.empty(8, pin_memory=True).data_ptr() != address
    opdsl.cuda.synchronize()
    assert opdsl.empty(8, pin_memory=True).data_ptr() == address
    assert values(y) == list(range(8))


def test_pinned_tensors_stay_themselves(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(3).pin_memory()
    assert x.pin_memory() is x
    assert x[1:].is_pinned() and not opdsl.ones(3).is_pinned()


def test_tensors_on_a_device_are_not_pinned(cuda: EmulatedDriver) -> None:
    with pytest.raises(DeviceError, match="Only dense CPU tensors can be pinned"):
        opdsl.ones(3).cuda().pin_memory()


def test_to_the_same_device_is_the_tensor_itself(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(3).cuda()
    assert x.to("cuda") is x and x.cuda() is x and x.cuda(0) is x


def test_data_is_copied_from_a_device(cuda: EmulatedDriver) -> None:
    assert opdsl.tensor(opdsl.ones(2).cuda()).tolist() == [1, 1]
    assert opdsl.tensor([1, 2], device="cuda").device == opdsl.Device("cuda:0")


# ------------------------------------------------------------------------------------------------------------- devices


def test_a_device_without_an_index_is_the_current_one(cuda: EmulatedDriver) -> None:
    devices = [opdsl.empty(2, device="cuda").device.index for _ in range(2)]
    with opdsl.cuda.device(1):
        devices += [opdsl.empty(2, device="cuda").device.index for _ in range(2)]
        devices.append(opdsl.ones(2).cuda().device.index)
    devices.append(opdsl.empty(2, device="cuda").device.index)
    assert devices == [0, 0, 1, 1, 1, 0]


def test_kernels_run_on_the_device_of_their_tensors(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(3).to("cuda:1")
    y = x + 1
    assert y.device.index == 1 and values(y) == [2, 2, 2]


def test_a_kernels_device_is_the_current_one(cuda: EmulatedDriver) -> None:
    devices = []
    with Library("testcudadevices") as lib:

        @lib.op
        def where_am_i(self: Tensor) -> Tensor:
            """Record the current device, and return a copy."""
            ...

        @where_am_i.kernel("CUDA")
        def where_am_i_cuda(self):
            devices.append(opdsl.cuda.current_device())
            return self.clone()

        where_am_i(opdsl.ones(2).cuda(1))
    assert devices == [1] and opdsl.cuda.current_device() == 0


def test_tensors_move_between_devices(cuda: EmulatedDriver) -> None:
    x = opdsl.arange(3.0).cuda() + 1
    y = x.to("cuda:1") * 2
    assert len(cuda.named("copy_peer")) == 1
    assert values(y) == [2, 4, 6]


def test_tensors_of_two_devices_do_not_meet(cuda: EmulatedDriver) -> None:
    with pytest.raises(DeviceError, match="at least two devices, cuda:0 and cuda:1"):
        opdsl.ones(2).cuda(0) + opdsl.ones(2).cuda(1)


def test_a_device_that_is_not_there(cuda: EmulatedDriver) -> None:
    with pytest.raises(DeviceError, match=r"there is no device 'cuda:2': this machine has 2 \(have cuda:0 to cuda:1\)"):
        opdsl.empty(2, device="cuda:2")


def test_properties_are_told(cuda: EmulatedDriver) -> None:
    assert opdsl.cuda.device_count() == 2 and opdsl.cuda.is_available()
    assert opdsl.cuda.get_device_name(1) == "Fake GPU 1"
    assert opdsl.cuda.get_device_properties().architecture == "sm_90"


def test_nothing_of_cuda_is_loaded_without_it() -> None:
    script = (
        "import sys, opdsl; opdsl.ones(3) + 1; x = opdsl.cuda; "
        "print([each for each in sys.modules if each == 'cuda' or each.startswith('cuda.')])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.skipif(opdsl.cuda.is_available(), reason="there is a GPU")
def test_without_a_driver_the_device_fails_with_one_sentence() -> None:
    for make in (lambda: opdsl.empty(2, device="cuda"), lambda: opdsl.ones(2).cuda()):
        with pytest.raises(DeviceError, match="no NVIDIA driver"):
            make()


# --------------------------------------------------------------------------------------------------------- interchange


def test_the_array_interface_shares_memory(cuda: EmulatedDriver) -> None:
    x = opdsl.arange(6.0).cuda().reshape(2, 3).t()

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__

    y = opdsl.as_tensor(Foreign(), device="cuda")
    y.add_(1)
    assert values(x) == [[1, 4], [2, 5], [3, 6]]


def test_the_array_interface_says_where_the_elements_lie(cuda: EmulatedDriver) -> None:
    x = opdsl.zeros((2, 3), device="cuda")
    assert x.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (x.data_ptr(), False),
        "strides": (12, 4),
        "stream": 1,
        "version": 3,
    }


def test_tensors_on_the_cpu_have_no_array_interface() -> None:
    assert not hasattr(opdsl.ones(2), "__cuda_array_interface__")


def test_bfloat16_goes_by_dlpack_only(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(2, dtype=opdsl.bfloat16).cuda()
    with pytest.raises(InterchangeError, match="DLPack"):
        x.__cuda_array_interface__  # noqa: B018
    assert opdsl.from_dlpack(x).dtype is opdsl.bfloat16


def test_the_producers_stream_of_an_array_interface_is_waited_for(cuda: EmulatedDriver) -> None:
    side = opdsl.cuda.Stream()
    with side:
        x = opdsl.ones(4).cuda() * 3

    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__ | {"stream": side.handle}

    assert values(opdsl.cuda.from_cuda_array(Foreign()) + 1) == [4] * 4


def test_dlpack_shares_memory(cuda: EmulatedDriver) -> None:
    base = opdsl.arange(4.0).cuda()
    y = opdsl.from_dlpack(base)
    y[1:].mul_(10)
    assert values(base) == [0, 10, 20, 30]
    assert y.data_ptr() == base.data_ptr()


def test_the_consumers_stream_waits_for_the_tensor(cuda: EmulatedDriver) -> None:
    x, consumer = opdsl.ones(4).cuda() + 1, opdsl.cuda.Stream()
    cuda.calls.clear()
    x.__dlpack__(stream=consumer.handle)
    assert cuda.named("wait_event")[0][0] == consumer.handle


@pytest.mark.parametrize("stream", [-1, 1, None])
def test_no_wait_for_the_same_stream_or_where_none_is_asked_for(cuda: EmulatedDriver, stream: int | None) -> None:
    x = opdsl.ones(4).cuda() + 1
    cuda.calls.clear()
    x.__dlpack__(stream=stream)
    assert "wait_event" not in names(cuda)


def test_stream_zero_is_ambiguous(cuda: EmulatedDriver) -> None:
    with pytest.raises(InterchangeError, match="names no CUDA stream"):
        opdsl.ones(2).cuda().__dlpack__(stream=0)


def test_dlpack_copies_to_the_cpu_where_it_is_asked_to(cuda: EmulatedDriver) -> None:
    class Mover:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

        def __dlpack__(self, **options: object) -> object:
            return self.tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert np.from_dlpack(Mover(opdsl.arange(3.0).cuda() + 1)).tolist() == [1, 2, 3]  # type: ignore[arg-type]


def test_an_unfinished_capsule_lets_the_memory_go(cuda: EmulatedDriver) -> None:
    capsule = opdsl.ones(4).cuda().__dlpack__()
    held = opdsl.cuda.memory_allocated()
    del capsule
    assert (held, opdsl.cuda.memory_allocated()) == (512, 0)


# --------------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("size", [1, 511, 513, 4097, 1 << 20, (1 << 20) + 1, 123_456_789])
def test_blocks_waste_an_eighth_at_most(size: int) -> None:
    whole = allocator.rounded(size)
    assert size <= whole <= max(512, size + size // 8 + 512) and whole % 512 == 0


# -------------------------------------------------------------------------------------------------------------- plans


def test_no_elements_launch_nothing(cuda: EmulatedDriver) -> None:
    x = opdsl.empty((0, 3), device="cuda")
    assert [(1 - x).shape for _ in range(3)] == [(0, 3)] * 3
    assert "launch" not in names(cuda)


def test_views_of_repeated_calls(cuda: EmulatedDriver) -> None:
    base = opdsl.arange(24.0).cuda().view(4, 6)
    for _ in range(3):
        y = base[1:].t()[2]
    assert values(y) == [8, 14, 20]
    assert y._base is not None and y._base.data_ptr() == base.data_ptr()
    assert y.data_ptr() - base.data_ptr() == 4 * 8


def test_a_view_of_no_elements(cuda: EmulatedDriver) -> None:
    x = opdsl.ones((3, 0), device="cuda")
    assert [x.view(0, 3).shape for _ in range(3)] == [(0, 3)] * 3


def test_plans_on_another_device_enter_it(cuda: EmulatedDriver) -> None:
    devices = []
    with Library("testcudaplans") as lib:

        @lib.op
        def where_am_i(self: Tensor) -> Tensor:
            """Record the current device, and return a copy."""
            ...

        @where_am_i.kernel("CUDA")
        def where_am_i_cuda(self):
            devices.append(opdsl.cuda.current_device())
            return self.clone()

        x, y = opdsl.ones(2).cuda(1), opdsl.ones(2).cuda(0)
        for _ in range(3):
            where_am_i(x)
        with opdsl.cuda.device(1):
            for _ in range(3):
                where_am_i(x)
                where_am_i(y)
    assert devices == [1, 1, 1, 1, 0, 1, 0, 1, 0]


def test_a_forked_process_raises_an_error(cuda: EmulatedDriver) -> None:
    opdsl.ones(2).cuda()
    child = os.fork()
    if child == 0:
        try:
            opdsl.ones(2).cuda()
        except DeviceError as error:
            os._exit(0 if "forked after CUDA was started" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
