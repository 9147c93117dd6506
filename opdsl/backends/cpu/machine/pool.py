"""The worker pool: one task at a time, cut into pieces that the caller and its helpers take in turn.

A helper's state is IDLE (spinning), ASLEEP (waits on its lock), POSTED (a task waits for it) or WORKING. The caller
posts, works itself, takes back what no helper has begun, and waits for the rest. PyThread locks serve as binary
semaphores: they need no GIL and may be released by another thread than the one that took them.

In a process that has an OpenMP runtime (PyTorch brings one) the pieces are taken by its threads instead: idle OpenMP
threads spin for milliseconds and would keep helpers of ours from the processors.
"""

from __future__ import annotations

from collections.abc import Callable
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
    local_record,
    shared_records,
)
from opdsl.backends.cpu.machine.objects import python
from opdsl.backends.cpu.machine.signals import leave, take_part, wait_for

LARGEST_POOL = 256

IDLE, ASLEEP, POSTED, WORKING = range(4)
HELPER_SPINS = 1_000
CALLER_SPINS = 4_000


class Task(Struct):
    """What runs in pieces.

    function, frame: what is called, and with what.
    size, piece: how many elements there are, and how many at a time.
    control: how the caller rounds, and what becomes of its denormal numbers.
    caller: its thread.
    next: where the next piece begins; on a line of the cache with nothing that is only read.
    """

    function: Callable[[Words, int, int], None]
    frame: Words
    size: int
    piece: int
    control: int
    caller: int
    apart: Annotated[None, Padding(16)]
    next: int


class Helper(Struct):
    """A thread: its state, what it sleeps on; one line of the cache each."""

    state: int
    lock: Address
    apart: Annotated[None, Padding(48)]


class Counter(Struct):
    """A number on a line of the cache."""

    count: int
    apart: Annotated[None, Padding(56)]


class Pool(Struct):
    """What all calls share.

    threads: how many, the caller included; set before the first call.
    started: helpers.
    busy: whether a task runs.
    openmp: ``GOMP_parallel``, of a function, its argument, a number of threads, flags.
    task: the one that runs.
    done: a lock, held while a task runs.
    """

    threads: int
    started: int
    busy: int
    openmp: Callable[[Callable[..., None], Task, Int32, Int32], None] | None
    task: Task
    done: Address | None


pool = shared_records("pool", Pool, 1)
pending = shared_records("task_pending", Counter, 1)
helpers = shared_records("helpers", Helper, LARGEST_POOL)


@instruction("load atomic i64, ptr {0} acquire, align 8")
def acquired(place: Words) -> int:
    """A word, and what was written before it was."""
    raise NotImplementedError


@instruction("store atomic i64 {1}, ptr {0} release, align 8")
def release(place: Words, value: int) -> None:
    """Write a word after all that was written before."""


@instruction("atomicrmw add ptr {0}, i64 {1} acq_rel")
def fetch_add(place: Words, value: int) -> int:
    """Add to a word; what it was before."""
    raise NotImplementedError


@instruction("atomicrmw xchg ptr {0}, i64 {1} acq_rel")
def exchange(place: Words, value: int) -> int:
    """Write a word; what it was before."""
    raise NotImplementedError


@instruction("{t} = cmpxchg ptr {0}, i64 {1}, i64 {2} acq_rel acquire\nextractvalue {{ i64, i1 }} {t}, 1")
def replace(place: Words, before: int, after: int) -> bool:
    """Write a word where it is what it is expected to be; whether it was."""
    raise NotImplementedError


@instruction("fence seq_cst", x86_64="call void @llvm.x86.sse2.pause()", aarch64="call void @llvm.aarch64.hint(i32 1)")
def pause() -> None:
    """Let the processor's other thread run."""


@instruction(
    "",
    x86_64="call void @llvm.x86.sse.stmxcsr(ptr {0})",
    aarch64="{t} = call i64 @llvm.aarch64.get.fpcr()\nstore i64 {t}, ptr {0}",
)
def get_control(at: Words) -> None:
    """Store how the processor rounds, and what becomes of denormal numbers."""


@instruction(
    "",
    x86_64="call void @llvm.x86.sse.ldmxcsr(ptr {0})",
    aarch64="{t} = load i64, ptr {0}\ncall void @llvm.aarch64.set.fpcr(i64 {t})",
)
def set_control(at: Words) -> None:
    """Round as stored."""


@exported
def pool_set_threads(count: int) -> None:
    """Use so many threads, the caller included."""
    release(address_of(pool[0].threads), count)


@exported
def pool_get_threads() -> int:
    """How many threads are used."""
    return acquired(address_of(pool[0].threads))


@exported
def pool_use_openmp(parallel: int) -> None:
    """Take the threads of an OpenMP runtime from now on, by the address of ``GOMP_parallel``."""
    release(cast(Words, address_of(pool[0].openmp)), parallel)


@exported
def pool_reset() -> None:
    """For a forked child, where no helper exists. What the parent's locks took is left behind."""
    for i in range(LARGEST_POOL):
        helpers[i].state = IDLE
    pool[0].started = 0
    pool[0].done = None
    pool_use_openmp(0)
    release(address_of(pool[0].busy), 0)


@internal()
def held_lock() -> Address | None:
    """A lock that is held; None without memory."""
    lock = python.PyThread_allocate_lock()
    if lock is not None:
        python.PyThread_acquire_lock(lock, 1)
    return lock


@internal()
def start_helpers(wanted: int) -> int:
    """Start helpers until there are so many; returns how many there are. The caller holds ``busy``."""
    here = pool[0]
    if here.done is None:
        here.done = held_lock()
    while here.done is not None and here.started < wanted:
        helper = helpers[here.started]
        lock = held_lock()
        if lock is None:
            break
        helper.lock = lock
        release(address_of(helper.state), IDLE)
        if python.PyThread_start_new_thread(help_out, helper) == -1:
            break
        here.started += 1
    return here.started


@internal()
def take_pieces(task: Task) -> None:
    """Take pieces of a task until none is left. What becomes of denormal numbers, and how is rounded, is as the caller
    has it.
    """
    function = task.function
    frame = task.frame
    size = task.size
    piece = task.piece
    own_control = local(int, 1)
    get_control(own_control)
    set_control(address_of(task.control))
    before = take_part(address_of(task.caller))
    while True:
        begin = fetch_add(address_of(task.next), piece)
        if begin >= size:
            break
        function(frame, begin, min(begin + piece, size))
    leave(before)
    set_control(own_control)


@internal()
def help_out(helper: Helper) -> None:
    """A helper's life: wait for a task, work, say when it was the last to finish."""
    lock = helper.lock
    state = address_of(helper.state)
    turn = 0
    while True:
        if acquired(state) == POSTED:
            if replace(state, POSTED, WORKING):
                take_pieces(pool[0].task)
                release(state, IDLE)
                if fetch_add(address_of(pending[0].count), -1) == 1:
                    python.PyThread_release_lock(cast(Address, pool[0].done))
            turn = 0
        elif turn < HELPER_SPINS:
            pause()
            turn += 1
        else:
            if replace(state, IDLE, ASLEEP):
                python.PyThread_acquire_lock(lock, 1)
            turn = 0


@exported
def pool_run(function: Callable[[Words, int, int], None], frame: Words, size: int, piece: int) -> None:
    """Run function(frame, begin, end) over [0, size) in pieces, by as many threads as are set and pay. Serial when
    another caller has the pool. Every piece but the last has exactly ``piece`` elements and starts at a multiple of it.
    """
    here = pool[0]
    useful = min(pool_get_threads(), (size + piece - 1) // piece) - 1
    openmp = here.openmp
    if useful < 1 or (openmp is None and not replace(address_of(here.busy), 0, 1)):
        function(frame, 0, size)
        return
    task = local_record(Task)
    task.function = function
    task.frame = frame
    task.size = size
    task.piece = piece
    task.caller = python.PyThread_get_thread_ident()
    get_control(address_of(task.control))
    release(address_of(task.next), 0)
    if openmp is not None:
        openmp(take_pieces, task, useful + 1, 0)
        return
    count = min(start_helpers(useful), useful)
    here.task = task
    left = address_of(pending[0].count)
    release(left, count + 1)
    for i in range(count):
        if exchange(address_of(helpers[i].state), POSTED) == ASLEEP:
            python.PyThread_release_lock(helpers[i].lock)
    take_pieces(task)
    mine = 1
    for i in range(count):
        if replace(address_of(helpers[i].state), POSTED, IDLE):
            mine += 1
    if fetch_add(left, 0 - mine) != mine:
        turn = 0
        while turn < CALLER_SPINS and acquired(left) != 0:
            pause()
            turn += 1
        wait_for(cast(Address, here.done))
    release(address_of(here.busy), 0)
