"""Tests that variables and parameters are not named by empty words such as ``found`` or ``given``."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAYS_NOTHING = {"each", "found", "given", "made", "it"}

# A name of more than this share of all variables, parameters and fields says too little about each of them.
LARGEST_SHARE = 0.035


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the lines and names of variables, parameters, fields, caught exceptions and captured patterns."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


@pytest.mark.parametrize("folder", ["opdsl", "tests", "benchmarks", "examples", "docs"])
def test_names_say_what_they_hold(folder: str) -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name in SAYS_NOTHING
    ]
    assert faults == []


def test_no_name_stands_for_too_much() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "opdsl").rglob("*.py"))
    counts = Counter(name for tree in trees for _, name in bound_names(tree))
    most = LARGEST_SHARE * counts.total()
    assert {name: count for name, count in counts.items() if count > most and name != "self"} == {}


@pytest.mark.parametrize(
    "text",
    [
        "each = 1",
        "[each for each in ()]",
        "for each in (): pass",
        "def f(each): ...",
        "lambda *each: 0",
        "class C:\n    each: int",
        "try: ...\nexcept OSError as each: ...",
        "match 1:\n    case each: ...",
        "(each := 1)",
    ],
)
def test_each_way_to_bind_a_name_is_seen(text: str) -> None:
    assert [name for _, name in bound_names(ast.parse(text))].count("each") == 1


def test_imports_and_attributes_are_none() -> None:
    assert "given" not in [name for _, name in bound_names(ast.parse("from hypothesis import given\nx.given = 1"))]
