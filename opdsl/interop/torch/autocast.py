"""Rules of registered operators within ``torch.autocast``.

torch has three lists of operators: those that run in the lower precision, those that run in float32, and those that
promote. An operator of opdsl promotes by its own rules. One that multiplies matrices runs in the lower precision, as
torch's do. In both cases autocast is off beneath it, so that its body computes the same with and without gradients.
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

# Source: "CUDA Ops that can autocast to float16" and their CPU kin, in torch's documentation of torch.amp.
_PRODUCTS = frozenset(
    (
        *("matmul", "mm", "bmm", "mv", "addmm", "addbmm", "addmv", "addr", "baddbmm", "chain_matmul", "multi_dot"),
        *("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        *("convolution", "einsum", "scaled_dot_product_attention", "lstm_cell", "gru_cell", "rnn_tanh_cell"),
        "rnn_relu_cell",
    )
)


class Bridge(Protocol):
    """An operator that torch has, see ``opdsl.interop.torch.bridge``."""

    operator: Operator

    @property
    def overload(self) -> Callable[..., Any]:
        """The torch operator."""

    def implement(self, function: Callable[..., Any], key: str) -> None:
        """Register what a dispatch key of torch runs."""


def check(rule: str) -> Autocast:
    """Return a rule that a user has given.

    Raises:
        OptionError: there is no such rule.
    """
    rules: tuple[Autocast, ...] = get_args(Autocast)
    for known in rules:
        if rule == known:
            return known
    raise OptionError(f"register: autocast={rule!r} is no rule. Use one of: {', '.join(map(repr, rules))}.")


def attach(bridge: Bridge, rule: Autocast) -> None:
    """Register what autocast's keys run.

    Args:
        bridge: an operator that torch has.
        rule: what its floating-point tensors are cast to.
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
    """Return whether what an operator comes to multiplies matrices, by the names in its code.

    Args:
        operator: which.
    """
    text = _Products()
    for _ in text.operator(operator):
        pass
    return text.has_matmul or not _PRODUCTS.isdisjoint(text.names)


class _Products(OperatorText):
    """The text of an operator, and whether the operator ``@`` stands in it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_matmul = False

    def function(self, function: types.FunctionType) -> Iterator[str]:
        """See ``OperatorText``."""
        self.has_matmul |= any(instruction.argrepr in ("@", "@=") for instruction in dis.get_instructions(function))
        yield from super().function(function)
