"""Tests of schemas in the form that PyTorch prints."""

from __future__ import annotations

import torch

from opdsl.errors import SchemaError
from opdsl.schema import parse_schema

# Rules that PyTorch's own operators follow, and other libraries' do not.
BROKEN = ("no schema type", "INV-", "expected", "unbound-alias", "written-twice", "duplicate-name")


def test_every_operator_of_aten_is_read_as_printed() -> None:
    refused = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            try:
                assert parse_schema(str(schema)).name.base == schema.name.partition("::")[2]
            except SchemaError as error:
                refused[str(schema)] = str(error)
    assert not [text for text, error in refused.items() if "default-type" in error]
    assert all(any(rule in error for rule in BROKEN) for error in refused.values())
