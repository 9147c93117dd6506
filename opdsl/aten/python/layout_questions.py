"""What can be asked of sparse tensors, and made of them: there are none, tensors here lie densely in memory."""

from __future__ import annotations

from typing import Any

from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor
from opdsl.schema import Alias

QUESTION: dict[str, Any] = {"variants": "method", "device_check": "NoCheck", "device_guard": False}
"""What the entries say alike."""


def refuse(name: str, layout: str) -> None:
    """Say that a tensor has another layout.

    Raises:
        ShapeError: always.
    """
    check(False, f"{name} expected {layout} tensor layout but got Strided. Tensors of opdsl are dense.")


@op("aten::dense_dim", kernel="CompositeExplicitAutograd", **QUESTION)
def dense_dim(self: Tensor) -> int:
    """How many dimensions lie densely in memory: all."""
    return self.ndim


@op("aten::to_dense", variants="method")
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The same elements in a tensor of their own, which is dense as all are, in ``dtype`` if that is given."""
    return self.to(dtype or self.dtype, copy=True)


@op("aten::to_dense_backward")
def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: bool | None = None) -> Tensor:
    """The gradient of ``to_dense``, in the dtype of ``input``."""
    return grad.to_dense(input.dtype, masked_grad=masked_grad)


def declare(name: str, layout: str) -> Any:
    """Declare a part of sparse tensors, and the operator that copies it."""

    @op(f"aten::{name}", **QUESTION)
    def part(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
        """A part of a sparse tensor; refused, since there are none."""
        ...

    @part.kernel("CompositeExplicitAutograd")
    def part_kernel(self):
        refuse(name, layout)

    if name != "values":
        part.non_differentiable("self")
    declare_copy(name, layout)
    return part


def declare_copy(name: str, layout: str) -> Any:
    """Declare the operator that copies a part of sparse tensors."""

    @op(f"aten::{name}_copy", variants="function", tags="view_copy", autogen=f"{name}_copy.out")
    def copy(self: Tensor) -> Tensor:
        """A copy of a part of a sparse tensor; refused, since there are none."""
        ...

    @copy.kernel("CompositeExplicitAutogradNonFunctional")
    def copy_kernel(self):
        refuse(name, layout)

    return copy


indices = declare("indices", "sparse coordinate")
values = declare("values", "sparse")
col_indices = declare("col_indices", "sparse row compressed")
row_indices = declare("row_indices", "sparse column compressed")
_indices_copy = declare_copy("_indices", "sparse coordinate")
_values_copy = declare_copy("_values", "sparse coordinate")
