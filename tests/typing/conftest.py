"""Fixtures that run type checkers over ``fail``, ``pass`` and ``reveal``, which are not test modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.typing.checker import mypy_says

collect_ignore_glob = ["pass/*", "fail/*", "reveal/*"]

ROOT = Path(__file__).resolve().parents[2]

CONFIGURATION = """
[mypy]
strict = True
plugins = opdsl.typing.mypy_plugin
follow_imports = silent
warn_unused_ignores = True
namespace_packages = True
explicit_package_bases = True
"""

USERS_CONFIGURATION = """
[mypy]
strict = True
follow_imports = silent
namespace_packages = True
explicit_package_bases = True
"""

Mypy = Callable[..., list[str]]


def cache_of(kind: str) -> Path:
    """Return the folder of a mypy cache, which is kept between runs; each test process has its own."""
    return ROOT / ".mypy_cache" / f"tests-{kind}{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Mypy:
    """Return a function that runs strict mypy with the plugin over paths and returns the lines of its report."""
    configuration = tmp_path_factory.mktemp("mypy") / "mypy.ini"
    configuration.write_text(CONFIGURATION)
    options = ["--config-file", str(configuration), "--cache-dir", str(cache_of("")), "--no-error-summary"]

    def run(*paths: Path) -> list[str]:
        report, errors = mypy_says(*options, *map(str, paths))
        assert errors == ""
        return report.splitlines()

    return run


@pytest.fixture
def users_mypy(tmp_path: Path) -> Mypy:
    """Return a function that runs strict mypy over paths with the stubs, as users do, with or without the plugin."""

    def run(*paths: Path, plugin: bool = False, stubs: Path = ROOT / "stubs") -> list[str]:
        lines = [USERS_CONFIGURATION.strip(), f"mypy_path = {stubs}:{ROOT}"]
        if plugin:
            lines.append("plugins = opdsl.typing.mypy_plugin")
        configuration = tmp_path / "mypy.ini"
        configuration.write_text("\n".join(lines))
        cache = cache_of("plugin-" if plugin else "users-")
        options = ["--config-file", str(configuration), "--cache-dir", str(cache), "--no-error-summary"]
        report, errors = mypy_says(*options, *map(str, paths))
        assert errors == ""
        return report.splitlines()

    return run


@pytest.fixture
def pyright(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that runs pyright (as basedpyright, which includes node) over paths with the stubs, as users
    do.
    """

    def run(*paths: Path, stubs: Path = ROOT / "stubs") -> list[str]:
        settings = {
            "typeCheckingMode": "standard",
            "include": [str(path) for path in paths],
            "extraPaths": [str(stubs), str(ROOT)],
            "pythonVersion": "3.11",
            "reportUnusedExpression": False,
        }
        configuration = tmp_path / "pyrightconfig.json"
        configuration.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "basedpyright", "--project", str(configuration), "--outputjson"]
        done = subprocess.run([*command, "--pythonpath", sys.executable], capture_output=True, text=True, timeout=300)
        report = json.loads(done.stdout)
        assert report["summary"]["filesAnalyzed"] >= len(paths)
        return [
            f"{error['file']}:{error['range']['start']['line'] + 1}: {error['message']}" for error in _errors(report)
        ]

    return run


def _errors(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [diagnostic for diagnostic in report["generalDiagnostics"] if diagnostic["severity"] == "error"]
