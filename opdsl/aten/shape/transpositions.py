"""Views with permuted dimensions: ``t``, ``transpose``, ``permute``, ``movedim``, ``T``, ``mT``, ``H``, ``mH``."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.aten.shape.views import alias
from opdsl.declare import Inplace, forward, op, traceable
from opdsl.kernels import check
from opdsl.runtime import Tensor, install_method, views, wrap_dimension
from opdsl.schema import Alias

METHOD = Inplace(variants="method")
"""Option for the in-place variant, a method that makes the tensor itself the view."""


@op("aten::t", variants="function, method", inplace=METHOD)
def t(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return the transpose of a matrix as a view; vectors and zero-dim tensors are unchanged."""
    ...


t.view_kernel("CompositeExplicitAutograd")(lambda self: views.t(self))


@op("aten::transpose.int", variants="function, method", inplace=Inplace("transpose_", variants="method"))
def transpose(self: Tensor[Alias("a")], dim0: int, dim1: int) -> Tensor[Alias("a")]:
    """Return a view with two dimensions swapped."""
    ...


transpose.view_kernel("CompositeExplicitAutograd")(lambda self, dim0, dim1: views.transpose(self, dim0, dim1))


@op("aten::permute", variants="function, method", tags="core")
def permute(self: Tensor[Alias("a")], dims: list[int]) -> Tensor[Alias("a")]:
    """Return a view with the dimensions in the order ``dims``."""
    ...


permute.view_kernel("CompositeExplicitAutograd")(lambda self, dims: views.permute(self, dims))


@op("aten::swapaxes", inplace=METHOD, variants="function, method")
@forward(transpose, "self", "axis0", "axis1")
def swapaxes(self: Tensor[Alias("a")], axis0: int, axis1: int) -> Tensor[Alias("a")]:
    """Return a view with two dimensions swapped; NumPy's name of ``transpose``."""


@op("aten::swapdims", inplace=METHOD, variants="function, method")
@forward(transpose)
def swapdims(self: Tensor[Alias("a")], dim0: int, dim1: int) -> Tensor[Alias("a")]:
    """Return a view with two dimensions swapped; another name of ``transpose``."""


@op("aten::movedim.intlist", variants="function, method")
@traceable
def movedim(self: Tensor[Alias("a")], source: list[int], destination: list[int]) -> Tensor[Alias("a")]:
    """Return a view with the dimensions ``source`` moved to ``destination``; the others keep their order."""
    order = moved(source, destination, self.ndim)
    return self.permute(order) if order else alias(self)


@movedim.overload("int", variants="function, method")
@forward(movedim, source=lambda source: (source,), destination=lambda destination: (destination,))
def movedim_one(self: Tensor[Alias("a")], source: int, destination: int) -> Tensor[Alias("a")]:
    """Return a view with one dimension moved; the others keep their order."""


movedim.alias("aten::moveaxis.intlist")
movedim_one.alias("aten::moveaxis.int")


def moved(source: Sequence[int], destination: Sequence[int], ndim: int) -> list[int]:
    """Return the order of dimensions after moving those in ``source`` to ``destination``.

    Raises:
        DimensionError: there is no such dimension.
        ShapeError: the lists differ in length, or one names a dimension twice.
    """
    check(
        len(source) == len(destination),
        f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of "
        f"dims as destination ({list(destination)} dims)",
    )
    taken = [wrap_dimension(dim, ndim) for dim in source]
    places = [wrap_dimension(dim, ndim) for dim in destination]
    for name, dims, numbers in (("source", taken, source), ("destination", places, destination)):
        check(len(set(dims)) == len(dims), f"movedim: repeated dim in `{name}` ({list(numbers)})")
    standing = dict(zip(places, taken, strict=True))
    rest = iter([dim for dim in range(ndim) if dim not in taken])
    return [standing[index] if index in standing else next(rest) for index in range(ndim)]


# ------------------------------------------------------------------------------------------------ T, mT, H, mH, adjoint


@op("aten::numpy_T", variants="method")
@forward(permute, dims=lambda self: tuple(reversed(range(self.ndim))))
def numpy_T(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view with the order of all dimensions reversed: ``x.T``."""


@op("aten::mT", variants="method")
@traceable
def mT(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view with each matrix of a batch transposed: ``x.mT``."""
    return matrices(self, "mT").transpose(-2, -1) if self.ndim else self


@op("aten::adjoint", variants="function, method")
@traceable
def adjoint(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view with each matrix of a batch transposed and conjugated."""
    turned = matrices(self, "adjoint()").transpose(-2, -1) if self.ndim else self
    return turned.conj()


def matrices(tensor: Tensor, name: str) -> Tensor:
    """Return the tensor; raise ShapeError if it is a vector."""
    check(
        tensor.ndim != 1,
        f"tensor.{name} is only supported on matrices or batches of matrices. Got {tensor.ndim}-D tensor.",
    )
    return tensor


def a_matrix(self: Tensor) -> Tensor:
    """Return the tensor; raise ShapeError if it is neither a matrix nor zero-dim."""
    hint = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
    check(self.ndim in (0, 2), f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{hint}")
    return self


@op("aten::matrix_H", variants="method")
@forward(adjoint, self=a_matrix)
def matrix_H(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of a matrix, transposed and conjugated: ``x.H``."""


@op("aten::mH", variants="method")
@forward(adjoint, self=lambda self: matrices(self, "mH"))
def mH(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view with each matrix of a batch transposed and conjugated: ``x.mH``."""


# Properties of a tensor, by their names in PyTorch.
for _name, _packet in {"T": numpy_T, "mT": mT, "H": matrix_H, "mH": mH}.items():
    install_method(_name, property(_packet), replace=True)
