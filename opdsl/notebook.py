"""Pictures of tensors for notebooks: heat maps and histograms, as SVG.

>>> import opdsl
>>> from opdsl import notebook
>>> notebook.heatmap(opdsl.eye(3))
<heat map of float32 (3, 3), from 0 to 1>

May import: errors and runtime.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy

from opdsl.errors import ConversionError, DimensionError, OptionError
from opdsl.runtime import Tensor
from opdsl.runtime.representation import host_values

__all__ = ["Picture", "heatmap", "histogram"]

_Values = numpy.ndarray[Any, Any]

# A picture is as wide as a column of text; more cells would be too small to see.
_WIDTH = 480
_MOST_CELLS = 96
# Up to this number of cells, each has a tooltip with its value.
_MOST_TITLES = 1024

# Color scales: from dark to light, distinguishable in gray, too; and blue, white, red, for negative numbers.
_Scale = tuple[tuple[int, int, int], ...]
_RISING: _Scale = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
_SIGNED: _Scale = ((33, 102, 172), (247, 247, 247), (178, 24, 43))
_MISSING = "#bbb"


class Picture:
    """SVG picture that notebooks display.

    svg: its text. title: a description.

    >>> import opdsl
    >>> opdsl.notebook.Picture("<svg></svg>", "nothing")
    <nothing>
    """

    __slots__ = ("svg", "title")

    def __init__(self, svg: str, title: str) -> None:
        self.svg = svg
        self.title = title

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<{self.title}>"


def heatmap(x: Tensor) -> Picture:
    """Return a heat map of a matrix: white at 0, blue for negative and red for positive numbers, or dark to light
    colors if no number is negative.

    With more than 96 rows or columns, neighbors are averaged. Infinities and NaN are gray.

    Args:
        x: a matrix, or a vector as one row; on any device.

    Raises:
        DimensionError: it has more than two dimensions, or none.
        ConversionError: it has no elements, or complex ones.

    >>> import opdsl
    >>> opdsl.notebook.heatmap(opdsl.tensor([-1.0, 0.0, 3.0])).svg.count("<rect")
    3
    """
    values = _numbers(x, "heatmap")
    if values.ndim not in (1, 2):
        raise DimensionError(f"heatmap: expected a matrix or a vector (got {values.ndim} dimensions). Index it first.")
    cells = _blocks(numpy.atleast_2d(values))
    finite = cells[numpy.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    rows, columns = cells.shape
    side = max(2, min(24, _WIDTH // columns))
    shapes = []
    for row, line in enumerate(cells.tolist()):
        for column, value in enumerate(line):
            place = f'x="{column * side}" y="{row * side}" width="{side}" height="{side}"'
            told = f"<title>{value:g}</title>" if cells.size <= _MOST_TITLES else ""
            shapes.append(f'<rect {place} fill="{_colour(value, low, high)}">{told}</rect>')
    title = f"heat map of {x.dtype.name} {tuple(x.shape)}, from {low:g} to {high:g}"
    return _picture(shapes, columns * side, rows * side, title)


def histogram(x: Tensor, bins: int = 40) -> Picture:
    """Return a histogram of the elements of a tensor.

    Args:
        x: of any shape and device.
        bins: the number of equal intervals of the range of finite elements.

    Raises:
        OptionError: ``bins`` is not positive; it is a ValueError.
        ConversionError: it has no elements, or complex ones.

    >>> import opdsl
    >>> opdsl.notebook.histogram(opdsl.tensor([0.0, 1.0, 1.0, opdsl.nan]), bins=2)
    <histogram of float32 (4,), from 0 to 1, mean 0.666667, 1 not finite>
    """
    if bins < 1:
        raise OptionError(f"histogram: bins has to be at least 1 (got {bins})")
    values = _numbers(x, "histogram").reshape(-1)
    finite = values[numpy.isfinite(values)]
    title = f"histogram of {x.dtype.name} {tuple(x.shape)}"
    if finite.size:
        title += f", from {finite.min():g} to {finite.max():g}, mean {finite.mean():g}"
    if finite.size < values.size:
        title += f", {values.size - finite.size} not finite"
    counts, ends = numpy.histogram(finite, bins) if finite.size else (numpy.zeros(0, int), numpy.zeros(1))
    height, width = 120, max(1, _WIDTH // bins)
    shapes = []
    for at, count in enumerate(counts.tolist()):
        tall = math.ceil(height * count / int(counts.max()))
        place = f'x="{at * width}" y="{height - tall}" width="{width}" height="{tall}"'
        told = f"<title>{count} from {ends[at]:g} to {ends[at + 1]:g}</title>"
        shapes.append(f'<rect {place} fill="rgb(33,102,172)" stroke="white">{told}</rect>')
    return _picture(shapes, width * bins, height, title)


def _numbers(x: Tensor, name: str) -> _Values:
    """Return the elements as a float64 array."""
    if x.is_meta or x.numel() == 0 or x.dtype.is_complex:
        raise ConversionError(
            f"{name}: expected real numbers, and at least one (got {x.dtype} of shape {x.shape} on {x.device})"
        )
    return host_values(x).astype(numpy.float64)


def _blocks(values: _Values) -> _Values:
    """Average neighboring rows and columns, if there are too many to display."""
    for axis, size in enumerate(values.shape):
        if size > _MOST_CELLS:
            starts = numpy.linspace(0, size, _MOST_CELLS, endpoint=False).astype(int)
            counts = numpy.diff([*starts, size])
            sums = numpy.add.reduceat(values, starts, axis)
            values = sums / numpy.expand_dims(counts, 1 - axis)
    return values


def _colour(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return _MISSING
    if low < 0:
        scale, most = _SIGNED, max(-low, high)
        share = (value / most + 1) / 2
    else:
        scale, share = _RISING, (value - low) / (high - low) if high > low else 0.0
    at = min(int(share * (len(scale) - 1)), len(scale) - 2)
    rest = share * (len(scale) - 1) - at
    mixed = (round(one + rest * (other - one)) for one, other in zip(scale[at], scale[at + 1], strict=True))
    return f"rgb({','.join(map(str, mixed))})"


def _picture(shapes: list[str], width: int, height: int, title: str) -> Picture:
    """Return a picture of shapes with a caption below."""
    text = f'<text y="{height + 14}" font-size="11" font-family="sans-serif" fill="gray">{escape(title)}</text>'
    size = f'width="{max(width, _WIDTH)}" height="{height + 20}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(shapes)}{text}</svg>'
    return Picture(svg, title)
