"""mypy with the plugin over ``pass``, ``fail`` and ``reveal``; what passes also runs."""

from __future__ import annotations

import runpy
from collections import defaultdict
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent
CASES = sorted(path for kind in ("pass", "fail", "reveal") for path in (HERE / kind).glob("*.py"))

CONFIGURATION = """
[mypy]
strict = True
plugins = opdsl.typing.mypy_plugin
follow_imports = silent
warn_unused_ignores = True
namespace_packages = True
explicit_package_bases = True
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says about each file, all of them checked in one run."""
    folder = tmp_path_factory.mktemp("mypy")
    configuration = folder / "mypy.ini"
    configuration.write_text(CONFIGURATION)
    options = ["--config-file", str(configuration), "--cache-dir", str(folder / "cache"), "--no-error-summary"]
    output, errors, _ = api.run([*options, *map(str, CASES)])
    assert errors == ""
    found: dict[str, list[str]] = defaultdict(list)
    for line in output.splitlines():
        found[str(Path(line.split(":", 1)[0]).resolve())].append(line)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_mypy_says_what_the_file_expects(case: Path, reports: dict[str, list[str]]) -> None:
    assert reports.get(str(case.resolve()), []) == []


@pytest.mark.parametrize("case", sorted((HERE / "pass").glob("*.py")), ids=lambda path: path.name)
def test_what_passes_also_runs(case: Path) -> None:
    runpy.run_path(str(case), run_name=f"typing_{case.stem}")


def test_nothing_else_is_reported(reports: dict[str, list[str]]) -> None:
    assert sorted(reports) == []
