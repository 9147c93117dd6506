"""The backends on which a kernel is right that does nothing to elements but what the memory protocol does."""

from __future__ import annotations

EVERYWHERE = ("CPU", "CUDA", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3")
"""Keys for kernels that allocate, fill, copy and make views."""
