"""Fourier transforms of sizes with a large prime factor, computed by transforms of smaller sizes.

For such a size SciPy's pocketfft uses Bluestein's algorithm, over more than twice as many points, which exceed the
cache. Two identities, as old as the fast Fourier transform, reduce the number of points: real numbers are transformed
as half as many complex ones (Cooley, Lewis and Welch 1970), and a transform of ``a * p`` points is ``a`` transforms of
``p`` points and ``p`` of ``a`` (Cooley and Tukey 1965).
"""

from __future__ import annotations

import functools
from typing import Any, Protocol, TypeAlias

import numpy

Array: TypeAlias = numpy.ndarray[Any, Any]

# Measured sizes from which the identities are faster than Bluestein's algorithm.
_LEAST_SPLIT = 30_000
_LEAST_HALVED = 2_000
_LEAST_PARTS = 4

# The most roots of unity that are cached.
_MOST_KEPT = 1 << 18

# Rows are processed in pieces of about this many elements, which stay in the cache.
_PIECE = 1 << 16


class Transform(Protocol):
    """Function that computes the transform of complex numbers, such as pocketfft's."""

    def __call__(
        self, array: Array, dims: tuple[int, ...], forward: bool, normalization: int, out: Array, /
    ) -> object: ...


@functools.lru_cache(maxsize=4096)
def _largest_prime(size: int) -> int:
    """Return the largest prime factor of a size."""
    number, divisor = 1, 2
    while divisor * divisor <= size:
        if size % divisor:
            divisor += 1
        else:
            number, size = divisor, size // divisor
    return max(number, size)


def _by_bluestein(size: int) -> bool:
    """Return whether pocketfft uses Bluestein's algorithm for a size; for other sizes it uses one pass for each factor
    (``rfftp``, ``cfftp``).
    """
    prime = _largest_prime(size)
    return prime > 50 and prime * prime > size


def _parts(size: int) -> int:
    """Return the number of parts into which a transform is split, 1 if it is not."""
    if size < _LEAST_SPLIT or not _by_bluestein(size):
        return 1
    parts = size // _largest_prime(size)
    return parts if parts >= _LEAST_PARTS else 1


def is_halved(size: int) -> bool:
    """Return whether this many real numbers are transformed as half as many complex ones."""
    return size >= _LEAST_HALVED and size % 2 == 0 and _by_bluestein(size)


def _roots(size: int, columns: int, rows: int, dtype: str) -> Array:
    """Return the matrix exp(-2 pi i * row * column / size); small ones are cached."""
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
    """Transform complex or real numbers along dimensions, splitting sizes with a large prime factor, as
    ``fourier.c2c``.
    """
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
    """Transform the last dimension as ``parts * points`` numbers (Cooley-Tukey); ``out`` may be the input itself."""
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
    """Transform real numbers along a dimension for which ``is_halved`` is true, as half as many complex numbers."""
    lines, target = numpy.moveaxis(array, dim, -1), numpy.moveaxis(out, dim, -1)
    size = lines.shape[-1]
    paired = numpy.ascontiguousarray(lines).view(out.dtype)
    spectrum = numpy.empty_like(paired)
    c2c(transform, paired, (paired.ndim - 1,), True, 0, spectrum)
    factor = (1.0, size**-0.5, 1.0 / size)[normalization]
    roots = _roots(size, size // 2 + 1, 2, out.dtype.str)[1] * spectrum.dtype.type(-0.5j * factor)
    whole = target if target.flags.c_contiguous else numpy.empty(target.shape, target.dtype)
    pairs, rows, step = spectrum.reshape(-1, size // 2), whole.reshape(-1, size // 2 + 1), max(1, _PIECE // size)
    for begin in range(0, len(rows), step):
        _unpair(pairs[begin : begin + step], roots, 0.5 * factor, rows[begin : begin + step])
    if whole is not target:
        target[...] = whole


def c2r(transform: Transform, array: Array, dim: int, normalization: int, out: Array) -> None:
    """Compute the inverse of ``r2c``; ``array`` has exactly the frequencies that ``r2c`` returns."""
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


def _pair(array: Array, roots: Array, factor: float, out: Array) -> None:
    """Compute the transform of pairs of real numbers from that of the numbers, as 2 (E + i O), ignoring imaginary parts
    that must be 0.
    """
    ahead = array.copy()
    ahead.imag[:, 0] = ahead.imag[:, -1] = 0
    behind = ahead[:, ::-1].conj()
    odd = ahead - behind
    odd *= roots
    ahead += behind
    ahead *= array.real.dtype.type(factor)
    numpy.add(ahead[:, :-1], odd[:, :-1], out=out)


def _unpair(array: Array, roots: Array, half: float, out: Array) -> None:
    """Compute the transform of real numbers from that of their pairs, as E + w O for even and odd indices."""
    points = array.shape[1]
    out[:, :points], out[:, points] = array, array[:, 0]
    behind = out[:, ::-1].conj()
    odd = out - behind
    odd *= roots
    out += behind
    out *= array.real.dtype.type(half)
    out += odd
