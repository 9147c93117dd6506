"""Tests that type checkers use the types of an installed opdsl, from a wheel and from an editable install."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parents[2]

USER = """
from typing import assert_type
import opdsl
import opdsl.testing
from opdsl import Tensor

x = opdsl.ones(2, 3)
assert_type(opdsl.add(x, 2), Tensor)
assert_type(x.sum(0).view(3, 1).T + 1, Tensor)
assert_type(opdsl.max(x, 0).values, Tensor)
assert_type(opdsl.ops.aten.add.Tensor(x, x, alpha=2), Tensor)
opdsl.testing.check_op(opdsl.exp)
x.nothing()
opdsl.nothing(x)
"""

WRONG = ["user.py:13", "user.py:14"]

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}


def environment(folder: Path, *install: str) -> Path:
    """Create an environment with opdsl and return its Python; the dependencies of opdsl are those of this
    environment.
    """
    venv.create(folder)
    python = folder / "bin" / "python"
    packages = Path(numpy.__file__).parents[1]
    next(folder.glob("lib/python*/site-packages")).joinpath("dependencies.pth").write_text(f"{packages}\n")
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, *install]
    subprocess.run(command, check=True, timeout=300, env=ENVIRONMENT)
    return python


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", str(ROOT)]
    subprocess.run([*command, "--wheel-dir", str(tmp_path)], check=True, timeout=300)
    (file,) = tmp_path.glob("*.whl")
    return file


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_type_checkers_know_every_operator(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    install = [str(request.getfixturevalue("wheel"))] if kind == "wheel" else ["--editable", str(ROOT)]
    python = environment(tmp_path / "environment", *install)
    user = tmp_path / "user.py"
    user.write_text(USER)
    assert faults_of_mypy(python, user) == WRONG
    assert faults_of_pyright(python, user) == WRONG
    if kind == "wheel":  # and the first program of the documentation runs
        example = next(block for block in blocks((ROOT / "README.md").read_text()) if block.language == "python")
        program = tmp_path / "example.py"
        program.write_text(example.text)
        command = [str(python), str(program)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
        assert done.returncode == 0 and "mylib::smooth_relu(Tensor self" in done.stdout, done.stderr


def test_the_wheel_has_the_stubs_beside_the_modules(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    stubs = {str(path.relative_to(ROOT / "stubs")) for path in (ROOT / "stubs").rglob("*.pyi")}
    assert stubs | {"opdsl/py.typed"} <= names


def faults_of_mypy(python: Path, user: Path) -> list[str]:
    """Return the positions of the errors that mypy reports."""
    cache = ROOT / ".mypy_cache" / "tests-installed"
    options = ["--strict", "--config-file=", "--python-executable", str(python), "--cache-dir", str(cache)]
    return places(": error:", run("-m", "mypy", *options, str(user), folder=user.parent))


def faults_of_pyright(python: Path, user: Path) -> list[str]:
    """Return the positions of the errors that pyright reports."""
    return places(" - error: ", run("-m", "basedpyright", "--pythonpath", str(python), str(user), folder=user.parent))


def places(mark: str, report: str) -> list[str]:
    """Return positions such as ``user.py:13`` of the lines of a report that contain a mark."""
    lines = [line.partition(mark)[0] for line in report.splitlines() if mark in line]
    return [":".join(Path(line.strip()).name.split(":")[:2]) for line in lines]


def run(*arguments: str, folder: Path) -> str:
    """Run a tool of this environment outside of the sources of opdsl, so that it finds only the installed package."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, cwd=folder, env=ENVIRONMENT
    )
    assert done.stderr == ""
    return done.stdout
