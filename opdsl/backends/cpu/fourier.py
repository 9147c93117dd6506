"""Fourier transforms by SciPy: by its compiled module, or where a release has none such, by its functions.

Sizes with a large prime factor are first brought to smaller ones, see ``opdsl.backends.cpu.large_primes``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy

from opdsl.backends.cpu import large_primes, pool
from opdsl.backends.cpu.scipy_modules import load
from opdsl.errors import MissingDependencyError
from opdsl.kernels.steps import step

Array: TypeAlias = numpy.ndarray[Any, Any]
_Norm: TypeAlias = Literal["backward", "ortho", "forward"]

# SciPy's words for what results are divided by (nothing, the root of the number of points, that number), of a transform
# forward and of one back.
_NORMS: dict[bool, tuple[_Norm, ...]] = {
    True: ("backward", "ortho", "forward"),
    False: ("forward", "ortho", "backward"),
}


@functools.cache
def _compiled() -> Any:
    """SciPy's module of transforms into given arrays, or None."""
    try:
        found = load("scipy.fft._pocketfft.pypocketfft")
    except MissingDependencyError:
        return None
    return found if all(hasattr(found, name) for name in ("c2c", "r2c", "c2r")) else None


@step
def c2c(array: Array, dims: Sequence[int], normalization: int, forward: bool, out: Array) -> None:
    """The transform of complex or real numbers along dimensions, or its inverse.

    Args:
        normalization: 0 divides by nothing, 1 by the root of the number of points, 2 by that number.
        forward: whether the exponent is negative.
    """
    compiled = _compiled()
    if compiled is not None:
        transform = functools.partial(compiled.c2c, nthreads=pool.get_num_threads())
        large_primes.c2c(transform, array, tuple(dims), forward, normalization, out)
    else:
        _public("fftn" if forward else "ifftn", array, dims, _NORMS[forward][normalization], out)


@step
def r2c(array: Array, dims: Sequence[int], normalization: int, out: Array) -> None:
    """The transform of real numbers; the last of the dimensions ends where the rest follows by symmetry."""
    compiled = _compiled()
    if compiled is not None and large_primes.is_halved(array.shape[dims[-1]]):
        transform = functools.partial(compiled.c2c, nthreads=pool.get_num_threads())
        large_primes.r2c(transform, array, tuple(dims), normalization, out)
    elif compiled is not None:
        compiled.r2c(array, tuple(dims), True, normalization, out, pool.get_num_threads())
    else:
        _public("rfftn", array, dims, _NORMS[True][normalization], out)


@step
def c2r(array: Array, dims: Sequence[int], normalization: int, out: Array) -> None:
    """The inverse of what has real numbers as its result; frequencies that are missing count as zeros."""
    last, size = dims[-1], out.shape[dims[-1]]
    compiled = _compiled()
    if compiled is None:
        _public("irfftn", array, dims, _NORMS[False][normalization], out, s=[out.shape[each] for each in dims])
        return
    needed, there = size // 2 + 1, array.shape[last]
    if there < needed:
        array = numpy.pad(array, [(0, needed - there if dim == last else 0) for dim in range(array.ndim)])
    elif there > needed:
        array = array[(slice(None),) * last + (slice(needed),)]
    if large_primes.is_halved(size):
        transform = functools.partial(compiled.c2c, nthreads=pool.get_num_threads())
        large_primes.c2r(transform, array, tuple(dims), normalization, out)
        return
    compiled.c2r(array, tuple(dims), size, False, normalization, out, pool.get_num_threads())


def _public(name: str, array: Array, dims: Sequence[int], norm: _Norm, out: Array, **sizes: Sequence[int]) -> None:
    import scipy.fft

    out[...] = getattr(scipy.fft, name)(array, axes=tuple(dims), norm=norm, workers=pool.get_num_threads(), **sizes)
