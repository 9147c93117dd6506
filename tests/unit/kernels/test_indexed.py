"""Tests of functions of indices, against the same functions run by Python at every index."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Ints, Library, Tensor, dims, formula, primitives
from opdsl.errors import KernelSignatureError, PositionError, ScalarFunctionError, ShapeError
from opdsl.generated import function_from_source
from opdsl.testing import gradcheck, gradgradcheck

Array = numpy.ndarray[Any, Any]


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("indexed") as lib:
        yield lib


def by_positions(operator: Any, **options: Any) -> Callable[[Callable[..., Any]], None]:
    """Return a decorator that computes an operator by a function of indices."""

    def attach(function: Callable[..., Any]) -> None:
        loop = primitives.positions(function, **options)

        @operator.formula  # type: ignore[untyped-decorator]
        def formula(self: Tensor) -> Tensor:
            return loop(self)

    return attach


# ------------------------------------------------------------------------------------------------------- plain Python


class LeftOut(Exception):
    """Raised when an iteration of a fold reads out of bounds and is therefore skipped."""


class Margined:
    """Array that is read like a tensor with an out-of-bounds mode, one element at a time."""

    def __init__(self, array: Array, margin: object, before: tuple[int, ...] = ()) -> None:
        self.array, self.margin, self.before = array, margin, before
        self.shape = array.shape

    def __getitem__(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        leads = places[0] is Ellipsis
        own = [int(place) for place in places[leads:]]
        part = self.array[self.before] if leads else self.array
        sizes = part.shape
        if all(0 <= place < size for place, size in zip(own, sizes, strict=True)):
            return part[tuple(own)].item()
        if self.margin == "skip":
            raise LeftOut
        if not isinstance(self.margin, str):
            assert self.margin is not None, "it lies outside"
            return self.margin
        modes = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}
        inside = [_padded(size, place, modes[self.margin]) for place, size in zip(own, sizes, strict=True)]
        return part[tuple(inside)].item()


def _padded(size: int, place: int, mode: str) -> int:
    """Return the index that NumPy's padding maps an index to."""
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
    """Return a function's value at every index, and the fold's iteration in which it was found."""
    at = [name for name in ranges if name not in over]
    values = numpy.zeros((*leading, *(ranges[name] for name in at)), dtype=object)
    turns = numpy.full(values.shape, -1)
    for place in numpy.ndindex(*values.shape):
        inputs = dict(zip(at, place[len(leading) :], strict=True))
        read = {name: Margined(array, margins.get(name), place[: len(leading)]) for name, array in arrays.items()}
        result = []
        for turn, folded in enumerate(itertools.product(*(range(ranges[name]) for name in over))):
            try:
                value = function(**read, **inputs, **dict(zip(over, folded, strict=True)), **numbers)
            except LeftOut:
                continue
            result.append((value, turn))
        values[place], turns[place] = _folded(result, fold)
    return values, turns


def _folded(result: list[tuple[Any, int]], fold: str | None) -> tuple[Any, int]:
    if fold is None:
        return result[0]
    if fold == "sum":
        return math.fsum(value for value, _ in result), -1
    best: tuple[Any, int] = (-math.inf if fold == "max" else math.inf, -1)
    for value, turn in result:
        if best[1] < 0 or (value > best[0] if fold == "max" else value < best[0]):
            best = value, turn
    return best


# --------------------------------------------------------------------------------------------------- random functions


def _position(rng: random.Random, names: list[str]) -> str:
    first, second = rng.choice(names), rng.choice(names)
    step, shift = rng.choice([1, 1, 2, 3, -1]), rng.randint(-3, 3)
    return rng.choice(
        [first, f"{first} + {shift}", f"{step} * {first} + {second} - {shift + 1}", f"{first} // 2",
         f"{first} - {second}", f"{first} * m + {shift}", f"({first} + {second}) % 3",
         f"({first} + {second} if {first} + {second} < 2 * {names[0]} + 1 else -1)",
         f"int(places[{names[0]}]) + {second}"]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_a_function_of_places_gives_what_python_gives(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    values = numpy.random.default_rng(seed)
    at, over = ["i", "j"][: rng.randint(1, 2)], ("u", "v")[: rng.randint(0, 2)]
    fold = rng.choice(["sum", "max", "min"]) if over else None
    names, m = [*at, *over], rng.choice([1, 2, 3, -1])
    ranges = {name: rng.choice([1, 2, 5, 9]) for name in names}
    ranges[at[-1]] = rng.choice([1, 4, 9, 300])  # sizes around that of a tile
    margin: Any = rng.choice([0, 2, "replicate", "reflect", "circular", *(["skip"] if fold else [])])
    dims = rng.randint(1, 2)
    reads = [f"self[{', '.join(_position(rng, names) for _ in range(dims))}]" for _ in range(rng.randint(1, 3))]
    joined = [" + ".join(reads), " * ".join(reads), f"max({reads[0]}, {reads[-1]})", f"{reads[0]} - 2 * i"]
    body = rng.choice(joined)
    text = f"def element(self, places, {', '.join(names)}, m):\n    return {body}\n"
    function = function_from_source("element", text, {})
    kind = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(rng.choice([2, 3, 7, 40]) for _ in range(dims))
    array = values.integers(-4, 5, shape).astype(kind)
    if rng.random() < 0.3:  # column-major memory
        array = numpy.asfortranarray(array)
    places = values.integers(-2, 4, ranges[at[0]])

    @library.op
    def f(self: Tensor, places: Tensor, m: int) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self, places, m):  # type: ignore[no-untyped-def]
        ctx.set_output(0, [ranges[axis] for axis in at], like=self)
        return {axis: ranges[axis] for axis in over}

    by_positions(f, at=at, over=over, fold=fold, margin={"self": margin})(function)
    wanted, _ = expected(
        function, {"self": array, "places": places}, {"self": margin, "places": None}, ranges, over, fold, m=m
    )
    inputs = opdsl.from_numpy(array), opdsl.from_numpy(places)
    if "int" in kind:  # a fold of no iterations
        bounds = numpy.iinfo(kind)
        wanted = numpy.vectorize(lambda number: int(min(max(number, bounds.min), bounds.max)), otypes=[object])(wanted)
    for _ in range(3):  # the slow path, a lowered call, and a plan
        assert numpy.array_equal(f(*inputs, m).numpy(), wanted.astype(kind)), text


# ----------------------------------------------------------------------------------------------------------- gradients


def stencil(library: Library) -> Any:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    @by_positions(f, at=("...", "i", "j"), margin=0)
    def element(self, i, j):  # type: ignore[no-untyped-def]
        return self[..., i - 1, j] * self[..., i + 1, j] + self[..., i, j - 1] - 4 * self[..., i, j]

    return f


def stencil_of_dims(library: Library) -> Any:
    @library.op
    @formula
    def f(self: Tensor) -> Tensor:
        i, j = dims(2)
        x = self.outside(0.0)
        return (x[..., i - 1, j] * x[..., i + 1, j] + x[..., i, j - 1] - 4 * self[..., i, j]).order(..., i, j)

    return f


def pool(library: Library, margin: object, fold: str, finish: Callable[..., Any] | None = None) -> Any:
    @library.op
    def f(self: Tensor, size: Ints[2], stride: Ints[2], padding: Ints[2]) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self, size, stride, padding):  # type: ignore[no-untyped-def]
        before = self.shape[:-2]
        counts = [(n + 2 * p - k) // s + 1 for n, k, s, p in zip(self.shape[-2:], size, stride, padding, strict=True)]
        ctx.set_output(0, (*before, *counts), like=self)
        return {"u": size[0], "v": size[1]}

    def element(self, stride, padding, i, j, u, v):  # type: ignore[no-untyped-def]
        return self[..., i * stride[0] + u - padding[0], j * stride[1] + v - padding[1]]

    by_positions(f, at=("...", "i", "j"), over=("u", "v"), fold=fold, margin=margin, finish=finish)(element)
    return f


def distance(library: Library) -> Any:
    @library.op
    def f(self: Tensor, other: Tensor, p: float = 2.0) -> Tensor: ...

    @by_positions(f, at=("...", "i", "j"), over="k", fold="sum", finish=lambda total, p: total ** (1 / p))
    def element(self, other, p, i, j, k):  # type: ignore[no-untyped-def]
        return (self[..., i, k] - other[..., j, k]) ** p

    return f


def distance_of_dims(library: Library) -> Any:
    @library.op
    @formula
    def f(self: Tensor, other: Tensor, p: float = 2.0) -> Tensor:
        i, j, k = dims(3)
        return (((self[..., i, k] - other[..., j, k]) ** p).sum(k) ** (1 / p)).order(..., i, j)

    return f


def picked(library: Library) -> Any:
    @library.op
    def f(self: Tensor, places: Tensor) -> Tensor: ...

    @by_positions(f, at=("i", "j"))
    def element(self, places, i, j):  # type: ignore[no-untyped-def]
        return self[i, places[j]] ** 2

    return f


def picked_of_dims(library: Library) -> Any:
    @library.op
    @formula
    def f(self: Tensor, places: Tensor) -> Tensor:
        i, j = dims(2)
        return (self[i, places[j]] ** 2).order(i, j)

    return f


def random_tensor(*shape: int) -> Tensor:
    values = numpy.random.default_rng(len(shape)).standard_normal(shape)
    return opdsl.from_numpy(values).requires_grad_()


def both_orders(function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> None:
    assert gradcheck(function, inputs, fast_mode=True)
    assert gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("margin", [0, "replicate", "reflect", "circular", "skip"])
def test_gradients_of_sums_of_windows(library: Library, margin: object) -> None:
    f = pool(library, margin, "sum", finish=lambda total: total * total / 3)
    both_orders(lambda x: f(x, (3, 2), (2, 1), (1, 1)), (random_tensor(2, 5, 4),))


@pytest.mark.parametrize("fold", ["max", "min"])
def test_gradients_of_extrema_of_windows(library: Library, fold: str) -> None:
    f = pool(library, "skip", fold)
    both_orders(lambda x: f(x, (3, 2), (2, 1), (1, 1)), (random_tensor(2, 5, 4),))


@pytest.mark.parametrize("stencil", [stencil, stencil_of_dims], ids=["loop", "formula"])
def test_gradients_of_what_is_read_at_several_places(library: Library, stencil: Callable[[Library], Any]) -> None:
    both_orders(stencil(library), (random_tensor(2, 3, 4),))


@pytest.mark.parametrize("distance", [distance, distance_of_dims], ids=["loop", "formula"])
def test_gradients_of_two_tensors_one_of_which_is_broadcast(
    library: Library, distance: Callable[[Library], Any]
) -> None:
    both_orders(distance(library), (random_tensor(2, 3, 2), random_tensor(3, 2)))


@pytest.mark.parametrize("picked", [picked, picked_of_dims], ids=["loop", "formula"])
def test_gradients_of_what_another_tensor_picks(library: Library, picked: Callable[[Library], Any]) -> None:
    f = picked(library)
    both_orders(lambda x: f(x, opdsl.tensor([2, 0, 2])), (random_tensor(2, 3),))


def sampled(library: Library) -> Any:
    @library.op
    def f(self: Tensor, at: Tensor) -> Tensor: ...

    @by_positions(f, at=("n", "c", "i"), margin={"self": 0})
    def element(self, at, n, c, i):  # type: ignore[no-untyped-def]
        place = -max(-3 * at[n, i], 0.25) if at[n, i] > -1 else -1.5
        first = math.floor(place)
        share = place - first
        return self[n, c, int(first) + 3] * (1 - share) + self[n, c, int(first) + 4] * share

    return f


def sampled_of_dims(library: Library) -> Any:
    @library.op
    @formula
    def f(self: Tensor, at: Tensor) -> Tensor:
        n, c, i = dims(3)
        x = self.outside(0.0)
        place = -(-3 * at[n, i]).clamp_min(0.25) if at[n, i] > -1 else -1.5
        first = place.floor()
        share, at_first = place - first, first.to(opdsl.int64)
        return (x[n, c, at_first + 3] * (1 - share) + x[n, c, at_first + 4] * share).order(n, c, i)

    return f


@pytest.mark.parametrize("sampled", [sampled, sampled_of_dims], ids=["loop", "formula"])
def test_gradients_of_what_is_read_alike_by_several_channels(
    library: Library, sampled: Callable[[Library], Any]
) -> None:
    both_orders(sampled(library), (random_tensor(2, 3, 4), random_tensor(2, 300)))


@pytest.mark.parametrize("sampled", [sampled, sampled_of_dims], ids=["loop", "formula"])
def test_a_factor_of_0_keeps_infinities_out_of_gradients(library: Library, sampled: Callable[[Library], Any]) -> None:
    images = opdsl.full((1, 3, 4), math.inf, dtype=opdsl.float64)
    at = opdsl.tensor([[-2.0, 0.5]], dtype=opdsl.float64).requires_grad_()
    sampled(library)(images, at).sum().backward()
    assert at.grad is not None
    assert at.grad.tolist() == [[0.0, 0.0]]


# ------------------------------------------------------------------------------------------------------- calls, errors


@pytest.mark.usefixtures("plans_at_once")
def test_new_sizes_are_served_by_the_plan_of_the_form(library: Library) -> None:
    f = pool(library, "reflect", "sum")
    for size in range(4, 10):
        array = numpy.random.default_rng(size).standard_normal((2, size, size + 3))
        padded = numpy.pad(array, ((0, 0), (1, 1), (1, 1)), mode="reflect")
        windows = numpy.lib.stride_tricks.sliding_window_view(padded, (2, 3), (1, 2))[:, ::2]
        result = f(opdsl.from_numpy(array), (2, 3), (2, 1), (1, 1))
        assert numpy.allclose(result.numpy(), windows.sum((-1, -2)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "uint8", "bool"])
def test_other_dtypes(library: Library, dtype: str) -> None:
    @library.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):  # type: ignore[no-untyped-def]
        ctx.set_output(0, self.shape, like=self)

    @by_positions(f, at=("i", "j"), margin="circular")
    def element(self, i, j):  # type: ignore[no-untyped-def]
        return self[i - 1, j + 2]

    inputs = opdsl.tensor([[1, 2, 0], [4, 0, 6]]).to(getattr(opdsl, dtype))
    wanted = opdsl.tensor([[6, 4, 0], [0, 1, 2]]).to(getattr(opdsl, dtype))
    target = opdsl.empty(3, 2, dtype=inputs.dtype).t()  # column-major memory
    for actual in (f(inputs), f(inputs.t().clone().t()), f.variants["out"](inputs, out=target)):
        assert actual.dtype is inputs.dtype
        assert bool((actual == wanted).all())
    assert bool((target == wanted).all())


def test_gradients_of_16_bits_are_rounded_once(library: Library) -> None:
    @library.op
    def f(self: Tensor, count: int) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self, count):  # type: ignore[no-untyped-def]
        ctx.set_output(0, (count,), like=self)

    @by_positions(f, at="i", margin="replicate")
    def element(self, i):  # type: ignore[no-untyped-def]
        return self[i]

    x = opdsl.zeros(2, dtype=opdsl.bfloat16).requires_grad_()
    f(x, 1001).backward(opdsl.ones(1001, dtype=opdsl.bfloat16))
    assert x.grad.tolist() == [1.0, 1000.0]  # adding ones in bfloat16 would stop at 256


def test_a_fold_with_a_place_takes_the_first_of_equals_and_the_last_nan(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> tuple[Tensor, Tensor]: ...

    @by_positions(f, at=("i",), over=("j", "k"), fold="max")
    def element(self, i, j, k):  # type: ignore[no-untyped-def]
        return self[i, j, k]

    nan, inf = math.nan, math.inf
    rows = opdsl.tensor([[[1.0, 3.0], [3.0, 2.0]], [[nan, 3.0], [nan, 9.0]], [[-inf, -inf], [-inf, -inf]]])
    values, places = f(rows)
    assert numpy.array_equal(values.numpy(), [3.0, nan, -inf], equal_nan=True)
    assert places.tolist() == [1, 2, 0]


def test_a_fold_returns_the_index_next_to_the_value(library: Library) -> None:
    @library.op
    def f(self: Tensor, step: int) -> tuple[Tensor, Tensor]: ...

    @f.meta
    def f_meta(ctx, self, step):  # type: ignore[no-untyped-def]
        for k, dtype in enumerate((self.dtype, opdsl.int64)):
            ctx.set_output(k, (self.shape[0] // step,), like=self, dtype=dtype)
        return {"u": step}

    def halved(value):  # type: ignore[no-untyped-def]
        return value / 2

    @by_positions(f, at=("i",), over=("u",), fold="max", margin="skip", finish=halved)
    def element(self, step, i, u):  # type: ignore[no-untyped-def]
        return self[i * step + u], 100 * (i * step + u)

    for step in (2, 5, 8):  # windows that fit registers, and one that does not
        x = numpy.random.default_rng(step).permutation(24).astype("float64")
        windows = x[: 24 // step * step].reshape(-1, step)
        leaf = opdsl.from_numpy(x)
        leaf.requires_grad_()
        largest, place = f(leaf, step)
        assert numpy.array_equal(largest.detach().numpy(), windows.max(1) / 2)
        wanted = windows.argmax(1) + step * numpy.arange(24 // step)
        assert numpy.array_equal(place.numpy(), 100 * wanted)
        largest.sum().backward()
        assert leaf.grad is not None
        assert numpy.array_equal(leaf.grad.numpy(), 0.5 * numpy.isin(numpy.arange(24), wanted))


def test_a_tensor_that_picks_places_is_looked_at_first(library: Library) -> None:
    f = picked(library)
    source = opdsl.ones(2, 3)
    for wrong in ([0, 3], [-1, 0]):
        for _ in range(3):
            with pytest.raises(PositionError, match="out of bounds for dimension 1 of self, which has size 3"):
                f(source, opdsl.tensor(wrong))
    assert f(source, opdsl.empty(0, dtype=opdsl.int64)).shape == (2, 0)


def test_errors_count_dimensions_from_the_first_one_of_the_tensor(library: Library) -> None:
    @library.op
    def shifted(self: Tensor) -> Tensor: ...

    @by_positions(shifted, at=("...", "i"))
    def shifted_at(self, i):  # type: ignore[no-untyped-def]
        return self[..., i] + self[..., i + 1]

    @library.op
    def chosen(self: Tensor, places: Tensor, more: Tensor) -> Tensor: ...

    @by_positions(chosen, at=("...", "i"))
    def chosen_at(self, places, more, i):  # type: ignore[no-untyped-def]
        return self[..., places[..., more[..., i]]]

    for leading in range(4):
        source = opdsl.ones(*(2,) * leading, 5)
        with pytest.raises(ShapeError, match=rf"self is read from 1 to 5 along its dimension {leading} of size 5"):
            shifted(source)
        places = opdsl.tensor([0, 7])
        with pytest.raises(PositionError, match=rf"index 7 is out of bounds for dimension {leading} of self"):
            chosen(source, places, opdsl.tensor([0, 1]))
        with pytest.raises(
            PositionError, match=r"index 3 is out of bounds for dimension 0 of places, which has size 2"
        ):
            chosen(source, places, opdsl.tensor([3]))


def test_what_nothing_keeps_inside_is_underlined(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    @by_positions(f, at=("i", "j"))
    def element(self, i, j):  # type: ignore[no-untyped-def]
        return self[i, j] + self[i, j + 1]

    with pytest.raises(ShapeError, match=r"read from 1 to 3 along its dimension 1 of size 3(?s:.*)~~~~\^"):
        f(opdsl.ones(2, 3))


@pytest.mark.parametrize(
    "line, message",
    [
        ("self[i, j, 0] + self[i, j]", "self was read with other dimensions before"),
        ("self[i, j + 0.5]", "an index has to be an integer, but this is float"),
        ("self[i, :]", "a slice is no position"),
        ("self[..., j]", "denotes dimensions that the result does not have"),
        ("self + 1", "the tensor self is not a number"),
        ("self[i]", "the range of 'j' is unknown"),
    ],
)
def test_bad_index_expressions_are_refused_where_they_are_declared(library: Library, line: str, message: str) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    function = function_from_source("element", f"def element(self, i, j):\n    return {line}\n", {})
    with pytest.raises(ScalarFunctionError, match=message) as caught:
        by_positions(f, at=("i", "j"))(function)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"at": ("i",)}, "'j' is no argument"),
        ({"at": ("i", "i")}, "no name for an index"),
        ({"at": ("i", "j", "k")}, "'k' is no parameter"),
        ({"at": ("i",), "over": "j"}, "fold is one of sum, max, min"),
        ({"at": ("i", "j"), "margin": "mirror"}, "margin='mirror'"),
        ({"at": ("i", "j"), "margin": "skip"}, "but nothing is folded"),
        ({"at": ("i", "j"), "margin": {"other": 0}}, "is no tensor"),
        ({}, "needs at="),
    ],
)
def test_bad_options_are_refused(library: Library, options: dict[str, Any], message: str) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match=message):
        by_positions(f, **options)(lambda self, i, j: self[i, j])


def test_an_adjoint_is_of_an_indexed_operator_that_folds_sums(library: Library) -> None:
    largest = pool(library, "skip", "max")

    @library.op
    def g(grad: Tensor, self: Tensor, size: Ints[2], stride: Ints[2], padding: Ints[2]) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match="it has no shape function"):
        g.adjoint(largest, "self")

    @g.meta
    def g_meta(ctx, grad, self, size, stride, padding):  # type: ignore[no-untyped-def]
        ctx.set_output(0, self.shape, like=self)
        return {"u": size[0], "v": size[1]}

    with pytest.raises(KernelSignatureError, match="is no adjoint of indexed::f: nothing computes it"):
        g.adjoint(largest, "self")


def test_an_adjoint_gives_what_the_derived_gradient_is(library: Library) -> None:
    f = pool(library, "reflect", "sum")

    @library.op(out=True)
    def g(grad: Tensor, self: Tensor, size: Ints[2], stride: Ints[2], padding: Ints[2]) -> Tensor: ...

    @g.meta
    def g_meta(ctx, grad, self, size, stride, padding):  # type: ignore[no-untyped-def]
        ctx.set_output(0, self.shape, like=self)
        return {"u": size[0], "v": size[1]}

    x = random_tensor(2, 5, 4)
    y = f(x, (3, 2), (2, 1), (1, 1))
    grad = opdsl.arange(y.numel()).view(y.shape).double()
    y.backward(grad)
    g.adjoint(f, "self")  # from here on ``g`` computes the gradient
    for _ in range(3):
        assert bool((g(grad, x.detach(), (3, 2), (2, 1), (1, 1)) == x.grad).all())
    target = opdsl.ones_like(x)
    assert bool((g.variants["out"](grad, x.detach(), (3, 2), (2, 1), (1, 1), out=target) == x.grad).all())
    assert gradcheck(lambda tensor: g(tensor, x.detach(), (3, 2), (2, 1), (1, 1)), (grad.requires_grad_(),))


def test_what_is_not_read_has_no_gradient(library: Library) -> None:
    @library.op
    def doubled_head(self: Tensor, count: int) -> Tensor: ...

    @doubled_head.meta
    def doubled_head_meta(ctx: Any, self: Tensor, count: int) -> None:
        ctx.set_output(0, (count,), like=self)

    by_positions(doubled_head, at=("i",))(lambda self, i: self[i] * 2.0)
    x = opdsl.ones(5).requires_grad_()
    doubled_head(x, 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2, 0, 0]
