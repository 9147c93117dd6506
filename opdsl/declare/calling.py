"""Ways to call a declared operator besides the plain call: one kernel directly, a given key set, or shape inference
only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchKey, DispatchTable, KeySet, Operator, Signature, bind, current
from opdsl.dispatch.layers.recording import recorded
from opdsl.dispatch.overrides.safe_kernel import SafeKernel, get_kernel
from opdsl.errors import ArgumentError, MissingKernelError
from opdsl.kernels import new_tensor
from opdsl.runtime import Device, Tensor
from opdsl.schema import SchemaKind


class Calling:
    """Access to one operator's kernels: the dispatch table, direct calls of a kernel, and calls with a given key set.

    Args:
        declaration: its declaration.
        operator: the operator.
    """

    __slots__ = ("declaration", "operator")

    def __init__(self, declaration: Declaration, operator: Operator) -> None:
        self.declaration = declaration
        self.operator = operator

    def dispatch_table(self) -> DispatchTable:
        """Return the computed dispatch table: for each key the kernel that a call reaches, and why."""
        return DispatchTable.of(self.operator.registrations, self.operator.fallbacks)

    def direct(self, key: str) -> Callable[..., object]:
        """Return a function that calls the kernel of a key without the dispatcher.

        Raises:
            MissingKernelError: the operator has no kernel for that key.
        """
        wanted = DispatchKey(key)
        signature = self._signature()

        def call(*positional: object, **named: object) -> object:
            bound = bind(self.operator.schema.name.base, (signature,), positional, named)
            kernel = bound.operator.entry(wanted).kernel
            if kernel is None:
                have = f"no {key} kernel to call directly (have {bound.operator.kernel_keys})"
                raise MissingKernelError(f"{bound.operator.name}: {have}. Register one for {key}.")
            return kernel.for_call(bound.operator, KeySet(wanted))(*bound.arguments)

        return call

    def get_kernel(self, dispatch_key: DispatchKey | str) -> SafeKernel:
        """Return the kernel that is registered for a key at the moment; see ``opdsl.get_kernel``."""
        return get_kernel(self.operator, dispatch_key)

    def redispatch(self, keys: KeySet, *positional: object, **named: object) -> object:
        """Call the operator with an explicit key set, ignoring guards. A kernel calls it to pass a call on to lower
        keys.

        Args:
            keys: the key set; ``keys & DispatchKeySet.below(key)`` continues below a key.
            positional, named: the arguments of a call.

        Raises:
            MissingKernelError: there is no kernel for these keys.
        """
        if not isinstance(keys, KeySet):
            raise ArgumentError(
                f"{self.operator.name}: redispatch takes a key set first, not {type(keys).__name__}. "
                "Pass opdsl.DispatchKeySet(...) and then the arguments."
            )
        bound = bind(self.operator.schema.name.base, (self._signature(),), positional, named)
        return bound.operator.find_in(keys)(*bound.arguments)

    def _signature(self) -> Signature:
        """Return the overload (with its ``out=`` variant) to which the arguments of a call are bound."""
        if self.operator.schema.kind is SchemaKind.out:
            return Signature(None, self.operator)
        operators = self.declaration.operators
        return Signature(self.operator, operators.get("out") if self.operator is operators.get("functional") else None)

    def _on_meta(self, *positional: Any, **named: Any) -> Any:
        """Run only the shape function of the operator: call it with meta tensors of the same geometries."""
        bound = bind(self.operator.schema.name.base, (self._signature(),), positional, named)
        arguments = tuple(_without_memory(argument) for argument in bound.arguments)
        if not any(_holds_tensor(argument) for argument in arguments):
            arguments = _with_meta_device(bound.operator, arguments)
        state = current.get()
        kernel = bound.operator.find(arguments, state)
        return (recorded(bound.operator, kernel, arguments) if state.recording else kernel)(*arguments)


def _without_memory(value: object) -> object:
    """Replace the tensors of an argument by meta tensors of the same geometry."""
    if isinstance(value, Tensor):
        return new_tensor(value.geometry.replace(device=Device("meta"), is_view=False))
    return tuple(_without_memory(member) for member in value) if isinstance(value, tuple) else value


def _holds_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, tuple) and any(_holds_tensor(member) for member in value))


def _with_meta_device(operator: Operator, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """Replace the device argument of a factory operator by the meta device."""
    schema = operator.schema.arguments
    return tuple(
        Device("meta") if declared.name == "device" else value
        for declared, value in zip(schema, arguments, strict=True)
    )
