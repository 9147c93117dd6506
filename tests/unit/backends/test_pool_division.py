"""Tests of how the thread pool divides and assigns work, and of avoiding threads that do not pay off."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy
import pytest

import opdsl
from opdsl.backends.cpu import pool

HEAD = """
import ctypes, sys, threading, time
if {torch}:
    import torch
    torch.set_num_threads(2)
import numpy, opdsl
from opdsl.backends.cpu import native, pool
set_processors = pool._function("pool_set_processors", None, ctypes.c_int64)
"""


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = opdsl.get_num_threads()
    opdsl.set_num_threads(request.param)
    yield request.param
    opdsl.set_num_threads(before)


def run(program: str, *, torch: bool = False) -> str:
    """Return the output of a program in a separate process."""
    text = HEAD.format(torch=torch) + program
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("size", "piece"), [(1, 1), (7, 1), (100, 7), (1000, 1), (5, 9)])
def test_each_element_is_taken_once(threads: int, size: int, piece: int) -> None:
    taken = numpy.zeros(size, int)
    starts = []

    def part(begin: int, end: int) -> None:
        taken[begin:end] += 1
        starts.append(begin)

    for _ in range(5):
        pool.share(part, size, piece)
    assert (taken == 5).all()
    assert all(start % piece == 0 for start in starts)


def test_what_a_part_raises_is_raised(threads: int) -> None:
    def part(begin: int, end: int) -> None:
        raise ZeroDivisionError(begin)

    with pytest.raises(ZeroDivisionError):
        pool.share(part, 100, 10)


@pytest.mark.parametrize("torch", [False, True])
def test_no_more_threads_than_processors(torch: bool) -> None:
    program = """
set_processors(2)
opdsl.set_num_threads(8)
opdsl.ones(500_000).exp()  # which finds the threads of torch
seen = set()
for _ in range(50):
    pool.share(lambda begin, end: seen.add(threading.get_native_id()), 64, 1)
assert opdsl.get_num_threads() == 8
print(len(seen))
"""
    assert int(run(program, torch=torch)) <= 2


@pytest.mark.parametrize("torch", [False, True])
def test_delayed_helper_threads_get_no_work_for_a_while(torch: bool) -> None:
    """A helper thread that was delayed gets no work for ten times as long as its delay."""
    program = """
set_processors(2)
opdsl.set_num_threads(2)
opdsl.ones(500_000).exp()
caller = threading.get_native_id()
LATE = 0.3

def run(late):
    # What a late helper has cost, and how many threads there were.
    seen, own = set(), []
    def part(begin, end):
        started, here = time.monotonic(), threading.get_native_id()
        seen.add(here)
        time.sleep(0.004 if here == caller else late)
        if here == caller:
            own.append(time.monotonic() - started)
    started = time.monotonic()
    pool.share(part, 4, 1)
    return time.monotonic() - started - sum(own) / max(len(own), 1) * 4, len(seen)

def told():
    for _ in range(1000):
        cost, threads = run(LATE)
        if threads == 2 and cost > LATE / 2:
            return cost
    sys.exit("no helper came")

for _ in range(20):
    cost = told()
    lost_at, threads = time.monotonic(), []
    while time.monotonic() - lost_at < 3 * cost:
        threads.append(run(0.004)[1])
    if time.monotonic() - lost_at < 7 * cost:
        break
assert set(threads) == {1}, threads
time.sleep(12 * cost)
assert any(run(0.004)[1] == 2 for _ in range(1000))
"""
    run(program, torch=torch)


@pytest.mark.parametrize("torch", [False, True])
def test_callers_side_by_side(torch: bool) -> None:
    """Threads that run kernels concurrently get the same results as alone."""
    program = """
set_processors(2)
opdsl.set_num_threads(4)
x = opdsl.from_numpy(numpy.random.default_rng(0).standard_normal((300, 300)).astype("float32"))
w = opdsl.from_numpy(numpy.random.default_rng(1).standard_normal((64, 8, 3, 3)).astype("float32"))
images = opdsl.from_numpy(numpy.random.default_rng(2).standard_normal((2, 8, 20, 20)).astype("float32"))
def results():
    tensors = (x @ x, x.softmax(1), x.sum(0), x.exp(), opdsl.conv2d(images, w, None, 1, 1), (x * x).cumsum(1))
    return [numpy.asarray(tensor).tobytes() for tensor in tensors]
expected = results()
wrong = []
def task():
    for _ in range(40):
        if results() != expected:
            wrong.append(1)
threads = [threading.Thread(target=task) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(wrong))
"""
    assert run(program, torch=torch).strip() == "0"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_have_the_same_bits_where_the_pool_is_taken(dtype: str) -> None:
    draw = numpy.random.default_rng(0)
    x, y = (opdsl.from_numpy(draw.standard_normal(shape).astype(dtype)) for shape in ((250, 190), (190, 210)))
    before = opdsl.get_num_threads()
    opdsl.set_num_threads(2)
    try:
        apart = numpy.asarray(x @ y)
        numpy.testing.assert_allclose(apart, numpy.asarray(x) @ numpy.asarray(y), rtol=1e-3, atol=1e-4)
        inside: list[bytes] = []
        pool.share(lambda begin, end: inside.append(numpy.asarray(x @ y).tobytes()), 2, 1)
        assert set(inside) == {apart.tobytes()}
    finally:
        opdsl.set_num_threads(before)


def test_a_task_inside_of_another_runs_on_its_thread(threads: int) -> None:
    inner: list[bool] = []

    def part(begin: int, end: int) -> None:
        here = threading.get_native_id()
        seen: set[int] = set()
        pool.share(lambda first, last: seen.add(threading.get_native_id()), 8, 1)
        inner.append(seen == {here})

    pool.share(part, 8, 1)
    assert threads == 1 or all(inner)
