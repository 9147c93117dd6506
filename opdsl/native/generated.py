"""Operators that ``autogen`` generates: out and functional variants without an entry.

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
"""Tags that a generated operator inherits from the entry that it is generated from."""

BASES = (SchemaKind.mutable, SchemaKind.inplace, SchemaKind.out, SchemaKind.functional)
"""Kinds of entries from which the others are generated, in order of preference."""


def generated(entries: Iterable[NativeFunction]) -> tuple[NativeFunction, ...]:
    """Return the operators that PyTorch generates in addition to the entries.

    Each has a composite kernel that calls the variant it was generated from, and the tag ``generated``.

    Args:
        entries: of one file, or several.

    >>> from opdsl.native import loads
    >>> [str(function.schema) for function in generated(loads(
    ...     "[{func: 'f(Tensor self) -> Tensor', dispatch: {CPU: f}, autogen: f.out}]"))]
    ['f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)']
    """
    return tuple(function for kinds in by_signature(entries).values() for function in variants_made(kinds))


def by_signature(entries: Iterable[NativeFunction]) -> dict[FunctionSchema, Kinds]:
    """Group entries by signature and kind. If two have the same kind, the first is kept."""
    functions: dict[FunctionSchema, Kinds] = {}
    for entry in entries:
        functions.setdefault(entry.schema.signature(), {}).setdefault(entry.kind, entry)
    return functions


def variants_made(kinds: Kinds) -> tuple[NativeFunction, ...]:
    """Return the operators that are generated for entries with one signature: an out variant, a functional one, both or
    none.
    """
    if not might_make(kinds) or is_left_alone(kinds):
        return ()
    base = next(kinds[kind] for kind in BASES if kind in kinds)
    functions = []
    if SchemaKind.out not in kinds and can_have_out(base) and any("out" in str(variant) for variant in base.autogen):
        functions.append(_made(base, out_schema(base.schema)))
    if SchemaKind.functional not in kinds and (functions or SchemaKind.out in kinds):
        functions.append(_made(base, functional_schema(base.schema)))
    return tuple(functions)


def might_make(kinds: Kinds) -> bool:
    """Return whether a variant that an entry requires is missing; a fast check that is false for most operators."""
    if SchemaKind.out in kinds:
        return SchemaKind.functional not in kinds
    return any(kind.autogen for kind in kinds.values())


def is_left_alone(kinds: Mapping[SchemaKind, NativeFunction]) -> bool:
    """Return whether nothing is generated: for views, manual bindings, composites, and single out variants (INV-43)."""
    entries = kinds.values()
    if not kinds.keys() & set(BASES) or kinds.keys() == {SchemaKind.out} or is_exempt(kinds):
        return True
    inplace = kinds.get(SchemaKind.inplace)
    return inplace is not None and str(inplace.name) in LONE_INPLACE and bool(entries)


def is_exempt(kinds: Mapping[SchemaKind, NativeFunction]) -> bool:
    """Return whether no variants are needed: for manual bindings, views, and composites outside the core set."""
    entries = kinds.values()
    if any(entry.is_view and entry.name.base != "set_" for entry in entries):
        return True
    if all(COMPOSITE_IMPLICIT in entry.kernels for entry in entries):
        return not any("core" in entry.tags for entry in entries)
    return all(entry.manual_cpp_binding for entry in entries)


def can_have_out(base: NativeFunction) -> bool:
    """Return whether an out variant is possible: ``self`` or a Tensor result can be written."""
    if base.kind is SchemaKind.inplace:
        return base.schema.self_argument is not None
    count = sum(is_tensor_like(returned.type) for returned in base.schema.returns)
    return 0 < count <= len(free_letters(base.schema))


def _made(base: NativeFunction, schema: FunctionSchema) -> NativeFunction:
    """Build a generated operator with a composite kernel, which users do not call (INV-45)."""
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
    operator_name = schema.name
    return (
        f"{operator_name.base}_{operator_name.overload}"
        if schema.out and operator_name.overload
        else operator_name.base
    )


def _takes_symbolic(schema: FunctionSchema) -> bool:
    return any(BaseType.SymInt.value in str(argument.type) for argument in schema.positional + schema.keyword_only)
