"""Small operators made directly from definitions, and conversions between PyTorch's and opdsl's tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy
import torch

from opdsl.kernels import Definition, PointwiseDefinition, ReductionDefinition, StructuredDefinition
from opdsl.runtime import Tensor, to_dtype, wrap
from opdsl.schema import FunctionSchema, parse_schema


class Operator(NamedTuple):
    """Stub with the attributes of an operator that kernels use."""

    schema: FunctionSchema

    @property
    def name(self) -> str:
        return self.schema.name.qualified


class Kernels(NamedTuple):
    """Functional, in-place and out kernels of a definition."""

    definition: Definition
    functional: object
    inplace: object
    out: object


def kernels(definition, inplace=None, out=None, key="CPU") -> Kernels:
    """Return the kernels of a definition, whose variants are given by schema texts."""

    def make(variant, schema):
        return None if schema is None else definition.kernel(variant, Operator(schema), key)

    return Kernels(
        definition,
        make("functional", definition.schema),
        make("inplace", inplace and parse_schema(inplace)),
        make("out", out and parse_schema(out)),
    )


def pointwise(text, function, inplace=None, out=None, **options) -> Kernels:
    """Return the kernels of a pointwise operator."""
    schema = parse_schema(text)
    definition = PointwiseDefinition(schema, schema.name.qualified)
    definition.add(function, **options)
    return kernels(definition, inplace, out)


def structured(text, meta, kernel, inplace=None, out=None, compiled=False, **options) -> Kernels:
    """Return the kernels of a structured operator for the CPU."""
    schema = parse_schema(text)
    definition = StructuredDefinition(schema, meta, **options)
    definition.add_kernel("CPU", kernel, compiled=compiled)
    return kernels(definition, inplace, out)


def reduction(text, combine, out=None, **options) -> Kernels:
    """Return the kernels of a reduction."""
    schema = parse_schema(text)
    definition = ReductionDefinition(schema, schema.name.qualified)
    definition.add(combine, **options)
    return kernels(definition, None, out)


def ours(value):
    """Return an opdsl tensor over the memory of a PyTorch tensor; return other values unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    dtype = to_dtype(str(value.dtype))
    if value.numel() == 0:  # PyTorch drops the strides of an empty tensor in a conversion to NumPy.
        steps = [stride * dtype.itemsize for stride in value.stride()]
        return wrap(numpy.ndarray(tuple(value.shape), dtype.numpy, numpy.empty(0), 0, steps), dtype)
    stored = {1: torch.uint8, 2: torch.uint16}[dtype.itemsize] if dtype.is_encoded else value.dtype
    return wrap(value.view(stored).numpy(), dtype)


def theirs(tensor: Tensor) -> torch.Tensor:
    """Return a PyTorch tensor over the memory of an opdsl tensor."""
    if tensor.geometry.numel == 0:
        return torch.empty(0, dtype=getattr(torch, tensor.dtype.name)).as_strided(tensor.shape, tensor.strides)
    shared = torch.from_numpy(tensor.array).view(getattr(torch, tensor.dtype.name))
    # NumPy ignores strides of dimensions of size 1, and its arrays may have others there.
    return shared.as_strided(tensor.shape, tensor.strides)


def assert_same(expected: torch.Tensor, actual: Tensor, **tolerances: float) -> None:
    """Check that tensors are equal in dtype, shape, strides and values, with NaN equal to NaN."""
    assert f"torch.{actual.dtype.name}" == str(expected.dtype)
    assert actual.shape == tuple(expected.shape)
    assert actual.strides == expected.stride()
    torch.testing.assert_close(theirs(actual), expected, equal_nan=True, **(tolerances or {"rtol": 0, "atol": 0}))


def plan_of(kernel, arguments):
    """Return the plan for a kernel's call, a function of the tensors and numbers among its arguments."""
    from opdsl.dispatch.plans.lowered import lower_kernel

    return lower_kernel(kernel, kernel, arguments)
