"""Which part of what takes long is tested today: another one each day, so that each has its turn.

``OPDSL_DATE=2030-01-31`` fixes the day; runs print it. ``OPDSL_TEST_FULL=1`` (``make full``) takes everything.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from typing import TypeVar

FULL = "OPDSL_TEST_FULL" in os.environ
DATE = "OPDSL_DATE"

T = TypeVar("T")


def today() -> datetime.date:
    """Return the day of this run, and have the processes that it starts take the same.

    Raises:
        ValueError: OPDSL_DATE is no date.
    """
    text = os.environ.setdefault(DATE, datetime.date.today().isoformat())
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"OPDSL_DATE is a date like 2030-01-31 (got {text!r})") from None


def is_its_turn(place: int, count: int, offset: int = 0) -> bool:
    """Return whether it is the turn of one in ``count`` today; always in full runs.

    Whoever takes turns for several things at once has the same place in all of them and counts that divide one
    another: otherwise the days of one thing might never be days of the other.

    Args:
        place: whose turn.
        count: after how many days all have had theirs.
        offset: by how many days later it comes than that of others with the same place.
    """
    return FULL or (today().toordinal() - place - offset) % count == 0


def todays(items: Sequence[T], count: int, offset: int = 0) -> list[T]:
    """Return the items whose turn it is today, by their places in a sequence; all of them in full runs."""
    return [tensor for place, tensor in enumerate(items) if is_its_turn(place, count, offset)]


def half_of_today(items: Sequence[T]) -> list[T]:
    """Return half of the items, by their places: all in four days, and in two days that are two apart.

    So it goes together with turns of every second day: each time, what has its turn meets the other half.
    """
    return [item for place, item in enumerate(items) if is_its_turn(place, 4) or is_its_turn(place, 4, 1)]
