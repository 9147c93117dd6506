"""Calls whose numbers, lists, masks and shapes change from call to call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import torch

import opdsl

Arrays = Sequence[numpy.ndarray[Any, Any]]

# Number of rows of arguments that have the same size in every call.
ROWS = 720
MANY = 100


class Stream(NamedTuple):
    """Call that depends on a number, which changes from call to call.

    name: the label of the call.
    arrays: returns the arguments for a number.
    call: computes the result from the library, the arguments and the number.
    """

    name: str
    arrays: Callable[[int], Arrays]
    call: Callable[[Any, Sequence[Any], int], Any]


def timed_pairs(stream: Stream, numbers: Sequence[int], clock: Callable[[], float]) -> Iterator[tuple[float, float]]:
    """Time single calls of opdsl and of torch; the side that runs first alternates.

    Args:
        stream: the call.
        numbers: a number for each call.
        clock: returns the time in seconds.
    """
    for turn, n in enumerate(numbers):
        arrays = stream.arrays(n)
        ours = [opdsl.from_numpy(tensor.copy()) for tensor in arrays]
        theirs = [torch.from_numpy(tensor.copy()) for tensor in arrays]
        sides = [(opdsl, ours), (torch, theirs)]
        taken = {}
        for lib, arguments in sides if turn % 2 else sides[::-1]:
            start = clock()
            stream.call(lib, arguments, n)
            taken[lib] = clock() - start
        yield taken[opdsl], taken[torch]


_POOL = numpy.random.default_rng(0).standard_normal(1 << 18, numpy.float32)


def _random(*shape: int) -> numpy.ndarray[Any, Any]:
    return _POOL[: int(numpy.prod(shape))].reshape(shape)


def _rows(n: int) -> Arrays:
    return [_random(n, 32)]


def _same(n: int) -> Arrays:
    return [_random(ROWS, 32)]


def _vector(n: int) -> Arrays:
    return [_random(ROWS)]


def _heads(n: int) -> Arrays:
    return [_random(1, 2, n // 4 + 2, 8)] * 3


def _image(n: int) -> Arrays:
    return [_random(1, 2, 9, 9)]


def _none(n: int) -> Arrays:
    return []


def _functional(lib: Any) -> Any:
    return torch.nn.functional if lib is torch else opdsl.nn.functional


def _at(n: int, count: int) -> list[int]:
    """Return indices of rows, which depend on the number."""
    return [(n * (k + 1) + k) % ROWS for k in range(count)]


def _letters(n: int, count: int) -> str:
    """Return distinct letters for an einsum equation, which depend on the number."""
    result: list[str] = []
    for k in range(count):
        letter = chr(ord("a") + (n // 26 ** min(k, 1) + 5 * k) % 26)
        while letter in result:
            letter = chr(ord("a") + (ord(letter) - ord("a") + 1) % 26)
        result.append(letter)
    return "".join(result)


def _einsum(lib: Any, a: Sequence[Any], n: int) -> Any:
    i, j, k = _letters(n, 3)
    return lib.einsum(f"{i}{j},{j}{k}->{i}{k}", a[0], a[1])


def _attention(lib: Any, a: Sequence[Any], n: int, *, causal: bool = False, mask: Any = None) -> Any:
    return _functional(lib).scaled_dot_product_attention(a[0], a[1], a[2], mask, is_causal=causal)


def _assigned(lib: Any, a: Sequence[Any], n: int) -> Any:
    a[0][n // 2 : n] = 1.5
    return a[0]


def _masked_write(lib: Any, a: Sequence[Any], n: int) -> Any:
    a[0][a[0] > 0] = 0.0
    return a[0]


def _lists(n: int) -> list[numpy.ndarray[Any, Any]]:
    return [_random(4, 2) for _ in range(n)]


def _step(lib: Any, a: Sequence[Any], n: int) -> Any:
    """Run a step of Adam by operators on lists of tensors, as PyTorch's optimizers do."""
    parameters, gradients, means, squares = (a[k * MANY : (k + 1) * MANY] for k in range(4))
    rate, step = 0.01 / n, n + 1
    lib._foreach_lerp_(means, gradients, 0.1)
    lib._foreach_mul_(squares, 0.999)
    lib._foreach_addcmul_(squares, gradients, gradients, 0.001)
    size = lib._foreach_sqrt(squares)
    lib._foreach_div_(size, (1 - 0.999**step) ** 0.5)
    lib._foreach_add_(size, 1e-8)
    lib._foreach_addcdiv_(parameters, means, size, -rate / (1 - 0.9**step))


MASKS = (
    Stream("x[x > 0]", _rows, lambda lib, a, n: a[0][a[0] > 0]),
    Stream("x[x > 0] of ones", lambda n: [numpy.ones((n, 32), numpy.float32)], lambda lib, a, n: a[0][a[0] > 0]),
    Stream("x[x > 0.1].sum()", _rows, lambda lib, a, n: a[0][a[0] > 0.1].sum()),
    Stream("x[x > 0.2] * 2 + 1", _rows, lambda lib, a, n: a[0][a[0] > 0.2] * 2 + 1),
    Stream("x[mask] = 0.0", _rows, _masked_write),
    Stream("x[mask] of rows", lambda n: [_random(ROWS, 8), _random(ROWS) > n / 400 - 1], lambda lib, a, n: a[0][a[1]]),
    Stream("nonzero", _rows, lambda lib, a, n: lib.nonzero(a[0] > 0.3)),
    Stream("where(mask)", _rows, lambda lib, a, n: lib.where(a[0] > 0.3)),
    Stream("masked_select", _rows, lambda lib, a, n: lib.masked_select(a[0], a[0] > 0.3)),
    Stream("unique", lambda n: [(_random(4 * n) * 50).astype(numpy.int64)], lambda lib, a, n: lib.unique(a[0])),
)

INDICES = (
    Stream("x[[a, b, c]]", _same, lambda lib, a, n: a[0][_at(n, 3)]),
    Stream("x[list of new length]", _same, lambda lib, a, n: a[0][_at(n, n % 40 + 1)]),
    Stream("x[i]", _same, lambda lib, a, n: a[0][n]),
    Stream("x[:, i]", lambda n: [_random(32, ROWS)], lambda lib, a, n: a[0][:, n]),
    Stream("x[i, j]", _same, lambda lib, a, n: a[0][n, n % 32]),
    Stream("x[i:j]", _same, lambda lib, a, n: a[0][n // 2 : n]),
    Stream("x[i:j:k]", _same, lambda lib, a, n: a[0][n // 3 : n : n % 5 + 1]),
    Stream("x[:, -i:]", lambda n: [_random(32, ROWS)], lambda lib, a, n: a[0][:, -n:]),
    Stream("x[i:j] = 1.5", _same, _assigned),
    Stream("narrow", _same, lambda lib, a, n: a[0].narrow(0, n // 2, n // 3 + 1)),
    Stream(
        "index_select",
        lambda n: [_random(ROWS, 32), numpy.array(_at(n, n % 40 + 1))],
        lambda lib, a, n: a[0].index_select(0, a[1]),
    ),
    Stream("split([i, n - i])", _same, lambda lib, a, n: a[0].split([n, ROWS - n])),
    Stream("split(k)", _same, lambda lib, a, n: a[0].split(n // 4 + 10)),
    Stream("chunk(k)", _same, lambda lib, a, n: a[0].chunk(n // 20 + 1)),
    Stream("unbind", lambda n: [_random(n // 10 + 1, 4)], lambda lib, a, n: a[0].unbind()),
    Stream("unfold(0, k, 1)", _vector, lambda lib, a, n: a[0].unfold(0, n, 1)),
    Stream("as_strided", _vector, lambda lib, a, n: a[0].as_strided((n // 2, 2), (1, n // 3))),
    Stream("roll", _same, lambda lib, a, n: a[0].roll(n, 0)),
    Stream("repeat(k, 1)", lambda n: [_random(4, 8)], lambda lib, a, n: a[0].repeat(n // 10 + 1, 1)),
    Stream("repeat_interleave(k)", lambda n: [_random(40)], lambda lib, a, n: a[0].repeat_interleave(n)),
    Stream("pad(i, j)", lambda n: [_random(4, 8)], lambda lib, a, n: _functional(lib).pad(a[0], (n // 3, n))),
    Stream("tril(k)", lambda n: [_random(40, 40)], lambda lib, a, n: a[0].tril(n % 79 - 39)),
    Stream("diagonal(k)", lambda n: [_random(40, ROWS)], lambda lib, a, n: a[0].diagonal(n)),
)

CREATED = (
    Stream("linspace(0, 1, n)", _none, lambda lib, a, n: lib.linspace(0, 1, n)),
    Stream("arange(n)", _none, lambda lib, a, n: lib.arange(n)),
    Stream("arange(i, j, k)", _none, lambda lib, a, n: lib.arange(n // 2, 3 * n, n % 7 + 1)),
    Stream("full((n,), v)", _none, lambda lib, a, n: lib.full((n,), n / 3)),
    Stream("eye(n)", _none, lambda lib, a, n: lib.eye(n // 10 + 2)),
    Stream("tril_indices(n, n)", _none, lambda lib, a, n: lib.tril_indices(n // 8 + 2, n // 9 + 2)),
    Stream("tensor(list)", _none, lambda lib, a, n: lib.tensor(_at(n, n % 40 + 1))),
    Stream("randperm(n)", _none, lambda lib, a, n: lib.randperm(n)),
)

NUMBERS = (
    Stream("topk(k)", _vector, lambda lib, a, n: a[0].topk(n)),
    Stream("kthvalue(k)", _vector, lambda lib, a, n: a[0].kthvalue(n)),
    Stream("one_hot(n)", lambda n: [numpy.arange(30)], lambda lib, a, n: _functional(lib).one_hot(a[0], n + 30)),
    Stream("one_hot()", lambda n: [numpy.arange(n)], lambda lib, a, n: _functional(lib).one_hot(a[0])),
    Stream("histc(bins)", _vector, lambda lib, a, n: lib.histc(a[0], n, -2, 2)),
    Stream("bincount", lambda n: [numpy.array(_at(n, 30))], lambda lib, a, n: lib.bincount(a[0])),
    Stream("quantile(q)", _vector, lambda lib, a, n: lib.quantile(a[0], n / 800)),
    Stream("isin", lambda n: [numpy.arange(n), numpy.array(_at(n, 9))], lambda lib, a, n: lib.isin(a[0], a[1])),
    Stream("clamp(a, b)", _same, lambda lib, a, n: a[0].clamp(-1 / n, n / 300)),
    Stream("add(alpha)", _vector, lambda lib, a, n: lib.add(a[0], a[0], alpha=n)),
    Stream("dropout(p)", _vector, lambda lib, a, n: _functional(lib).dropout(a[0], n / 800)),
    Stream("einsum(equation)", lambda n: [_random(8, 6), _random(6, 9)], _einsum),
)

NETWORKS = (
    Stream("attention", _heads, _attention),
    Stream("attention, causal", _heads, lambda lib, a, n: _attention(lib, a, n, causal=True)),
    Stream(
        "attention, mask",
        lambda n: [*_heads(n), numpy.tri(n // 4 + 2, dtype=numpy.bool_)],
        lambda lib, a, n: _attention(lib, a, n, mask=a[3]),
    ),
    Stream(
        "interpolate(size)", _image, lambda lib, a, n: _functional(lib).interpolate(a[0], (n // 20 + 2, n // 9 + 1))
    ),
    Stream(
        "interpolate(scale), bilinear",
        _image,
        lambda lib, a, n: _functional(lib).interpolate(a[0], scale_factor=0.2 + n / 150, mode="bilinear"),
    ),
    Stream(
        "adaptive_avg_pool2d(k)",
        lambda n: [_random(1, 2, 40, 40)],
        lambda lib, a, n: _functional(lib).adaptive_avg_pool2d(a[0], (n // 20 + 1, n // 25 + 1)),
    ),
    Stream(
        "adaptive_max_pool1d of n",
        lambda n: [_random(2, n + 8)],
        lambda lib, a, n: _functional(lib).adaptive_max_pool1d(a[0], 7),
    ),
    Stream("avg_pool1d(k)", lambda n: [_random(2, ROWS)], lambda lib, a, n: _functional(lib).avg_pool1d(a[0], n)),
    Stream(
        "conv1d of n",
        lambda n: [_random(1, 4, n + 8), _random(4, 4, 3)],
        lambda lib, a, n: _functional(lib).conv1d(a[0], a[1]),
    ),
    Stream(
        "cross_entropy of n",
        lambda n: [_random(n, 10), numpy.arange(n) % 10],
        lambda lib, a, n: _functional(lib).cross_entropy(a[0], a[1]),
    ),
)

LISTS = (
    Stream("cat of lists", lambda n: _lists(n % 60 + 1), lambda lib, a, n: lib.cat(list(a))),
    Stream("stack of lists", lambda n: _lists(n % 60 + 1), lambda lib, a, n: lib.stack(list(a))),
    Stream("_foreach_add_", lambda n: _lists(n % 60 + 1), lambda lib, a, n: lib._foreach_add_(list(a), n / 7)),
    Stream("Adam of 100 tensors", lambda n: [abs(tensors) for tensors in _lists(4 * MANY)], _step),
    Stream("sort", lambda n: [_random(n)], lambda lib, a, n: a[0].sort()),
    Stream("cumsum", _rows, lambda lib, a, n: a[0].cumsum(0)),
)

STREAMS = (*MASKS, *INDICES, *CREATED, *NUMBERS, *NETWORKS, *LISTS)
