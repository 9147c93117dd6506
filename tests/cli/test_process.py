"""Tests of the command as a process: entry points, pipes, terminals, errors and bugs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from opdsl.cli import main
from opdsl.errors import ShapeError

Run = Callable[..., Result]

SCRIPT = Path(sys.executable).with_name("opdsl")


def start(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without environment variables that force or forbid colors."""
    clean = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=60, env={**clean, **environment}
    )


def test_the_module_runs() -> None:
    assert start(sys.executable, "-m", "opdsl", "show", "mul.Tensor").stdout.startswith("aten::mul.Tensor\n")


def test_of_the_library_only_what_is_shown_is_loaded() -> None:
    """``opdsl show`` finds a generated ``out=`` variant without loading the modules of other operators."""
    code = (
        "import sys; from opdsl.cli import main; main(['show', 'values_copy.out'], standalone_mode=False); "
        "print('opdsl.aten.linalg.norms' in sys.modules, file=sys.stderr)"
    )
    shown = start(sys.executable, "-c", code)
    assert (shown.stdout.partition("\n")[0], shown.stderr) == ("aten::values_copy.out", "False\n")


def test_the_code_of_the_kernels_of_a_call_is_shown() -> None:
    shown = start(sys.executable, "-m", "opdsl", "show", "aten::sinh", "--llvm", "--cuda").stdout
    llvm, _, cuda = shown.partition("\nCUDA C++: (float32[3, 4])\n")
    assert ("    define " in llvm, "    define " in cuda) == (True, False)
    assert ('extern "C" __global__' in llvm, 'extern "C" __global__' in cuda) == (False, True)


@pytest.mark.skipif(not SCRIPT.exists(), reason="opdsl is not installed beside this Python")
def test_the_script_runs() -> None:
    assert start(SCRIPT, "show", "mul.Tensor").stdout.startswith("aten::mul.Tensor\n")


@pytest.fixture(scope="module")
def narrow_pipe() -> subprocess.CompletedProcess[str]:
    """Run ``opdsl list`` into a pipe of ten columns; stderr says whether rich is loaded."""
    code = (
        "import sys; from opdsl.cli import main; main(['list', 'copy'], standalone_mode=False); "
        "print('rich' in sys.modules, file=sys.stderr)"
    )
    return start(sys.executable, "-c", code, COLUMNS="10")


def test_a_narrow_pipe_keeps_lines_whole(narrow_pipe: subprocess.CompletedProcess[str]) -> None:
    lines = narrow_pipe.stdout.splitlines()
    assert lines
    assert all(line.startswith("aten::") for line in lines)


def test_a_pipe_does_not_load_rich(narrow_pipe: subprocess.CompletedProcess[str]) -> None:
    assert narrow_pipe.stderr == "False\n"


def test_a_wrong_name_exits_with_1_and_shows_no_traceback() -> None:
    ended = start(sys.executable, "-m", "opdsl", "show", "nothing.like_it")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr


def test_a_closed_pipe_is_no_error() -> None:
    shell = f"{sys.executable} -m opdsl show add.Tensor --all-keys | head -n 1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("aten::add.Tensor\n", "")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_a_terminal_gets_colours() -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "opdsl", "show", "mul.Tensor"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as process:
        process.wait(timeout=60)
    os.close(theirs)
    printed = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"\x1b[" in printed


def test_help_names_every_command(run: Run) -> None:
    text = run("--help").stdout
    assert [name for name in ("list", "show", "export", "doctor") if f"\n  {name} " not in text] == []


def test_the_version_is_printed(run: Run) -> None:
    import opdsl

    assert run("--version").stdout.split()[-1] == opdsl.__version__


def test_an_unknown_command_exits_with_2(run: Run) -> None:
    assert run("frobnicate").exit_code == 2


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Return a function that adds a command ``fail``, which raises an exception."""

    def add(error: Exception) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setitem(main.commands, "fail", click.Command("fail", callback=fail))

    return add


def test_an_error_of_ours_is_a_message(run: Run, failing: Callable[[Exception], None]) -> None:
    failing(ShapeError("add: shapes differ."))
    outcome = run("fail")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", "Error: add: shapes differ.\n")


def test_another_error_is_a_bug_and_stays_one(run: Run, failing: Callable[[Exception], None]) -> None:
    failing(KeyError("bug"))
    with pytest.raises(KeyError, match="bug"):
        run("fail")
