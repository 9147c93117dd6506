"""Definition of operators for indexed kernels, which compute elements from their indices."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.derived_operators import defined, known_operator
from opdsl.dispatch import Operator
from opdsl.kernels.definitions.placed import PlacedDefinition
from opdsl.runtime import DType
from opdsl.scalar.indexed import IndexedFunction
from opdsl.schema import parse_schema

__all__ = ["PlacedKernel", "operator_of"]


class PlacedKernel(NamedTuple):
    """Description of an indexed kernel, from which an operator is made.

    indexed: the function.
    ranges: range of each index, a number or the name of an argument.
    dtype: dtype of the result.
    looked_at: index tensors that calls check for bounds, with the size and the dimension that they index.
    written: the sizes of a result that is added to at computed indices; empty if each element is computed.
    """

    indexed: IndexedFunction
    ranges: Mapping[str, int | str]
    dtype: DType
    looked_at: Sequence[tuple[str, int | str, int]]
    written: tuple[int | str, ...]


def operator_of(kernel: PlacedKernel, arguments: Sequence[str], kinds: Sequence[str]) -> Operator:
    """Return the operator of an indexed kernel, defining it unless an equal one exists.

    Args:
        kernel: its function and ranges.
        arguments: arguments with their types, as in a schema.
        kinds: the dtypes of tensors.
    """
    function = kernel.indexed.function
    rest = kernel.indexed[1:]
    described = repr((function.nodes, function.results, rest, kernel.ranges, kernel.looked_at, kernel.written, kinds))
    digest = hashlib.blake2b(described.encode(), digest_size=8).hexdigest()
    schema = parse_schema(f"fused::{function.name}_{digest}({', '.join(arguments)}) -> Tensor")
    handle: Any = known_operator(schema)
    if handle is None:
        name = schema.name.qualified
        handle = defined(schema, PlacedDefinition(schema, name, *kernel), name, accepts_numbers=False)
    operator: Operator = handle.operator
    return operator
