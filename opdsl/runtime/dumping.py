"""What calls were made into, as files to look at: ``OPDSL_DUMP=DIRECTORY`` in the environment asks for them.

A plan is a ``.py`` file with the values of its constants; what a CPU kernel is compiled from is an ``.ll`` file, its
loop program a ``.loops`` file, and what a CUDA kernel is compiled from a ``.cu`` file. They are numbered in the order
in which they were made.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

__all__ = ["Dumped", "collected", "dump"]

_numbers = itertools.count(1)


class Dumped(NamedTuple):
    """A text that would be a file: what it is for, its suffix, and itself."""

    name: str
    suffix: str
    text: str


_collecting: ContextVar[list[Dumped] | None] = ContextVar("opdsl_dumps", default=None)


@contextmanager
def collected() -> Iterator[list[Dumped]]:
    """Collects what is made while this is entered, in this thread or task."""
    dumped: list[Dumped] = []
    token = _collecting.set(dumped)
    try:
        yield dumped
    finally:
        _collecting.reset(token)


def dump(name: str, suffix: str, text: Callable[[], str]) -> None:
    """Write a file, if the environment asks for it, and collect it, if somebody does.

    Args:
        name: what the text is for.
        suffix: of the file.
        text: makes it; called only if it is asked for.
    """
    collecting = _collecting.get()
    if collecting is not None:
        collecting.append(Dumped(name, suffix, text()))
    directory = os.environ.get("OPDSL_DUMP")
    if not directory:
        return
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", name)[:80]
    content = text()
    while True:
        # A file that is there is another process's, or a link that somebody else has laid.
        with (
            suppress(FileExistsError),
            open(folder / f"{os.getpid()}-{next(_numbers):05}-{stem}{suffix}", "x", encoding="utf-8") as file,
        ):
            file.write(content)
            return
