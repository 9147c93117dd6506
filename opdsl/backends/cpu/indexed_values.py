"""What loops over places compute of values and positions, as LLVM text."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.backends.cpu.storage import REGISTER
from opdsl.backends.cpu.vector_text import Function
from opdsl.scalar.types import COMPLEX, FLOAT, ScalarType


def constant(value: object, kind: str) -> str:
    """A number as a constant of LLVM."""
    from opdsl.backends.cpu.operands import constants
    from opdsl.kernels.definitions.monoid import initial

    assert isinstance(value, (bool, int, float, complex)), "margins are numbers"
    (found,) = constants((initial(value, kind),), (kind,))
    return found


def initial(fold: str, kind: str) -> str:
    """What a fold begins with."""
    return constant({"sum": 0, "max": -float("inf"), "min": float("inf")}[fold], kind)


def added(text: Function, kind: str, first: str, second: str) -> str:
    """A sum; in which order sums are made is left to the compiler."""
    scalar = ScalarType(kind)
    if scalar.category == COMPLEX:
        from opdsl.backends.cpu.storage import PART, pair, parts

        sums = [
            text.value(f"fadd {REGISTER[PART[kind]]} {a}, {b}")
            for a, b in zip(parts(text, kind, first), parts(text, kind, second), strict=True)
        ]
        return pair(text, kind, sums)
    if kind == "bool":
        return text.value(f"or i8 {first}, {second}")
    instruction = "fadd reassoc" if scalar.category == FLOAT else "add"
    return text.value(f"{instruction} {REGISTER[kind]} {first}, {second}")


def multiplied(text: Function, kind: str, value: str, factor: str) -> str:
    """A product of floats, 0 where the factor is, whatever the value."""
    made = text.value(f"fmul {REGISTER[kind]} {value}, {factor}")
    is_zero = text.value(f"fcmp oeq {REGISTER[kind]} {factor}, 0.0")
    return text.value(f"select i1 {is_zero}, {REGISTER[kind]} 0.0, {REGISTER[kind]} {made}")


def is_better(text: Function, fold: str, kind: str, value: str, best: str, first: str) -> str:
    """Whether a value takes the place of the best so far: it is beyond it, is NaN, or comes first."""
    scalar, register = ScalarType(kind), REGISTER[kind]
    if scalar.category == FLOAT:
        # "unordered or greater" holds for every NaN; one that has been found gives way to later ones only.
        relation = "ogt" if fold == "max" else "olt"
        beyond = text.value(f"fcmp {relation} {register} {value}, {best}")
        is_nan = text.value(f"fcmp uno {register} {value}, {value}")
        found = text.value(f"or i1 {beyond}, {is_nan}")
    else:
        sign = "s" if scalar.is_signed else "u"
        found = text.value(f"icmp {sign}{'gt' if fold == 'max' else 'lt'} {register} {value}, {best}")
    return text.value(f"or i1 {found}, {first}") if first else found


def _replicated(text: Function, position: str, size: str) -> str:
    return text.smaller(text.larger(position, 0), text.sub(size, 1))


def _seldom(text: Function, condition: str, value: str, other: Callable[[], str]) -> str:
    """A place; where a condition holds another one, whose division would take as long as all else."""
    name = f"seldom{condition[1:]}"
    text.line(f"  br label %{name}_test\n{name}_test:")
    text.line(f"  br i1 {condition}, label %{name}, label %{name}_end\n{name}:")
    found = other()
    text.line(f"  br label %{name}_end\n{name}_end:")
    return text.value(f"phi i64 [ {value}, %{name}_test ], [ {found}, %{name} ]")


def _reflected(text: Function, position: str, size: str) -> str:
    """Mirrored at the first and at the last element, as often as it takes."""
    last = text.sub(size, 1)
    period = text.mul(last, 2)
    distance = text.value(f"call i64 @llvm.abs.i64(i64 {position}, i1 false)")
    is_far = text.is_("sgt", distance, period)
    found = _seldom(text, is_far, distance, lambda: text.remainder(distance, text.larger(period, 1)))
    return text.choose(text.is_("sgt", found, last), text.sub(period, found), found)


def _wrapped(text: Function, position: str, size: str) -> str:
    def wrapped() -> str:
        found = text.value(f"srem i64 {position}, {size}")
        return text.choose(text.is_("slt", found, 0), text.add(found, size), found)

    forth = text.choose(text.is_("slt", position, 0), text.add(position, size), position)
    near = text.choose(text.is_("sge", position, size), text.sub(position, size), forth)
    return _seldom(text, text.is_("uge", near, size), near, wrapped)


REPEATED: dict[str, Callable[[Function, str, str], str]] = {
    "replicate": _replicated,
    "reflect": _reflected,
    "circular": _wrapped,
}
