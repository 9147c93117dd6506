"""Tests of the thread pool: number of threads, concurrent callers, forks, exit."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

from opdsl.backends.cpu import pool
from opdsl.errors import ArgumentError, OptionError
from opdsl.runtime.dtype import float32

from .plans import add, graph_of, plan

ROOT = Path(__file__).parents[3]
SIZE = 1 << 18

PROGRAM = """
import numpy
from opdsl.backends.cpu import pool
from opdsl.runtime.dtype import float32
from tests.unit.backends.plans import add, graph_of, plan
x = numpy.ones(1 << 18, "f4")
kernel = plan(graph_of(add, "float32", "float32"), x.shape, (x, x), (float32,))
pool.set_num_threads(3)
assert (kernel(x, x) == 2).all()
"""

FORK = """
import os
child = os.fork()
if child == 0:
    good = all((kernel(x, x) == 2).all() for _ in range(20))
    os._exit(0 if good else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (kernel(x, x) == 2).all()
"""


def run_program(text: str) -> None:
    subprocess.run([sys.executable, "-c", text], cwd=ROOT, check=True, timeout=60)


def make_kernel() -> tuple[Any, Any]:
    x = numpy.ones(SIZE, "f4")
    return plan(graph_of(add, "float32", "float32"), x.shape, (x, x), (float32,)), x


@pytest.fixture
def three_threads() -> Any:
    before = pool.get_num_threads()
    pool.set_num_threads(3)
    yield
    pool.set_num_threads(before)


def test_number_of_threads(three_threads: None) -> None:
    assert pool.get_num_threads() == 3


@pytest.mark.parametrize(
    ("count", "error"),
    [(0, OptionError), (-1, OptionError), (1.5, ArgumentError), ("2", ArgumentError), (True, ArgumentError)],
)
def test_wrong_number_of_threads(count: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pool.set_num_threads(count)


def test_callers_at_once(three_threads: None) -> None:
    kernel, x = make_kernel()
    failures = []

    def work() -> None:
        failures.extend(k for k in range(50) if not (kernel(x, x) == 2).all())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_interpreter_exits_while_helpers_wait() -> None:
    run_program(PROGRAM)


def test_forked_child_has_helpers_of_its_own() -> None:
    run_program(PROGRAM + FORK)


def test_fork_beside_an_openmp_runtime() -> None:
    run_program("import torch\ntorch.ones(1 << 20) + 1\n" + PROGRAM + FORK)


@pytest.mark.parametrize("first", ["", "import torch"])
def test_denormal_numbers_become_what_they_do_on_the_calling_thread(first: str) -> None:
    run_program(f"""
import numpy
{first}
import opdsl
x = opdsl.from_numpy(numpy.full(1_000_000, 1e-39, numpy.float32))
opdsl.set_num_threads(3)
x * 0.5
import torch
for flushed in (True, False) * 10:
    torch.set_flush_denormal(flushed)
    assert ((x * 0.5).numpy().view(numpy.int32) == 0).all() == flushed
""")


def test_python_functions_are_shared(three_threads: Any) -> None:
    pieces: list[tuple[int, int]] = []
    pool.share(lambda begin, end: pieces.append((begin, end)), 10, 4)
    assert sorted(pieces) == [(0, 4), (4, 8), (8, 10)]


def test_what_a_shared_function_raises_is_raised_here(three_threads: Any) -> None:
    def fail(begin: int, end: int) -> None:
        raise ArithmeticError(begin)

    with pytest.raises(ArithmeticError):
        pool.share(fail, 10, 4)
