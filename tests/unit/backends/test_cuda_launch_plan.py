"""Tests of CUDA plans as built-in functions: their results, and the cases that they leave to Python."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

import opdsl
from opdsl import Tensor
from opdsl.backends.cuda import allocator
from opdsl.errors import DriverError
from tests.emulation.driver import EmulatedDriver
from tests.emulation.standin import needs_standin, run, standin

PACKAGE = Path(opdsl.__file__).parent

Function = Callable[..., object]


def repeated(function: Callable[[], Tensor]) -> Tensor:
    """Call a function until its calls run by plans, and return its last result."""
    for _ in range(4):
        result = function()
    return result


def python_frames(function: Callable[[], object]) -> list[str]:
    """Return the names of opdsl's functions that a call runs in Python, except generated ones."""
    frames: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            frames.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return frames


CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "two arrays": lambda x: opdsl.add(x, x[:]),
    "a view that begins anywhere": lambda x: x.flatten()[1:].exp(),
    "strides": lambda x: x.t() * 2,
    "a float": lambda x: x * 2.5,
    "an integer": lambda x: x.to(opdsl.int32) + 7,
    "a truth value": lambda x: opdsl.where(x > 1, True, False),
    "a complex number": lambda x: x.to(opdsl.complex64) * (2 - 3j),
    "64 bits without a sign": lambda x: x.to(opdsl.uint64) + ((1 << 64) - 1),
    "a fold": lambda x: x.sum(1),
    "rows": lambda x: x.softmax(1),
    "scratch memory": lambda x: x.repeat(1, 20_000).sum(),
    "several results": lambda x: x.max(1)[1],
    "in place": lambda x: x.clone().add_(x, alpha=2),
}


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_compute_what_the_cpu_does(cuda: EmulatedDriver, name: str) -> None:
    x = opdsl.arange(12.0).reshape(3, 4)
    there = x.cuda()
    actual, expected = repeated(lambda: CALLS[name](there)), CALLS[name](x)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert actual.cpu().flatten().tolist() == pytest.approx(expected.flatten().tolist(), rel=1e-6)
    assert "_Start.__call__" not in python_frames(lambda: CALLS[name](there))


def test_calls_run_no_python_of_ours(cuda: EmulatedDriver) -> None:
    x, y, out = (opdsl.ones(8).cuda() for _ in range(3))
    calls: list[Function] = [
        lambda: opdsl.add(x, y),
        lambda: x + y,
        lambda: x + x,
        lambda: x + 2.0,
        lambda: x.sum(),
        lambda: opdsl.add(x, y, out=out),
        lambda: out.mul_(1.0),
    ]
    for call in calls:
        for _ in range(4):
            call()
        assert python_frames(call) == []


def test_memory_is_counted_as_without_plans(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()
    repeated(lambda: x + x)
    before = opdsl.cuda.memory_allocated()
    results = [x + x for _ in range(5)]
    assert opdsl.cuda.memory_allocated() - before == 5 * 512
    assert len({result.data_ptr() for result in results}) == 5
    del results
    assert opdsl.cuda.memory_allocated() == before


def test_another_stream_is_waited_for(cuda: EmulatedDriver) -> None:
    x, y = opdsl.ones(8).cuda(), opdsl.zeros(8).cuda()
    repeated(lambda: y.copy_(x + x))
    side = opdsl.cuda.Stream()
    for seed in range(10):
        with cuda.in_random_order(seed):
            with side:
                doubled = x + x
            total = doubled + x
            x.add_(0.0)
        assert total.tolist() == [3] * 8


def test_a_graph_captures_calls_that_have_plans(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()

    def function(x: Tensor) -> Tensor:
        return (x + x) * x

    repeated(lambda: function(x))
    graph = opdsl.cuda.graph(function)
    graph(x)
    cuda.calls.clear()
    assert graph(opdsl.full((8,), 3.0).cuda()).tolist() == [18] * 8
    assert len(cuda.named("launch_graph")) == 1


def test_each_device_has_its_own_kernels(cuda: EmulatedDriver) -> None:
    xs = [opdsl.full((8,), float(index), device=f"cuda:{index}") for index in range(2)]
    results: list[list[float]] = []

    def compute() -> None:
        results.extend(repeated(partial(opdsl.add, x, 1)).tolist() for x in (*xs, *xs[::-1]))

    compute()
    thread = threading.Thread(target=compute)  # a thread in which no device has been active
    thread.start()
    thread.join()
    assert results == [[1.0] * 8, [2.0] * 8, [2.0] * 8, [1.0] * 8] * 2


def test_threads_get_memory_of_their_own(cuda: EmulatedDriver) -> None:
    xs = [opdsl.full((64,), float(k)).cuda() for k in range(6)]
    repeated(lambda: xs[0] + xs[0])
    wrong: list[int] = []

    def compute(k: int) -> None:
        for _ in range(30):
            held = [xs[k] + xs[k] for _ in range(3)]
            if any(result.tolist() != [2.0 * k] * 64 for result in held):
                wrong.append(k)

    before = opdsl.cuda.memory_allocated()
    threads = [threading.Thread(target=compute, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert opdsl.cuda.memory_allocated() == before


def test_blocks_die_in_cycles(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(8).cuda()
    gc.collect()
    before = opdsl.cuda.memory_allocated()
    cycle: list[object] = [repeated(lambda: x + x)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert opdsl.cuda.memory_allocated() == before


def test_a_launch_that_fails_raises_and_gives_its_memory_back(
    cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = opdsl.ones(8).cuda()
    repeated(lambda: x + x)
    before = opdsl.cuda.memory_allocated()

    def fail(*_: object) -> None:
        raise DriverError("cuLaunchKernel failed")

    with monkeypatch.context() as patched:
        patched.setattr(cuda, "launch", fail)
        with pytest.raises(DriverError, match="cuLaunchKernel failed"):
            x + x
    assert opdsl.cuda.memory_allocated() == before
    assert (x + x).tolist() == [2] * 8


def test_a_block_that_was_never_finished_is_nobodys(cuda: EmulatedDriver) -> None:
    opdsl.ones(8, device="cuda")
    before = opdsl.cuda.memory_allocated()
    block = object.__new__(allocator.Block)
    del block
    assert opdsl.cuda.memory_allocated() == before


STICKY = """
import ctypes
import opdsl
from opdsl.errors import DriverError

library = ctypes.CDLL("libcuda.so.1")
x = opdsl.ones(8, device="cuda")
for _ in range(5):
    y = x + x
launches = library.standin_launches()
for _ in range(100):
    y = x + x
assert library.standin_launches() - launches == 100, "each call launches once"
allocated = opdsl.cuda.memory_allocated()
library.standin_fail(700)
try:
    x + x
except DriverError as error:
    print(error)
assert opdsl.cuda.memory_allocated() == allocated
library.standin_fail(0)
z = x + x
assert library.standin_violations() == 0
"""


@needs_standin
def test_errors_of_the_driver_and_the_end_of_a_process(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.driver", reason="needs the extra cuda")
    printed = run(standin(tmp_path), STICKY)
    assert "cuLaunchKernel failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)" in printed
    assert len(printed.splitlines()) == 1


def test_a_driver_that_machine_code_cannot_call_is_called_by_python(
    cuda: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = opdsl.full((3, 5), 2.0).cuda()
    monkeypatch.setattr(cuda, "entries", lambda: None)
    assert (
        repeated(lambda: x.cosh().sinh()).flatten().tolist()
        == repeated(lambda: x.cpu().cosh().sinh()).flatten().tolist()
    )
