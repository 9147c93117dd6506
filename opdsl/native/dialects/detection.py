"""Detection of a text's dialect, by the oldest and the newest feature in its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opdsl.native.dialects.dialect import Dialect, detected, version_of
from opdsl.native.dialects.draft import Change, Draft
from opdsl.native.dialects.keys import BOTH
from opdsl.native.retired import CPP, FIRST_RELEASES, RETIRED_TYPES
from opdsl.native.source import Location

MARKS = {"-> void": "1.0", "!)": "1.1", "SymInt": "1.13"}
"""Texts in schemas, each with the release in which it was introduced."""

LAST_WITH_METHODS = "0.4.1"
"""Last release in which an entry without ``variants`` was both a function and a method."""


def dialect_of_drafts(drafts: list[Draft]) -> Dialect:
    """Return the dialect that has all features of rewritten entries, or the nearest one."""
    oldest = oldest_thing(drafts)
    until, since = None if oldest is None else oldest.until, _first_release(drafts)
    if until == CPP and since is None:
        # 0.4 and 1.0 have the same grammar, but different defaults of ``variants``: 1.0 writes out both variants.
        texts = [draft.text("variants") for draft in drafts]
        both = sum(text in (BOTH, "method, function") for text in texts)
        until = CPP if both > texts.count("function") else LAST_WITH_METHODS
    return detected(since, until)


def oldest_thing(drafts: Iterable[Draft]) -> Change | None:
    """Return the change of the feature that was abandoned first, among all features of rewritten entries."""
    return min(
        (change for draft in drafts for change in _former(draft)),
        key=lambda change: version_of(change.until or ""),
        default=None,
    )


def _former(draft: Draft) -> Iterator[Change]:
    """Yield the former features of an entry: changes by which it was rewritten, and types without replacement."""
    yield from (change for change in draft.changes.values() if change.until is not None)
    func = draft.func
    for parameter in () if draft.signature is None or func is None else draft.signature.parameters:
        if parameter.base in RETIRED_TYPES and func is not None:
            retired = RETIRED_TYPES[parameter.base]
            location = Location(draft.source.file, func.start.line + 1, func.start.column + 1)
            yield Change(f"{parameter.base} {retired}", location, retired.until)


def _first_release(drafts: Iterable[Draft]) -> str | None:
    """Return the first release that had all features of the entries."""
    releases = set()
    for draft in drafts:
        releases |= {FIRST_RELEASES[key] for key in draft.nodes if key in FIRST_RELEASES}
        text = "" if draft.func is None else draft.func.text
        releases |= {release for mark, release in MARKS.items() if mark in text}
    return max(releases - {""}, key=version_of, default=None)
