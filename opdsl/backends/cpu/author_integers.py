"""Check for numba's inexact arithmetic of uint64 with signed integers, which compares and divides in float64 or int64.

numba's types follow NumPy's old rules for scalars. It gives sums and products of uint64 and int64 the type int64, whose
bits are right as long as nothing depends on the sign. All other results would be wrong from 2**53 or 2**63 on, and are
refused here.
"""
# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# numba's intermediate representation has no types.

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

from numba.core import ir, types

__all__ = ["Mixture", "mixture_in"]

# Operations that give the same bits for signed and unsigned integers.
_OF_BITS = (operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor)
_COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_SHIFTS = (operator.lshift, operator.rshift)

# Integers below it are exact in float64.
_EXACT = 2**53

# Functions that treat a disguised uint64 as negative, or convert mixed arguments to float64.
_JUDGING = (min, max, abs, divmod, pow)


class Mixture(NamedTuple):
    """Source line where numba computes uint64 inexactly, and a description of the operation.

    line: of the source.
    what: the operation that is computed wrongly, as text for a message.
    """

    line: int
    what: str


def mixture_in(annotation: Any) -> Mixture | None:
    """Return the first line where a compiled function computes uint64 inexactly, or None.

    Args:
        annotation: numba's ``TypeAnnotation`` of the function.
    """
    if not any(_is_unsigned(kind) or _holds_unsigned(kind) for kind in annotation.typemap.values()):
        return None
    return _Reader(annotation).mixture()


def _is_unsigned(kind: Any) -> bool:
    return bool(types.unliteral(kind) == types.uint64)


def _holds_unsigned(kind: Any) -> bool:
    return isinstance(kind, types.Array) and _is_unsigned(kind.dtype)


def _is_integer(kind: Any) -> bool:
    return isinstance(types.unliteral(kind), (types.Integer, types.Boolean))


def _stay_unsigned(kinds: Iterable[Any]) -> bool:
    """Return whether numba treats all of these integer types as unsigned."""
    plain = map(types.unliteral, kinds)
    return all(isinstance(kind, types.Boolean) or not kind.signed for kind in plain)


def _are_told_apart(kinds: Iterable[Any]) -> bool:
    """Return whether a comparison with uint64 in float64 is exact: each signed operand is narrower than 64 bits, or a
    literal below 2**53.
    """
    signed = [kind for kind in kinds if not _is_unsigned(kind)]
    return all(
        abs(kind.literal_value) < _EXACT if isinstance(kind, types.Literal) else types.unliteral(kind).bitwidth < 64
        for kind in signed
    )


class _Reader:
    """Analysis of a function's numba IR that tracks which signed integers hold the bits of unsigned ones.

    disguised: the names of these signed variables.
    """

    def __init__(self, annotation: Any) -> None:
        self.kinds: dict[str, Any] = annotation.typemap
        self.calls: dict[Any, Any] = annotation.calltypes
        self.blocks: dict[int, Any] = annotation.blocks
        self.disguised: set[str] = set()

    def mixture(self) -> Mixture | None:
        """Return the first inexact operation, after propagating ``disguised`` to a fixed point."""
        while True:
            known = len(self.disguised)
            facts = [what for what in map(self.read, self.statements()) if what is not None]
            if len(self.disguised) == known:
                return min(facts, default=None)

    def statements(self) -> Iterable[Any]:
        """Yield all statements of the function in order."""
        return (statement for _, block in sorted(self.blocks.items()) for statement in block.body)

    def is_unsigned(self, name: str) -> bool:
        """Return whether a variable holds a uint64, either by its numba type or as a disguised int64."""
        return name in self.disguised or _is_unsigned(self.kinds[name])

    def read(self, statement: Any) -> Mixture | None:
        """Return the inexact operation of a statement, or None, and update ``disguised``."""
        line = statement.loc.line
        if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
            target = self.kinds[statement.target.name]
            is_kept = isinstance(target, types.Array) and _is_integer(target.dtype)
            if statement.value.name in self.disguised and not is_kept:
                return Mixture(line, "a sum of uint64 and a signed integer is stored as another number")
            return None
        if not isinstance(statement, ir.Assign):
            return None
        target, value = statement.target.name, statement.value
        if isinstance(value, ir.Var):
            return self.assigned(line, target, value.name)
        if not isinstance(value, ir.Expr):
            return None
        if value.op in ("binop", "inplace_binop"):
            function = value.immutable_fn if value.op == "inplace_binop" else value.fn
            return self.operation(line, target, function, value.lhs.name, value.rhs.name)
        if value.op == "unary":
            return self.sign(line, target, value)
        if value.op == "cast":
            return self.assigned(line, target, value.value.name)
        return self.call(line, value) if value.op == "call" else None

    def assigned(self, line: int, target: str, name: str) -> Mixture | None:
        """Check an assignment for inexact uint64: numba makes a variable that is assigned both uint64 and signed
        integers float64.
        """
        if self.is_unsigned(name):
            if isinstance(self.kinds[target], types.Float):
                return Mixture(line, f"{target.partition('.')[0]!r} is uint64 here and a signed integer elsewhere")
            if name in self.disguised:
                self.disguised.add(target)
        return None

    def operation(self, line: int, target: str, function: Any, left: str, right: str) -> Mixture | None:
        """Check a binary operation for inexact uint64 arithmetic, and mark its target as disguised if the bits are
        right.
        """
        if not (self.is_unsigned(left) or self.is_unsigned(right)):
            return None
        are_disguised = left in self.disguised or right in self.disguised
        if not (_is_integer(self.kinds[left]) and _is_integer(self.kinds[right])):
            return Mixture(line, "a sum of uint64 and a signed integer becomes a float") if are_disguised else None
        if not are_disguised and (function is operator.truediv or self.kinds[target] == types.uint64):
            return None
        if function in _OF_BITS or (function is operator.lshift and left in self.disguised):
            if not _is_unsigned(self.kinds[target]):
                self.disguised.add(target)
            return None
        if function in _SHIFTS and left not in self.disguised:
            return None
        kinds = [self.kinds[left], self.kinds[right]]
        if not are_disguised and (_stay_unsigned(kinds) or (function in _COMPARISONS and _are_told_apart(kinds))):
            return None
        sign = getattr(function, "__name__", "operation")
        return Mixture(line, f"{sign!r} of uint64 and a signed integer is computed as float64 or int64")

    def sign(self, line: int, target: str, value: Any) -> Mixture | None:
        """Check a unary operation for inexact uint64 arithmetic, and mark its target as disguised if the bits are
        right.
        """
        if self.is_unsigned(value.value.name) and not _is_unsigned(self.kinds[target]):
            if not _is_integer(self.kinds[target]):
                return Mixture(line, "uint64 becomes a float")
            if not isinstance(self.kinds[target], types.Boolean):
                self.disguised.add(target)
        return None

    def call(self, line: int, value: Any) -> Mixture | None:
        """Check a call for uint64 arguments that numba passes as another type."""
        function = self.kinds[value.func.name]
        names = [operand.name for operand in value.args]
        if not any(map(self.is_unsigned, names)):
            return None
        key = getattr(function, "typing_key", None)
        is_cast = isinstance(function, types.NumberClass) and _is_integer(function.instance_type)
        if any(name in self.disguised for name in names) and not is_cast and key not in (bool, int):
            return Mixture(line, "a sum of uint64 and a signed integer is passed to a function")
        is_mixed = not all(_is_unsigned(self.kinds[name]) for name in names)
        if key in _JUDGING and is_mixed and all(_is_integer(self.kinds[name]) for name in names):
            return Mixture(line, f"{key.__name__!r} of uint64 and a signed integer is computed as float64")
        return None
