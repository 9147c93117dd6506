"""Tests of the schemas and annotations of the library's operators, which declarations do not check."""

from __future__ import annotations

import subprocess
import sys

import opdsl
from opdsl.schema import check


def test_the_schemas_of_the_library_keep_the_invariants() -> None:
    schemas = [operator.schema for operator in opdsl.registry if operator.name.startswith("aten::")]
    assert len(schemas) > 2000
    assert {str(schema): violations for schema in schemas if (violations := check(schema))} == {}


def test_all_declarations_of_the_library_pass_the_checks_of_an_authors() -> None:
    program = """
import opdsl.aten
import opdsl.declare.signature as signature

def always(function):
    return True

signature.is_checked.__code__ = always.__code__
opdsl.aten.load()
print(len(list(opdsl.registry)) > 2000)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.stderr) == ("True\n", "")
