"""Tests that signals end loops whose number of iterations is an argument, in every kind of kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("endless_loops.py")


@pytest.mark.parametrize("threads", ["own", "torch"])
def test_endless_loops_end_on_a_signal(threads: str) -> None:
    if threads == "torch":
        pytest.importorskip("torch")
    done = subprocess.run([sys.executable, str(SCRIPT), threads], capture_output=True, text=True, timeout=240)
    lines = dict(line.split(": ") for line in done.stdout.splitlines())
    assert (lines.pop("handled"), lines.pop("same")) == ("[0.5, 0.5] True", "True"), done.stdout + done.stderr
    assert len(lines) == 12, done.stdout + done.stderr
    late = {name: after for name, after in lines.items() if after == "None" or float(after) > 1}
    assert not late, late
