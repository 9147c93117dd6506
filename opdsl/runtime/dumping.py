"""Dumps of plans and kernel sources to files, for debugging, if ``OPDSL_DUMP=DIRECTORY`` is in the environment.

A plan is a ``.py`` file with the values of its constants; a CPU kernel has an ``.ll`` file with its LLVM source and a
``.loops`` file with its loop IR; a CUDA kernel has a ``.cu`` file. Files are numbered in the order in which they are
made.
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
    """Text that would be dumped to a file, with its name and the file's suffix."""

    name: str
    suffix: str
    text: str


_collecting: ContextVar[list[Dumped] | None] = ContextVar("opdsl_dumps", default=None)


@contextmanager
def collected() -> Iterator[list[Dumped]]:
    """Collect dumps in a list while the context is entered, in this thread or task."""
    dumped: list[Dumped] = []
    token = _collecting.set(dumped)
    try:
        yield dumped
    finally:
        _collecting.reset(token)


def dump(name: str, suffix: str, text: Callable[[], str]) -> None:
    """Write a text to a file if ``OPDSL_DUMP`` is set, and add it to the list of ``collected`` if one is active.

    Args:
        name: the name of the plan or kernel.
        suffix: the suffix of the file.
        text: returns the text; called only if it is needed.
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
        # An existing file belongs to another process, or is a link that another user has made.
        with (
            suppress(FileExistsError),
            open(folder / f"{os.getpid()}-{next(_numbers):05}-{stem}{suffix}", "x", encoding="utf-8") as file,
        ):
            file.write(content)
            return
