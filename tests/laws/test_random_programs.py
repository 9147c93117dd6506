"""Tests of random programs, and of programs whose results once differed from PyTorch's."""

from __future__ import annotations

import os

import pytest

from tests.laws.fuzz import program, run, try_seed

PROGRAMS = 40_000 if os.environ.get("OPDSL_TEST_FULL") else 600

# Each failed once, for the reason that is its key.
FOUND = {
    "full.out resized before it looked at the number": """
        t4 = values('uint8', (12,), 7)
        t8 = lib.full((2, 3), -2**63, out=t4)
    """,
    "a negative float is no unsigned integer": "t1 = lib.full((), -2.5, dtype=lib.uint8)",
    "one element of 16 bits may become infinite": """
        t4 = values('float16', (12,), 7)
        t6 = setitem(t4, (0,), 2**40)
    """,
    "two elements of 16 bits may not": "t1 = lib.full((2,), 1e39, dtype=lib.float16)",
    "an output that is an input was resized": """
        t1 = values('float32', (3, 3, 3), 95)
        t2 = values('float32', (1, 3), 12)
        t8 = lib.maximum(t1, t2, out=t2)
    """,
    "batches that do not broadcast": """
        t3 = values('bfloat16', (0, 3, 1, 1), 49)
        t11 = t3[:-1, 2:1]
        t19 = t3 @ t11
    """,
    "cat of nothing looks at no dimension": """
        t3 = values('float32', (0,), 53)
        t14 = lib.cat([t3, t3], 1)
    """,
    "the strides of nonzero without elements": """
        t1 = values('int64', (0, 3), 1)
        t2 = lib.nonzero(t1)
    """,
    "the strides of nonzero without dimensions": """
        t1 = lib.tensor(3)
        t2 = lib.nonzero(t1)
    """,
    "a written value may have more leading ones": """
        t2 = values('float16', (1, 1, 3, 2), 67)
        t7 = setitem(t2, (slice(None, None), 0, slice(None, None),), t2)
    """,
    "the step of a slice": """
        t2 = values('float32', (3,), 94)
        t7 = t2[::-1]
    """,
    "an output of another kind after a wrong dimension": """
        t1 = values('bool', (), 39)
        t4 = values('uint8', (12,), 7)
        t7 = t4.sigmoid()
        t14 = lib.mean(t7, 1, keepdim=True, out=t1)
    """,
    "what is no subscript": """
        t1 = values('bool', (4, 1), 23)
        t11 = t1[0.5]
    """,
}


@pytest.mark.parametrize("name", FOUND)
def test_program_that_failed(name: str) -> None:
    failure = run(program(FOUND[name]))
    assert failure is None, failure


def test_random_programs() -> None:
    """A fixed number of random programs agrees with PyTorch; a time limit would make their number vary from run
    to run.
    """
    for seed in range(PROGRAMS):
        failure = try_seed(seed)
        assert failure is None, f"seed {seed}:\n{failure}"
