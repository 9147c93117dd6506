"""Tests that mypy with the plugin or the decorators, or both, find every mistake of ``faults``."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from opdsl.errors import OpdslError
from tests.typing.faults import FAULTS, PRELUDE, Fault

Mypy = Callable[..., list[str]]
CASES = [pytest.param(name, id=name) for name in FAULTS]

_ANNOTATIONS = 0x1000000  # CO_FUTURE_ANNOTATIONS


@pytest.fixture(scope="module")
def reports(mypy: Mypy, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Check all faults in one run of mypy and return the lines of its report by fault."""
    folder = tmp_path_factory.mktemp("faults")
    sources = {**{name: fault.source for name, fault in FAULTS.items()}, "none": ""}
    for name, source in sources.items():
        (folder / f"fault_{name}.py").write_text(PRELUDE + source)
    by_file: dict[str, list[str]] = defaultdict(list)
    for line in mypy(*sorted(folder.glob("*.py"))):
        by_file[Path(line.split(":", 1)[0]).stem.removeprefix("fault_")].append(line)
    return by_file


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Execute the prelude and yield its names; close its library afterwards."""
    module = ModuleType("tests_typing_fault")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(PRELUDE, "prelude.py", "exec"), module.__dict__)
    yield module.__dict__
    module.__dict__["lib"].close()


def test_the_prelude_has_no_fault(reports: dict[str, list[str]]) -> None:
    assert reports.get("none", []) == []


@pytest.mark.parametrize("name", CASES)
def test_mypy_finds_it(name: str, reports: dict[str, list[str]]) -> None:
    fault = FAULTS[name]
    report = "\n".join(reports.get(name, []))
    if fault.mypy is None:
        assert report == ""
    else:
        assert fault.mypy in report
        assert fault.about in report or "[return-value]" in report  # mypy reports its own error inside of the function


@pytest.mark.parametrize("name", CASES)
def test_the_decorator_finds_it(name: str, declared: dict[str, object], tmp_path: Path) -> None:
    fault = FAULTS[name]
    path = tmp_path / "fault.py"  # scalar functions are read from their files
    path.write_text(fault.source)
    code = compile(fault.source, str(path), "exec", dont_inherit=True, flags=_ANNOTATIONS)
    if fault.decorated is None:
        exec(code, declared)
        return
    with pytest.raises(OpdslError) as caught:
        exec(code, declared)
    text = str(caught.value)
    assert fault.decorated in text
    assert fault.about in text


def test_every_fault_is_found_somewhere() -> None:
    def is_found(fault: Fault) -> bool:
        return fault.mypy is not None or fault.decorated is not None

    assert [name for name, fault in FAULTS.items() if not is_found(fault)] == []


MADE = """
from opdsl import Library, Tensor
from opdsl.declare.operator import Operator

lib = Library("made")
scale = lib.define("scale(Tensor self, float by=2.0) -> Tensor")


def declare(name: str) -> Operator[..., Tensor]:
    return lib.define(f"{name}(Tensor self) -> Tensor")


negated = declare("negated")


@scale.kernel("CPU")
def scale_cpu(self, by):
    return self * by


@negated.kernel("CPU")
def negated_cpu(self):
    return -self
"""


def test_kernels_of_operators_that_are_made_by_calls_need_no_annotations(mypy: Mypy, tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(MADE)
    assert mypy(path) == []
