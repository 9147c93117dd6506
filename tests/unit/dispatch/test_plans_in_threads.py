"""Tests of plans that several threads make at once, after guards of the same plans have failed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Scalar, Tensor
from opdsl.dispatch.plans import call_cache, form_table
from opdsl.dispatch.plans.forms import FormPlans
from opdsl.dispatch.plans.policy import lowered_at_once, planned_at_once

PATIENCE = 60.0


@pytest.fixture
def pick() -> Iterator[Any]:
    """Declare an operator that needs a separate plan for each number."""
    with Library("testplansinthreads") as lib:

        @lib.op
        @opdsl.traceable
        def pick(self: Tensor, number: Scalar) -> Tensor:
            for known in range(16):
                if number == known:
                    return self + known
            return self * number

        yield pick


def at_once(*works: Callable[[], object]) -> None:
    """Run functions at once, each in a separate thread.

    Raises:
        BaseException: the first error that one of them raised.
    """
    faults: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_no_plan_becomes_its_own_successor(pick: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(2)

    def call(number: int) -> None:
        with planned_at_once():
            assert pick(x, number).tolist() == [1.0 + number] * 2

    call(3)
    call(7)
    both, lower = threading.Barrier(2), call_cache.lower_call

    def lower_together(name: str, *inputs: Any, **named: Any) -> Any:
        lowered = lower(name, *inputs, **named)
        if name == "pick":
            both.wait(PATIENCE)
        return lowered

    with monkeypatch.context() as patched:
        patched.setattr(call_cache, "lower_call", lower_together)
        at_once(lambda: call(4), lambda: call(5))
    for number in (5, 4, 3, 7, 6, 2, 5, 4):
        call(number)


def test_a_form_that_two_threads_lower_gets_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    forms: list[FormPlans] = []
    both, lower = threading.Barrier(2), form_table.FormTable.lower

    def lower_together(self: Any, state: Any, form: FormPlans, make: Callable[[], Any], *inputs: Any) -> bool:
        def make_together() -> Any:
            plan = make()
            both.wait(PATIENCE)
            return plan

        forms.append(form)
        return lower(self, state, form, make_together, *inputs)

    with Library("testformsinthreads") as lib:

        @lib.op
        @opdsl.traceable
        def halved(self: Tensor) -> Tensor:
            return (self / 2).reshape(-1)

        def call(rows: int) -> None:
            with lowered_at_once():
                assert halved(opdsl.ones(rows, 3)).tolist() == [0.5] * (3 * rows)

        for rows in (3, 4):  # make plans for the operators that it calls
            (opdsl.ones(rows, 3) / 2).reshape(-1)
        with monkeypatch.context() as patched:
            patched.setattr(form_table.FormTable, "lower", lower_together)
            at_once(lambda: call(5), lambda: call(6))
        assert forms[0] is forms[1]
        assert len(forms[0].variants) == 1
        call(7)


STREAM = """
import random, sys, threading, time
import opdsl
from opdsl import Library, Tensor

sys.setswitchinterval(1e-6)
end, faults = time.monotonic() + 4, []

def plan(choose):
    size = choose.randrange(1, 12)
    x = opdsl.arange(size) - 5
    assert x.tolist() == [k - 5 for k in range(size)]
    assert x[x > 0].tolist() == [k - 5 for k in range(6, size)]

def declare(choose):
    with Library(f"test{threading.get_ident()}") as lib:
        @lib.op
        def shift(self: Tensor) -> Tensor:
            return self + 1
        assert shift(opdsl.ones(3)).tolist() == [2.0] * 3

def run(work, seed):
    choose = random.Random(seed)
    try:
        while time.monotonic() < end and not faults:
            work(choose)
    except BaseException as fault:
        faults.append(fault)

threads = [threading.Thread(target=run, args=each) for each in zip((plan, plan, declare, declare), range(4))]
for thread in threads: thread.start()
for thread in threads: thread.join()
if faults:
    raise faults[0]
assert opdsl.arange(5).tolist() == [0, 1, 2, 3, 4]
"""


def test_threads_that_plan_while_others_declare_and_close() -> None:
    run = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr
