"""Functions of places: held against the same functions, run as plain Python on every place."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Ints, Library, Tensor
from opdsl.errors import KernelSignatureError, PositionError, ScalarFunctionError, ShapeError
from opdsl.generated import function_from_source

Array = numpy.ndarray[Any, Any]


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("indexed") as made:
        yield made


# ------------------------------------------------------------------------------------------------------- plain Python


class LeftOut(Exception):
    """A turn of a fold that reads outside of what is skipped."""


class Margined:
    """An array that is read as a tensor is, place by place."""

    def __init__(self, array: Array, margin: object, before: tuple[int, ...] = ()) -> None:
        self.array, self.margin, self.before = array, margin, before
        self.shape = array.shape

    def __getitem__(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        leads = places[0] is Ellipsis
        own = [int(each) for each in places[leads:]]
        found = self.array[self.before] if leads else self.array
        sizes = found.shape
        if all(0 <= place < size for place, size in zip(own, sizes, strict=True)):
            return found[tuple(own)].item()
        if self.margin == "skip":
            raise LeftOut
        if not isinstance(self.margin, str):
            assert self.margin is not None, "it lies outside"
            return self.margin
        modes = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}
        inside = [_padded(size, place, modes[self.margin]) for place, size in zip(own, sizes, strict=True)]
        return found[tuple(inside)].item()


def _padded(size: int, place: int, mode: str) -> int:
    """Where NumPy's padding leads."""
    far = abs(place) + size
    return int(numpy.pad(numpy.arange(size), (far, far), mode=mode)[far + place])  # type: ignore[call-overload]


def expected(
    function: Callable[..., Any],
    arrays: dict[str, Array],
    margins: dict[str, object],
    ranges: dict[str, int],
    over: tuple[str, ...],
    fold: str | None,
    leading: tuple[int, ...] = (),
    **numbers: Any,
) -> tuple[Array, Array]:
    """What a function gives at every place, and the turns in which it was found."""
    at = [name for name in ranges if name not in over]
    values = numpy.zeros((*leading, *(ranges[name] for name in at)), dtype=object)
    turns = numpy.full(values.shape, -1)
    for place in numpy.ndindex(*values.shape):
        given = dict(zip(at, place[len(leading) :], strict=True))
        read = {name: Margined(each, margins.get(name), place[: len(leading)]) for name, each in arrays.items()}
        found = []
        for turn, folded in enumerate(itertools.product(*(range(ranges[name]) for name in over))):
            try:
                value = function(**read, **given, **dict(zip(over, folded, strict=True)), **numbers)
            except LeftOut:
                continue
            found.append((value, turn))
        values[place], turns[place] = _folded(found, fold)
    return values, turns


def _folded(found: list[tuple[Any, int]], fold: str | None) -> tuple[Any, int]:
    if fold is None:
        return found[0]
    if fold == "sum":
        return math.fsum(value for value, _ in found), -1
    best: tuple[Any, int] = (-math.inf if fold == "max" else math.inf, -1)
    for value, turn in found:
        if best[1] < 0 or (value > best[0] if fold == "max" else value < best[0]):
            best = value, turn
    return best


# -------------------------------------------------------------------------------------------------------- random ones


def _position(rng: random.Random, names: list[str]) -> str:
    first, second = rng.choice(names), rng.choice(names)
    step, shift = rng.choice([1, 1, 2, 3, -1]), rng.randint(-3, 3)
    return rng.choice(
        [first, f"{first} + {shift}", f"{step} * {first} + {second} - {shift + 1}", f"{first} // 2", f"{first} - {second}",
         f"{first} * m + {shift}", f"({first} + {second}) % 3", f"int(places[{names[0]}]) + {second}"]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_a_function_of_places_gives_what_python_gives(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    values = numpy.random.default_rng(seed)
    at, over = ["i", "j"][: rng.randint(1, 2)], ("u", "v")[: rng.randint(0, 2)]
    fold = rng.choice(["sum", "max", "min"]) if over else None
    names = [*at, *over]
    ranges = {each: rng.choice([1, 2, 5, 9]) for each in names}
    ranges[at[-1]] = rng.choice([1, 4, 9, 300])  # beside a tile, too
    margin: Any = rng.choice([0, 2, "replicate", "reflect", "circular", *(["skip"] if fold else [])])
    dims = rng.randint(1, 2)
    reads = [f"self[{', '.join(_position(rng, names) for _ in range(dims))}]" for _ in range(rng.randint(1, 3))]
    body = rng.choice([" + ".join(reads), " * ".join(reads), f"max({reads[0]}, {reads[-1]})", f"{reads[0]} - 2 * i"])
    text = f"def element(self, places, {', '.join(names)}, m):\n    return {body}\n"
    function = function_from_source("element", text, {})
    kind = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(rng.choice([2, 3, 7, 40]) for _ in range(dims))
    array = values.integers(-4, 5, shape).astype(kind)
    if rng.random() < 0.3:  # columns before rows
        array = numpy.asfortranarray(array)
    places = values.integers(-2, 4, ranges[at[0]])

    @library.op
    def f(self: Tensor, places: Tensor, m: int) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self, places, m):  # type: ignore[no-untyped-def]
        ctx.set_output(0, [ranges[each] for each in at], like=self)
        return {each: ranges[each] for each in over}

    f.indexed(at=at, over=over, fold=fold, margin={"self": margin})(function)
    wanted, _ = expected(
        function, {"self": array, "places": places}, {"self": margin, "places": None}, ranges, over, fold, m=2
    )
    given = opdsl.from_numpy(array), opdsl.from_numpy(places)
    if "int" in kind:  # a fold of no turns
        bounds = numpy.iinfo(kind)
        wanted = numpy.vectorize(lambda each: int(min(max(each, bounds.min), bounds.max)), otypes=[object])(wanted)
    for _ in range(3):  # as it is, lowered, as a plan
        assert numpy.array_equal(f(*given, 2).numpy(), wanted.astype(kind)), text
