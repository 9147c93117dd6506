"""Fixture that lets tests of backends use fully optimized machine code, even where other tests compile without
optimization.
"""

from __future__ import annotations

import pytest

# Tests of other devices, in which the CPU's kernels are only the reference. PoCL's LLVM takes seconds to optimize some
# kernels: unoptimized code tests the same text, and each day some tests optimize it (``tests/conftest.py``).
_ELSEWHERE = ("test_cuda_", "test_opencl")


@pytest.fixture(autouse=True)
def optimised(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile the CPU's kernels with full optimization."""
    if not request.path.name.startswith(_ELSEWHERE):
        monkeypatch.delenv("OPDSL_QUICK_COMPILE", raising=False)
