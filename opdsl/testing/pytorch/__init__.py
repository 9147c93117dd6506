"""Implementation of law 15, which compares operators with a running PyTorch; imported when that law is first used.

May import: everything below, and PyTorch.
"""

from __future__ import annotations
