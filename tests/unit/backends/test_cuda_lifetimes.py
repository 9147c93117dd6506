"""Tests of when memory, events and objects of other libraries are released, on an emulated driver."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda import allocator
from tests.emulation.driver import EmulatedDriver

ROOT = Path(__file__).parents[3]


def test_every_stream_that_reads_a_block_is_known(cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(allocator.Uses):
        """Record of uses whose creation lets other threads run, so that two threads may both create one."""

        def __init__(self, writer: opdsl.cuda.Stream) -> None:
            time.sleep(0.001)
            super().__init__(writer)

    monkeypatch.setattr(allocator, "Uses", Slow)
    streams = [opdsl.cuda.Stream() for _ in range(4)]
    tensors = [opdsl.ones(4, device="cuda") for _ in range(20)]
    barrier = threading.Barrier(len(streams), timeout=60)

    def read(stream: opdsl.cuda.Stream) -> None:
        for tensor in tensors:
            barrier.wait()
            tensor.record_stream(stream)

    threads = [threading.Thread(target=read, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(tensor.array.block.uses.readers) for tensor in tensors] == [len(streams)] * len(tensors)


class Producer:
    """Owner of another library's memory, which reuses the memory once no tensor refers to it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return self.tensor.__cuda_array_interface__


@pytest.mark.parametrize("on_side", [False, True])
def test_memory_of_others_is_held_until_it_is_no_longer_used(cuda: EmulatedDriver, on_side: bool) -> None:
    producer = Producer(opdsl.ones(10).cuda())
    gone = weakref.ref(producer)
    side = opdsl.cuda.Stream()
    taken = opdsl.cuda.from_cuda_array(producer)
    del producer
    with side if on_side else opdsl.cuda.current_stream():
        result = taken * 2
    del taken
    gc.collect()
    assert gone() is not None
    opdsl.cuda.synchronize()
    assert gone() is None
    assert result.tolist() == [2] * 10


def test_nothing_of_others_is_kept_where_all_is_done(cuda: EmulatedDriver) -> None:
    producer = Producer(opdsl.ones(10).cuda())
    opdsl.cuda.synchronize()
    gone = weakref.ref(producer)
    taken = opdsl.cuda.from_cuda_array(producer)
    opdsl.cuda.synchronize()
    del producer, taken
    opdsl.empty(3, device="cuda")
    opdsl.cuda.synchronize()
    assert gone() is None


def test_pinning_no_elements(cuda: EmulatedDriver) -> None:
    assert opdsl.empty(0).pin_memory().is_pinned()
    assert all(size > 0 for (size,) in cuda.named("allocate_host"))


def test_pinned_memory_comes_back(cuda: EmulatedDriver) -> None:
    held = opdsl.ones(1000).pin_memory().to("cuda", non_blocking=True)
    opdsl.cuda.empty_cache()
    assert not cuda.named("free_host")  # the copy has not run yet
    opdsl.cuda.synchronize()
    opdsl.cuda.empty_cache()
    assert len(cuda.named("free_host")) == len(cuda.named("allocate_host")) == 1
    assert held.sum().item() == 1000


def test_events_are_queried_on_their_device(cuda: EmulatedDriver) -> None:
    with opdsl.cuda.device(1):
        start, end = opdsl.cuda.Event(enable_timing=True), opdsl.cuda.Event(enable_timing=True)
        start.record()
        end.record()
        opdsl.cuda.synchronize()
    for ask in (start.query, lambda: start.elapsed_time(end), start.__del__):
        cuda.activate(0)
        ask()
        assert cuda.current == 1


FORKED = """
import gc, os, sys
import opdsl
from tests.emulation.driver import EmulatedDriver

with EmulatedDriver().installed():
    held = [opdsl.cuda.Event(), opdsl.cuda.Stream(), opdsl.ones(3).cuda(), opdsl.ones(3).pin_memory()]
    held[0].record()
    with held[1]:
        held[2] + 1
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        held.clear()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_what_dies_after_a_fork_says_nothing(cuda: EmulatedDriver) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_streams_end_after_what_dies_with_them(cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", failures.append)

    class Garbage:
        """Reference cycle of CUDA objects, whose finalizers run in any order."""

        def __init__(self) -> None:
            self.itself = self
            self.stream = opdsl.cuda.Stream()
            with self.stream:
                self.tensor = opdsl.ones(10, device="cuda")
            self.other = self.tensor + 1
            self.run = opdsl.cuda.graph(lambda x: x * 2 + self.other)
            self.result = self.run(self.other)

    for _ in range(5):
        Garbage()
        cuda.calls.clear()
        gc.collect()
        opdsl.cuda.empty_cache()
        names = [call.name for call in cuda.calls if call.name not in ("synchronize_stream", "trim", "launch")]
        destroyed = {stream for (stream,) in cuda.named("destroy_stream")}
        assert len(destroyed) == 2
        gone: set[int] = set()
        for call in cuda.calls:
            assert gone.isdisjoint(call.arguments), (call, names)
            gone |= set(call.arguments) if call.name == "destroy_stream" else set()
    assert failures == [] and opdsl.cuda.memory_allocated() == 0
