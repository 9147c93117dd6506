"""Calls recorded by a trace, and the data-dependent branches of formulas in which they are made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from opdsl.dispatch import Operator
from opdsl.runtime import Tensor

__all__ = ["COPIES", "Conditions", "MaskedBranch", "Noted", "conditions", "dims_repeated", "exposed", "masked_branch"]

# Truth values of elements, each with the outcome for which a call counts.
Conditions = tuple[tuple[Tensor, bool], ...]

conditions: ContextVar[Conditions] = ContextVar("conditions", default=())
"""Conditions of the formula's current branches: a call that is recorded contributes to gradients only where
they hold.
"""


class MaskedBranch:
    """Data-dependent branch of a formula: its operands are masked with 0 where it is not taken, so that no gradient
    flows.

    Values computed in the branch are right only where it is taken. A call that combines elements of different indices,
    such as a fold, must not read them: in that case the branch is run again without these masks.

    condition, outcome: the branch is taken where the condition has this outcome.
    outer: the enclosing masked branch.
    is_crossed: whether such a call has read a masked value.
    exposed: the subscripts whose indices such a call needs unmasked.
    """

    def __init__(self, condition: Tensor, outcome: bool, outer: MaskedBranch | None) -> None:
        self.condition, self.outcome, self.outer = condition, outcome, outer
        self.is_crossed = False
        self.exposed: frozenset[object] = frozenset()
        self._computed: dict[int, tuple[object, frozenset[object]]] = {}

    def branches(self) -> list[MaskedBranch]:
        """Return this branch and the masked branches around it, the outermost first."""
        return [*([] if self.outer is None else self.outer.branches()), self]

    def conditions(self) -> Conditions:
        """Return the conditions of this branch and of those around it, each with the outcome for which its branch is
        taken.
        """
        return tuple([(branch.condition, branch.outcome) for branch in self.branches()])

    def takes(self, operator: Operator, operands: object) -> bool:
        """Return whether a call gets masked operands (pointwise ones do); record it if it combines elements of other
        indices.
        """
        if "pointwise" in operator.tags:
            return True
        if operator.packet_name not in COPIES and not operator.packet_name.endswith("_like"):
            self.cross(operands)
        return False

    def gives(self, operator: Operator, operands: object, result: object) -> None:
        """Record the result of a pointwise or copying call, if it is computed from masked values."""
        if "pointwise" in operator.tags:
            self.keep(result, operands)
        elif operator.packet_name in COPIES:
            self.hand_on(operands, result)

    def keep(self, result: object, operands: object) -> None:
        """Record a result as computed from masked operands, so that it is wrong where the branch is not taken."""
        self._note(result, self._subscripts(operands))

    def mask(self, position: object, subscript: object) -> None:
        """Record an index that is 0 where the branch is not taken, and the subscript that it belongs to."""
        for branch in self.branches():
            branch._note(position, branch._subscripts(position) | {subscript})

    def _note(self, values: object, subscripts: frozenset[object]) -> None:
        self._computed.update((id(value), (value, subscripts)) for value in _parts(values))

    def _subscripts(self, operands: object) -> frozenset[object]:
        known = [self._computed[id(value)][1] for value in _parts(operands) if id(value) in self._computed]
        return frozenset[object]().union(*known)

    def hand_on(self, operands: object, result: object) -> None:
        """Record the result of a call that copies operands element by element."""
        for branch in self.branches():
            if branch._has(operands):
                branch.keep(result, operands)

    def cross(self, operands: object, dims: Collection[object] | None = None, *, is_positional: bool = False) -> None:
        """Record that a call, such as a reduction, reads operands at other indices than those of its result.

        Args:
            operands: of the call.
            dims: the first-class dims along which it works; None if it may be any.
            is_positional: whether it works along positional dimensions as well.
        """
        for branch in self.branches():
            if dims is None or branch._varies(dims, is_positional=is_positional):
                branch.is_crossed |= branch._has(operands)
                branch.exposed |= branch._subscripts(operands)

    def _varies(self, dims: Collection[object], *, is_positional: bool) -> bool:
        """Return whether the condition varies along dims, or along positional dimensions."""
        own: Collection[object] | None = getattr(self.condition, "depends", None)
        if own is None:
            return is_positional
        if is_positional and (getattr(self.condition, "lacks_sizes", False) or self.condition.ndim):
            return True
        return not own.isdisjoint(dims) if isinstance(own, frozenset) else True

    def _has(self, operands: object) -> bool:
        return any(id(value) in self._computed for value in _parts(operands))


def _parts(value: object) -> Iterator[object]:
    """Yield a value, or the members of lists and tuples in it."""
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _parts(member)
    else:
        yield value


COPIES = frozenset(f"aten::{name}" for name in (
    "_to_copy", "clone", "contiguous", "alias", "detach", "lift_fresh", "resolve_conj", "resolve_neg",
))  # fmt: skip
"""Names of operators that copy an operand element by element, at most with another dtype."""

exposed: ContextVar[frozenset[tuple[int, object]]] = ContextVar("exposed", default=frozenset())
"""Pairs of a condition's identity and a subscript whose index that condition does not mask, since a fold needs all of
its elements.
"""

masked_branch: ContextVar[MaskedBranch | None] = ContextVar("masked_branch", default=None)
"""Masked branch of a formula in which calls are being recorded."""


class Noted(NamedTuple):
    """Recorded call of an operator in a trace.

    operator: the called operator.
    arguments: in the order of the schema.
    results: in order.
    is_list: whether the results are one list.
    is_recorded: whether grad mode was on.
    conditions: conditions under which the call contributes to gradients.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    is_list: bool
    is_recorded: bool
    conditions: Conditions = ()


def dims_repeated(shape: Sequence[int], other: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dimensions of a shape along which another shape repeats: leading ones it lacks, and those where it has
    size 1.
    """
    extra = max(len(shape) - len(other), 0)
    own = enumerate(shape[extra:], extra)
    repeated = [dim for dim, size in own if size != 1 and other[dim - len(shape)] == 1]
    return tuple(range(extra)), tuple(repeated)
