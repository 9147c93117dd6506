"""Backends are tested with machine code as users get it, however quickly other tests have theirs compiled."""

from __future__ import annotations

import pytest

# Tests of what runs beside the CPU, whose kernels are the reference there. PoCL's LLVM optimises some for seconds: the
# quick code is another way to run the same text, and each day other tests have it optimised (``tests/conftest.py``).
_ELSEWHERE = ("test_cuda_", "test_opencl")


@pytest.fixture(autouse=True)
def optimised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of the CPU are optimised in full."""
    if not request.path.name.startswith(_ELSEWHERE):
        monkeypatch.delenv("OPDSL_QUICK_COMPILE", raising=False)
