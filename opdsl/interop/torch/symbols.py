"""Wrappers of torch's unbacked symbolic sizes for shape functions.

``x.nonzero()`` and ``torch.empty(n.item())`` have such sizes under ``torch.compile`` and ``torch.export``: unbacked
symbols, which torch refuses to compare. Shape functions compare sizes all the time. So they get wrappers that answer as
torch's own shape functions assume: an unbacked size is neither 0 nor 1, and an undecidable condition is false. A
condition that a shape function requires is assumed, and the compiled program checks it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols, statically_known_true

from opdsl.runtime.symbols import symbolic_kind

__all__ = ["Sizes", "symbol", "unwrapped"]

_untyped: Any = torch  # for functions without type annotations


class Unknown:
    """Undecidable comparison: false in a condition, but may be required to hold.

    Args:
        conditions: symbolic booleans of torch, all of which would have to hold.
    """

    __slots__ = ("conditions",)

    def __init__(self, conditions: Sequence[Any]) -> None:
        self.conditions = conditions

    def __bool__(self) -> bool:
        return False

    def expect(self, message: str) -> None:
        """Assume that the conditions hold; the compiled program checks them."""
        for condition in self.conditions:
            _untyped._check(condition, lambda: message)


def _arithmetic(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def forward(self: Symbol, other: object) -> Any:
        return symbol(function(self.symbol, unwrapped(other))) if _is_number(other) else NotImplemented

    return forward


def _reflected(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def backward(self: Symbol, other: object) -> Any:
        return symbol(function(unwrapped(other), self.symbol)) if _is_number(other) else NotImplemented

    return backward


def _comparison(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def compare(self: Symbol, other: object) -> Any:
        return _known(function(self.symbol, unwrapped(other))) if _is_number(other) else NotImplemented

    return compare


class Symbol:
    """Integer wrapper of an unbacked symbolic size.

    Args:
        symbol: the unbacked symbol, or an expression of such symbols.
    """

    __slots__ = ("symbol",)

    __hash__ = None  # type: ignore[assignment]  # no dictionary key, since equality may be undecidable

    def __init__(self, symbol: torch.SymInt) -> None:
        self.symbol = symbol

    __add__, __radd__ = _arithmetic("add"), _reflected("add")
    __sub__, __rsub__ = _arithmetic("sub"), _reflected("sub")
    __mul__, __rmul__ = _arithmetic("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _arithmetic("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _arithmetic("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _arithmetic("mod"), _reflected("mod")
    __pow__, __rpow__ = _arithmetic("pow"), _reflected("pow")
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("lt", "le", "gt", "ge"))

    def __eq__(self, other: object) -> Any:
        return _known(self.symbol == unwrapped(other)) if _is_number(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self == other
        if isinstance(equal, Unknown) and not (isinstance(other, int) and other in (0, 1)):
            return Unknown(())
        return not equal

    def __neg__(self) -> Any:
        return symbol(-self.symbol)

    def __abs__(self) -> Any:
        return symbol(abs(cast("Any", self.symbol)))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        return operator.index(self.symbol)

    __int__ = __index__

    def __float__(self) -> Any:
        return _untyped.sym_float(self.symbol)

    def __sym_max__(self, other: object) -> Any:
        return symbol(_untyped.sym_max(self.symbol, unwrapped(other)))

    def __sym_min__(self, other: object) -> Any:
        return symbol(_untyped.sym_min(self.symbol, unwrapped(other)))

    def __repr__(self) -> str:
        return repr(self.symbol)


class Sizes(tuple[Any, ...]):
    """Tuple of sizes or strides with symbols among them, whose equality may be undecidable."""

    __slots__ = ()

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, place: Any) -> Any:
        entry = super().__getitem__(place)
        return Sizes(entry) if isinstance(place, slice) else entry

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, tuple) or len(self) != len(other):
            return False
        pairs = [one == another for one, another in zip(self, other, strict=True)]
        unknown = [pair for pair in pairs if isinstance(pair, Unknown)]
        if not all(pair for pair in pairs if not isinstance(pair, Unknown)):
            return False
        return Unknown([condition for pair in unknown for condition in pair.conditions]) if unknown else True

    def __ne__(self, other: object) -> Any:
        equal = self == other
        if isinstance(equal, Unknown):
            # An unbacked size is neither 0 nor 1.
            return any(one != another for one, another in zip(self, cast("Sizes", other), strict=True)) or Unknown(())
        return not equal


def symbol(value: Any) -> Any:
    """Wrap an unbacked symbolic integer; other values are returned unchanged."""
    return Symbol(value) if isinstance(value, torch.SymInt) and has_free_unbacked_symbols(value) else value


def unwrapped(value: Any) -> Any:
    """Return the symbol of a wrapper; other values are returned unchanged."""
    return value.symbol if isinstance(value, Symbol) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or symbolic_kind(value) is not None


def _known(condition: Any) -> Any:
    """Decide a comparison if torch can; otherwise return ``Unknown``."""
    if isinstance(condition, bool) or not has_free_unbacked_symbols(condition):
        return bool(condition)
    if statically_known_true(condition):
        return True
    if statically_known_true(_untyped.sym_not(condition)):
        return False
    return Unknown((condition,))
