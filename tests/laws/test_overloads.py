"""Tests of ``tests.laws.overloads``: a number of its random calls pass, and it finds faulty operators and crashes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy
import pytest

import opdsl
from opdsl.testing.guarded import guarded
from tests.laws import overloads
from tests.laws.overloads import Call, failures, run

CALLS = 100


def test_calls_raise_documented_errors_and_change_nothing_before() -> None:
    command = [sys.executable, "-m", "tests.laws.overloads", str(CALLS), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert f"{CALLS} calls, 0 failures" in done.stdout


def call_of(name: str, *inputs: object) -> Call:
    """Return a call of the named operator with given arguments."""
    return Call(opdsl.registry.operators[name], inputs, {})


@pytest.fixture
def faulty():
    """Yield a library with one operator for each kind of fault."""
    with opdsl.Library("faulty") as lib:

        @lib.op
        def raw(self: opdsl.Tensor) -> opdsl.Tensor:
            """Raise an undocumented error."""
            return self.shape[7]

        @lib.op
        def grown_(
            self: opdsl.Tensor[opdsl.Alias("a", write=True)],
        ) -> opdsl.Tensor[opdsl.Alias("a", write=True)]:
            """Write to the argument, then raise an error."""
            self.zero_()
            opdsl.check(False, "after it has written")
            return self

        yield lib


def test_what_is_found_in_one_process(faulty) -> None:
    x = opdsl.ones(3)
    assert run(call_of("aten::neg", x)) is None
    assert run(call_of("aten::t", opdsl.ones(1, 1, 1))) is None, "a documented error"
    result = run(call_of("faulty::raw", x))
    assert result is not None and "raised IndexError" in result.problem
    result = run(call_of("faulty::grown_", x))
    assert result is not None and "changed tensor 0" in result.problem


def test_what_ends_a_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = guarded(numpy.ones(3))
    assert memory.tolist() == [1, 1, 1]

    def crash(seed: int) -> None:
        if seed == 5:
            ctypes.string_at(memory.ctypes.data + memory.nbytes, 1)  # the first byte without read access
        if seed == 7:
            os._exit(3)

    monkeypatch.setattr(overloads, "try_seed", crash)
    monkeypatch.setattr(overloads, "make_call", lambda seed: f"call {seed}")
    result = [(seed, failure.problem) for seed, failure in failures(10, 0)]
    assert result == [(5, "ended the process (-11)"), (7, "ended the process (3)")]
