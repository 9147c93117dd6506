"""Numerical programs, written once for both libraries as loops of small eager calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

Algorithm = Callable[[], Any]


def random(lib: Any, *shape: int, seed: int = 0) -> Any:
    """Return normally distributed numbers, equal for both libraries."""
    return lib.from_numpy(numpy.random.default_rng(seed).normal(size=shape).astype(numpy.float32))


def k_means(lib: Any) -> Algorithm:
    """Return ten iterations of Lloyd's algorithm on 2,000 points with 8 centers."""
    points = random(lib, 2000, 4)

    def run() -> Any:
        centers = points[:8]
        for _ in range(10):
            distances = ((points.unsqueeze(1) - centers) ** 2).sum(-1)
            nearest = distances.argmin(1)
            sums = lib.zeros(8, 4).index_add(0, nearest, points)
            counts = lib.bincount(nearest, minlength=8).clamp(min=1)
            centers = sums / counts.unsqueeze(1)
        return centers

    return run


def conjugate_gradients(lib: Any) -> Algorithm:
    """Return 30 iterations of the conjugate gradient method on a system of 200 unknowns."""
    root = random(lib, 200, 200)
    matrix, target = root @ root.t() / 200 + lib.eye(200), random(lib, 200, seed=1)

    def run() -> Any:
        x = lib.zeros(200)
        residual = target.clone()
        direction = residual.clone()
        before = residual.dot(residual)
        for _ in range(30):
            image = matrix @ direction
            step = before / direction.dot(image)
            x += step * direction
            residual -= step * image
            after = residual.dot(residual)
            direction = residual + after / before * direction
            before = after
        return x

    return run


def heat(lib: Any) -> Algorithm:
    """Return 50 explicit steps of the heat equation on a grid of 64 x 64, written in place through slices."""
    start = random(lib, 64, 64)

    def run() -> Any:
        u = start.clone()
        for _ in range(50):
            inner = u[1:-1, 1:-1]
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u[1:-1, 1:-1] = inner + 0.1 * (around - 4 * inner)
            u[0] = u[1]
            u[-1] = u[-2]
        return u

    return run


def life(lib: Any) -> Algorithm:
    """Return 20 generations of Conway's game of life on a torus of 64 x 64."""
    start = random(lib, 64, 64) > 0

    def run() -> Any:
        alive = start
        for _ in range(20):
            cells = alive.to(lib.int32)
            rows = cells + cells.roll(1, 0) + cells.roll(-1, 0)
            neighbours = rows + rows.roll(1, 1) + rows.roll(-1, 1) - cells
            alive = (neighbours == 3) | (alive & (neighbours == 2))
        return alive

    return run


def mandelbrot(lib: Any) -> Algorithm:
    """Return 30 iterations for each point of a grid of 80 x 60, computed only where they have not diverged."""
    across, down = lib.linspace(-2, 0.6, 80), lib.linspace(-1.2, 1.2, 60)

    def run() -> Any:
        real, imaginary = across.expand(60, 80).reshape(-1), down.unsqueeze(1).expand(60, 80).reshape(-1)
        counts = lib.zeros(4800, dtype=lib.int64)
        left = lib.arange(4800)
        x, y = lib.zeros(4800), lib.zeros(4800)
        for _ in range(30):
            x, y = x * x - y * y + real[left], 2 * x * y + imaginary[left]
            kept = x * x + y * y <= 4
            left, x, y = left[kept], x[kept], y[kept]
            counts[left] += 1
        return counts

    return run


def bodies(lib: Any) -> Algorithm:
    """Return 20 leapfrog steps of 64 bodies that attract each other."""
    place, speed, mass = random(lib, 64, 3), random(lib, 64, 3, seed=1), random(lib, 64, seed=2).abs()

    def run() -> Any:
        x, v = place.clone(), speed.clone()
        for _ in range(20):
            offsets = x.unsqueeze(0) - x.unsqueeze(1)
            squares = (offsets * offsets).sum(-1) + 0.01
            pull = (offsets * (mass / (squares * squares.sqrt())).unsqueeze(-1)).sum(1)
            v += 0.01 * pull
            x += 0.01 * v
        return x

    return run


def kalman(lib: Any) -> Algorithm:
    """Return a Kalman filter of 4 states and 2 observations over 50 times."""
    move = lib.eye(4) + 0.1 * lib.eye(4).roll(2, 1)
    see, noise, jitter = lib.eye(4)[:2], 0.01 * lib.eye(4), 0.1 * lib.eye(2)
    seen = random(lib, 50, 2)

    def run() -> Any:
        state, spread = lib.zeros(4), lib.eye(4)
        states = []
        for observed in seen:
            state = move @ state
            spread = move @ spread @ move.T + noise
            gain = spread @ see.T @ lib.linalg.inv(see @ spread @ see.T + jitter)
            state = state + gain @ (observed - see @ state)
            spread = spread - gain @ see @ spread
            states.append(state)
        return lib.stack(states)

    return run


def lorenz(lib: Any) -> Algorithm:
    """Return 25 Runge-Kutta steps of 500 Lorenz systems."""
    start = random(lib, 500, 3)

    def slope(state: Any) -> Any:
        x, y, z = state.unbind(-1)
        return lib.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], -1)

    def run() -> Any:
        state, h = start, 0.01
        for _ in range(25):
            one = slope(state)
            two = slope(state + h / 2 * one)
            three = slope(state + h / 2 * two)
            four = slope(state + h * three)
            state = state + h / 6 * (one + 2 * two + 2 * three + four)
        return state

    return run


def mixture(lib: Any) -> Algorithm:
    """Return ten steps of expectation maximization for a mixture of 4 diagonal Gaussians of 1,000 points."""
    points = random(lib, 1000, 3)

    def run() -> Any:
        means, variances, weights = points[:4], lib.ones(4, 3), lib.full((4,), 0.25)
        for _ in range(10):
            offsets = points.unsqueeze(1) - means
            logs = weights.log() - 0.5 * (offsets**2 / variances + variances.log() + math.log(2 * math.pi)).sum(-1)
            shares = (logs - logs.logsumexp(1, keepdim=True)).exp()
            totals = shares.sum(0)
            means = shares.t() @ points / totals.unsqueeze(1)
            variances = (shares.t() @ points**2) / totals.unsqueeze(1) - means**2 + 1e-4
            weights = totals / 1000
        return means

    return run


def beams(lib: Any) -> Algorithm:
    """Return a beam search of 20 tokens with 4 beams over a table of 100 x 100 transitions."""
    table = random(lib, 100, 100).log_softmax(-1)

    def run() -> Any:
        scores, tokens = lib.zeros(4), lib.arange(4).unsqueeze(1)
        for _ in range(20):
            total = scores.unsqueeze(1) + table[tokens[:, -1]]
            scores, chosen = total.view(-1).topk(4)
            tokens = lib.cat([tokens[chosen // 100], (chosen % 100).unsqueeze(1)], 1)
        return tokens

    return run


def adam(lib: Any) -> Algorithm:
    """Return five steps of Adam on 20 tensors, written in place."""
    count = 20
    values, slopes = ([random(lib, 32, 32, seed=seed + at) for at in range(count)] for seed in (0, count))
    firsts, seconds = ([lib.zeros(32, 32) for _ in range(count)] for _ in range(2))

    def run() -> Any:
        for step in range(1, 6):
            for value, slope, first, second in zip(values, slopes, firsts, seconds, strict=True):
                first.mul_(0.9).add_(slope, alpha=0.1)
                second.mul_(0.999).addcmul_(slope, slope, value=0.001)
                below = second.sqrt() / math.sqrt(1 - 0.999**step) + 1e-8
                value.addcdiv_(first, below, value=-0.001 / (1 - 0.9**step))
        return values[0]

    return run


def sinkhorn(lib: Any) -> Algorithm:
    """Return 30 iterations of optimal transport between two sets of 100 points, in logarithms."""
    one, other = random(lib, 100, 2), random(lib, 100, 2, seed=1)

    def run() -> Any:
        cost = lib.cdist(one, other) / 0.1
        f, g = lib.zeros(100), lib.zeros(100)
        for _ in range(30):
            f = -(g - cost).logsumexp(1)
            g = -(f.unsqueeze(1) - cost).logsumexp(0)
        return (f.unsqueeze(1) + g - cost).exp()

    return run


def newton(lib: Any) -> Algorithm:
    """Return eight Newton steps of a logistic regression of 500 samples with 10 features."""
    features, labels = random(lib, 500, 10), (random(lib, 500, seed=1) > 0).to(lib.float32)

    def run() -> Any:
        weights = lib.zeros(10)
        for _ in range(8):
            chances = (features @ weights).sigmoid()
            slope = features.t() @ (chances - labels) + 0.1 * weights
            curves = (features * (chances * (1 - chances)).unsqueeze(1)).t() @ features + 0.1 * lib.eye(10)
            weights = weights - lib.linalg.solve(curves, slope)
        return weights

    return run


def spectra(lib: Any) -> Algorithm:
    """Return a low-pass filter of ten signals of 1,024 samples, and their energies by frequency."""
    signals = random(lib, 10, 1024)

    def run() -> Any:
        results = []
        for signal in signals:
            spectrum = lib.fft.rfft(signal)
            spectrum[100:] = 0
            results.append(lib.fft.irfft(spectrum, 1024) * (spectrum.abs() ** 2).mean().sqrt())
        return lib.stack(results)

    return run


def table(lib: Any) -> Algorithm:
    """Return a summary of a table of 2,000 rows: filtered, grouped, sorted, ranked."""
    values, keys = random(lib, 2000, 3), (random(lib, 2000, seed=1) * 5).to(lib.int64).abs()

    def run() -> Any:
        chosen = values[:, 0] > -1
        rows, groups = values[chosen], keys[chosen]
        names, places, counts = lib.unique(groups, return_inverse=True, return_counts=True)
        means = lib.zeros(len(names), 3).index_add(0, places, rows) / counts.unsqueeze(1)
        spread = ((rows - means[places]) ** 2).mean(0).sqrt()
        order = means[:, 1].argsort(descending=True)
        ranked = rows[rows[:, 2].sort()[1]].cumsum(0)
        return means[order] / spread, ranked[-1], rows.median(0)[0]

    return run


ALGORITHMS: dict[str, Callable[[Any], Algorithm]] = {
    "k-means": k_means,
    "conjugate gradients": conjugate_gradients,
    "heat equation, in place": heat,
    "game of life": life,
    "Mandelbrot set, by masks": mandelbrot,
    "N bodies": bodies,
    "Kalman filter": kalman,
    "Runge-Kutta": lorenz,
    "mixture of Gaussians": mixture,
    "beam search": beams,
    "Adam by hand": adam,
    "Sinkhorn": sinkhorn,
    "Newton's method": newton,
    "spectra": spectra,
    "statistics of a table": table,
}

__all__ = ["ALGORITHMS", "Algorithm"]
