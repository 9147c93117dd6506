"""The worker pool: one task at a time, cut into pieces that the caller and its helpers take.

Each worker has a block of neighbouring pieces, the same for every task of as many: what it wrote in one step of a
network is in its processor's cache in the next. When its own block is done, it takes pieces of others.

A helper's state is IDLE (spinning), ASLEEP (waits on its lock), POSTED (a task waits for it) or WORKING. The caller
posts, works itself, takes back what no helper has begun, and waits for the rest. PyThread locks serve as binary
semaphores: they need no GIL and may be released by another thread than the one that took them.

In a process that has an OpenMP runtime (PyTorch brings one) the blocks are taken by its threads instead: idle OpenMP
threads spin for milliseconds and would keep helpers of ours from the processors. Its team has to be there whole before
a region ends, so it is used only where there is a processor for each of its threads.

Tasks are timed by the caller's clock, which says what more threads cost here and now (``is_worth``, ``learn``).
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

# After a task that took longer than one thread needs, one thread takes them all for so many times what was lost.
_REST = 10
# Parts of the present measurement in the mean of what more threads cost, and of what is forgiven where they are not
# used; ticks that one measurement may be above twice the mean.
_MEASURED_PART = 8
_FORGIVEN_PART = 64
_JUMP = 4_096


class Counter(Struct):
    """A number on a line of the cache."""

    count: int
    apart: Annotated[None, Padding(56)]


class Task(Struct):
    """What runs in pieces.

    function, frame: what is called, and with what.
    size, piece: how many elements there are, and how many at a time; pieces: how many these are.
    workers: how many threads have a block of pieces.
    control: how the caller rounds, and what becomes of its denormal numbers.
    caller: its thread.
    began, ended, taken: when the caller took its first piece and had taken its last one, and how many they were.
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
    """A thread: its state, what it sleeps on, which worker it is; one line of the cache each."""

    state: int
    lock: Address
    worker: int
    apart: Annotated[None, Padding(40)]


class Pool(Struct):
    """What all calls share.

    threads: how many, the caller included; set before the first call.
    processors: how many there are for them; set before the first call.
    started: helpers.
    busy: whether a task runs.
    openmp: ``GOMP_parallel``, of a function, its argument, a number of threads, flags.
    team: ``omp_get_max_threads``. member: ``omp_get_thread_num``.
    task: the one that runs.
    done: a lock, held while a task runs; whoever is the last with it releases it, unless that is the caller.
    cost: ticks that a task on several threads takes above its fair part.
    lost, lost_at: ticks that the last task that several threads made slower has lost, and when.
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
    "add i64 0, 0",
    x86_64="call i64 @llvm.readcyclecounter()",
    aarch64='call i64 @llvm.read_volatile_register.i64(metadata !{{!"CNTVCT_EL0"}})',
)
def ticks() -> int:
    """The processor's clock, in units of its own; 0 where it has none that programs may read."""
    raise NotImplementedError


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
def pool_set_processors(count: int) -> None:
    """Use no more threads than there are processors, however many are set."""
    release(address_of(pool[0].processors), count)


@exported
def pool_use_openmp(parallel: int, team: int, member: int) -> None:
    """Take the threads of an OpenMP runtime from now on, by the addresses of its functions; of none if these are 0."""
    release(cast(Words, address_of(pool[0].team)), team)
    release(cast(Words, address_of(pool[0].member)), member)
    release(cast(Words, address_of(pool[0].openmp)), parallel)


@exported
def pool_reset() -> None:
    """For a forked child, where no helper exists. What the parent's locks took is left behind."""
    for i in range(LARGEST_POOL):
        helpers[i].state = IDLE
    pool[0].started = 0
    pool[0].lost = 0
    pool[0].done = None
    pool_use_openmp(0, 0, 0)
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
        helper.worker = here.started + 1
        release(address_of(helper.state), IDLE)
        if python.PyThread_start_new_thread(help_out, helper) == -1:
            break
        here.started += 1
    return here.started


@internal()
def take_pieces(task: Task, worker: int) -> int:
    """Take pieces of a task, those of the worker's block first, until none is left; returns how many they were. What
    becomes of denormal numbers, and how is rounded, is as the caller has it.
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
    """Run a thread of an OpenMP team. The caller waits for all pieces here: it handles no signals in the barrier at a
    region's end. Pieces are counted and not threads, since a team may be smaller than was asked for.
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
    """Wait for whoever is the last with a task."""
    left = address_of(pending[0].count)
    turn = 0
    while turn < CALLER_SPINS and acquired(left) != 0:
        pause()
        turn += 1
    wait_for(cast(Address, pool[0].done))


@internal()
def help_out(helper: Helper) -> None:
    """A helper's life: wait for a task, work, say when it was the last to finish."""
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
    """Run function(frame, begin, end) over [0, size) in pieces, by as many threads as are set and pay. Serial when
    another caller has the pool. Every piece but the last has exactly ``piece`` elements and starts at a multiple of it.

    Args:
        keeps: whether one thread of several that are set takes the same pieces, not all at once.
        alone: ticks that one thread takes for all; 0 where it is not known. It is measured here.
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
    """Run pieces one after another."""
    for begin in range(0, size, piece):
        function(frame, begin, min(begin + piece, size))


@internal()
def is_worth(alone: int, workers: int, now: int) -> bool:
    """Whether several threads pay for a task that takes one of them so many ticks; so they do where it is not known.

    What they cost was measured; it is forgiven bit by bit, so that it is measured again.
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
    """Note what several threads have cost; returns the ticks that one takes for a task, as before if that is not seen.

    The caller's own pieces tell what all of them would have taken.
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
    """Run a task on the team of an OpenMP runtime; False where there is none, or none that suits."""
    here = pool[0]
    if acquired(cast(Words, address_of(here.openmp))) == 0:
        return False
    team = here.team()
    start_helpers(0)  # makes the lock to wait on
    if team < task.workers or team > here.processors or here.done is None:
        return False
    release(address_of(pending[0].count), task.pieces)
    # A team of another size than the last one would cost the runtime threads that end, or begin.
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
