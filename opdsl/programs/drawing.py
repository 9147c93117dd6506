"""Drawing of a program as a graph in SVG, each step below the steps that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from opdsl.programs.steps import Input, Step, names_in

__all__ = ["MOST_STEPS", "svg"]

MOST_STEPS = 200
"""Largest number of steps that is drawn; a larger picture would be unreadable."""

_HEIGHT, _GAP, _LETTER, _MARGIN = 34, 26, 6.6, 8


class _Box(NamedTuple):
    """Box of the graph: a title, the result's type, and the boxes that it reads; ``depth`` is the row that it is drawn
    in.
    """

    title: str
    gives: str
    reads: tuple[int, ...]
    depth: int

    @property
    def width(self) -> float:
        return max(len(self.title), len(self.gives)) * _LETTER + 14


def svg(inputs: Sequence[Input], steps: Sequence[Step], outputs: Any, constants: Iterable[str] = ()) -> str:
    """Return the graph of a program as SVG: a box for each input, step and output, and lines from operands to their
    readers.

    Args:
        inputs, steps, outputs: of a program.
        constants: the names of its tensors that are no arguments.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x: x.exp() + x, opdsl.ones(2))
    >>> svg(program.inputs, program.steps, program.outputs).count("<rect")
    4
    """
    boxes = _boxes(inputs, steps, outputs, constants)
    rows = [
        [at for at, box in enumerate(boxes) if box.depth == depth]
        for depth in range(1 + max(box.depth for box in boxes))
    ]
    wide = max(sum(boxes[at].width + _GAP for at in row) for row in rows)
    middle: dict[int, tuple[float, float]] = {}
    for depth, row in enumerate(rows):
        left = (wide - sum(boxes[at].width + _GAP for at in row)) / 2 + _GAP / 2
        for at in row:
            middle[at] = left + boxes[at].width / 2 + _MARGIN, depth * (_HEIGHT + _GAP) + _HEIGHT / 2 + _MARGIN
            left += boxes[at].width + _GAP
    lines = [_line(middle[source], middle[at]) for at, box in enumerate(boxes) for source in box.reads]
    shapes = [*lines, *(_shape(box, *middle[at]) for at, box in enumerate(boxes))]
    size = f'width="{wide + 2 * _MARGIN:.0f}" height="{len(rows) * (_HEIGHT + _GAP) - _GAP + 2 * _MARGIN}"'
    style = 'font-family="monospace" font-size="11" text-anchor="middle"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img">{"".join(shapes)}</svg>'


def _boxes(inputs: Sequence[Input], steps: Sequence[Step], outputs: Any, constants: Iterable[str]) -> list[_Box]:
    """Return the boxes of the graph: inputs and constants, then the steps in order, then the output."""
    boxes = [_Box(input.name, str(input).partition(": ")[2], (), 0) for input in inputs]
    boxes += [_Box(constant, "a constant", (), 0) for constant in constants]
    makers = {box.title: at for at, box in enumerate(boxes)}
    for step in steps:
        texts = [str(result).partition(": ")[2] for result in step.results or () if result is not None]
        boxes.append(_box(step.name.removeprefix("aten::"), ", ".join(texts), step.reads, makers, boxes))
        makers |= {result.name: len(boxes) - 1 for result in step.results or () if result is not None}
        if step.writes:  # later readers read the written value
            makers |= dict.fromkeys(names_in(step.operands[:1]) & makers.keys(), len(boxes) - 1)
    boxes.append(_box("return", "", names_in(outputs), makers, boxes))
    return boxes


def _box(title: str, gives: str, names: frozenset[str], numbers: Mapping[str, int], boxes: Sequence[_Box]) -> _Box:
    reads = tuple(sorted({numbers[name] for name in names if name in numbers}))
    return _Box(title, gives, reads, 1 + max((boxes[at].depth for at in reads), default=0))


def _line(above: tuple[float, float], below: tuple[float, float]) -> str:
    ends = (
        f'x1="{above[0]:.0f}" y1="{above[1] + _HEIGHT / 2:.0f}" x2="{below[0]:.0f}" y2="{below[1] - _HEIGHT / 2:.0f}"'
    )
    return f'<line {ends} stroke="gray"/>'


def _shape(box: _Box, x: float, y: float) -> str:
    fill = "#e8f0f8" if box.depth else "#f4f0e4"
    place = f'x="{x - box.width / 2:.0f}" y="{y - _HEIGHT / 2:.0f}" width="{box.width:.0f}" height="{_HEIGHT}"'
    frame = f'<rect {place} rx="4" fill="{fill}" stroke="gray"/>'
    title = f'<text x="{x:.0f}" y="{y - (2 if box.gives else -4):.0f}" fill="black">{escape(box.title)}</text>'
    gives = f'<text x="{x:.0f}" y="{y + 12:.0f}" fill="#555">{escape(box.gives)}</text>'
    return frame + title + (gives if box.gives else "")
