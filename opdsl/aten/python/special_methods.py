"""Special methods of tensors for Python's operators: ``a + b``, ``a @ b``, ``a < b``, ``x in a``."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.aten import load_packet
from opdsl.dispatch import Operator, get_default_dtype, registry
from opdsl.errors import ArgumentError, ConversionError
from opdsl.runtime import Tensor, install_method, is_installed
from opdsl.runtime.interchange import operand
from opdsl.runtime.methods import named_as_method
from opdsl.runtime.representation import representation
from opdsl.schema.vocabulary import Scalar

# Special methods that call a packet with the tensor as the first argument.
DIRECT = {
    "__add__": "add",
    "__radd__": "add",
    "__iadd__": "add_",
    "__sub__": "sub",
    "__rsub__": "rsub",
    "__isub__": "sub_",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__imul__": "mul_",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__floordiv__": "floor_divide",
    "__ifloordiv__": "floor_divide_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__pow__": "pow",
    "__ipow__": "pow_",
    "__matmul__": "matmul",
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__eq__": "eq",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
}


def _is_method(operator: Operator) -> bool:
    return operator.is_bound and "method" in str(operator.properties["variants"])


def _is_function(operator: Operator) -> bool:
    return operator.is_bound


def divide_number(self: Tensor, other: Scalar) -> Tensor:
    """``other / self``, computed as in PyTorch: the reciprocal times the number; a quotient if ``other`` is
    an array.
    """
    beside = operand(other)
    # __mul__ returns NotImplemented for unknown types, so that Python tries the other operand's method.
    return beside / self if isinstance(beside, Tensor) else self.reciprocal().__mul__(other)


def represent(self: Tensor) -> str:
    """Return the text of the tensor, which names the dtype unless it is the default one."""
    return representation(self, get_default_dtype())


def invert(self: Tensor) -> Tensor:
    """``~self``

    Raises:
        ArgumentError: the tensor holds neither integers nor bools.
    """
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise ArgumentError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors (got {self.dtype})"
        )
    return self.bitwise_not()


def contains(self: Tensor, element: Tensor | complex) -> bool:
    """Return ``element in self``: whether any element of the tensor equals it.

    Raises:
        ConversionError: ``element`` is no tensor and no number.
    """
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise ConversionError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
    return bool((self == element).any())


def backwards(self: Tensor) -> Tensor:
    """Return ``reversed(self)``: the tensor with its first dimension flipped."""
    return self.flip(0) if self.ndim else self


OTHERS: dict[str, Callable[..., object]] = {
    "__contains__": contains,
    "__rtruediv__": divide_number,
    "__invert__": invert,
    "__repr__": represent,
    "__reversed__": backwards,
}

# Special methods that call a packet with the tensor as the second argument.
REFLECTED = {
    "__rfloordiv__": "floor_divide",
    "__rmatmul__": "matmul",
    "__rmod__": "remainder",
    "__rpow__": "pow",
    "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}


def _reflected(name: str, function: Callable[..., Tensor]) -> Callable[..., object]:
    """Return a special method that calls a function with its two operands swapped."""

    def reflected(self: Tensor, other: Scalar) -> Tensor:
        try:
            result = function(operand(other), self)
        except ArgumentError:
            result = NotImplemented
        return result

    reflected.__name__ = reflected.__qualname__ = name
    return reflected


def install(name: str) -> None:
    """Install a special method on Tensor, unless it is installed already."""
    if is_installed(name):
        return
    if name in OTHERS:
        install_method(name, OTHERS[name], replace=True)
        return
    base = REFLECTED.get(name) or DIRECT[name]
    load_packet(base)
    packet = registry.packets[f"aten::{base}"]
    with registry.lock:  # only one thread installs
        if is_installed(name):
            return
        if name in REFLECTED:
            install_method(name, _reflected(name, packet.function), replace=True)
            return
        # rsub is the only one of these packets without a method.
        select = _is_function if base == "rsub" else _is_method
        lazy_function = packet.lazy_function(select, is_method=True, name=name, not_implemented=True)
        install_method(name, named_as_method(lazy_function.function, name), replace=True)
