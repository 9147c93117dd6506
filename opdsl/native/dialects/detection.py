"""Which dialect a text has: by the oldest thing in its entries, and the newest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opdsl.native.dialects.dialect import Dialect, detected, version_of
from opdsl.native.dialects.draft import Change, Draft
from opdsl.native.dialects.keys import BOTH
from opdsl.native.retired import CPP, FIRST_RELEASES, RETIRED_TYPES
from opdsl.native.source import Location

MARKS = {"-> void": "1.0", "!)": "1.1", "SymInt": "1.13"}
"""What stands in schemas since a release."""

LAST_WITH_METHODS = "0.4.1"
"""The last release in which an entry without ``variants`` was a method, too."""


def dialect_of_drafts(drafts: list[Draft]) -> Dialect:
    """The dialect that has all that is in rewritten entries, or the nearest one."""
    oldest = oldest_thing(drafts)
    until, since = None if oldest is None else oldest.until, _first_release(drafts)
    if until == CPP and since is None:
        # 0.4 and 1.0 have one grammar and two defaults: only where a function is the default, both are written out.
        texts = [draft.text("variants") for draft in drafts]
        both = sum(text in (BOTH, "method, function") for text in texts)
        until = CPP if both > texts.count("function") else LAST_WITH_METHODS
    return detected(since, until)


def oldest_thing(drafts: Iterable[Draft]) -> Change | None:
    """What was left behind first, of all that is in rewritten entries."""
    return min(
        (change for draft in drafts for change in _former(draft)),
        key=lambda change: version_of(change.until or ""),
        default=None,
    )


def _former(draft: Draft) -> Iterator[Change]:
    """What today's form does not have: what was rewritten, and types that nothing stands for."""
    yield from (change for change in draft.changes.values() if change.until is not None)
    func = draft.func
    for parameter in () if draft.signature is None or func is None else draft.signature.parameters:
        if parameter.base in RETIRED_TYPES and func is not None:
            retired = RETIRED_TYPES[parameter.base]
            location = Location(draft.source.file, func.start.line + 1, func.start.column + 1)
            yield Change(f"{parameter.base} {retired}", location, retired.until)


def _first_release(drafts: Iterable[Draft]) -> str | None:
    """The first release that had all that is in the entries."""
    releases = set()
    for draft in drafts:
        releases |= {FIRST_RELEASES[key] for key in draft.nodes if key in FIRST_RELEASES}
        text = "" if draft.func is None else draft.func.text
        releases |= {release for mark, release in MARKS.items() if mark in text}
    return max(releases - {""}, key=version_of, default=None)
