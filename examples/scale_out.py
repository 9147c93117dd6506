"""Computation on more data than memory: declared operators on chunked arrays, in worker processes with little memory.

Nothing in this file says how to split a computation. The rules for pointwise operators, sums, operators along rows and
the operators that this file declares follow from their definitions.

    python examples/scale_out.py [--rows 800000] [--memory 500MB]
"""

from __future__ import annotations

import argparse
from typing import Any

import dask.array as da
import numpy
from dask.distributed import Client, LocalCluster, progress

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.dask import lazy

lib = Library("scale_out")  # worker processes import this file, too


@lib.op
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    z = beta * self
    return (opdsl.maximum(z, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op
def standardised(self: Tensor) -> Tensor:
    """Scale columns to mean 0 and variance 1."""
    return (self - self.mean([0], True)) / self.std([0], keepdim=True)


def histogram(x: Any, edges: list[float]) -> list[int]:
    """Count the elements between each two neighboring edges."""
    below = [lazy(opdsl.sum)(lazy(opdsl.lt)(x, edge)) for edge in edges]
    counts = numpy.array(da.compute(*below))
    return [int(count) for count in numpy.diff(counts)]


def run(rows: int, columns: int, memory: str) -> None:
    """Compute on a cluster of two workers and print the results; ``memory`` is the limit of each worker."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        x = da.random.default_rng(0).normal(3.0, 2.0, size=(rows, columns), chunks=(rows // 40, columns))
        print(f"{x.nbytes / 1e6:,.0f} MB in {x.npartitions} chunks, 2 workers of {memory}")
        scaled = lazy(standardised)(x)
        print("histogram of what is standardised:", histogram(scaled, [-3.0, -1.0, 0.0, 1.0, 3.0]))
        likely = lazy(opdsl.softmax)(lazy(smooth_relu)(scaled, 2.0), 1)
        # The largest probability of each row, and its mean and variance over rows: one number each.
        summary = lazy(opdsl.var_mean)(lazy(opdsl.amax)(likely, 1))
        persisted = [statistic.persist() for statistic in summary]
        progress(persisted, notebook=False)
        variance, mean = da.compute(*persisted)
        print(f"\nthe likeliest of {columns}: {mean:.6f} on average, variance {variance:.3e}")
        rows_of_one = likely[: rows // 40].sum(axis=1)  # operators of dask accept the results
        print("rows of probabilities sum to 1:", bool(da.allclose(rows_of_one, 1.0).compute()))


def main() -> None:
    """Parse the command line and run the example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=800_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--memory", default="500MB")
    chosen = parser.parse_args()
    run(chosen.rows, chosen.columns, chosen.memory)


if __name__ == "__main__":
    main()
