"""Functions that are alike, each declared once: activations, and those of one, two and three dimensions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from opdsl.generated import function_from_source, function_from_tree
from opdsl.runtime import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def _written(model: FunctionType, name: str, parameters: Sequence[str], returned: str, doc: str) -> Any:
    """A function with some parameters of another one, in its module.

    Args:
        model: the other one.
        name: of the function.
        parameters: by name.
        returned: what it returns, as Python writes it.
        doc: its documentation.
    """
    given = inspect.signature(model).parameters
    source = f"def {name}({', '.join(parameters)}):\n    return {returned}\n"
    made = function_from_source(name, source, model.__globals__)
    made.__defaults__ = tuple(
        given[each].default for each in parameters if given[each].default is not inspect.Parameter.empty
    )
    made.__annotations__ = {each: model.__annotations__[each] for each in (*parameters, "return")}
    made.__doc__ = doc
    return made


# --------------------------------------------------------------------------------------------------------- activations


def activation(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """A function of numbers that calls the operator of its name, or, for ``inplace``, the one that writes its input.

    What all of them say of ``input``, ``inplace`` and the ``x`` of examples is added to the documentation.
    """
    model = cast(FunctionType, function)
    name, parameters = model.__name__, list(inspect.signature(model).parameters)
    called = f"(aten.{name}_ if inplace else aten.{name})" if "inplace" in parameters else f"aten.{name}"
    passed = ", ".join(each for each in parameters if each != "inplace")
    written = ["inplace: whether they are written where they are."] if "inplace" in parameters else []
    doc = _documented(inspect.getdoc(model) or "", "the numbers.", written)
    return cast("Callable[P, Tensor]", _written(model, name, parameters, f"{called}({passed})", doc))


def in_place(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """An activation that writes its input: the same without ``inplace``."""
    model = cast(FunctionType, function)
    name, given = model.__name__, inspect.signature(model).parameters
    parameters = [each for each in given if each != "inplace"]
    example = (model.__doc__ or "").rpartition(">>> ")[2].replace(f"F.{name}(", f"F.{name}_(")
    same = [f"{', '.join(parameters[1:])}: as of ``{name}``."] if parameters[1:] else []
    doc = _documented(f"``{name}`` in place.\n\n>>> {example}", "the numbers, which are written.", same)
    called = f"aten.{name}_({', '.join(parameters)})"
    return cast("Callable[P, Tensor]", _written(model, f"{name}_", parameters, called, doc))


def _documented(doc: str, of_input: str, more: Sequence[str]) -> str:
    """A documentation with what is said of the input, and further arguments behind its own."""
    text, _, example = doc.partition("\n\n>>> ")
    summary, _, own = text.partition("\n\nArgs:\n")
    lines = [f"    input: {of_input}", *([own] if own else []), *(f"    {each}" for each in more)]
    begin = ">>> import opdsl, opdsl.nn.functional as F\n>>> x = opdsl.tensor([-2.0, 0.5, 4.0])\n>>> "
    return "\n".join([f"{summary}\n\nArgs:", *lines, "", begin + example])


# ---------------------------------------------------------------------------------------------------------- dimensions

_SPACES = {1: "along one dimension", 2: "in a plane", 3: "in space"}
_SHAPES = {1: "L", 2: "H, W", 3: "D, H, W"}
_KERNELS = {1: "K", 2: "K, L", 3: "K, L, M"}
_NUMBERS = {
    1: "",
    2: "; numbers for both dimensions, or one for each",
    3: "; numbers for all dimensions, or one for each",
}


def by_dims(name: str, function: Callable[Concatenate[int, P], R], *ranks: int) -> tuple[Callable[P, R], ...]:
    """Functions that differ in how many spatial dimensions there are: the same body, in which the number is known.

    Args:
        name: of each, with ``{dims}`` for the number.
        function: what they compute, by the number, ``dims``, and their arguments. ``{dims}``, ``{space}``,
            ``{images}``, ``{kernel}`` and ``{numbers}`` in its documentation are what belongs to the number.
        ranks: the numbers.
    """
    model = cast(FunctionType, function)
    source, doc = _sources(model.__code__.co_filename)[model.__name__], inspect.getdoc(model) or ""
    made = []
    for dims in ranks:
        (tree,) = ast.parse(source).body
        known = _Known(dims).visit(tree)
        known.name = name.format(dims=dims)
        del known.args.args[0]
        one = function_from_tree(known, model)
        one.__annotations__ = {each: value for each, value in model.__annotations__.items() if each != "dims"}
        one.__qualname__ = known.name
        one.__doc__ = doc.format(
            dims=dims,
            space=_SPACES[dims],
            images=f"(N, C, {_SHAPES[dims]}) or (C, {_SHAPES[dims]})",
            kernel=_KERNELS[dims],
            numbers=_NUMBERS[dims],
        )
        made.append(one)
    return tuple(made)


@cache
def _sources(file: str) -> dict[str, str]:
    """The functions of a file, as they are written."""
    text = Path(file).read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    return {each.name: "\n".join(lines[each.lineno - 1 : each.end_lineno]) for each in functions}


class _Known(ast.NodeTransformer):
    """Puts in the number of dimensions, and what follows: texts, and operators that these name."""

    def __init__(self, dims: int) -> None:
        self.dims = dims

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.dims) if node.id == "dims" else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
        texts = [str(each.value) for each in parts if isinstance(each, ast.Constant)]
        return ast.Constant("".join(texts)) if len(texts) == len(parts) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "aten" and isinstance(node.slice, ast.Constant):
            return ast.Attribute(node.value, str(node.slice.value), node.ctx)
        return node
