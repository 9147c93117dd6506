"""Signals while a kernel runs: what Python's handlers raise ends the loops of the call.

Loops whose turns nothing bounds call ``kernel_poll`` every few hundred turns (``interruptions``). On the thread that
made the call it lets Python run the handlers of signals that have come; an exception of theirs stops all loops of the
call, also those of the helpers, and is raised where the kernel was called. Only Python's main thread is ever stopped,
since no other one handles signals. A helper knows whose pieces it takes by a word of its thread.
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

# Polls of a caller between two looks at the clock, and nanoseconds between two looks at signals: the thread that looks
# may wait for the GIL as long as other threads' switch interval.
CLOCK_EVERY = 64
LOOK_EVERY = 100_000_000

MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)


class Signals(Struct):
    """State that all calls share, each word on a line of the cache.

    stopped: the thread whose call is being stopped; 0 for none.
    polls: of callers, about: threads may write over each other's.
    looked: when a caller last looked at signals, in nanoseconds.
    """

    stopped: int
    apart: Annotated[None, Padding(56)]
    polls: int
    looked: int


class Key(Struct):
    """CPython's ``Py_tss_t``: the key of a word that each thread has."""

    is_made: Int32
    key: Int32
    room: int


signals = shared_records("signals", Signals, 1)
key = shared_records("signals_key", Key, 1)


@instruction("load atomic i64, ptr {0} monotonic, align 8")
def peek(place: Words) -> int:
    """A word that other threads write."""
    raise NotImplementedError


@instruction("store atomic i64 {1}, ptr {0} monotonic, align 8")
def poke(place: Words, value: int) -> None:
    """Write a word that other threads read."""


@exported
def signals_begin() -> None:
    """Make the key; once in a process, before all other calls."""
    python.PyThread_tss_create(key[0])


@exported
def signals_stopped() -> Words:
    """Return the address of the word that says whose call is being stopped."""
    return address_of(signals[0].stopped)


@exported
def take_part(caller: Words) -> Words:
    """Work for a caller from now on, whose thread a word names; returns the word of whom this thread worked for."""
    before = cast(Words, python.PyThread_tss_get(key[0]))
    python.PyThread_tss_set(key[0], caller)
    return before


@exported
def leave(before: Words) -> None:
    """End ``take_part``."""
    python.PyThread_tss_set(key[0], before)


@internal("noinline cold")
def look_at_signals(me: int) -> bool:
    """Run Python's handlers; whether one has raised, which stops the calls of this thread."""
    failed: int = 0
    if python.PyGILState_Check() != 0:
        python.PyEval_RestoreThread(python.PyEval_SaveThread())  # other threads may have waited for long
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
    """Whether the loop that asks has to end."""
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
    """Whether this thread's call, which is over, was stopped; an exception is set then."""
    stopped = peek(address_of(signals[0].stopped))
    if stopped == 0 or stopped != python.PyThread_get_thread_ident():
        return False
    poke(address_of(signals[0].stopped), 0)
    return True


@exported
def wait_for(lock: Address) -> None:
    """Take a lock that helpers release, and run the handlers of signals meanwhile."""
    me = python.PyThread_get_thread_ident()
    while python.PyThread_acquire_lock_timed(lock, LOOK_EVERY // 1_000, 0) != 1:
        if peek(address_of(signals[0].stopped)) != me:
            look_at_signals(me)
