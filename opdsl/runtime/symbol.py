"""Numbers of which a plan knows the expression: what is made of them is an expression, what is asked of them a guard.

Integers are polynomials with lower bounds, so that most questions about sizes of two or more settle themselves.
PyTorch's ``SymInt`` and JAX's shape polymorphism are the same idea.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

__all__ = [
    "NotLoweredError",
    "Symbol",
    "SymbolOwner",
    "from_least",
    "is_symbol",
    "largest",
    "least",
    "pinned",
    "smallest",
]


class NotLoweredError(Exception):
    """A call does what no plan of steps can do: it reads elements, say. Its kernel itself is run each time."""


# A product of atoms, sorted; a polynomial is the factor of each of its products.
Product = tuple[str, ...]
Terms = dict[Product, int]

_OPPOSITES = {"!=": "==", "<=": ">", ">=": "<"}

# More products than this are no sizes that anybody writes.
_MOST_TERMS = 64


class SymbolOwner(Protocol):
    """What records what is asked of symbols: see ``opdsl.runtime.lowering.Lowering``.

    is_exact: whether all sizes are plain integers.
    bounds: what integers are at least, by their expressions; None where nothing is known.
    """

    is_exact: bool
    bounds: dict[str, int | None]

    def constant(self, value: object) -> str:
        """The name of a value that every call has."""

    def size(self, text: str, example: int, least: int | None = 2) -> Symbol:
        """A symbol of an integer."""

    def part(self, text: str, example: int, least: int | None) -> Symbol:
        """A symbol of an integer that a plan computes once, wherever it is used."""

    def number(self, text: str, example: Any) -> Symbol:
        """A symbol of a number that is no integer."""

    def ask(self, text: str, outcome: bool) -> bool:
        """Note a guard, and answer it as the example does."""

    def is_late(self, text: str) -> bool:
        """Whether an expression is of what steps have given."""

    def once(self, function: Callable[..., Any], operands: Sequence[Any], result: str) -> str:
        """Note a step with one result, of a function that depends on its operands alone; the result's name."""


def is_symbol(value: object) -> bool:
    """Whether a value is a number that only a plan knows."""
    return type(value) is Symbol


def pinned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments for a function that may do anything with numbers: a plan is for these alone. Sizes stay symbols."""
    return tuple([each.pin() if type(each) is Symbol and least(each) is None else each for each in values])


def _polynomial(value: Any) -> Terms:
    if type(value) is int or type(value) is bool:
        return {(): int(value)} if value else {}
    return cast("Terms", value.terms)


class Symbol:
    """A number of a call, of which a plan knows the expression.

    owner: what records.
    example: its value in the call that is lowered.
    terms: an integer as a polynomial; None for a number of another kind.
    """

    __slots__ = ("_text", "example", "owner", "terms")

    def __init__(self, owner: SymbolOwner, example: Any, terms: Terms | None, text: str = "") -> None:
        self.owner = owner
        self.example = example
        self.terms = terms
        self._text = text

    @property
    def text(self) -> str:
        """The expression."""
        if not self._text:
            self._text = _written(self.terms or {})
        return self._text

    def __sym_max__(self, other: object) -> object:
        """Tells that it is a symbol, as PyTorch's are told."""
        raise NotImplementedError

    @property
    def kind(self) -> type:
        """``int``, ``float``, ``bool`` or ``complex``."""
        return type(self.example)

    # ``isinstance`` asks for it: whoever tells numbers by their type gets the same answer as for the example.
    __class__ = kind

    @property
    def real(self) -> Any:
        """The number itself; of a complex one the plan knows the value."""
        return self.pin().real if self.kind is complex else self

    @property
    def imag(self) -> Any:
        """0; of a complex number the plan knows the value."""
        return self.pin().imag if self.kind is complex else 0

    def pin(self) -> Any:
        """The example itself; the plan is then for calls in which the number is the same."""
        example = self.example
        if self.owner.is_late(self.text):
            raise NotLoweredError("elements decide a number")
        alike = f"{self.text} == {example}" if type(example) is int else f"repr({self.text}) == {repr(example)!r}"
        self.owner.ask(alike, True)
        return example

    def __index__(self) -> int:
        return operator.index(self.pin())

    def __int__(self) -> int:
        return int(self.pin())

    def __float__(self) -> float:
        return float(self.pin())

    def __complex__(self) -> complex:
        return complex(self.pin())

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        if self.owner.is_exact:
            raise NotLoweredError("a number is looked up")  # what is found by it would be found by equal ones, too
        return hash(self.pin())  # what a set or a table answers is true of this number alone

    def __repr__(self) -> str:
        return str(self.example)

    def __format__(self, form: str) -> str:
        return format(self.example, form)  # of messages, which the slow path says with its own numbers

    # ------------------------------------------------------------------------------------------------ arithmetic

    def _made(self, terms: Terms, example: Any) -> Any:
        terms = {product: factor for product, factor in terms.items() if factor}
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        if len(terms) > _MOST_TERMS:
            raise NotLoweredError("an expression of sizes grows too long")
        return Symbol(self.owner, example, terms)

    def _opaque(self, text: str, example: Any, least: int | None = None) -> Symbol:
        if type(example) is not int:
            return self.owner.number(text, example)
        return self.owner.part(text, example, least)

    def _other(self, function: Callable[[Any, Any], Any], sign: str, first: Any, second: Any) -> Any:
        if not (_is_number(first) and _is_number(second)):
            return NotImplemented
        text = f"({_operand(first)} {sign} {_operand(second)})"
        return self._opaque(text, function(_example(first), _example(second)))

    def __add__(self, other: Any) -> Any:
        if not _whole(self, other):
            return self._other(operator.add, "+", self, other)
        return self._made(_sum(self.terms or {}, _polynomial(other)), self.example + _example(other))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1 if self.terms is not None else self._opaque(f"(-{self.text})", -self.example)

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        if not _whole(self, other):
            return self._other(operator.sub, "-", self, other)
        return self._made(_sum(self.terms or {}, _polynomial(other), -1), self.example - _example(other))

    def __rsub__(self, other: Any) -> Any:
        return (self * -1) + other if _whole(self, other) else self._other(operator.sub, "-", other, self)

    def __mul__(self, other: Any) -> Any:
        if not _whole(self, other):
            return self._other(operator.mul, "*", self, other)
        terms: Terms = {}
        for product, factor in (self.terms or {}).items():
            for another, times in _polynomial(other).items():
                made = tuple(sorted(product + another)) if product and another else product or another
                terms[made] = terms.get(made, 0) + factor * times
        return self._made(terms, self.example * _example(other))

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other <= 4 and self.terms is not None:
            made: Any = 1
            for _ in range(other):
                made = self * made
            return made
        return self._other(operator.pow, "**", self, other)

    def __rpow__(self, other: Any) -> Any:
        if type(other) is int:  # a negative exponent would make a float of it
            return other ** self.pin()
        return self._other(operator.pow, "**", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._other(operator.truediv, "/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._other(operator.truediv, "/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self)

    def __mod__(self, other: Any) -> Any:
        return _remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _remainder(other, self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return _quotient(self, other), _remainder(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return _quotient(other, self), _remainder(other, self)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __floor__(self) -> Any:
        return self._rounded("floor")

    def __ceil__(self) -> Any:
        return self._rounded("ceil")

    def __trunc__(self) -> Any:
        return self._rounded("trunc")

    def _rounded(self, name: str) -> Any:
        import math

        if self.terms is not None:
            return self
        function, owner = getattr(math, name), self.owner
        # What steps have given is rounded by one, so that no expression is computed again wherever it is used.
        is_late = owner.is_late(self.text)
        text = owner.once(function, (self,), name) if is_late else f"{owner.constant(function)}({self.text})"
        return self._opaque(text, function(self.example))

    # ------------------------------------------------------------------------------------------------ comparisons

    def _compare(self, function: Callable[[Any, Any], bool], sign: str, other: Any) -> bool:
        if other is self:
            return function(0, 0)
        if not _is_number(other):
            return cast("bool", NotImplemented)
        outcome = function(self.example, _example(other))
        if _whole(self, other):
            settled = _settled(_sum(self.terms or {}, _polynomial(other), -1), self.owner.bounds, function, sign)
            if settled is not None:
                return settled
        if sign == "!=" or (sign in _OPPOSITES and _whole(self, other)):  # the same question; NaN has no order
            return not self.owner.ask(f"{self.text} {_OPPOSITES[sign]} {_operand(other)}", not outcome)
        return self.owner.ask(f"{self.text} {sign} {_operand(other)}", outcome)

    def __eq__(self, other: object) -> bool:
        return self._compare(operator.eq, "==", other)

    def __ne__(self, other: object) -> bool:
        return self._compare(operator.ne, "!=", other)

    def __lt__(self, other: Any) -> bool:
        return self._compare(operator.lt, "<", other)

    def __le__(self, other: Any) -> bool:
        return self._compare(operator.le, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._compare(operator.gt, ">", other)

    def __ge__(self, other: Any) -> bool:
        return self._compare(operator.ge, ">=", other)


def _whole(first: Any, second: Any) -> bool:
    """Whether both are integers."""
    return (type(first) is int or (type(first) is Symbol and first.terms is not None)) and (
        type(second) is int or (type(second) is Symbol and second.terms is not None)
    )


def _sum(first: Terms, second: Terms, times: int = 1) -> Terms:
    """A polynomial and some times another; factors may be 0."""
    terms = dict(first)
    for product, factor in second.items():
        terms[product] = terms.get(product, 0) + times * factor
    return terms


def _is_number(value: Any) -> bool:
    return type(value) in (Symbol, bool, int, float, complex)


def _example(value: Any) -> Any:
    return value.example if type(value) is Symbol else value


def _operand(value: Any) -> str:
    if type(value) is Symbol:
        return value.text
    if type(value) in (int, bool):
        return f"({value!r})" if value < 0 else repr(value)
    if type(value) is float and value == value:
        return f"({value!r})" if abs(value) != float("inf") else f"({'-' * (value < 0)}1e999)"
    raise NotLoweredError(f"{value!r} beside a symbol")


def _written(terms: Terms) -> str:
    """A polynomial as an expression, the same for equal ones."""
    parts = []
    for product, factor in sorted(terms.items(), key=lambda each: (-len(each[0]), each[0])):
        factors = [*product] if factor == 1 and product else [repr(factor), *product]
        parts.append(" * ".join(factors))
    return parts[0] if len(parts) == 1 and " " not in parts[0] else f"({' + '.join(parts)})"


def _quotient(first: Any, second: Any) -> Any:
    """``first // second``, without remainder where that can be seen."""
    owner = (first if type(first) is Symbol else second).owner
    if not _whole(first, second):
        return (first if type(first) is Symbol else second)._other(operator.floordiv, "//", first, second)
    exact = _divided(_polynomial(first), _polynomial(second))
    if exact is not None:
        example = _example(first) // _example(second)
        return (first if type(first) is Symbol else second)._made(exact, example)
    _refuse_zero(second)
    text = f"({_operand(first)} // {_operand(second)})"
    positive = _is_at_least(first, 0) and _is_at_least(second, 1)
    return owner.part(text, _example(first) // _example(second), 0 if positive else None)


def _remainder(first: Any, second: Any) -> Any:
    owner = (first if type(first) is Symbol else second).owner
    if not _whole(first, second):
        return (first if type(first) is Symbol else second)._other(operator.mod, "%", first, second)
    if _divided(_polynomial(first), _polynomial(second)) is not None:
        return 0
    _refuse_zero(second)
    positive = _is_at_least(second, 1)
    text = f"({_operand(first)} % {_operand(second)})"
    return owner.part(text, _example(first) % _example(second), 0 if positive else None)


def _refuse_zero(divisor: Any) -> None:
    """Ask whether a divisor is 0, so that no plan divides by one: what is said then, the slow path knows."""
    if divisor == 0:
        raise ZeroDivisionError("integer division or modulo by zero")


def _divided(first: Terms, second: Terms) -> Terms | None:
    """The polynomial that, times the second, is the first; None where none is found: divisors are single products."""
    if not first:
        return {}
    if first == second:
        return {(): 1}
    if len(second) != 1:
        return None
    ((product, factor),) = second.items()
    made: Terms = {}
    for each, times in first.items():
        rest = list(each)
        for atom in product:
            if atom not in rest:
                return None
            rest.remove(atom)
        if times % factor:
            return None
        made[tuple(rest)] = times // factor
    return made


def _range(terms: Terms, bounds: Mapping[str, int | None]) -> tuple[int | None, int | None]:
    """What a polynomial is at least and at most, where that can be seen: in how far each atom is above its least."""
    shifted: Terms = {}
    for product, factor in terms.items():
        if not factor:
            continue
        expanded: Terms = {(): factor}
        for atom in product:
            bound = bounds.get(atom)
            if bound is None:
                return None, None
            grown: Terms = {}
            for each, times in expanded.items():
                grown[each] = grown.get(each, 0) + bound * times
                further = tuple(sorted((*each, atom))) if each else (atom,)
                grown[further] = grown.get(further, 0) + times
            expanded = grown
        for each, times in expanded.items():
            shifted[each] = shifted.get(each, 0) + times
    fixed = shifted.pop((), 0)
    falls = any(factor < 0 for factor in shifted.values())
    grows = any(factor > 0 for factor in shifted.values())
    return None if falls else fixed, None if grows else fixed


def least(value: Any) -> int | None:
    """What an integer is at least, where that can be seen."""
    if type(value) is int or value.terms is None:
        return value if type(value) is int else None
    return _range(value.terms, value.owner.bounds)[0]


def _is_at_least(value: Any, bound: int) -> bool:
    found = least(value)
    return found is not None and found >= bound


def _settled(
    difference: Terms, bounds: Mapping[str, int | None], function: Callable[[Any, Any], bool], sign: str
) -> bool | None:
    """Whether a difference stands in a relation to 0 for all sizes; None where sizes decide."""
    lowest, highest = _range(difference, bounds)
    if lowest is not None and lowest == highest:
        return function(lowest, 0)
    if sign in ("==", "!="):
        apart = (lowest is not None and lowest > 0) or (highest is not None and highest < 0)
        return (sign == "!=") if apart else None
    above, below = lowest, None if highest is None else -highest
    if sign in ("<", "<="):
        above, below = below, above
    # Now it is asked whether the difference is greater (or equal), for its own sign or the other one.
    strict = sign in ("<", ">")
    if above is not None and (above > 0 if strict else above >= 0):
        return True
    if below is not None and (below >= 0 if strict else below > 0):
        return False
    return None


def largest(*values: Any) -> Any:
    """What ``max`` gives, without a guard that tells which it is where symbols are among them."""
    return _chosen(max, values)


def smallest(*values: Any) -> Any:
    """What ``min`` gives, without a guard that tells which it is where symbols are among them."""
    return _chosen(min, values)


def from_least(value: Any, number: Any, bound: int) -> Any:
    """A value that is not negative where a number is at least so much, else 0, without a guard where it is a symbol."""
    if type(number) is not Symbol:
        return value if number >= bound else 0
    lowest, highest = _range(number.terms, number.owner.bounds) if number.terms is not None else (None, None)
    if lowest is not None and lowest >= bound:
        return value
    if highest is not None and highest < bound:
        return 0
    example = _example(value) if number.example >= bound else 0
    return number.owner.part(f"({_operand(value)} if {number.text} >= {bound} else 0)", example, 0)


def _chosen(choose: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    owner = next((each.owner for each in values if type(each) is Symbol), None)
    if owner is None:
        return choose(values)
    if not all(_whole(each, 0) for each in values):
        return choose(*values)
    bounds = [least(each) for each in values]
    known = [each for each in bounds if each is not None]
    bound = None if not known or (choose is min and None in bounds) else choose(known)
    text = f"{owner.constant(choose)}({', '.join(_operand(each) for each in values)})"
    return owner.part(text, choose(_example(each) for each in values), bound)
