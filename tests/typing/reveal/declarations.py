"""Assertions of the types of declarations, with the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_type

from opdsl import Alias, Bools, Ints, Library, SymInts, Tensor
from opdsl.schema.vocabulary import Floats

lib = Library("typing_reveal")


@lib.op
def sized(self: Tensor, size: Ints[2]) -> Tensor: ...


@lib.op
def chunk(self: Tensor[Alias("a", after="*")], chunks: int) -> list[Tensor[Alias("a")]]: ...


def reveal(x: Tensor[Alias("a")], i: Ints[2], s: SymInts[1], f: Floats[2], b: Bools[3]) -> None:
    assert_type(x, Tensor)
    assert_type(i, int | Sequence[int])
    assert_type(s, int | Sequence[int])
    assert_type(f, float | Sequence[float])
    assert_type(b, bool | Sequence[bool])
    assert_type(sized(x, 2), Tensor)
    assert_type(sized(x, size=[2, 2]), Tensor)
    assert_type(chunk(x, 2), list[Tensor])
