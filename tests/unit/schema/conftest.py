"""Fixture of PyTorch's own schemas, read from the installed torch package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    """Return the schema texts in torchgen's native_functions.yaml."""
    torchgen = importlib.util.find_spec("torchgen")
    assert torchgen is not None
    assert torchgen.submodule_search_locations is not None
    folder = Path(torchgen.submodule_search_locations[0])
    with open(folder / "packaged/ATen/native/native_functions.yaml") as file:
        return [entry["func"] for entry in yaml.load(file, yaml.CSafeLoader)]
