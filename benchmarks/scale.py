"""Benchmark of chunked arrays: declared operators on dask, compared with one tensor, with NumPy and with dask's
reductions.

The file is not called dask.py, since Python looks for imports first in the folder of the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy
from dask.distributed import Client, LocalCluster, wait
from harness import Case, Report, compare, main

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.dispatch.binding.boxed import unbox
from opdsl.errors import OpdslError
from opdsl.interop.dask import lazy
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.operators import rule_of
from opdsl.sharding.rules import possible_cuts
from opdsl.testing import samples_of
from opdsl.testing.samples import fitting

CHUNKS = 64
MEGABYTES = int(os.environ.get("OPDSL_BENCH_MB", "1024"))
ROUNDS = 5

lib = Library("benchmark_scale")


@lib.op
@formula
def damped(self: Tensor, rate: float = 0.5) -> Tensor:
    """``tanh(x * r) * exp(-x * x)``: five operations, one loop."""
    return opdsl.tanh(self * rate) * opdsl.exp(-(self * self))


def damped_in_numpy(x: Any, rate: float = 0.5) -> Any:
    return numpy.tanh(x * numpy.float32(rate)) * numpy.exp(-(x * x))


@lib.op
@formula
def spread(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    """Compute the variance."""
    return self.var(dim, correction=0, keepdim=keepdim)


def persisted(array: Any) -> None:
    """Compute all blocks on dask's threads, without gathering them."""
    array.persist()


def remotely(array: Any) -> None:
    """Compute all blocks in worker processes, and wait for them."""
    wait(array.persist())


def cases_of_threads(names: dict[str, Callable[..., Any] | object]) -> list[Case]:
    """Return the cases that run in this process, on dask's threads."""
    count = MEGABYTES * 1024 * 1024 // 4
    whole = numpy.random.default_rng(0).random(count, numpy.float32)
    names |= {"x": da.from_array(whole, chunks=count // CHUNKS), "tensor": opdsl.from_numpy(whole)}
    names |= {"damped": damped, "lazy_damped": lazy(damped), "lazy_spread": lazy(spread), "persisted": persisted}
    names |= {"in_numpy": damped_in_numpy, "da": da}
    return [
        Case(f"an operator, {CHUNKS} chunks, against one tensor", "persisted(lazy_damped(x))", "damped(tensor)", 1.1),
        Case(
            "a formula of 5 operations, against da.map_blocks of NumPy's",
            "persisted(lazy_damped(x))",
            "persisted(da.map_blocks(in_numpy, x, dtype='f4'))",
            0.25,
        ),
        Case("a formula of a variance, against da.var", "lazy_spread(x).compute()", "da.var(x).compute()", 0.6),
    ]


PRODUCTS = {
    *("mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot", "vdot", "outer", "ger", "linear", "matmul"),
    *("addr", "addbmm", "inner", "kron", "bilinear"),
}


def shares() -> dict[str, tuple[int, int]]:
    """Return for each kind of definition how many operators can be split along a dimension of a sample, and of how
    many.
    """
    result: dict[str, tuple[int, int]] = {}
    for operator in opdsl.registry:
        if not operator.name.startswith("aten::") or operator.schema.kind.value != "functional":
            continue
        kernel = operator.entry(opdsl.DispatchKey("CPU")).kernel
        kind = "product" if operator.schema.name.base in PRODUCTS else getattr(kernel, "kind", "")
        calls = [unbox(operator, sample.positional, sample.named) for sample in _samples(operator)]
        calls = [call for call in calls if any(tensor.ndim for tensor in tensors_in(call))]
        if calls:
            cut, count = result.get(kind, (0, 0))
            result[kind] = cut + any(possible_cuts(rule_of(operator), call) for call in calls), count + 1
    return result


def _samples(operator: Any) -> list[Any]:
    try:
        return fitting(samples_of(operator), operator.function, wanted=4)
    except OpdslError:  # the operator has no float32 samples
        return []


def run() -> Report:
    """Measure all cases."""
    opdsl.set_num_threads(2)
    report = Report(f"Chunked arrays, {MEGABYTES} MB of float32", threads=2)
    rows = [f"| {kind} | {cut} | {count} | {100 * cut // count} % |" for kind, (cut, count) in shares().items()]
    report.write(
        "", "## Operators of the library that can be cut", "", "| definition | cut | of | |", "|---|---:|---:|---:|"
    )
    report.write(*rows)
    names: dict[str, Any] = {}
    cases = cases_of_threads(names)
    with dask.config.set(scheduler="threads", num_workers=2):
        report.comparison("two threads", compare(cases, names, rounds=ROUNDS), theirs="the other")
    names.clear()
    workers = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None)
    with workers, Client(workers):
        count = MEGABYTES * 1024 * 1024 // 4
        x = da.random.default_rng(0).random(count, dtype="f4", chunks=count // CHUNKS).persist()
        wait(x)
        names |= {"x": x, "lazy_damped": lazy(damped), "remotely": remotely, "damped": damped_in_dask}
        case = Case(
            f"an operator, {CHUNKS} chunks, against dask.array's",
            "remotely(lazy_damped(x))",
            "remotely(damped(x))",
            0.4,
        )
        report.comparison("two processes", compare([case], names, rounds=ROUNDS), theirs="dask.array")
    return report


def damped_in_dask(x: Any) -> Any:
    return da.tanh(x * numpy.float32(0.5)) * da.exp(-(x * x))


if __name__ == "__main__":
    main("scale", run)
