"""Definition of one operator in torch: its name, schema and kernels, and the stand-in that remains after it is removed.

torch frees the entry of an operator with its last registration, and then crashes where code still refers to the
operator. So each name keeps a kernel for an unused device: a stale reference raises, and works again once the name is
registered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import torch

from opdsl.errors import DuplicateOperatorError, UnknownOperatorError
from opdsl.interop.torch.generators import theirs
from opdsl.runtime import Generator
from opdsl.schema import FunctionSchema

__all__ = ["Definition", "find"]

make_library: Callable[..., Any] = torch.library.Library  # untyped in torch


class Definition:
    """Operator defined in torch.

    Args:
        schema: in torch, with a namespace.
        tags: of torch.

    Raises:
        DuplicateOperatorError: torch has an operator of that name, or an overload that it cannot distinguish from this
            one.
    """

    def __init__(self, schema: FunctionSchema, tags: Iterable[torch.Tag]) -> None:
        _check_overloads(schema)
        self.schema = schema
        self._namespace, _, text = str(schema).partition("::")
        self._local_name = text.partition("(")[0]
        self._library = make_library(self._namespace, "FRAGMENT")
        try:
            self._library.define(text, tags=tuple(tags))
        except RuntimeError as error:
            self._library._destroy()
            raise _refusal(schema) from error
        _defined.setdefault(schema.name.packet, []).append(schema)
        if any("Generator" in str(argument.type) for argument in schema.arguments):
            self._take_generators()

    @cached_property
    def overload(self) -> Callable[..., Any]:
        """Return the torch operator to call."""
        overload = find(self.schema)
        assert overload is not None, "it is defined"
        return overload

    def implement(self, function: Callable[..., Any], key: str, *, with_keyset: bool = False) -> None:
        """Register a function as the kernel for a dispatch key."""
        self._library.impl(self._local_name, function, key, with_keyset=with_keyset)

    def implement_fake(self, function: Callable[..., Any]) -> None:
        """Register a kernel for fake tensors. It costs more than a ``Meta`` kernel, but can create sizes that depend on
        elements.
        """
        torch.library.register_fake(self.schema.name.qualified, function, lib=self._library)

    def _take_generators(self) -> None:
        """Make the operator accept opdsl's generators, which torch's argument parser refuses."""
        overload: Any = self.overload
        for holder in (overload.overloadpacket, overload):
            if not isinstance(holder._op, _Converting):
                holder._op = _Converting(holder)

    def close(self) -> None:
        """Remove the operator from torch; references to it raise ``UnknownOperatorError`` from now on."""
        packet = vars(getattr(torch.ops, self._namespace)).get(self.schema.name.base)
        if packet is not None:
            held = [var for var in vars(packet).values() if isinstance(var, torch._ops.OpOverload)]
            for target in (packet, *held):
                target._op = _Held(self.schema, target)
            _overloads.extend(held)
        _keep_entry(self._namespace, self._local_name)
        self._library._destroy()
        _defined[self.schema.name.packet].remove(self.schema)


def find(schema: FunctionSchema) -> Callable[..., Any] | None:
    """Return the torch operator with the name of a schema, or None."""
    operator_name = schema.name
    packet = getattr(getattr(torch.ops, operator_name.namespace or "aten"), operator_name.base, None)
    return None if packet is None else getattr(packet, operator_name.overload or "default", None)


def target_of(schema: FunctionSchema) -> Callable[..., Any] | None:
    """Return the torch operator with the name of a schema, or what calls one that vmap supports instead.

    torch has no batching rule for the ``*_like`` operators with a generator, but for those that take a size; these do
    not accept symbolic sizes. Returns None if torch has no such operator.
    """
    target, operator_name = find(schema), schema.name
    if not operator_name.namespace and operator_name.base in _BATCHED and not operator_name.overload:
        return _BATCHED[operator_name.base]
    if target is not None and not operator_name.namespace and (operator_name.base, operator_name.overload) in _WITHOUT:
        return _Drawn(target, _WITHOUT[operator_name.base, operator_name.overload])
    if (
        target is None
        or operator_name.namespace
        or operator_name.overload != "generator"
        or operator_name.base not in _SIZED
    ):
        return target
    return _DrawnLike(target, operator_name.base)


_BATCHED: dict[str, Callable[..., Any]] = {"conj": torch.conj, "is_conj": torch.is_conj, "is_neg": torch.is_neg}
"""Functions of torch that vmap supports, by the name of an operator that it has no batching rule for."""


_SIZED = {
    "rand_like": torch.ops.aten.rand.generator,
    "randn_like": torch.ops.aten.randn.generator,
    "randint_like": torch.ops.aten.randint.generator,
}
"""torch operators that draw random numbers for a size and a generator, by the name of their ``*_like`` operator."""


_WITHOUT = {
    ("rand", "generator"): torch.ops.aten.rand.default,
    ("randn", "generator"): torch.ops.aten.randn.default,
    ("randint", "generator"): torch.ops.aten.randint.default,
    ("randint", "low_generator"): torch.ops.aten.randint.low,
}
"""torch operators that draw random numbers without a generator, by the name and overload of their variant with one."""


class _Drawn:
    """Adapter of a random operator that takes a size: calls the overload without a generator if none is passed.

    Args:
        call: the torch operator with a generator.
        without: the overload without one.
    """

    def __init__(self, call: Callable[..., Any], without: Callable[..., Any]) -> None:
        self._call = call
        self._without = without

    def __call__(self, *positional: Any, generator: torch.Generator | None, **options: Any) -> Any:
        if generator is None:
            return self._without(*positional, **options)
        return self._call(*positional, generator=generator, **options)


class _DrawnLike:
    """Adapter of a ``*_like`` random operator with a generator: calls the operator that takes a size under vmap.

    Args:
        call: the torch operator.
        base: its name.
    """

    def __init__(self, call: Callable[..., Any], base: str) -> None:
        self._call = call
        self._without = getattr(torch.ops.aten, base).default
        self._sized = _SIZED[base]

    def __call__(self, form: torch.Tensor, *bounds: Any, generator: torch.Generator | None, **options: Any) -> Any:
        if generator is None:
            return self._without(form, *bounds, **options)
        if not torch._C._are_functorch_transforms_active():
            return self._call(form, *bounds, generator=generator, **options)
        chosen = {option: value for option, value in options.items() if option != "memory_format" and value is not None}
        all_options = {"dtype": form.dtype, "device": form.device, **chosen}
        return self._sized(*bounds, form.shape, generator=generator, **all_options)


class _Converting:
    """Adapter that converts opdsl generators among the arguments before it calls a torch operator or packet.

    Args:
        holder: the overload or packet.
    """

    def __init__(self, holder: Any) -> None:
        self._op = holder._op
        self._hash = hash(holder._op)  # the hash of the holder must not change

    def __hash__(self) -> int:
        return self._hash

    def __call__(self, *positional: Any, **named: Any) -> Any:
        values = [theirs(value) if isinstance(value, Generator) else value for value in positional]
        by_name = {name: theirs(value) if isinstance(value, Generator) else value for name, value in named.items()}
        return self._op(*values, **by_name)


class _Held:
    """Stand-in for a removed torch operator or packet: calls the operator that has its name now, or raises.

    Args:
        schema: of the operator, or of one of the packet.
        holder: the overload or packet.
    """

    def __init__(self, schema: FunctionSchema, holder: Any) -> None:
        self._schema = schema
        self._overload = getattr(holder, "_overloadname", None)
        self._hash = hash(holder._op)  # the hash of the holder must not change

    def __hash__(self) -> int:
        return self._hash

    def __call__(self, *positional: Any, **named: Any) -> Any:
        operator_name = self._schema.name
        packet = getattr(getattr(torch.ops, str(operator_name.namespace)), operator_name.base, None)
        operator = packet if packet is None or self._overload is None else getattr(packet, self._overload, None)
        if operator is None:
            raise UnknownOperatorError(
                f"{operator_name.namespace}::{operator_name.base} is not in torch any more: it was removed, by "
                "opdsl.interop.torch.deregister or by closing its library. Register it again to call it."
            )
        return operator(*positional, **named)


# Schemas that opdsl has defined in torch, by packet.
_defined: dict[str, list[FunctionSchema]] = {}


def _check_overloads(schema: FunctionSchema) -> None:
    """Refuse an overload with the same arguments as another one of the packet. torch looks overloads up by arguments
    when it removes them, and would leave a dangling one.
    """
    others = _defined.get(schema.name.packet)
    if others:
        arguments = _arguments_in_torch(schema)
        for other in others:
            if other.name != schema.name and _arguments_in_torch(other) == arguments:
                raise DuplicateOperatorError(
                    f"torch cannot distinguish {schema.name.qualified} from {other.name.qualified}, which it has: "
                    "their arguments have the same names and, in torch, the same types. Rename an argument of one of "
                    "them."
                )


def _arguments_in_torch(schema: FunctionSchema) -> tuple[object, ...]:
    """Return the parts of a schema by which torch distinguishes overloads: names and types, without defaults and
    aliases. ``SymInt`` and dtypes are ``int``.
    """
    parsed = torch._C.parse_schema(str(schema))
    arguments = [(argument.name, str(argument.type), argument.kwarg_only) for argument in parsed.arguments]
    return (*arguments, *(str(argument.type) for argument in parsed.returns))


_keepers: dict[str, Any] = {}
_kept: set[str] = set()
# torch's entry of a name keeps an unowned pointer to the overload that was passed to a mode, so it must stay alive.
_overloads: list[Any] = []

# Dispatch key of a device that torch has no tensors for.
_UNREACHED = "FPGA"


def _keep_entry(namespace: str, local_name: str) -> None:
    """Register a kernel that is never called, so that torch keeps the entry of a name permanently."""
    qualified = f"{namespace}::{local_name}"
    if qualified not in _kept:
        if namespace not in _keepers:
            _keepers[namespace] = make_library(namespace, "IMPL")
        _keepers[namespace].impl(local_name, _unreached, _UNREACHED)
        _kept.add(qualified)


def _unreached(*positional: object, **named: object) -> None:
    raise UnknownOperatorError(f"this operator has no kernel for {_UNREACHED}.")


def _refusal(schema: FunctionSchema) -> DuplicateOperatorError:
    """Build the error for an operator whose name torch has already."""
    return DuplicateOperatorError(
        f"torch has an operator {schema.name.qualified} already. Remove it first (opdsl.interop.torch.deregister, if "
        "it was registered from here), or declare yours in another namespace."
    )
