"""Symbolic numbers for lowering: arithmetic builds expressions, and comparisons record guards.

Integers are polynomials with lower bounds, so that most comparisons of sizes of two or more need no guard. PyTorch's
``SymInt`` and JAX's shape polymorphism work likewise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from opdsl.runtime.number_attributes import UFUNCS, bitwise, pinned_attribute, ufunc_method
from opdsl.runtime.polynomial import Terms, added, bounds_of, divided, expression, multiplied, settled

__all__ = [
    "NotLoweredError",
    "Symbol",
    "SymbolOwner",
    "computed",
    "example_value",
    "is_symbol",
    "largest",
    "least",
    "pinned",
    "smallest",
]


class NotLoweredError(Exception):
    """Raised when a call cannot be lowered to a plan, for example if it reads elements; its kernel runs each time."""


_OPPOSITES = {"!=": "==", "<=": ">", ">=": "<"}

# The most products of a polynomial; expressions of sizes have fewer.
_MOST_TERMS = 64


class SymbolOwner(Protocol):
    """Protocol of the recorder of symbols: see ``opdsl.runtime.lowering.Lowering``.

    is_exact: whether all sizes are plain integers.
    bounds: the lower bounds of integers, by their expressions; None if unknown.
    guards: the guards as expressions, and their outcomes.
    note_bound: is called with each symbol of which a lower bound has decided a comparison with 0 or 1; may be None.
    is_pinned: whether a guard requires a single value of a number.
    """

    is_exact: bool
    is_pinned: bool
    note_bound: Callable[[Symbol], None] | None
    bounds: dict[str, int | None]
    guards: dict[str, bool]

    def constant(self, value: object) -> str:
        """Return the name of a constant, which has the same value in every call."""

    def size(self, text: str, example: int, least: int | None = 2) -> Symbol:
        """Return a symbol for an integer."""

    def part(self, text: str, example: int, least: int | None) -> Symbol:
        """Return a symbol for an integer expression that a plan computes only once."""

    def number(self, text: str, example: Any) -> Symbol:
        """Return a symbol for a number that is no integer."""

    def ask(self, text: str, outcome: bool) -> bool:
        """Record a guard, and return its outcome in the call that is lowered."""

    def is_late(self, text: str) -> bool:
        """Return whether an expression depends on results of steps."""

    def once(self, function: Callable[..., Any], operands: Sequence[Any], result: str) -> str:
        """Record a step with one result, of a pure function, and return the name of the result."""


def is_symbol(value: object) -> bool:
    """Return whether a value is a symbolic number."""
    return type(value) is Symbol


def pinned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Specialize a plan to the numbers among the arguments of an arbitrary function; sizes stay symbols."""
    return tuple([value.pin() if type(value) is Symbol and least(value) is None else value for value in values])


def _terms(value: Any) -> Terms | None:
    """Return an integer as a polynomial; None for any other number."""
    kind = type(value)
    if kind is int:
        return {(): value} if value else {}
    terms: Terms | None = value.terms if kind is Symbol else None
    return terms


class Symbol:
    """Symbolic number: a number of a call whose expression in the plan is known.

    owner: the recorder.
    example: its value in the call that is lowered.
    terms: an integer as a polynomial; None for other numbers.
    lowest: a lower bound of an integer that is known without its terms; None if unknown.
    text: its expression in the plan, which is computed when it is first read.
    """

    __slots__ = ("example", "lowest", "owner", "terms", "text")

    text: str

    def __init__(
        self, owner: SymbolOwner, example: Any, terms: Terms | None, text: str = "", lowest: int | None = None
    ) -> None:
        self.owner = owner
        self.example = example
        self.terms = terms
        if text:
            self.text = text
        self.lowest = lowest

    def __getattr__(self, name: str) -> str:
        """Compute the expression, whose slot is empty until it is read."""
        if name != "text":
            raise AttributeError(f"'Symbol' object has no attribute {name!r}")
        self.text = expression(self.terms or {})
        return self.text

    def __sym_max__(self, other: object) -> object:
        """Mark the class as symbolic: PyTorch's symbolic numbers are recognized by this method too."""
        raise NotImplementedError

    @property
    def kind(self) -> type:
        """Return the type of the number: ``int``, ``float``, ``bool`` or ``complex``."""
        return type(self.example)

    # ``isinstance`` reads it, so that type checks of a symbol have the same result as for its example.
    __class__ = kind

    @property
    def real(self) -> Any:
        """Return the number itself; for a complex number its real part, which specializes the plan."""
        return self.pin().real if self.kind is complex else self

    @property
    def imag(self) -> Any:
        """Return 0; for a complex number its imaginary part, which specializes the plan."""
        return self.pin().imag if self.kind is complex else 0

    numerator, denominator, as_integer_ratio = map(pinned_attribute, ("numerator", "denominator", "as_integer_ratio"))
    bit_length, bit_count, to_bytes = map(pinned_attribute, ("bit_length", "bit_count", "to_bytes"))
    is_integer, hex = map(pinned_attribute, ("is_integer", "hex"))
    __and__, __rand__ = bitwise(operator.and_)
    __or__, __ror__ = bitwise(operator.or_)
    __xor__, __rxor__ = bitwise(operator.xor)
    __lshift__, __rlshift__ = bitwise(operator.lshift)
    __rshift__, __rrshift__ = bitwise(operator.rshift)

    def __invert__(self) -> Any:
        return ~self.pin()

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.pin(), digits)

    def conjugate(self) -> Any:
        """Return the number itself; a complex or bool number specializes the plan."""
        return self if self.kind in (int, float) else self.pin().conjugate()

    def pin(self) -> Any:
        """Return the example value, and specialize the plan by a guard that the number is the same."""
        example = self.example
        if self.owner.is_late(self.text):
            raise NotLoweredError("elements decide a number")
        self.owner.is_pinned = True
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
        if self.lowest is not None and self.lowest > 0:
            return self._decided(True)
        return self._compare(operator.ne, "!=", 0)

    def __hash__(self) -> int:
        if self.owner.is_exact:
            # a result that is cached for this symbol would also be used for equal numbers
            raise NotLoweredError("a number is looked up")
        return hash(self.pin())  # a look-up in a set or dict is only valid for this number

    def __repr__(self) -> str:
        return str(self.example)

    def __format__(self, form: str) -> str:
        return format(self.example, form)  # for messages, which the slow path creates again with its own numbers

    # ------------------------------------------------------------------------------------------------ arithmetic

    def _made(self, terms: Terms, example: Any, lowest: int | None = None) -> Any:
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        if len(terms) > _MOST_TERMS:
            raise NotLoweredError("an expression of sizes grows too long")
        return Symbol(self.owner, example, terms, "", lowest)

    def _opaque(self, text: str, example: Any, least: int | None = None) -> Symbol:
        if type(example) is not int:
            return self.owner.number(text, example)
        return self.owner.part(text, example, least)

    def _other(self, function: Callable[[Any, Any], Any], sign: str, first: Any, second: Any) -> Any:
        if type(first) not in _NUMBERS or type(second) not in _NUMBERS:
            return NotImplemented
        text = f"({_operand(first)} {sign} {_operand(second)})"
        return self._opaque(text, function(example_value(first), example_value(second)))

    def __add__(self, other: Any) -> Any:
        own, terms = self.terms, _terms(other)
        if own is None or terms is None:
            return self._other(operator.add, "+", self, other)
        return self._made(added(own, terms), self.example + (other.example if type(other) is Symbol else other))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1 if self.terms is not None else self._opaque(f"(-{self.text})", -self.example)

    def __pos__(self) -> Any:
        return self if self.kind is not bool else +self.pin()

    def __sub__(self, other: Any) -> Any:
        own, terms = self.terms, _terms(other)
        if own is None or terms is None:
            return self._other(operator.sub, "-", self, other)
        return self._made(added(own, terms, -1), self.example - (other.example if type(other) is Symbol else other))

    def __rsub__(self, other: Any) -> Any:
        if self.terms is None or _terms(other) is None:
            return self._other(operator.sub, "-", other, self)
        return (self * -1) + other

    def __mul__(self, other: Any) -> Any:
        own, lowest = self.terms, self.lowest
        if own is not None and type(other) is int:
            if other in (0, 1):
                return self if other else 0
            terms: Terms = {}
            for product, factor in own.items():
                terms[product] = factor * other
            bound = None if lowest is None or other < 0 else lowest * other
            return Symbol(self.owner, self.example * other, terms, "", bound)
        if own is None or type(other) is not Symbol or other.terms is None:
            return self._other(operator.mul, "*", self, other)
        least = other.lowest
        bound = lowest * least if lowest is not None and least is not None and min(lowest, least) >= 0 else None
        return self._made(multiplied(own, other.terms), self.example * other.example, bound)

    __rmul__ = __mul__

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and 0 <= other <= 4 and self.terms is not None:
            power: Any = 1
            for _ in range(other):
                power = self * power
            return power
        return self._other(operator.pow, "**", self, other)

    def __rpow__(self, other: Any) -> Any:
        if type(other) is int:  # with a negative exponent the result would be a float
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
        # Results of steps are rounded by a step, so that the expression is not computed again at each use.
        is_late = owner.is_late(self.text)
        text = owner.once(function, (self,), name) if is_late else f"{owner.constant(function)}({self.text})"
        return self._opaque(text, function(self.example))

    # ------------------------------------------------------------------------------------------------ comparisons

    def _decided(self, outcome: bool) -> bool:
        """Return the outcome of a comparison that lower bounds decide, which is not a guard, after reporting it."""
        if self.owner.note_bound is not None:
            self.owner.note_bound(self)
        return outcome

    def _compare(self, function: Callable[[Any, Any], bool], sign: str, other: Any) -> bool:
        if other is self:
            return function(0, 0)
        if type(other) not in _NUMBERS:
            return cast("bool", NotImplemented)
        outcome = function(self.example, other.example if type(other) is Symbol else other)
        own, lowest = self.terms, self.lowest
        if type(other) is int and lowest is not None and lowest > other:
            return function(lowest, other) if other < 0 else self._decided(function(lowest, other))
        terms = _terms(other)
        is_whole = own is not None and terms is not None
        if own is not None and terms is not None:
            answer = settled(added(own, terms, -1), self.owner.bounds, function, sign)
            if answer is not None:
                return answer if type(other) is not int or other < 0 else self._decided(answer)
        if sign == "!=" or (sign in _OPPOSITES and is_whole):  # an equivalent guard; not so for the order of NaN
            return not self.owner.ask(f"{self.text} {_OPPOSITES[sign]} {_operand(other)}", not outcome)
        return self.owner.ask(f"{self.text} {sign} {_operand(other)}", outcome)

    def __eq__(self, other: object) -> bool:
        if type(other) is Symbol and self.terms is not None and self.terms == other.terms:
            return True
        if type(other) is int and self.lowest is not None and self.lowest > other:
            return False if other < 0 else self._decided(False)
        return self._compare(operator.eq, "==", other)

    def __ne__(self, other: object) -> bool:
        if type(other) is Symbol and self.terms is not None and self.terms == other.terms:
            return False
        if type(other) is int and self.lowest is not None and self.lowest > other:
            return True if other < 0 else self._decided(True)
        return self._compare(operator.ne, "!=", other)

    def __lt__(self, other: Any) -> bool:
        return self._compare(operator.lt, "<", other)

    def __le__(self, other: Any) -> bool:
        return self._compare(operator.le, "<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._compare(operator.gt, ">", other)

    def __ge__(self, other: Any) -> bool:
        return self._compare(operator.ge, ">=", other)


def _is_whole(value: Any) -> bool:
    """Return whether a number is an integer, plain or symbolic."""
    return type(value) is int or (type(value) is Symbol and value.terms is not None)


def example_value(value: Any) -> Any:
    """Return the value of a number, plain or symbolic, in the call that is lowered."""
    return value.example if type(value) is Symbol else value


def _operand(value: Any) -> str:
    if type(value) is Symbol:
        return value.text
    if type(value) in (int, bool):
        return f"({value!r})" if value < 0 else repr(value)
    if type(value) is float and value == value:
        return f"({value!r})" if abs(value) != float("inf") else f"({'-' * (value < 0)}1e999)"
    raise NotLoweredError(f"{value!r} beside a symbol")


def _quotient(first: Any, second: Any) -> Any:
    """Return ``first // second``, as an exact quotient of polynomials if there is one."""
    symbol = first if type(first) is Symbol else second
    dividend, divisor = _terms(first), _terms(second)
    if dividend is None or divisor is None:
        return symbol._other(operator.floordiv, "//", first, second)
    exact = divided(dividend, divisor)
    if exact is not None:
        return symbol._made(exact, example_value(first) // example_value(second))
    _refuse_zero(second)
    text = f"({_operand(first)} // {_operand(second)})"
    positive = _is_at_least(first, 0) and _is_at_least(second, 1)
    return symbol.owner.part(text, example_value(first) // example_value(second), 0 if positive else None)


def _remainder(first: Any, second: Any) -> Any:
    symbol = first if type(first) is Symbol else second
    dividend, divisor = _terms(first), _terms(second)
    if dividend is None or divisor is None:
        return symbol._other(operator.mod, "%", first, second)
    if divided(dividend, divisor) is not None:
        return 0
    _refuse_zero(second)
    positive = _is_at_least(second, 1)
    text = f"({_operand(first)} % {_operand(second)})"
    return symbol.owner.part(text, example_value(first) % example_value(second), 0 if positive else None)


def _refuse_zero(divisor: Any) -> None:
    """Add a guard that a divisor is not 0, so that plans never divide by zero; the slow path raises the error."""
    if divisor == 0:
        raise ZeroDivisionError("integer division or modulo by zero")


def least(value: Any) -> int | None:
    """Return a lower bound of an integer, or None if none is known."""
    if type(value) is int or value.terms is None:
        return value if type(value) is int else None
    return bounds_of(value.terms, value.owner.bounds)[0]


def _is_at_least(value: Any, bound: int) -> bool:
    number = least(value)
    return number is not None and number >= bound


def largest(*values: Any) -> Any:
    """Return the maximum of numbers; with symbols as an expression, without a guard."""
    return _chosen(max, values)


def smallest(*values: Any) -> Any:
    """Return the minimum of numbers; with symbols as an expression, without a guard."""
    return _chosen(min, values)


def computed(text: str, function: Callable[..., int], names: dict[str, object], /, **values: Any) -> Any:
    """Return the result of a function of integers; with symbolic arguments as an expression, without a guard.

    The result must not be negative.

    Args:
        text: the expression that plans compute, with the names of values in braces.
        function: the function, of the values.
        names: the values of other names in braces.
        values: integers.
    """
    owner = None
    for value in values.values():
        if type(value) is Symbol:
            owner = value.owner
    if owner is None:
        return function(**values)
    written, examples = {}, {}
    for name, value in values.items():
        written[name], examples[name] = _operand(value), value.example if type(value) is Symbol else value
    for name, value in names.items():
        written[name] = owner.constant(value)
    return owner.part(f"({text.format_map(written)})", function(**examples), 0)


def _chosen(choose: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    owner = next((value.owner for value in values if type(value) is Symbol), None)
    if owner is None:
        return choose(values)
    if not all(map(_is_whole, values)):
        return choose(*values)
    bounds = [least(value) for value in values]
    known = [bound for bound in bounds if bound is not None]
    bound = None if not known or (choose is min and None in bounds) else choose(known)
    text = f"{owner.constant(choose)}({', '.join(_operand(value) for value in values)})"
    return owner.part(text, choose(example_value(value) for value in values), bound)


_NUMBERS = (Symbol, bool, int, float, complex)


for _name in UFUNCS:
    setattr(Symbol, _name, ufunc_method(_name))
