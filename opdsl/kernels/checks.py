"""``check``: conditions of shape functions and kernels, with the facts in the message."""

from __future__ import annotations

from opdsl.errors import ShapeError
from opdsl.runtime.symbols import expected


def check(condition: object, message: str, **facts: object) -> None:
    """Raises unless a condition holds.

    Args:
        condition: what has to be true.
        message: what is expected, as a sentence.
        facts: what is there instead; they are appended to the message.

    Raises:
        ShapeError: the condition is false.

    >>> check(False, "expected a (N, C, L) tensor", got=(2, 3))
    Traceback (most recent call last):
    opdsl.errors.ShapeError: expected a (N, C, L) tensor (got=(2, 3))
    """
    if not expected(condition, message):
        listed = ", ".join(f"{name}={value!r}" for name, value in facts.items())
        raise ShapeError(f"{message} ({listed})" if listed else message)
