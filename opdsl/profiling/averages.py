"""Averages of a profile by name, and their table, as in ``torch.profiler``."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from opdsl.errors import OptionError
from opdsl.profiling.entries import Entry, self_seconds

__all__ = ["Averages", "KeyAverage"]

_ORDERS = ("self_seconds", "total_seconds", "mean_seconds", "count", "name")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_GAP = "  "


@attrs.frozen
class KeyAverage:
    """Average of all entries with the same name.

    name: the operator's; plans and compiles are prefixed by their kind.
    count: the number of entries.
    total_seconds: including nested calls, plans and compiles.
    self_seconds: without nested calls, plans and compiles.
    shapes: of the arguments, if averages are grouped by them.
    """

    name: str
    count: int
    total_seconds: float
    self_seconds: float
    shapes: tuple[str, ...] = ()

    @property
    def mean_seconds(self) -> float:
        """Return the total time divided by the number of entries."""
        return self.total_seconds / self.count


class Averages(tuple[KeyAverage, ...]):
    """Tuple of averages by name; ``table`` formats them."""

    __slots__ = ()

    @classmethod
    def of(cls, entries: Sequence[Entry], *, by_shapes: bool = False) -> Averages:
        """Return the averages of entries.

        Args:
            entries: of a profile, in the order of their ends.
            by_shapes: whether calls with different shapes are averaged separately.
        """
        sums: dict[tuple[str, tuple[str, ...]], tuple[int, float, float]] = {}
        for entry, alone in zip(entries, self_seconds(entries), strict=True):
            name = entry.name if entry.kind == "call" else f"{entry.kind}: {entry.name}"
            key = name, entry.shapes if by_shapes else ()
            count, total, own = sums.get(key, (0, 0.0, 0.0))
            sums[key] = count + 1, total + entry.seconds, own + alone
        return cls(KeyAverage(name, *numbers, shapes) for (name, shapes), numbers in sums.items())

    def table(self, sort_by: str = "self_seconds", row_limit: int = 100) -> str:
        """Return a table with a line for each name.

        Args:
            sort_by: ``self_seconds``, ``total_seconds``, ``mean_seconds``, ``count`` or ``name``; the largest first.
            row_limit: maximum number of lines; -1 for all.

        Raises:
            OptionError: there is no column of this name.
        """
        if sort_by not in _ORDERS:
            raise OptionError(f"table: no column {sort_by!r} to sort by. Use one of: {', '.join(_ORDERS)}.")
        ordered = sorted(self, key=lambda average: getattr(average, sort_by), reverse=sort_by != "name")
        shown = ordered if row_limit < 0 else ordered[:row_limit]
        whole = sum(average.self_seconds for average in self)
        has_shapes = any(average.shapes for average in self)
        header = ("Name", "Self %", "Self", "Total", "Mean", "Calls", *(("Shapes",) if has_shapes else ()))
        rows = [_row(average, whole, has_shapes) for average in shown]
        lines = _aligned([header, *rows])
        rule = "-" * max(map(len, lines))
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, f"Self time total: {_time(whole)}"])


def _row(average: KeyAverage, whole: float, has_shapes: bool) -> tuple[str, ...]:
    share = average.self_seconds / whole if whole else 0.0
    times = (average.self_seconds, average.total_seconds, average.mean_seconds)
    shapes = (", ".join(average.shapes),) if has_shapes else ()
    return (average.name, f"{share:.2%}", *map(_time, times), str(average.count), *shapes)


def _time(seconds: float) -> str:
    scale, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    return f"{seconds / scale:.3f}{unit}"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return lines of text with the first column left-aligned and the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
