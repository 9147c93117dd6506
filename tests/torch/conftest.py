"""PyTorch's samples without what they do for PyTorch's own test cases."""

from __future__ import annotations

import contextlib
import importlib

# Each iteration over samples looks through the whole stack for a unittest.TestCase, and our tests are in none.
with contextlib.suppress(ImportError):
    for name in ("common_utils", "opinfo.core"):
        vars(importlib.import_module(f"torch.testing._internal.{name}"))["extract_test_fn"] = lambda: None
