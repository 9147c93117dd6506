"""PyTorch's samples without what they do for PyTorch's own test cases, and for devices that are not there."""

from __future__ import annotations

import contextlib
import importlib

# Each iteration over samples looks through the whole stack for a unittest.TestCase, and our tests are in none.
with contextlib.suppress(ImportError):
    for name in ("common_utils", "opinfo.core"):
        vars(importlib.import_module(f"torch.testing._internal.{name}"))["extract_test_fn"] = lambda: None

# Each seed is kept for every device that might come, with the whole stack as a text: most of the time of small samples.
with contextlib.suppress(ImportError):
    for name in ("cuda", "xpu", "mtia"):
        device = importlib.import_module(f"torch.{name}")
        if not device.is_available():
            vars(device)["manual_seed_all"] = lambda seed: None

# A program that test_sharding.py runs in several processes.
collect_ignore = ["sharded.py"]
