"""Tests that the library declares operators by typed functions: none of its strings is a schema or a schema's
arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import opdsl
from opdsl.errors import SchemaError
from opdsl.schema import parse_schema

LIBRARY = Path(opdsl.__file__).parent / "aten"


HOLE = "x"
"""Text that replaces a value in an f-string."""


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string in a module except docstrings, with ``HOLE`` for each value in an
    f-string.
    """
    module = ast.parse(source)
    parts = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
    documentation = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(getattr(part, "value", HOLE)) if _is_text(part) else HOLE for part in node.values),
            )
        elif _is_text(node) and id(node) not in parts | documentation:
            assert isinstance(node, ast.Constant)
            yield node.lineno, str(node.value)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_of_a_schema(text: str) -> bool:
    """Return whether a text is a schema, the arguments of one, or arguments followed by an arrow."""
    written = text.strip().strip(",").strip().replace(f"[{HOLE}]", "[1]")
    arguments = written.rpartition("-> ")[2]
    return ") -> " in written or _is_schema(written) or (" " in arguments and _is_schema(f"f({arguments}) -> ()"))


def _is_schema(text: str) -> bool:
    try:
        parse_schema(text)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize(
    "source",
    [
        'lib.define("twice(Tensor self) -> Tensor")',
        'lib.define(f"{name}(Tensor self) -> Tensor")',
        'lib.define(f"{name}_(Tensor(a!) self, SymInt[{dims}] size, *, bool flag=False) -> Tensor(a!)")',
        'lib.define("twice(Tensor self, " "float by=2.0) -> ()")',
        'lib.define(f"{name}({given}) -> Tensor")',
        'GIVEN = "Tensor self, Tensor? weight=None"',
        'GIVEN = f", SymInt[{dims}] stride=1"',
        'PRECOMPUTED = "int first, int last"',
        'PRECOMPUTED = ("dim -> int dim, bool is_last",)',
    ],
)
def test_a_schema_is_seen(source: str) -> None:
    assert any(is_of_a_schema(text) for _, text in texts_of(source))


def test_documentation_and_messages_are_no_schemas() -> None:
    source = 'def f():\n    """twice(Tensor self) -> Tensor"""\n    raise ShapeError(f"got {n} elements (it is)")'
    assert [text for _, text in texts_of(source) if is_of_a_schema(text)] == []


@pytest.mark.parametrize("module", sorted(LIBRARY.rglob("*.py")), ids=lambda path: str(path.relative_to(LIBRARY)))
def test_the_library_has_no_schemas_in_texts(module: Path) -> None:
    result = [(line, text) for line, text in texts_of(module.read_text("utf-8")) if is_of_a_schema(text)]
    assert result == []
