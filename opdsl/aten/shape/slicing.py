"""Views of parts: positions of a dimension, diagonals, windows, and the gradient of these."""

from __future__ import annotations

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.aten.shape.views import SHAPE
from opdsl.declare import Library, Row, forward, op
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
    """The integer of a zero-dim tensor. Raises ShapeError: it is of another dtype, or has dimensions."""
    check(start.ndim == 0 and start.dtype.category is Category.INT, "start must be an 0-dim integral Tensor.")
    return int(start)


@narrow.overload("Tensor", kernel="CompositeImplicitAutograd", variants="function, method", **SHAPE)
@forward(narrow, start=number_of)
def narrow_from(self: Tensor[Alias("a")], dim: int, start: Tensor, length: SymInt) -> Tensor[Alias("a")]:
    """``narrow`` whose start is a zero-dim tensor of integers."""


@op("aten::unfold_backward", kernel=True, variants="function", autogen="unfold_backward.out")
def unfold_backward(grad_in: Tensor, input_sizes: list[SymInt], dim: int, size: int, step: int) -> Tensor:
    """The gradient of ``unfold``: what lies in several windows gets the sum."""
    whole = grad_in.new_zeros(input_sizes)
    if not whole.ndim:
        return grad_in.reshape(())
    windows = whole.unfold(dim, size, step).shape
    check(grad_in.shape == windows, f"expected a gradient of windows of shape {list(windows)}", got=grad_in.shape)
    dim %= whole.ndim
    count = grad_in.shape[dim]
    if count < size:  # window by window
        for at in range(count):
            slice_tensor(whole, dim, at * step, at * step + size).add_(grad_in.select(dim, at).movedim(-1, dim))
        return whole
    for at in range(size):  # the elements of windows at one place in them are apart
        part = slice_tensor(whole, dim, at, at + (count - 1) * step + 1, step)
        part.add_(grad_in.select(-1, at))
    return whole


unfold_backward.adjoint(unfold, "self", dim="dimension")


@unfold.derivative("self")
def unfold_derivative(grad, self, dimension, size, step):
    return unfold_backward(grad, self.shape, dimension, size, step)
