"""What can be asked of tensors and of dtypes."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from opdsl.aten.create.construction import tensor
from opdsl.declare import Library, Row
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import DType, Tensor, can_cast, has_internal_overlap, int64, promote_types
from opdsl.runtime import result_type as common_dtype
from opdsl.runtime.viewing import storage_size

lib = Library("aten")

QUESTION: dict[str, Any] = {"device_check": "NoCheck", "device_guard": False, "manual_cpp_binding": True}
"""What PyTorch binds by hand, since no dispatcher has to be asked."""


def result_type(*values: Tensor | complex) -> DType:
    """The dtype that an operation on tensors and numbers computes in."""
    return common_dtype(values, get_default_dtype())


def set_data(self: Tensor, new_data: Tensor) -> None:
    """Show the memory of another tensor."""
    self.data = new_data


def backward(
    self: Tensor, inputs: list[Tensor], gradient: Tensor | None, retain_graph: bool | None, create_graph: bool
) -> None:
    """``Tensor.backward`` with its arguments in another order."""
    self.backward(gradient, retain_graph, create_graph, inputs or None)


def is_of_one_kind(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors are of one class."""
    return type(self) is type(other)


SIZE = "How many positions a dimension has."
STRIDE = "How far apart in memory neighbours along a dimension lie."
NUMEL = "How many elements there are."
OFFSET = "How many elements of its memory lie before the first one."
IN_FORMAT = "Whether the elements lie in memory without gaps, in the order of a format."

lib.table(
    {
        "size.int(Tensor self, int dim) -> int": Row(SIZE, Tensor.size),
        "stride.int(Tensor self, int dim) -> int": Row(STRIDE, Tensor.stride),
    },
    variants="function",
    **QUESTION,
)

# Of symbolic sizes, where those above are of known ones; here a size is a size.
lib.table(
    {
        "sym_size.int(Tensor self, int dim) -> SymInt": Row(SIZE, Tensor.size),
        "sym_stride.int(Tensor self, int dim) -> SymInt": Row(STRIDE, Tensor.stride),
        "sym_numel(Tensor self) -> SymInt": Row(NUMEL, Tensor.numel),
        "sym_storage_offset(Tensor self) -> SymInt": Row(OFFSET, Tensor.storage_offset),
        "sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool": Row(
            IN_FORMAT, Tensor.is_contiguous
        ),
    },
    variants="function",
    tags="core",
    **QUESTION,
)

lib.table(
    {
        "numel(Tensor self) -> int": Row(NUMEL, Tensor.numel),
        "dim(Tensor self) -> int": Row("How many dimensions there are.", attrgetter("ndim")),
        "storage_offset(Tensor self) -> int": Row(OFFSET, Tensor.storage_offset),
        "is_contiguous(Tensor self) -> bool": Row(
            "Whether the elements lie in memory row by row, without gaps.", Tensor.is_contiguous
        ),
        "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool": Row(
            IN_FORMAT, Tensor.is_contiguous
        ),
        "get_device(Tensor self) -> int": Row("The number of the device; -1 for the CPU.", Tensor.get_device),
    },
    variants="method",
    **QUESTION,
)

lib.table(
    {
        "is_floating_point(Tensor self) -> bool": Row(
            "Whether the elements are real floating-point numbers.", Tensor.is_floating_point
        ),
        "is_complex(Tensor self) -> bool": Row("Whether the elements are complex numbers.", Tensor.is_complex),
        "is_signed(Tensor self) -> bool": Row("Whether the elements may be negative.", Tensor.is_signed),
        "is_inference(Tensor self) -> bool": Row("Whether the tensor was made in inference mode.", Tensor.is_inference),
    },
    variants="function, method",
    **QUESTION,
)

# What autograd has.
lib.table(
    {
        "is_leaf(Tensor self) -> bool": Row("Whether no recorded call has made the tensor.", attrgetter("is_leaf")),
        "output_nr(Tensor self) -> int": Row("Which result of its call the tensor is.", attrgetter("output_nr")),
        "_version(Tensor self) -> int": Row("How often the memory was written in place.", attrgetter("_version")),
        "retains_grad(Tensor self) -> bool": Row(
            "Whether the tensor keeps its gradient though it is no leaf.", attrgetter("retains_grad")
        ),
        "retain_grad(Tensor(a!) self) -> ()": Row(
            "Has a tensor that is no leaf keep its gradient.", Tensor.retain_grad
        ),
        "set_data(Tensor(a!) self, Tensor new_data) -> ()": Row(
            "Has the tensor show the memory of another one; whether it requires grad stays.", set_data
        ),
        "data(Tensor self) -> Tensor": Row(
            "The tensor without its history, in the same memory.", attrgetter("data"), may_alias=True
        ),
        "requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)": Row(
            "Has autograd follow the tensor, or no longer follow it.", Tensor.requires_grad_
        ),
        "_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, bool? retain_graph=None, "
        "bool create_graph=False) -> ()": Row(
            "``Tensor.backward``: adds the gradients of leaves, or of ``inputs`` where there are some, to their "
            "``grad``.",
            backward,
        ),
    },
    variants="method",
    manual_cpp_binding=True,
)

# What elements and dtypes are, as they are in Python.
lib.table(
    {
        "item(Tensor self) -> Scalar": Row(
            "The only element, as a number of Python.", Tensor.item, variants="method", tags="data_dependent_output"
        ),
        "_local_scalar_dense(Tensor self) -> Scalar": Row(
            "The only element, as a number of Python.", Tensor.item, kernel=True, tags=("core", "data_dependent_output")
        ),
        "_shape_as_tensor(Tensor self) -> Tensor": Row(
            "The sizes, as a vector of int64 on the CPU.",
            lambda self: tensor(self.shape, dtype=int64),
            kernel="CompositeImplicitAutograd",
        ),
        "result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType": Row(
            "The dtype that an operation on both computes in.", result_type
        ),
        "result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType": Row(
            "The dtype that an operation on a tensor and a number computes in.", result_type
        ),
        "result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType": Row(
            "The dtype that an operation on a number and a tensor computes in.", result_type
        ),
        "result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType": Row(
            "The dtype that an operation on two numbers computes in.", result_type
        ),
        "can_cast(ScalarType from_, ScalarType to) -> bool": Row(
            "Whether numbers of one dtype may be written into a tensor of another.", can_cast
        ),
        "promote_types(ScalarType type1, ScalarType type2) -> ScalarType": Row(
            "The smallest dtype that holds what both hold.", promote_types
        ),
        "_has_same_storage_numel(Tensor self, Tensor other) -> bool": Row(
            "Whether the memory of two tensors holds as many elements.",
            lambda self, other: storage_size(self) // self.itemsize == storage_size(other) // other.itemsize,
            kernel="CompositeExplicitAutograd",
        ),
        "_debug_has_internal_overlap(Tensor self) -> int": Row(
            "Whether elements lie in one place: 0 for no, 1 for yes.",
            lambda self: int(has_internal_overlap(self.geometry)),
        ),
        "_has_compatible_shallow_copy_type(Tensor self, Tensor from) -> bool": Row(
            "Whether one tensor may take the place of another: they are of one kind.",
            is_of_one_kind,
        ),
    }
)

NO_KERNEL = "False: no kernel of this library is there."
LENGTHS = "Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank"
LENGTH_TENSORS = "Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank"

lib.table(
    {
        "is_distributed(Tensor self) -> bool": Row(
            "False: no tensor of this kind lies on several machines.",
            False,
            variants="function, method",
            device_check="NoCheck",
            device_guard=False,
        ),
        "_is_zerotensor(Tensor self) -> bool": Row(
            "False: no tensor of this kind stands for zeros without memory.",
            False,
            variants="function, method",
            device_guard=False,
            manual_cpp_binding=True,
        ),
        "is_vulkan_available() -> bool": Row("False: no kernel of this backend is there.", False),
        "_nnpack_available() -> bool": Row(NO_KERNEL, False),
        "cudnn_is_acceptable(Tensor self) -> bool": Row(NO_KERNEL, False, device_check="NoCheck", device_guard=False),
        "_use_cudnn_rnn_flatten_weight() -> bool": Row(NO_KERNEL, False),
        **{
            f"_use_{library}_ctc_loss{overload}({arguments}) -> bool": Row(
                NO_KERNEL, False, device_check="NoCheck", dispatch={"CUDA": f"_use_{library}_ctc_loss{own}"}
            )
            for library in ("cudnn", "miopen")
            for overload, own, arguments in (("", "", LENGTHS), (".Tensor", "_tensor", LENGTH_TENSORS))
        },
    }
)
