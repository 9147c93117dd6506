"""Benchmark of the overhead of calls: operators on 4 elements, compared with PyTorch in the same process."""

from __future__ import annotations

import numpy
import torch
from harness import Case, Report, compare, main
from torch._native import registry as native

import opdsl
from opdsl import Library, Tensor, formula

CALLS = (
    Case("add(a, b)", "ours.add(a, b)", "theirs.add(x, y)", 0.4),
    Case("a + b", "a + b", "x + y", 0.4),
    Case("a.add(b)", "a.add(b)", "x.add(y)", 0.4),
    Case("add(a, b, out=c)", "ours.add(a, b, out=c)", "theirs.add(x, y, out=z)", 0.4),
    Case("c.add_(b)", "c.add_(b)", "z.add_(y)", 0.4),
    Case("a.view(2, 2)", "a.view(2, 2)", "x.view(2, 2)", 0.4),
    Case("a.reshape(2, 2)", "a.reshape(2, 2)", "x.reshape(2, 2)", 0.4),
    Case("m.t()", "m.t()", "n.t()", 0.4),
    Case("m.transpose(0, 1)", "m.transpose(0, 1)", "n.transpose(0, 1)", 0.4),
    Case("a + 1", "a + 1", "x + 1", 0.4),
    Case("a == b", "a == b", "x == y", 0.4),
    Case("exp(a)", "ours.exp(a)", "theirs.exp(x)", 0.4),
    Case("sum(a)", "ours.sum(a)", "theirs.sum(x)", 0.4),
    Case("mm(m, m)", "ours.mm(m, m)", "theirs.mm(n, n)", 0.4),
)

OWN = (
    Case("pointwise, against custom_op", "scaled(a, b)", "custom(x, y)", 0.05),
    Case("pointwise, against Library.define + impl", "scaled(a, b)", "implemented(x, y)", 0.2),
    Case("Python kernel, against custom_op", "added(a, b)", "custom(x, y)", 0.05),
    Case("Python kernel, against Library.define + impl", "added(a, b)", "implemented(x, y)", 0.2),
)

OVERRIDES = (
    Case("the condition holds", "ours.reciprocal(a)", "theirs.reciprocal(x)", 0.5),
    Case("it does not: the kernel beneath runs", "ours.reciprocal(a5)", "theirs.reciprocal(x5)", 0.5),
)

lib = Library("benchmark")


@lib.op
@formula
def scaled(self: Tensor, other: Tensor) -> Tensor:
    """Compute ``self + other``, declared as a formula."""
    return self + other


@lib.op
def added(self: Tensor, other: Tensor) -> Tensor:
    """Compute ``self + other``, declared as a composite."""
    return self + other


@torch.library.custom_op("benchmark::custom", mutates_args=())
def custom(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def implemented() -> object:
    """Return an operator for ``x + y`` registered by ``torch.library.Library``, the low-level way of PyTorch."""
    library = torch.library.Library("benchmark", "FRAGMENT")
    library.define("implemented(Tensor x, Tensor y) -> Tensor")
    library.impl("implemented", lambda x, y: x + y, "CPU")
    globals()["_kept"] = library  # the registration ends when the library is freed
    return torch.ops.benchmark.implemented.default


def has_four(self: opdsl.Tensor | torch.Tensor) -> bool:
    """Return whether a tensor has 4 elements, which is the condition of the override."""
    return self.numel() == 4


def same(self: opdsl.Tensor) -> opdsl.Tensor:
    """Return the argument; an override that does nothing, so that only dispatch is measured."""
    return self


def override() -> None:
    """Register the same override of ``reciprocal`` in opdsl and in PyTorch."""
    opdsl.register_op_override("benchmark", "aten", "reciprocal", "CPU", has_four, same)
    native.register_op_override("benchmark", "aten", "reciprocal", "CPU", has_four, same)
    native._register_all_overrides()


def names() -> dict[str, object]:
    """Return the functions and tensors that the statements use, by name."""
    one, two = numpy.arange(4, dtype=numpy.float32), numpy.ones(4, dtype=numpy.float32)
    ours, theirs = (
        [opdsl.from_numpy(operand) for operand in (one, two)],
        [torch.from_numpy(operand) for operand in (one, two)],
    )
    square = numpy.arange(4, dtype=numpy.float32).reshape(2, 2)
    return {
        "ours": opdsl,
        "theirs": torch,
        **dict(zip("ab", ours, strict=True)),
        **dict(zip("xy", theirs, strict=True)),
        "c": opdsl.from_numpy(numpy.zeros(4, numpy.float32)),
        "z": torch.zeros(4),
        "m": opdsl.from_numpy(square),
        "n": torch.from_numpy(square),
        "scaled": scaled,
        "added": added,
        "custom": custom,
        "implemented": implemented(),
        "a5": opdsl.from_numpy(numpy.ones(5, numpy.float32)),
        "x5": torch.ones(5),
    }


def run() -> Report:
    """Measure all calls."""
    torch.set_num_threads(1)
    report = Report("Calls of small operators", threads=1)
    known = names()
    report.comparison("Operators on 4 float32 elements", compare(CALLS, known), theirs="torch")
    report.comparison("An operator of the user's own", compare(OWN, known), theirs="torch")
    override()
    report.comparison("An override by a native DSL", compare(OVERRIDES, known), theirs="torch._native")
    return report


if __name__ == "__main__":
    main("dispatch", run)
