"""Tests of reports of compiles and plans: the logger, ``OPDSL_LOG``, and the line for a long first compile."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from opdsl.runtime.events import timed

# A program that reports compiles of chosen durations without a compiler.
PROGRAM = """
import opdsl.runtime.events as events
events.LONG = 0.0
for name in ("first", "second"):
    with events.timed("compile", name):
        pass
with events.timed("plan", "a plan"):
    pass
"""


def stderr_of(**environment: str) -> list[str]:
    """Run the program with given environment variables, and return the lines that it writes to stderr."""
    clean = {name: value for name, value in os.environ.items() if name != "OPDSL_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, **environment},
    )
    return done.stderr.splitlines()


def test_a_long_first_compile_says_so_once() -> None:
    [line] = stderr_of()
    assert line.startswith("opdsl: compiling first took 0.0 s.") and "OPDSL_LOG=compile" in line


def test_an_empty_variable_says_nothing() -> None:
    assert stderr_of(OPDSL_LOG="") == []


def test_the_variable_selects_the_kind_of_events() -> None:
    lines = stderr_of(OPDSL_LOG="compile")
    assert lines == ["opdsl.compile: first: 0.000 s", "opdsl.compile: second: 0.000 s"]


def test_several_kinds() -> None:
    lines = stderr_of(OPDSL_LOG="compile, plan")
    assert [line.split(": ")[:2] for line in lines] == [
        ["opdsl.compile", "first"],
        ["opdsl.compile", "second"],
        ["opdsl.plan", "a plan"],
    ]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Return a stream that the logger of opdsl writes everything to."""
    logger, stream = logging.getLogger("opdsl"), io.StringIO()
    handler, level = logging.StreamHandler(stream), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield stream
    logger.setLevel(level)
    logger.removeHandler(handler)


def test_the_logger_has_all(logged: io.StringIO) -> None:
    with timed("compile", "a kernel of a test"):
        pass
    assert "a kernel of a test: " in logged.getvalue()


def test_failures_are_logged_too(logged: io.StringIO) -> None:
    with pytest.raises(ValueError), timed("plan", "a bad one"):
        raise ValueError
    assert "a bad one: " in logged.getvalue()
