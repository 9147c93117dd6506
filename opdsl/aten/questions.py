"""What can be asked of tensors and of dtypes."""

from __future__ import annotations

from typing import Any

from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import DType, Tensor
from opdsl.runtime import can_cast as castable
from opdsl.runtime import promote_types as promoted
from opdsl.runtime import result_type as common_type
from opdsl.schema.vocabulary import Scalar

QUESTION: dict[str, Any] = {
    "variants": "function",
    "device_check": "NoCheck",
    "device_guard": False,
    "manual_cpp_binding": True,
}
"""What PyTorch binds by hand, since no dispatcher has to be asked."""


@op("aten::size.int", **QUESTION)
def size(self: Tensor, dim: int) -> int:
    """How many positions a dimension has."""
    return self.size(dim)


@op("aten::stride.int", **QUESTION)
def stride(self: Tensor, dim: int) -> int:
    """How far apart in memory neighbours along a dimension lie."""
    return self.stride(dim)


@op("aten::result_type.Tensor", variants="function")
def result_type(tensor: Tensor, other: Tensor) -> DType:
    """The dtype that an operation on both computes in."""
    return common_type((tensor, other), get_default_dtype())


@result_type.overload("Scalar", variants="function")
def result_type_number(tensor: Tensor, other: Scalar) -> DType:
    """The dtype that an operation on a tensor and a number computes in."""
    return common_type((tensor, other), get_default_dtype())


@result_type.overload("Scalar_Tensor", variants="function")
def number_result_type(scalar: Scalar, tensor: Tensor) -> DType:
    """The dtype that an operation on a number and a tensor computes in."""
    return common_type((scalar, tensor), get_default_dtype())


@result_type.overload("Scalar_Scalar")
def numbers_result_type(scalar1: Scalar, scalar2: Scalar) -> DType:
    """The dtype that an operation on two numbers computes in."""
    return common_type((scalar1, scalar2), get_default_dtype())


@op("aten::can_cast", variants="function")
def can_cast(from_: DType, to: DType) -> bool:
    """Whether numbers of one dtype may be written into a tensor of another."""
    return castable(from_, to)


@op("aten::promote_types", variants="function")
def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that holds what both hold."""
    return promoted(type1, type2)
