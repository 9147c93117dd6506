"""Builders for families of similar functions: activations, and functions for one, two and three dimensions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from opdsl.generated import function_from_source
from opdsl.runtime import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def _written(model: FunctionType, name: str, parameters: Sequence[str], returned: str, doc: str) -> Any:
    """Build a function with some of the parameters of another one, in the module of that one.

    Args:
        model: the other function.
        name: of the function.
        parameters: by name.
        returned: the returned expression, as source text.
        doc: its documentation.
    """
    type_ = inspect.signature(model).parameters
    source = f"def {name}({', '.join(parameters)}):\n    return {returned}\n"
    written = function_from_source(name, source, model.__globals__)
    written.__defaults__ = tuple(
        type_[parameter].default for parameter in parameters if type_[parameter].default is not inspect.Parameter.empty
    )
    written.__annotations__ = {parameter: model.__annotations__[parameter] for parameter in (*parameters, "return")}
    written.__doc__ = doc
    return written


# --------------------------------------------------------------------------------------------------------- activations


def activation(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Build an activation function that calls the operator of the same name, or its in-place variant if ``inplace``.

    The descriptions of ``input`` and ``inplace`` and the example's ``x`` are added to the documentation.
    """
    model = cast(FunctionType, function)
    name, parameters = model.__name__, list(inspect.signature(model).parameters)
    called = f"(aten.{name}_ if inplace else aten.{name})" if "inplace" in parameters else f"aten.{name}"
    passed = ", ".join(parameter for parameter in parameters if parameter != "inplace")
    written = ["inplace: whether the results are written to ``input``."] if "inplace" in parameters else []
    doc = _documented(inspect.getdoc(model) or "", "the input tensor.", written)
    return cast("Callable[P, Tensor]", _written(model, name, parameters, f"{called}({passed})", doc))


def in_place(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Build the variant of an activation that writes its input, without the parameter ``inplace``."""
    model = cast(FunctionType, function)
    name, type_ = model.__name__, inspect.signature(model).parameters
    parameters = [text for text in type_ if text != "inplace"]
    example = (model.__doc__ or "").rpartition(">>> ")[2].replace(f"F.{name}(", f"F.{name}_(")
    same = [f"{', '.join(parameters[1:])}: see ``{name}``."] if parameters[1:] else []
    doc = _documented(f"Apply ``{name}`` in place.\n\n>>> {example}", "the tensor to write.", same)
    called = f"aten.{name}_({', '.join(parameters)})"
    return cast("Callable[P, Tensor]", _written(model, f"{name}_", parameters, called, doc))


def _documented(doc: str, of_input: str, more: Sequence[str]) -> str:
    """Return a docstring with the descriptions of the input and of further arguments, and with setup code for its
    example.
    """
    text, _, example = doc.partition("\n\n>>> ")
    summary, _, own = text.partition("\n\nArgs:\n")
    lines = [f"    input: {of_input}", *([own] if own else []), *(f"    {text}" for text in more)]
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
    """Build functions for different numbers of spatial dimensions, each of which calls the same function.

    Args:
        name: of each, with ``{dims}`` for the number of dimensions.
        function: the implementation, which takes the number, ``dims``, and their arguments. ``{dims}``, ``{space}``,
            ``{images}``, ``{kernel}`` and ``{numbers}`` in its documentation are replaced according to the number.
        ranks: the numbers of dimensions.
    """
    model = cast(FunctionType, function)
    doc, parameters = inspect.getdoc(model) or "", list(inspect.signature(model).parameters)[1:]
    return tuple(
        _written(
            model,
            name.format(dims=dims),
            parameters,
            f"{model.__name__}({dims}, {', '.join(parameters)})",
            doc.format(
                dims=dims,
                space=_SPACES[dims],
                images=f"(N, C, {_SHAPES[dims]}) or (C, {_SHAPES[dims]})",
                kernel=_KERNELS[dims],
                numbers=_NUMBERS[dims],
            ),
        )
        for dims in ranks
    )
