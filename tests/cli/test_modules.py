"""Tests of ``--module``: it loads users' modules, and reports their errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

ONE_OP = """
from opdsl import Tensor, op

@op
def identity(self: Tensor) -> Tensor:
    return self
"""


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def names(result: Result) -> list[str]:
    return [line.split()[0] for line in result.stdout.splitlines()]


@pytest.mark.parametrize("module", ["my_ops.py", "./my_ops.py", "my_ops"])
def test_a_module_is_a_file_or_a_dotted_name(run: Run, my_ops: Path, module: str) -> None:
    assert "my_ops::affine" in names(run("list", "--module", module))


def test_a_file_may_stand_anywhere(run: Run, my_ops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert "my_ops::affine" in names(run("list", "--module", str(my_ops)))


def test_a_module_may_be_given_twice(run: Run, my_ops: Path) -> None:
    assert run("list", "--module", "my_ops.py", "--module", "my_ops").exit_code == 0


@pytest.mark.parametrize("module", ["package/inner/ops.py", "package.inner.ops", "package/inner", "package"])
def test_a_file_in_a_package_is_part_of_it(run: Run, folder: Path, module: str) -> None:
    write(folder / "package" / "__init__.py", "from package import inner")
    write(folder / "package" / "inner" / "__init__.py", "from . import ops")
    write(folder / "package" / "inner" / "ops.py", ONE_OP)
    assert names(run("list", "--module", module)) == ["package::identity"]


def test_a_module_finds_its_neighbours(run: Run, folder: Path) -> None:
    write(folder / "sub" / "neighbour_ops.py", ONE_OP)
    write(folder / "sub" / "first_ops.py", "import neighbour_ops")
    assert names(run("list", "--module", "sub/first_ops.py")) == ["neighbour_ops::identity"]


def test_operators_of_a_module_that_is_loaded_count(run: Run) -> None:
    assert "aten::mul.Tensor" in names(run("list", "--module", "opdsl.aten.pointwise.arithmetic"))


# ---------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = unknown\n", "wrong_ops.py:2: NameError: name 'unknown' is not defined"),
        ("\n\ndef f(:\n", "wrong_ops.py:3: SyntaxError: invalid syntax"),
        ("import no_such_package\n", "wrong_ops.py:1: ModuleNotFoundError: No module named 'no_such_package'"),
        ("import sys\nsys.exit(3)\n", "wrong_ops.py:2: SystemExit: 3"),
        ("import json\n\njson.loads('[')\n", "wrong_ops.py:3: JSONDecodeError: Expecting value"),
        ("raise AssertionError\n", "wrong_ops.py:1: AssertionError\n"),
    ],
)
def test_an_error_in_a_module_is_one_message_with_its_place(run: Run, folder: Path, text: str, message: str) -> None:
    write(folder / "wrong_ops.py", text)
    assert run("list", "--module", "wrong_ops.py").stderr.startswith(f"Error: {folder}/{message}")


def test_a_declaration_error_has_its_place_once(run: Run, folder: Path) -> None:
    file = write(folder / "wrong_ops.py", "import opdsl\n\n@opdsl.op\ndef f(x) -> opdsl.Tensor: ...\n")
    outcome = run("list", "--module", "wrong_ops.py")
    assert outcome.stderr.startswith(f"Error: {file}:3: f: the parameter 'x' has no annotation.")


def test_an_error_of_a_call_gets_the_place_of_the_call(run: Run, folder: Path) -> None:
    file = write(folder / "wrong_ops.py", "import opdsl\n\nopdsl.ones_of_nothing\n")
    assert run("list", "--module", "wrong_ops.py").stderr.startswith(f"Error: {file}:3: module 'opdsl' ")


def test_an_error_in_a_module_exits_with_1(run: Run, folder: Path) -> None:
    write(folder / "wrong_ops.py", "1 / 0\n")
    assert run("list", "--module", "wrong_ops.py").exit_code == 1


def test_a_module_that_failed_is_not_kept(run: Run, folder: Path) -> None:
    write(folder / "wrong_ops.py", "1 / 0\n")
    run("list", "--module", "wrong_ops.py")
    assert "wrong_ops" not in sys.modules


def test_a_file_that_is_not_there_is_named(run: Run, folder: Path) -> None:
    outcome = run("show", "add", "--module", "absent.py")
    assert (outcome.exit_code, outcome.stderr) == (1, f"Error: there is no file {folder}/absent.py\n")


def test_a_module_that_is_not_there_is_named(run: Run, folder: Path) -> None:
    assert run("list", "--module", "absent_ops").stderr.startswith("Error: there is no module 'absent_ops'")


def test_a_submodule_that_is_not_there_is_named(run: Run, my_ops: Path) -> None:
    assert "No module named 'my_ops.absent'" in run("list", "--module", "my_ops.absent").stderr


def test_a_file_with_the_name_of_a_loaded_module_is_refused(run: Run, folder: Path) -> None:
    write(folder / "operator.py", ONE_OP)
    assert "Python has another module 'operator' loaded" in run("list", "--module", "operator.py").stderr


def test_a_file_that_is_no_python_is_refused(run: Run, folder: Path) -> None:
    write(folder / "notes.txt", "add")
    assert "is no Python file" in run("list", "--module", "notes.txt").stderr


def test_a_module_without_operators_is_an_error(run: Run, folder: Path) -> None:
    write(folder / "empty_ops.py", "x = 1")
    assert run("list", "--module", "empty_ops.py").stderr.startswith("Error: empty_ops.py declares no operator.")
