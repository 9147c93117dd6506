"""Threads that call operators while others change what they reach: no wrong result, no deadlock, no crash.

``python benchmarks/soak.py [SECONDS]`` runs for 30 seconds by default and prints how often each thing happened. Of the
eight threads three call and ask for gradients; the others register, override, put fallbacks in, fork, and take
operators to PyTorch and back. Each that changes something sees to it that its own next call is served by what it
has put there.
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
PATIENCE = 60.0  # seconds that threads may take to end before it is called a deadlock
HELD = 0.003  # seconds for which a change stays, so that others meet it
SWITCH = 0.0005  # seconds after which Python lets another thread run: ten times as often as usual
CHILD_PATIENCE = 20.0  # seconds that a forked process may take

lib = Library("soak")


@lib.op
def scaled(self: Tensor, by: float = 2.0) -> Tensor:
    """What gets other kernels: ``self * by``, or ``self * by + 1000``."""
    ...


@scaled.kernel("CPU", "Meta")
def scaled_kernel(self, by):
    return self * by


@scaled.derivative("self")
def scaled_derivative(grad, by):
    return grad * by


@lib.op
def composed(self: Tensor) -> Tensor:
    """A composite that calls it."""
    return scaled(self, 3.0) + 1


@lib.op(inplace=True)
@formula
def cubed(self: Tensor) -> Tensor:
    """What PyTorch has all the time, with a derivative that is derived."""
    return self * self * self


class Note(opdsl.DispatchMode):
    """Lets every call through, and counts them."""

    def __init__(self) -> None:
        self.calls = 0

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See ``DispatchMode``."""
        self.calls += 1
        return operator(*args, **kwargs)


# -------------------------------------------------------------------------------------------------- what threads call


def _is(result: Any, *allowed: list[float]) -> None:
    if result.tolist() not in allowed:
        raise AssertionError(f"{result.tolist()} is none of {allowed}")


def _numbers() -> Tensor:
    return opdsl.tensor([1.0, 2.0, 3.0])


def call_own() -> None:
    """The operator whose kernels change: the result is that of one of them, never of a mixture."""
    x = _numbers()
    _is(scaled(x), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])
    _is(scaled(x, 5.0), [5.0, 10.0, 15.0], [1005.0, 1010.0, 1015.0])


def call_composed() -> None:
    """A composite over it."""
    _is(composed(_numbers()), [4.0, 7.0, 10.0], [1004.0, 1007.0, 1010.0])


def call_overloads() -> None:
    """A packet that gets another overload and loses it."""
    _is(opdsl.ops.soak.scaled(_numbers(), by=2.0), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])


def call_aten() -> None:
    """Operators that are overridden, and give the same whoever computes them."""
    x = _numbers()
    _is(x + x, [2.0, 4.0, 6.0])
    _is(opdsl.add(x, 1, alpha=2), [3.0, 4.0, 5.0])
    out = opdsl.empty(3)
    _is(opdsl.mul(x, x, out=out), [1.0, 4.0, 9.0])
    _is(x.clone().add_(x).view(3, 1).reshape(3), [2.0, 4.0, 6.0])


def call_new_shapes(sizes: Iterator[int]) -> None:
    """Sizes never seen, beside which plans of others go."""
    size = next(sizes)
    if opdsl.ones(size).add(1).sum().item() != 2 * size:
        raise AssertionError(f"the sum of {size} numbers is wrong")


def call_gradients() -> None:
    """First and second gradients through what changes."""
    x = opdsl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x * x + scaled(x) + composed(x)).sum().backward(create_graph=True)
    _is(x.grad.detach(), [8.0, 17.0, 32.0])
    gradient, x.grad = x.grad, None
    gradient.sum().backward()
    _is(x.grad.detach(), [6.0, 12.0, 18.0])


def call_in_mode() -> None:
    """Calls that a mode of this thread sees, all of them."""
    x = _numbers()
    with Note() as note:
        _is(x * 2, [2.0, 4.0, 6.0])
        _is(-x, [-1.0, -2.0, -3.0])
    if note.calls != 2:
        raise AssertionError(f"a mode saw {note.calls} of 2 calls")


def call_in_torch() -> None:
    """Operators that PyTorch has, whose kernels change here, and their gradients there."""
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

# ----------------------------------------------------------------------------------------------- what changes meanwhile


def another_kernel() -> None:
    """A newer kernel of the operator, and back."""
    with Library("soak") as newer:

        @newer.impl("soak::scaled", "CPU")
        def scaled_newer(self, by):
            return self * by + 1000.0

        _is(scaled(_numbers()), [1002.0, 1004.0, 1006.0])
        time.sleep(HELD)
    _is(scaled(_numbers()), [2.0, 4.0, 6.0])


def another_overload() -> None:
    """Another overload of its packet, and back."""
    with Library("soak") as more:

        @more.op("soak::scaled.Tensor")
        def scaled_tensor(self: Tensor, by: Tensor) -> Tensor:
            return self * by

        _is(opdsl.ops.soak.scaled(_numbers(), _numbers()), [1.0, 4.0, 9.0])
        time.sleep(HELD)


def another_operator(namespace: str = "soak") -> None:
    """An operator of its own with a method, and back."""
    with Library(namespace) as short:

        @short.op(f"{namespace}::{namespace}_shortlived", variants="function, method", inplace=True, out=True)
        @formula
        def shortlived(self: Tensor) -> Tensor:
            return self + 1.0

        _is(getattr(opdsl.tensor([1.0]), f"{namespace}_shortlived")(), [2.0])
        time.sleep(HELD)


served: Counter[str] = Counter()
"""How often what was put in has served a call of any thread."""

_mine = threading.local()


def _serve(kind: str) -> None:
    served[kind] += 1
    setattr(_mine, kind, getattr(_mine, kind, 0) + 1)


def _require_served(kind: str, call: Callable[[], object], *, by_it: bool = True) -> None:
    """Hold what serves a call of this thread against what it has put in, or taken out."""
    before = getattr(_mine, kind, 0)
    call()
    if (getattr(_mine, kind, 0) > before) is not by_it:
        raise AssertionError(f"a {kind} that is {'on' if by_it else 'off'} serves {'no' if by_it else 'a'} call")


def an_override() -> None:
    """Overrides of an operator of aten that compute the same: on, disabled, on again, and away."""
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
    """A kernel that serves every operator at a key that this thread's calls have, and hands them on; and back."""
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
    """A process that calls what this one had planned, and registers."""
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
    """An operator that is taken to PyTorch and back, while a node of it lives on; nobody else calls it meanwhile."""
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
    """With what the threads share in PyTorch, everything loaded, and threads that take turns often."""
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
    """Call from several threads while others change what they reach.

    Args:
        seconds: for how long.
        callers: how many call.

    Returns:
        How often each function ran, and what was put in served a call.

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
                # All of them in each round, in another order each time.
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
    """Soak, and say what happened."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    for name, count in sorted(soak(seconds).items()):
        print(f"{name:22s} {count:9,d}")
    threads = CALLERS + len(CHANGES)
    print(f"no wrong result, no deadlock and no crash in {seconds:g} s of {threads} threads, of which {CALLERS} call")


if __name__ == "__main__":
    main()
