"""Reverse-mode differentiation of the calls of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.aten.pointwise.comparison import where
from opdsl.autograd.engine import fitted
from opdsl.autograd.kernel import recorder_of
from opdsl.autograd.recorder import Recorder
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.errors import TraceError
from opdsl.programs.branches import Conditions, Noted, dims_repeated
from opdsl.runtime import Tensor

__all__ = ["Followed", "followed", "pulled_back"]

# A call through which gradients flow, and the recorder that computes them.
Followed = tuple[Noted, Recorder]


def followed(calls: Sequence[Noted], required: set[int]) -> tuple[list[Followed], set[int]]:
    """Select the calls through which gradients flow to required tensors; also return the identities of all tensors with
    gradients.
    """
    reached = set(required)

    def is_followed(value: Any) -> bool:
        return id(value) in reached

    followed_calls: list[Followed] = []
    for call in calls:
        if not call.is_recorded:
            continue
        recorder = recorder_of(call.operator, call.arguments, is_followed)
        if recorder.edges:
            followed_calls.append((call, recorder))
            reached |= {id(result) for at, result in enumerate(call.results) if recorder.has_gradient(at, result)}
    return followed_calls, reached


def pulled_back(
    calls: Sequence[Followed],
    seeds: Sequence[tuple[Tensor, Tensor]],
    fit: Callable[[Tensor, Any], Tensor] = fitted,
) -> dict[int, Tensor]:
    """Compute the gradients of tensors by reverse mode, with the operators' derivative formulas; return them by
    identity.

    Args:
        calls: in the order in which they were made.
        seeds: tensors at which the backward pass begins, each with its gradient.
        fit: converts a gradient to the geometry of its tensor: sums over broadcast dimensions.

    Raises:
        TraceError: a composite that was recorded as one step has no derivative.
        MissingDerivativeError: an operator has no derivative.
    """
    tensors = {id(root): seed for root, seed in seeds}
    for call, recorder in reversed(calls):
        incoming = [tensors.get(id(result)) for result in call.results]
        if all(seed is None for seed in incoming):
            continue
        if recorder.formulas is None and COMPOSITE_KEY in call.operator.registrations:
            raise TraceError(f"{call.operator.name} does more than call operators, and has no derivative")
        values = dict(zip(recorder.arguments, call.arguments, strict=True))
        values |= zip(recorder.results, (list(call.results),) if call.is_list else call.results, strict=True)
        forms = [result.geometry if isinstance(result, Tensor) else None for result in call.results]
        sent = recorder.gradients(incoming, forms, values)
        for (at, index), gradient in zip(recorder.edges, sent, strict=True):
            if gradient is None:
                continue
            target = call.arguments[at] if index is None else call.arguments[at][index]
            if call.conditions and "pointwise" in call.operator.tags:
                gradient = _counted(gradient, call.conditions, may_grow=fit is not fitted)
            gradient = fit(gradient, target.geometry)
            known = tensors.get(id(target))
            tensors[id(target)] = gradient if known is None else known + gradient
    return tensors


def _counted(gradient: Tensor, conditions: Conditions, *, may_grow: bool) -> Tensor:
    """Set a gradient to 0 where the branch conditions of its call do not hold.

    Args:
        gradient: gradient of an operand, in the shape of the result.
        conditions: conditions under which the call contributes.
        may_grow: whether the gradient may be broadcast to a larger condition; otherwise ``any`` reduces the condition.
    """
    for condition, outcome in conditions:
        zero = gradient.new_zeros(())
        if not may_grow:
            condition, outcome = _reduced_to(condition if outcome else condition.logical_not(), gradient), True
        gradient = where(condition, gradient, zero) if outcome else where(condition, zero, gradient)
    return gradient


def _reduced_to(condition: Tensor, value: Tensor) -> Tensor:
    """Reduce a condition by ``any`` over dimensions that a value lacks, so that it broadcasts to the value's shape."""
    extra, repeated = dims_repeated(condition.shape, value.shape)
    condition = condition.any(repeated, keepdim=True) if repeated else condition
    return condition.any(extra) if extra else condition
