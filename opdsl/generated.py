"""Functions made from source that opdsl wrote: nothing else in the package runs generated text."""

from __future__ import annotations

import linecache
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

__all__ = ["function_from_source"]


def function_from_source(
    name: str, source: str, namespace: dict[str, Any], *, title: str = "", location: tuple[str, int] | None = None
) -> FunctionType:
    """The function that a text defines.

    Args:
        name: of the function in the text.
        source: of a module that defines it; made of validated identifiers and ``repr``, never of raw text.
        namespace: the globals of the function, which are written to.
        title: what the function is for, which tracebacks say; they show the source, too.
        location: file and line where tracebacks find the function instead: where the user wrote what it stands for.
    """
    if location is None:
        exec(_code(source, title or name), namespace)
        made: FunctionType = namespace[name]
        return made
    file, line = location
    exec(compile(source, file, "exec"), namespace)
    made = namespace[name]
    made.__code__ = made.__code__.replace(co_firstlineno=line)
    return made


@lru_cache(maxsize=4096)
def _code(source: str, title: str) -> CodeType:
    """Compiled source, which ``linecache`` knows; equal sources share it, since compiling takes longer than a call."""
    filename = f"<opdsl {title} {abs(hash(source)):x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec")
