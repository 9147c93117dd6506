"""Guesses of conditions on elements, which are unknown while a call is lowered."""

from __future__ import annotations

__all__ = ["Guesses"]


class Guesses:
    """Guesses of conditions on elements, unknown while a call is lowered: by default the example's outcomes.

    Plans serve calls that raise no error. If the call raises after a guess, it is lowered again with the opposite
    guess, which the plan then tests.
    """

    def __init__(self) -> None:
        self._turned: dict[str, bool] = {}
        self._last: tuple[str, bool] | None = None

    def answer(self, text: str, outcome: bool) -> bool:
        """Return the outcome to assume for a condition: that of the example, ``outcome``, unless it was inverted."""
        outcome = self._turned.get(text, outcome)
        self._last = text, outcome
        return outcome

    @property
    def was_asked(self) -> bool:
        """Return whether any condition on elements was guessed."""
        return self._last is not None

    def turn(self) -> bool:
        """Invert the latest guess; return False if no guess was made or it was inverted before."""
        if self._last is None or self._last[0] in self._turned:
            return False
        text, outcome = self._last
        self._turned[text] = not outcome
        return True
