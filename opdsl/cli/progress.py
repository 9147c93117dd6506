"""Progress bar on stderr for work that takes more than a second, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

PATIENCE = 1.0
"""Number of seconds after which work without output shows a progress bar."""

Advance = Callable[[], None]


@contextmanager
def progress(label: str, total: int | None = None, *, patience: float = PATIENCE) -> Iterator[Advance]:
    """Show a progress bar after a delay, until the ``with`` block ends.

    label: text of the bar.
    total: the number of steps, for each of which the yielded function is called; None if it is unknown.
    """
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(file=sys.stderr), transient=True)
    task = bar.add_task(label, total=total)
    timer = Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _nothing() -> None:
    """Do nothing; replaces the function that advances the bar."""
