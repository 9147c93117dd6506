"""Marker classes that the mypy plugin writes into annotations; programs do not use them."""

from __future__ import annotations


class Received:
    """Marker for a parameter or result of an implementation, encoded in the text in brackets."""


class SequenceOf:
    """Marker for ``list[X]`` in a declaration: callers may pass any sequence."""


class OrNumber:
    """Marker for ``Tensor`` in a declaration with ``accepts_numbers=True``: callers may pass numbers, too."""


class Option:
    """Marker for one of the four parameters of ``options: TensorOptions``; the text in brackets is its name."""
