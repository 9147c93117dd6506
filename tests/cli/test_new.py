"""Tests of ``opdsl new``, which writes a package with a library that works without changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from opdsl.cli import creating
from opdsl.cli.creating import make_library
from opdsl.errors import DuplicateFileError, OptionError

Run = Callable[..., Result]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a library with ``opdsl new`` and return its folder."""
    folder = tmp_path_factory.mktemp("new") / "seismic"
    make_library("seismic", folder)
    return folder


def execute(folder: Path, *arguments: str) -> str:
    """Run a Python program in a folder and return its output."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_program_shows_what_was_derived(library: Path) -> None:
    printed = execute(library, "-m", "seismic")
    assert "smooth_relu([-1.0, 0.0, 2.0], 0.5) = tensor([0.9482, 1.3863, 2.6265]" in printed
    assert "seismic::smooth_relu.out(Tensor self, float beta=1.0, *, Tensor(a!) out) -> Tensor(a!)" in printed


def test_its_tests_pass(library: Path) -> None:
    # tests/torch covers compilation in torch.
    printed = execute(library, "-m", "pytest", "-k", "not compiled")
    assert "18 passed, 1 deselected" in printed


def test_the_types_of_a_new_library_are_right(library: Path) -> None:
    cache = ROOT / ".mypy_cache" / "tests-new"
    assert "no issues found" in execute(library, "-m", "mypy", "--cache-dir", str(cache))


def test_its_files_are_those_that_its_readme_names_and_bear_its_name(library: Path) -> None:
    names = {str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()}
    assert {"README.md", "pyproject.toml", "mypy.ini", ".gitignore", "seismic/py.typed"} <= names
    assert {"typings/seismic/operators.pyi", "typings/opdsl/__init__.pyi", "tests/test_operators.py"} <= names
    others = {"typings", "__pycache__"}
    texts = [path.read_text() for path in library.rglob("*") if path.is_file() and others.isdisjoint(path.parts)]
    assert not any("mylib" in text or "OPDSL_VERSION" in text for text in texts)
    assert 'name = "seismic"' in (library / "pyproject.toml").read_text()


def test_nothing_but_the_folder_is_left(library: Path) -> None:
    assert [path.name for path in library.parent.iterdir()] == ["seismic"]


def test_the_command_says_what_to_try(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creating, "_write_stubs", lambda name, folder: None)
    outcome = run("new", "tides", "-o", str(tmp_path / "work"))
    assert outcome.exit_code == 0
    assert f"cd {tmp_path / 'work' / 'tides'}" in outcome.stderr
    assert (tmp_path / "work" / "tides" / "tides" / "operators.py").is_file()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-lib", "no name for a package.* Try my_lib"),
        ("2d", "no name for a package"),
        ("", "no name for a package"),
        ("class", "no name for a package"),
        ("__init__", "no name for a package"),
        ("größe", "no name for a package"),
        ("../up", "no name for a package.* Try up"),
        ("json", "a module that Python has"),
        ("numpy", "a module that Python has"),
        ("opdsl", "a module that Python has"),
        ("aten", "a namespace of opdsl's own"),
        ("tests", "a folder beside the package"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=message):
        make_library(name, tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_never_written_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tides").write_text("mine")
    with pytest.raises(DuplicateFileError, match="tides is there already"):
        make_library("tides", tmp_path / "tides")
    outcome = run("new", "tides", "-o", str(tmp_path))
    assert outcome.exit_code == 1 and "is there already" in outcome.stderr
    assert (tmp_path / "tides").read_text() == "mine"


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(creating, "_write_stubs", fail)
    with pytest.raises(KeyboardInterrupt):
        make_library("tides", tmp_path / "tides")
    assert not list(tmp_path.iterdir())
