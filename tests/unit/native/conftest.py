"""Fixtures of PyTorch's own native_functions.yaml, as opdsl and torchgen read it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from opdsl.native import NativeFunction, load


@pytest.fixture(scope="session")
def corpus_path() -> Path:
    """Return the path of torchgen's native_functions.yaml."""
    torchgen = importlib.util.find_spec("torchgen")
    assert torchgen is not None
    assert torchgen.submodule_search_locations is not None
    return Path(torchgen.submodule_search_locations[0]) / "packaged/ATen/native/native_functions.yaml"


@pytest.fixture(scope="session")
def entries(corpus_path: Path) -> tuple[NativeFunction, ...]:
    """Return all entries, as opdsl reads them."""
    return load(corpus_path)


@pytest.fixture(scope="session")
def torchgen_parse(corpus_path: Path) -> Any:
    """Return torchgen's parser for a text, which yields native functions (with generated ones on request) and backend
    indices.
    """
    from torchgen.gen import LineLoader, parse_native_yaml_struct, parse_tags_yaml

    tags = parse_tags_yaml(str(corpus_path.with_name("tags.yaml")))

    def parse(text: str, *, generate: bool = False) -> Any:
        return parse_native_yaml_struct(
            yaml.load(text, LineLoader), tags, path=str(corpus_path), skip_native_fns_gen=not generate
        )

    return parse


@pytest.fixture(scope="session")
def theirs(corpus_path: Path, torchgen_parse: Any) -> Any:
    """Return all entries, as torchgen reads them."""
    return torchgen_parse(corpus_path.read_text())
