"""What law 15 does with an operator in a running PyTorch; loaded with the first use of that law.

May import: everything below, and PyTorch.
"""

from __future__ import annotations
