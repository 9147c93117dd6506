"""The table of known differences in ``docs/limits.md``."""

from __future__ import annotations

from pathlib import Path

from tests.torch.explained import EXPLAINED, UNDETERMINED

LIMITS = Path(__file__).parents[2] / "docs" / "limits.md"


def test_the_documented_differences_are_those_that_the_replay_knows() -> None:
    lines = LIMITS.read_text().partition("| operator | what is there |")[2].splitlines()[2:]
    found = {}
    for line in lines:
        names, _, reason = line.strip("| ").partition(" | ")
        found |= {name.strip("`"): reason for name in names.split(", ")}
    assert found == {name: reason for name, reason in EXPLAINED.items() if name not in UNDETERMINED}
