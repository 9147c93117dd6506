"""Integers that are divided by: PyTorch raises where one of them is 0."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opdsl.errors import DivisionError
from opdsl.kernels.checks import holds
from opdsl.kernels.definitions.reduction import ReductionDefinition
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema, parse_schema

if TYPE_CHECKING:
    from types import FunctionType

    from opdsl.kernels.definitions.structured import StructuredKernel


def check_divisor(divisor: Tensor | complex) -> None:
    """Refuses 0 as an integer divisor.

    Raises:
        DivisionError: the number, or an element of the tensor, is 0.
    """
    if holds_zero(divisor):
        raise DivisionError("ZeroDivisionError: an integer is divided by 0")


def holds_zero(divisor: Tensor | complex) -> bool:
    """Whether a number is 0, or an element of a tensor is."""
    if not isinstance(divisor, Tensor):
        return divisor == 0
    found = _all_nonzero()(divisor)
    assert isinstance(found, Tensor), "the reduction has one result"
    return not holds(found)


class _AllNonzero(NamedTuple):
    """The operator that the reduction would be."""

    schema: FunctionSchema
    name: str


@cache
def _all_nonzero() -> StructuredKernel:
    schema = parse_schema("all_nonzero(Tensor self) -> Tensor")
    definition = ReductionDefinition(schema, "all_nonzero")
    definition.add(
        cast("FunctionType", _both), init=True, lift=cast("FunctionType", _is_nonzero), accumulators=("truth",)
    )
    return definition.kernel("functional", _AllNonzero(schema, "all_nonzero"), "CPU")


def _is_nonzero(value: Any) -> Any:
    return value != 0


def _both(one: Any, other: Any) -> Any:
    return one and other
