"""Conversion of bfloat16 elements, which NumPy lacks: they are stored as uint16, the upper half of a float32."""

from __future__ import annotations

from typing import Any

import numpy

_QUIET_NAN = 0x7FC0


def widen(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Convert bfloat16 elements, stored as uint16, to float32 values, which is exact.

    >>> widen(numpy.array([0x3F80, 0xC040], "u2"))
    array([ 1., -3.], dtype=float32)
    """
    bits = numpy.left_shift(array, 16, dtype=numpy.uint32)
    return numpy.asarray(bits).view(numpy.float32)


def narrow(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Round real values to the nearest bfloat16 elements, stored as uint16; ties go to even, NaN stays NaN.

    Values are first converted to float32, as in PyTorch.
    """
    with numpy.errstate(over="ignore", invalid="ignore"):
        values = numpy.asarray(array, numpy.float32)
    bits = values.view(numpy.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(values), numpy.uint16(_QUIET_NAN), rounded)
