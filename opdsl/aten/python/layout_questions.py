"""Operators on the layout of sparse tensors: ``to_dense`` copies, and parts of sparse tensors are refused, as all are
dense.
"""

from __future__ import annotations

from typing import Any, NoReturn

from opdsl.declare import op
from opdsl.declare.generated import declare_generated_of
from opdsl.dispatch import registry
from opdsl.errors import ShapeError
from opdsl.runtime import DType, Tensor
from opdsl.schema import Alias

PARTS = {
    "indices": "sparse coordinate",
    "values": "sparse",
    "col_indices": "sparse row compressed",
    "row_indices": "sparse column compressed",
}
"""Parts of sparse tensors, each with the layout that has it."""

COPIED = {**PARTS, "_indices": "sparse coordinate", "_values": "sparse coordinate"}
"""Parts of sparse tensors that have an operator ``..._copy``."""


def refuse(name: str, layout: str) -> NoReturn:
    """Raise an error because an operator needs a sparse layout.

    Raises:
        ShapeError: always.
    """
    raise ShapeError(f"{name} expected {layout} tensor layout but got Strided. Tensors of opdsl are dense.")


def copied(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a copy of the tensor, converted to ``dtype`` if given."""
    return self.to(dtype or self.dtype, copy=True)


@op("aten::dense_dim", kernel="CompositeExplicitAutograd", variants="method")
def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions: all, as there are no sparse tensors."""
    return self.ndim


def declare_part(name: str, layout: str) -> Any:
    """Declare the operator that returns a part of a sparse tensor, such as ``values``, and return it."""

    @op(f"aten::{name}", kernel="CompositeExplicitAutograd", variants="method")
    def part(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
        """Refuse to return a part of a sparse tensor, as all tensors are dense."""
        refuse(name, layout)

    return part


def declare_part_copy(name: str, layout: str) -> None:
    """Declare the operator that copies a part of a sparse tensor, such as ``values_copy``."""

    @op(f"aten::{name}_copy", kernel="CompositeExplicitAutogradNonFunctional", tags="view_copy")
    def part_copy(self: Tensor) -> Tensor:
        """Refuse to copy a part of a sparse tensor, as all tensors are dense."""
        refuse(name, layout)


for _name, _layout in PARTS.items():
    _part = declare_part(_name, _layout)
    if _name != "values":
        _part.non_differentiable("self")
for _name, _layout in COPIED.items():
    declare_part_copy(_name, _layout)
declare_generated_of(registry, [registry.operators[f"aten::{base_name}_copy"] for base_name in COPIED])


@op("aten::to_dense", variants="method")
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a copy of the tensor, converted to ``dtype`` if given; all tensors are dense already."""
    return copied(self, dtype, masked_grad=masked_grad)


@op("aten::to_dense_backward")
def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: bool | None = None) -> Tensor:
    """Return the gradient of ``to_dense``: ``grad`` copied to the dtype of ``input``."""
    return copied(grad, input.dtype)
