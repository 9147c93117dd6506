"""Loops of calls that differ in numbers alone: one program, and words that are computed of the call's numbers.

Loops are made on numbers that tell what is asked of them, as calls are lowered: what is made of a number is an
expression, what it is compared with a condition under which the same program comes out again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opdsl.generated import function_from_source
from opdsl.kernels.loops.making import Given, Loops
from opdsl.kernels.loops.model import Program

__all__ = ["by_form"]

# Calls without their numbers that are kept, and programs of each.
_MOST_FORMS, _MOST_PROGRAMS = 4096, 16


class _Form(NamedTuple):
    """Loops without a call's numbers.

    words: of these numbers; None where they make other loops.
    """

    program: Program
    arguments: tuple[int | None, ...]
    words: Callable[[Sequence[int]], tuple[int | Given, ...] | None]


def by_form(make: Callable[..., Loops]) -> Callable[..., Loops]:
    """Loops by what makes them, with the same program where a call has the form of an earlier one.

    Args:
        make: of what is computed, a description of the call, and options.
    """
    known: dict[Any, list[_Form]] = {}

    def made(what: Any, call: Any, **options: Any) -> Loops:
        numbers: list[int] = []
        key = (what, _without(call, numbers), *options.values())
        forms = known.get(key)
        for form in forms or ():
            words = form.words(numbers)
            if words is not None:
                return Loops(form.program, words, form.arguments)
        loops = make(what, call, **options)
        if forms is None:
            if len(known) >= _MOST_FORMS:
                known.clear()
            forms = known[key] = []
        if len(forms) < _MOST_PROGRAMS:
            conditions: list[str] = []
            traced = (_Number.made(number, f"n[{k}]", conditions) for k, number in enumerate(numbers))
            texts = make(what, _with(call, traced), **options).words
            forms.append(_Form(loops.program, loops.arguments, _words(texts, conditions)))
        return loops

    return made


def _without(value: Any, numbers: list[int]) -> Any:
    """What describes a call, its numbers apart."""
    if type(value) is int:
        numbers.append(value)
        return int
    return (type(value), *[_without(element, numbers) for element in value]) if isinstance(value, tuple) else value


def _with(value: Any, numbers: Any) -> Any:
    """What describes a call with other numbers."""
    if type(value) is int:
        return next(numbers)
    if not isinstance(value, tuple):
        return value
    parts = [_with(element, numbers) for element in value]
    return tuple(parts) if type(value) is tuple else type(value)(*parts)


class _Number(int):
    """A number of a call.

    text: the expression that it is, of the list ``n``. conditions: what has been asked of numbers so far.
    """

    text: str
    conditions: list[str]

    @classmethod
    def made(cls, value: int, text: str, conditions: list[str]) -> _Number:
        """A number and its text."""
        number = cls(value)
        number.text, number.conditions = text, conditions
        return number

    def __bool__(self) -> bool:
        return self != 0

    def bit_length(self) -> _Number:
        """See ``int``."""
        return self.made(int(self).bit_length(), f"{self.text}.bit_length()", self.conditions)

    def __neg__(self) -> _Number:
        return self.made(-int(self), f"(-{self.text})", self.conditions)

    __hash__ = int.__hash__


def _text(value: int) -> str:
    return value.text if isinstance(value, _Number) else str(value)


def _computing(symbol: str, compute: Callable[[int, int], int], *, swapped: bool) -> Callable[[_Number, int], Any]:
    def run(self: _Number, other: int) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        one, two = (other, self) if swapped else (self, other)
        number = compute(int(one), int(two))
        return self.made(number, f"({_text(one)} {symbol} {_text(two)})", self.conditions)

    return run


def _comparing(symbol: str, compare: Callable[[int, int], bool]) -> Callable[[_Number, int], Any]:
    def run(self: _Number, other: int) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        flag = compare(int(self), int(other))
        self.conditions.append(f"{'' if flag else 'not '}{_text(self)} {symbol} {_text(other)}")
        return flag

    return run


for _name, _symbol in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "lshift": "<<"}.items():
    setattr(_Number, f"__{_name}__", _computing(_symbol, getattr(operator, _name), swapped=False))
    setattr(_Number, f"__r{_name}__", _computing(_symbol, getattr(operator, _name), swapped=True))
for _name, _symbol in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(_Number, f"__{_name}__", _comparing(_symbol, getattr(operator, _name)))


def _words(words: Sequence[int | Given], conditions: Sequence[str]) -> Any:
    """What computes words of a call's numbers, where these are as they were."""
    constants = {f"given{k}": word for k, word in enumerate(words) if isinstance(word, Given)}
    texts = [f"given{k}" if isinstance(word, Given) else _text(word) for k, word in enumerate(words)]
    lines = ["def words(n):"]
    if conditions:
        lines += [f"    if not ({' and '.join(dict.fromkeys(conditions))}):", "        return None"]
    lines.append(f"    return ({''.join(f'{text}, ' for text in texts)})")
    return function_from_source("words", "\n".join(lines), constants, title="words of loops")
