"""Derivatives of scalar functions: reverse mode over the untyped graph, giving a scalar function again.

What one gives can be differentiated again, for higher orders. Where a function has a kink, the derivative is the mean
of those on both sides (``abs`` has 0 at 0; ``max`` gives each of two equal operands a half, as PyTorch's ``maximum``
does): then a smooth function that is written with kinks that cancel keeps its derivative there.

Conditions are carried beside each gradient and are applied last, so that what the side not taken would give (infinities
times 0) never reaches the result. Complex gradients follow PyTorch's convention: the incoming one times the conjugate
of the derivative; of a real number only the real part of what comes in counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import Number, constant_key
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["differentiate"]


class Guard(NamedTuple):
    """A condition under which a gradient counts: the node is true, or it is false."""

    condition: int
    is_true: bool


Guards: TypeAlias = tuple[Guard, ...]

# Gradients of one node, by the conditions under which they count.
Gradients: TypeAlias = dict[Guards, int]

# Beyond so many sets of conditions at one node they are applied at once.
_MOST_GUARDS = 8

# A number that is finite in single precision, too.
_LARGE = 2.0**127


def differentiate(
    function: ScalarFunction, wanted: Sequence[str], *, is_complex: bool = False, result: str = ""
) -> ScalarFunction:
    """The gradients of parameters, from those of the results.

    Args:
        function: what is differentiated.
        wanted: names of parameters.
        is_complex: whether complex numbers take part; otherwise conjugates are left out.
        result: a name for the only result, where the gradients are to be made of that as far as it goes.

    Returns:
        A scalar function whose first parameters are the gradients of the results, ``grad`` or ``grad0``, ``grad1``,
        ...; then come those of the function's parameters that are needed, and the result, if it is. It returns a
        gradient for each name.

    Raises:
        ScalarFunctionError: an operation has no derivative; the message underlines it.

    >>> from opdsl.scalar import read
    >>> from opdsl.scalar.examples import smooth_relu
    >>> print(differentiate(read(smooth_relu), ["beta"]).parameters)
    ('grad', 'x', 'beta')
    """
    names = _gradient_names(function)
    builder = _Builder(function, names, is_complex=is_complex)
    for name, position in zip(names, function.results, strict=True):
        builder.send(position, {(): builder.add("parameter", value=name)})
    for position in range(len(function.nodes) - 1, -1, -1):
        builder.visit(position)
    results = [builder.gradient_of(name) for name in wanted]
    return builder.finish(names, wanted, results, result)


def _gradient_names(function: ScalarFunction) -> list[str]:
    """Names for the gradients of the results that no parameter has."""
    stem = "grad"
    while any(each.startswith(stem) for each in function.parameters):
        stem += "_"
    return [stem] if len(function.results) == 1 else [f"{stem}{at}" for at in range(len(function.results))]


class _Builder:
    """The graph of the derivative while it grows: the function's own nodes, then what the rules add.

    place: what the node that is being visited was written as, for errors about what its rule adds.
    """

    def __init__(self, function: ScalarFunction, gradients: Sequence[str], *, is_complex: bool) -> None:
        self.function = function
        self.is_complex = is_complex
        self.nodes: list[UntypedNode] = list(function.nodes)
        self.places: list[Place] = list(function.places)
        self.place = Place(function.source, function.source.tree)
        self.found: dict[int, Gradients] = {}
        self._positions = {_key(node): at for at, node in enumerate(self.nodes)}
        self._depends = self._dependent()

    def _dependent(self) -> set[int]:
        """The nodes that depend on a parameter; others need no gradient."""
        found: set[int] = set()
        for at, node in enumerate(self.function.nodes):
            if node.op == "parameter" or any(each in found for each in node.arguments):
                found.add(at)
        return found

    # ------------------------------------------------------------------------------------------- adding nodes

    def add(self, op: str, *arguments: int, value: Number | str | None = None) -> int:
        """A node, shared with an equal one."""
        node = UntypedNode(op, arguments, value)
        key = _key(node)
        found = self._positions.get(key)
        if found is None:
            found = self._positions[key] = len(self.nodes)
            self.nodes.append(node)
            self.places.append(self.place)
        return found

    def number(self, value: Number) -> int:
        """A literal."""
        return self.add("constant", value=value)

    def value(self, position: int) -> Number | None:
        """The number at a position, where it is a literal."""
        node = self.nodes[position]
        return node.value if node.op == "constant" and not isinstance(node.value, (str, UntypedLoop)) else None

    def multiply(self, first: int, second: int) -> int:
        """A product; literals 1 and -1 are left out."""
        for one, other in ((first, second), (second, first)):
            if self.value(one) == 1:
                return other
            if self.value(one) == -1:
                return self.add("negative", other)
        return self.add("multiply", first, second)

    def divide(self, first: int, second: int) -> int:
        """A quotient."""
        return first if self.value(second) == 1 else self.add("divide", first, second)

    def square(self, value: int) -> int:
        """``value * value``"""
        return self.add("multiply", value, value)

    def negative(self, value: int) -> int:
        """``-value``"""
        node = self.nodes[value]
        return node.arguments[0] if node.op == "negative" else self.add("negative", value)

    def complex(self, real: int, imaginary: int) -> int:
        """A complex number of real parts; where numbers are real, its real part."""
        # Gradients of real parts arrive as complex numbers beside complex operands.
        parts = [self.add("real", each) for each in (real, imaginary)]
        return self.add("complex", *parts) if self.is_complex else real

    def conjugate(self, value: int) -> int:
        """The conjugate, where numbers are complex."""
        return self.add("conjugate", value) if self.is_complex and self.value(value) is None else value

    def select(self, condition: int, chosen: int, other: int) -> int:
        """``chosen if condition else other``"""
        return chosen if chosen == other else self.add("select", condition, chosen, other)

    # ------------------------------------------------------------------------------------------- gradients

    def parameter(self, name: str) -> int | None:
        """Where a parameter of the function stands; None for one that it does not use."""
        return self._positions.get(_key(UntypedNode("parameter", (), name)))

    def gradient_of(self, name: str) -> int:
        """The gradient of a parameter."""
        position = self.parameter(name)
        return self.number(0) if position is None else self.collected(position)

    def send(self, position: int, gradients: Gradients) -> None:
        """Add to a node's gradients."""
        if position not in self._depends:
            return
        present = self.found.setdefault(position, {})
        for guards, value in gradients.items():
            present[guards] = self.add("add", present[guards], value) if guards in present else value

    def visit(self, position: int) -> None:
        """Hand a node's gradients on to its arguments."""
        gradients = self.found.get(position)
        node = self.function.nodes[position]
        if gradients is None or node.op == "parameter":
            return
        self.place = self.function.places[position]
        if len(gradients) > _MOST_GUARDS:
            gradients = {(): self.collected(position)}
        rule = _RULES.get(node.op)
        if rule is None:
            if node.op in _WITHOUT_GRADIENT:
                return
            error = self.function.underived()
            assert error is not None, "everything else has a rule"
            raise error
        for guards, gradient in gradients.items():
            sent = rule(self, gradient, node.arguments, position)
            for argument, each in zip(node.arguments, sent, strict=True):
                if isinstance(each, _Guarded):
                    self.send(argument, {(*guards, *each.guards): each.value})
                elif each is not None:
                    self.send(argument, {guards: each})

    def collected(self, position: int) -> int:
        """A node's gradient, its conditions applied; 0 where there is none."""
        parts = [self._guarded(*each) for each in _paired(self.found.get(position, {}))]
        if not parts:
            return self.number(0)
        total = parts[0]
        for each in parts[1:]:
            total = self.add("add", total, each)
        return total

    def _guarded(self, guards: Guards, value: int, otherwise: int | None) -> int:
        """``value`` where the last condition holds, ``otherwise`` where it does not, 0 where an earlier one fails."""
        for at, guard in enumerate(reversed(guards)):
            other = otherwise if at == 0 and otherwise is not None else self.number(0)
            value = self.select(guard.condition, *((value, other) if guard.is_true else (other, value)))
        return value

    def _made_of(self, name: str) -> dict[int, int]:
        """What can be made of the only result, by its position: that itself, and what a number was divided by."""
        (at,) = self.function.results
        node = self.nodes[at]
        if not node.arguments:
            return {}
        result = self.add("parameter", value=name)
        divided = self.value(node.arguments[0]) if node.op == "divide" else None
        if divided is None:
            return {at: result}
        return {at: result, node.arguments[1]: self.add("divide", self.number(divided), result)}

    def finish(
        self, gradients: Sequence[str], wanted: Sequence[str], results: Sequence[int], result: str
    ) -> ScalarFunction:
        """The function of the results, without what they do not need."""
        instead = self._made_of(result) if result else {}
        needed = {instead.get(at, at) for at in results}
        for at in range(len(self.nodes) - 1, -1, -1):
            if at in needed:
                needed.update(instead.get(each, each) for each in self.nodes[at].arguments)
        # What is made of the result was added last, and stands before what uses it.
        made = needed.intersection(instead.values())
        ahead = sorted({*made, *(each for at in made for each in self.nodes[at].arguments)})
        needed.update(ahead)
        kept = tuple(name for name in (*self.function.parameters, result) if self.parameter(name) in needed)
        heads = [*(self.add("parameter", value=name) for name in gradients), *ahead]
        order = [*heads, *(at for at in range(len(self.nodes)) if at in needed and at not in heads)]
        places = {at: new for new, at in enumerate(order)}
        nodes = [self.nodes[at] for at in order]
        return ScalarFunction(
            f"{self.function.name}_derivative_{'_'.join(wanted)}",
            (*gradients, *kept),
            {},
            tuple(
                node._replace(arguments=tuple(places[instead.get(each, each)] for each in node.arguments))
                for node in nodes
            ),
            tuple(self.places[at] for at in order),
            tuple(places[instead.get(at, at)] for at in results),
            self.function.source,
        )


def _key(node: UntypedNode) -> object:
    return node.op, node.arguments, type(node.value), constant_key(node.value)


def _paired(gradients: Gradients) -> list[tuple[Guards, int, int | None]]:
    """Conditions and gradients; two that differ in whether the last condition holds are one choice."""
    rest = dict(gradients)
    found: list[tuple[Guards, int, int | None]] = []
    while rest:
        guards, value = next(iter(rest.items()))
        del rest[guards]
        otherwise = None
        if guards:
            last = guards[-1]
            otherwise = rest.pop((*guards[:-1], Guard(last.condition, not last.is_true)), None)
        found.append((guards, value, otherwise))
    return found


class _Guarded(NamedTuple):
    """A gradient that counts under conditions only."""

    guards: Guards
    value: int


Sent: TypeAlias = "tuple[int | _Guarded | None, ...]"
Rule: TypeAlias = "Callable[[_Builder, int, tuple[int, ...], int], Sent]"


# ---------------------------------------------------------------------------------------------------------------- rules


def _factor(make: Callable[[_Builder, int, int], int]) -> Rule:
    """A function of one operand: the gradient times what ``make`` gives for the operand and the result."""

    def rule(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        return (b.multiply(gradient, b.conjugate(make(b, arguments[0], result))),)

    return rule


def _growing(make: Callable[[_Builder, int, int], int]) -> Rule:
    """The same of a function that overflows: 0, as what comes into ``1 / (1 + exp(-x))`` left of -710, stays 0.

    An infinite slope is replaced by a large one; of the last function of all it stays infinite.
    """

    def rule(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        slope = make(b, arguments[0], result)
        if not b.is_complex and b.nodes[gradient].op != "parameter":
            slope = b.select(b.add("isinf", slope), b.number(_LARGE), slope)
        return (b.multiply(gradient, b.conjugate(slope)),)

    return rule


def _quotient(make: Callable[[_Builder, int, int], int]) -> Rule:
    """The same, the gradient divided by what ``make`` gives."""

    def rule(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        return (b.divide(gradient, b.conjugate(make(b, arguments[0], result))),)

    return rule


def _multiply(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y = arguments
    return b.multiply(gradient, b.conjugate(y)), b.multiply(gradient, b.conjugate(x))


def _divide(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    y = b.conjugate(arguments[1])
    slope = b.square(result) if b.value(arguments[0]) == 1 else b.divide(result, arguments[1])
    return b.divide(gradient, y), b.negative(b.multiply(gradient, b.conjugate(slope)))


def _fma(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y, _ = arguments
    return b.multiply(gradient, b.conjugate(y)), b.multiply(gradient, b.conjugate(x)), gradient


def _extremum(comparison: str) -> Rule:
    """All to the operand that is taken, a half to each of equal ones; a NaN gets all, and its partner too."""

    def rule(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
        x, y = arguments
        tied = b.add("equal", x, y)
        shared = b.select(tied, b.multiply(gradient, b.number(0.5)), gradient)
        return (
            _Guarded((Guard(b.add(comparison, x, y), False),), shared),
            _Guarded((Guard(b.add(comparison, y, x), False),), shared),
        )

    return rule


def _choice(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    condition = arguments[0]
    return None, _Guarded((Guard(condition, True),), gradient), _Guarded((Guard(condition, False),), gradient)


def _absolute(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    (x,) = arguments
    if b.is_complex:
        return (
            _Guarded(
                (Guard(b.add("equal", result, b.number(0)), False),),
                b.multiply(b.add("real", gradient), b.divide(x, result)),
            ),
        )
    zero = b.number(0)
    above, below = b.add("greater", x, zero), b.add("less", x, zero)
    return (b.select(above, gradient, b.select(below, b.negative(gradient), zero)),)


def _power(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """As PyTorch's ``pow_backward``: nothing comes back where the exponent is 0, or the base of a logarithm is 0."""
    base, exponent = arguments
    less = b.value(exponent)
    reduced = b.number(less - 1) if less is not None else b.add("subtract", exponent, b.number(1))
    slope = b.multiply(exponent, b.add("power", base, reduced))
    for_base = b.multiply(gradient, b.conjugate(slope))
    logarithm = b.multiply(result, b.add("log", base))
    for_exponent = b.multiply(gradient, b.conjugate(logarithm))
    flat = Guard(b.add("equal", exponent, b.number(0)), False)
    if less is not None:
        return (None if less == 0 else for_base), None
    vanishing = b.add("equal", base, b.number(0))
    if not b.is_complex:
        vanishing = b.add("logical_and", vanishing, b.add("greater_equal", exponent, b.number(0)))
    return _Guarded((flat,), for_base), _Guarded((Guard(vanishing, False),), for_exponent)


def _atan2(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """Divided twice by the distance, since its square would underflow; at the origin nothing comes back."""
    y, x = arguments
    distance = b.add("hypot", x, y)
    scaled = b.divide(gradient, distance)
    somewhere = (Guard(b.add("equal", distance, b.number(0)), False),)
    found = (b.divide(b.multiply(scaled, x), distance), b.negative(b.divide(b.multiply(scaled, y), distance)))
    return _Guarded(somewhere, found[0]), _Guarded(somewhere, found[1])


def _hypot(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x, y = arguments
    return b.multiply(gradient, b.divide(x, result)), b.multiply(gradient, b.divide(y, result))


def _copysign(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    x = arguments[0]
    return _Guarded((Guard(b.add("equal", x, b.number(0)), False),), b.multiply(gradient, b.divide(result, x))), None


def _nextafter(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """As PyTorch's: a step from the first operand, none where both are equal."""
    return _Guarded((Guard(b.add("equal", *arguments), False),), gradient), None


def _fmod(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * trunc(x / y)``"""
    return gradient, b.negative(b.multiply(gradient, b.add("trunc", b.divide(*arguments))))


def _ieee_remainder(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * round(x / y)``"""
    return gradient, b.negative(b.multiply(gradient, b.add("round", b.divide(*arguments))))


def _remainder(b: _Builder, gradient: int, arguments: tuple[int, ...], result: int) -> Sent:
    """``x - y * (x // y)``, which is not the rounded quotient where one of them is infinite"""
    return gradient, b.negative(b.multiply(gradient, b.add("floor_divide", *arguments)))


def _one_plus(b: _Builder, value: int) -> int:
    return b.add("add", value, b.number(1))


def _one_minus(b: _Builder, value: int) -> int:
    return b.add("subtract", b.number(1), value)


def _acosh_divisor(b: _Builder, x: int, result: int) -> int:
    """``sqrt(x * x - 1)``; of complex numbers on the branch of ``acosh``, which that square loses left of 0."""
    if not b.is_complex:
        return b.add("sqrt", b.add("subtract", b.square(x), b.number(1)))
    return b.multiply(b.add("sqrt", b.add("subtract", x, b.number(1))), b.add("sqrt", _one_plus(b, x)))


def _gaussian(scale: float) -> Rule:
    return _factor(lambda b, x, _: b.multiply(b.add("exp", b.negative(b.square(x))), b.number(scale)))


_RULES: Final[dict[str, Rule]] = {
    "add": lambda b, gradient, arguments, result: (gradient, gradient),
    "subtract": lambda b, gradient, arguments, result: (gradient, b.negative(gradient)),
    "multiply": _multiply,
    "divide": _divide,
    "fma": _fma,
    "negative": lambda b, gradient, arguments, result: (b.negative(gradient),),
    "to_floating": lambda b, gradient, arguments, result: (gradient,),
    "to_double": lambda b, gradient, arguments, result: (gradient,),
    "rounded": lambda b, gradient, arguments, result: (gradient,),
    "conjugate": lambda b, gradient, arguments, result: (b.conjugate(gradient),),
    "real": lambda b, gradient, arguments, result: (b.complex(b.add("real", gradient), b.number(0)),),
    "imag": lambda b, gradient, arguments, result: (b.complex(b.number(0), b.add("real", gradient)),),
    "complex": lambda b, gradient, arguments, result: (b.add("real", gradient), b.add("imag", gradient)),
    "maximum": _extremum("less"),
    "minimum": _extremum("greater"),
    "select": _choice,
    "absolute": _absolute,
    "power": _power,
    "fmod": _fmod,
    "remainder": _remainder,
    "ieee_remainder": _ieee_remainder,
    "atan2": _atan2,
    "hypot": _hypot,
    "copysign": _copysign,
    "nextafter": _nextafter,
    "sqrt": _quotient(lambda b, x, result: b.multiply(result, b.number(2))),
    "cbrt": _quotient(lambda b, x, result: b.multiply(b.square(result), b.number(3))),
    "exp": _growing(lambda b, x, result: result),
    "exp2": _growing(lambda b, x, result: b.multiply(result, b.number(math.log(2)))),
    "expm1": _growing(lambda b, x, result: b.add("exp", x)),  # result + 1 would lose the digits of large negative x
    "log": _quotient(lambda b, x, result: x),
    "log2": _quotient(lambda b, x, result: b.multiply(x, b.number(math.log(2)))),
    "log10": _quotient(lambda b, x, result: b.multiply(x, b.number(math.log(10)))),
    "log1p": _quotient(lambda b, x, result: _one_plus(b, x)),
    "sin": _factor(lambda b, x, result: b.add("cos", x)),
    "cos": _factor(lambda b, x, result: b.negative(b.add("sin", x))),
    "tan": _factor(lambda b, x, result: _one_plus(b, b.square(result))),
    "asin": _quotient(lambda b, x, result: b.add("sqrt", _one_minus(b, b.square(x)))),
    "acos": _quotient(lambda b, x, result: b.negative(b.add("sqrt", _one_minus(b, b.square(x))))),
    "atan": _quotient(lambda b, x, result: _one_plus(b, b.square(x))),
    "sinh": _growing(lambda b, x, result: b.add("cosh", x)),
    "cosh": _factor(lambda b, x, result: b.add("sinh", x)),
    "tanh": _factor(lambda b, x, result: _one_minus(b, b.square(result))),
    "asinh": _quotient(lambda b, x, result: b.add("sqrt", _one_plus(b, b.square(x)))),
    "acosh": _quotient(_acosh_divisor),
    "atanh": _quotient(lambda b, x, result: _one_minus(b, b.square(x))),
    "erf": _gaussian(2 / math.sqrt(math.pi)),
    "erfc": _gaussian(-2 / math.sqrt(math.pi)),
}

# Steps, and what is no number: their derivative is 0 wherever there is one.
_WITHOUT_GRADIENT: Final = frozenset(
    name
    for name, operation in OPERATIONS.items()
    if operation.rule in ("comparison", "bitwise", "shift", "truth", "logical", "logical_not", "predicate", "rounding")
) | {"floor_divide", "trunc_divide", "to_integer", "largest"}
