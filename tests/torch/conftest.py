"""Speedups of PyTorch's samples: they skip work for PyTorch's own test cases and for missing devices."""

from __future__ import annotations

import contextlib
import importlib

# Each iteration over samples searches the whole stack for a unittest.TestCase, which these tests do not have.
with contextlib.suppress(ImportError):
    for name in ("common_utils", "opinfo.core"):
        vars(importlib.import_module(f"torch.testing._internal.{name}"))["extract_test_fn"] = lambda: None

# Each seed is kept for all possible devices, with the whole stack as text, which takes most of the time of small
# samples.
with contextlib.suppress(ImportError):
    for name in ("cuda", "xpu", "mtia"):
        device = importlib.import_module(f"torch.{name}")
        if not device.is_available():
            vars(device)["manual_seed_all"] = lambda seed: None

# test_sharding.py runs this program in several processes.
collect_ignore = ["sharded.py"]
