"""Docstrings are plain English: how they begin, and words that say nothing to an engineer from outside."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["opdsl", "benchmarks", "examples", "tests"]

# A function's docstring begins with a verb in the imperative, a class's with a noun.
NO_VERB = re.compile(
    r"(What|Whether|How|Where|Which|Who|Whoever|Whose|The|A|An|One|None|So|As|Of|That|Those|These|This|It|Its|There|Nothing|"
    r"Something|Every|Each|Some|By|Inside|Returns|Gives|Makes|Takes|Says|Tells|Reads|Writes|Refuses|Computes|Yields|Fills)\b"
)
NO_NOUN = re.compile(r"(What|Whether|How|Where|Which|Who|Whoever|One|Of|That|Those|These|It|There|Nothing|Something)\b")

PRIVATE = re.compile(
    r"\b(told|handed|beneath|kin|whoever|nobody|somebody|so many|anew|lies in|lies at|stands for|stands at|"
    r"goes along|runs along|gives back|hands on|hand on|neighbour\w*|centre\w*|colour\w*)\b",
    re.IGNORECASE,
)


def documented(folder: str) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the place of each docstring of a folder, what it documents, and its text without code in backticks."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node)
                if text:
                    place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                    yield place, node, text


def prose(text: str) -> str:
    """Return a docstring without its examples, code in backticks, and the names that entries begin with."""
    text = re.sub(r"``.*?``|`.*?`", "", text.partition(">>>")[0], flags=re.DOTALL)
    return re.sub(r"^\s*\w+(, \w+)*:", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("folder", ["opdsl", "benchmarks", "examples"])
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str) -> None:
    faults = []
    for place, node, text in documented(folder):
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (NO_VERB if is_function else NO_NOUN).match(text):
            faults.append(f"{place}: {text.splitlines()[0]}")
    assert faults == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_have_no_private_words(folder: str) -> None:
    faults = [f"{place}: {match[0]}" for place, _, text in documented(folder) if (match := PRIVATE.search(prose(text)))]
    assert faults == []


@pytest.mark.parametrize(("text", "is_refused"), [("What is there.", True), ("Return the size.", False)])
def test_beginnings(text: str, is_refused: bool) -> None:
    assert bool(NO_VERB.match(text)) is is_refused


@pytest.mark.parametrize(("text", "is_refused"), [("The plan is handed on.", True), ("Pass ``handed`` on.", False)])
def test_private_words(text: str, is_refused: bool) -> None:
    assert bool(PRIVATE.search(prose(text))) is is_refused
