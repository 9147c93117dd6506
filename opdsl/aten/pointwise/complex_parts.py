"""Operators that build complex tensors: from real and imaginary parts (``complex``), or magnitude and angle
(``polar``).
"""

from __future__ import annotations

from opdsl.aten.pointwise.arithmetic import add
from opdsl.aten.shape.complex_views import imag, real, view_as_real
from opdsl.declare import op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import copy_, new_tensor
from opdsl.runtime import DType, Tensor, complex64, complex128, float32, float64
from opdsl.runtime.geometry import geometry

COMPLEX: dict[DType, DType] = {float32: complex64, float64: complex128}


def check_parts(first: Tensor, second: Tensor) -> DType:
    """Return the complex dtype whose real and imaginary parts have the dtype of two given tensors.

    Raises:
        DTypeError: the dtypes differ, or are not floating-point.
        UnsupportedDTypeError: there is no such complex dtype.
    """
    for part in (first, second):
        if not part.dtype.is_floating_point or part.dtype.is_encoded:
            raise DTypeError(
                "Expected both inputs to be Half, Float or Double tensors but got "
                f"{first.dtype.scalar_type} and {second.dtype.scalar_type}"
            )
    if first.dtype is not second.dtype:
        raise DTypeError(
            f"Expected object of scalar type {first.dtype.scalar_type} but got scalar type "
            f"{second.dtype.scalar_type} for second argument"
        )
    if first.dtype not in COMPLEX:
        raise UnsupportedDTypeError("there are no complex numbers of float16. Convert first: x.to(float32).")
    return COMPLEX[first.dtype]


def joined(real: Tensor, imag: Tensor, dtype: DType) -> Tensor:
    """Return a complex tensor with the given real and imaginary parts, which broadcast."""
    like = add(real, imag)
    output = new_tensor(geometry(dtype, like.device, like.shape, like.strides))
    parts = view_as_real(output)
    copy_(parts.select(-1, 0), real)
    copy_(parts.select(-1, 1), imag)
    return output


@op("aten::complex", kernel="CompositeExplicitAutograd", variants="function", out=True)
def complex_of(real: Tensor, imag: Tensor) -> Tensor:
    """``real + 1j * imag``; both parts are float32, or both float64."""
    return joined(real, imag, check_parts(real, imag))


complex_of.sharding(elementwise=True)
complex_of.derivative(real=lambda grad: real(grad), imag=lambda grad: imag(grad))


@op("aten::polar", kernel="CompositeExplicitAutograd", variants="function", out=True)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """``abs * exp(1j * angle)``; both operands are float32, or both float64."""
    dtype = check_parts(abs, angle)
    return joined(abs * angle.cos(), abs * angle.sin(), dtype)


polar.sharding(elementwise=True)
polar.derivative(
    abs=lambda grad, result: real(grad.conj() * result.sgn()),
    angle=lambda grad, result: real(grad.conj() * result * 1j),
)
