"""Line breaking of generated source."""

from __future__ import annotations

from typing import NamedTuple

WIDTH = 120


class Group(NamedTuple):
    """Bracketed group of comma-separated parts in generated source, such as a call or a dictionary."""

    head: str
    parts: tuple[Group | str, ...]
    tail: str


def flat(part: Group | str) -> str:
    """Print a part of generated source on one line."""
    return part if isinstance(part, str) else f"{part.head}{', '.join(map(flat, part.parts))}{part.tail}"


def rendered(part: Group | str, indent: int = 0, comma: str = "") -> str:
    """Print a part of generated source on one line if it fits, else with one line for each inner part.

    >>> print(rendered(Group("f(", ("a=1", "*", "b=" + "x" * 112), ")")))
    f(
        a=1,
        *,
        b=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
    )
    """
    margin = " " * indent
    line = f"{margin}{flat(part)}{comma}"
    if isinstance(part, str) or len(line) <= WIDTH or not part.parts:
        return line
    inside = [rendered(group, indent + 4, ",") for group in part.parts]
    return "\n".join([f"{margin}{part.head}", *inside, f"{margin}{part.tail}{comma}"])
