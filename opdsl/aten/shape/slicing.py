"""Views of parts: positions of a dimension, diagonals, windows."""

from __future__ import annotations

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.aten.shape.views import SHAPE
from opdsl.declare import Library, Row, forward
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor, views
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

lib = Library("aten")

slice_tensor, narrow, select, diagonal, unfold = lib.table(
    {
        "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"
        " -> Tensor(a)": Row(
            "The positions ``start:end:step`` of a dimension.", views.slice, tags="core", is_bound=False, **SHAPE
        ),
        "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)": Row(
            "``length`` positions of a dimension, beginning with ``start``.",
            views.narrow,
            view_kernel="CompositeImplicitAutograd",
            **SHAPE,
        ),
        "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)": Row(
            "One position of a dimension, which disappears.", views.select, tags="core", **SHAPE
        ),
        "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)": Row(
            "A diagonal of two dimensions, as a last dimension in their place.", views.diagonal, tags="core"
        ),
        "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)": Row(
            "Windows of ``size`` positions, ``step`` apart, the window as a new last dimension.",
            views.unfold,
            view_kernel=EVERYWHERE,
            **{**SHAPE, "variants": "method"},
        ),
    },
    view_kernel="CompositeExplicitAutograd",
    variants="function, method",
).values()


def number_of(start: Tensor) -> int:
    """The integer of a zero-dim tensor.

    Raises:
        ShapeError: it is of another dtype, or has dimensions.
    """
    check(start.ndim == 0 and start.dtype.category is Category.INT, "start must be an 0-dim integral Tensor.")
    return int(start)


@narrow.overload("Tensor", kernel="CompositeImplicitAutograd", variants="function, method", **SHAPE)
@forward(narrow, start=number_of)
def narrow_from(self: Tensor[Alias("a")], dim: int, start: Tensor, length: SymInt) -> Tensor[Alias("a")]:
    """``narrow`` whose start is a zero-dim tensor of integers."""
