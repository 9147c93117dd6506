"""Tests of Tensor methods whose modules load when they are first looked up, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = "import opdsl; x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])\n"


def printed(program: str) -> str:
    """Return the text that a program prints in a fresh process."""
    run = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x.t().tolist()", "[[1.0, 3.0], [2.0, 4.0]]"),
        ("(2 - x).tolist()", "[[1.0, 0.0], [-1.0, -2.0]]"),
        ("(x == 2).tolist()", "[[False, True], [False, False]]"),
        ("(1 / x[0]).tolist()", "[1.0, 0.5]"),
        ("[each.tolist() for each in x]", "[[1.0, 2.0], [3.0, 4.0]]"),
        ("x", "tensor([[1., 2.],\n        [3., 4.]])"),
        ("opdsl.Tensor.view.__name__", "view"),
        ("x.view.__doc__", "Return a view with another shape. The strides must allow it."),
        ("hasattr(x, 'view')", "True"),
        ("hasattr(x, 'no_such_method')", "False"),
        ("opdsl.Tensor.exp is opdsl.Tensor.exp", "True"),
        ("len(list(opdsl.registry)) > 100", "True"),
    ],
)
def test_the_first_lookup_loads_the_method(expression: str, value: str) -> None:
    assert printed(f"print({expression})") == value


def test_a_name_of_the_library_stays_taken() -> None:
    program = """
from opdsl import Library, Tensor, errors
try:
    @Library("mine").op(variants="method")
    def exp(self: Tensor) -> Tensor:
        return self
except errors.DuplicateOperatorError as error:
    print("Tensor.exp is taken" in str(error), x.exp().shape)
"""
    assert printed(program) == "True (2, 2)"


def test_in_place_operators_load() -> None:
    assert printed("x += 1; x *= 2; print(x.tolist())") == "[[4.0, 6.0], [8.0, 10.0]]"


def test_threads_that_look_at_once_all_find_it() -> None:
    program = """
import threading
found = []
def look():
    found.append(((x + x) * x).exp().shape)
threads = [threading.Thread(target=look) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(len(found))
"""
    assert printed(program) == "8"
