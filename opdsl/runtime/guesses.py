"""Answers about elements, which no lowering of a call can know."""

from __future__ import annotations

__all__ = ["Guesses"]


class Guesses:
    """Answers to what is asked of elements, which no lowering knows: those of an example, but for some.

    A plan is for calls that are not refused. Where one is refused after such an answer, it is lowered again with the
    other one, which the plan tests.
    """

    def __init__(self) -> None:
        self._turned: dict[str, bool] = {}
        self._last: tuple[str, bool] | None = None

    def answer(self, text: str, outcome: bool) -> bool:
        """Return the answer to a question, by default that of the example."""
        outcome = self._turned.get(text, outcome)
        self._last = text, outcome
        return outcome

    @property
    def was_asked(self) -> bool:
        """Whether anything was asked of elements."""
        return self._last is not None

    def turn(self) -> bool:
        """Turn the latest answer; return whether that may lead elsewhere."""
        if self._last is None or self._last[0] in self._turned:
            return False
        text, outcome = self._last
        self._turned[text] = not outcome
        return True
