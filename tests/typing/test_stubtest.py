"""Tests by mypy's stubtest that everything in the stubs exists at run time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_stubs_say_what_is_there() -> None:
    options = ["--mypy-config-file", "mypy.ini", "--allowlist", "stubs/stubtest.txt", "--concise"]
    command = [sys.executable, "-m", "mypy.stubtest", "opdsl", *options, "--ignore-unused-allowlist"]
    environment = {**os.environ, "MYPYPATH": "stubs"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
