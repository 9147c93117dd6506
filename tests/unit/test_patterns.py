"""Tests that every regular expression of the package takes linear time: none backtracks at each character."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import opdsl
from opdsl import Library
from opdsl.errors import SchemaError
from opdsl.schema import parse_schema

ROOT = Path(opdsl.__file__).parent

SEARCHED = {"search", "sub", "subn", "split", "findall", "finditer"}

# Length of texts in characters, and time limit in seconds: linear patterns take a hundredth of it, quadratic ones
# twenty times as long.
LENGTH, LIMIT = 8_000, 0.06


def modules() -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the modules that import ``re``."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if "import re\n" in text:
            yield ".".join(("opdsl", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"), text


def patterns() -> Iterator[Any]:
    """Yield test cases of each regular expression in the package and the methods that are called on it."""
    for module, text in modules():
        result: dict[tuple[str, int], set[str]] = {}
        for node in ast.walk(ast.parse(text)):
            function = node.func if isinstance(node, ast.Call) and node.args else None
            name = "" if function is None else ast.unparse(function)
            if not (name in NAMES or re.fullmatch(r"re\.[a-z]+", name)) or name == "re.escape":
                continue
            assert isinstance(node, ast.Call)
            for pattern in evaluated(module, node.args[0]):
                methods = result.setdefault((pattern, flags_of(node)), set())
                methods |= methods_of(text, ast.unparse(node), name)
        for (pattern, flags), methods in sorted(result.items()):
            yield pytest.param(re.compile(pattern, flags), methods, id=f"{module}: {pattern}")


NAMES = {"_compiled", "cursor.match", "cursor.read"}


def flags_of(call: ast.Call) -> int:
    texts = [ast.unparse(arg) for arg in (*call.args[1:], *(keyword.value for keyword in call.keywords))]
    return sum(int(getattr(re, text.removeprefix("re."))) for text in texts if text.startswith("re."))


@functools.cache
def in_one_line(text: str) -> str:
    """Return a module's text as ``ast`` prints it, without line breaks."""
    return " ".join(ast.unparse(ast.parse(text)).split())


def methods_of(text: str, call: str, name: str) -> set[str]:
    """Return the names of the methods that a module calls on a pattern."""
    method = name.rpartition(".")[2]
    if method not in ("compile", "_compiled"):
        return {"match" if name.startswith("cursor.") else method}
    flat = " ".join(text.split())
    assigned = re.search(rf"(\w+)(?:: [\w.\[\]]+)? = {re.escape(call)}", in_one_line(text))
    word = re.escape(call) if assigned is None else assigned[1]
    return set(re.findall(rf"{word}\.(\w+)", flat)) | set(re.findall(rf"{word}\)?\.(\w+)\(", flat)) or {"match"}


def evaluated(module: str, node: ast.expr) -> list[str]:
    """Return the values that the expression of a pattern may have; unknown names in it become ``name``."""
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    loaded = vars(importlib.import_module(module))
    scope = {name: "name" for name in names if name not in loaded} | loaded
    value = "name" if isinstance(node, ast.Name) and node.id not in loaded else None
    if value is None:
        filled = ast.unparse(node).replace("re.escape(self.entry)", "'name'")
        value = eval(filled, scope)
    return [value] if isinstance(value, str) and value != "name" else []


def letters(pattern: re.Pattern[str]) -> list[str]:
    """Return characters and words that a pattern distinguishes."""
    result: dict[str, None] = {}

    def walk(parsed: Any) -> None:
        word = ""
        for code, character in parsed:
            if code is codes.LITERAL:
                word += chr(character)
                result.setdefault(chr(character))
                continue
            if len(word) > 1:
                result.setdefault(word)
            word = ""
            for part in character if isinstance(character, (list, tuple)) else (character,):
                if isinstance(part, parser.SubPattern):
                    walk(part)
                elif isinstance(part, list):
                    for inner in part:
                        walk(inner) if isinstance(inner, parser.SubPattern) else walk([inner])
                elif isinstance(part, tuple):
                    walk([part])
            if code is codes.RANGE:
                result.setdefault(chr(character[0]))
            elif code is codes.NOT_LITERAL:
                result.setdefault(chr(character))
        if len(word) > 1:
            result.setdefault(word)

    walk(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    return [*result, "a", " ", "0"][:14]


def hostile(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield long texts of repeated parts that begin like matches and do not end like them."""
    parts = list(dict.fromkeys(letters(pattern)))
    for part in parts:
        yield part * (LENGTH // len(part))
    for one, other in itertools.permutations(parts, 2):
        yield one + other * (LENGTH // len(other)) + "\0"
        yield (one + other) * (LENGTH // len(one + other))
        yield one * (LENGTH // 2 // len(one)) + other * (LENGTH // 2 // len(other))


def seconds(pattern: re.Pattern[str], text: str, methods: set[str]) -> float:
    start = time.process_time()
    if "match" in methods:
        pattern.match(text)
    if "fullmatch" in methods:
        pattern.fullmatch(text)
    if methods & SEARCHED:
        pattern.sub("", text)
    return time.process_time() - start


@pytest.mark.parametrize(("pattern", "methods"), patterns())
def test_a_pattern_takes_time_in_proportion_to_the_text(pattern: re.Pattern[str], methods: set[str]) -> None:
    assert methods & {"match", "fullmatch", *SEARCHED}, methods
    for text in hostile(pattern):
        if seconds(pattern, text, methods) > LIMIT:
            again = min(seconds(pattern, text, methods) for _ in range(3))  # something else may have run
            assert again < LIMIT, f"{again:.2f} s for {text[:30]!r}..."


@pytest.mark.parametrize(
    "text",
    [
        "f(int a=" + "1" * 1_000_000,
        "f(int a=" + "1" * 60_000 + "x) -> ()",
        "f(float a=" + "1." * 30_000 + ") -> ()",
        "f(str a=" + '"\\' * 30_000,
        "f(int[] a=" + "[" * 60_000,
        "f(Tensor a) -> (" * 4_000,
        "f(int a" + " " * 60_000 + "x",
        "f(Tensor a" + ", Tensor a" * 6_000 + ") -> ()",
        "f(int[] a=[" + "1," * 30_000 + "1]) -> ()",
        "(" * 60_000,
        "f(Tensor(" + "a|" * 30_000 + "a) x) -> ()",
        "f(int" + "?" * 60_000 + " x) -> ()",
    ],
)
def test_schemas_of_any_length_are_read_or_refused_at_once(text: str) -> None:
    start = time.process_time()
    with suppress(SchemaError), Library("patterns") as library:
        library.define(text, lambda *_: None)
    with suppress(SchemaError):
        parse_schema(text)
    assert time.process_time() - start < 1
