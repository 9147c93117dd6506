"""Tests of the helper that runs programs in forked processes."""

from __future__ import annotations

import sys

import pytest

from tests.forks import Outcome, outcomes_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no fork")


def test_each_program_has_its_own_process() -> None:
    programs = {
        "one": "numbers.append(1); assert numbers == [1]; print('not seen')",
        "two": "numbers.append(2); assert numbers == [1], f'{numbers} differ'",
        "crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "exit": "import sys; sys.exit(3)",
        "at exit": "import atexit, os; atexit.register(os.write, 2, b'ended')",
        "endless": "while True: pass",
        "last": "assert __name__ == '__main__'",
    }
    outcomes = outcomes_of(programs, imports="numbers = []", seconds=1)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {
        "one": 0,
        "two": 1,
        "crash": -11,
        "exit": 3,
        "at exit": 0,
        "endless": -14,
        "last": 0,
    }
    assert outcomes["at exit"].errors == "ended"
    assert outcomes["two"].errors.endswith("AssertionError: [2] differ\n")
    with pytest.raises(AssertionError, match="Segmentation fault"):
        outcomes["crash"].check()
    outcomes["one"].check()


def test_imports_that_fail_are_an_error() -> None:
    with pytest.raises(AssertionError, match="No module named 'nothing_like_it'"):
        outcomes_of({"one": ""}, imports="import nothing_like_it")


def test_an_outcome_says_what_was_written() -> None:
    with pytest.raises(AssertionError, match="it went wrong"):
        Outcome(1, "it went wrong").check()
