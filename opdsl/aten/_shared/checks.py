"""Checks that several operators share, with PyTorch's error messages."""

from __future__ import annotations

from opdsl.errors import NumberError, UnsupportedDTypeError
from opdsl.kernels import check, range_of
from opdsl.runtime import Category, DType, Tensor, bool_, int64


def is_boolean(operand: Tensor | complex) -> bool:
    """Return whether an operand is a bool tensor or a Python bool."""
    return operand.dtype.category is Category.BOOL if isinstance(operand, Tensor) else isinstance(operand, bool)


def category_of(operand: Tensor | complex) -> Category:
    """Return the category of numbers (bool, integer, floating or complex) that an operand belongs to."""
    if isinstance(operand, Tensor):
        return operand.dtype.category
    kinds = (bool, Category.BOOL), (int, Category.INT), (float, Category.FLOAT)
    return next((category for kind, category in kinds if isinstance(operand, kind)), Category.COMPLEX)


def require_floating(operator: str, tensor: Tensor, *others: DType) -> None:
    """Raise an error for a dtype that PyTorch has no kernel for: one that is neither floating nor listed in ``others``.

    Raises:
        UnsupportedDTypeError: the dtype is neither floating nor one of ``others``.
    """
    has_one = tensor.dtype.category is Category.FLOAT or tensor.dtype in others
    require_kernel(has_one, operator, tensor.dtype, ". Convert first: x.to(float32).")


def real(number: complex) -> float:
    """Return the real part of a number that must be real.

    Raises:
        NumberError: the number has an imaginary part.
    """
    if number.imag:
        raise NumberError("value cannot be converted to type double without overflow")
    return number.real


def check_alpha(self: Tensor | complex, other: Tensor | complex, alpha: complex, name: str = "alpha") -> None:
    """Check that ``alpha`` fits the result's dtype (``alpha_check`` in ATen/native/BinaryOps.h).

    Args:
        self, other: the operands, which determine the result's category of numbers.
        alpha: the factor to check.
        name: the argument's name in the error message.

    Raises:
        ShapeError: ``alpha`` is a bool for numbers, a float for integers, or a complex number for real numbers.
    """
    category = max(category_of(self), category_of(other))
    is_flag = isinstance(alpha, bool)
    check(not is_flag or category is Category.BOOL, f"Boolean {name} only supported for Boolean results.")
    check(
        category >= Category.FLOAT or isinstance(alpha, int),
        f"For integral input tensors, argument {name} must not be a floating point number.",
    )
    check(
        category is Category.COMPLEX or not isinstance(alpha, complex) or isinstance(alpha, (int, float)),
        f"For non-complex input tensors, argument {name} must not be a complex number.",
    )


def holds(condition: Tensor) -> bool:
    """Return whether all elements of a condition are True; always True on meta, where elements are unknown."""
    return condition.is_meta or range_of(condition.to(int64)) in (None, (1, 1))


def require_kernel(has_one: bool, kernel: str, dtype: DType, hint: str = "") -> None:
    """Raise an error if PyTorch has no kernel for a dtype.

    Args:
        has_one: whether PyTorch has a kernel.
        kernel: PyTorch's name of the kernel, for the error message.
        dtype: the dtype of the call.
        hint: text that is appended to the error message.

    Raises:
        UnsupportedDTypeError: ``has_one`` is false.
    """
    if not has_one:
        raise UnsupportedDTypeError(f"\"{kernel}\" not implemented for '{dtype.scalar_type}'{hint}")


def is_ordered(dtype: DType) -> bool:
    """Return whether PyTorch compares numbers of a dtype by size: True unless the dtype is bool or complex."""
    return not (dtype is bool_ or dtype.is_complex)


CONVERT = ". Convert first: x.to(float32)."
"""End of an error message: the remedy for an unsupported dtype."""
