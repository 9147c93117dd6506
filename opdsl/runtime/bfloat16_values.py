"""bfloat16 in a world whose arrays do not have it: kept as uint16, the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy

_QUIET_NAN = 0x7FC0


def widen(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """The float32 values of bfloat16 elements stored as uint16; exact.

    >>> widen(numpy.array([0x3F80, 0xC040], "u2"))
    array([ 1., -3.], dtype=float32)
    """
    bits = numpy.left_shift(array, 16, dtype=numpy.uint32)
    return numpy.asarray(bits).view(numpy.float32)


def narrow(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """The bfloat16 elements, stored as uint16, that are nearest to real values; ties go to even, NaN stays NaN.

    Values pass through float32 first, as they do in PyTorch.
    """
    with numpy.errstate(over="ignore", invalid="ignore"):
        values = numpy.asarray(array, numpy.float32)
    bits = values.view(numpy.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(values), numpy.uint16(_QUIET_NAN), rounded)
