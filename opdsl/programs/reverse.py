"""Reverse mode over the calls of a trace: from the gradients of results to those of what they come of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from opdsl.aten.pointwise.comparison import where
from opdsl.autograd.engine import fitted
from opdsl.autograd.kernel import recorder_of
from opdsl.autograd.recorder import Recorder
from opdsl.dispatch import DispatchKey, Operator
from opdsl.errors import TraceError
from opdsl.runtime import Tensor

__all__ = ["Conditions", "Followed", "Noted", "conditions", "followed", "pulled_back"]

# Truth values of elements, each with the outcome for which a call counts.
Conditions = tuple[tuple[Tensor, bool], ...]

conditions: ContextVar[Conditions] = ContextVar("conditions", default=())
"""The conditions under which calls count that are noted now: those of the branches of a formula."""


class Noted(NamedTuple):
    """A call that was noted.

    operator: which was called.
    arguments: in the order of the schema.
    results: in order.
    is_list: whether they are one result of the schema.
    is_recorded: whether grad mode was on.
    conditions: under which it counts.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    is_list: bool
    is_recorded: bool
    conditions: Conditions = ()


COMPOSITE = DispatchKey("CompositeImplicitAutograd")

# A call whose arguments are followed, and what computes their gradients.
Followed = tuple[Noted, Recorder]


def followed(calls: Sequence[Noted], required: set[int]) -> tuple[list[Followed], set[int]]:
    """The calls that gradients come through, and the identities of what they are of."""
    reached = set(required)

    def is_followed(value: Any) -> bool:
        return id(value) in reached

    found: list[Followed] = []
    for call in calls:
        if not call.is_recorded:
            continue
        recorder = recorder_of(call.operator, call.arguments, is_followed)
        if recorder.edges:
            found.append((call, recorder))
            reached |= {id(each) for at, each in enumerate(call.results) if recorder.has_gradient(at, each)}
    return found, reached


def pulled_back(
    calls: Sequence[Followed],
    seeds: Sequence[tuple[Tensor, Tensor]],
    fit: Callable[[Tensor, Any], Tensor] = fitted,
) -> dict[int, Tensor]:
    """The gradients of tensors, by their identities: reverse mode, by the formulas of the operators.

    Args:
        calls: in the order in which they were made.
        seeds: where it begins: tensors, each with its gradient.
        fit: makes of a gradient one of a tensor of a geometry: what broadcasting repeated is summed.

    Raises:
        TraceError: a composite is one step, which gradients come through that its own calls would record.
        MissingDerivativeError: an operator has no derivative.
    """
    found = {id(each): seed for each, seed in seeds}
    for call, recorder in reversed(calls):
        incoming = [found.get(id(each)) for each in call.results]
        if all(each is None for each in incoming):
            continue
        if recorder.formulas is None and COMPOSITE in call.operator.registrations:
            raise TraceError(f"{call.operator.name} does more than call operators, and has no derivative")
        values = dict(zip(recorder.arguments, call.arguments, strict=True))
        values |= zip(recorder.results, (list(call.results),) if call.is_list else call.results, strict=True)
        forms = [each.geometry if isinstance(each, Tensor) else None for each in call.results]
        sent = recorder.gradients(incoming, forms, values)
        for (at, index), gradient in zip(recorder.edges, sent, strict=True):
            if gradient is None:
                continue
            target = call.arguments[at] if index is None else call.arguments[at][index]
            gradient = _counted(fit(gradient, target.geometry), call.conditions)
            known = found.get(id(target))
            found[id(target)] = gradient if known is None else known + gradient
    return found


def _counted(gradient: Tensor, conditions: Conditions) -> Tensor:
    """A gradient where its call counts, and 0 elsewhere, whatever stands there."""
    for condition, outcome in conditions:
        zero = gradient.new_zeros(())
        gradient = where(condition, gradient, zero) if outcome else where(condition, zero, gradient)
    return gradient
