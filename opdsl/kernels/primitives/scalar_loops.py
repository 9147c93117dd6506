"""Compiled pointwise loops of scalar functions, for kernels written in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from opdsl.kernels.compiler import Compiled, compile_elements
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.tensor_iterator import pointwise_layout
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once


@made_once(512)
def scalar_loop(function: Callable[..., Any], inputs: tuple[TensorMeta | DType, ...], target: TensorMeta) -> Compiled:
    """Return the compiled pointwise loop of a scalar function with one result.

    Args:
        function: takes an element of each input.
        inputs: arrays, which broadcast to the target, and numbers of a dtype.
        target: geometry of the array that it writes, the last argument of the loop.
    """
    scalar = _read(function)
    dtypes = [input.dtype if isinstance(input, TensorMeta) else input for input in inputs]
    types = {name: precision_of(dtype).name for name, dtype in zip(scalar.parameters, dtypes, strict=True)}
    graph = scalar.specialise(types, results=(precision_of(target.dtype).name,))
    return compile_elements(target.device.type, graph, pointwise_layout(target.shape, inputs, [target]))


@lru_cache(maxsize=64)
def _read(function: Callable[..., Any]) -> Any:
    from opdsl.scalar import read

    assert isinstance(function, FunctionType), "a scalar function is written in Python"
    return read(function)


__all__ = ["scalar_loop"]
