"""Guesses of conditions on elements, which are unknown while a call is lowered."""

from __future__ import annotations

__all__ = ["Guesses"]


class Guesses:
    """Guesses of conditions on elements, unknown while a call is lowered: by default the example's outcomes.

    Plans serve calls that raise no error. If the call raises after a guess, it is lowered again with the opposite
    guess, which the plan then tests.
    """

    def __init__(self) -> None:
        self._turned: dict[frozenset[str], bool] = {}
        self._last: tuple[frozenset[str], bool] | None = None

    def answer(self, text: str, outcome: bool) -> bool:
        """Return the outcome to assume for a condition: that of the example, ``outcome``, unless it was inverted."""
        sides = text.split(" == ")
        condition = frozenset(sides if len(sides) == 2 else (text,))  # x == y is y == x
        outcome = self._turned.get(condition, outcome)
        self._last = condition, outcome
        return outcome

    @property
    def was_asked(self) -> bool:
        """Return whether any condition on elements was guessed."""
        return self._last is not None

    @property
    def was_turned(self) -> bool:
        """Return whether a guess was inverted, so that the example contradicts it and may cause any error."""
        return bool(self._turned)

    def turn(self) -> bool:
        """Invert the latest guess; return False if no guess was made or it was inverted before."""
        if self._last is None or self._last[0] in self._turned:
            return False
        condition, outcome = self._last
        self._turned[condition] = not outcome
        return True
