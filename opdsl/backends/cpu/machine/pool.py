"""Worker pool: runs one task at a time, divided into pieces that the caller and its helper threads take.

Each worker has a block of neighboring pieces, the same for every task of as many pieces: the data that it wrote in one
step of a network is in its processor's cache in the next. When its own block is done, it takes pieces of others.

A helper's state is IDLE (spinning), ASLEEP (waiting on its lock), POSTED (a task waits for it) or WORKING. The caller
posts, works itself, revokes tasks that no helper has begun, and waits for the rest. PyThread locks serve as binary
semaphores: they need no GIL and may be released by another thread than the one that took them.

In a process with an OpenMP runtime (PyTorch brings one) its threads take the blocks instead: idle OpenMP threads spin
for milliseconds and would keep our helpers off the processors. Its whole team has to join before a region ends, so it
is used only if there is a processor for each of its threads.

Tasks are timed by the caller's clock, which shows the cost of additional threads on this machine at this time
(``is_worth``, ``learn``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from opdsl.backends.cpu.machine.language import (
    Address,
    Int32,
    Padding,
    Records,
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

# After a task that took longer than on one thread, tasks run on one thread for _REST times the time that was lost.
_REST = 10
# The cost of more threads is a moving average: the inverse weight of a measurement, the inverse decay while a single
# thread is used, and the ticks by which one measurement may exceed twice the average.
_MEASURED_PART = 8
_FORGIVEN_PART = 64
_JUMP = 4_096


class Counter(Struct):
    """Integer that has a cache line to itself."""

    count: int
    apart: Annotated[None, Padding(56)]


class Task(Struct):
    """Task that runs in pieces on several threads.

    function, frame: the function that is called, and its argument.
    size, piece: the number of elements, and that of a piece; pieces: the number of pieces.
    workers: how many threads have a block of pieces.
    control: the caller's rounding mode, and its treatment of denormal numbers.
    caller: its thread.
    began, ended, taken: the times before the caller's first and after its last piece, and the number of its pieces.
    blocks: for each worker the next piece of its block.
    """

    function: Callable[[Words, int, int], None]
    frame: Words
    size: int
    piece: int
    pieces: int
    workers: int
    control: int
    caller: int
    began: int
    ended: int
    taken: int
    blocks: Records[Counter]


class Helper(Struct):
    """Helper thread: its state, the lock that it sleeps on, and its worker number; one cache line each."""

    state: int
    lock: Address
    worker: int
    apart: Annotated[None, Padding(40)]


class Pool(Struct):
    """State that all calls share.

    threads: how many, the caller included; set before the first call.
    processors: how many may be used; set before the first call.
    started: the number of helpers.
    busy: whether a task runs.
    openmp: ``GOMP_parallel``, of a function, its argument, a number of threads, flags.
    team: ``omp_get_max_threads``. member: ``omp_get_thread_num``.
    task: the one that runs.
    done: a lock, held while a task runs; the last worker of the task releases it, unless that is the caller.
    cost: ticks that a task on several threads takes above its fair part.
    lost, lost_at: ticks by which the last task that several threads slowed down took longer, and when that was.
    """

    threads: int
    processors: int
    started: int
    busy: int
    openmp: Callable[[Callable[..., None], Task, Int32, Int32], None] | None
    team: Callable[[], Int32]
    member: Callable[[], Int32]
    task: Task
    done: Address | None
    cost: int
    lost: int
    lost_at: int


pool = shared_records("pool", Pool, 1)
pending = shared_records("task_pending", Counter, 1)
helpers = shared_records("helpers", Helper, LARGEST_POOL)


@instruction("load atomic i64, ptr {0} acquire, align 8")
def acquired(place: Words) -> int:
    """Load a word with acquire semantics."""
    raise NotImplementedError


@instruction("store atomic i64 {1}, ptr {0} release, align 8")
def release(place: Words, value: int) -> None:
    """Store a word with release semantics."""


@instruction("atomicrmw add ptr {0}, i64 {1} acq_rel")
def fetch_add(place: Words, value: int) -> int:
    """Add to a word atomically, and return its old value."""
    raise NotImplementedError


@instruction("atomicrmw xchg ptr {0}, i64 {1} acq_rel")
def exchange(place: Words, value: int) -> int:
    """Store a word atomically, and return its old value."""
    raise NotImplementedError


@instruction("{t} = cmpxchg ptr {0}, i64 {1}, i64 {2} acq_rel acquire\nextractvalue {{ i64, i1 }} {t}, 1")
def replace(place: Words, before: int, after: int) -> bool:
    """Compare and swap a word atomically: set it to ``after`` if it is ``before``, and return whether it was."""
    raise NotImplementedError


@instruction("fence seq_cst", x86_64="call void @llvm.x86.sse2.pause()", aarch64="call void @llvm.aarch64.hint(i32 1)")
def pause() -> None:
    """Hint to the processor that this is a spin loop."""


@instruction(
    "add i64 0, 0",
    x86_64="call i64 @llvm.readcyclecounter()",
    aarch64='call i64 @llvm.read_volatile_register.i64(metadata !{{!"CNTVCT_EL0"}})',
)
def ticks() -> int:
    """Return the processor's time stamp counter, or 0 if programs may not read one."""
    raise NotImplementedError


@instruction(
    "",
    x86_64="call void @llvm.x86.sse.stmxcsr(ptr {0})",
    aarch64="{t} = call i64 @llvm.aarch64.get.fpcr()\nstore i64 {t}, ptr {0}",
)
def get_control(at: Words) -> None:
    """Store the processor's rounding mode and its treatment of denormal numbers in memory."""


@instruction(
    "",
    x86_64="call void @llvm.x86.sse.ldmxcsr(ptr {0})",
    aarch64="{t} = load i64, ptr {0}\ncall void @llvm.aarch64.set.fpcr(i64 {t})",
)
def set_control(at: Words) -> None:
    """Set the processor's rounding mode and its treatment of denormal numbers from memory."""


@exported
def pool_set_threads(count: int) -> None:
    """Set the number of threads, the caller included."""
    release(address_of(pool[0].threads), count)


@exported
def pool_get_threads() -> int:
    """Return the number of threads, the caller included."""
    return acquired(address_of(pool[0].threads))


@exported
def pool_set_processors(count: int) -> None:
    """Set the number of processors, which limits the number of threads in use."""
    release(address_of(pool[0].processors), count)


@exported
def pool_use_openmp(parallel: int, team: int, member: int) -> None:
    """Use the threads of an OpenMP runtime from now on, given the addresses of its functions; with zeros use none."""
    release(cast(Words, address_of(pool[0].team)), team)
    release(cast(Words, address_of(pool[0].member)), member)
    release(cast(Words, address_of(pool[0].openmp)), parallel)


@exported
def pool_reset() -> None:
    """Reset the pool in a forked child, which has no helpers; memory of the parent's locks is leaked."""
    for i in range(LARGEST_POOL):
        helpers[i].state = IDLE
    pool[0].started = 0
    pool[0].lost = 0
    pool[0].done = None
    pool_use_openmp(0, 0, 0)
    release(address_of(pool[0].busy), 0)


@internal()
def held_lock() -> Address | None:
    """Return a new lock that is held, or None if memory is exhausted."""
    lock = python.PyThread_allocate_lock()
    if lock is not None:
        python.PyThread_acquire_lock(lock, 1)
    return lock


@internal()
def start_helpers(wanted: int) -> int:
    """Start helpers until there are as many as wanted, and return their number; the caller holds ``busy``."""
    here = pool[0]
    if here.done is None:
        here.done = held_lock()
    while here.done is not None and here.started < wanted:
        helper = helpers[here.started]
        lock = held_lock()
        if lock is None:
            break
        helper.lock = lock
        helper.worker = here.started + 1
        release(address_of(helper.state), IDLE)
        if python.PyThread_start_new_thread(help_out, helper) == -1:
            break
        here.started += 1
    return here.started


@internal()
def take_pieces(task: Task, worker: int) -> int:
    """Run pieces of a task, those of the worker's block first, until none is left, and return how many this worker ran.

    The rounding mode and the treatment of denormal numbers are the caller's meanwhile.
    """
    function = task.function
    frame = task.frame
    size = task.size
    piece = task.piece
    pieces = task.pieces
    workers = task.workers
    own_control = local(int, 1)
    get_control(own_control)
    set_control(address_of(task.control))
    before = take_part(address_of(task.caller))
    began = ticks()
    taken = 0
    for turn in range(workers):
        block = (worker + turn) % workers
        end = (block + 1) * pieces // workers
        following = address_of(task.blocks[block].count)
        while acquired(following) < end:
            at = fetch_add(following, 1)
            if at < end:
                begin = at * piece
                function(frame, begin, min(begin + piece, size))
                taken += 1
    leave(before)
    if worker == 0:
        task.began = began
        task.ended = ticks()
        task.taken = taken
    set_control(own_control)
    return taken


@internal()
def join_in(task: Task) -> None:
    """Run pieces of a task on a thread of an OpenMP team.

    The caller waits for all pieces here, because it handles no signals in the barrier at a region's end. Pieces are
    counted instead of threads, since a team may be smaller than requested.
    """
    worker = pool[0].member()
    if worker >= task.workers:
        return
    taken = take_pieces(task, worker)
    is_last = fetch_add(address_of(pending[0].count), 0 - taken) == taken and taken > 0
    if worker == 0 and not is_last:
        await_others()
    elif worker != 0 and is_last:
        python.PyThread_release_lock(cast(Address, pool[0].done))


@internal()
def await_others() -> None:
    """Wait for the last worker of a task, spinning first."""
    left = address_of(pending[0].count)
    turn = 0
    while turn < CALLER_SPINS and acquired(left) != 0:
        pause()
        turn += 1
    wait_for(cast(Address, pool[0].done))


@internal()
def help_out(helper: Helper) -> None:
    """Run the loop of a helper thread: wait for a task, take pieces of it, signal the caller if it was the last to
    finish.
    """
    lock = helper.lock
    state = address_of(helper.state)
    turn = 0
    while True:
        if acquired(state) == POSTED:
            if replace(state, POSTED, WORKING):
                take_pieces(pool[0].task, helper.worker)
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
def pool_run(
    function: Callable[[Words, int, int], None], frame: Words, size: int, piece: int, keeps: int, alone: Words
) -> None:
    """Run function(frame, begin, end) over [0, size) in pieces, by as many threads as are set and pay.

    It is serial if another caller has the pool. Every piece but the last has exactly ``piece`` elements and starts at a
    multiple of it.

    Args:
        keeps: whether, if several threads are set but one runs everything, it runs the same pieces instead of one.
        alone: ticks that one thread takes for all; 0 if unknown. It is measured here.
    """
    here = pool[0]
    pieces = (size + piece - 1) // piece
    workers = min(pool_get_threads(), pieces)
    if workers < 2:
        function(frame, 0, size)
        return
    workers = min(workers, here.processors)
    start = ticks()
    if not is_worth(alone[0], workers, start) or not replace(address_of(here.busy), 0, 1):
        run_alone(function, frame, size, piece if keeps != 0 else size)
        alone[0] = ticks() - start
        return
    task = local_record(Task)
    task.function = function
    task.frame = frame
    task.size = size
    task.piece = piece
    task.pieces = pieces
    task.workers = workers
    task.taken = 0
    task.blocks = cast(Records[Counter], local(int, 8 * workers, 64))
    task.caller = python.PyThread_get_thread_ident()
    get_control(address_of(task.control))
    for i in range(workers):
        release(address_of(task.blocks[i].count), i * pieces // workers)
    if not run_by_openmp(task):
        run_by_helpers(task)
    alone[0] = learn(task, ticks() - start, alone[0])
    release(address_of(here.busy), 0)


@internal()
def run_alone(function: Callable[[Words, int, int], None], frame: Words, size: int, piece: int) -> None:
    """Run pieces one after another on this thread."""
    for begin in range(0, size, piece):
        function(frame, begin, min(begin + piece, size))


@internal()
def is_worth(alone: int, workers: int, now: int) -> bool:
    """Return whether several threads pay for a task that takes one of them ``alone`` ticks; if that is 0, unknown, they
    do.

    The cost of several threads is measured. It decays slowly while they are not used, so that it is measured again.
    """
    here = pool[0]
    since = now - here.lost_at
    if workers < 2 or (since >= 0 and since < _REST * here.lost):
        return False
    cost = here.cost
    if alone != 0 and alone - alone // workers <= cost:
        here.cost = cost - cost // _FORGIVEN_PART - 1 if cost > 0 else 0
        return False
    return True


@internal()
def learn(task: Task, spent: int, before: int) -> int:
    """Update the measured cost of several threads, and return the ticks that one thread takes for the task.

    That is estimated from the caller's own pieces; if it ran none, the result is ``before``.
    """
    here = pool[0]
    if task.taken == 0:
        return before
    alone = (task.ended - task.began) * task.pieces // task.taken
    cost = here.cost
    above = min(max(spent - alone // task.workers, 0), 2 * cost + _JUMP)
    here.cost = cost - cost // _MEASURED_PART + above // _MEASURED_PART
    if spent > alone + alone // 4:
        here.lost = spent - alone
        here.lost_at = task.ended
    return alone


@internal()
def run_by_openmp(task: Task) -> bool:
    """Run a task on the team of an OpenMP runtime; return False if no such runtime is loaded, or if its size does not
    suit.
    """
    here = pool[0]
    if acquired(cast(Words, address_of(here.openmp))) == 0:
        return False
    team = here.team()
    start_helpers(0)  # only creates the lock to wait on
    if team < task.workers or team > here.processors or here.done is None:
        return False
    release(address_of(pending[0].count), task.pieces)
    # The whole team is used: with another size than before the runtime would start or end threads.
    parallel = here.openmp
    if parallel is not None:
        parallel(join_in, task, team, 0)
    return True


@internal()
def run_by_helpers(task: Task) -> None:
    """Run a task on the pool's own threads."""
    here = pool[0]
    count = start_helpers(task.workers - 1)
    count = min(count, task.workers - 1)
    here.task = task
    left = address_of(pending[0].count)
    release(left, count + 1)
    for i in range(count):
        if exchange(address_of(helpers[i].state), POSTED) == ASLEEP:
            python.PyThread_release_lock(helpers[i].lock)
    take_pieces(task, 0)
    mine = 1
    for i in range(count):
        if replace(address_of(helpers[i].state), POSTED, IDLE):
            mine += 1
    if fetch_add(left, 0 - mine) != mine:
        await_others()
