"""What can be asked of sparse tensors, and made of them: there are none, tensors here lie densely in memory."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from opdsl.declare import Library, Row
from opdsl.kernels import check
from opdsl.runtime import DType, Tensor

lib = Library("aten")

PARTS = {
    "indices": "sparse coordinate",
    "values": "sparse",
    "col_indices": "sparse row compressed",
    "row_indices": "sparse column compressed",
}
"""Parts of sparse tensors, and what layout has them."""

COPIED = {**PARTS, "_indices": "sparse coordinate", "_values": "sparse coordinate"}
"""Parts that operators copy."""


def refuse(name: str, layout: str, self: Tensor) -> None:
    """Say that a tensor has another layout.

    Raises:
        ShapeError: always.
    """
    check(False, f"{name} expected {layout} tensor layout but got Strided. Tensors of opdsl are dense.")


def copied(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """A copy, in another dtype if one is given."""
    return self.to(dtype or self.dtype, copy=True)


DENSE: dict[str, Row] = {
    "dense_dim(Tensor self) -> int": Row("How many dimensions lie densely in memory: all.", attrgetter("ndim")),
    **{
        f"{name}(Tensor(a) self) -> Tensor(a)": Row(
            "A part of a sparse tensor; refused, since there are none.", partial(refuse, name, layout)
        )
        for name, layout in PARTS.items()
    },
}
QUESTION: dict[str, Any] = {"variants": "method", "device_check": "NoCheck", "device_guard": False}
parts = lib.table(DENSE, kernel="CompositeExplicitAutograd", **QUESTION)
for _name in ("indices", "col_indices", "row_indices"):
    parts[_name].non_differentiable("self")

lib.table(
    {
        f"{name}_copy(Tensor self) -> Tensor": Row(
            "A copy of a part of a sparse tensor; refused, since there are none.",
            partial(refuse, name, layout),
            autogen=f"{name}_copy.out",
        )
        for name, layout in COPIED.items()
    },
    kernel="CompositeExplicitAutogradNonFunctional",
    variants="function",
    tags="view_copy",
)

lib.table(
    {
        "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor": Row(
            "The same elements in a tensor of their own, which is dense as all are, in ``dtype`` if that is given.",
            copied,
            variants="method",
        ),
        "to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor": Row(
            "The gradient of ``to_dense``, in the dtype of ``input``.",
            lambda grad, input: copied(grad, input.dtype),
        ),
    }
)
