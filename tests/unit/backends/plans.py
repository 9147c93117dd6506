"""Kernels over whole arrays, for tests of the CPU compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opdsl.backends.cpu.pointwise import pointwise
from opdsl.kernels.calls import NewArray, OperandSpec
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.scalar import read
from tests.unit.kernels.computations import elements

Array = numpy.ndarray[Any, Any]


def add(x, y):  # type: ignore[no-untyped-def]
    return x + y


def same(x):  # type: ignore[no-untyped-def]
    return x


def graph_of(function: Callable[..., Any], *kinds: str) -> Any:
    """Return the graph of a scalar function for given parameter types."""
    scalar = read(function)
    return scalar.specialise(dict(zip(scalar.parameters, kinds, strict=True)))


def spec(operand: Array | DType, shape: tuple[int, ...], dtype: DType | None = None) -> OperandSpec:
    """Return the memory layout of an array broadcast to a shape; a dtype means a number."""
    if isinstance(operand, DType):
        return OperandSpec(operand, None)
    return OperandSpec(dtype or to_dtype(operand.dtype), numpy.broadcast_to(operand, shape).strides)


def plan(graph: Any, shape: tuple[int, ...], inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Callable[..., Any]:
    """Compile a kernel over a shape, without merging dimensions.

    inputs: arrays, or (array, dtype), or a dtype for a number.
    outputs: a dtype for a new array, an array or (array, dtype) for a given one.
    """
    specs = tuple(_spec(input, shape) for input in inputs)
    fresh = tuple(NewArray(shape, _contiguous(shape)) if isinstance(output, DType) else None for output in outputs)
    places = tuple(
        OperandSpec(output, tuple(step * output.itemsize for step in _contiguous(shape)))
        if isinstance(output, DType)
        else _spec(output, shape)
        for output in outputs
    )
    return pointwise(*elements(graph, shape, specs, places, fresh))


def _spec(operand: Any, shape: tuple[int, ...]) -> OperandSpec:
    return spec(operand[0], shape, operand[1]) if isinstance(operand, tuple) else spec(operand, shape)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(numpy.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape)))
