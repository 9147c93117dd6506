"""Tests of calls from threads and tasks while registrations change, and of forks meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch.model.lazy_function import BUILDS_KEPT
from opdsl.runtime import forking
from opdsl.runtime.forking import registering

SOAK = Path(__file__).parents[3] / "benchmarks" / "soak.py"


def test_eight_threads_call_and_change_what_they_reach() -> None:
    """Eight threads call operators while others change them, for some seconds of what CI runs for thirty, in a separate
    process.
    """
    run = subprocess.run([sys.executable, "-X", "faulthandler", SOAK, "4"], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr
    happened = [line.split()[0] for line in run.stdout.splitlines()]
    for name in (
        "call_gradients",
        "call_in_torch",
        "another_operator",
        "an_override",
        "override",
        "fallback",
        "a_fork",
    ):
        assert name in happened


def in_child(work: Callable[[], object], seconds: float = 20.0) -> int:
    """Run a function in a forked process, and return its exit status: 0 on success."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("the child waits for ever")


@contextmanager
def busy(work: Callable[[], object]) -> Iterator[None]:
    """Run a function repeatedly in another thread during this block."""
    ends = threading.Event()

    def run() -> None:
        while not ends.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def declare_and_call(name: str = "forked") -> None:
    with Library(f"test{name}") as lib:

        @lib.op
        def shift(self: Tensor) -> Tensor:
            return self + 1

        assert shift(opdsl.ones(3)).tolist() == [2.0] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
class TestForks:
    def test_a_child_calls_what_was_planned(self) -> None:
        x = opdsl.ones(2)
        x + x
        assert in_child(lambda: x + x) == 0

    def test_a_child_registers_while_another_thread_of_the_parent_did(self) -> None:
        with busy(lambda: declare_and_call("parent")):
            assert [in_child(declare_and_call) for _ in range(8)] == [0] * 8

    def test_a_child_makes_new_plans_while_another_thread_of_the_parent_did(self) -> None:
        sizes = iter(range(1, 10**9))
        with busy(lambda: opdsl.ones(next(sizes)).neg()):
            assert [in_child(lambda: opdsl.ones(3, 5).exp().neg()) for _ in range(8)] == [0] * 8

    def test_a_fork_waits_for_a_thread_that_registers(self) -> None:
        holds, goes_on = threading.Event(), threading.Event()

        def hold() -> None:
            with registering:
                holds.set()
                goes_on.wait(5)

        thread = threading.Thread(target=hold)
        thread.start()
        holds.wait()
        threading.Timer(0.2, goes_on.set).start()
        assert in_child(declare_and_call) == 0
        assert goes_on.is_set()
        thread.join()

    def test_a_child_keeps_guards_and_modes(self) -> None:
        def work() -> None:
            assert not opdsl.is_grad_enabled()
            opdsl.ones(2).neg()
            assert seen == ["ones", "neg"]

        seen: list[str] = []

        class Note(opdsl.DispatchMode):
            def dispatch(self, operator, args, kwargs):
                seen.append(operator.__name__)
                return operator(*args, **kwargs)

        with opdsl.no_grad(), Note():
            assert in_child(work) == 0
        assert seen == []


def test_a_call_that_was_interrupted_goes_on_with_what_it_began_with() -> None:
    """Names that a function's old code uses stay in its namespace while overloads are added and removed, and are
    dropped later.
    """
    with Library("testinterrupted") as lib:

        @lib.op
        def shift(self: Tensor) -> Tensor:
            return self + 1

        x = opdsl.ones(1)
        assert shift(x).tolist() == [2.0]
        code, names = shift.__code__, shift.__globals__
        for _ in range(BUILDS_KEPT - 2):
            with Library("testinterrupted") as more:

                @more.op("testinterrupted::shift.by")
                def shift_by(self: Tensor, by: Tensor) -> Tensor:
                    return self + by

            assert shift(x).tolist() == [2.0]
        assert set(code.co_names) - {"geometry", "form"} <= names.keys()
        for _ in range(BUILDS_KEPT):
            with Library("testinterrupted") as more:

                @more.op("testinterrupted::shift.by")
                def shift_by(self: Tensor, by: Tensor) -> Tensor:
                    return self + by

            shift(x)
        assert len(names) < 20 * BUILDS_KEPT


_FORKS_WHILE_LOADING = """
import os, signal, sys, threading, time

import opdsl

def work():
    x = opdsl.ones(2, 2)
    (x + 1).softmax(0).sum()
    opdsl.linalg.eigh(x)
    opdsl.rand(2)

thread = threading.Thread(target=work)
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if child == 0:
    signal.alarm(60)
    work()
    os._exit(0)
_, status = os.waitpid(child, 0)
thread.join()
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("seconds", [0.005, 0.03, 0.06, 0.12, 0.25])
def test_a_fork_waits_for_a_thread_that_imports(seconds: float) -> None:
    """A fork during the first calls, which import operators, the backend and LLVM, leaves the child no locked import
    lock.
    """
    command = [sys.executable, "-c", _FORKS_WHILE_LOADING, str(seconds)]
    assert subprocess.run(command, capture_output=True, text=True).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_lock_that_is_added_while_a_process_forks_is_left_alone() -> None:
    added = threading.Lock()
    forking._acquire()
    try:
        forking.held_across_fork(added)
    finally:
        forking._release()
        forking._locks.remove(added)
    assert not added.locked()
    assert registering.acquire(blocking=False)
    registering.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_goes_on_where_a_lock_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_LONGEST_WAIT_SECONDS", 0.1)
    held = forking.held_across_fork(threading.Lock())
    held.acquire()
    try:
        assert in_child(lambda: opdsl.ones(2) + 1) == 0
    finally:
        forking._locks.remove(held)
    assert held.locked()
