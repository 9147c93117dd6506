"""Tests of libraries that use tensors by the array API only: they compute the same as with NumPy's arrays.

Each test runs in a separate process, because SciPy and scikit-learn read the environment when they are imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent / "clients.py"


@pytest.mark.parametrize("client", ["scipy", "sklearn", "array_api_extra", "einops"])
def test_a_client_computes_what_it_computes_of_arrays(client: str) -> None:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, str(CLIENTS), client]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) >= 4  # how many functions agreed
