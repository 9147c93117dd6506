"""Project of operators that tests build and run without opdsl."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

SOURCE = '''
"""Operators of each kind."""

from __future__ import annotations

import opdsl
from opdsl import Library, Tensor, formula

lib = Library("ported")


@lib.op
@formula
def swish(self: Tensor, beta: float = 1.0) -> Tensor:
    """``self * sigmoid(beta * self)``"""
    return self * opdsl.sigmoid(beta * self)


@lib.op
@formula
def mean_square(self: Tensor, dim: int = -1, keepdim: bool = False) -> Tensor:
    return self.square().mean(dim, keepdim=keepdim)


@lib.op
@formula
def weighed_softmax(self: Tensor, weight: Tensor) -> Tensor:
    e = opdsl.exp(self - self.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True) * weight


@lib.op
@formula
def running_total(self: Tensor) -> Tensor:
    return opdsl.tanh(self).cumsum(-1)


@lib.op
@formula
def blended(self: Tensor, other: Tensor) -> Tensor:
    return self + 2 * other


@lib.op
def negated_in_place(self: Tensor) -> Tensor:
    return print("called") or -self


lib.define("negated_(Tensor(a!) self) -> Tensor(a!)")
'''

# The same operators with in-place and ``out=`` variants, and one that returns several tensors.
VARIANTS = (
    SOURCE.replace("@lib.op\n@formula", "@lib.op(inplace=True, out=True)\n@formula")
    + """

@lib.op(out=True)
@formula
def extremes(self: Tensor) -> tuple[Tensor, Tensor]:
    return self.amin(-1), self.amax(-1)
"""
)

SETTINGS = """
[project]
name = "ported-operators"
version = "1.2"

[tool.opdsl.build]
module = "ported"
ranks = [2]
targets = {targets}

[tool.opdsl.build.forms]
swish = [{swish}]
weighed_softmax = ["float32[n, d], float32[d]"]
blended = ["float32[n, d], float32[n, d]", "float32[n, d], float32[d]", "float32[n, d].order(1, 0), float32[n, d]"]
"""

# Stands in for an environment that has none of these packages.
BLOCKED = """
import sys
for name in ("opdsl", "numba", "llvmlite", "scipy"):
    sys.modules[name] = None
sys.path.insert(0, {site!r})
"""


def targets_here() -> list[str]:
    """Return the targets that tests build for on this machine."""
    return ["x86-64", "x86-64-v2"] if platform.machine() == "x86_64" else ["aarch64"]


def make_project(folder: Path, swish: tuple[str, ...] = ("float32[n, d]",), source: str = SOURCE) -> Path:
    """Write the project to a folder, and return the folder."""
    package = folder / "ported"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    forms = ", ".join(json.dumps(form) for form in swish)
    settings = SETTINGS.format(targets=json.dumps(targets_here()), swish=forms)
    (folder / "pyproject.toml").write_text(settings)
    return folder


def execute(*command: object) -> str:
    """Run a program of Python, and return its output."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'stubs'}", "OPDSL_QUICK_COMPILE": "1"}
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(project: Path) -> Path:
    """Build a project, and return a folder with the contents of its wheel."""
    execute("-m", "opdsl", "build", project)
    (wheel,) = (project / "dist").glob("*.whl")
    site = project / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def run_blocked(site: Path, program: str) -> str:
    """Run a program where opdsl and what it needs cannot be imported, and return its output."""
    return execute("-c", BLOCKED.format(site=str(site)) + program)
