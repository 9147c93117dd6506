"""Signals while a kernel runs: an exception of a Python signal handler stops the loops of the call.

Unbounded loops call ``kernel_poll`` every few hundred iterations (``interruptions``). On the thread that made the call
it lets Python run the handlers of pending signals. If one raises, all loops of the call stop, also those on helper
threads, and the exception is raised by the call. Only Python's main thread is ever stopped, since no other one handles
signals. A helper knows the caller that it works for by a thread-local variable.
"""

from __future__ import annotations

import time
from typing import Annotated, cast

from opdsl.backends.cpu.machine.language import (
    Address,
    Int32,
    Padding,
    Struct,
    Words,
    address_of,
    exported,
    instruction,
    internal,
    local,
    shared_records,
)
from opdsl.backends.cpu.machine.objects import memory, python

# The polls between two reads of the clock, and the nanoseconds between two checks for signals, each of which may wait
# for the GIL as long as other threads' switch interval.
CLOCK_EVERY = 64
LOOK_EVERY = 100_000_000

MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)


class Signals(Struct):
    """State that all calls share, in separate cache lines.

    stopped: the thread whose call is being stopped; 0 for none.
    polls: the number of polls by callers, approximately, since threads may overwrite each other's updates.
    looked: when a caller last checked for signals, in nanoseconds.
    """

    stopped: int
    apart: Annotated[None, Padding(56)]
    polls: int
    looked: int


class Key(Struct):
    """CPython's ``Py_tss_t``, the key of a thread-local variable."""

    is_made: Int32
    key: Int32
    room: int


signals = shared_records("signals", Signals, 1)
key = shared_records("signals_key", Key, 1)


@instruction("load atomic i64, ptr {0} monotonic, align 8")
def peek(place: Words) -> int:
    """Load a word that other threads write, atomically."""
    raise NotImplementedError


@instruction("store atomic i64 {1}, ptr {0} monotonic, align 8")
def poke(place: Words, value: int) -> None:
    """Store a word that other threads read, atomically."""


@exported
def signals_begin() -> None:
    """Create the key of the thread-local variable; called once in a process, before all other calls."""
    python.PyThread_tss_create(key[0])


@exported
def signals_stopped() -> Words:
    """Return the address of the word that names the thread whose call is being stopped."""
    return address_of(signals[0].stopped)


@exported
def take_part(caller: Words) -> Words:
    """Set the caller that this thread works for, by the address of its thread id, and return the former one."""
    before = cast(Words, python.PyThread_tss_get(key[0]))
    python.PyThread_tss_set(key[0], caller)
    return before


@exported
def leave(before: Words) -> None:
    """Restore the caller that ``take_part`` returned."""
    python.PyThread_tss_set(key[0], before)


@internal("noinline cold")
def look_at_signals(me: int) -> bool:
    """Run Python's signal handlers, and return whether one has raised, which stops the calls of this thread."""
    failed: int = 0
    if python.PyGILState_Check() != 0:
        python.PyEval_RestoreThread(python.PyEval_SaveThread())  # lets waiting threads run
        failed = python.PyErr_CheckSignals()
    else:
        state = python.PyGILState_Ensure()
        failed = python.PyErr_CheckSignals()
        python.PyGILState_Release(state)
    if failed != 0:
        poke(address_of(signals[0].stopped), me)
    return failed != 0


@exported
def kernel_poll() -> bool:
    """Return whether the calling loop has to stop, checking for signals now and then."""
    here = signals[0]
    me = python.PyThread_get_thread_ident()
    caller = cast(Words, python.PyThread_tss_get(key[0]))
    whose = me
    if caller is not None:
        whose = caller[0]
    if peek(address_of(here.stopped)) == whose:
        return True
    if whose != me:
        return False
    polls = peek(address_of(here.polls)) + 1
    poke(address_of(here.polls), polls)
    if polls % CLOCK_EVERY != 0:
        return False
    now = local(int, 2)
    memory.clock_gettime(MONOTONIC, now)
    nanoseconds = now[0] * 1_000_000_000 + now[1]
    if nanoseconds - peek(address_of(here.looked)) < LOOK_EVERY:
        return False
    poke(address_of(here.looked), nanoseconds)
    return look_at_signals(me)


@internal("alwaysinline")
def was_stopped() -> bool:
    """Return whether this thread's call, which is over, was stopped; if so, an exception is set."""
    stopped = peek(address_of(signals[0].stopped))
    if stopped == 0 or stopped != python.PyThread_get_thread_ident():
        return False
    poke(address_of(signals[0].stopped), 0)
    return True


@exported
def wait_for(lock: Address) -> None:
    """Acquire a lock that helpers release, running signal handlers meanwhile."""
    me = python.PyThread_get_thread_ident()
    while python.PyThread_acquire_lock_timed(lock, LOOK_EVERY // 1_000, 0) != 1:
        if peek(address_of(signals[0].stopped)) != me:
            look_at_signals(me)
