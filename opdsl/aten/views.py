"""Operators whose results share their argument's memory."""

from __future__ import annotations

from functools import lru_cache

from opdsl.declare import op
from opdsl.errors import DimensionError
from opdsl.runtime import DType, MemoryFormat, Tensor, make_view, view_of, views, wrap_dimension
from opdsl.runtime.geometry import Geometry
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt

# -------------------------------------------------------------------------------------------------------- t, transpose


@op("aten::t", variants="function, method", device_check="NoCheck", device_guard=False)
def t(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """The transpose of a matrix; vectors and numbers stay as they are."""
    ...


@t.view_kernel("CompositeExplicitAutograd")
def t_view(self):
    return views.t(self)


@op("aten::t_", variants="method", tags="inplace_view", device_check="NoCheck", device_guard=False)
def t_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Transposes a matrix by changing its strides."""
    ...


@t_.kernel("CompositeExplicitAutograd")
def t_inplace_kernel(self):
    return become(self, views.t(view_of(self)))


@op("aten::transpose.int", variants="function, method", device_check="NoCheck", device_guard=False)
def transpose(self: Tensor[Alias("a")], dim0: int, dim1: int) -> Tensor[Alias("a")]:
    """Two dimensions change places."""
    ...


@transpose.view_kernel("CompositeExplicitAutograd")
def transpose_view(self, dim0, dim1):
    return views.transpose(self, dim0, dim1)


@op("aten::transpose_", variants="method", tags="inplace_view", device_check="NoCheck", device_guard=False)
def transpose_(self: Tensor[Alias("a", write=True)], dim0: int, dim1: int) -> Tensor[Alias("a", write=True)]:
    """Two dimensions change places, by changing the strides."""
    ...


@transpose_.kernel("CompositeExplicitAutograd")
def transpose_inplace_kernel(self, dim0, dim1):
    return become(self, views.transpose(view_of(self), dim0, dim1))


def become(tensor: Tensor, view: views.View) -> Tensor:
    """Make a tensor show its memory in another way."""
    shown = make_view(tensor, *view)
    tensor.array = shown.array
    tensor.geometry = tensor.geometry.replace(shape=view.shape, strides=view.strides)
    return tensor


@op("aten::permute", variants="function, method", tags="core")
def permute(self: Tensor[Alias("a")], dims: list[int]) -> Tensor[Alias("a")]:
    """The dimensions in another order."""
    ...


@permute.view_kernel("CompositeExplicitAutograd")
def permute_view(self, dims):
    return views.permute(self, dims)


# ------------------------------------------------------------------------------------------------------- view, reshape


@op("aten::view", variants="method", tags="core", device_check="NoCheck", device_guard=False)
def view(self: Tensor[Alias("a")], size: list[SymInt]) -> Tensor[Alias("a")]:
    """Another shape of the same elements, where strides can show it."""
    ...


@view.view_kernel("CPU", "CUDA", "Meta")
def view_view(self, size):
    return views.view(self, size)


@view.overload("dtype", variants="method", device_check="NoCheck", device_guard=False)
def view_dtype(self: Tensor[Alias("a")], dtype: DType) -> Tensor[Alias("a")]:
    """The same bytes as elements of another dtype."""
    ...


@view_dtype.kernel("CompositeExplicitAutograd")
def view_dtype_kernel(self, dtype):
    return make_view(self, *views.view_as_dtype(view_of(self), self.dtype, dtype), dtype)


@op("aten::reshape", variants="function, method", device_check="NoCheck", device_guard=False)
def reshape(self: Tensor[Alias("a")], shape: list[SymInt]) -> Tensor[Alias("a")]:
    """Another shape of the same elements: a view where strides can show it, a copy elsewhere."""
    wanted, shows = reshaped(self.geometry, shape)
    return (self if shows else self.clone(memory_format=MemoryFormat.contiguous_format)).view(wanted)


@lru_cache(maxsize=1024)
def reshaped(form: Geometry, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The shape with its -1 filled in, and whether a view of such tensors can show it."""
    wanted, seen = views.reshape(views.View(form.shape, form.strides), shape)
    return wanted, seen is not None


# ----------------------------------------------------------------------------------------- parts and added dimensions


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


@op("aten::select.int", variants="function, method", tags="core", device_check="NoCheck", device_guard=False)
def select(self: Tensor[Alias("a")], dim: int, index: SymInt) -> Tensor[Alias("a")]:
    """One position of a dimension, which disappears."""
    ...


@select.view_kernel("CompositeExplicitAutograd")
def select_view(self, dim, index):
    return views.select(self, dim, index)


@op("aten::expand", variants="method", tags="core", device_check="NoCheck", device_guard=False)
def expand(self: Tensor[Alias("a")], size: list[SymInt], *, implicit: bool = False) -> Tensor[Alias("a")]:
    """Dimensions of size 1, and new ones in front, repeated without a copy."""
    ...


@expand.view_kernel("CompositeExplicitAutograd")
def expand_view(self, size, implicit):
    return views.expand(self, size)


@op("aten::unsqueeze", variants="function, method", tags="core", device_check="NoCheck", device_guard=False)
def unsqueeze(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]:
    """A dimension of size 1 more."""
    ...


@unsqueeze.view_kernel("CompositeExplicitAutograd")
def unsqueeze_view(self, dim):
    return views.unsqueeze(self, dim)


@op("aten::squeeze", variants="function, method", device_check="NoCheck", device_guard=False)
def squeeze(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Without the dimensions of size 1."""
    ...


@squeeze.view_kernel("CompositeExplicitAutograd")
def squeeze_view(self):
    return views.squeeze(self)


@squeeze.overload("dim", variants="function, method", tags="core", device_check="NoCheck", device_guard=False)
def squeeze_dim(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]:
    """Without a dimension, if its size is 1."""
    ...


@squeeze_dim.view_kernel("CompositeExplicitAutograd")
def squeeze_dim_view(self, dim):
    return views.squeeze(self, dim)


@squeeze.overload("dims", variants="function, method", tags="core", device_check="NoCheck", device_guard=False)
def squeeze_dims(self: Tensor[Alias("a")], dim: list[int]) -> Tensor[Alias("a")]:
    """Without those of the dimensions whose size is 1."""
    ...


@squeeze_dims.view_kernel("CompositeExplicitAutograd")
def squeeze_dims_view(self, dim):
    return views.squeeze(self, dim)


@op("aten::unbind.int", variants="function, method")
def unbind(self: Tensor[Alias("a", after="*")], dim: int = 0) -> list[Tensor[Alias("a")]]:
    """Every position of a dimension as a tensor of its own."""
    ...


@unbind.kernel("CompositeExplicitAutograd")
def unbind_kernel(self, dim):
    if self.ndim == 0:
        raise DimensionError(f"aten::unbind.int: Dimension specified as {dim} but tensor has no dimensions")
    size = self.shape[wrap_dimension(dim, self.ndim)]
    return [self.select(dim, index) for index in range(size)]
