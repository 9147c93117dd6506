"""List of the forms that native_functions.yaml has had, in chronological order."""

from __future__ import annotations

import attrs

from opdsl.errors import DialectError

Version = tuple[int, ...]


@attrs.frozen
class Dialect:
    """Form of the file in a range of PyTorch's releases.

    name: the first release.
    last: the last release; None for the form of today.
    says: its distinguishing features.
    is_method_by_default: whether an entry without ``variants`` is a function and a method, or only a function.
    has_unnamed_overloads: whether several operators have one name, and differ only in their arguments.

    >>> from opdsl.native import detect
    >>> detect("- func: abs_out(Tensor result, Tensor self) -> Tensor")[0].last
    '0.4.1'
    """

    name: str
    last: str | None
    says: str
    is_method_by_default: bool = False
    has_unnamed_overloads: bool = False

    def __str__(self) -> str:
        return f"PyTorch {self.name} to {self.last}" if self.last else "today"


TODAY = Dialect("2.13", None, "overloads, alias annotations and tags are explicit")

DIALECTS = (
    Dialect("0.4", "0.4.1", "types of C++; both variants by default; views are not marked", True, True),
    Dialect("1.0", "1.0.1", "types of C++; names mark written arguments; views are not marked", False, True),
    Dialect("1.1", "1.3.1", "schema types and annotations; overloads without names", False, True),
    Dialect("1.4", "1.8.1", "overloads with names; keys that configured the new dispatcher"),
    Dialect("1.9", "2.12.1", "named dimensions; fewer rules between entries"),
    TODAY,
)
"""List of all dialects, oldest first."""

DETECT = "detect"
"""Value of the argument ``dialect`` that requests detection of the dialect."""


def version_of(text: str) -> Version:
    """Return a version as numbers that can be compared.

    >>> version_of("1.10.0") > version_of("1.9.1")
    True
    """
    return tuple(int(part) for part in text.split("."))


def dialect_of(text: str) -> Dialect:
    """Return the dialect of a release of PyTorch, like ``1.5.1``, or of ``today``.

    Raises DialectError if there is no such release.

    >>> dialect_of("1.5.1").name
    '1.4'
    """
    if text == "today":
        return TODAY
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise DialectError(f"a dialect is a version of PyTorch, like 1.5, or detect, or today (got {text!r})")
    version = version_of(text)
    if version < version_of(DIALECTS[0].name):
        raise DialectError(f"the oldest dialect is that of PyTorch {DIALECTS[0].name} (got {text})")
    return next(dialect for dialect in reversed(DIALECTS) if version[:2] >= version_of(dialect.name))


def detected(oldest: str | None, newest: str | None) -> Dialect:
    """Return the dialect of a text from its features.

    oldest: the first release that has the newest feature of the text.
    newest: the last release that has the oldest feature. If this was before ``oldest``, the feature is a leftover.
    """
    if newest is None:
        return TODAY
    latest = next(
        dialect for dialect in DIALECTS if dialect.last is None or version_of(dialect.last) >= version_of(newest)
    )
    if oldest is None or version_of(oldest) <= version_of(newest):
        return latest
    return dialect_of(oldest)
