"""Errors of a lowering: those of the call itself, and internal ones, which no slower way hides."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opdsl.errors import InternalError
from opdsl.runtime.dumping import dump
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["refusals_only"]

# Say what they are wherever they are raised: no room is left, for a lowering or for anything else.
_PLAIN = (MemoryError, RecursionError, InternalError)


@contextmanager
def refusals_only(name: str, run: Callable[[], object] | None = None) -> Iterator[None]:
    """Let ``NotLoweredError`` leave a lowering, and the errors that the call itself raises.

    Args:
        name: of what is lowered.
        run: makes the call without lowering it, so that its own error is raised where it has one; None where the call
            has been made, and has raised nothing.

    Raises:
        InternalError: in place of an error that the call itself does not raise.
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
        f"{name}: a call raised nothing, but its lowering did ({type(fault).__name__}: {fault}). This is a fault of "
        "opdsl, or of a kernel that @opdsl.traceable promises too much of. Set OPDSL_DUMP=DIRECTORY in the environment "
        "to have the traceback and all plans written there, and report it with these files."
    ) from fault
