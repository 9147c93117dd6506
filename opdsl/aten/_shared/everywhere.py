"""Dispatch keys of all backends, for kernels that use a backend's memory operations and no arithmetic."""

from __future__ import annotations

EVERYWHERE = ("CPU", "CUDA", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3")
"""Dispatch keys for kernels that allocate, fill, copy and make views."""
