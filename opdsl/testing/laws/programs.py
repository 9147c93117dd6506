"""Law 13: a program, before and after every pass, computes the same results and gradients as the call that was
traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.errors import OpdslError, TraceError
from opdsl.programs.arranging import ARRANGEMENTS, with_sums_by_rows
from opdsl.programs.compiled import PASSES, compile
from opdsl.programs.functional import functional
from opdsl.programs.leaves import flatten
from opdsl.programs.program import Program
from opdsl.programs.tracing import traced
from opdsl.runtime import manual_seed
from opdsl.runtime.snapshot import Content, contents
from opdsl.schema import SchemaKind
from opdsl.testing.laws.gradients import Call, random_state_kept
from opdsl.testing.laws.variants import UNINITIALISED
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject

_SAMPLES = 2
_KINDS = (SchemaKind.functional, SchemaKind.inplace)


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    if subject.operator.schema.name.base in UNINITIALISED:
        return
    with random_state_kept():
        for sample in subject.samples[:_SAMPLES]:
            differences = _differences(sample, subject.function, rounds_once=subject.operator.formula is not None)
            yield from (f"{sample}: {difference}" for difference in differences)
            yield from (f"{sample}: {other_gradient}" for other_gradient in _other_gradients(Call(subject, sample)))


def _differences(sample: Sample, function: Callable[..., Any], *, rounds_once: bool) -> Iterator[str]:
    """Yield how results of traced programs differ from the results of the call.

    ``rounds_once``: small differences are allowed, since a formula rounds only its result, while the operators of its
    programs round intermediate results, too. Each of these operators also chooses the strides of its result, from its
    own operands.
    """
    own = sample.copy()
    try:
        wanted = _outcome(own, lambda: function(*own.positional, **own.named))
        program = traced(function, flatten(function, tuple(sample.copy().positional), dict(sample.copy().named)))
    except (OpdslError, TraceError):  # not traceable, since results depend on elements, for example
        return
    is_in_order = not rounds_once
    has_strides = not rounds_once or len({tensor.strides for tensor in sample.tensors()}) <= 1
    for step in (None, functional, *ARRANGEMENTS, *PASSES):
        before, program = program, program if step is None else step(program)
        outcome = _of_program(sample, function, program)
        # Fusion and summation by rows change the order of additions.
        is_in_order = is_in_order and (step is not with_sums_by_rows or program is before)
        is_exact = is_in_order and not any(step.parts for step in program.steps)
        if outcome != wanted and (is_exact or not _are_close(outcome, wanted, has_strides)):
            yield f"{'the program' if step is None else step.__name__} gives {outcome}, the call {wanted}"


def _other_gradients(call: Call) -> Iterator[str]:
    """Yield how the gradients of a compiled call differ from those of the call, in double precision."""
    is_random = "nondeterministic_seeded" in call.operator.tags
    if is_random or call.operator.schema.kind not in _KINDS:
        return
    try:
        inputs = call.followed() if call.is_taken() else []
        wanted = call.gradients(inputs) if inputs else ()
    except OpdslError:  # reported by law 5
        return
    if not inputs:
        return
    compiled = compile(call.results)
    for _ in range(2):  # the second call runs a plan
        gradients = call.gradients(inputs, compiled(*inputs))
        for name, one, other in zip(call.names, gradients, wanted, strict=False):
            if not numpy.allclose(numpy.asarray(one), numpy.asarray(other), rtol=1e-10, atol=1e-13, equal_nan=True):
                yield f"the gradient of {name} is {one} of a compiled call, not {other}"


def _are_close(actual: Any, wanted: Any, has_strides: bool) -> bool:
    """Return whether contents are equal up to rounding; strides count only if operands leave no choice of them."""
    pairs = [
        (one, other)
        for ones, others in zip(actual, wanted, strict=True)
        for one, other in zip(ones, others, strict=True)
    ]
    for one, other in pairs:
        if (one if has_strides else one._replace(strides=other.strides))[:-1] != other[:-1]:
            return False
        if one.data != other.data:
            first, second = (numpy.frombuffer(content.data, one.dtype) for content in (one, other))
            rounding = numpy.finfo(first.dtype).eps * 64
            if not numpy.allclose(first, second, rtol=rounding, atol=rounding, equal_nan=True):
                return False
    return True


def _of_program(sample: Sample, function: Callable[..., Any], program: Program) -> Any:
    own = sample.copy()
    leaves = flatten(function, tuple(own.positional), dict(own.named))
    return _outcome(own, lambda: program.function(*leaves.values, *program.constants.values()))


def _outcome(sample: Sample, call: Callable[[], Any]) -> tuple[list[Content], list[Content]] | str:
    """Return the results of a call, and the contents of its arguments afterwards."""
    manual_seed(0)
    result = call()
    return "guard_failed" if result is GUARD_FAILED else (contents(result), contents(sample.tensors()))
