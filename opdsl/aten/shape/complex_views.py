"""Views of complex tensors as pairs of real numbers and back; and lazily conjugated or negated views."""

from __future__ import annotations

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, complex64, complex128, float32, float64, install_method, make_view
from opdsl.schema import Alias

_PARTS = {complex64: float32, complex128: float64}
_PAIRS = {real: pair for pair, real in _PARTS.items()}


@op("aten::view_as_real", kernel=EVERYWHERE)
def view_as_real(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of a complex tensor as real numbers, with a last dimension of size 2 for real and
    imaginary part.
    """
    check(self.is_complex(), "view_as_real is only supported for complex tensors")
    check(
        not self.is_conj(),
        "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view "
        "it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
        "original.",
    )
    strides = tuple(2 * stride for stride in self.strides)
    return make_view(self, (*self.shape, 2), (*strides, 1), 2 * self.storage_offset(), _PARTS[self.dtype])


@op("aten::view_as_complex", kernel=EVERYWHERE)
def view_as_complex(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of real numbers as complex ones, whose real and imaginary parts are in the last dimension of size
    2.
    """
    if self.dtype not in _PAIRS:
        raise DTypeError(
            "view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: "
            f"{self.dtype.scalar_type}"
        )
    check(self.ndim > 0, "Input tensor must have one or more dimensions")
    check(self.shape[-1] == 2, "Tensor must have a last dimension of size 2")
    check(self.strides[-1] == 1, "Tensor must have a last dimension with stride 1")
    check(
        all(stride % 2 == 0 for stride in self.strides[:-1]),
        "Tensor must have a stride divisible by 2 for all but last dimension",
    )
    offset = self.storage_offset()
    check(offset % 2 == 0, "Tensor must have a storage_offset divisible by 2")
    strides = tuple(stride // 2 for stride in self.strides[:-1])
    return make_view(self, self.shape[:-1], strides, offset // 2, _PAIRS[self.dtype])


@op("aten::real")
def real(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of the real parts; a real tensor is returned itself."""
    if not self.is_complex():
        return self
    return view_as_real(_conj(self) if self.is_conj() else self).select(-1, 0)


@op("aten::imag")
def imag(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of the imaginary parts of a complex tensor."""
    check(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.")
    parts = _neg_view(view_as_real(_conj(self))) if self.is_conj() else view_as_real(self)
    return parts.select(-1, 1)


@op("aten::_conj", kernel="CompositeExplicitAutograd", variants="function, method")
def _conj(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of a complex tensor that is conjugated when it is read."""
    check(self.is_complex(), "_conj is only supported for complex tensors", dtype=self.dtype)
    view = make_view(self, self.shape, self.strides)
    view.geometry = view.geometry.replace(is_conj=not self.is_conj())
    return view


_conj.derivative(self=lambda grad: grad.conj())


@op("aten::_neg_view", kernel="CompositeExplicitAutograd", variants="function, method")
def _neg_view(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view that is negated when it is read."""
    check(self.dtype is not bool_, "_neg_view: bools have no negatives", dtype=self.dtype)
    view = make_view(self, self.shape, self.strides)
    view.geometry = view.geometry.replace(is_neg=not self.is_neg())
    return view


_neg_view.derivative(self=lambda grad: -grad)


@op("aten::conj", variants="function, method")
def conj(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a view of a complex tensor that is conjugated when it is read; a real tensor is returned itself."""
    return _conj(self) if self.is_complex() else self


@op("aten::resolve_conj", variants="function, method")
def resolve_conj(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a copy with the conjugates computed if the tensor is a lazily conjugated view, else the tensor itself."""
    return _conj(self).conj_physical() if self.is_conj() else self


@op("aten::resolve_neg", variants="function, method")
def resolve_neg(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return a copy with the negatives computed if the tensor is a lazily negated view, else the tensor itself."""
    return _neg_view(self).neg() if self.is_neg() else self


@op("aten::is_conj", variants="function, method")
def is_conj(self: Tensor) -> bool:
    """Return whether the tensor is a view that is conjugated when it is read."""
    return self.geometry.is_conj


@op("aten::is_neg", variants="function, method")
def is_neg(self: Tensor) -> bool:
    """Return whether the tensor is a view that is negated when it is read."""
    return self.geometry.is_neg


def set_real(self: Tensor, value: object) -> None:
    """Write the real parts: ``x.real = value``."""
    real(self)[...] = value


def set_imag(self: Tensor, value: object) -> None:
    """Write the imaginary parts: ``x.imag = value``."""
    imag(self)[...] = value


# As in PyTorch, these are properties of a tensor, too.
install_method("real", property(real, set_real), replace=True)
install_method("imag", property(imag, set_imag), replace=True)
