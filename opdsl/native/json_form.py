"""Conversion of entries to JSON, for tools; ``entries.schema.json`` in this folder is the JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opdsl.native.entry import Delegate, NativeFunction, Structured
from opdsl.schema import Alias, Argument, FunctionSchema, ListType, OptionalType, Return, Symbol, Type
from opdsl.schema.model import DEFAULT_NAMESPACE, DefaultValue

VERSION = 1
"""Version of the JSON document: increases when a key disappears or changes its meaning."""

SCHEMA_FILE = Path(__file__).with_name("entries.schema.json")
"""Path of the JSON Schema for the result of ``to_json``."""


def to_json(entries: Iterable[NativeFunction]) -> str:
    """Format entries as a JSON document, in which every part of an entry is a value that needs no parsing.

    Args:
        entries: read from a text, or constructed.

    >>> from opdsl.native import loads
    >>> json.loads(to_json(loads("- func: f(Tensor self) -> Tensor")))["entries"][0]["arguments"][0]["type"]
    {'kind': 'base', 'name': 'Tensor'}
    """
    document = {"version": VERSION, "entries": [entry_value(entry) for entry in entries]}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the documents that ``to_json`` writes.

    >>> from opdsl.native import json_schema
    >>> json_schema()["type"]
    'object'
    """
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return schema


def entry_value(entry: NativeFunction) -> dict[str, Any]:
    """Convert an entry to JSON values."""
    operator_name = entry.name
    return {
        "name": operator_name.qualified,
        "namespace": operator_name.namespace or DEFAULT_NAMESPACE,
        "base": operator_name.base,
        "overload": operator_name.overload,
        "schema": str(entry.schema),
        "kind": entry.kind.value,
        "is_view": entry.is_view,
        "arguments": _arguments(entry.schema),
        "returns": [_return(returned) for returned in entry.schema.returns],
        "variants": sorted(variant.name for variant in entry.variants),
        "dispatch": None
        if entry.dispatch is None
        else {key: str(line.kernel) for line in entry.dispatch for key in line.keys},
        "tags": list(entry.tags),
        "all_tags": sorted(entry.all_tags),
        "structure": _structure(entry),
        "autogen": [variant.qualified for variant in entry.autogen],
        "device_check": entry.device_check.name,
        "device_guard": entry.device_guard,
        "python_module": entry.python_module,
        "category_override": entry.category_override,
        "cpp_no_default_args": list(entry.cpp_no_default_args),
        "manual_cpp_binding": entry.manual_cpp_binding,
        "manual_kernel_registration": entry.manual_kernel_registration,
        "use_const_ref_for_mutable_tensors": entry.use_const_ref_for_mutable_tensors,
    }


def _arguments(schema: FunctionSchema) -> list[dict[str, Any]]:
    kinds = (("positional", schema.positional), ("keyword_only", schema.keyword_only), ("out", schema.out))
    return [{**_argument(argument), "kind": kind} for kind, arguments in kinds for argument in arguments]


def _argument(argument: Argument) -> dict[str, Any]:
    default = argument.default
    return {
        "name": argument.name,
        "type": _type(argument.type),
        "alias": _alias(argument.alias),
        "default": None if default is None else {"text": default.text, "value": _value(default.value)},
    }


def _return(value: Return) -> dict[str, Any]:
    return {"name": value.name, "type": _type(value.type), "alias": _alias(value.alias)}


def _type(type: Type) -> dict[str, Any]:
    if isinstance(type, OptionalType):
        return {"kind": "optional", "element": _type(type.element)}
    if isinstance(type, ListType):
        return {"kind": "list", "element": _type(type.element), "size": type.size}
    return {"kind": "base", "name": str(type)}


def _alias(alias: Alias | None) -> dict[str, Any] | None:
    if alias is None:
        return None
    return {"before": list(alias.before), "write": alias.write, "after": list(alias.after)}


def _value(value: DefaultValue) -> Any:
    """Convert a default to a JSON value; names, infinities and NaN become ``{"symbol": name}``."""
    if isinstance(value, tuple):
        return [_value(flag) for flag in value]
    if isinstance(value, Symbol):
        return {"symbol": value.name}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"symbol": str(value)}
    return value


def _structure(entry: NativeFunction) -> dict[str, Any]:
    structure = entry.structure
    if isinstance(structure, Delegate):
        return {"kind": "delegate", "to": str(structure.to)}
    if not isinstance(structure, Structured):
        return {"kind": "plain"}
    precomputed = structure.precomputed
    return {
        "kind": "structured",
        "inherits": structure.inherits,
        "precomputed": None
        if precomputed is None
        else {
            "replaced": {
                name: [_argument(argument) for argument in arguments] for name, arguments in precomputed.replaced
            },
            "added": [_argument(added) for added in precomputed.added],
        },
        "ufunc_inner_loop": {
            loop.key.name: {"name": loop.name, "dtypes": list(loop.supported)} for loop in structure.ufunc
        },
    }
