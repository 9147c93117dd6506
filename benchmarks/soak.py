"""Stress test of threads that call operators while others change them: no wrong result, no deadlock, no crash.

``python benchmarks/soak.py [SECONDS]`` runs for 30 seconds by default and prints how often each thing happened. Of the
eight threads three call operators and compute gradients; the others register kernels, add overrides and fallbacks,
fork, and register operators in PyTorch. Each thread that changes something checks that the change applies to its own
next call.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

import opdsl
from opdsl import DispatchKeySet, Library, Tensor, formula
from opdsl.dispatch.overrides.overriding import overrides
from opdsl.errors import UnknownOperatorError
from opdsl.interop.torch import deregister, register

CALLERS = 3
PATIENCE = 60.0  # seconds that threads may take to end before they count as deadlocked
HELD = 0.003  # seconds for which a change stays, so that other threads meet it
SWITCH = 0.0005  # seconds after which Python switches threads: ten times as often as by default
CHILD_PATIENCE = 20.0  # seconds that a forked process may take

lib = Library("soak")


@lib.op
def scaled(self: Tensor, by: float = 2.0) -> Tensor:
    """Compute ``self * by``, or ``self * by + 1000`` while a newer kernel is registered."""
    ...


@scaled.kernel("CPU", "Meta")
def scaled_kernel(self, by):
    return self * by


@scaled.derivative("self")
def scaled_derivative(grad, by):
    return grad * by


@lib.op
def composed(self: Tensor) -> Tensor:
    """Compute ``scaled(self, 3) + 1``; a composite that calls the changing operator."""
    return scaled(self, 3.0) + 1


@lib.op(inplace=True)
@formula
def cubed(self: Tensor) -> Tensor:
    """Compute the cube; it stays registered in PyTorch, with a derived gradient."""
    return self * self * self


class Note(opdsl.DispatchMode):
    """Dispatch mode that counts calls."""

    def __init__(self) -> None:
        self.calls = 0

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See ``DispatchMode``."""
        self.calls += 1
        return operator(*args, **kwargs)


# -------------------------------------------------------------------------------------------------------------- calls


def _is(result: Any, *allowed: list[float]) -> None:
    if result.tolist() not in allowed:
        raise AssertionError(f"{result.tolist()} is none of {allowed}")


def _numbers() -> Tensor:
    return opdsl.tensor([1.0, 2.0, 3.0])


def call_own() -> None:
    """Call the operator whose kernels change: the result must be that of one kernel, never a mixture."""
    x = _numbers()
    _is(scaled(x), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])
    _is(scaled(x, 5.0), [5.0, 10.0, 15.0], [1005.0, 1010.0, 1015.0])


def call_composed() -> None:
    """Call a composite that calls the changing operator."""
    _is(composed(_numbers()), [4.0, 7.0, 10.0], [1004.0, 1007.0, 1010.0])


def call_overloads() -> None:
    """Call a packet that gains an overload and loses it."""
    _is(opdsl.ops.soak.scaled(_numbers(), by=2.0), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])


def call_aten() -> None:
    """Call aten operators that are overridden by equal kernels."""
    x = _numbers()
    _is(x + x, [2.0, 4.0, 6.0])
    _is(opdsl.add(x, 1, alpha=2), [3.0, 4.0, 5.0])
    out = opdsl.empty(3)
    _is(opdsl.mul(x, x, out=out), [1.0, 4.0, 9.0])
    _is(x.clone().add_(x).view(3, 1).reshape(3), [2.0, 4.0, 6.0])


def call_new_shapes(sizes: Iterator[int]) -> None:
    """Call operators with a new size, whose plans may evict those of other threads."""
    size = next(sizes)
    if opdsl.ones(size).add(1).sum().item() != 2 * size:
        raise AssertionError(f"the sum of {size} numbers is wrong")


def call_gradients() -> None:
    """Compute first and second gradients through the changing operator."""
    x = opdsl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x * x + scaled(x) + composed(x)).sum().backward(create_graph=True)
    _is(x.grad.detach(), [8.0, 17.0, 32.0])
    gradient, x.grad = x.grad, None
    gradient.sum().backward()
    _is(x.grad.detach(), [6.0, 12.0, 18.0])


def call_in_mode() -> None:
    """Check that a mode of this thread sees all calls of this thread."""
    x = _numbers()
    with Note() as note:
        _is(x * 2, [2.0, 4.0, 6.0])
        _is(-x, [-1.0, -2.0, -3.0])
    if note.calls != 2:
        raise AssertionError(f"a mode saw {note.calls} of 2 calls")


def call_in_torch() -> None:
    """Call operators in PyTorch whose kernels change in opdsl, and compute gradients there."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    _is(torch.ops.soak.scaled(x.detach()), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])
    _is(torch.ops.soak.cubed_((x * 1).detach()), [1.0, 8.0, 27.0])
    (torch.ops.soak.cubed(x) + torch.ops.soak.scaled(x)).sum().backward()
    _is(x.grad, [5.0, 14.0, 29.0])


CALLS: tuple[Callable[..., None], ...] = (
    call_own,
    call_composed,
    call_overloads,
    call_aten,
    call_new_shapes,
    call_gradients,
    call_in_mode,
    call_in_torch,
)

# -------------------------------------------------------------------------------------------------------------- changes


def another_kernel() -> None:
    """Register a newer kernel of the operator, check that it serves, and remove it."""
    with Library("soak") as newer:

        @newer.impl("soak::scaled", "CPU")
        def scaled_newer(self, by):
            return self * by + 1000.0

        _is(scaled(_numbers()), [1002.0, 1004.0, 1006.0])
        time.sleep(HELD)
    _is(scaled(_numbers()), [2.0, 4.0, 6.0])


def another_overload() -> None:
    """Add an overload to the packet, call it, and remove it."""
    with Library("soak") as more:

        @more.op("soak::scaled.Tensor")
        def scaled_tensor(self: Tensor, by: Tensor) -> Tensor:
            return self * by

        _is(opdsl.ops.soak.scaled(_numbers(), _numbers()), [1.0, 4.0, 9.0])
        time.sleep(HELD)


def another_operator(namespace: str = "soak") -> None:
    """Declare a new operator with a method, call it, and remove it."""
    with Library(namespace) as short:

        @short.op(f"{namespace}::{namespace}_shortlived", variants="function, method", inplace=True, out=True)
        @formula
        def shortlived(self: Tensor) -> Tensor:
            return self + 1.0

        _is(getattr(opdsl.tensor([1.0]), f"{namespace}_shortlived")(), [2.0])
        time.sleep(HELD)


served: Counter[str] = Counter()
"""Numbers of calls, from all threads, that a registered override or fallback has served."""

_mine = threading.local()


def _serve(kind: str) -> None:
    served[kind] += 1
    setattr(_mine, kind, getattr(_mine, kind, 0) + 1)


def _require_served(kind: str, call: Callable[[], object], *, by_it: bool = True) -> None:
    """Check that a call of this thread is served by the override or fallback, or is not after its removal."""
    before = getattr(_mine, kind, 0)
    call()
    if (getattr(_mine, kind, 0) > before) is not by_it:
        raise AssertionError(f"a {kind} that is {'on' if by_it else 'off'} serves {'no' if by_it else 'a'} call")


def an_override() -> None:
    """Register overrides of an aten operator that compute the same results, disable, enable and remove them."""
    beneath = opdsl.override_fallback("aten::add.Tensor", "CPU")

    def same(dispatch_keys, self, other, *, alpha=1):
        _serve("override")
        return beneath(dispatch_keys, self, other, alpha=alpha)

    x = _numbers()
    op_overrides = [
        opdsl.register_op_override("soak", "aten", "add.Tensor", "CPU", *functions, allow_multiple_override=True, **how)
        for functions, how in (((_is_odd, same), {}), ((None, same), {"unconditional_override": True}))
    ]
    _require_served("override", lambda: x + x)
    time.sleep(HELD)
    opdsl.deregister_op_overrides(disable_dsl_names="soak")
    _require_served("override", lambda: x + x, by_it=False)
    opdsl.reenable_op_overrides(enable_dsl_names="soak")
    _require_served("override", lambda: x + x)
    for op_override in op_overrides:
        overrides.remove(op_override)
    _require_served("override", lambda: x + x, by_it=False)


def _is_odd(self: Tensor, other: Tensor, *, alpha: object = 1) -> bool:
    return self.numel() % 2 == 1


_FALLEN = "TESTING_ONLY_GenericMode"


def a_fallback() -> None:
    """Register a fallback for all operators at a key that this thread includes, which redispatches; then remove it."""
    with Library("soak") as fallen:

        @fallen.fallback(_FALLEN)
        def hand_on(keys: DispatchKeySet, operator, args, kwargs):
            _serve("fallback")
            return operator.redispatch(keys & DispatchKeySet.below(_FALLEN), *args, **kwargs)

        with opdsl.include_keys(_FALLEN):
            _require_served("fallback", call_aten)
            time.sleep(HELD)
            _require_served("fallback", call_own)
    _require_served("fallback", call_aten, by_it=False)


def a_fork() -> None:
    """Fork a process that calls operators which this one had planned, and that declares an operator."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            call_aten()
            call_own()
            another_operator("soak_child")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + CHILD_PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status != 0:
                raise AssertionError(f"a forked process ended with {os.waitstatus_to_exitcode(status)}")
            return
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("a forked process waits for ever")


def an_operator_of_torch() -> None:
    """Register an operator in PyTorch and deregister it while a backward node of it is alive; only this thread calls
    it.
    """
    with Library("soak_torch") as short:

        @short.op(inplace=True)
        @formula
        def shifted(self: Tensor, by: float = 1.0) -> Tensor:
            return self * self + by

        register(short)
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        held = torch.ops.soak_torch.shifted.default
        _is(held(x.detach()), [2.0, 5.0])
        result = held(x).sum()
        deregister(short)
        try:
            held(x)
        except UnknownOperatorError:
            result.backward()
            _is(x.grad, [2.0, 4.0])
        else:
            raise AssertionError("an operator of torch that was taken back can be called")


CHANGES: tuple[tuple[Callable[[], None], ...], ...] = (
    (another_kernel, another_overload, another_operator),
    (an_override,),
    (a_fallback,),
    (a_fork,) if hasattr(os, "fork") else (another_operator,),
    (an_operator_of_torch,),
)

# ------------------------------------------------------------------------------------------------------------- running


@contextmanager
def _prepared() -> Iterator[None]:
    """Register the shared operators in PyTorch, load everything, and let threads switch often; undo it at the end."""
    interval = sys.getswitchinterval()
    register(lib)
    for call in (*CALLS, *(change for changes in CHANGES for change in changes)):
        call(*((iter((2, 3)),) if call is call_new_shapes else ()))
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        deregister(lib)


def soak(seconds: float, callers: int = CALLERS) -> Counter[str]:
    """Call operators from several threads while others change them.

    Args:
        seconds: for how long.
        callers: how many threads call.

    Returns:
        How often each function ran, and how often an override or fallback served a call.

    Raises:
        AssertionError: a result was wrong, something raised, or the threads did not end.
    """
    with _prepared():
        served.clear()
        return _run(seconds, callers) + served


def _run(seconds: float, callers: int) -> Counter[str]:
    happened: Counter[str] = Counter()
    faults: list[BaseException] = []
    end = time.monotonic() + seconds

    def run(functions: tuple[Callable[[], None], ...], seed: int) -> None:
        choose = random.Random(seed)
        counts: Counter[str] = Counter()
        try:
            while time.monotonic() < end and not faults:
                # All functions in each round, in a new order each time.
                for function in choose.sample(functions, len(functions)):
                    function()
                    counts[getattr(function, "func", function).__name__] += 1
        except BaseException as fault:
            faults.append(fault)
        happened.update(counts)

    sizes = iter(range(1, sys.maxsize))
    calls = tuple(partial(call, sizes) if call is call_new_shapes else call for call in CALLS)
    workers = [
        threading.Thread(target=run, args=(functions, seed), daemon=True)
        for seed, functions in enumerate((*(calls,) * callers, *CHANGES))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(end - time.monotonic(), 0.0) + PATIENCE)
    if any(worker.is_alive() for worker in workers):
        faulthandler.dump_traceback(all_threads=True)
        raise AssertionError("threads wait for each other; where is printed above")
    if faults:
        raise AssertionError("a thread failed") from faults[0]
    return happened


def main() -> None:
    """Run the stress test for the given time and print the counts."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    for name, count in sorted(soak(seconds).items()):
        print(f"{name:22s} {count:9,d}")
    threads = CALLERS + len(CHANGES)
    print(f"no wrong result, no deadlock and no crash in {seconds:g} s of {threads} threads, of which {CALLERS} call")


if __name__ == "__main__":
    main()
