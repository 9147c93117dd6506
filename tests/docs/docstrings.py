"""Checker of public docstrings, which finds missing arguments, results, errors and examples.

``python -m tests.docs.docstrings`` prints the gaps. The code determines what a docstring has to say: the parameters of
the signature, the errors that are raised in the module, a result where something is returned.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from opdsl import errors
from opdsl.declare import Operator

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
reference_pages = importlib.import_module("reference_pages")

# A summary that begins with one of these verbs names an action, not a result as "The number of elements" does.
_DOES = re.compile(
    r"(Add|Attach|Begin|Call|Check|Choose|Count|Declare|Define|Disable|Give|Go|Hold|Let|Make|Move|Order|Put|Read|Record"
    r"|Register|Rewrite|Run|Say|Set|Take|Use|Wait|Write)s?\b"
)
_ENTRY = re.compile(r"(?:^ *|\. )(\*{0,2}\w+(?:, \*{0,2}\w+)*): \S", re.MULTILINE)

# The methods and functions of this module need a GPU, so their examples cannot run here.
_ON_A_DEVICE = "opdsl.cuda"


class Named(NamedTuple):
    """Public name of the reference: its path, its value, and the class that it is a member of."""

    path: str
    value: Any
    owner: type | None = None


def names() -> Iterator[Named]:
    """Yield the names that the reference documents by our docstrings; operators, whose pages are generated, are left
    out.
    """
    for module in reference_pages.MODULES:
        for name, value in reference_pages.public_names(module).items():
            is_ours = reference_pages.is_documentable(value) and value.__module__.startswith("opdsl")
            if not is_ours or reference_pages.is_operator(value):
                continue
            yield Named(f"{module}.{name}", value)
            if inspect.isclass(value) and not issubclass(value, (Enum, BaseException)):
                yield from _members(f"{module}.{name}", value)


def _members(path: str, owner: type) -> Iterator[Named]:
    for name, value in reference_pages.members(owner).items():
        if not reference_pages.is_operator(value) and "source" not in getattr(value, "__dict__", {}):
            yield Named(f"{path}.{name}", value, owner)


def missing(named: Named) -> Iterator[str]:
    """Yield the facts that a docstring leaves out, for example ``argument x``."""
    doc = inspect.getdoc(named.value) or ""
    if not doc.strip():
        yield "a docstring"
    elif re.fullmatch(r"See ``[\w.]+``\.", doc):
        return  # the base has the docstring
    elif not (inspect.isclass(named.value) and issubclass(named.value, (Enum, BaseException))):
        told = {part.lstrip("*") for word in _ENTRY.findall(doc) for part in word.split(", ")}
        yield from (f"argument {parameter}" for parameter in _parameters(named.value) if parameter not in told)
        if not _says_what_it_gives(named.value, doc):
            yield "what it returns"
        if not isinstance(named.value, property):
            yield from (f"error {error.__name__}" for error in _raised(named.value) if not _is_told(error, doc))
            if _needs_example(named) and not _has_example(named, doc):
                yield "an example"


def _needs_example(named: Named) -> bool:
    """Return whether the docstring of a name needs an example: methods (but those of ``Operator``) and protocols need
    none.
    """
    is_protocol = getattr(named.value, "_is_protocol", False)
    is_decorator = named.owner is Operator and isinstance(named.value, FunctionType)
    return (named.owner is None or is_decorator) and not is_protocol and not named.path.startswith(_ON_A_DEVICE)


def _has_example(named: Named, doc: str) -> bool:
    """Return whether a docstring has an example, or names another object whose example shows this one."""
    other = re.search(r"``(\w+)`` has an example", doc)
    shown = inspect.getdoc(getattr(sys.modules[named.path.rpartition(".")[0]], other[1])) or "" if other else doc
    return ">>> " in shown and (other is None or named.path.rpartition(".")[2] in shown)


def _parameters(value: Any) -> list[str]:
    """Return the parameters of a function or class, or an empty list for a value without a signature."""
    if isinstance(value, property) or getattr(value, "_is_protocol", False):
        return []
    try:
        parameters = inspect.signature(getattr(value, "__func__", value)).parameters
    except (TypeError, ValueError):
        return []
    return [parameter for parameter in parameters if parameter not in ("self", "cls") and not parameter.startswith("_")]


def _says_what_it_gives(value: Any, doc: str) -> bool:
    if inspect.isclass(value) or re.search(r"^(Returns|Yields):$", doc, re.MULTILINE) or not _DOES.match(doc):
        return True
    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    return getattr(function, "__annotations__", {}).get("return", "None") in ("None", None, "Self", "NoReturn")


def _is_told(error: type, doc: str) -> bool:
    """Return whether a docstring names an error or one of its base classes."""
    return any(re.search(rf"\b{base.__name__}\b", doc) for base in error.__mro__ if base.__module__ == errors.__name__)


# -------------------------------------------------------------------------------------------------------------- errors


def _raised(value: Any) -> list[type]:
    """Return the errors that a function raises, directly or through functions of its module that it calls."""
    function = inspect.unwrap(getattr(value, "__func__", value))
    if not isinstance(function, FunctionType) or function.__module__ not in sys.modules:
        return []
    module = sys.modules[function.__module__]
    result: dict[str, None] = {}
    seen: set[str] = set()
    _collect(function.__name__, _syntax(function), _functions(module), seen, result)
    known = vars(module) | vars(errors)
    classes = (known.get(name) for name in result)
    return [error for error in classes if inspect.isclass(error) and issubclass(error, errors.OpdslError)]


def _syntax(function: FunctionType) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return ast.Module([], [])


@cache
def _functions(module: ModuleType) -> dict[str, ast.AST]:
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    return {statement.name: statement for statement in tree.body if isinstance(statement, ast.FunctionDef)}


def _collect(name: str, node: ast.AST, functions: dict[str, ast.AST], seen: set[str], result: dict[str, None]) -> None:
    seen.add(name)
    for descendant in ast.walk(node):
        if isinstance(descendant, ast.Raise) and isinstance(descendant.exc, ast.Call):
            result[ast.unparse(descendant.exc.func).rpartition(".")[2]] = None
        elif isinstance(descendant, ast.Call) and isinstance(descendant.func, ast.Name):
            called = descendant.func.id
            if called in functions and called not in seen:
                _collect(called, functions[called], functions, seen, result)


if __name__ == "__main__":
    listed = list(names())
    faulty = {named.path: list(missing(named)) for named in listed}
    for path, lacks in faulty.items():
        if lacks:
            print(f"{path}: {', '.join(lacks)}")
    print(f"{sum(not fault for fault in faulty.values())} of {len(listed)} say all")
