"""Views of parts of a tensor: ``slice``, ``narrow``, ``select``, ``diagonal``, ``unfold``."""

from __future__ import annotations

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.declare import forward, op
from opdsl.kernels import check
from opdsl.runtime import Category, Tensor, views
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt


@op("aten::slice.Tensor", variants="function, method", tags="core", is_bound=False)
def slice_tensor(
    self: Tensor[Alias("a")],
    dim: int = 0,
    start: SymInt | None = None,
    end: SymInt | None = None,
    step: SymInt = 1,
) -> Tensor[Alias("a")]:
    """Return a view of the slice ``start:end:step`` of a dimension."""
    ...


slice_tensor.view_kernel("CompositeExplicitAutograd")(
    lambda self, dim, start, end, step: views.slice(self, dim, start, end, step)
)


@op("aten::narrow", variants="function, method")
def narrow(self: Tensor[Alias("a")], dim: int, start: SymInt, length: SymInt) -> Tensor[Alias("a")]:
    """Return a view of ``length`` elements of a dimension, from index ``start`` on."""
    ...


narrow.view_kernel("CompositeImplicitAutograd")(lambda self, dim, start, length: views.narrow(self, dim, start, length))


@op("aten::select.int", variants="function, method", tags="core")
def select(self: Tensor[Alias("a")], dim: int, index: SymInt) -> Tensor[Alias("a")]:
    """Return a view at one index of a dimension, without that dimension."""
    ...


select.view_kernel("CompositeExplicitAutograd")(lambda self, dim, index: views.select(self, dim, index))


@op("aten::diagonal", variants="function, method", tags="core")
def diagonal(self: Tensor[Alias("a")], offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor[Alias("a")]:
    """Return a view of the diagonal of two dimensions, which becomes the last dimension."""
    ...


diagonal.view_kernel("CompositeExplicitAutograd")(
    lambda self, offset, dim1, dim2: views.diagonal(self, offset, dim1, dim2)
)


@op("aten::unfold", variants="method")
def unfold(self: Tensor[Alias("a")], dimension: int, size: int, step: int) -> Tensor[Alias("a")]:
    """Return a view of sliding windows of ``size`` elements at the distance ``step``; the window is a new last
    dimension.
    """
    ...


unfold.view_kernel(*EVERYWHERE)(lambda self, dimension, size, step: views.unfold(self, dimension, size, step))


def number_of(start: Tensor) -> int:
    """Return the integer in a zero-dim tensor. Raises ShapeError: the tensor has another dtype, or dimensions."""
    check(start.ndim == 0 and start.dtype.category is Category.INT, "start must be an 0-dim integral Tensor.")
    return int(start)


@narrow.overload("Tensor", kernel="CompositeImplicitAutograd", variants="function, method")
@forward(narrow, start=number_of)
def narrow_from(self: Tensor[Alias("a")], dim: int, start: Tensor, length: SymInt) -> Tensor[Alias("a")]:
    """Return ``narrow`` whose start is a zero-dim tensor of integers."""


@op("aten::unfold_backward", kernel=True, variants="function")
def unfold_backward(grad_in: Tensor, input_sizes: list[SymInt], dim: int, size: int, step: int) -> Tensor:
    """Return the gradient of ``unfold``: each element gets the sum over all windows that contain it."""
    whole = grad_in.new_zeros(input_sizes)
    if not whole.ndim:
        return grad_in.reshape(())
    windows = whole.unfold(dim, size, step).shape
    check(grad_in.shape == windows, f"expected a gradient of windows of shape {list(windows)}", got=grad_in.shape)
    dim %= whole.ndim
    count = grad_in.shape[dim]
    if count < size:  # add window by window
        for at in range(count):
            slice_tensor(whole, dim, at * step, at * step + size).add_(grad_in.select(dim, at).movedim(-1, dim))
        return whole
    for at in range(size):  # elements at one index of all windows do not overlap
        part = slice_tensor(whole, dim, at, at + (count - 1) * step + 1, step)
        part.add_(grad_in.select(-1, at))
    return whole


unfold_backward.adjoint(unfold, "self", dim="dimension")


@unfold.derivative("self")
def unfold_derivative(grad, self, dimension, size, step):
    return unfold_backward(grad, self.shape, dimension, size, step)
