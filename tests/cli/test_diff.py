"""Tests of ``opdsl diff``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "old.yaml").write_text("- func: f(Tensor self) -> Tensor\n- func: g() -> ()\n")
    (folder / "new.yaml").write_text("- func: f(Tensor input) -> Tensor\n- func: g() -> ()\n  tags: core\n")
    (folder / "more.yaml").write_text("- func: f(Tensor self, int n=0) -> Tensor\n- func: g() -> ()\n")
    return folder


def test_a_break_exits_with_1_and_stands_first(run: Run, files: Path) -> None:
    outcome = run("diff", "old.yaml", "new.yaml")
    assert outcome.exit_code == 1
    assert outcome.stdout == (
        "breaks callers:\n"
        "    new.yaml:1:9: aten::f: the argument self is called input now\n"
        "does not break callers:\n"
        "    new.yaml:2:9: aten::g: tags changed\n"
    )


def test_without_a_break_it_exits_with_0(run: Run, files: Path) -> None:
    outcome = run("diff", "old.yaml", "more.yaml")
    assert (outcome.exit_code, outcome.stderr) == (0, "0 changes break callers, 1 do not\n")


def test_only_breaks_are_shown_when_asked(run: Run, files: Path) -> None:
    assert "tags" not in run("diff", "--breaking", "old.yaml", "new.yaml").stdout


def test_a_module_compares_with_a_file(run: Run, my_ops: Path) -> None:
    run("export", "--module", "my_ops.py", "-o", "my_ops.yaml")
    assert run("diff", "my_ops.yaml", "my_ops.yaml").exit_code == 0
    (my_ops.parent / "other_ops.py").write_text(my_ops.read_text().replace("beta", "gamma"))
    outcome = run("diff", "my_ops.yaml", "other_ops.py")
    assert (outcome.exit_code, "is gone" in outcome.stdout) == (1, True)


def test_a_module_compares_with_itself(run: Run, my_ops: Path) -> None:
    assert run("diff", "my_ops.py", "my_ops.py").exit_code == 0


def test_opdsls_own_operators_do_not_differ_from_themselves(run: Run) -> None:
    assert run("diff", "opdsl", "opdsl").exit_code == 0


def test_a_file_that_is_not_there_is_an_error(run: Run) -> None:
    outcome = run("diff", "no.yaml", "opdsl")
    assert (outcome.exit_code, "no.yaml" in outcome.stderr) == (1, True)


def test_changes_of_modules_show_where_they_are_declared(run: Run, my_ops: Path) -> None:
    other = my_ops.with_name("other_ops.py")
    other.write_text(my_ops.read_text().replace("upsample", "resample"))
    lines = run("diff", "my_ops.py", "other_ops.py").stdout.splitlines()
    declared = 1 + my_ops.read_text().splitlines().index("@op(out=True)")
    assert any(f"{my_ops}:{declared}:1: my_ops::upsample: is gone" in line for line in lines)
    assert any(f"{other}:{declared}:1: other_ops::resample: is new" in line for line in lines)
