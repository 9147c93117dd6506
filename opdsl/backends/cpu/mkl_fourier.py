"""Fourier transforms by oneMKL, with the function names and arguments of SciPy's compiled module."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs
import numpy

from opdsl.errors import KernelError

Array: TypeAlias = numpy.ndarray[Any, Any]

# Constants from https://www.intel.com/content/www/us/en/docs/onemkl, "Configuration Settings".
_FORWARD_SCALE, _BACKWARD_SCALE, _TRANSFORMS, _STORAGE, _PLACEMENT = 4, 5, 7, 10, 11
_INPUT_STRIDES, _OUTPUT_STRIDES, _INPUT_DISTANCE, _OUTPUT_DISTANCE = 12, 13, 14, 15
_COMPLEX, _REAL, _COMPLEX_COMPLEX, _NOT_INPLACE = 32, 33, 39, 44


# Function of the addresses of an input and an output that transforms arrays of one form.
_Compute: TypeAlias = Callable[[int, int], None]


@attrs.frozen
class _Form:
    """Cache key of a transform: all its parameters except addresses; strides are in bytes.

    domain: complex, or real on one side.
    forward: whether the exponent is negative.
    scale: the factor of the results.
    dims: the transformed dimensions.
    points: the number of points along each of these.
    shape: of the input; the output has the same sizes along all other dimensions.
    inputs, outputs: strides.
    input_size, output_size: bytes of an element.
    """

    domain: int
    forward: bool
    scale: float
    dims: tuple[int, ...]
    points: tuple[int, ...]
    shape: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    input_size: int
    output_size: int

    @property
    def letter(self) -> str:
        """Return the precision, "s" or "d", as in the names of the library's functions."""
        return "s" if max(self.input_size, self.output_size) == 8 else "d"


class MklFourier:
    """Fourier transforms of a loaded oneMKL library, which write results into ``out`` with any strides."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.DftiErrorMessage.restype = ctypes.c_char_p
        self._planned = functools.lru_cache(maxsize=256)(self._plan)

    def c2c(self, array: Array, dims: Sequence[int], forward: bool, norm: int, out: Array, threads: int) -> None:
        """Transform complex or real numbers along dimensions into complex numbers."""
        source = array if array.dtype == out.dtype else array.astype(out.dtype)
        points = tuple([out.shape[dim] for dim in dims])
        self._transform(source, out, tuple(dims), points, _COMPLEX, forward, _scale(norm, points))

    def r2c(self, array: Array, dims: Sequence[int], forward: bool, norm: int, out: Array, threads: int) -> None:
        """Transform real numbers; the last of the dimensions has only the nonredundant half of the result."""
        points = tuple([array.shape[dim] for dim in dims])
        self._transform(array, out, tuple(dims), points, _REAL, forward, _scale(norm, points))

    def c2r(
        self, array: Array, dims: Sequence[int], size: int, forward: bool, norm: int, out: Array, threads: int
    ) -> None:
        """Compute an inverse transform with a real result, of which ``size`` numbers are along the last dimension.

        Dimensions are transformed one after another, so that input without the symmetry gives the same result as in
        SciPy.
        """
        scale, last = _scale(norm, [out.shape[dim] for dim in dims]), dims[-1]
        if len(dims) > 1:
            between = numpy.empty(array.shape, array.dtype)
            self.c2c(array, dims[:-1], forward, 0, between, threads)
            array = between
        self._transform(array, out, (last,), (out.shape[last],), _REAL, forward, scale)

    def _transform(
        self,
        source: Array,
        out: Array,
        dims: tuple[int, ...],
        points: tuple[int, ...],
        domain: int,
        forward: bool,
        scale: float,
    ) -> None:
        if not source.size or not out.size:
            return
        if not _can_be_walked(source):
            source = numpy.array(source, order="C")
        is_direct = _can_be_walked(out) and not numpy.may_share_memory(source, out)
        target = out if is_direct else numpy.empty_like(out, order="C")
        sizes = source.itemsize, target.itemsize
        form = _Form(domain, forward, scale, dims, points, source.shape, source.strides, target.strides, *sizes)
        compute, offsets = self._planned(form)
        begin, end = source.ctypes.data, target.ctypes.data
        for read, written in offsets:
            compute(begin + read, end + written)
        if not is_direct:
            out[...] = target

    def _plan(self, form: _Form) -> tuple[_Compute, list[tuple[int, int]]]:
        """Return the function that computes a batch, and the byte offsets of the batches; the longest other dimension
        is the batch.
        """
        others = [dim for dim, size in enumerate(form.shape) if dim not in form.dims and size > 1]
        batch = max(others, key=form.shape.__getitem__, default=None)
        rest = [dim for dim in others if dim != batch]
        offsets = []
        for position in itertools.product(*(range(form.shape[dim]) for dim in rest)):
            steps = list(zip(position, rest, strict=True))
            read = sum(index * form.inputs[dim] for index, dim in steps)
            written = sum(index * form.outputs[dim] for index, dim in steps)
            offsets.append((read, written))
        return self._commit(form, batch), offsets

    def _commit(self, form: _Form, batch: int | None) -> _Compute:
        library, handle, rank = self._library, ctypes.c_void_p(), len(form.dims)
        long, numbers = ctypes.c_long, ctypes.c_long * (rank + 1)
        create = getattr(library, f"DftiCreateDescriptor_{form.letter}_{'1d' if rank == 1 else 'md'}")
        lengths = [long(*form.points)] if rank == 1 else [long(rank), (long * rank)(*form.points)]
        self._check(create(ctypes.byref(handle), form.domain, *lengths))
        settings: list[tuple[int, Any]] = [
            (_PLACEMENT, long(_NOT_INPLACE)),
            (_INPUT_STRIDES, numbers(0, *(form.inputs[dim] // form.input_size for dim in form.dims))),
            (_OUTPUT_STRIDES, numbers(0, *(form.outputs[dim] // form.output_size for dim in form.dims))),
            (_FORWARD_SCALE if form.forward else _BACKWARD_SCALE, ctypes.c_double(form.scale)),
        ]
        if batch is not None:
            settings += [
                (_TRANSFORMS, long(form.shape[batch])),
                (_INPUT_DISTANCE, long(form.inputs[batch] // form.input_size)),
                (_OUTPUT_DISTANCE, long(form.outputs[batch] // form.output_size)),
            ]
        if form.domain == _REAL:
            settings.append((_STORAGE, long(_COMPLEX_COMPLEX)))
        for name, value in settings:
            self._check(library.DftiSetValue(handle, name, value))
        self._check(library.DftiCommitDescriptor(handle))
        return _Descriptor(self, handle, library.DftiComputeForward if form.forward else library.DftiComputeBackward)

    def _check(self, status: int) -> None:
        if status:
            message: bytes = self._library.DftiErrorMessage(ctypes.c_long(status))
            raise KernelError(f"oneMKL's Fourier transform failed: {message.decode(errors='replace')}")

    def _free(self, handle: ctypes.c_void_p) -> None:
        self._library.DftiFreeDescriptor(ctypes.byref(handle))


class _Descriptor:
    """Callable that owns a committed DFTI descriptor of the library, and frees it when it dies."""

    def __init__(self, fourier: MklFourier, handle: ctypes.c_void_p, compute: Callable[..., int]) -> None:
        self._fourier, self._handle, self._compute = fourier, handle, compute

    def __call__(self, source: int, target: int) -> None:
        self._fourier._check(self._compute(self._handle, ctypes.c_void_p(source), ctypes.c_void_p(target)))

    def __del__(self) -> None:
        self._fourier._free(self._handle)


def _can_be_walked(array: Array) -> bool:
    """Return whether the library supports the strides of an array: positive multiples of the element size."""
    size = array.itemsize
    return array.flags.aligned and (
        array.flags.c_contiguous
        or all(step > 0 and step % size == 0 for step, n in zip(array.strides, array.shape, strict=True) if n > 1)
    )


def _scale(norm: int, points: Sequence[int]) -> float:
    """Return the factor by which results are multiplied."""
    count = math.prod(points)
    return (1.0, 1 / math.sqrt(count), 1 / count)[norm] if count else 1.0
