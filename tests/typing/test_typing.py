"""Tests of the reports of type checkers about ``pass``, ``fail`` and ``reveal``, with the stubs as users have them.

``pass`` has no errors, and runs; ``fail`` states the expected error after each line; ``reveal`` asserts types.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

Check = Callable[..., list[str]]
HERE = Path(__file__).parent
STUBS = HERE.parents[1] / "stubs"

# The files that need the plugin.
NEED_PLUGIN = ("declarations.py", "operators.py")

CASES = sorted(path for kind in ("pass", "fail", "reveal") for path in (HERE / kind).glob("*.py"))
PLAIN = [case for case in CASES if case.name not in NEED_PLUGIN]


def test_mypy_with_the_plugin(users_mypy: Check) -> None:
    assert users_mypy(*CASES, plugin=True) == []


def test_mypy_without_it(users_mypy: Check) -> None:
    assert users_mypy(*PLAIN) == []


def test_pyright(pyright: Check) -> None:
    """Pyright accepts the stubs and the programs; ``fail`` is left out, since its comments have mypy's error codes."""
    assert pyright(*(path for path in PLAIN if path.parent.name != "fail"), STUBS) == []


@pytest.mark.parametrize("case", sorted((HERE / "pass").glob("*.py")), ids=lambda path: path.name)
def test_what_passes_also_runs(case: Path) -> None:
    runpy.run_path(str(case), run_name=f"typing_{case.stem}")
