"""Python's operators on tensors: ``a + b``, ``a @ b``, ``a < b``."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.aten import load_packet
from opdsl.dispatch import Operator, get_default_dtype, registry
from opdsl.runtime import Tensor, install_method, is_installed
from opdsl.runtime.representation import representation

# Special methods that are a packet's function with the tensor first.
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
    "__matmul__": "matmul",
    "__neg__": "neg",
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


def divide_number(self: Tensor, other: object) -> Tensor:
    """``other / self``, as PyTorch computes it: the reciprocal times the number."""
    return self.reciprocal() * other


def represent(self: Tensor) -> str:
    """The tensor's text, which names the dtype where it is not the default one."""
    return representation(self, get_default_dtype())


OTHERS: dict[str, Callable[..., object]] = {"__rtruediv__": divide_number, "__repr__": represent}


def install(name: str) -> None:
    """Install a special method on Tensor, once."""
    if is_installed(name):
        return
    if name in OTHERS:
        install_method(name, OTHERS[name], replace=True)
        return
    packet = DIRECT[name]
    load_packet(packet)
    # rsub is the one packet here without a method.
    select = _is_function if packet == "rsub" else _is_method
    facade = registry.packets[f"aten::{packet}"].facade(select, is_method=True, name=name, not_implemented=True)
    install_method(name, facade.function, replace=True)
