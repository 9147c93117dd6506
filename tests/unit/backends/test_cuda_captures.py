"""Tests of memory used in captured graphs, by opdsl and by other libraries, on an emulated driver."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import opdsl
from opdsl import Tensor
from tests.emulation.driver import EmulatedDriver

THEIRS = 4711


def chain(x: Tensor) -> Tensor:
    return ((x + 1).exp() * 2).softmax(0)


def retry_after_out_of_memory() -> None:
    opdsl.empty(40 << 20, device="cuda")
    opdsl.empty(45 << 20, device="cuda")  # fits only after waiting blocks have been returned


@pytest.mark.parametrize("clean", [opdsl.cuda.empty_cache, retry_after_out_of_memory])
def test_a_graph_keeps_its_memory(cuda: EmulatedDriver, clean: Callable[[], None]) -> None:
    run, x = opdsl.cuda.graph(chain), opdsl.arange(1000.0).cuda() / 1000
    expected = run(x).tolist()
    clean()
    opdsl.cuda.synchronize()
    others = [opdsl.full((1000,), 7.0, device="cuda") for _ in range(20)]
    assert run(x).tolist() == expected
    assert {other.sum().item() for other in others} == {7000.0}


def test_what_the_first_run_leaves_is_not_overwritten_by_the_graph(cuda: EmulatedDriver) -> None:
    kept: list[Tensor] = []

    def function(x: Tensor) -> Tensor:
        before = kept.pop() if kept else opdsl.full((4,), 5.0, device="cuda")
        result = x + before
        del before  # in the captured run, the memory of the first run's tensor
        (x * 100).exp()
        kept.append(opdsl.full((4,), 3.0, device="cuda"))
        return result

    run, x = opdsl.cuda.graph(function), opdsl.zeros(4, device="cuda")
    assert run(x).tolist() == run(x).tolist() == run(x).tolist() == [3, 3, 3, 3]


def test_memory_of_a_graph_counts_as_reserved(cuda: EmulatedDriver) -> None:
    before = cuda.in_use  # memory of other tests that has not been waited for
    run, x = opdsl.cuda.graph(chain), opdsl.ones(1000).cuda()
    run(x)
    opdsl.cuda.empty_cache()
    assert opdsl.cuda.memory_reserved() == cuda.in_use - before


def test_results_outlive_their_graph(cuda: EmulatedDriver) -> None:
    before = cuda.in_use
    run, x = opdsl.cuda.graph(lambda x: x + 1), opdsl.ones(100).cuda()
    result = run(x)
    del run
    opdsl.cuda.empty_cache()
    opdsl.cuda.synchronize()
    others = [opdsl.zeros(100, device="cuda") for _ in range(10)]
    assert result.tolist() == [2] * 100 and len(others) == 10
    del result, others, x
    opdsl.cuda.empty_cache()
    assert cuda.in_use == before


def test_tensors_that_die_while_something_is_captured(cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", failures.append)

    class Node:
        """Object in a reference cycle, which only the garbage collector frees."""

        def __init__(self, tensor: Tensor) -> None:
            self.tensor, self.itself = tensor, self

    garbage: list[Node] = []

    def function(x: Tensor) -> Tensor:
        y = x + outside[0] if outside else x + 1  # the first run reads a tensor of another stream
        if outside:
            garbage.append(Node(outside.pop()))
        else:
            garbage.clear()
            gc.collect()
        return y * 2

    outside = [opdsl.ones(3).cuda()]
    run, x = opdsl.cuda.graph(function), opdsl.ones(3).cuda()
    assert run(x).tolist() == [4, 4, 4]
    assert not failures
    opdsl.cuda.empty_cache()
    assert opdsl.cuda.memory_reserved() - opdsl.cuda.memory_allocated() <= 3 * 512  # memory of the graph


# ------------------------------------------------------------------------------------------ captures of other libraries


@contextmanager
def captured(driver: EmulatedDriver) -> Iterator[opdsl.cuda.Stream]:
    """Capture a stream as torch.cuda.graph does, as far as opdsl can observe."""
    stream = opdsl.cuda.Stream.of(THEIRS)
    driver.begin_capture(THEIRS)
    try:
        with stream:
            yield stream
    finally:
        driver.end_capture(THEIRS)


def test_another_library_captures_operators(cuda: EmulatedDriver) -> None:
    weight = opdsl.full((1000,), 2.0, device="cuda")
    x = opdsl.ones(1000, device="cuda")
    chain(x * weight)  # compiles the kernels
    opdsl.cuda.synchronize()
    cuda.calls.clear()
    with captured(cuda) as stream:
        y = chain(x * weight)
        (graph,) = cuda.capture_of(THEIRS)[:1]
    assert not [size for size, place in cuda.named("allocate") if place == THEIRS]
    expected = chain(x * weight).tolist()
    opdsl.cuda.empty_cache()
    opdsl.cuda.synchronize()
    with stream:
        others = [opdsl.full((1000,), 7.0, device="cuda") for _ in range(20)]
        for _ in range(2):
            y.fill_(0)
            cuda.launch_graph(graph, THEIRS)
            assert y.tolist() == expected
        assert {other.sum().item() for other in others} == {7000.0}


def test_memory_of_a_capture_comes_back_with_its_graph(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(1000, device="cuda")
    with captured(cuda) as stream:
        y = x * 2 + 1
        graph, _ = cuda.capture_of(THEIRS)
    del y
    opdsl.cuda.empty_cache()
    before = cuda.in_use
    cuda.destroy_graph(graph)
    with captured(cuda):
        x + 1  # allocates memory, and so checks which captures are over
    del stream
    opdsl.cuda.empty_cache()
    assert cuda.in_use < before


def test_a_stream_that_joins_their_capture_is_captured(cuda: EmulatedDriver) -> None:
    x, side = opdsl.ones(10, device="cuda"), opdsl.cuda.Stream()
    opdsl.cuda.synchronize()
    side.cuda_stream  # noqa: B018  another library may capture it from now on
    cuda.begin_capture(side.handle)
    cuda.calls.clear()
    with side:
        y = x + 1
    assert not [size for size, place in cuda.named("allocate") if place == side.handle]
    graph = cuda.end_capture(side.handle)
    cuda.launch_graph(graph, side.handle)
    side.synchronize()
    assert y.tolist() == [2] * 10


def test_streams_of_others_keep_their_free_memory(cuda: EmulatedDriver) -> None:
    class Foreign:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, THEIRS

    def address() -> int:
        with opdsl.cuda.Stream.of(Foreign()):
            return opdsl.empty(100, device="cuda").data_ptr()

    first = address()
    gc.collect()
    assert address() == first and len(cuda.named("allocate")) == 1
