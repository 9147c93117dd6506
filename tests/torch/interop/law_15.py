"""Subjects of law 15: operators of docs/constructs.md with the calls on that page, and operators of the library.

``python -m tests.torch.interop.law_15 NAME ...`` prints how these operators break the law; without names it checks all.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

import opdsl
from opdsl.dispatch import DispatchMode, Operator
from opdsl.interop.torch import registration
from opdsl.schema import FunctionSchema
from opdsl.testing import Sample, violations_of
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.docs.pages import faults_of

LAW = 15
TRIALS = ("a call", "opcheck", "a pickle", "torch.compile", "DTensor", "vmap", "gradients", "jvp")
PAGE = Path(__file__).parents[3] / "docs" / "constructs.md"

# Operators of the library, registered as if a user had declared them: of every kind, most with a derivative.
LIBRARY = (
    *("add.Tensor", "gelu", "where.self", "clamp", "pow.Tensor_Tensor", "silu", "lerp.Scalar", "atan2"),
    *("sum.dim_IntList", "mean.dim", "amax", "var.correction", "linalg_vector_norm", "logsumexp", "any.dim"),
    *("cumsum", "cummax", "logcumsumexp", "_softmax", "_log_softmax", "native_layer_norm", "native_group_norm"),
    *("mm", "bmm", "addmm", "dot", "gather", "scatter_add", "index_select", "masked_fill.Scalar", "flip", "roll"),
    *("cat", "stack", "constant_pad_nd", "avg_pool2d", "upsample_bilinear2d", "mse_loss", "sort", "topk"),
)


# Known problems: the trials that find them, by operator. A problem that is solved has to be removed here.
KNOWN: dict[str, tuple[str, ...]] = {
    # PyTorch's own backward operator, which gets the gradient, fails on symbolic sizes.
    "aten::upsample_bilinear2d": ("opcheck", "torch.compile"),
}


class _Calls(DispatchMode):
    """Dispatch mode that records calls of the operators of a namespace as samples."""

    before_decomposition = True

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.samples: dict[Operator, list[Sample]] = {}

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        if called.name.startswith(f"{self.namespace}::"):
            self.samples.setdefault(called, []).append(Sample(*args, **kwargs).copy())
        return operator(*args, **kwargs)


def of_the_page() -> dict[Operator, list[Sample]]:
    """Return the operators of docs/constructs.md that the page calls, with these calls as samples."""
    calls = _Calls("constructs")
    with warnings.catch_warnings(), calls:
        warnings.simplefilter("ignore")
        faults = list(faults_of(PAGE))
    assert not faults, faults
    return {operator: samples for operator, samples in calls.samples.items() if not operator.schema.out}


def of_the_library(names: Sequence[str] = LIBRARY) -> dict[Operator, list[Sample]]:
    """Return operators of aten, with one sample each."""
    bodies = {}
    for name in names:
        operator = opdsl.registry.operator(f"aten::{name}")
        bodies[operator] = fitting(samples_of(operator), Subject(operator, []).function, wanted=1)
    return bodies


class _Owner:
    """Owner of operators that derivatives need in torch; it has a schema in another namespace than aten."""

    def __init__(self, schema: FunctionSchema) -> None:
        self.schema = schema
        self.name = str(schema.name)


@contextmanager
def registered(operator: Operator) -> Iterator[None]:
    """Register an operator of aten in torch under a separate namespace, for the duration of the context."""
    if operator.schema.name.namespace is not None:
        yield
        return
    owner: Any = _Owner(attrs.evolve(operator.schema, name=attrs.evolve(operator.schema.name, namespace="law15")))
    bridge = registration._bridge(operator, owner.schema, owner=owner)
    registration._register(operator, bridge)
    registration._bridges[owner] = bridge
    try:
        yield
    finally:
        registration._close(owner)
        registration._bridges.pop(operator)


def problems(operator: Operator, samples: list[Sample]) -> list[str]:
    """Return how an operator breaks law 15."""
    with warnings.catch_warnings(), registered(operator):
        warnings.simplefilter("ignore")
        return [violation.problem for violation in violations_of(operator, samples, laws=[LAW])]


def broken(operator: Operator, samples: list[Sample]) -> dict[str, str]:
    """Return the first problem of an operator for each trial that finds one, by the name of the trial."""
    failing: dict[str, str] = {}
    for problem in problems(operator, samples):
        trial = next(trial for trial in TRIALS if f": {trial}: " in problem)
        failing.setdefault(trial, problem)
    return failing


def main(names: list[str]) -> int:
    """Print the problems of the named operators and return their number."""
    count = 0
    for operator, samples in itertools.chain(of_the_page().items(), of_the_library().items()):
        if not names or operator.name in names:
            for problem in problems(operator, samples):
                count += 1
                print(f"{operator.name}: {problem}", flush=True)
            print(f"# {operator.name}", flush=True)
    return count


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
