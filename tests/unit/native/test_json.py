"""Tests of entries as JSON, and of the JSON Schema for them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opdsl.native import NativeFunction, json_schema, loads, to_json

JSON_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Return whether a value satisfies a JSON Schema, restricted to the keywords that opdsl's schema uses."""
    known = {"$schema", "$defs", "title", "description", "$ref", "anyOf", "const", "enum", "type"}
    known |= {"properties", "required", "additionalProperties", "items"}
    assert schema.keys() <= known
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return any(fits(value, alternative, root) for alternative in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types = tuple(type for name in names for type in JSON_TYPES[name])
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        return False
    if isinstance(value, list):
        return all(fits(element, schema["items"], root) for element in value)
    if isinstance(value, dict):
        inside = schema.get("properties", {})
        others = schema["additionalProperties"]
        return all(key in value for key in schema.get("required", ())) and all(
            fits(member, inside[key], root) if key in inside else bool(others) and fits(member, others, root)
            for key, member in value.items()
        )
    return True


def test_all_of_pytorchs_entries_are_what_the_schema_says(entries: tuple[NativeFunction, ...]) -> None:
    document = json.loads(to_json(entries))
    schema = json_schema()
    assert len(document["entries"]) == 2584
    assert [entry["name"] for entry in document["entries"] if not fits(entry, schema["$defs"]["entry"], schema)] == []
    assert fits({**document, "entries": []}, schema, schema)


@pytest.mark.parametrize("change", [{"kind": "other"}, {"name": 1}, {"more": 0}, {"arguments": [{}]}])
def test_the_schema_refuses_what_is_something_else(change: dict[str, Any]) -> None:
    [entry] = json.loads(to_json(loads("- func: f(Tensor self) -> Tensor")))["entries"]
    schema = json_schema()
    assert fits(entry, schema["$defs"]["entry"], schema)
    assert not fits({**entry, **change}, schema["$defs"]["entry"], schema)


def test_one_entry() -> None:
    [entry] = json.loads(
        to_json(
            loads("- func: f.out(Tensor? x=None, *, float y=inf, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: f}")
        )
    )["entries"]
    assert (entry["name"], entry["kind"], entry["dispatch"]) == ("aten::f.out", "out", {"CPU": "f"})
    assert entry["arguments"] == [
        {
            "name": "x",
            "type": {"kind": "optional", "element": {"kind": "base", "name": "Tensor"}},
            "alias": None,
            "default": {"text": "None", "value": None},
            "kind": "positional",
        },
        {
            "name": "y",
            "type": {"kind": "base", "name": "float"},
            "alias": None,
            "default": {"text": "inf", "value": {"symbol": "inf"}},
            "kind": "keyword_only",
        },
        {
            "name": "out",
            "type": {"kind": "base", "name": "Tensor"},
            "alias": {"before": ["a"], "write": True, "after": []},
            "default": None,
            "kind": "out",
        },
    ]
