"""Tests of author kernels with bounds checks of every index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Array, Library, Tensor
from opdsl.backends.cpu.author import checked_bounds
from opdsl.errors import BoundsError
from opdsl.testing import Sample, violations_of


@pytest.fixture
def shifted() -> Iterator[Any]:
    """Yield an operator whose kernel reads one element out of bounds, which is harmless without bounds checks."""
    with Library("bounds_test") as library:

        @library.op(out=True)
        def shifted(self: Tensor) -> Tensor: ...

        @shifted.meta
        def shifted_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)

        @shifted.out_kernel("CPU")
        def shifted_cpu(self: Array, out: Array) -> None:
            flat = self.reshape(-1)
            for i in range(flat.shape[0]):
                out.reshape(-1)[i] = flat[i + 1]

        yield shifted


def test_an_index_outside_raises(shifted: Any) -> None:
    with checked_bounds(), pytest.raises(BoundsError, match=r"shifted_cpu.* outside of an array"):
        shifted(opdsl.ones(4))


def test_checked_calls_check_bounds(shifted: Any) -> None:
    shifted(opdsl.ones(4))
    with opdsl.checked(), pytest.raises(BoundsError, match=r"shifted_cpu.* outside of an array"):
        shifted(opdsl.ones(4))


def test_it_is_an_index_error_too() -> None:
    assert issubclass(BoundsError, IndexError)


def test_law_10_finds_it(shifted: Any) -> None:
    violations = violations_of(shifted, laws=[10], samples=[Sample(opdsl.ones(4))])
    assert [violation.law for violation in violations if "outside of an array" in str(violation)]


PROGRAM = """
import opdsl
from opdsl import Array, Library, Tensor
lib = Library("bounds_program")
@lib.op
def broken(self: Tensor) -> Tensor: ...
@broken.meta
def broken_meta(ctx, self): ctx.set_output(0, self.shape, like=self)
@broken.out_kernel("CPU")
def broken_cpu(self: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        out[i] = self[i + 1]
try:
    broken(opdsl.ones(4))
except opdsl.errors.BoundsError:
    print("found")
"""


def test_the_environment_switches_it_on(tmp_path: Any) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "OPDSL_BOUNDS_CHECK": "1"}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "found", run.stderr


INTERPRETED = """
import opdsl
from opdsl import Array, Ints, Library, Tensor

with Library("interpreted") as lib:

    @lib.op(out=True)
    def spread(self: Tensor, sizes: Ints[2], factor: float = 2.0) -> Tensor: ...

    @spread.meta
    def spread_meta(ctx, self, sizes, factor):
        ctx.set_output(0, self.shape, like=self)

    seen = []

    @spread.out_kernel("CPU")
    def spread_cpu(self: Array, sizes, factor, out: Array) -> None:
        seen.append((type(sizes), str(self.dtype)))
        for i in range(self.shape[0]):
            out[i] = self[i] * factor + sizes[1]

    for dtype in (opdsl.float32, opdsl.float16, opdsl.bfloat16, opdsl.int64):
        x = opdsl.tensor([1, 2], dtype=dtype)
        for _ in range(2):
            assert spread(x, [1, 3]).tolist() == [5, 7], dtype
        assert spread(x, [1, 3], out=x).tolist() == [5, 7], dtype
    assert set(seen) == {(tuple, "float32"), (tuple, "int64")}, seen
"""


def test_kernels_run_as_python_where_numba_is_told_so() -> None:
    """With NUMBA_DISABLE_JIT=1 author kernels run as Python, as functions of numba do, for debuggers and prints."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    ran = subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, capture_output=True, text=True)
    assert ran.stderr == ""
