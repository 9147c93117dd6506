"""What calls were made into, as files to look at: ``OPDSL_DUMP=DIRECTORY`` in the environment asks for them.

A plan is a ``.py`` file with the values of its constants; what a CPU kernel is compiled from is an ``.ll`` file, and
what a CUDA kernel is compiled from a ``.cu`` file. They are numbered in the order in which they were made.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

__all__ = ["dump"]

_numbers = itertools.count(1)


def dump(name: str, suffix: str, text: Callable[[], str]) -> None:
    """Write a file, if the environment asks for it.

    Args:
        name: what the text is for.
        suffix: of the file.
        text: makes it; called only if it is asked for.
    """
    directory = os.environ.get("OPDSL_DUMP")
    if not directory:
        return
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    file = f"{os.getpid()}-{next(_numbers):05}-{re.sub(r'[^A-Za-z0-9_]+', '-', name)[:80]}{suffix}"
    (folder / file).write_text(text(), encoding="utf-8")
