"""Views of parts: positions of a dimension, diagonals, windows."""

from __future__ import annotations

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor, views
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

# ----------------------------------------------------------------------------------------------- slice, narrow, select


@op(
    "aten::slice.Tensor",
    variants="function, method",
    tags="core",
    device_check="NoCheck",
    device_guard=False,
    is_bound=False,
)
def slice_tensor(
    self: Tensor[Alias("a")], dim: int = 0, start: SymInt | None = None, end: SymInt | None = None, step: SymInt = 1
) -> Tensor[Alias("a")]:
    """The positions ``start:end:step`` of a dimension."""
    ...


@slice_tensor.view_kernel("CompositeExplicitAutograd")
def slice_view(self, dim, start, end, step):
    return views.slice(self, dim, start, end, step)


@op(
    "aten::narrow",
    variants="function, method",
    device_check="NoCheck",
    device_guard=False,
)
def narrow(self: Tensor[Alias("a")], dim: int, start: SymInt, length: SymInt) -> Tensor[Alias("a")]:
    """``length`` positions of a dimension, beginning with ``start``."""
    ...


@narrow.view_kernel("CompositeImplicitAutograd")
def narrow_view(self, dim, start, length):
    return views.narrow(self, dim, start, length)


def number_of(start: Tensor) -> int:
    """The integer of a zero-dim tensor.

    Raises:
        ShapeError: it is of another dtype, or has dimensions.
    """
    check(
        start.ndim == 0 and start.dtype.category is Category.INT,
        "start must be an 0-dim integral Tensor.",
    )
    return int(start)


@narrow.overload(
    "Tensor",
    kernel="CompositeImplicitAutograd",
    variants="function, method",
    device_check="NoCheck",
    device_guard=False,
)
@forward(narrow, start=number_of)
def narrow_from(self: Tensor[Alias("a")], dim: int, start: Tensor, length: SymInt) -> Tensor[Alias("a")]:
    """``narrow`` whose start is a zero-dim tensor of integers."""


@op("aten::select.int", variants="function, method", tags="core", device_check="NoCheck", device_guard=False)
def select(self: Tensor[Alias("a")], dim: int, index: SymInt) -> Tensor[Alias("a")]:
    """One position of a dimension, which disappears."""
    ...


@select.view_kernel("CompositeExplicitAutograd")
def select_view(self, dim, index):
    return views.select(self, dim, index)


# --------------------------------------------------------------------------------------------------- diagonal, unfold


@op("aten::diagonal", variants="function, method", tags="core")
def diagonal(self: Tensor[Alias("a")], offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor[Alias("a")]:
    """A diagonal of two dimensions, as a last dimension in their place."""
    ...


@diagonal.view_kernel("CompositeExplicitAutograd")
def diagonal_view(self, offset, dim1, dim2):
    return views.diagonal(self, offset, dim1, dim2)


@op("aten::unfold", variants="method", device_check="NoCheck", device_guard=False)
def unfold(self: Tensor[Alias("a")], dimension: int, size: int, step: int) -> Tensor[Alias("a")]:
    """Windows of ``size`` positions, ``step`` apart, the window as a new last dimension."""
    ...


@unfold.view_kernel(*EVERYWHERE)
def unfold_view(self, dimension, size, step):
    return views.unfold(self, dimension, size, step)
