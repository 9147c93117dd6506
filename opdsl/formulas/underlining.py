"""Errors that name a formula and underline the line of its source that was running."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

from opdsl.errors import DimError, FormulaError
from opdsl.formulas.rewriting import is_rewritten

__all__ = ["error_at", "error_here", "is_of_formula", "underlining_dims"]


def error_here(problem: str, remedy: str) -> FormulaError:
    """Build an error that underlines the source line of the formula that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_rewritten(frame.f_code):
        frame = frame.f_back
    return _error(None if frame is None else (frame.f_code, frame.f_lasti), problem, remedy)


def error_at(error: BaseException, problem: str, remedy: str) -> FormulaError:
    """Build an error that underlines the source line of the formula at which another error was raised."""
    place: tuple[CodeType, int] | None = None
    traceback = error.__traceback__
    while traceback is not None:
        if is_rewritten(traceback.tb_frame.f_code):
            place = traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next
    return _error(place, problem, remedy)


@contextmanager
def underlining_dims() -> Iterator[None]:
    """Return a context manager in which errors about dims name the formula and underline its line, once.

    Raises:
        DimError: the body raised one.
    """
    try:
        yield
    except DimError as error:
        if error.is_underlined:  # by a formula that was called
            raise
        underlined = DimError(str(error_at(error, str(error), "")).rstrip("\n"))
        underlined.is_underlined = True
        raise underlined from error


def is_of_formula(error: BaseException) -> bool:
    """Return whether an error was raised by a formula's own code, and not by a function that it called."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and is_rewritten(traceback.tb_frame.f_code)


def _error(place: tuple[CodeType, int] | None, problem: str, remedy: str) -> FormulaError:
    if place is None:
        return FormulaError(f"{problem}. {remedy}")
    code, instruction = place
    first, last, start, end = list(code.co_positions())[instruction // 2]
    line = first or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    begin, finish = _columns(text, start or 0, end if last == first else None)
    lead = len(text) - len(text.lstrip())
    mark = " " * max(begin - lead, 0) + "~" * max(finish - begin - 1, 0) + "^"
    where = f"{code.co_filename}:{line}: formula {_outermost(code)}: {problem}"
    return FormulaError(f"{where}\n    {text.strip()}\n    {mark}\n{remedy}")


def _columns(text: str, start: int, end: int | None) -> tuple[int, int]:
    """Convert column offsets from bytes, as Python counts them, to characters."""
    data = text.encode()
    finish = len(data) if end is None else end
    return len(data[:start].decode(errors="ignore")), len(data[:finish].decode(errors="ignore"))


def _outermost(code: CodeType) -> str:
    """Return the name of the formula that a code object belongs to; functions generated from its branches are nested in
    it.
    """
    before, mark, within = code.co_qualname.partition("\N{SECTION SIGN}")
    return within.partition(".")[0] if mark else before.rpartition(".")[2]
