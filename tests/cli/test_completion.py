"""Tests of shell completion of operator names, by click's protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from opdsl.cli import main


def completed(*words: str) -> list[str]:
    """Return the completions of the last word of a command line."""
    *before, last = words
    completion = ShellComplete(main, {}, "opdsl", "_OPDSL_COMPLETE")
    return [item.value for item in completion.get_completions(before, last)]


@pytest.mark.parametrize("command", ["show", "list", "bench"])
def test_packets(command: str) -> None:
    assert completed(command, "logsumex") == ["logsumexp"]


def test_a_namespace_is_kept() -> None:
    assert completed("show", "aten::logsumex") == ["aten::logsumexp"]


def test_overloads() -> None:
    assert completed("show", "softmax.") == ["softmax.int", "softmax.int_out"]
    assert completed("show", "aten::neg.d") == ["aten::neg.default"]


def test_nothing_is_offered_for_what_is_no_operator() -> None:
    assert completed("show", "no_such_operator") == completed("show", "no_such_operator.") == []


def test_operators_of_a_module(my_ops: Path) -> None:
    assert completed("show", "--module", str(my_ops), "smooth_r") == ["smooth_relu", "smooth_relu_"]
    assert completed("show", "--module", str(my_ops), "my_ops::aff") == ["my_ops::affine"]


def test_a_module_that_cannot_be_loaded_offers_nothing(folder: Path) -> None:
    (folder / "broken_here.py").write_text("1 / 0")
    assert completed("show", "--module", "broken_here.py", "logsumex") == ["logsumexp"]
