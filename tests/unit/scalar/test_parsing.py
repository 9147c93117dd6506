"""Tests of parsing Python texts, also by several threads at once."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from opdsl.scalar.parsing import parsed


def test_a_text_that_another_thread_has_disturbed_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, attempts = ast.parse, []

    def disturbed(text: str, mode: str = "exec") -> Any:
        attempts.append(text)
        if len(attempts) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=105, after=99)")
        return parse(text, mode=mode)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.unparse(parsed("a + b", "eval")) == "a + b"
    assert len(attempts) == 3


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(SyntaxError):
        parsed("a +")
