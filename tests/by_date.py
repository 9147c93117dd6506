"""Daily rotation of slow tests: each day another part of them runs, so that all have run after some days.

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
    """Return the date of this run, and pass it to the processes that the run starts.

    Raises:
        ValueError: OPDSL_DATE is no date.
    """
    text = os.environ.setdefault(DATE, datetime.date.today().isoformat())
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"OPDSL_DATE is a date like 2030-01-31 (got {text!r})") from None


def is_its_turn(place: int, count: int, offset: int = 0) -> bool:
    """Return whether an item is tested today, which is one of ``count`` days; always in full runs.

    Rotations that are combined need the same index for an item in each, and counts that divide one another: otherwise
    two of them might never select the item on the same day.

    Args:
        place: index of the item.
        count: number of days in which every item is tested once.
        offset: number of days by which the item is tested later than with offset 0.
    """
    return FULL or (today().toordinal() - place - offset) % count == 0


def todays(items: Sequence[T], count: int, offset: int = 0) -> list[T]:
    """Return the items that are tested today, selected by their indices; all of them in full runs."""
    return [item for place, item in enumerate(items) if is_its_turn(place, count, offset)]


def half_of_today(items: Sequence[T]) -> list[T]:
    """Return half of the items, selected by their indices: four days cover all of them, and so do two days that are two
    apart.

    This combines with a rotation of two days: each time an item of that rotation is tested, it meets the other half.
    """
    return [item for place, item in enumerate(items) if is_its_turn(place, 4) or is_its_turn(place, 4, 1)]
