"""What is checked here is no test module: fail/ must not run at all, pass/ runs once, in a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from mypy import api

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

Mypy = Callable[..., list[str]]


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Mypy:
    """Runs strict mypy with the plugin over paths and gives the lines of its report.

    What it knows of opdsl and NumPy is kept from run to run; test processes have a cache each.
    """
    configuration = tmp_path_factory.mktemp("mypy") / "mypy.ini"
    configuration.write_text(CONFIGURATION)
    cache = ROOT / ".mypy_cache" / f"tests-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    options = ["--config-file", str(configuration), "--cache-dir", str(cache), "--no-error-summary"]

    def run(*paths: Path) -> list[str]:
        output, errors, _ = api.run([*options, *map(str, paths)])
        assert errors == ""
        return output.splitlines()

    return run
