"""Tests of drawings of programs: a box for each step, and a line for each value that it reads."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import opdsl
from opdsl.programs import drawing
from opdsl.programs.program import Program

SVG = "{http://www.w3.org/2000/svg}"


def drawn(program: Program) -> tuple[list[str], dict[tuple[int, int], int]]:
    """Return the titles of the boxes from top to bottom, and the number of lines between each pair of rows."""
    root = ElementTree.fromstring(str(program._repr_svg_()))
    boxes = sorted((float(box.get("y", 0)), float(box.get("x", 0))) for box in root.iter(f"{SVG}rect"))
    rows = sorted({y for y, _ in boxes})
    texts = [str(label.text) for label in root.iter(f"{SVG}text")]
    lines: dict[tuple[int, int], int] = {}
    for line in root.iter(f"{SVG}line"):
        ends = rows.index(float(line.get("y1", 0)) - 34), rows.index(float(line.get("y2", 0)))
        lines[ends] = lines.get(ends, 0) + 1
    return texts, lines


def test_each_step_is_below_the_values_that_it_reads() -> None:
    def function(x: Any, w: Any) -> Any:
        hidden = (x @ w).relu()
        return (hidden * hidden.exp()).sum()

    texts, lines = drawn(opdsl.trace(function, opdsl.ones(2, 3), opdsl.ones(3, 4)))
    assert [text for text in texts if "[" not in text] == [
        "x", "w", "mm", "relu", "exp", "mul.Tensor", "sum", "return",
    ]  # fmt: skip
    assert lines == {(0, 1): 2, (1, 2): 1, (2, 3): 1, (2, 4): 1, (3, 4): 1, (4, 5): 1, (5, 6): 1}


def test_what_is_written_is_read_afterwards() -> None:
    texts, lines = drawn(opdsl.trace(lambda x: x.clone().add_(1).exp(), opdsl.ones(2)))
    assert [text for text in texts if "[" not in text] == ["x", "clone", "add_.Tensor", "exp", "return"]
    assert lines == {(0, 1): 1, (1, 2): 1, (2, 3): 1, (3, 4): 1}


def test_numbers_and_names_are_escaped() -> None:
    program = opdsl.trace(lambda x, r: x * r, opdsl.ones(2), 0.5).replace(name="<b>")
    texts, lines = drawn(program)
    assert texts[:4] == ["x", "float32[s1]", "r", "float"] and lines[0, 1] == 2


def test_long_programs_are_no_pictures() -> None:
    def function(x: Any) -> Any:
        for _ in range(drawing.MOST_STEPS + 1):
            x = x.exp()
        return x

    assert opdsl.trace(function, opdsl.ones(2))._repr_svg_() is None
