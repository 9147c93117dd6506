"""Check of integer divisors: PyTorch raises if one of them is 0."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opdsl.errors import DivisionError
from opdsl.kernels.checks import holds
from opdsl.kernels.primitives.copying import cast as cast_to
from opdsl.kernels.primitives.indirect import looked_at_later
from opdsl.runtime.dtype import int64
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema, parse_schema

if TYPE_CHECKING:
    from types import FunctionType

    from opdsl.kernels.definitions.structured import StructuredKernel


def check_divisor(divisor: Tensor | complex) -> None:
    """Raise if an integer divisor is 0.

    Raises:
        DivisionError: the number, or an element of the tensor, is 0.
    """
    problem = "ZeroDivisionError: an integer is divided by 0"
    if isinstance(divisor, Tensor):
        all_nonzero = _all_nonzero()(divisor)
        assert isinstance(all_nonzero, Tensor), "the reduction has one result"
        if not divisor.is_cpu and looked_at_later(cast_to(all_nonzero, int64), 1, 2, DivisionError, problem):
            return
        is_wrong = not holds(all_nonzero)
    else:
        is_wrong = divisor == 0
    if is_wrong:
        raise DivisionError(problem)


class _AllNonzero(NamedTuple):
    """Stand-in for an operator: schema and name of the reduction that tests whether all elements are nonzero."""

    schema: FunctionSchema
    name: str


@cache
def _all_nonzero() -> StructuredKernel:
    from opdsl.kernels.definitions.reduction import ReductionDefinition

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
