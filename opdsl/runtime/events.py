"""Events of a process besides computing, with their times: compiles, plans.

Profilers listen to events. The loggers ``opdsl.compile`` and ``opdsl.plan``, children of ``opdsl``, have one message
for each, at level DEBUG; ``OPDSL_LOG=compile,plan`` in the environment writes those of these kinds to stderr. Without
it the first compile of over a second says so once, so that nobody wonders what a call waits for; an empty
``OPDSL_LOG`` says nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from opdsl.runtime.forking import held_across_fork

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["Event", "Kind", "listening", "timed"]

Kind = Literal["compile", "plan"]

LONG = 1.0
"""Seconds from which on the first compile says so."""

_VARIABLE = "OPDSL_LOG"


class Event(NamedTuple):
    """Something that took time.

    kind: ``compile`` or ``plan``.
    name: what was compiled or planned.
    start: by ``time.perf_counter``.
    seconds: how long it took.
    thread: the identifier of its thread.
    """

    kind: Kind
    name: str
    start: float
    seconds: float
    thread: int


Listener = Callable[[Event], object]

# Changed under the lock, read without it.
_listeners: tuple[Listener, ...] = ()
_lock = held_across_fork(threading.RLock())
_has_told_of_a_long_one = False


@contextmanager
def timed(kind: Kind, name: str) -> Iterator[None]:
    """Report what is done while this is entered, also where it fails.

    Args:
        kind: of event.
        name: what is compiled or planned.
    """
    start = perf_counter()
    try:
        yield
    finally:
        event = Event(kind, name, start, perf_counter() - start, threading.get_ident())
        for listener in _listeners:
            listener(event)
        _log(event)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand every event of every thread to a function while this is entered."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)
    try:
        yield
    finally:
        with _lock:
            remaining = list(_listeners)
            remaining.remove(listener)
            _listeners = tuple(remaining)


def _log(event: Event) -> None:
    wanted = os.environ.get(_VARIABLE)
    kinds = () if wanted is None else tuple(kind.strip() for kind in wanted.split(","))
    # Whoever has not imported logging has set up none.
    if event.kind in kinds or "logging" in sys.modules:
        logger = _logger(event.kind, writes=event.kind in kinds)
        logger.debug("%s: %.3f s", event.name, event.seconds)
    if wanted is None and event.kind == "compile" and event.seconds >= LONG:
        _tell_of_a_long_one(event)


def _logger(kind: Kind, *, writes: bool) -> Logger:
    """Return the logger of a kind; where it writes, it has a handler if nobody has set one up."""
    import logging

    logger = logging.getLogger(f"opdsl.{kind}")
    if writes:
        with _lock:
            logger.setLevel(logging.DEBUG)
            if not logger.hasHandlers():
                handler = logging.StreamHandler()
                handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
                logger.addHandler(handler)
    return logger


def _tell_of_a_long_one(event: Event) -> None:
    global _has_told_of_a_long_one
    with _lock:
        if _has_told_of_a_long_one:
            return
        _has_told_of_a_long_one = True
    print(
        f"opdsl: compiling {event.name} took {event.seconds:.1f} s. Compiled kernels are kept for later runs; "
        f"{_VARIABLE}=compile tells of each.",
        file=sys.stderr,
    )
