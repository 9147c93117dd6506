"""Rules of registered operators within ``torch.autocast``.

torch has three lists of operators: those that run in the lower precision, those that run in float32, and those that
promote. An operator of opdsl promotes by its own rules, unless it multiplies matrices; then it runs in the lower
precision, as in torch. In both cases autocast is off within it, so that its body computes the same with and without
gradients.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, get_args

import torch

from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.interop.torch.digests import OperatorText

__all__ = ["Autocast", "attach", "check", "multiplies"]

Autocast = Literal["derived", "lower_precision", "float32", "given"]

_DEVICES = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}

# Source: "CUDA Ops that can autocast to float16", and the same section for CPU, in torch's documentation of torch.amp.
_PRODUCTS = frozenset(
    (
        *("matmul", "mm", "bmm", "mv", "addmm", "addbmm", "addmv", "addr", "baddbmm", "chain_matmul", "multi_dot"),
        *("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        *("convolution", "einsum", "scaled_dot_product_attention", "lstm_cell", "gru_cell", "rnn_tanh_cell"),
        "rnn_relu_cell",
    )
)


class Bridge(Protocol):
    """Protocol of an operator registered in torch, see ``opdsl.interop.torch.bridge``."""

    operator: Operator

    @property
    def overload(self) -> Callable[..., Any]:
        """Return the torch operator."""

    def implement(self, function: Callable[..., Any], key: str) -> None:
        """Register a function as the kernel for a dispatch key of torch."""


def check(rule: str) -> Autocast:
    """Return a user's autocast rule after checking that it exists.

    Raises:
        OptionError: there is no such rule.
    """
    rules: tuple[Autocast, ...] = get_args(Autocast)
    for known in rules:
        if rule == known:
            return known
    raise OptionError(f"register: autocast={rule!r} is no rule. Use one of: {', '.join(map(repr, rules))}.")


def attach(bridge: Bridge, rule: Autocast) -> None:
    """Register autocast kernels of an operator for torch's autocast keys.

    Args:
        bridge: the operator in torch.
        rule: the rule that says which dtype its floating-point tensors are cast to.
    """
    if rule == "derived":
        rule = "lower_precision" if multiplies(bridge.operator) else "given"
    for device, key in _DEVICES.items():
        bridge.implement(_kernel(bridge, device, key, rule), key)


def _kernel(bridge: Bridge, device: str, key: str, rule: Autocast) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def under_autocast(*positional: Any, **named: Any) -> Any:
        dtype = torch.get_autocast_dtype(device) if rule == "lower_precision" else torch.float32
        if rule != "given":
            positional = tuple(_cast(value, device, dtype) for value in positional)
            named = {name: _cast(value, device, dtype) for name, value in named.items()}
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return bridge.overload(*positional, **named)

    return under_autocast


def _cast(value: Any, device: str, dtype: torch.dtype) -> Any:
    """Cast the floating-point tensors of a device, but not float64, which autocast leaves alone."""
    if isinstance(value, list | tuple):
        return type(value)(_cast(element, device, dtype) for element in value)
    if not isinstance(value, torch.Tensor) or value.device.type != device:
        return value
    is_cast = value.is_floating_point() and value.dtype != torch.float64
    return value.to(dtype) if is_cast else value


def multiplies(operator: Operator) -> bool:
    """Return whether an operator multiplies matrices, judging by the names in its code and in the code that it calls.

    Args:
        operator: the operator to inspect.
    """
    text = _Products()
    for _ in text.operator(operator):
        pass
    return text.has_matmul or not _PRODUCTS.isdisjoint(text.names)


class _Products(OperatorText):
    """Collector of the names in an operator's code, which also notes whether the operator ``@`` occurs."""

    def __init__(self) -> None:
        super().__init__()
        self.has_matmul = False

    def function(self, function: types.FunctionType) -> Iterator[str]:
        """See ``OperatorText``."""
        self.has_matmul |= any(instruction.argrepr in ("@", "@=") for instruction in dis.get_instructions(function))
        yield from super().function(function)
