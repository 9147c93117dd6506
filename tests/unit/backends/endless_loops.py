"""Script that runs practically endless loops, each ended by a signal, in a separate process."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import opdsl
from opdsl import Tensor, formula, primitives
from opdsl.scalar.intrinsics import row_sum

lib = opdsl.Library("endless")
FOR_EVER = 10**12


def steps_element(self, n):
    x = self
    for _ in range(n):
        x = x * 0.5 + 0.25
    return x


STEPS = opdsl.primitives.elements(steps_element, promote="int_to_float")


@lib.op
def steps(self: Tensor, n: int) -> Tensor:
    """Compute one loop of ``n`` iterations for each element."""
    ...


steps.non_differentiable("self")


@steps.formula
def steps_formula(self: Tensor, n: int) -> Tensor:
    return STEPS(self, n)


def nested_element(self, n):
    x = self
    k = 0
    while k < n:
        for _ in range(n):
            x = x * 0.5 + 0.25
        for _ in range(n):
            x = math.sin(x)
        k += 1
    return x


NESTED = opdsl.primitives.elements(nested_element, promote="int_to_float")


@lib.op
def nested(self: Tensor, n: int) -> Tensor:
    """Compute two loops within another loop, for each element."""
    ...


nested.non_differentiable("self")


@nested.formula
def nested_formula(self: Tensor, n: int) -> Tensor:
    return NESTED(self, n)


def lift(self, n):
    return steps_element(self, n)


TOTAL = primitives.fold(lambda a, b: a + b, init=0, lift=lift, promote="int_to_float")


@lib.op
@formula
def total(self: Tensor, n: int) -> Tensor:
    """Sum a function of each element that runs a loop of ``n`` iterations."""
    return TOTAL(self, n)


total.non_differentiable("self")


@lib.op
def share(self: Tensor, n: int) -> Tensor:
    """Compute rows by a function that runs a loop of ``n`` iterations."""
    ...


@share.meta
def share_meta(ctx, self):
    ctx.set_output(0, self.shape, like=self)
    return (self.ndim - 1,)


share.non_differentiable("self")


SHARE = primitives.rows(lambda self, n: steps_element(self, n) / row_sum(self), promote="floating")


@share.formula
def share_formula(self: Tensor, n: int) -> Tensor:
    return SHARE(self, n)


RUNNING = opdsl.primitives.scan(lambda h, self, n: steps_element(h + self, n), init=0.0, promote="int_to_float")


@lib.op
@opdsl.formula
def running(self: Tensor, n: int, dim: int) -> Tensor:
    """Compute a recurrence whose step runs a loop of ``n`` iterations."""
    return RUNNING(self, n, dim)


running.non_differentiable("self")


@opdsl.formula
def formula(x: Tensor, n: int) -> Tensor:
    """Compute a loop of ``n`` iterations in a formula."""
    for _ in range(n):
        x = x * 0.5 + 0.25
    return x


def one_long() -> Tensor:
    """Return degrees of which only the last one is high, so that the caller waits for a helper thread."""
    degrees = opdsl.zeros(200_000, dtype=opdsl.float64)
    degrees[-1] = 1e15
    return degrees


ones = opdsl.ones
DOUBLES = ones(3, dtype=opdsl.float64)  # float32 cannot count beyond 2**24
CALLS: dict[str, Callable[[], object]] = {
    "few": lambda: steps(ones(3), FOR_EVER),
    "many": lambda: steps(ones(2_000_000), FOR_EVER),
    "in place": lambda: opdsl.special.laguerre_polynomial_l(DOUBLES, 1e15, out=ones(3, dtype=opdsl.float64)),
    "strided": lambda: steps(ones(1000, 64).t(), FOR_EVER),
    "nested": lambda: nested(ones(100_000), FOR_EVER),
    "reduction": lambda: total(ones(100_000), FOR_EVER),
    "row": lambda: share(ones(300, 300), FOR_EVER),
    "scan": lambda: running(ones(30, 30), FOR_EVER, 1),
    "formula": lambda: formula(ones(100_000), FOR_EVER),
    "compiled": lambda: opdsl.compile(lambda x: steps(x, FOR_EVER) * 2.0)(ones(100_000)),
    "laguerre": lambda: opdsl.special.laguerre_polynomial_l(DOUBLES, 1e15),
    "one long": lambda: opdsl.special.legendre_polynomial_p(ones(200_000, dtype=opdsl.float64), one_long()),
}


def ended(call: Callable[[], object]) -> float | None:
    """Send a signal during a call; return the seconds from the signal to the end of the call, or None if it ended
    regularly.
    """
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.4, send)
    timer.start()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
    return None


def handled() -> str:
    """Run a loop during which a signal handler returns, and describe whether the result is right and the handler ran in
    time.
    """
    seen: list[float] = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    while not seen:
        start = time.monotonic()
        result = steps(ones(2) * 8, 200_000_000).tolist()
        end = time.monotonic()
    return f"{result} {start < seen[0] < end}"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it by default
    if sys.argv[1] == "torch":
        import torch

        torch.ones(100_000).add(1)
    short = [float(steps(ones(3), 2).sum()), float(total(ones(3), 2)), float(formula(ones(3), 2).sum())]
    for name, call in CALLS.items():
        print(f"{name}: {ended(call)}", flush=True)
    again = [float(steps(ones(3), 2).sum()), float(total(ones(3), 2)), float(formula(ones(3), 2).sum())]
    print("handled:", handled())
    print("same:", short == again == [1.875, 1.875, 1.875])
