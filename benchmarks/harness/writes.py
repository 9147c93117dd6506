"""Functions that write in place and through views, written once for both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def smoothed(lib: Any, x: Any, y: Any) -> Any:
    """Write the inner points of a grid, then its borders."""
    x[1:-1, 1:-1] = x[1:-1, 1:-1] * 0.5 + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    x[0] = x[1]
    x[-1] = x[-2]
    return x


def red_black(lib: Any, x: Any, y: Any) -> Any:
    """Write every other row, then the rows between them."""
    x[1:-1:2] += 0.25 * (x[:-2:2] + x[2::2])
    x[2:-1:2] += 0.25 * (x[1:-2:2] + x[3::2])
    return x


def running(lib: Any, x: Any, y: Any) -> Any:
    """Update a running mean and a running variance."""
    mean, variance = x[0], x[1]
    mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
    variance.mul_(0.9).add_(y.var(0), alpha=0.1)
    return (y - mean) / (variance + 1e-5).sqrt()


def momentum(lib: Any, x: Any, y: Any) -> Any:
    """Take a step of gradient descent with momentum."""
    speed = x[:32]
    speed.mul_(0.9).add_(y[:32])
    x[32:].sub_(speed, alpha=0.01)
    return x


def ring(lib: Any, x: Any, y: Any) -> Any:
    """Write rows of a ring buffer one after another and average it."""
    for at in range(4):
        x[at * 7].copy_(y[at])
    return x.mean(0)


def prefix(lib: Any, x: Any, y: Any) -> Any:
    """Add each of 16 rows to the next one."""
    for at in range(1, 16):
        x[at] += x[at - 1]
    return x


def halves(lib: Any, x: Any, y: Any) -> Any:
    """Rotate pairs of columns in place."""
    even, odd = x[:, ::2].clone(), x[:, 1::2].clone()
    x[:, ::2] = even * y[:, ::2] - odd * y[:, 1::2]
    x[:, 1::2] = even * y[:, 1::2] + odd * y[:, ::2]
    return x


def masked(lib: Any, x: Any, y: Any) -> Any:
    """Fill by masks, in place."""
    x.masked_fill_(y > 0.8, 0.0)
    x[y < 0.2] = 1.0
    return x.clamp_(0.1, 0.9)


def transposed(lib: Any, x: Any, y: Any) -> Any:
    """Write through a transposed view, a diagonal and a reshaped view."""
    x.t().mul_(0.5)
    x.diagonal().add_(1.0)
    x.view(-1)[::65].mul_(2.0)
    return x + y


def heads(lib: Any, x: Any, y: Any) -> Any:
    """Split into heads by views, scale some of them in place, and join them."""
    parts = x.view(64, 4, 16).transpose(0, 1)
    parts[0].mul_(2.0)
    parts[1:3].add_(1.0)
    one, other = parts.chunk(2, 0)
    return (one * other).transpose(0, 1).reshape(64, 32)


def gathered(lib: Any, x: Any, y: Any) -> Any:
    """Write rows at indices, by three operators."""
    rows = lib.arange(8) * 3
    x.index_add_(0, rows, y[:8])
    x[rows + 1] = y[8:16]
    x.index_fill_(0, rows + 2, 0.5)
    return x


def swapped(lib: Any, x: Any, y: Any) -> Any:
    """Swap the halves of a matrix, and reverse one of them."""
    above = x[:32].clone()
    x[:32] = x[32:].flip(0)
    x[32:].copy_(above)
    return x


def chain(lib: Any, x: Any, y: Any) -> Any:
    """Apply eight pointwise operators in place."""
    return x.mul_(0.5).add_(y).sub_(0.25).abs_().sqrt_().add_(1.0).reciprocal_().clamp_(0.0, 1.0)


def outputs(lib: Any, x: Any, y: Any) -> Any:
    """Write results into rows of an argument by ``out=``."""
    lib.add(x[0], y[0], out=x[1])
    lib.mul(x[2], y[2], out=x[3])
    lib.exp(y[4:8], out=x[4:8])
    return x


def triangle(lib: Any, x: Any, y: Any) -> Any:
    """Eliminate below four pivots, in place."""
    for at in range(4):
        x[at + 1 :] -= x[at + 1 :, at : at + 1] / (x[at, at] + 2.0) * x[at]
    return x


def views(lib: Any, x: Any, y: Any) -> Any:
    """Make views of views, and write the last."""
    view = x.view(8, 8, 64).permute(1, 0, 2)[2:6].unsqueeze(0).squeeze(0).narrow(2, 8, 32).select(1, 3)
    view.fill_(0.5)
    return x.unbind(0)[11].unflatten(0, (8, 8)).t()


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "inner points and borders": smoothed,
    "every other row": red_black,
    "running statistics": running,
    "momentum": momentum,
    "ring buffer": ring,
    "row after row": prefix,
    "pairs of columns": halves,
    "masks": masked,
    "transposed, diagonal, reshaped": transposed,
    "heads": heads,
    "rows at indices": gathered,
    "swapped halves": swapped,
    "eight operators in place": chain,
    "out= into rows": outputs,
    "elimination": triangle,
    "views of views": views,
}


def grids(lib: Any) -> tuple[Any, Any]:
    """Return two matrices of random numbers, equal for both libraries."""
    one, other = numpy.random.default_rng(0).random((2, 64, 64), numpy.float32)
    return lib.from_numpy(one.copy()), lib.from_numpy(other.copy())


__all__ = ["WRITES", "grids"]
