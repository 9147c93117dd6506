"""Threads that call operators while another registers and takes back what they reach: no wrong result, no deadlock.

``python benchmarks/soak.py [SECONDS]`` runs for 30 seconds by default and prints how often each thing happened.
"""

from __future__ import annotations

import faulthandler
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import opdsl
from opdsl import DispatchKeySet, Library, Tensor
from opdsl.dispatch.overrides import overrides

THREADS = 8
PATIENCE = 60.0  # seconds that threads may take to end before it is called a deadlock

lib = Library("soak")


@lib.op
def scaled(self: Tensor, by: float = 2.0) -> Tensor:
    """What gets other kernels: ``self * by``, or ``self * by + 1000``."""
    ...


@scaled.kernel("CPU")
def scaled_kernel(self, by):
    return self * by


@lib.op
def composed(self: Tensor) -> Tensor:
    """A composite that calls it."""
    return scaled(self, 3.0) + 1


class Note(opdsl.DispatchMode):
    """Lets every call through, and counts them."""

    def __init__(self) -> None:
        self.calls = 0

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See ``DispatchMode``."""
        self.calls += 1
        return operator(*args, **kwargs)


# -------------------------------------------------------------------------------------------------- what threads call


def _is(result: Tensor, *allowed: list[float]) -> None:
    if result.tolist() not in allowed:
        raise AssertionError(f"{result.tolist()} is none of {allowed}")


def call_own(x: Tensor) -> None:
    """The operator whose kernels change: the result is that of one of them, never of a mixture."""
    _is(scaled(x), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])
    _is(scaled(x, 5.0), [5.0, 10.0, 15.0], [1005.0, 1010.0, 1015.0])


def call_composed(x: Tensor) -> None:
    """A composite over it."""
    _is(composed(x), [4.0, 7.0, 10.0], [1004.0, 1007.0, 1010.0])


def call_overloads(x: Tensor) -> None:
    """A packet that gets another overload and loses it."""
    _is(opdsl.ops.soak.scaled(x, by=2.0), [2.0, 4.0, 6.0], [1002.0, 1004.0, 1006.0])


def call_aten(x: Tensor) -> None:
    """Operators that are overridden, and give the same whoever computes them."""
    _is(x + x, [2.0, 4.0, 6.0])
    _is(opdsl.add(x, 1, alpha=2), [3.0, 4.0, 5.0])
    out = opdsl.empty(3)
    _is(opdsl.mul(x, x, out=out), [1.0, 4.0, 9.0])
    _is(x.clone().add_(x).view(3, 1).reshape(3), [2.0, 4.0, 6.0])


def call_in_mode(x: Tensor) -> None:
    """Calls that a mode of this thread sees, all of them."""
    with Note() as note:
        _is(x * 2, [2.0, 4.0, 6.0])
        _is(-x, [-1.0, -2.0, -3.0])
    if note.calls != 2:
        raise AssertionError(f"a mode saw {note.calls} of 2 calls")


CALLS: tuple[Callable[[Tensor], None], ...] = (call_own, call_composed, call_overloads, call_aten, call_in_mode)

# ----------------------------------------------------------------------------------------------- what changes meanwhile


def another_kernel() -> None:
    """A newer kernel of the operator, and back."""
    with Library("soak") as newer:

        @newer.impl("soak::scaled", "CPU")
        def scaled_newer(self, by):
            return self * by + 1000.0

        time.sleep(0)


def another_overload() -> None:
    """Another overload of its packet, and back."""
    with Library("soak") as more:

        @more.op("soak::scaled.Tensor")
        def scaled_tensor(self: Tensor, by: Tensor) -> Tensor:
            return self * by

        time.sleep(0)


def another_operator() -> None:
    """An operator of its own with a method, and back."""
    with Library("soak") as short:

        @short.op(variants="function, method", inplace=True, out=True)
        def soak_shortlived(self: Tensor) -> Tensor: ...

        @soak_shortlived.pointwise
        def shortlived_scalar(x):
            return x + 1.0

        _is(opdsl.tensor([1.0]).soak_shortlived(), [2.0])


def an_override() -> None:
    """An override of an operator of aten that computes the same, and back."""
    beneath = opdsl.override_fallback("aten::add.Tensor", "CPU")

    def same(dispatch_keys, self, other, *, alpha=1):
        return beneath(dispatch_keys, self, other, alpha=alpha)

    add = opdsl.register_op_override(
        "soak", "aten", "add.Tensor", "CPU", None, same, unconditional_override=True, allow_multiple_override=True
    )
    time.sleep(0)
    overrides.remove(add)


def a_fallback() -> None:
    """A kernel that serves every operator, at a key that these calls do not reach, and back."""
    with Library("soak") as fallen:

        @fallen.fallback("PrivateUse3")
        def serve(keys: DispatchKeySet, operator, args, kwargs):
            raise AssertionError("nothing reaches this key")

        time.sleep(0)


CHANGES: tuple[Callable[[], None], ...] = (another_kernel, another_overload, another_operator, an_override, a_fallback)

# ------------------------------------------------------------------------------------------------------------- running


def soak(seconds: float, threads: int = THREADS) -> Counter[str]:
    """Call from several threads while another changes what they reach.

    Args:
        seconds: for how long.
        threads: how many call.

    Returns:
        How often each function ran.

    Raises:
        AssertionError: a result was wrong, something raised, or the threads did not end.
    """
    happened: Counter[str] = Counter()
    faults: list[BaseException] = []
    end = time.monotonic() + seconds

    def run(functions: tuple[Callable[..., None], ...], seed: int, *given: Tensor) -> None:
        choose = random.Random(seed)
        counts: Counter[str] = Counter()
        try:
            while time.monotonic() < end and not faults:
                # All of them in each round, in another order each time.
                for function in choose.sample(functions, len(functions)):
                    function(*given)
                    counts[function.__name__] += 1
        except BaseException as fault:
            faults.append(fault)
        happened.update(counts)

    workers = [
        threading.Thread(target=run, args=(CALLS, seed, opdsl.tensor([1.0, 2.0, 3.0])), daemon=True)
        for seed in range(threads)
    ]
    workers.append(threading.Thread(target=run, args=(CHANGES, threads), daemon=True))
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
        print(f"{name:18s} {count:9,d}")
    print(f"no wrong result and no deadlock in {seconds:g} s, {THREADS} threads and one that registers")


if __name__ == "__main__":
    main()
