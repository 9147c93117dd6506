"""Tests that the daily rotation of slow tests covers all of them."""

from __future__ import annotations

import pytest

from tests import by_date


@pytest.mark.parametrize("day", [1, 2])
def test_halves_of_days_that_are_two_apart_are_everything(day: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_date, "FULL", False)
    halves = []
    for number in (day, day + 2):
        monkeypatch.setenv(by_date.DATE, f"2030-01-{number:02}")
        halves.append(by_date.half_of_today(range(9)))
    assert sorted(halves[0] + halves[1]) == list(range(9))
