"""What needs a GPU: everything here is skipped where there is no driver or no device, and for no other reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import opdsl

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if opdsl.cuda.is_available():
        return
    missing = pytest.mark.skip(reason="no CUDA device: opdsl.cuda.is_available() is False")
    for each in items:
        if HERE in each.path.parents:
            each.add_marker(missing)
