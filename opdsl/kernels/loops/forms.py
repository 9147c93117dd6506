"""Cache of loop programs for calls that differ in numbers alone, such as sizes and strides.

A program is built once on traced integers: each word becomes an expression of the call's numbers, and each comparison a
guard under which the program can be used for other numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opdsl.generated import function_from_source
from opdsl.kernels.loops.making import Given, Loops
from opdsl.kernels.loops.model import Program

__all__ = ["by_form"]

# The most forms that the cache keeps, and the most programs of each.
_MOST_FORMS, _MOST_PROGRAMS = 4096, 16


class _Form(NamedTuple):
    """Program for calls of one form, without their numbers.

    words: computes the words of a call from its numbers; None if a guard fails.
    """

    program: Program
    arguments: tuple[int | None, ...]
    words: Callable[[Sequence[int]], tuple[int | Given, ...] | None]


def by_form(make: Callable[..., Loops]) -> Callable[..., Loops]:
    """Wrap a function that builds loops, so that it reuses the program of an earlier call of the same form.

    Args:
        make: takes a computation, the description of a call, and options.
    """
    known: dict[Any, list[_Form]] = {}

    def made(what: Any, call: Any, **options: Any) -> Loops:
        numbers: list[int] = []
        key = (what, _without(call, numbers), *options.items())
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
    """Return the description of a call with its integers replaced by ``int``, and append these to ``numbers``."""
    if type(value) is int:
        numbers.append(value)
        return int
    return (type(value), *[_without(element, numbers) for element in value]) if isinstance(value, tuple) else value


def _with(value: Any, numbers: Any) -> Any:
    """Return the description of a call with its integers replaced by others."""
    if type(value) is int:
        return next(numbers)
    if not isinstance(value, tuple):
        return value
    parts = [_with(element, numbers) for element in value]
    return tuple(parts) if type(value) is tuple else type(value)(*parts)


class _Number(int):
    """Traced integer of a call.

    text: its expression in the list ``n``. conditions: the guards recorded so far.
    """

    text: str
    conditions: list[str]

    @classmethod
    def made(cls, value: int, text: str, conditions: list[str]) -> _Number:
        """Return a traced integer with a value and an expression."""
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
    """Compile the function that computes words from a call's numbers; it returns None if a guard fails."""
    constants = {f"given{k}": word for k, word in enumerate(words) if isinstance(word, Given)}
    texts = [f"given{k}" if isinstance(word, Given) else _text(word) for k, word in enumerate(words)]
    lines = ["def words(n):"]
    if conditions:
        lines += [f"    if not ({' and '.join(dict.fromkeys(conditions))}):", "        return None"]
    lines.append(f"    return ({''.join(f'{text}, ' for text in texts)})")
    return function_from_source("words", "\n".join(lines), constants, title="words of loops")
