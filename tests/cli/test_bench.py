"""Tests of ``opdsl bench``: which calls it times, and which arguments it rejects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opdsl.cli import main
from opdsl.cli.benching import Timing
from opdsl.testing.timing import Times

MODULE = """
from opdsl import Library, Tensor, formula

lib = Library("timed_here")


@lib.op
@formula
def doubled(self: Tensor) -> Tensor:
    return self * 2
"""


def run(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, ["bench", *arguments])
    return outcome.exit_code, outcome.output


TIME = r"([\d.]+) (ns|µs|ms|s)"
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def test_a_call_has_a_time_and_a_spread() -> None:
    code, text = run("aten::neg")
    line = rf"^aten::neg +\(float32\[3, 4\]\) +{TIME}  +\d+%( noisy)?$"
    assert code == 0 and re.search(line, text, re.MULTILINE)


def test_a_pipe_gets_a_header() -> None:
    header = run("aten::neg", "--size", "10", "--beside", "torch")[1].splitlines()[0]
    assert header.split() == ["operator", "arguments", "call", "torch", "ratio", "spread"]


def test_the_ratio_follows_from_its_columns() -> None:
    code, text = run("aten::neg", "--beside", "torch", "--size", "10")
    line = re.search(rf"^aten::neg .*float32\[10\].*?  {TIME}  +{TIME}  +([\d.]+)  +\d+%", text, re.MULTILINE)
    assert code == 0 and line is not None
    ours, theirs = float(line[1]) * SECONDS[line[2]], float(line[3]) * SECONDS[line[4]]
    # Times are shown with three digits, the ratio with two after the point.
    assert float(line[5]) == pytest.approx(ours / theirs, rel=0.011, abs=0.006)


def test_a_line_whose_turns_vary_says_that_it_is_noisy() -> None:
    steady, wild = Times((1.0, 1.0, 1.0, 1.01, 1.02)), Times((1.0, 1.0, 2.0, 3.0, 4.0))
    quiet = Timing("f", "()", steady, steady)
    assert (quiet.is_noisy, quiet.row()[-1]) == (False, "2%")
    assert Timing("f", "()", steady, wild).row()[-1] == "125% noisy"


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
