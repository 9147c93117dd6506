"""Tests that the tables of ``docs/limits.md`` equal the lists in the code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from opdsl.cli.missing import CATEGORIES
from tests.torch.explained import EXPLAINED, UNDETERMINED

LIMITS = Path(__file__).parents[2] / "docs" / "limits.md"


def rows(header: str) -> Iterator[tuple[str, str]]:
    """Yield the cells of a table with two columns, found by its header."""
    lines = LIMITS.read_text().partition(header)[2].splitlines()[2:]
    for line in itertools.takewhile(lambda row: row.startswith("|"), lines):
        first, _, second = line.strip("| ").partition(" | ")
        yield first, second


def test_the_documented_differences_are_those_that_the_replay_knows() -> None:
    documented = {}
    for names, reason in rows("| operator | difference |"):
        documented |= {name.strip("`"): reason for name in names.split(", ")}
    assert documented == {name: reason for name, reason in EXPLAINED.items() if name not in UNDETERMINED}


def test_the_categories_of_what_is_missing_are_those_that_the_list_gives() -> None:
    assert dict(rows("| category | why |")) == {category.name: category.why for category in CATEGORIES}
