"""Compiles that take little time and make slow code: for tests, which run each kernel a few times on little data."""

from __future__ import annotations

import os

__all__ = ["is_quick"]


def is_quick() -> bool:
    """Return whether ``OPDSL_QUICK_COMPILE=1`` is in the environment: kernels are compiled, not optimised."""
    return os.environ.get("OPDSL_QUICK_COMPILE", "0") not in ("", "0")
