"""Fourier transforms of sizes that have a large prime factor, by transforms of smaller sizes.

For such a size SciPy's pocketfft turns to Bluestein's algorithm, over more than twice as many points, which leave the
cache. Two identities, as old as the fast Fourier transform, keep them few: real numbers are transformed as half as many
complex ones (Cooley, Lewis and Welch 1970), and a transform of ``a * p`` points is ``a`` transforms of ``p`` points and
``p`` of ``a`` (Cooley and Tukey 1965).
"""

from __future__ import annotations

import functools
from typing import Any, Protocol, TypeAlias

import numpy

Array: TypeAlias = numpy.ndarray[Any, Any]

# Where the identities pay, measured: below, what they add costs more than Bluestein's algorithm.
_LEAST_SPLIT = 30_000
_LEAST_HALVED = 2_000
_LEAST_PARTS = 4

# Roots of more are computed anew each time.
_MOST_KEPT = 1 << 18

# Rows are worked through in pieces of about so many elements, which stay in the cache.
_PIECE = 1 << 16


class Transform(Protocol):
    """pocketfft's transform of complex numbers."""

    def __call__(
        self, array: Array, dims: tuple[int, ...], forward: bool, normalization: int, out: Array, /
    ) -> object: ...


@functools.lru_cache(maxsize=4096)
def _largest_prime(size: int) -> int:
    """The largest prime factor."""
    number, divisor = 1, 2
    while divisor * divisor <= size:
        if size % divisor:
            divisor += 1
        else:
            number, size = divisor, size // divisor
    return max(number, size)


def _by_bluestein(size: int) -> bool:
    """Whether pocketfft does so: it computes other sizes factor by factor (``rfftp`` and ``cfftp``)."""
    prime = _largest_prime(size)
    return prime > 50 and prime * prime > size


def _parts(size: int) -> int:
    """In how many parts a size is transformed: 1 where it is not cut."""
    if size < _LEAST_SPLIT or not _by_bluestein(size):
        return 1
    parts = size // _largest_prime(size)
    return parts if parts >= _LEAST_PARTS else 1


def is_halved(size: int) -> bool:
    """Whether so many real numbers are transformed as half as many complex ones."""
    return size >= _LEAST_HALVED and size % 2 == 0 and _by_bluestein(size)


def _roots(size: int, columns: int, rows: int, dtype: str) -> Array:
    """exp(-2 pi i * row * column / size), kept where they take little memory."""
    wrapper = _kept_roots if rows * columns <= _MOST_KEPT else _kept_roots.__wrapped__
    return wrapper(size, columns, rows, dtype)


@functools.lru_cache(maxsize=16)
def _kept_roots(size: int, columns: int, rows: int, dtype: str) -> Array:
    angles = -2 * numpy.pi / size * numpy.outer(numpy.arange(rows), numpy.arange(columns))
    roots: Array = numpy.exp(1j * angles).astype(dtype)
    return roots


def c2c(
    transform: Transform, array: Array, dims: tuple[int, ...], forward: bool, normalization: int, out: Array
) -> None:
    """The transform of complex or real numbers along dimensions, or its inverse, as ``fourier.c2c``."""
    cut = [dim for dim in dims if _parts(array.shape[dim]) > 1]
    others = tuple([dim for dim in dims if dim not in cut])
    source = array
    if others or not cut:
        transform(array, others, forward, normalization, out)
        source = out
    for dim in cut:
        _in_parts(transform, numpy.moveaxis(source, dim, -1), forward, normalization, numpy.moveaxis(out, dim, -1))
        source = out


def _in_parts(transform: Transform, array: Array, forward: bool, normalization: int, out: Array) -> None:
    """The transform along the last dimension of ``parts * points`` numbers, which may be that of ``out`` itself."""
    *others, size = array.shape
    parts = _parts(size)
    points = size // parts
    between = numpy.empty((*others, parts, points), out.dtype)
    last = between.ndim - 1
    transform(array.reshape(*others, points, parts).swapaxes(-1, -2), (last,), forward, normalization, between)
    roots = _roots(size, points, parts, out.dtype.str)
    between *= roots if forward else roots.conj()
    transform(between, (last - 1,), forward, normalization, out.reshape(*others, parts, points))


def r2c(transform: Transform, array: Array, dim: int, normalization: int, out: Array) -> None:
    """The transform of real numbers along a dimension of which ``is_halved`` is true."""
    lines, result = numpy.moveaxis(array, dim, -1), numpy.moveaxis(out, dim, -1)
    size = lines.shape[-1]
    paired = numpy.ascontiguousarray(lines).view(out.dtype)
    tensor = numpy.empty_like(paired)
    c2c(transform, paired, (paired.ndim - 1,), True, 0, tensor)
    factor = (1.0, size**-0.5, 1.0 / size)[normalization]
    roots = _roots(size, size // 2 + 1, 2, out.dtype.str)[1] * tensor.dtype.type(-0.5j * factor)
    whole = result if result.flags.c_contiguous else numpy.empty(result.shape, result.dtype)
    pairs, rows, step = tensor.reshape(-1, size // 2), whole.reshape(-1, size // 2 + 1), max(1, _PIECE // size)
    for begin in range(0, len(rows), step):
        _unpair(pairs[begin : begin + step], roots, 0.5 * factor, rows[begin : begin + step])
    if whole is not result:
        result[...] = whole


def c2r(transform: Transform, array: Array, dim: int, normalization: int, out: Array) -> None:
    """The inverse of ``r2c``; ``array`` has the frequencies that it gives, not one more."""
    lines = numpy.moveaxis(array, dim, -1)
    size = out.shape[dim]
    factor = (1.0, size**-0.5, 1.0 / size)[normalization]
    roots = _roots(size, size // 2 + 1, 2, array.dtype.str)[1].conj() * array.dtype.type(1j * factor)
    paired = numpy.empty((*lines.shape[:-1], size // 2), array.dtype)
    rows, pairs, step = lines.reshape(-1, size // 2 + 1), paired.reshape(-1, size // 2), max(1, _PIECE // size)
    for begin in range(0, len(rows), step):
        _pair(rows[begin : begin + step], roots, factor, pairs[begin : begin + step])
    c2c(transform, paired, (paired.ndim - 1,), False, 0, paired)
    numpy.moveaxis(out, dim, -1)[...] = paired.view(out.dtype)


def _pair(tensor: Array, roots: Array, factor: float, out: Array) -> None:
    """From the transform of real numbers that of their pairs: 2 (E + i O); of what must be real the rest is nothing."""
    ahead = tensor.copy()
    ahead.imag[:, 0] = ahead.imag[:, -1] = 0
    behind = ahead[:, ::-1].conj()
    odd = ahead - behind
    odd *= roots
    ahead += behind
    ahead *= tensor.real.dtype.type(factor)
    numpy.add(ahead[:, :-1], odd[:, :-1], out=out)


def _unpair(tensor: Array, roots: Array, half: float, out: Array) -> None:
    """From the transform of pairs that of the real numbers: E + w O, of even and of odd places."""
    points = tensor.shape[1]
    out[:, :points], out[:, points] = tensor, tensor[:, 0]
    behind = out[:, ::-1].conj()
    odd = out - behind
    odd *= roots
    out += behind
    out *= tensor.real.dtype.type(half)
    out += odd
