"""What can be asked of tensors and of dtypes."""

from __future__ import annotations

from typing import Any

from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import DType, MemoryFormat, Tensor
from opdsl.runtime import can_cast as castable
from opdsl.runtime import promote_types as promoted
from opdsl.runtime import result_type as common_type
from opdsl.schema.vocabulary import Scalar, SymBool, SymInt

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


# Of symbolic sizes, where those above are of known ones; here a size is a size.
@op("aten::sym_size.int", tags="core", **QUESTION)
def sym_size(self: Tensor, dim: int) -> SymInt:
    """How many positions a dimension has."""
    return self.size(dim)


@op("aten::sym_stride.int", tags="core", **QUESTION)
def sym_stride(self: Tensor, dim: int) -> SymInt:
    """How far apart in memory neighbours along a dimension lie."""
    return self.stride(dim)


@op("aten::sym_numel", tags="core", **QUESTION)
def sym_numel(self: Tensor) -> SymInt:
    """How many elements there are."""
    return self.numel()


@op("aten::sym_storage_offset", tags="core", **QUESTION)
def sym_storage_offset(self: Tensor) -> SymInt:
    """How many elements of its memory lie before the first one."""
    return self.storage_offset()


@op("aten::sym_is_contiguous", tags="core", **QUESTION)
def sym_is_contiguous(self: Tensor, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> SymBool:
    """Whether the elements lie in memory without gaps, in the order of a format."""
    return self.is_contiguous(memory_format)


METHOD: dict[str, Any] = {**QUESTION, "variants": "method"}
"""Of those that are methods alone."""

BOTH: dict[str, Any] = {**QUESTION, "variants": "function, method"}
"""Of those that are functions as well."""

BY_HAND: dict[str, Any] = {"variants": "method", "manual_cpp_binding": True}
"""Of those that autograd has."""


@op("aten::numel", **METHOD)
def numel(self: Tensor) -> int:
    """How many elements there are."""
    return self.numel()


@op("aten::dim", **METHOD)
def dim(self: Tensor) -> int:
    """How many dimensions there are."""
    return self.ndim


@op("aten::storage_offset", **METHOD)
def storage_offset(self: Tensor) -> int:
    """How many elements of its memory lie before the first one."""
    return self.storage_offset()


@op("aten::is_contiguous", **METHOD)
def is_contiguous(self: Tensor) -> bool:
    """Whether the elements lie in memory row by row, without gaps."""
    return self.is_contiguous()


@is_contiguous.overload("memory_format", **METHOD)
def is_contiguous_in_format(self: Tensor, memory_format: MemoryFormat) -> bool:
    """Whether the elements lie in memory without gaps, in the order of a format."""
    return self.is_contiguous(memory_format)


@op("aten::is_floating_point", **BOTH)
def is_floating_point(self: Tensor) -> bool:
    """Whether the elements are real floating-point numbers."""
    return self.is_floating_point()


@op("aten::is_complex", **BOTH)
def is_complex(self: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return self.is_complex()


@op("aten::is_signed", **BOTH)
def is_signed(self: Tensor) -> bool:
    """Whether the elements may be negative."""
    return self.is_signed()


@op("aten::is_inference", **BOTH)
def is_inference(self: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return self.is_inference()


@op("aten::is_distributed", variants="function, method", device_check="NoCheck", device_guard=False)
def is_distributed(self: Tensor) -> bool:
    """False: no tensor of this kind lies on several machines."""
    return False


@op("aten::is_leaf", **BY_HAND)
def is_leaf(self: Tensor) -> bool:
    """Whether no recorded call has made the tensor."""
    return self.is_leaf


@op("aten::output_nr", **BY_HAND)
def output_nr(self: Tensor) -> int:
    """Which result of its call the tensor is."""
    return self.output_nr


@op("aten::_version", **BY_HAND)
def _version(self: Tensor) -> int:
    """How often the memory was written in place."""
    return self._version


@op("aten::retains_grad", **BY_HAND)
def retains_grad(self: Tensor) -> bool:
    """Whether the tensor keeps its gradient though it is no leaf."""
    return self.retains_grad


@op("aten::item", variants="method", tags="data_dependent_output")
def item(self: Tensor) -> Scalar:
    """The only element, as a number of Python."""
    return self.item()


@op("aten::_local_scalar_dense", variants="function", tags=("core", "data_dependent_output"))
def _local_scalar_dense(self: Tensor) -> Scalar:
    """The only element, as a number of Python."""
    ...


@_local_scalar_dense.kernel("CPU", "CUDA")
def _local_scalar_dense_kernel(self):
    return self.item()


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
