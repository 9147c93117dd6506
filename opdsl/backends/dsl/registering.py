"""Functions that register and deregister overrides for one native DSL, which every DSL's module has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from opdsl.dispatch.overrides.overriding import Override, deregister_op_overrides, register_op_override

__all__ = ["Register", "registering"]


class Register(Protocol):
    """Protocol of ``opdsl.register_op_override`` for one DSL."""

    def __call__(
        self,
        lib_symbol: str,
        op_symbol: str,
        dispatch_key: str,
        cond: Callable[..., object] | None,
        impl: Callable[..., object],
        *,
        allow_multiple_override: bool = False,
        unconditional_override: bool = False,
    ) -> Override:
        """See ``opdsl.register_op_override``."""


Implementation = Callable[..., object]


def _as_it_is(implementation: Implementation) -> Implementation:
    return implementation


def registering(
    name: str, prepare: Callable[[Implementation], Implementation] = _as_it_is
) -> tuple[Register, Callable[[], None]]:
    """Return ``register_op_override`` and ``deregister_op_overrides`` for one DSL.

    Args:
        name: the name of the DSL under which overrides are registered.
        prepare: converts a registered function to an operator implementation, which takes tensors and returns a tensor.
    """

    def register(
        lib_symbol: str,
        op_symbol: str,
        dispatch_key: str,
        cond: Callable[..., object] | None,
        impl: Callable[..., object],
        *,
        allow_multiple_override: bool = False,
        unconditional_override: bool = False,
    ) -> Override:
        return register_op_override(
            name,
            lib_symbol,
            op_symbol,
            dispatch_key,
            cond,
            prepare(impl),
            allow_multiple_override=allow_multiple_override,
            unconditional_override=unconditional_override,
        )

    def deregister() -> None:
        deregister_op_overrides(disable_dsl_names=name)

    register.__doc__ = f"``opdsl.register_op_override`` for {name}."
    deregister.__doc__ = f"Disable every override written in {name}."
    return register, deregister
