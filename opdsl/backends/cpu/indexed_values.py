"""What loops over places compute of values and positions, as LLVM text."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.backends.cpu.storage import REGISTER
from opdsl.backends.cpu.vector_text import Function
from opdsl.scalar.types import COMPLEX, FLOAT, ScalarType


def constant(value: object, kind: str) -> str:
    """A number as a constant of LLVM."""
    from opdsl.backends.cpu.folds import constants
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


def _reflected(text: Function, position: str, size: str) -> str:
    """Mirrored at the first and at the last element, as often as it takes."""
    last = text.sub(size, 1)
    period = text.larger(text.mul(last, 2), 1)
    found = text.remainder(text.value(f"call i64 @llvm.abs.i64(i64 {position}, i1 false)"), period)
    return text.choose(text.is_("sgt", found, last), text.sub(period, found), found)


def _wrapped(text: Function, position: str, size: str) -> str:
    found = text.value(f"srem i64 {position}, {size}")
    return text.choose(text.is_("slt", found, 0), text.add(found, size), found)


REPEATED: dict[str, Callable[[Function, str, str], str]] = {
    "replicate": _replicated,
    "reflect": _reflected,
    "circular": _wrapped,
}
