"""Operators that return properties of tensors and dtypes: sizes, strides, flags, autograd state, type promotion."""

from __future__ import annotations

from typing import Annotated, Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.construction import tensor
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import DType, MemoryFormat, Tensor, can_cast, has_internal_overlap, int64, promote_types
from opdsl.runtime import result_type as common_dtype
from opdsl.runtime.viewing import storage_size
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Name, Scalar, SymBool, SymInt


def result_type(*values: Tensor | complex) -> DType:
    """Return the dtype to which tensors and numbers promote together."""
    return common_dtype(values, get_default_dtype())


def is_of_one_kind(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same Python class."""
    return type(self) is type(other)


@op("aten::size.int", variants="function")
def size_int(self: Tensor, dim: int) -> int:
    """Return the size of a dimension."""
    return self.size(dim)


@op("aten::stride.int", variants="function")
def stride_int(self: Tensor, dim: int) -> int:
    """Return the stride of a dimension, in elements."""
    return self.stride(dim)


# In PyTorch these return symbolic sizes, those above known ones; here there is no difference.
SYMBOLIC: dict[str, Any] = {"variants": "function", "tags": "core"}


@op("aten::sym_size.int", **SYMBOLIC)
def sym_size_int(self: Tensor, dim: int) -> SymInt:
    """Return the size of a dimension."""
    return self.size(dim)


@op("aten::sym_stride.int", **SYMBOLIC)
def sym_stride_int(self: Tensor, dim: int) -> SymInt:
    """Return the stride of a dimension, in elements."""
    return self.stride(dim)


@op("aten::sym_numel", **SYMBOLIC)
def sym_numel(self: Tensor) -> SymInt:
    """Return the number of elements."""
    return self.numel()


@op("aten::sym_storage_offset", **SYMBOLIC)
def sym_storage_offset(self: Tensor) -> SymInt:
    """Return the storage offset: how many elements of the tensor's memory precede its first element."""
    return self.storage_offset()


@op("aten::sym_is_contiguous", **SYMBOLIC)
def sym_is_contiguous(self: Tensor, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> SymBool:
    """Return whether the tensor is contiguous in a memory format."""
    return self.is_contiguous(memory_format)


@op("aten::numel", variants="method")
def numel(self: Tensor) -> int:
    """Return the number of elements."""
    return self.numel()


@op("aten::dim", variants="method")
def dim(self: Tensor) -> int:
    """Return the number of dimensions."""
    return self.ndim


@op("aten::storage_offset", variants="method")
def storage_offset(self: Tensor) -> int:
    """Return the storage offset: how many elements of the tensor's memory precede its first element."""
    return self.storage_offset()


@op("aten::is_contiguous", variants="method")
def is_contiguous(self: Tensor) -> bool:
    """Return whether the tensor is contiguous: its elements are in memory in row-major order, without gaps."""
    return self.is_contiguous()


@op("aten::is_contiguous.memory_format", variants="method")
def is_contiguous_memory_format(self: Tensor, memory_format: MemoryFormat) -> bool:
    """Return whether the tensor is contiguous in a memory format."""
    return self.is_contiguous(memory_format)


@op("aten::get_device", variants="method")
def get_device(self: Tensor) -> int:
    """Return the index of the tensor's device; -1 for the CPU."""
    return self.get_device()


EITHER: dict[str, Any] = {"variants": "function, method"}


@op("aten::is_floating_point", **EITHER)
def is_floating_point(self: Tensor) -> bool:
    """Return whether the elements are real floating-point numbers."""
    return self.is_floating_point()


@op("aten::is_complex", **EITHER)
def is_complex(self: Tensor) -> bool:
    """Return whether the elements are complex numbers."""
    return self.is_complex()


@op("aten::is_signed", **EITHER)
def is_signed(self: Tensor) -> bool:
    """Return whether the dtype can hold negative numbers."""
    return self.is_signed()


@op("aten::is_inference", **EITHER)
def is_inference(self: Tensor) -> bool:
    """Return whether the tensor was created in inference mode."""
    return self.is_inference()


# Properties that autograd keeps.
@op("aten::is_leaf", variants="method")
def is_leaf(self: Tensor) -> bool:
    """Return whether the tensor is a leaf of the autograd graph: no recorded operation created it."""
    return self.is_leaf


@op("aten::output_nr", variants="method")
def output_nr(self: Tensor) -> int:
    """Return the index of the tensor among the results of the operation that created it."""
    return self.output_nr


@op("aten::_version", variants="method")
def _version(self: Tensor) -> int:
    """Return how many times the tensor's memory was written in place."""
    return self._version


@op("aten::retains_grad", variants="method")
def retains_grad(self: Tensor) -> bool:
    """Return whether the tensor is not a leaf but keeps its gradient."""
    return self.retains_grad


@op("aten::retain_grad", variants="method")
def retain_grad(self: Tensor[Alias("a", write=True)]) -> None:
    """Make a tensor that is not a leaf keep its gradient."""
    self.retain_grad()


@op("aten::set_data", variants="method")
def set_data(self: Tensor[Alias("a", write=True)], new_data: Tensor) -> None:
    """Make the tensor use the memory, shape and strides of ``new_data``; ``requires_grad`` is unchanged."""
    self.data = new_data


@op("aten::data", may_alias=True, variants="method")
def data(self: Tensor) -> Tensor:
    """Return a tensor that shares the memory of this one and has no autograd history."""
    return self.data


@op("aten::requires_grad_", variants="method")
def requires_grad_(self: Tensor[Alias("a", write=True)], requires_grad: bool = True) -> Tensor[Alias("a", write=True)]:
    """Set whether autograd records operations on the tensor."""
    return self.requires_grad_(requires_grad)


@op("aten::_backward", variants="method")
def _backward(
    self: Tensor,
    inputs: list[Tensor],
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Compute gradients as ``Tensor.backward`` does, and add them to ``grad`` of the leaves, or of ``inputs`` if
    given.
    """
    self.backward(gradient, retain_graph, create_graph, inputs or None)


# Elements and dtypes as Python objects.
@op("aten::item", variants="method", tags="data_dependent_output")
def item(self: Tensor) -> Scalar:
    """Return the only element as a Python number."""
    return self.item()


@op("aten::_local_scalar_dense", kernel=True, tags=("core", "data_dependent_output"))
def _local_scalar_dense(self: Tensor) -> Scalar:
    """Return the only element as a Python number."""
    return self.item()


@op("aten::_shape_as_tensor", kernel="CompositeImplicitAutograd")
def _shape_as_tensor(self: Tensor) -> Tensor:
    """Return the shape as an int64 vector on the CPU."""
    return tensor(self.shape, dtype=int64)


@op("aten::result_type.Tensor")
def result_type_tensor(tensor: Tensor, other: Tensor) -> DType:
    """Return the dtype to which two tensors promote together."""
    return result_type(tensor, other)


@op("aten::result_type.Scalar")
def result_type_scalar(tensor: Tensor, other: Scalar) -> DType:
    """Return the dtype to which a tensor and a number promote together."""
    return result_type(tensor, other)


@op("aten::result_type.Scalar_Tensor")
def result_type_scalar_tensor(scalar: Scalar, tensor: Tensor) -> DType:
    """Return the dtype to which a number and a tensor promote together."""
    return result_type(scalar, tensor)


@op("aten::result_type.Scalar_Scalar")
def result_type_scalar_scalar(scalar1: Scalar, scalar2: Scalar) -> DType:
    """Return the dtype to which two numbers promote together."""
    return result_type(scalar1, scalar2)


@op("aten::can_cast")
def can_be_cast(from_: DType, to: DType) -> bool:
    """Return whether numbers of one dtype may be written into a tensor of another."""
    return can_cast(from_, to)


@op("aten::promote_types")
def promoted_type(type1: DType, type2: DType) -> DType:
    """Return the smallest dtype that can hold the numbers of both dtypes."""
    return promote_types(type1, type2)


@op("aten::_has_same_storage_numel", kernel="CompositeExplicitAutograd")
def _has_same_storage_numel(self: Tensor, other: Tensor) -> bool:
    """Return whether the memory of two tensors can hold the same number of elements."""
    return storage_size(self) // self.itemsize == storage_size(other) // other.itemsize


@op("aten::_debug_has_internal_overlap")
def _debug_has_internal_overlap(self: Tensor) -> int:
    """Return 1 if different elements of the tensor share memory, else 0."""
    return int(has_internal_overlap(self.geometry))


@op("aten::_has_compatible_shallow_copy_type")
def _has_compatible_shallow_copy_type(self: Tensor, from_: Annotated[Tensor, Name("from")]) -> bool:
    """Return whether one tensor can replace another in place: whether both have the same class."""
    return is_of_one_kind(self, from_)


NO_KERNEL = "Return False, as opdsl has no kernel of this library."


@op("aten::is_distributed", variants="function, method")
def is_distributed(self: Tensor) -> bool:
    """Return False, as no tensor is distributed over machines."""
    return False


@op("aten::_is_zerotensor", variants="function, method")
def _is_zerotensor(self: Tensor) -> bool:
    """Return False, as all tensors have memory, those of zeros too."""
    return False


@op("aten::is_vulkan_available")
def is_vulkan_available() -> bool:
    """Return False, as opdsl has no kernels for Vulkan."""
    return False


@op("aten::_nnpack_available")
@documented(NO_KERNEL)
def _nnpack_available() -> bool:
    return False


@op("aten::cudnn_is_acceptable")
@documented(NO_KERNEL)
def cudnn_is_acceptable(self: Tensor) -> bool:
    return False


@op("aten::_use_cudnn_rnn_flatten_weight")
@documented(NO_KERNEL)
def _use_cudnn_rnn_flatten_weight() -> bool:
    return False


def declare_use_ctc_loss(library: str) -> None:
    """Declare the operators that return whether a library's CTC loss is used; they return False."""

    @op(f"aten::_use_{library}_ctc_loss")
    @documented(NO_KERNEL)
    def of_lengths(
        log_probs: Tensor, targets: Tensor, input_lengths: list[int], target_lengths: list[int], blank: int
    ) -> bool:
        return False

    @op(f"aten::_use_{library}_ctc_loss.Tensor")
    @documented(NO_KERNEL)
    def of_tensors(
        log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
    ) -> bool:
        return False


declare_use_ctc_loss("cudnn")
declare_use_ctc_loss("miopen")
