"""Code of generated source: plans of many calls have the same text, and compiling it takes longer than a call."""

from __future__ import annotations

import linecache
from functools import lru_cache
from types import CodeType

__all__ = ["code_of"]


@lru_cache(maxsize=4096)
def code_of(text: str, what: str) -> CodeType:
    """Compiled source, known to ``linecache`` so that tracebacks show it; equal sources share it.

    Args:
        text: of the module.
        what: it is for, which tracebacks say.
    """
    filename = f"<opdsl {what} {abs(hash(text)):x}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return compile(text, filename, "exec")
