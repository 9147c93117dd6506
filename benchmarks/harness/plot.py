"""Bar chart of the ratios of a report, as SVG on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from opdsl.testing.timing import Measured

_ROW, _LABELS, _BARS, _MARGIN = 18, 330, 420, 60


def plot(title: str, rows: Sequence[Measured]) -> str:
    """Draw a bar for each row, on a logarithmic scale of ratios.

    Args:
        title: the heading of the chart.
        rows: the rows to show; a bar to the left of the line at 1 is faster than the peer, a tick marks a goal.

    Returns:
        An SVG document.
    """
    largest = max((abs(math.log2(row.ratio)) for row in rows), default=1.0) or 1.0
    reach = max(1.0, math.ceil(largest))

    def across(ratio: float) -> float:
        return _LABELS + _BARS * (math.log2(ratio) + reach) / (2 * reach)

    height = _MARGIN + _ROW * len(rows) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABELS + _BARS + 80}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="14">{escape(title)}: time as a multiple of the peer\'s</text>',
    ]
    for power in range(-int(reach), int(reach) + 1):
        x = across(2.0**power)
        weight = 2 if power == 0 else 0.5
        lines.append(f'<line x1="{x}" x2="{x}" y1="44" y2="{height - 10}" stroke="#999" stroke-width="{weight}"/>')
        lines.append(f'<text x="{x}" y="40" text-anchor="middle">{2.0**power:g}</text>')
    for index, row in enumerate(rows):
        lines += _bar(row, _MARGIN + _ROW * index, across)
    return "\n".join([*lines, "</svg>", ""])


def _bar(row: Measured, top: float, across: Callable[[float], float]) -> list[str]:
    start, end = sorted((across(1.0), across(row.ratio)))
    colour = "#2a7" if row.ratio <= 1 else "#c63"
    lines = [
        f'<text x="{_LABELS - 8}" y="{top + 11}" text-anchor="end">{escape(row.name)}</text>',
        f'<rect x="{start}" y="{top + 2}" width="{max(end - start, 1)}" height="{_ROW - 6}" fill="{colour}"/>',
        f'<text x="{end + 4}" y="{top + 11}">{row.ratio:.2f}</text>',
    ]
    if row.goal is not None:
        x = across(row.goal)
        lines.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{top + _ROW - 2}" stroke="black" stroke-width="2"/>')
    return lines
