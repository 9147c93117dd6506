"""Fourier transforms by oneMKL or SciPy: by its compiled module, or by its public functions if a release has no such
module.

Sizes with a large prime factor are first reduced to smaller ones, see ``opdsl.backends.cpu.large_primes``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy

from opdsl.backends.cpu import large_primes, pool
from opdsl.backends.cpu.mkl import mkl
from opdsl.backends.cpu.mkl_fourier import MklFourier
from opdsl.backends.cpu.scipy_modules import load
from opdsl.errors import MissingDependencyError
from opdsl.kernels.steps import step
from opdsl.runtime.permanent import kept_forever

Array: TypeAlias = numpy.ndarray[Any, Any]
_Norm: TypeAlias = Literal["backward", "ortho", "forward"]

# SciPy's names of normalizations (results divided by nothing, by the root of the number of points, by that number), for
# a forward and for an inverse transform.
_NORMS: dict[bool, tuple[_Norm, ...]] = {
    True: ("backward", "ortho", "forward"),
    False: ("forward", "ortho", "backward"),
}


# The size in bytes from which an array is worth a second thread.
_LARGE = 1 << 20

# The number of lines that pocketfft transforms at once in vector lanes.
_TOGETHER = 4

# The number of pieces in which oneMKL gets large arrays, independent of the number of threads: the bits of its results
# depend on how many lines it gets at once.
_PIECES = 8


class _Compiled(Protocol):
    """Interface of transforms into given arrays, as in SciPy's compiled module; ``norm`` is as in
    ``opdsl.kernels.libraries``.
    """

    def c2c(self, array: Array, dims: Sequence[int], forward: bool, norm: int, out: Array, threads: int) -> object: ...
    def r2c(self, array: Array, dims: Sequence[int], forward: bool, norm: int, out: Array, threads: int) -> object: ...
    def c2r(
        self, array: Array, dims: Sequence[int], size: int, forward: bool, norm: int, out: Array, threads: int
    ) -> object: ...


@kept_forever
def _compiled() -> _Compiled | None:
    """Return oneMKL's transforms, or else those of SciPy's compiled module, or None."""
    library = mkl()
    if library is not None:
        return MklFourier(library)
    try:
        module: Any = load("scipy.fft._pocketfft.pypocketfft")
    except MissingDependencyError:
        return None
    return module if all(hasattr(module, name) for name in ("c2c", "r2c", "c2r")) else None


def _is_large(array: Array) -> bool:
    """Return whether a transform is worth a second thread; its result does not depend on the number of threads."""
    return array.nbytes >= _LARGE


def _goes_by_dims(array: Array) -> bool:
    """Return whether to transform dimensions one after another, which leaves more lines to divide among threads."""
    return _is_large(array) and not isinstance(_compiled(), MklFourier)


def _divided(transform: Callable[[Array, Array, int], object], dims: Sequence[int], array: Array, out: Array) -> None:
    """Run a transform of many lines on the pool's threads, because pocketfft's own threads would compete with these.

    Args:
        transform: ``(array, out, threads)``, along ``dims``; pocketfft's threads run it if there is no other one.
        dims: the transformed dimensions; the largest other one is divided.
        array, out: the input and the output.
    """
    threads = pool.get_num_threads() if _is_large(array) else 1
    others = [dim for dim in range(array.ndim) if dim not in dims and array.shape[dim] > 1]
    has_pieces = bool(others) and _is_large(array) and isinstance(_compiled(), MklFourier)
    if not has_pieces and (threads == 1 or not others):
        transform(array, out, threads)
        return
    dim = max(others, key=array.shape.__getitem__)
    size = array.shape[dim]
    unit = -(-size // _PIECES) if has_pieces else _TOGETHER if size >= _TOGETHER else 1

    def part(begin: int, end: int) -> None:
        step = unit if has_pieces else max(end - begin, 1)
        for first in range(begin, end, step):
            place = (slice(None),) * dim + (slice(first, min(first + step, end)),)
            transform(array[place], out[place], 1)

    pool.share(part, size, -(-size // (threads * unit)) * unit)


def _complex(array: Array, dims: Sequence[int], forward: bool, normalization: int, out: Array) -> None:
    """Transform complex numbers along dimensions by the compiled module, dividing large arrays among threads."""
    if len(dims) > 1 and array.dtype.kind == "c" and _goes_by_dims(array):
        for dim in dims:
            _complex(array, (dim,), forward, normalization, out)
            array = out
        return
    compiled = _compiled()
    assert compiled is not None, "the caller has asked"
    transform = compiled.c2c
    _divided(lambda one, to, threads: transform(one, dims, forward, normalization, to, threads), dims, array, out)


@step
def c2c(array: Array, dims: Sequence[int], normalization: int, forward: bool, out: Array) -> None:
    """Write the Fourier transform of complex or real numbers along dimensions, or its inverse, into ``out``.

    Args:
        array: the input.
        dims: the transformed dimensions.
        normalization: 0 divides by nothing, 1 by the root of the number of points, 2 by that number.
        forward: whether the exponent is negative.
        out: the result.
    """
    if _compiled() is not None:
        large_primes.c2c(_complex, array, tuple(dims), forward, normalization, out)
    else:
        _public("fftn" if forward else "ifftn", array, dims, _NORMS[forward][normalization], out)


@step
def r2c(array: Array, dims: Sequence[int], normalization: int, out: Array) -> None:
    """Write the Fourier transform of real numbers into ``out``; the last of ``dims`` has only the nonredundant half."""
    compiled = _compiled()
    if compiled is None:
        _public("rfftn", array, dims, _NORMS[True][normalization], out)
        return
    is_halved = large_primes.is_halved(array.shape[dims[-1]])
    others: Sequence[int] = ()
    if len(dims) > 1 and (is_halved or _goes_by_dims(array)):
        others, dims = dims[:-1], dims[-1:]
    if is_halved:
        large_primes.r2c(_complex, array, dims[-1], normalization, out)
    else:
        _divided(lambda one, to, threads: compiled.r2c(one, dims, True, normalization, to, threads), dims, array, out)
    if others:
        large_primes.c2c(_complex, out, tuple(others), True, normalization, out)


@step
def c2r(array: Array, dims: Sequence[int], normalization: int, out: Array) -> None:
    """Write the inverse Fourier transform with a real result into ``out``; missing frequencies count as zeros."""
    last, size = dims[-1], out.shape[dims[-1]]
    compiled = _compiled()
    if compiled is None:
        _public("irfftn", array, dims, _NORMS[False][normalization], out, s=[out.shape[dim] for dim in dims])
        return
    needed, there = size // 2 + 1, array.shape[last]
    if there < needed:
        array = numpy.pad(array, [(0, needed - there if dim == last else 0) for dim in range(array.ndim)])
    elif there > needed:
        array = array[(slice(None),) * last + (slice(needed),)]
    is_halved = large_primes.is_halved(size)
    if len(dims) > 1 and (is_halved or _goes_by_dims(array)):
        between = numpy.empty(array.shape, array.dtype)
        large_primes.c2c(_complex, array, tuple(dims[:-1]), False, normalization, between)
        array, dims = between, dims[-1:]
    if is_halved:
        large_primes.c2r(_complex, array, last, normalization, out)
        return
    _divided(
        lambda one, to, threads: compiled.c2r(one, dims, size, False, normalization, to, threads), dims, array, out
    )


def _public(name: str, array: Array, dims: Sequence[int], norm: _Norm, out: Array, **sizes: Sequence[int]) -> None:
    try:
        import scipy.fft
    except ImportError as error:
        raise MissingDependencyError(
            f"Fourier transforms need SciPy or oneMKL: {error}. Install one: pip install scipy"
        ) from error

    out[...] = getattr(scipy.fft, name)(array, axes=tuple(dims), norm=norm, workers=pool.get_num_threads(), **sizes)
