"""Backends are tested with machine code as users get it, however quickly other tests have theirs compiled."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are optimised in full."""
    monkeypatch.delenv("OPDSL_QUICK_COMPILE", raising=False)
