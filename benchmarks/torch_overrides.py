"""Benchmark of opdsl's kernels as overrides of torch's operators (``opdsl.interop.torch.overrides``)."""

from __future__ import annotations

import time
from timeit import Timer

import torch
from harness import Report, main
from torch.nn import functional

import opdsl
from opdsl.interop.torch import overrides
from opdsl.testing.timing import Measured, measured

ROUNDS = 15

# Statements; the heading has the shape of x.
CALLS = {
    "softmax(x, -1)": "torch.softmax(x, -1)",
    "log_softmax(x, -1)": "torch.log_softmax(x, -1)",
    "layer_norm(x, (1024,), weight, bias)": "functional.layer_norm(x, (1024,), weight, weight)",
    "gelu(x)": "functional.gelu(x)",
    "gelu(x, approximate='tanh')": "functional.gelu(x, approximate='tanh')",
    "elu(x)": "functional.elu(x)",
    "mish(x)": "functional.mish(x)",
    "softplus(x)": "functional.softplus(x)",
    **{f"{name}(x)": f"torch.{name}(x)" for name in ("atan", "erf", "exp", "expm1", "log1p", "sinh", "tanh")},
}

# Calls that no override's condition accepts: they measure the cost of passing an override.
DECLINED = {"tanh(x), 4 elements": "torch.tanh(few)"}


def compared(calls: dict[str, str], names: dict[str, object]) -> list[Measured]:
    """Time every call with and without overrides, alternately."""
    # The time of the thread, which other programs do not change.
    timers = {name: Timer(statement, timer=time.thread_time, globals=names) for name, statement in calls.items()}
    turns: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        overrides.override()
        ours = {name: seconds(timer) for name, timer in timers.items()}
        overrides.deregister_op_overrides()
        theirs = {name: seconds(timer) for name, timer in timers.items()}
        for name in calls:
            turns[name].append((ours[name], theirs[name]))
    return [measured(name, pairs, None) for name, pairs in turns.items()]


def seconds(timer: Timer) -> float:
    """Return the time of a call, after a few calls whose fresh memory pages the system still has to map."""
    timer.timeit(12)
    loops = max(1, int(0.004 / max(timer.timeit(1), 1e-6)))
    return timer.timeit(loops) / loops


def run() -> Report:
    """Measure all calls."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    report = Report("Overrides of torch's operators", threads=1)
    names: dict[str, object] = {"torch": torch, "functional": functional, "weight": torch.rand(1024)}
    names["few"] = torch.rand(4)
    for rows in (256, 4096):
        names["x"] = torch.randn(rows, 1024)
        report.comparison(f"{rows} x 1024 float32", compared(CALLS, dict(names)), theirs="torch")
    report.comparison("Declined", compared(DECLINED, names), theirs="torch")
    return report


if __name__ == "__main__":
    main("torch_overrides", run)
