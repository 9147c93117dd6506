"""Display of faults in texts: the line with the faulty part underlined."""

from __future__ import annotations

LONGEST_LINE = 200
"""Line length above which only a window around the fault is shown."""

LONGEST_MESSAGE = 300


def shortened(message: str) -> str:
    """Return a message, cut off if it is very long."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} ..."


def underlined(text: str, start: int, end: int) -> str:
    """Return the line of a text that contains ``start``, with ``~~~^`` below the part up to ``end``.

    >>> print(underlined("add(Tenso self)", 4, 9))
    add(Tenso self)
        ~~~~^
    """
    start = min(start, len(text))
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    end = max(start + 1, min(end, last))
    if last - first > LONGEST_LINE:
        first, last = max(first, start - LONGEST_LINE // 2), min(last, start + LONGEST_LINE // 2)
        end = min(end, last + 1)
    line = "".join(character if character.isprintable() else "?" for character in text[first:last])
    return f"{line}\n{' ' * (start - first)}{'~' * (end - start - 1)}^"
