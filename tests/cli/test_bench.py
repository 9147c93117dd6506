"""``opdsl bench``: what it times, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opdsl.cli import main

MODULE = """
from opdsl import Library, Tensor

lib = Library("timed_here")


@lib.op
def doubled(self: Tensor) -> Tensor: ...


@doubled.pointwise
def doubled_scalar_function(self):
    return self * 2
"""


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["bench", *arguments])
    return result.exit_code, result.output


def test_a_call_has_a_time() -> None:
    code, text = run("aten::neg")
    assert code == 0 and re.search(r"^aten::neg +\(float32\[3, 4\]\) +[\d.]+ (ns|µs)$", text, re.MULTILINE)


def test_beside_torch_there_is_a_ratio() -> None:
    code, text = run("aten::neg", "--beside", "torch", "--size", "10")
    assert code == 0 and re.search(r"^aten::neg .*float32\[10\].* [\d.]+$", text, re.MULTILINE)


def test_operators_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "timed_here.py").write_text(MODULE)
    assert "timed_here::doubled" in run("--module", str(tmp_path / "timed_here.py"))[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no_such_operator",), "no functional operator"),
        (("aten::mm", "--size", "3"), "Leave out --size"),
        (("aten::neg", "--dtype", "float7"), "no such dtype"),
    ],
)
def test_refusals(arguments: tuple[str, ...], words: str) -> None:
    code, text = run(*arguments)
    assert (code, words in text) == (1, True)
