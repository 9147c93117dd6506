"""The operators that ``autogen`` stands for: out and functional variants that no entry declares.

Source: torchgen's ``native_function_generation.py`` (INV-43 and INV-45).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opdsl.native.entry import DeviceCheck, DispatchEntry, Kernel, NativeFunction
from opdsl.native.known import COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, LONE_INPLACE
from opdsl.schema import GENERATED, BaseType, FunctionSchema, SchemaKind
from opdsl.schema.variants import free_letters, functional_schema, is_tensor_like, out_schema

Kinds = dict[SchemaKind, NativeFunction]
"""Entries with one signature, by their kind."""

INHERITED_TAGS = ("nondeterministic_seeded", "view_copy")
"""The tags that a generated operator has from the entry it is made from."""

BASES = (SchemaKind.mutable, SchemaKind.inplace, SchemaKind.out, SchemaKind.functional)
"""From which kind of entry the others are made, the first that there is."""


def generated(entries: Iterable[NativeFunction]) -> tuple[NativeFunction, ...]:
    """The operators that PyTorch generates beside the entries.

    Each has a composite kernel that calls the variant it was made from, and the tag ``generated``.

    Args:
        entries: those of one file, or several.

    >>> from opdsl.native import loads
    >>> [str(function.schema) for function in generated(loads(
    ...     "[{func: 'f(Tensor self) -> Tensor', dispatch: {CPU: f}, autogen: f.out}]"))]
    ['f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)']
    """
    return tuple(function for kinds in by_signature(entries).values() for function in variants_made(kinds))


def by_signature(entries: Iterable[NativeFunction]) -> dict[FunctionSchema, Kinds]:
    """Entries with one signature together; of two of one kind, the first."""
    functions: dict[FunctionSchema, Kinds] = {}
    for entry in entries:
        functions.setdefault(entry.schema.signature(), {}).setdefault(entry.kind, entry)
    return functions


def variants_made(kinds: Kinds) -> tuple[NativeFunction, ...]:
    """What is generated beside entries with one signature: an out variant, a functional one, both or neither."""
    if not might_make(kinds) or is_left_alone(kinds):
        return ()
    base = next(kinds[kind] for kind in BASES if kind in kinds)
    functions = []
    if SchemaKind.out not in kinds and can_have_out(base) and any("out" in str(name) for name in base.autogen):
        functions.append(_made(base, out_schema(base.schema)))
    if SchemaKind.functional not in kinds and (functions or SchemaKind.out in kinds):
        functions.append(_made(base, functional_schema(base.schema)))
    return tuple(functions)


def might_make(kinds: Kinds) -> bool:
    """Whether a variant is missing that an entry calls for; asked first, because for most operators none is."""
    if SchemaKind.out in kinds:
        return SchemaKind.functional not in kinds
    return any(kind.autogen for kind in kinds.values())


def is_left_alone(kinds: Mapping[SchemaKind, NativeFunction]) -> bool:
    """Whether nothing is generated: views, what is bound by hand, what decomposes, and lone out variants (INV-43)."""
    entries = kinds.values()
    if not kinds.keys() & set(BASES) or kinds.keys() == {SchemaKind.out} or is_exempt(kinds):
        return True
    inplace = kinds.get(SchemaKind.inplace)
    return inplace is not None and str(inplace.name) in LONE_INPLACE and bool(entries)


def is_exempt(kinds: Mapping[SchemaKind, NativeFunction]) -> bool:
    """Whether the entries need no variants: all bound by hand, a view among them, or all composite and none core."""
    entries = kinds.values()
    if any(entry.is_view and entry.name.base != "set_" for entry in entries):
        return True
    if all(COMPOSITE_IMPLICIT in entry.kernels for entry in entries):
        return not any("core" in entry.tags for entry in entries)
    return all(entry.manual_cpp_binding for entry in entries)


def can_have_out(base: NativeFunction) -> bool:
    """Whether there is something to write to: ``self``, or a result that is a Tensor."""
    if base.kind is SchemaKind.inplace:
        return base.schema.self_argument is not None
    count = sum(is_tensor_like(returned.type) for returned in base.schema.returns)
    return 0 < count <= len(free_letters(base.schema))


def _made(base: NativeFunction, schema: FunctionSchema) -> NativeFunction:
    """A generated operator: a function with a composite kernel, not to be called by users (INV-45)."""
    kernel = _kernel(schema) + ("_symint" if _takes_symbolic(base.schema) else "")
    return NativeFunction(
        schema,
        dispatch=(DispatchEntry((COMPOSITE_EXPLICIT,), Kernel(kernel)),),
        tags=(GENERATED, *(inherited_tag for inherited_tag in INHERITED_TAGS if inherited_tag in base.tags)),
        device_check=DeviceCheck.NoCheck,
        device_guard=False,
        use_const_ref_for_mutable_tensors=base.use_const_ref_for_mutable_tensors,
        origin=base.origin,
        declared_at=base.declared_at,
    )


def _kernel(schema: FunctionSchema) -> str:
    name = schema.name
    return f"{name.base}_{name.overload}" if schema.out and name.overload else name.base


def _takes_symbolic(schema: FunctionSchema) -> bool:
    return any(BaseType.SymInt.value in str(argument.type) for argument in schema.positional + schema.keyword_only)
