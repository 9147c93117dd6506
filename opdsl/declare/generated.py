"""The operators that ``autogen`` stands for, declared when a namespace is looked at, or by the topic that needs them.

An entry names in ``autogen`` what torchgen makes of it: an ``out=`` variant of what computes, a functional one of what
writes its arguments. ``opdsl.native.generated`` says which those are; here they get composite kernels.
Source: ``gen_composite_functional_kernel`` and ``gen_composite_out_kernel`` in torchgen/gen_functionalization_type.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, cast

import attrs

from opdsl.declare.declaration import Declaration
from opdsl.declare.export import entry_of
from opdsl.declare.signature import location
from opdsl.dispatch import Operator, Registry
from opdsl.errors import DeclarationError, DTypeError
from opdsl.kernels import check, clone, copy_, resize_output
from opdsl.kernels.dtypes import c_name
from opdsl.kernels.outputs import check_read_only
from opdsl.native.entry import NativeFunction
from opdsl.native.generated import functional_schema, variants_made
from opdsl.runtime import Tensor
from opdsl.schema import GENERATED, BaseType, FunctionSchema, SchemaKind

_KEY = "CompositeExplicitAutograd"


def declare_generated(registry: Registry, namespace: str) -> None:
    """Declare what is named in ``autogen`` by operators of a namespace and is not there yet."""
    declare_generated_of(registry, [each for each in registry if each.name.startswith(f"{namespace}::")])


def declare_generated_of(registry: Registry, operators: Iterable[Operator]) -> None:
    """Declare what is named in ``autogen`` by operators and is not there yet."""
    by_signature: dict[str, dict[SchemaKind, Operator]] = {}
    for operator in operators:
        if isinstance(operator.declaration, Declaration):
            kinds = by_signature.setdefault(str(operator.schema.signature()), {})
            kinds.setdefault(operator.schema.kind, operator)
    for kinds in by_signature.values():
        if any("autogen" in each.properties for each in kinds.values()):
            _complete(registry, kinds)


def _complete(registry: Registry, kinds: dict[SchemaKind, Operator]) -> None:
    entries = {kind: entry_of(operator) for kind, operator in kinds.items() if GENERATED not in operator.tags}
    # A functional variant comes first: the out variant calls it.
    for entry in sorted(variants_made(entries), key=lambda each: each.kind is SchemaKind.out):
        base = next(iter(kinds.values()))
        name = attrs.evolve(entry.schema.name, namespace=base.schema.name.namespace).qualified
        if name not in registry.operators:
            _declare(entry, kinds)
        kinds[entry.kind] = registry.operators[name]


def define_functional(declaration: Declaration) -> FunctionType:
    """Declare the functional variant of an in-place operator.

    Raises:
        DeclarationError: the operator is not in place.
    """
    schema = declaration.main.schema
    if schema.kind is not SchemaKind.inplace:
        raise DeclarationError(
            f"{location(declaration.function)}: functional=True derives from an in-place operator, and {schema} is "
            "none. Name it with an underscore at the end, or leave functional= out."
        )
    made = declaration.library.define(
        functional_schema(schema),
        _functional(_function(declaration.main), schema),
        key=_KEY,
        at=declaration.function,
        variants=declaration.main.properties["variants"],
    )
    return cast(FunctionType, made)


def _declare(entry: NativeFunction, kinds: dict[SchemaKind, Operator]) -> None:
    if entry.kind is SchemaKind.out:
        base = kinds[SchemaKind.functional]
        body = _out(_function(base), entry.schema)
    else:
        base = next(kinds[kind] for kind in (SchemaKind.mutable, SchemaKind.inplace) if kind in kinds)
        body = _functional(_function(base), base.schema)
    declaration = base.declaration
    assert isinstance(declaration, Declaration), "declared operators only are looked at"
    namespace = base.name.partition("::")[0]
    declaration.library.define(
        attrs.evolve(entry.schema, name=attrs.evolve(entry.schema.name, namespace=namespace)),
        body,
        key=_KEY,
        at=declaration.function,
        tags=entry.tags,
        device_check="NoCheck",
        device_guard=False,
        # Of what torchgen generates, Python has copies of views alone (`should_generate_py_binding`).
        is_bound="view_copy" in entry.tags,
    )


def _function(operator: Operator) -> Callable[..., Any]:
    declaration = operator.declaration
    assert isinstance(declaration, Declaration), "declared operators only are looked at"
    packet = declaration.library.registry.packets[operator.packet_name]
    return packet.operator_function(operator)


def _functional(base: Callable[..., Any], schema: FunctionSchema) -> Callable[..., object]:
    """Copies what the base writes, calls it, and returns its fresh results and the copies."""
    names = [each.python_name for each in schema.positional]
    written = [each.python_name for each in schema.written_arguments]
    fresh = [place for place, each in enumerate(schema.returns) if each.alias is None]

    def body(*given: object, **named: object) -> object:
        values = dict(zip(names, given, strict=True)) | named
        copies = {name: _copied(values[name]) for name in written}
        values |= copies
        positional = [values.pop(name) for name in names]
        result = base(*positional, **values)
        results = result if isinstance(result, tuple) else (result,)
        made = (*(results[place] for place in fresh), *copies.values())
        return made[0] if len(made) == 1 else made

    return body


def _copied(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(each) for each in value)
    return clone(value) if isinstance(value, Tensor) else value


def _out(functional: Callable[..., Any], schema: FunctionSchema) -> Callable[..., object]:
    """Computes, and copies the results into the outputs; what is no tensor among them is returned."""
    name = schema.name.qualified
    names = [each.python_name for each in schema.out]
    computed: FunctionSchema = cast(Any, functional).schema
    taken = {"dtype", "layout", "device"} & {each.name for each in computed.tensor_options}
    # For each result whether an output takes it.
    holding = [each.type.base is BaseType.Tensor for each in computed.returns] if len(names) > 1 else [True]

    def body(*given: object, **named: Any) -> object:
        outs = [named.pop(name) for name in names]
        for option in taken:
            named[option] = getattr(outs[0], option)
        result = functional(*given, **named)
        results = result if isinstance(result, tuple) and len(outs) > 1 else (result,)
        rest = [each for each, holds in zip(results, holding, strict=True) if not holds]
        found = [each for each, holds in zip(results, holding, strict=True) if holds]
        # What was not asked for is None, and its output stays as it is.
        asked = [(out, value) for out, value in zip(outs, found, strict=True) if value is not None]
        stores = [pair for out, value in asked for pair in _pairs(name, out, value)]
        for out, value in stores:
            resize_output(out, value.shape)
            copy_(out, value)
        made = (*rest, *(outs if schema.returns and len(schema.returns) > len(rest) else ()))
        return None if not made else made[0] if len(made) == 1 else made

    return body


def _pairs(operator: str, out: Any, value: Any) -> list[tuple[Tensor, Tensor]]:
    """Outputs with what is to be stored in them.

    Raises:
        DTypeError, ShapeError: an output has another dtype, or there are not as many; nothing is stored then.
    """
    if not isinstance(value, Tensor):
        check(len(value) == len(out), f"{operator}: expected {len(value)} tensors in out, but got {len(out)}")
        return [pair for one, other in zip(out, value, strict=True) for pair in _pairs(operator, one, other)]
    if out.dtype is not value.dtype:
        wanted, given = c_name(value.dtype), c_name(out.dtype)
        raise DTypeError(f"{operator}: Expected out tensor to have dtype {wanted}, but got {given} instead")
    check_read_only(out)
    return [(out, value)]
