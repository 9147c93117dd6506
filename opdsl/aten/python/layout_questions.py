"""What can be asked of sparse tensors, and made of them: there are none, tensors here lie densely in memory."""

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
"""Parts of sparse tensors, and what layout has them."""

COPIED = {**PARTS, "_indices": "sparse coordinate", "_values": "sparse coordinate"}
"""Parts that operators copy."""


def refuse(name: str, layout: str) -> NoReturn:
    """Say that a tensor has another layout.

    Raises:
        ShapeError: always.
    """
    raise ShapeError(f"{name} expected {layout} tensor layout but got Strided. Tensors of opdsl are dense.")


def copied(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """A copy, in another dtype if one is given."""
    return self.to(dtype or self.dtype, copy=True)


QUESTION: dict[str, Any] = {"variants": "method", "device_check": "NoCheck", "device_guard": False}


@op("aten::dense_dim", kernel="CompositeExplicitAutograd", **QUESTION)
def dense_dim(self: Tensor) -> int:
    """Return how many dimensions lie densely in memory: all."""
    return self.ndim


def declare_part(name: str, layout: str) -> Any:
    """Declare a part of sparse tensors of a layout."""

    @op(f"aten::{name}", kernel="CompositeExplicitAutograd", **QUESTION)
    def part(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
        """A part of a sparse tensor; refused, since there are none."""
        refuse(name, layout)

    return part


def declare_part_copy(name: str, layout: str) -> None:
    """Declare the copy of a part of sparse tensors of a layout."""

    @op(
        f"aten::{name}_copy",
        kernel="CompositeExplicitAutogradNonFunctional",
        tags="view_copy",
        autogen=f"{name}_copy.out",
    )
    def part_copy(self: Tensor) -> Tensor:
        """A copy of a part of a sparse tensor; refused, since there are none."""
        refuse(name, layout)


for _name, _layout in PARTS.items():
    _part = declare_part(_name, _layout)
    if _name != "values":
        _part.non_differentiable("self")
for _name, _layout in COPIED.items():
    declare_part_copy(_name, _layout)
declare_generated_of(registry, [registry.operators[f"aten::{name}_copy"] for name in COPIED])


@op("aten::to_dense", variants="method")
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The same elements in a tensor of their own, which is dense as all are, in ``dtype`` if that is given."""
    return copied(self, dtype, masked_grad=masked_grad)


@op("aten::to_dense_backward")
def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: bool | None = None) -> Tensor:
    """The gradient of ``to_dense``, in the dtype of ``input``."""
    return copied(grad, input.dtype)
