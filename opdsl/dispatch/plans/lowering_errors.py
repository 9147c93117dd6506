"""Errors raised while a call is lowered: those of the call itself, and internal ones, which must not be hidden."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opdsl.errors import InternalError
from opdsl.runtime.dumping import dump
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["refusals_only"]

# Errors that are passed on unchanged wherever they are raised: memory or stack is exhausted, or opdsl has a fault.
_PLAIN = (MemoryError, RecursionError, InternalError)


@contextmanager
def refusals_only(name: str, run: Callable[[], object] | None = None) -> Iterator[None]:
    """Pass on ``NotLoweredError`` and errors of the call itself; turn others into ``InternalError``.

    Args:
        name: the name of the function that is lowered.
        run: makes the call without lowering it, so that its own error is raised if it has one; None if the call has
            been made already without an error.

    Raises:
        InternalError: the lowering failed with an error that the call itself does not raise.
    """
    try:
        yield
    except (NotLoweredError, *_PLAIN):
        raise
    except Exception as error:
        fault = error
    else:
        return
    if run is not None:
        run()
    lines = traceback.format_exception(fault)
    dump(f"internal error {name}", ".txt", lambda: "".join(lines))
    raise InternalError(
        f"{name}: the call succeeded, but its lowering raised an error ({type(fault).__name__}: {fault}). This is a "
        "bug in opdsl, or in a kernel that is marked @opdsl.traceable but is not. Set OPDSL_DUMP=DIRECTORY in the "
        "environment to have the traceback and all plans written there, and report it with these files."
    ) from fault
