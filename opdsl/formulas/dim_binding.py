"""Overload resolution for calls with dims: placeholders represent ``DimTensor`` values and dims while a call is
bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, NamedTuple

from opdsl.dispatch import Operator
from opdsl.dispatch.binding.function_override import OverriddenFunction
from opdsl.dispatch.binding.signature import BoundCall, bind
from opdsl.errors import ArgumentError, DimError
from opdsl.formulas.dim_tensor import Dim, DimTensor
from opdsl.runtime import Device, Tensor, float32
from opdsl.runtime.geometry import geometry
from opdsl.runtime.interchange import operand

FOLDED = frozenset({"dim", "dims"})
"""Names of the parameters for which a dim is a dimension to fold, and not a value."""

# First of the numbers that represent dims where ints are expected: no dimension has such a number.
_FIRST_MARK = 1 << 40


class Axis:
    """Dim passed to an operator as a dimension (``x.sum(i)``) and not as a value."""

    __slots__ = ("dim",)

    def __init__(self, dim: Dim) -> None:
        self.dim = dim

    def __repr__(self) -> str:
        return self.dim.name


class Pack:
    """Several dims, possibly with ``...``, that an operator which takes one dimension treats as one, in row-major
    order.
    """

    __slots__ = ("targets",)

    def __init__(self, targets: tuple[Axis | EllipsisType, ...]) -> None:
        self.targets = targets

    def __repr__(self) -> str:
        return f"({', '.join('...' if target is ... else repr(target) for target in self.targets)})"


class StandIn(Tensor):
    """Tensor without memory that represents a ``DimTensor`` during overload resolution."""

    __slots__ = ("value",)

    value: DimTensor


StandIn.__name__ = DimTensor.__name__  # for messages


class Call(NamedTuple):
    """Bound call of an operator whose arguments may be ``DimTensor`` values.

    A dimension among the arguments is an int, an ``Axis``, ``...`` for all positional dimensions, or a ``Pack``.
    """

    operator: Operator
    arguments: tuple[Any, ...]

    def named(self) -> Iterator[tuple[str, Any]]:
        """Return the arguments with their names."""
        names = (argument.python_name for argument in self.operator.schema.arguments)
        return zip(names, self.arguments, strict=True)

    def get(self, name: str) -> Any:
        """Return an argument by its name; None if no argument has that name."""
        return dict(self.named()).get(name)


def bound_call(function: OverriddenFunction, args: tuple[object, ...], kwargs: dict[str, object]) -> Call:
    """Select the overload for a call and bind its arguments.

    Raises:
        ArgumentError: the call fits no overload.
        DimError: a dim is passed for an int.
    """
    as_values: set[Dim] = set()
    first: ArgumentError | None = None
    for packs in (False, True):
        while True:
            attempt = _Attempt(as_values, packs)
            try:
                call, misplaced = attempt.bind(function, args, kwargs)
            except ArgumentError as error:
                first = first or error
                direct = {dim for dim in (*args[1:], *kwargs.values()) if isinstance(dim, Dim)} - as_values
                if not direct:
                    break
                as_values |= direct
            else:
                if not misplaced:
                    return call
                if misplaced <= as_values:
                    raise DimError(
                        f"{call.operator.name}: expected an int, but got the dim {', '.join(map(repr, misplaced))}. "
                        "Order it first: x.order(..., i)."
                    )
                as_values |= misplaced
    assert first is not None, "the attempts end with an error"
    raise first


class _Attempt:
    """Attempt at overload resolution under an assumption about which dims among the arguments are values, which
    dimensions.

    Args:
        as_values: dims that are taken as values and not as dimensions.
        packs: whether a list of dims is one dimension.
    """

    def __init__(self, as_values: set[Dim], packs: bool) -> None:
        self.as_values = as_values
        self.packs = packs
        self.marks: list[Axis | EllipsisType | Pack] = []
        self.misplaced: set[Dim] = set()

    def bind(
        self, function: OverriddenFunction, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Call, set[Dim]]:
        """Bind the call, and return it with the dims that were passed for an argument that is no dimension."""
        # The first argument of an operator is never a dimension, so a dim there is a value.
        stands = tuple([self._stand_in(value, is_value=not at) for at, value in enumerate(args)])
        named = {name: self._stand_in(value) for name, value in kwargs.items()}
        bound: BoundCall = bind(function.name, function.signatures, stands, named)
        names = [argument.python_name for argument in bound.operator.schema.arguments]
        pairs = zip(names, bound.arguments, strict=True)
        return Call(bound.operator, tuple([self._restored(name, value) for name, value in pairs])), self.misplaced

    def _stand_in(self, value: object, *, is_value: bool = False) -> object:
        if isinstance(value, Dim) and not is_value and value not in self.as_values:
            return self._mark(Axis(value))
        if isinstance(value, DimTensor):
            stand_in = StandIn()
            stand_in.geometry = geometry(float32, Device("meta"), (2,))
            stand_in.value = value
            return stand_in
        if value is ...:
            return self._mark(value)
        if isinstance(value, (tuple, list)):
            dims = [one for one in value if isinstance(one, Dim) or one is ...]
            if self.packs and dims and len(dims) == len(value) and not is_value:
                return self._mark(Pack(tuple([one if one is ... else Axis(one) for one in dims])))
            return type(value)([self._stand_in(one, is_value=is_value) for one in value])
        return operand(value)

    def _mark(self, value: Axis | EllipsisType | Pack) -> int:
        self.marks.append(value)
        return _FIRST_MARK + len(self.marks) - 1

    def _restored(self, name: str, value: object) -> Any:
        if isinstance(value, StandIn):
            return value.value
        if isinstance(value, (tuple, list)):
            return tuple([self._restored(name, one) for one in value])
        if type(value) in (int, float) and _FIRST_MARK <= value < _FIRST_MARK + len(self.marks):  # type: ignore[operator]
            mark = self.marks[int(value) - _FIRST_MARK]  # type: ignore[call-overload]
            if name not in FOLDED:
                if not isinstance(mark, Axis):
                    raise DimError(
                        "... and lists of dims are only allowed for arguments that name dimensions (got them for "
                        f"{name!r})."
                    )
                self.misplaced.add(mark.dim)
            return mark
        return value
