"""Comparison of the wheel's operators with NumPy, without opdsl; ``examples/ship.py`` runs it where opdsl is missing.

Prints the seconds from the import of the package to its first result, and the size of what is installed.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BLOCKED = ("opdsl", "numba", "llvmlite", "scipy")

SIZES = [(1, 1), (1, 900), (2, 3), (7, 1), (9, 40), (64, 65), (5000, 3), (3, 5000)]


def expected(name: str, x: Any, other: Any) -> Any:
    """Compute an operator by NumPy, in float64."""
    x, other = x.astype(np.float64), other.astype(np.float64)
    if name == "exponential_average":
        states = [np.zeros(len(x))]
        for column in x.T:
            states.append(0.5 * column + 0.5 * states[-1])
        return np.stack(states[1:], -1)
    shifted = x - x.max(-1, keepdims=True)
    total = np.log(np.exp(shifted).sum(-1, keepdims=True))
    results: dict[str, Callable[[], Any]] = {
        "smooth_relu": lambda: np.logaddexp(0, x),
        "swish": lambda: x / (1 + np.exp(-x)),
        "blend": lambda: 0.25 * x + 0.75 * other,
        "soft_sign": lambda: x / (1 + abs(x)),
        "root_mean_square": lambda: np.sqrt((x * x).mean(-1)),
        "log_sum_exp": lambda: (total + x.max(-1, keepdims=True))[:, 0],
        "log_softmax": lambda: shifted - total,
        "rms_norm": lambda: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * other,
        "running_total": lambda: np.tanh(x).cumsum(-1),
    }
    return results[name]()


def main() -> None:
    sys.modules.update(dict.fromkeys(BLOCKED))  # type: ignore[arg-type]  # importing one of them raises an error
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5), dtype=np.float32)
    started = time.process_time()
    gates: Any = importlib.import_module("gates")
    gates.smooth_relu(x)
    seconds = time.process_time() - started

    for shape in SIZES:
        x, weight = rng.standard_normal(shape, dtype=np.float32), rng.standard_normal(shape[1:], dtype=np.float32)
        for name in gates.__all__:
            more = {"blend": (weight, 0.25), "rms_norm": (weight,)}.get(name, ())
            result = getattr(gates, name)(x.copy(), *more)
            wanted = expected(name.removesuffix("_"), x, weight)
            np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4, err_msg=name)
        output = np.empty_like(x)
        gates.log_softmax(x, out=output)
        np.testing.assert_allclose(output, expected("log_softmax", x, weight), rtol=2e-4, atol=2e-4)
    try:
        gates.swish(x.astype(np.float64))
    except TypeError as error:
        print(f"refused: {error}")
    size = sum(file.stat().st_size for file in Path(gates.__file__).parent.rglob("*"))
    functional = [name for name in gates.__all__ if not name.endswith("_")]
    print(f"{len(functional)} operators agree with NumPy for {len(SIZES)} shapes")
    print(f"installed: {size / 1e6:.1f} MB; from the import to the first result: {seconds:.3f} s")


if __name__ == "__main__":
    main()
