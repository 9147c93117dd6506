"""Table of opdsl kernels that override torch's CPU kernels, with the condition for each.

They compute in float32, on contiguous tensors, from a minimum number of elements on: below it a call from torch into
Python costs more than the faster loop saves. The minima come from measurements by ``benchmarks/torch_overrides.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from opdsl import aten
from opdsl.dispatch import Operator, registry
from opdsl.interop.torch.calls import Completion
from opdsl.interop.torch.tensors import DTYPES, array_over
from opdsl.runtime import Tensor, TensorMeta, contiguous_strides, cpu
from opdsl.runtime.geometry import geometry
from opdsl.runtime.init_hooks import prepare

__all__ = ["FUSED", "Fill", "Fused"]


class Fused(NamedTuple):
    """Implementation of a torch operator and the condition under which it is used; both take the operator's
    arguments.
    """

    condition: Callable[..., bool]
    implementation: Callable[..., Any]


class Fill:
    """Adapter that runs an ``out=`` operator of opdsl on the memory of torch tensors.

    Args:
        name: the operator's, ``"aten::gelu.out"``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def operator(self) -> Operator:
        """Return the operator, loading it on first use."""
        prepare()
        aten.load_packet(self.name.partition("::")[2].partition(".")[0])
        return registry.operator(self.name)

    @cached_property
    def completion(self) -> Completion:
        """Return the helper that completes the arguments of calls."""
        return Completion(self.operator)

    @cached_property
    def function(self) -> Callable[..., object]:
        """Return the operator's function, whose calls are planned."""
        return self.operator.function

    def __call__(self, *values: Any) -> None:
        """Compute the operator into its output arguments.

        Args:
            values: the operator's arguments, in the order of its schema: contiguous tensors on the CPU, numbers, None,
                tuples.
        """
        positional, named = self.completion.split(
            [_shared(value) if isinstance(value, torch.Tensor) else value for value in values]
        )
        self.function(*positional, **named)


def _shared(source: torch.Tensor) -> Tensor:
    """Return a tensor over the memory of a contiguous torch tensor on the CPU."""
    shared = Tensor()
    shared.geometry = form = _form(source.dtype, source.shape)
    shared.array = array_over(source, form)
    shared._writes = 0
    shared._base = None
    return shared


@lru_cache(maxsize=4096)
def _form(dtype: torch.dtype, shape: torch.Size) -> TensorMeta:
    sizes = tuple(shape)
    return geometry(DTYPES[dtype], cpu, sizes, contiguous_strides(sizes))


# --------------------------------------------------------------------------------------------------------- conditions


_is_copied_on_write: Callable[[torch.Tensor], bool] = torch._C._is_cow_tensor  # type: ignore[attr-defined]


def _serves(source: torch.Tensor, least: int) -> bool:
    """Return whether a tensor is contiguous, float32 and large enough for the kernels here.

    Copy-on-write tensors are left to torch, since access from outside of torch would copy them.
    """
    return (
        source.numel() >= least
        and source.dtype is torch.float32
        and source.is_contiguous()
        and not _is_copied_on_write(source)
    )


def _serves_parameter(parameter: torch.Tensor | None, shape: tuple[int, ...]) -> bool:
    return parameter is None or (tuple(parameter.shape) == shape and _serves(parameter, 0))


# ---------------------------------------------------------------------------------------------------------- the table


def _pointwise(name: str, least: int) -> Fused:
    """Return the override of a pointwise operator with one tensor argument and possibly further values."""

    def condition(self: torch.Tensor, *positional: Any, **named: Any) -> bool:
        return _serves(self, least)

    return Fused(condition, _pointwise_implementation(name))


def _gelu(least: int, least_of_tanh: int) -> Fused:
    """Return the override of GELU, with a smaller minimum size for the tanh approximation, which is slow in torch."""

    def condition(self: torch.Tensor, *, approximate: str = "none") -> bool:
        return _serves(self, least if approximate == "none" else least_of_tanh)

    return Fused(condition, _pointwise_implementation("gelu"))


def _pointwise_implementation(name: str) -> Callable[..., torch.Tensor]:
    fill = Fill(f"aten::{name}.out")

    def implementation(self: torch.Tensor, *positional: Any, **named: Any) -> torch.Tensor:
        values = fill.completion.complete((self, *positional), named)
        out = torch.empty_like(self)
        fill(*values[:-1], out)
        return out

    return implementation


def _softmax(name: str, least: int) -> Fused:
    """Return the override of softmax or log-softmax along the last dimension."""
    fill = Fill(f"aten::{name}.out")

    def condition(self: torch.Tensor, dim: int, half_to_float: bool) -> bool:
        return _serves(self, least) and dim in (-1, self.dim() - 1) and not half_to_float

    def implementation(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
        out = torch.empty_like(self)
        fill(self, dim, False, out)
        return out

    return Fused(condition, implementation)


def _layer_norm(least: int) -> Fused:
    fill = Fill("aten::native_layer_norm.out")

    def condition(
        input: torch.Tensor,
        normalized_shape: list[int],
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        eps: float,
    ) -> bool:
        shape = tuple(normalized_shape)
        return (
            _serves(input, least)
            and 0 < len(shape) <= input.dim()
            and tuple(input.shape[-len(shape) :]) == shape
            and _serves_parameter(weight, shape)
            and _serves_parameter(bias, shape)
        )

    def implementation(
        input: torch.Tensor,
        normalized_shape: list[int],
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        eps: float,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        shape = tuple(normalized_shape)
        rows = (*input.shape[: -len(shape)], *(1 for _ in shape))
        out, mean, rstd = torch.empty_like(input), input.new_empty(rows), input.new_empty(rows)
        fill(input, shape, weight, bias, eps, out, mean, rstd)
        return out, mean, rstd

    return Fused(condition, implementation)


FUSED = MappingProxyType(
    {
        "_softmax": _softmax("_softmax", 1 << 16),
        "_log_softmax": _softmax("_log_softmax", 1 << 17),
        "native_layer_norm": _layer_norm(1 << 19),
        "gelu": _gelu(1 << 22, 1 << 15),
        **{
            name: _pointwise(name, 1 << 15)
            for name in ("atan", "elu", "erf", "exp", "expm1", "log1p", "mish", "sinh", "softplus", "tanh")
        },
    }
)
"""Implementations of torch operators by kernels of opdsl, by the operator's name."""
