"""Tests of incremental runs of mypy with the plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Mypy = Callable[..., list[str]]

# --------------------------------------------------------------------------------------------------- incremental runs

SETTINGS = "FACTOR = 2.0\n"

OPERATORS = """
from __future__ import annotations
from opdsl import Library, Tensor
from project_settings import FACTOR

lib = Library("project")

@lib.op(out=True)
def scaled(self: Tensor, factors: list[float]) -> Tensor: ...

@scaled.kernel("CPU")
def scaled_kernel(self, factors):
    return self * factors[0] * FACTOR

@scaled.overload("int")
def scaled_int(self: Tensor, factor: int) -> Tensor: ...
"""

USE = """
from opdsl import Tensor
from project_operators import scaled

def use(x: Tensor) -> Tensor:
    return scaled(scaled(x, (1.0, 2.0), out=x), 3)

@scaled.kernel("CUDA")
def scaled_cuda(self, factors):
    return self * factors[0]
"""


@pytest.fixture
def check_again(tmp_path: Path, mypy: Mypy, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Return a function that changes one of three modules, which import each other, and returns mypy's second
    report.
    """
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    paths = {name: tmp_path / f"project_{name}.py" for name in ("settings", "operators", "use")}
    for path, text in zip(paths.values(), (SETTINGS, OPERATORS, USE), strict=True):
        path.write_text(text)
    assert mypy(*paths.values()) == []

    def check(module: str, text: str) -> list[str]:
        paths[module].write_text(text)
        return mypy(*paths.values())

    return check


def test_a_module_is_read_again_when_what_it_imports_has_changed(
    check_again: Callable[[str, str], list[str]],
) -> None:
    assert check_again("settings", "FACTOR: int = 2\n") == []


def test_what_a_packet_takes_is_known_from_the_cache(check_again: Callable[[str, str], list[str]]) -> None:
    assert check_again("use", USE.replace("3", "4")) == []


def test_a_wrong_call_is_reported_from_the_cache(check_again: Callable[[str, str], list[str]]) -> None:
    (report,) = check_again("use", USE.replace("3", "'text'"))
    assert "project_use.py:6: error: Argument 2" in report
