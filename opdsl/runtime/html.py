"""HTML for notebooks: tensors as small tables, and tables of text, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy

from opdsl.runtime.representation import host_values, number_format
from opdsl.runtime.tensor_base import TensorBase

# Only the ends of longer dimensions are shown.
_MOST = 16
_EDGE = 5
_GAP = "⋯"


def tensor_html(tensor: TensorBase) -> str:
    """Return a tensor as HTML: dtype, shape and device, then its elements; only those at the edges if it is large.

    >>> import opdsl
    >>> print(tensor_html(opdsl.tensor([[1, 2]])))
    <div><code>int64</code> (1, 2) on cpu<table><tr><td>1</td><td>2</td></tr></table></div>
    """
    form = tensor.geometry
    facts = f"{tuple(form.shape)} on {form.device}" + (", requires grad" if form.requires_grad else "")
    return f"<div><code>{escape(form.dtype.name)}</code> {escape(facts)}{_elements(tensor)}</div>"


def _elements(tensor: TensorBase) -> str:
    form = tensor.geometry
    if form.device.type == "meta" or form.numel == 0:
        return ""
    if form.ndim > 2:
        return f"<pre>{escape(repr(tensor))}</pre>"
    values = numpy.atleast_2d(host_values(tensor))
    rows, columns = (_shown(size) for size in values.shape)
    inner = numpy.ix_(*([at for at in numbers if at is not None] for numbers in (rows, columns)))
    written = number_format(values[inner])

    def cell(row: int | None, column: int | None) -> str:
        return _GAP if row is None or column is None else written(values[row, column].item()).strip()

    return text_table([cell(row, column) for column in columns] for row in rows)


def _shown(size: int) -> list[int | None]:
    """Return the indices of a dimension that are shown, with None in place of the omitted ones."""
    return [*range(size)] if size <= _MOST else [*range(_EDGE), None, *range(size - _EDGE, size)]


def text_table(rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Return a table of text as HTML.

    >>> text_table([["a < b", "c"]], header=["x", "y"])
    '<table><tr><th>x</th><th>y</th></tr><tr><td>a &lt; b</td><td>c</td></tr></table>'
    """
    lines = [_row(header, "th")] if header else []
    return f"<table>{''.join([*lines, *(_row(row, 'td') for row in rows)])}</table>"


def _row(cells: Iterable[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
