"""Tests of first uses in several threads of a fresh process: nothing is seen half loaded, and no threads deadlock."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PATIENCE = 90.0


def run_fresh(program: str, *arguments: str) -> str:
    """Return the output of a program in a separate process, which is ended if its threads deadlock.

    Raises:
        AssertionError: the program fails.
    """
    with tempfile.TemporaryDirectory() as folder:  # in a file, because scalar functions are read from their source
        path = Path(folder) / "program.py"
        path.write_text(program)
        command = [sys.executable, "-X", "faulthandler", str(path), *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


# -------------------------------------------------------------------------------------------------- half loaded modules

# One thread loads a topic and stops before each overload of a packet but the first; another calls the packet meanwhile.
HALF_LOADED = """
import faulthandler, sys, threading, traceback
faulthandler.dump_traceback_later(60, exit=True)
import opdsl
from opdsl.dispatch.model.registry import Registry

packet, method, *calls = sys.argv[1:]
x = opdsl.ones(3, 3) + opdsl.ones(3, 3)
define, seen, callers, faults = Registry.define, [], [], []

def define_slowly(self, operator, module):
    if operator.name.partition('.')[0] == packet:
        if seen:
            callers.append(threading.Thread(target=call))
            callers[-1].start()
            callers[-1].join(0.2)  # it waits for the rest
        seen.append(operator)
    return define(self, operator, module)

def call():
    try:
        for text in calls:
            eval(text)
    except BaseException:
        faults.append(traceback.format_exc())

Registry.define = define_slowly
getattr(opdsl.Tensor, method)
for caller in callers:
    caller.join()
if not callers:
    sys.exit('the packet was loaded before')
if faults:
    sys.exit(faults[0])
"""


@pytest.mark.parametrize(
    ("packet", "method", "calls"),
    [
        ("aten::sum", "sum", ["x.sum()", "x.sum(0)", "opdsl.Tensor.sum(x)", "opdsl.sum(x)"]),
        ("aten::max", "max", ["x.max()", "x.max(0)", "opdsl.max(x, x)"]),
        ("aten::norm", "norm", ["x.norm()", "x.norm(2, 0)"]),
        ("aten::div", "div", ["x.div(x, rounding_mode='floor')", "x / x", "1 / x", "opdsl.div(x, 2.0)"]),
        ("aten::std", "std", ["x.std()", "x.std(0)", "x.std(0, correction=0)"]),
        ("aten::clamp", "clamp", ["x.clamp(0.0, 1.0)", "x.clamp(x, x)", "x.clip(0.0)"]),
    ],
)
def test_a_packet_is_seen_whole_or_not_at_all(packet: str, method: str, calls: list[str]) -> None:
    run_fresh(HALF_LOADED, packet, method, *calls)


MANY = """
import faulthandler, sys, threading, traceback
faulthandler.dump_traceback_later(60, exit=True)
import opdsl

sys.setswitchinterval(1e-5)
x = opdsl.ones(3, 3)
together, faults = threading.Barrier(8), []

def call():
    together.wait()
    try:
        assert (x + x).sum().item() == 18 and x.max(0)[0].tolist() == [1] * 3
        assert (x @ x).mean(1).tolist() == [3] * 3 and x.std().item() == 0
    except BaseException:
        faults.append(traceback.format_exc())

threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if faults:
    sys.exit(faults[0])
"""


@pytest.mark.parametrize("attempt", range(2))
def test_methods_of_eight_threads(attempt: int) -> None:
    run_fresh(MANY)


# ---------------------------------------------------------------------------------------------------- locks and imports

# Two threads, each of which makes the first use of one of two features, in either order.
IN_EITHER_ORDER = """
import faulthandler, sys, threading, traceback
faulthandler.dump_traceback_later(60, exit=True)
import opdsl

together, faults = threading.Barrier(2), []

def use(text):
    together.wait()
    try:
        exec(text)
    except BaseException:
        faults.append(traceback.format_exc())

threads = [threading.Thread(target=use, args=(text,)) for text in sys.argv[1:]]
for thread in threads: thread.start()
for thread in threads: thread.join()
if faults:
    sys.exit(faults[0])
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("opdsl.compile", "opdsl.topk; opdsl.tril_indices"),
        ("opdsl.compile", "opdsl.topk; opdsl.tril_indices"),
        ("opdsl.compile", "opdsl.topk; opdsl.tril_indices"),
        ("opdsl.nn.functional.relu", "opdsl.ones(2).relu()"),
        ("import opdsl.programs.tracer", "opdsl.trace"),
        ("import opdsl.scalar.functions", "import opdsl.scalar"),
        ("opdsl.from_numpy(opdsl.numpy.ones(3)).sum()", "opdsl.array_api.ones(3)"),
        ("opdsl.ops.aten.add", "opdsl.special.zeta"),
    ],
)
def test_first_uses_do_not_wait_for_each_other(one: str, other: str) -> None:
    run_fresh(IN_EITHER_ORDER, one, other)


# Records modules imported under a lock, and locks taken while another is held.
WATCHED = """
import importlib.abc, json, sys, threading

held, order, imported = threading.local(), set(), set()
lock_types = threading.Lock, threading.RLock

class Watched:
    def __init__(self, lock, place):
        self.lock, self.place = lock, place
    def acquire(self, blocking=True, timeout=-1):
        if not self.lock.acquire(blocking, timeout):
            return False
        stack = held.__dict__.setdefault('stack', [])
        order.update((other.place, self.place) for other in stack if other is not self)
        stack.append(self)
        return True
    def release(self):
        stack = held.stack
        del stack[len(stack) - 1 - stack[::-1].index(self)]
        self.lock.release()
    def __enter__(self):
        self.acquire()
    def __exit__(self, *raised):
        self.release()

def watch(make):
    def made():
        module = sys._getframe(1).f_globals.get('__name__', '')
        return Watched(make(), module) if module.startswith('opdsl.') else make()
    return made

class Imports(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        imported.update((lock.place, name) for lock in getattr(held, 'stack', ()))

threading.Lock, threading.RLock = map(watch, lock_types)
sys.meta_path.insert(0, Imports())

import numpy
import opdsl
from opdsl import Array, Library, Tensor, formula

x = opdsl.from_numpy(numpy.ones((4, 4), numpy.float32))
(x + x).sum(), x @ x, opdsl.linalg.solve(x + opdsl.eye(4), x), opdsl.fft.fft(x), x[x > 0], repr(x), opdsl.topk(x, 2)
opdsl.conv2d(opdsl.ones(1, 1, 8, 8), opdsl.ones(1, 1, 3, 3)), x.to(opdsl.bfloat16) @ x.to(opdsl.bfloat16)
for f in (lambda y: y * y, lambda y: y.softmax(0), lambda y: y.cumsum(0), lambda y: y.std(), lambda y: y @ x):
    f(opdsl.rand(4, 4, requires_grad=True)).sum().backward()
compiled = opdsl.compile(lambda a: (a * 2 + 1).sum())
compiled(x), compiled(x), compiled(x), opdsl.vmap(lambda a: a + 1)(x), opdsl.rand(3), opdsl.manual_seed(1)
opdsl.array_api.ones(3), opdsl.nn.functional.relu(x), opdsl.ops.aten.add.Tensor(x, x)

with Library('testwatched') as lib:
    @lib.op(variants='function, method', inplace=True, out=True)
    @formula
    def watched(self: Tensor) -> Tensor: return self * self + 1
    @lib.op(out=True)
    def copied(self: Tensor) -> Tensor: ...
    @copied.meta
    def copied_meta(ctx, self): ctx.set_output(0, self.shape, like=self)
    @copied.out_kernel('CPU')
    def copied_cpu(self: Array, out: Array) -> None:
        for k in range(len(self)): out[k] = self[k]
    for _ in range(3): watched(x), x.watched()
    watched(opdsl.rand(3, requires_grad=True)).sum().backward(), copied(opdsl.ones(3))
    if 'torch' in sys.argv:
        import torch
        from opdsl.interop.torch import deregister, register
        register(lib)
        torch.ops.testwatched.watched(torch.ones(3, requires_grad=True)).sum().backward()
        deregister(lib)
print(json.dumps([sorted(order), sorted(imported)]))
"""

# Modules whose bodies take no lock of opdsl.
INERT = (
    "opdsl.backends.cpu.machine.",
    "opdsl.interop.torch.plans",
    "opdsl.interop.torch.native",
    "opdsl.interop.torch.machine",
    "opdsl.interop.torch.places",
    "opdsl.interop.torch.lowered",
)


@pytest.fixture(scope="module")
def watched() -> tuple[list[list[str]], list[list[str]]]:
    """Return the pairs of locks taken while another was held, and of modules imported under a lock, in many
    first uses.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        arguments = []
    else:
        arguments = ["torch"]
    order, imported = json.loads(run_fresh(WATCHED, *arguments).splitlines()[-1])
    return order, imported


def test_locks_are_taken_in_one_order(watched: tuple[list[list[str]], list[list[str]]]) -> None:
    below: dict[str, set[str]] = {}
    for first, then in watched[0]:
        if first != then:
            below.setdefault(first, set()).add(then)
    assert below, "some locks are taken under others"

    def reached(start: str) -> set[str]:
        reached: set[str] = set()
        waiting = [start]
        while waiting:
            for following in below.get(waiting.pop(), set()) - reached:
                reached.add(following)
                waiting.append(following)
        return reached

    assert [lock for lock in below if lock in reached(lock)] == []


def test_no_lock_is_held_while_a_module_is_imported(watched: tuple[list[list[str]], list[list[str]]]) -> None:
    assert [imported for imported in watched[1] if not imported[1].startswith(INERT)] == []


AUTHORS = """
import sys, threading, traceback
import opdsl

sys.setswitchinterval(1e-4)
x = opdsl.arange(6.0)
together, faults = threading.Barrier(8), []

def call():
    together.wait()
    try:
        assert x.topk(2)[0].tolist() == [5.0, 4.0]
        assert x.sort(descending=True)[0].tolist() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    except BaseException:
        faults.append(traceback.format_exc())

threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if faults:
    sys.exit(faults[0])
"""


def test_kernels_that_numba_compiles_are_loaded_by_one_thread_at_a_time() -> None:
    run_fresh("import opdsl; x = opdsl.arange(6.0); x.topk(2), x.sort(descending=True)")  # into the disk cache
    for _ in range(2):
        run_fresh(AUTHORS)
