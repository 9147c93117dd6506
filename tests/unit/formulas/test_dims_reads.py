"""Tests of reads at dims and at computed indices, against NumPy and loops."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opdsl
from opdsl import Tensor, dim, dims
from opdsl.errors import DimensionError, DimError, OptionError, PositionError

sizes = st.sampled_from([0, 1, 2, 3])


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(seed).standard_normal(shape))


def positions(*shape: int, below: int) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(1).integers(0, below, shape))


def close(tensor: Tensor, wanted: Any) -> None:
    assert isinstance(tensor, Tensor)
    numpy.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_bare_reads_are_views() -> None:
    i, j = dims(2)
    x = numbers(2, 3, 4)
    read = x[j, :, i].order(i, j, ...)
    close(read, x.numpy().transpose(2, 0, 1))
    assert read.data_ptr() == x.data_ptr()
    x.zero_()
    assert not read.any()


def test_parts_of_all_kinds_stand_beside_dims() -> None:
    i, j = dims(2)
    x = numbers(3, 4, 5)
    xs = x.numpy()
    close(x[..., j].order(j, ...), xs.transpose(2, 0, 1))
    close(x[[0, -1], :, j].order(j, ...), xs[[0, -1]].transpose(2, 0, 1))
    close(x[i, -1].order(i, ...), xs[:, -1])
    close(x[i, None, 1:3].order(i, ...), xs[:, None, 1:3])
    close(x[i, :, 2].order(i, ...), xs[:, :, 2])
    close(x[i, [0, -1]].order(i, ...), xs[:, [0, -1]])
    close(x[i, opdsl.tensor([0, 2])].order(i, ...), xs[:, [0, 2]])


def test_several_dims_read_one_dimension() -> None:
    g, c = dims(2, [2, None])
    x = numbers(3, 6)
    close(x[:, (g, c)].order(g, c, ...), x.numpy().reshape(3, 2, 3).transpose(1, 2, 0))
    assert c.size == 3
    a, b = dims(2)
    with pytest.raises(DimError, match="one of the dims of a product"):
        x[0, (a, b)]


@given(sizes)
def test_a_dim_that_is_read_twice_is_a_diagonal(n: int) -> None:
    i = dim()
    x = numbers(n, 2, n)
    close(x[i, :, i].order(i, ...), numpy.einsum("iai->ia", x.numpy()))
    j = dim()
    y = numbers(n, n)
    close((y[j] + 0 * j)[j].order(j), numpy.diagonal(y.numpy()))


@given(st.sampled_from([1, 2, 3]), sizes, sizes)
def test_computed_positions_gather(n: int, m: int, p: int) -> None:
    i, j, k = dims(3)
    x, ids = numbers(n, p, m), positions(m, p, below=n)
    xs, at = x.numpy(), ids.numpy()
    close(x[ids[i, j]].order(i, j, ...), xs[at])
    close(x[ids[i, j], :, k].order(i, j, k, ...), xs[at].transpose(0, 1, 3, 2))
    own = x[ids[i, j], j, i].order(i, j)
    close(own, xs[at, numpy.arange(p)[None], numpy.arange(m)[:, None]].reshape(m, p))


def test_positions_have_positional_dimensions_where_they_stand() -> None:
    i, j, k = dims(3)
    x, ids = numbers(2, 3, 4, 5), positions(6, 2, below=3)
    xs, at = x.numpy(), ids.numpy()
    close(x[:, ids[i], j].order(i, j, ...), xs[:, at].transpose(1, 3, 0, 2, 4))
    apart = x[ids[i] % 2, :, ids[i]].order(i, ...)
    close(apart, numpy.stack([xs[row % 2, :, row] for row in at]))
    close(x[k, ids].order(k, ...), xs[:, at])
    close(x[:, ids[i], ids[i]].order(i, ...), numpy.stack([xs[:, row, row] for row in at]))


def test_a_value_is_read_elsewhere() -> None:
    b, t = dims(2)
    x, at = numbers(3, 5), positions(3, below=5)
    xs = x.numpy()
    exponential = x[b, t].exp()
    close(exponential.order(t)[-1].order(b), numpy.exp(xs[:, -1]))
    close(exponential.order(t)[at[b]].order(b), numpy.exp(xs[numpy.arange(3), at.numpy()]))
    before = exponential.order(t).outside(0.0)[t - 1].order(b, t)
    close(before, numpy.pad(numpy.exp(xs), ((0, 0), (1, 0)))[:, :-1])


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2), st.integers(0, 3))
def test_convolutions_are_sums_of_reads(width: int, window: int, step: int, margin: int) -> None:
    count = (width + 2 * margin - window) // step + 1
    if count < 1:
        return
    n, c, o, u = dims(4)
    i = dim(count)
    x, w = numbers(2, 2, width), numbers(3, 2, window, seed=1)
    result = (x.outside(0.0)[n, c, i * step + u - margin] * w[o, c, u]).sum((c, u)).order(n, o, i)
    close(result, opdsl.nn.functional.conv1d(x, w, stride=step, padding=margin).numpy())


@pytest.mark.parametrize(("mode", "name"), [("replicate", "edge"), ("reflect", "reflect"), ("circular", "wrap")])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_reads_out_of_bounds_equal_numpys_pad(mode: str, name: str, size: int) -> None:
    i = dim(range(-7, size + 9))
    x = numbers(size)
    close(x.outside(mode)[i].order(i), numpy.pad(x.numpy(), (7, 9), mode=name))  # type: ignore[call-overload]


def test_outside_by_dimension() -> None:
    i, j = dims(2, [4, 4])
    x = numbers(2, 3)
    padded = numpy.pad(numpy.pad(x.numpy(), ((1, 1), (0, 0)), constant_values=7.0), ((0, 0), (1, 0)), mode="edge")
    close(x.outside({0: 7.0, -1: "replicate"})[i - 1, j - 1].order(i, j), padded)
    with pytest.raises(PositionError):
        x.outside({0: 7.0})[i - 1, j - 1].order(i, j)
    assert opdsl.tensor([1, 2]).outside(0)[i - 1].order(i).dtype is opdsl.int64


def test_outside_of_nothing() -> None:
    i = dim(3)
    x = numbers(0, 2)
    close(x.outside(2.0)[i + 0].order(i, ...), numpy.full((3, 2), 2.0))
    for mode in ("replicate", "reflect", "circular"):
        with pytest.raises(DimError, match="size 0"):
            x.outside(mode)[i + 0]


def windows(x: Any, fold: Any) -> Any:
    """Apply a fold to each element and its existing neighbors along the second dimension."""
    return numpy.stack([fold(x[:, max(at - 1, 0) : at + 2]) for at in range(x.shape[1])], 1)


def test_skipped_turns_do_not_count() -> None:
    n, i = dims(2, [None, 5])
    u = dim(range(-1, 2))
    x = numbers(2, 5)
    xs = x.numpy()
    near = x.outside("skip")[n, i + u]
    for name in ("sum", "mean", "prod", "amax", "amin"):
        wanted = windows(xs, lambda part, name=name: getattr(numpy, name)(part, axis=1))
        close(getattr(near, name)(u).order(n, i), wanted)
    close((near * 2 + 1).mean(u).order(n, i), windows(xs, lambda part: (part * 2 + 1).mean(1)))
    close(near.logsumexp(u).order(n, i), windows(xs, lambda part: numpy.log(numpy.exp(part).sum(1))))
    assert (near > -9).all(u).order(n, i).all() and not (near > 9).any(u).order(n, i).any()
    at = near.argmax(u).order(n, i).numpy()
    close(
        (x.outside("replicate")[n, i + u] + 0).order(u)[opdsl.from_numpy(at)[n, i]].order(n, i),
        near.amax(u).order(n, i).numpy(),
    )
    for use in (lambda: near.order(n, i, u), lambda: near.softmax(u), lambda: near.var(u)):
        with pytest.raises(DimError, match="skip"):
            use()


def test_positions_outside_are_refused_by_name() -> None:
    i = dim()
    x, at = numbers(4), opdsl.tensor([0, -2, 3])
    with pytest.raises(PositionError, match=r"\[<positions over \(i,\)>\].* range from -2 to 3, .* size 4"):
        x[at[i]]
    with pytest.raises(PositionError, match=r"from 2 to 5"):
        x[opdsl.tensor([2, 5])[dim()]]
    assert x[opdsl.tensor(-1)].shape == ()  # a plain read is unchanged


def test_expressions_wait_for_sizes() -> None:
    n, u = dims(2)
    i = dim(3)
    x, w = numbers(2, 5), numbers(3, seed=1)
    near = x[n, i + u]
    scaled = near * 2.0
    w[u]
    close(scaled.order(n, i, u), 2 * numpy.lib.stride_tricks.sliding_window_view(x.numpy(), 3, axis=1))
    v = dim()
    waiting = x[n, i + v]
    with pytest.raises(DimError, match="the size of v is unknown"):
        waiting.order(n, i, v)
    x.zero_()
    numbers(2)[v]
    with pytest.raises(DimError, match="was written between"):
        waiting.order(n, i, v)


def test_faults_of_reads_say_what_would_do() -> None:
    i, j, k = dims(3)
    x = numbers(3, 4)
    for index, kind, message in [
        ((i, j, k), DimensionError, "too many indices"),
        ((..., i, ...), DimensionError, r"one \.\.\."),
        ((i, numbers(3)[i]), DimError, "indices have to be integers"),
        ((i, numbers(4)[k] > 0), DimError, "choose with where"),
        ((i, "a"), DimError, "holds ints"),
    ]:
        with pytest.raises(kind, match=message):
            x[index]
    for what in ("mirror", None, [1], {0: "mirror"}, {"a": 0.0}):
        with pytest.raises(OptionError):
            x.outside(what)
    with pytest.raises(DimensionError):
        x.outside({2: 0.0})[i]


@st.composite
def subscripts(draw: st.DrawFn) -> list[Any]:
    """Draw parts of a subscript of four dimensions of size 3: names of dims, computed indices, integers, slices, None,
    ``...``.
    """
    parts: list[Any] = []
    for _ in range(draw(st.integers(1, 4))):
        kinds = ["i", "j", "k", "i+j", "2-k", "ids[i]", "table[j]", 1, -1, slice(None), slice(1, None), slice(0, 2)]
        parts.append(draw(st.sampled_from(kinds)))
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), ...)
    return parts


IDS, TABLE = opdsl.tensor([2, 0, 1]), opdsl.tensor([[0, 1], [2, 2], [1, 0]])


@given(subscripts())
def test_random_subscripts_read_as_loops_do(parts: list[Any]) -> None:
    """A read with random subscripts equals NumPy's at each position of the dims."""
    x = numbers(3, 3, 3, 3)
    by_name = dict(zip("ijk", dims(3, [3, 3, 3]), strict=True))
    positions = {
        **by_name,
        "i+j": (by_name["i"] + by_name["j"]) % 3,
        "2-k": 2 - by_name["k"],
        "ids[i]": IDS[by_name["i"]],
        "table[j]": TABLE[by_name["j"], 1],
    }
    texts = [part for part in parts if isinstance(part, str)]
    if not texts:
        return
    value = x[tuple(positions[part] if isinstance(part, str) else part for part in parts)]
    names = sorted({name for text in texts for name in "ijk" if name in text.replace("ids", "").replace("table", "")})
    wanted = numpy.empty((3,) * len(names), object)
    for place in numpy.ndindex(wanted.shape):
        at = dict(zip(names, place, strict=True))
        i, j, k = (at.get(name, 0) for name in "ijk")
        numbers_of = {
            "i": i, "j": j, "k": k, "i+j": (i + j) % 3, "2-k": 2 - k, "ids[i]": [2, 0, 1][i], "table[j]": [1, 2, 0][j],
        }  # fmt: skip
        index = tuple(numbers_of[part] if isinstance(part, str) else part for part in parts)
        wanted[place] = x.numpy()[index]
    stacked = numpy.array(wanted.tolist())
    ordered = value.order(*(by_name[name] for name in names), ...)
    assert ordered.shape == stacked.shape
    close(ordered, stacked)


def test_a_product_of_dims_is_read_before_a_comma() -> None:
    i, j = dims(2, [2, 3])
    x = opdsl.arange(6)
    with pytest.raises(DimensionError, match=r"x\[\(i, j\),\]"):
        x[(i, j)]
    assert x[(i, j),].order(i, j).shape == (2, 3)


@pytest.mark.parametrize("mode", ["replicate", "circular", "reflect"])
def test_no_positions_are_outside_of_nothing(mode: Any) -> None:
    i = dim()
    x = opdsl.zeros(2, 0)
    assert (x[..., i] + x.outside(mode)[..., i - 1]).order(..., i).shape == (2, 0)


def test_positions_of_the_largest_leave_skipped_turns_out() -> None:
    x = opdsl.tensor([[1.0, 2.0, 0.0], [4.0, 3.0, 7.0]])
    i, j, u, v = opdsl.dims(4, [1, 2, 2, 2])
    windows = x.outside("skip")[i * 2 + u, j * 2 + v]
    assert windows.amax((u, v)).order(i, j).tolist() == [[4.0, 7.0]]
    assert windows.argmax((u, v)).order(i, j).tolist() == [[2, 2]]
