"""Timed events besides computation (compiles and plans), for profilers and logging.

Profilers listen to events. The loggers ``opdsl.compile`` and ``opdsl.plan``, children of ``opdsl``, get one message for
each event, at level DEBUG; ``OPDSL_LOG=compile,plan`` in the environment writes those of the named kinds to stderr.
Without it, the first compile of over a second is reported once, to explain the delay; an empty ``OPDSL_LOG`` disables
this report.
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
"""Duration in seconds from which on the first compilation is reported."""

_VARIABLE = "OPDSL_LOG"


class Event(NamedTuple):
    """Compile or lowering that took time.

    kind: ``compile`` or ``plan``.
    name: the name of the kernel or operator.
    start: the start, by ``time.perf_counter``.
    seconds: the duration.
    thread: the identifier of its thread.
    """

    kind: Kind
    name: str
    start: float
    seconds: float
    thread: int


Listener = Callable[[Event], object]

# Changed with the lock held, read without it.
_listeners: tuple[Listener, ...] = ()
_lock = held_across_fork(threading.RLock())
_has_told_of_a_long_one = False


class timed:
    """Context manager that reports the time spent within it as an event, even if an error is raised there.

    Args:
        kind: the kind of event.
        name: the name of the kernel or operator.
    """

    __slots__ = ("_kind", "_name", "_start")

    def __init__(self, kind: Kind, name: str) -> None:
        self._kind = kind
        self._name = name

    def __enter__(self) -> None:
        self._start = perf_counter()

    def __exit__(self, *_: object) -> None:
        start = self._start
        event = Event(self._kind, self._name, start, perf_counter() - start, threading.get_ident())
        for listener in _listeners:
            listener(event)
        _log(event)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a function with every event of every thread while the context is entered."""
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
    # A program that has not imported logging has not configured it.
    if event.kind in kinds or "logging" in sys.modules:
        logger = _logger(event.kind, writes=event.kind in kinds)
        logger.debug("%s: %.3f s", event.name, event.seconds)
    if wanted is None and event.kind == "compile" and event.seconds >= LONG:
        _tell_of_a_long_one(event)


def _logger(kind: Kind, *, writes: bool) -> Logger:
    """Return the logger of a kind of event; if it writes and has no handler, add one that writes to stderr."""
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
        f"opdsl: compiling {event.name} took {event.seconds:.1f} s. Compiled kernels are cached for later runs; "
        f"{_VARIABLE}=compile logs each of them.",
        file=sys.stderr,
    )
