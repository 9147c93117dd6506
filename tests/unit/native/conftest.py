"""PyTorch's own corpus and torchgen's reading of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from opdsl.native import NativeFunction, load


@pytest.fixture(scope="session")
def corpus_path() -> Path:
    """Torchgen's packaged native_functions.yaml."""
    torchgen = importlib.util.find_spec("torchgen")
    assert torchgen is not None
    assert torchgen.submodule_search_locations is not None
    return Path(torchgen.submodule_search_locations[0]) / "packaged/ATen/native/native_functions.yaml"


@pytest.fixture(scope="session")
def entries(corpus_path: Path) -> tuple[NativeFunction, ...]:
    """All entries, as we read them."""
    return load(corpus_path)


@pytest.fixture(scope="session")
def torchgen_parse(corpus_path: Path) -> Any:
    """Torchgen's parser for a text: native functions and backend indices, without generated operators by default."""
    from torchgen.gen import LineLoader, parse_native_yaml_struct, parse_tags_yaml

    tags = parse_tags_yaml(str(corpus_path.with_name("tags.yaml")))

    def parse(text: str, *, generate: bool = False) -> Any:
        return parse_native_yaml_struct(
            yaml.load(text, LineLoader), tags, path=str(corpus_path), skip_native_fns_gen=not generate
        )

    return parse


@pytest.fixture(scope="session")
def theirs(corpus_path: Path, torchgen_parse: Any) -> Any:
    """All entries, as torchgen reads them."""
    return torchgen_parse(corpus_path.read_text())
