"""Tests of the library's operators that are formulas: a list in this folder names them, and only grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl.declare.formulas import is_formula
from opdsl.declare.primitives import rule_of_body
from opdsl.formulas.definition import FormulaDefinition

LIST = Path(__file__).with_name("library_formulas.txt")
LIMITS = Path(opdsl.__file__).parents[1] / "docs" / "limits.md"


def declarations() -> dict[str, Any]:
    """Return the declarations of the library by name."""
    known = {
        id(declaration): declaration for operator in opdsl.registry if (declaration := operator.declaration) is not None
    }
    modules = {at: value.function.__module__ or "" for at, value in known.items()}  # None for functions made by exec
    return {value.name: value for at, value in known.items() if modules[at].startswith("opdsl.aten.")}


def computing(declaration: Any) -> Any:
    """Return the function that computes an operator; overloads of numbers use that of tensors."""
    return declaration.formulas[0][0] if declaration.formulas else declaration.function


@pytest.fixture(scope="module")
def formulas() -> dict[str, Any]:
    return {name: declaration for name, declaration in declarations().items() if is_formula(computing(declaration))}


def test_the_list_names_them_all(formulas: dict[str, Any]) -> None:
    listed = LIST.read_text().split()
    assert listed == sorted(listed)
    gone = [name for name in listed if name not in formulas]
    assert gone == [], "the list only grows"
    assert [name for name in sorted(formulas) if name not in listed] == []


def test_all_of_them_can_be_read(formulas: dict[str, Any]) -> None:
    """All formulas of the library can be read, which otherwise happens in their first calls instead of at
    declaration.
    """
    for formula in formulas.values():
        if isinstance(formula.definition, FormulaDefinition):
            assert formula.definition.try_forms() is not None, formula.name
        else:
            assert rule_of_body(computing(formula), formula.main.schema) is not None, formula.name


def test_the_page_of_limits_says_how_many(formulas: dict[str, Any]) -> None:
    of_elements = [
        declaration
        for declaration in declarations().values()
        if declaration.kind is not None and declaration.kind.name == "pointwise"
    ]
    assert f"{len(formulas)} of its {len(of_elements)} pointwise operators" in " ".join(LIMITS.read_text().split())
