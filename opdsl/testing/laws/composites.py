"""Law 9: composite bodies and derivative formulas only call operators.

They do not use ``resize_``, ``out=``, elements of tensors, or operators that change metadata, since they could not be
traced with meta tensors, or batched. ``copy_`` gives a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from opdsl.autograd.derivative import Declared
from opdsl.dispatch import Operator, Signature, bind, enable_grad, no_grad
from opdsl.runtime import Tensor
from opdsl.schema import SchemaKind
from opdsl.schema.implementation import result_names
from opdsl.testing.sample import Sample
from opdsl.testing.samples import REFUSALS
from opdsl.testing.subject import Call, Subject, Watch, watching

# Tensor methods that read elements.
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
    "__dlpack__",
)
# Module that resolves overloads, which may read the element of a zero-dim tensor in place of a number.
_BINDING = "opdsl.dispatch.binding.arguments"
_RESIZES = ("aten::resize_", "aten::resize_as_", "aten::set_")


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    if subject.operator.schema.kind is SchemaKind.out:
        return
    for sample in subject.samples if subject.is_composite else ():
        copy = sample.copy()
        yield from _faults_of(subject, sample, "the body", 1, partial(copy.call, subject.function))
    for formula in getattr(subject.operator.derivative, "declared", ()):
        for sample in subject.samples:
            yield from _faults_of_formula(subject, sample, formula)


def _faults_of_formula(subject: Subject, sample: Sample, formula: Declared) -> Iterator[str]:
    """Run a derivative formula alone, in no-grad mode and in grad mode, and yield its violations."""
    copy = sample.copy()
    operator = subject.operator
    if not any(tensor.dtype.is_floating_point or tensor.dtype.is_complex for tensor in copy.tensors()):
        return
    arguments = bind(operator.schema.name.base, (Signature(operator),), copy.positional, copy.named).arguments
    values = dict(zip((argument.python_name for argument in operator.schema.arguments), arguments, strict=True))
    with no_grad():
        returned = sample.copy().call(subject.function)
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    values |= dict(zip(result_names(operator.schema), results, strict=False))
    gradients = tuple(result.new_ones(result.shape) if isinstance(result, Tensor) else None for result in results)
    values |= {"grad": gradients[0], "grads": gradients, "output_mask": (True,) * len(formula.names)}
    inputs = {name: values[name] for name in formula.parameters}
    what = f"the derivative {formula.function.__name__}"
    for mode in (no_grad, enable_grad):
        with mode():
            yield from _faults_of(subject, sample, what, 0, partial(formula.function, **inputs))


def _faults_of(subject: Subject, sample: Sample, what: str, depth: int, run: Any) -> Iterator[str]:
    """Run a function, and yield the violations in the calls that it makes at the given depth."""
    with watching() as watch, _noting_reads(watch, depth) as reads:
        try:
            run()
        except REFUSALS:
            return  # the sample is not differentiable
    faults = dict.fromkeys(_faults(subject.operator, what, [call for call in watch.calls if call.depth == depth]))
    if not subject.is_dynamic:
        faults |= dict.fromkeys(f"reads elements with Tensor.{read}" for read in reads)
    yield from (f"{sample}: {what} {text}" for text in faults)


def _faults(operator: Operator, what: str, calls: Sequence[Call]) -> Iterator[str]:
    """Yield the violations in the calls that a body or a formula makes directly."""
    for call in calls:
        called = call.operator
        if called.schema.kind is SchemaKind.out:
            yield f"calls {called.name}, which writes into an output"
        if called.name.partition(".")[0] in _RESIZES:
            yield f"calls {called.name}, which resizes"
        if "inplace_view" in called.tags and "inplace_view" not in operator.tags:
            yield f"calls {called.name}, which changes metadata"
        if called.name == "aten::copy_":
            warnings.warn(
                f"{operator.name}: {what} calls copy_, which autograd and functionalization follow at a cost. "
                "Compute the result instead of writing it.",
                stacklevel=2,
            )


@contextmanager
def _noting_reads(watch: Watch, depth: int) -> Iterator[list[str]]:
    """Return a context manager that records methods which read elements, if called directly at a depth of calls."""
    reads: list[str] = []
    before = {name: getattr(Tensor, name) for name in _READS}

    def noting(name: str) -> Any:
        def read(tensor: Tensor, *positional: Any, **named: Any) -> Any:
            if watch.depth == depth and sys._getframe(1).f_globals["__name__"] != _BINDING:
                reads.append(name)
            return before[name](tensor, *positional, **named)

        return read

    for name in _READS:
        setattr(Tensor, name, noting(name))
    try:
        yield reads
    finally:
        for name, original in before.items():
            setattr(Tensor, name, original)
