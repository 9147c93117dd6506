"""Wrappers that make torch's operators operators of opdsl: ``wrap("aten::cosine_similarity")``.

Each overload becomes an operator with the same schema in the namespace ``torch_aten`` (``torch_`` and torch's
namespace). Its kernel is composite over backends: it passes the memory of its tensors to torch, and wraps the memory of
the results. torch's meta kernels compute the shapes, torch's autograd the gradients (``recording``).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, cast

import attrs
import torch

from opdsl.declare import Library
from opdsl.declare.operator import Operator as OperatorFunction
from opdsl.dispatch import DispatchKey, KeySet, Operator, Packet, is_grad_enabled, registry
from opdsl.dispatch.binding.boxed import PerCallKernel
from opdsl.dispatch.keys import AUTOGRAD_KEYS
from opdsl.dispatch.layers.differentiation import OperatorAutograd, requires_grad
from opdsl.dispatch.model.kernel import Around, Kernel
from opdsl.errors import DeclarationError, SchemaError, TorchError, UnknownOperatorError
from opdsl.interop.torch.crossing import Crossing, flattened, require_writable
from opdsl.interop.torch.recording import record, recording_of
from opdsl.interop.torch.refusals import refused
from opdsl.runtime import Tensor
from opdsl.runtime.init_hooks import prepare
from opdsl.schema import FunctionSchema, parse_operator_name, parse_schema

__all__ = ["wrap"]

Target = str | torch._ops.OpOverload | torch._ops.OpOverloadPacket
Function = OperatorFunction[..., Any]

_PREFIX = "torch_"
_KEY = "CompositeExplicitAutograd"


def wrap(target: Target) -> Function:
    """See ``opdsl.interop.torch.wrap``."""
    prepare()
    namespace, base, overload = _parts(target)
    packet = _packet(namespace, base)
    names = _overloads(namespace, base, packet)
    if overload is not None and overload not in names:
        raise UnknownOperatorError(
            f"torch has no overload {overload!r} of {namespace}::{base}. It has "
            f"{', '.join(name or 'default' for name in names)}."
        )
    with registry.lock:
        operators = [*_operators(packet, names if overload is None else (overload,)), *_inplace(namespace, base)]
        _pair(operators)
    operator = operators[0]
    return cast(Function, operator.function if overload is not None else cast(Packet, operator.packet).function)


# ------------------------------------------------------------------------------------------------- finding operators


def _parts(target: Target) -> tuple[str, str, str | None]:
    """Return namespace, name, and overload of an operator; the overload is None for all overloads."""
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace, target._opname, _overload(target._overloadname)
    if isinstance(target, torch._ops.OpOverloadPacket):
        namespace, _, base = target._qualified_op_name.partition("::")
        return namespace, base, None
    if not isinstance(target, str):
        raise DeclarationError(
            f'wrap takes the name of a torch operator (got {type(target).__name__}). Write wrap("aten::add").'
        )
    try:
        operator_name = parse_operator_name(target)
    except SchemaError as error:
        raise UnknownOperatorError(f'{error}. Write wrap("aten::add") or wrap("aten::add.Tensor").') from error
    if "::" not in target:
        raise UnknownOperatorError(f'{target!r} names no namespace. Write wrap("aten::{target}").')
    overload = _overload(operator_name.overload) if "." in target else None
    return operator_name.namespace or "aten", operator_name.base, overload


def _overload(name: str) -> str:
    """Convert an overload name from Python to the schema's: ``default`` becomes an empty string."""
    return "" if name == "default" else name


def _packet(namespace: str, base: str) -> torch._ops.OpOverloadPacket:
    try:
        packet = getattr(getattr(torch.ops, namespace), base)
    except AttributeError:
        packet = None
    if isinstance(packet, torch._ops.OpOverloadPacket):
        return packet
    operator_name = f"{namespace}::{base}"
    if packet is not None:
        raise DeclarationError(
            f"{operator_name} is no operator with a schema, but a {type(packet).__name__} of torch's compiler."
        )
    known = {op_name.partition(".")[0] for op_name in torch._C._dispatch_get_all_op_names()}
    # The names of removed operators remain, without a schema.
    near = [
        close_match
        for close_match in get_close_matches(operator_name, known)
        if torch._C._jit_get_schemas_for_operator(close_match)
    ]
    hint = f"Did you mean {near[0]}?" if near else "Import the module that registers it first."
    raise UnknownOperatorError(f"torch has no operator {operator_name}. {hint}")


def _overloads(namespace: str, base: str, packet: torch._ops.OpOverloadPacket) -> tuple[str, ...]:
    """Return the names of overloads that torch dispatches, ``""`` for the default; others exist for TorchScript
    only.
    """
    names = (_overload(overload) for overload in packet.overloads())  # type: ignore[no-untyped-call]
    overloads = tuple(name for name in names if torch._C._dispatch_has_kernel(_qualified(namespace, base, name)))
    if not overloads:
        raise DeclarationError(f"{namespace}::{base} exists in TorchScript only: no torch function dispatches to it.")
    return overloads


def _qualified(namespace: str, base: str, overload: str) -> str:
    return f"{namespace}::{base}.{overload}" if overload else f"{namespace}::{base}"


# ------------------------------------------------------------------------------------------------ declaring operators

_library = Library("torch_aten")


def _operators(packet: torch._ops.OpOverloadPacket, overloads: Iterable[str]) -> list[Operator]:
    """Return the operators for overloads, declaring them if needed; overloads that cannot be declared are left out.

    Raises:
        DeclarationError: no overload can be declared.
    """
    operators: list[Operator] = []
    reasons: list[str] = []
    for overload in overloads:
        target = getattr(packet, overload or "default")
        try:
            operators.append(_operator(target))
        except SchemaError as error:
            reasons.append(f"{target._schema}: {str(error).splitlines()[0]}")
    if not operators:
        raise DeclarationError(f"{packet._qualified_op_name} cannot be wrapped: opdsl has no such schema. {reasons[0]}")
    return operators


def _operator(target: torch._ops.OpOverload) -> Operator:
    schema = _schema(target)
    present = registry.operators.get(schema.name.qualified)
    if present is not None:
        return present
    call = TorchCall(target, schema)
    _library.define(
        schema,
        call.run,
        key=_KEY,
        tags=sorted(tag.name for tag in target.tags),
        accepts_numbers=torch._C._should_allow_numbers_as_tensors(schema.name.base),
    )
    operator = registry.operators[schema.name.qualified]
    _library.register(operator, DispatchKey("Autograd"), TorchAutograd())
    return operator


def _inplace(namespace: str, base: str) -> list[Operator]:
    """Return the operators of the in-place packet that belongs to a packet, or an empty list."""
    name = f"{base}_"
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if base.endswith("_") or not isinstance(packet, torch._ops.OpOverloadPacket):
        return []
    try:
        return _operators(packet, _overloads(namespace, name, packet))
    except DeclarationError:
        return []


def _pair(operators: Iterable[Operator]) -> None:
    """Link operators with the same signature as variants of each other (INV-39)."""
    groups: dict[str, dict[str, Operator]] = {}
    for operator in operators:
        groups.setdefault(str(operator.schema.signature()), {}).setdefault(operator.schema.kind.value, operator)
    for group in groups.values():
        functions = {kind: value.function for kind, value in group.items()}
        for overload in group.values():
            cast(Any, overload.declaration).functions.update(functions)


def _schema(target: torch._ops.OpOverload) -> FunctionSchema:
    """Return the schema of an overload, in the namespace of wrapped operators.

    Raises:
        SchemaError: the schema contains types that opdsl does not have.
    """
    schema = parse_schema(str(target._schema))
    return attrs.evolve(schema, name=attrs.evolve(schema.name, namespace=f"{_PREFIX}{target.namespace}"))


# ---------------------------------------------------------------------------------------------------- calling operators


# Part of torch's message for an output that would have to grow beyond the memory that it shares.
_NOT_RESIZABLE = "storage that is not resizable"


class TorchCall:
    """Kernel that calls one overload of torch with opdsl values.

    Args:
        target: the overload.
        schema: of the operator that wraps it.
    """

    def __init__(self, target: torch._ops.OpOverload, schema: FunctionSchema) -> None:
        self.target = target
        self.name = schema.name.qualified
        self.places = len(schema.positional)
        self.names = [argument.name for argument in schema.arguments[self.places :]]
        self.outs = [index for index, argument in enumerate(schema.arguments) if argument in schema.out]
        self.written = [
            index
            for index, argument in enumerate(schema.arguments)
            if argument.alias is not None and argument.alias.write
        ]
        self.python_names = [argument.python_name for argument in schema.arguments[self.places :]]

    def run(self, *positional: Any, **named: Any) -> Any:
        """Call torch, which records the call if autograd has requested that."""
        arguments = (*positional, *[named[python_name] for python_name in self.python_names])
        recording = recording_of(self.name)
        return self.call(Crossing(), arguments)[1] if recording is None else recording.run(self.call, arguments)

    def call(self, crossing: Crossing, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """Call torch, and return its result, and the result converted to opdsl.

        Args:
            crossing: the converter of tensors.
            arguments: of the call, in the order of the schema.
        """
        written = [tensor for index in self.written for tensor in _tensors(arguments[index])]
        require_writable(written)
        outs = [tensor for index in self.outs for tensor in _tensors(arguments[index])]
        crossing.stand_apart(out for out in outs if out.numel() == 0)
        try:
            returned = self._call(crossing, arguments)
        except TorchError as error:
            if not outs or _NOT_RESIZABLE not in str(error):
                raise
            crossing = Crossing()  # outputs are never recorded
            crossing.stand_apart(outs)
            returned = self._call(crossing, arguments)
        for out in outs:
            crossing.resize_output(out)
        crossing.update(written)
        return returned, crossing.result(returned)

    def _call(self, crossing: Crossing, arguments: tuple[Any, ...]) -> Any:
        values = [crossing.value(argument) for argument in arguments]
        with refused(self.name):
            return self.target(*values[: self.places], **dict(zip(self.names, values[self.places :], strict=True)))


def _tensors(value: Any) -> list[Tensor]:
    return [element for element in flattened(value) if isinstance(element, Tensor)]


class TorchAutograd(PerCallKernel):
    """Autograd kernel of wrapped operators: torch records the call if a tensor requires grad."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> OperatorAutograd:
        """See ``PerCallKernel``."""
        return _Autograd(operator, keys - AUTOGRAD_KEYS)

    def __str__(self) -> str:
        return "autograd of torch"


class _Autograd(OperatorAutograd):
    __slots__ = ()

    def beneath(self, arguments: tuple[object, ...]) -> Kernel:
        """See ``OperatorAutograd``."""
        kernel = self.operator.find_in(self.keys)
        return _Recording(self.operator, kernel) if is_grad_enabled() and requires_grad(arguments) else kernel


class _Recording(Around):
    """Kernel that calls torch with recording enabled."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        return record(self.operator, self.kernel, arguments)
