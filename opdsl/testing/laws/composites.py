"""Law 9: a composite body calls operators alone: no ``resize_``, ``out=``, data access or change of metadata."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opdsl.dispatch import Operator
from opdsl.runtime import Tensor
from opdsl.schema import SchemaKind
from opdsl.testing.subject import Call, Subject, Watch, watching

# What of Tensor reads elements.
_READS = (
    "item",
    "tolist",
    "numpy",
    "data_ptr",
    "__bool__",
    "__int__",
    "__float__",
    "__complex__",
    "__index__",
    "__array__",
)
_RESIZES = ("aten::resize_", "aten::resize_as_", "aten::set_")


def check(subject: Subject) -> Iterator[str]:
    """See the module."""
    if not subject.is_composite or subject.operator.schema.kind is SchemaKind.out:
        return
    for sample in subject.samples:
        with watching() as watch, _noting_reads(watch) as reads:
            sample.copy().call(subject.function)
        found = list(dict.fromkeys(_faults(subject.operator, watch.calls)))
        if not subject.is_dynamic:
            found += [f"reads elements with Tensor.{each}" for each in dict.fromkeys(reads)]
        yield from (f"{sample}: the body {each}" for each in found)


def _faults(composite: Operator, calls: list[Call]) -> Iterator[str]:
    """What is wrong with the calls that the body makes itself."""
    for each in calls:
        operator = each.operator
        if each.depth != 1:
            continue
        if operator.schema.kind is SchemaKind.out:
            yield f"calls {operator.name}, which writes into an output"
        if operator.name.partition(".")[0] in _RESIZES:
            yield f"calls {operator.name}, which resizes"
        if "inplace_view" in operator.tags and "inplace_view" not in composite.tags:
            yield f"calls {operator.name}, which changes metadata"
        if operator.name == "aten::copy_":
            warnings.warn(
                f"{composite.name}: the body calls copy_, which autograd and functionalization follow at a cost. "
                "Compute the result instead of writing it.",
                stacklevel=2,
            )


@contextmanager
def _noting_reads(watch: Watch) -> Iterator[list[str]]:
    """Note what reads elements while the body itself runs, and no operator that it calls."""
    reads: list[str] = []
    before = {name: getattr(Tensor, name) for name in _READS}

    def noting(name: str) -> Any:
        def read(tensor: Tensor, *given: Any, **named: Any) -> Any:
            if watch.depth == 1:
                reads.append(name)
            return before[name](tensor, *given, **named)

        return read

    for name in _READS:
        setattr(Tensor, name, noting(name))
    try:
        yield reads
    finally:
        for name, original in before.items():
            setattr(Tensor, name, original)
