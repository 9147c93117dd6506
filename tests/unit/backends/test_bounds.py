"""Author kernels with every index checked."""

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
    """An operator whose kernel reads one place too far, which does no harm where nothing is checked."""
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


def test_it_is_an_index_error_too() -> None:
    assert issubclass(BoundsError, IndexError)


def test_law_10_finds_it(shifted: Any) -> None:
    found = violations_of(shifted, laws=[10], samples=[Sample(opdsl.ones(4))])
    assert [each.law for each in found if "outside of an array" in str(each)]


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
