"""What the mypy plugin writes into annotations, to be read when names are resolved; no program uses these classes."""

from __future__ import annotations


class Received:
    """What an operator hands to its implementation, or takes back from it; the text in brackets says where."""


class SequenceOf:
    """``list[X]`` of a declaration: callers give any sequence."""


class OrNumber:
    """``Tensor`` of a declaration with ``accepts_numbers=True``: callers give numbers, too."""


class Option:
    """One of the four parameters that ``options: TensorOptions`` stands for; the text in brackets says which."""
