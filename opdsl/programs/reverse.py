"""Reverse mode over the calls of a trace: from the gradients of results to those of what they come of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from opdsl.aten.pointwise.comparison import where
from opdsl.autograd.engine import fitted
from opdsl.autograd.kernel import recorder_of
from opdsl.autograd.recorder import Recorder
from opdsl.dispatch import Operator
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.errors import TraceError
from opdsl.runtime import Tensor

__all__ = [
    "COPIES",
    "Conditions",
    "Followed",
    "MaskedBranch",
    "Noted",
    "conditions",
    "dims_repeated",
    "exposed",
    "followed",
    "masked_branch",
    "pulled_back",
]

# Truth values of elements, each with the outcome for which a call counts.
Conditions = tuple[tuple[Tensor, bool], ...]

conditions: ContextVar[Conditions] = ContextVar("conditions", default=())
"""The conditions under which calls count that are noted now: those of the branches of a formula."""


class MaskedBranch:
    """A branch of a formula in which operands are 0 where it is not taken, so that it guards gradients.

    A value that is computed so is right where the branch is taken alone. A call that makes elements of those at other
    places, as a fold does, must not see it: the branch is run once more then, without these masks.

    condition, outcome: what the branch is taken for.
    outer: the branch around it that has masks.
    is_crossed: whether such a call has seen such a value.
    exposed: the subscripts whose positions such a call needs as they are, also where the branch is not taken.
    """

    def __init__(self, condition: Tensor, outcome: bool, outer: MaskedBranch | None) -> None:
        self.condition, self.outcome, self.outer = condition, outcome, outer
        self.is_crossed = False
        self.exposed: frozenset[object] = frozenset()
        self._computed: dict[int, tuple[object, frozenset[object]]] = {}

    def branches(self) -> list[MaskedBranch]:
        """Return all branches that it stands in, the outermost first, itself last."""
        return [*([] if self.outer is None else self.outer.branches()), self]

    def conditions(self) -> Conditions:
        """Return what all these branches are taken for."""
        return tuple([(each.condition, each.outcome) for each in self.branches()])

    def takes(self, operator: Operator, operands: object) -> bool:
        """Return whether the operands of a call are masked; note what a call that is not pointwise takes of them."""
        if "pointwise" in operator.tags:
            return True
        if operator.packet_name not in COPIES and not operator.packet_name.endswith("_like"):
            self.cross(operands)
        return False

    def gives(self, operator: Operator, operands: object, result: object) -> None:
        """Note what a call has given."""
        if "pointwise" in operator.tags:
            self.keep(result, operands)
        elif operator.packet_name in COPIES:
            self.hand_on(operands, result)

    def keep(self, result: object, operands: object) -> None:
        """Note what a call has computed of operands that are masked."""
        self._note(result, self._subscripts(operands))

    def mask(self, position: object, subscript: object) -> None:
        """Note a position that is 0 where the branch is not taken, and the subscript that it stands in."""
        for branch in self.branches():
            branch._note(position, branch._subscripts(position) | {subscript})

    def _note(self, values: object, subscripts: frozenset[object]) -> None:
        self._computed.update((id(value), (value, subscripts)) for value in _parts(values))

    def _subscripts(self, operands: object) -> frozenset[object]:
        known = [self._computed[id(value)][1] for value in _parts(operands) if id(value) in self._computed]
        return frozenset[object]().union(*known)

    def hand_on(self, operands: object, result: object) -> None:
        """Note the result of a call that copies operands, place by place."""
        for branch in self.branches():
            if branch._has(operands):
                branch.keep(result, operands)

    def cross(self, operands: object, dims: Collection[object] | None = None, *, is_positional: bool = False) -> None:
        """Note that a call takes operands of other places than those of its result.

        Args:
            operands: of the call.
            dims: the first-class dims that it goes along; None where it may be any.
            is_positional: whether it goes along positional dimensions, too.
        """
        for branch in self.branches():
            if dims is None or branch._varies(dims, is_positional=is_positional):
                branch.is_crossed |= branch._has(operands)
                branch.exposed |= branch._subscripts(operands)

    def _varies(self, dims: Collection[object], *, is_positional: bool) -> bool:
        """Return whether the condition differs along dims, or along positional dimensions."""
        own: Collection[object] | None = getattr(self.condition, "depends", None)
        if own is None:
            return is_positional
        if is_positional and (getattr(self.condition, "lacks_sizes", False) or self.condition.ndim):
            return True
        return not own.isdisjoint(dims) if isinstance(own, frozenset) else True

    def _has(self, operands: object) -> bool:
        return any(id(value) in self._computed for value in _parts(operands))


def _parts(value: object) -> Iterator[object]:
    """Yield a value, or what lists and tuples hold."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _parts(each)
    else:
        yield value


COPIES = frozenset(f"aten::{each}" for each in (
    "_to_copy", "clone", "contiguous", "alias", "detach", "lift_fresh", "resolve_conj", "resolve_neg",
))  # fmt: skip
"""What gives an operand's elements as they are, but for its dtype."""

exposed: ContextVar[frozenset[tuple[int, object]]] = ContextVar("exposed", default=frozenset())
"""Conditions, by their identities, and subscripts whose positions these do not mask, as a fold needs all of them."""

masked_branch: ContextVar[MaskedBranch | None] = ContextVar("masked_branch", default=None)
"""The branch of a formula whose masks hold for calls that are noted now."""


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
        if recorder.formulas is None and COMPOSITE_KEY in call.operator.registrations:
            raise TraceError(f"{call.operator.name} does more than call operators, and has no derivative")
        values = dict(zip(recorder.arguments, call.arguments, strict=True))
        values |= zip(recorder.results, (list(call.results),) if call.is_list else call.results, strict=True)
        forms = [each.geometry if isinstance(each, Tensor) else None for each in call.results]
        sent = recorder.gradients(incoming, forms, values)
        for (at, index), gradient in zip(recorder.edges, sent, strict=True):
            if gradient is None:
                continue
            target = call.arguments[at] if index is None else call.arguments[at][index]
            if call.conditions and "pointwise" in call.operator.tags:
                gradient = _counted(gradient, call.conditions, may_grow=fit is not fitted)
            gradient = fit(gradient, target.geometry)
            known = found.get(id(target))
            found[id(target)] = gradient if known is None else known + gradient
    return found


def _counted(gradient: Tensor, conditions: Conditions, *, may_grow: bool) -> Tensor:
    """Return a gradient where its call counts, and 0 elsewhere, whatever stands there.

    Args:
        gradient: of an operand, in the shape of the result.
        conditions: under which the call counts.
        may_grow: whether it may take on the shape of a larger condition; else it counts where that holds anywhere.
    """
    for condition, outcome in conditions:
        zero = gradient.new_zeros(())
        if not may_grow:
            condition, outcome = _reduced_to(condition if outcome else condition.logical_not(), gradient), True
        gradient = where(condition, gradient, zero) if outcome else where(condition, zero, gradient)
    return gradient


def dims_repeated(shape: Sequence[int], other: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return dimensions of a shape along which the other one is repeated: leading ones that it lacks, and others."""
    extra = max(len(shape) - len(other), 0)
    own = enumerate(shape[extra:], extra)
    repeated = [dim for dim, size in own if size != 1 and other[dim - len(shape)] == 1]
    return tuple(range(extra)), tuple(repeated)


def _reduced_to(condition: Tensor, value: Tensor) -> Tensor:
    """Return a condition in a shape that broadcasts to a value's: where it holds anywhere along more dimensions."""
    extra, repeated = dims_repeated(condition.shape, value.shape)
    condition = condition.any(repeated, keepdim=True) if repeated else condition
    return condition.any(extra) if extra else condition
