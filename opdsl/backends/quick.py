"""Switch for compilation without optimization, used by tests, which run each kernel a few times on little data."""

from __future__ import annotations

import os

__all__ = ["is_quick"]


def is_quick() -> bool:
    """Return whether ``OPDSL_QUICK_COMPILE=1`` is set in the environment, so that kernels are compiled without
    optimization.
    """
    return os.environ.get("OPDSL_QUICK_COMPILE", "0") not in ("", "0")
