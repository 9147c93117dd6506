"""Zero-copy exchange of CUDA memory with other libraries, by ``__cuda_array_interface__`` and DLPack, in stream order.

Sources: the CUDA Array Interface, version 3 (numba's documentation); DLPack 1.0 and the Python array API's
``__dlpack__``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from opdsl.backends.arrays import NOTHING, DeviceArray, elements, over
from opdsl.backends.cuda import copies
from opdsl.backends.cuda.allocator import Block
from opdsl.backends.cuda.arrays import maker, stream_for, used_by
from opdsl.backends.cuda.capsules import Contents, capsule_of, contents_of
from opdsl.backends.cuda.driver import driver
from opdsl.backends.cuda.streams import Stream, stream_of
from opdsl.errors import InterchangeError
from opdsl.runtime.dtype import DType, bfloat16, to_dtype
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.views import required_storage

__all__ = ["array_interface", "export_dlpack", "take_array", "take_dlpack"]

_CPU, _CUDA = 1, 2
# Numbers of streams without an address, equal in both protocols.
_LEGACY = 1
_NO_ORDER = -1


def array_interface(array: DeviceArray) -> dict[str, object]:
    """Return an array's description for ``__cuda_array_interface__``.

    Raises:
        InterchangeError: NumPy has no such dtype (bfloat16, float8).
    """
    if array.dtype.is_encoded:
        raise InterchangeError(
            f"__cuda_array_interface__ has no {array.dtype.name}. Use DLPack (torch.from_dlpack), or convert with "
            ".float() first."
        )
    stream = stream_for(array)
    used_by(array, stream, writes=True)  # the other library may write it
    return {
        "shape": array.shape,
        "typestr": array.dtype.numpy.str,
        "data": (array.address, False),
        "strides": array.strides,
        "stream": stream.handle or _LEGACY,
        "version": 3,
    }


class Taken(NamedTuple):
    """Array that shares another library's memory, and its dtype."""

    array: DeviceArray
    dtype: DType


def take_array(source: Any) -> Taken:
    """Return an array over the memory of an object with ``__cuda_array_interface__``.

    Raises:
        InterchangeError: the memory cannot be shared; the message says why.
    """
    said: dict[str, Any] = source.__cuda_array_interface__
    if said.get("mask") is not None:
        raise InterchangeError("an array with a mask cannot be shared. Fill it first.")
    if said["data"][1]:
        raise InterchangeError("a read-only CUDA array cannot be shared. Copy it first.")
    kind = numpy.dtype(said["typestr"])
    dtype = _known(kind)
    shape = tuple(said["shape"])
    steps = said.get("strides")
    if steps is None:
        steps = tuple(step * dtype.itemsize for step in contiguous_strides(shape))
    address = said["data"][0]
    index = driver().device_of(address) if address else 0
    stream = stream_of(index)
    theirs = said.get("stream")
    if theirs is not None:
        stream.wait_stream(Stream.of(0 if theirs == _LEGACY else theirs, index))
    return Taken(_shared(address, index, shape, tuple(steps), dtype, source), dtype)


def _known(kind: numpy.dtype[Any]) -> DType:
    if kind == bfloat16.numpy:
        raise InterchangeError(
            f"an array of {kind} cannot be shared: opdsl has no such dtype for it. Convert it first."
        )
    return to_dtype(kind)


def _shared(
    address: int, index: int, shape: tuple[int, ...], steps: tuple[int, ...], dtype: DType, keep: object
) -> DeviceArray:
    """Return an array over memory that the object ``keep`` keeps alive, for use on the current stream."""
    if any(step < 0 or step % dtype.itemsize for step in steps):
        raise InterchangeError(
            f"an array of strides {steps} (bytes) cannot be shared: they have to be multiples of {dtype.itemsize}, not "
            "negative. Copy it first."
        )
    if 0 in shape:
        return over(NOTHING, 0, index, shape, steps, dtype)
    size = required_storage(shape, steps) - 1 + dtype.itemsize
    return over(Block(address, size, stream_of(index), None, None, keep), address, index, shape, steps, dtype)


# -------------------------------------------------------------------------------------------------------------- DLPack


def export_dlpack(
    array: DeviceArray,
    dtype: DType,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """Return a DLPack capsule of an array; the consumer's stream waits for the work that is queued on the array.

    Raises:
        InterchangeError: the consumer wants it on another device without a copy, or names no stream.
    """
    if dl_device is not None and tuple(dl_device) != (_CUDA, array.index):
        if tuple(dl_device) != (_CPU, 0) or copy is False:
            raise InterchangeError(
                f"a tensor on cuda:{array.index} is device {(_CUDA, array.index)} to DLPack, and goes to the CPU by a "
                f"copy only (got dl_device={dl_device}, copy={copy})"
            )
        there = copies.to_host(array)
        address = there.__array_interface__["data"][0]
        return capsule_of(Contents(address, (_CPU, 0), dtype, there.shape, there.strides), there, max_version)
    if stream == 0 or (stream is not None and stream < _NO_ORDER):
        raise InterchangeError(
            f"__dlpack__(stream={stream}) names no CUDA stream: 1 is the legacy default stream, 2 that of a thread, -1 "
            "asks for no order."
        )
    if copy:
        device_array = maker(array.shape, elements(array), dtype)(array.index, stream_for(array))
        copies.copy(array, device_array)
        array = device_array
    if stream != _NO_ORDER:
        consumer = Stream.of(0 if stream in (None, _LEGACY) else stream, array.index)
        used_by(array, consumer, writes=True)  # the consumer may write it
    return capsule_of(
        Contents(array.address, (_CUDA, array.index), dtype, array.shape, array.strides), array, max_version
    )


def take_dlpack(source: Any) -> Taken:
    """Return an array over the device memory of a DLPack producer or capsule.

    Raises:
        InterchangeError: its dtype is not supported, or the producer does not share its memory.
    """
    capsule = source if type(source).__name__ == "PyCapsule" else _asked(source)
    contents = contents_of(capsule)
    said = contents.contents
    array = _shared(said.address, said.device[1], said.shape, said.strides, said.dtype, contents.owner)
    return Taken(array, said.dtype)


def _asked(producer: Any) -> object:
    """Request a producer's DLPack capsule, for use on the current stream of its device."""
    stream = stream_of(producer.__dlpack_device__()[1]).handle or _LEGACY
    try:
        try:
            return producer.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:
            return producer.__dlpack__(stream=stream)  # the producer is older than DLPack 1.0
    except (BufferError, RuntimeError, ValueError) as error:
        raise InterchangeError(f"{type(producer).__name__} does not share its memory: {error}") from error
