"""Tests that mypy accepts the stubs of all of PyTorch's operators, imported from native_functions.yaml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torchgen.gen as torchgen
from click.testing import CliRunner

from opdsl.cli import main

CORPUS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Import the corpus, write its stubs by the commands, and return their folder."""
    monkeypatch.chdir(tmp_path)
    for command in (("import", str(CORPUS), "-o", "corpus.py"), ("stubs", "corpus.py")):
        assert CliRunner().invoke(main, command, catch_exceptions=False).exit_code == 0
    return tmp_path / "typings"


def test_mypy_reads_the_stubs_of_all_operators(stubs: Path, users_mypy: Callable[..., list[str]]) -> None:
    assert sum(path.read_text(encoding="utf-8").count("@_operator") for path in stubs.rglob("*.pyi")) > 3000
    assert users_mypy(stubs / "corpus.pyi", stubs / "opdsl", stubs=stubs) == []
