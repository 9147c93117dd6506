"""Mutants: implementations of a module, each changed in one way so that it no longer fits its operator.

A mutant is a copy of the decorated function with a new name, appended to the text of the module, so that mypy checks
all mutants of a module in one run.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

IMPLEMENTING = ("meta", "formula", "out_kernel", "kernel", "view_kernel", "derivative")


class Mutant(NamedTuple):
    """Implementation with one change.

    what: the change.
    operator: the source text before the decorator's name.
    decorator: the kind of implementation, such as ``kernel`` or ``meta``.
    original: the name of the unchanged implementation.
    node: the changed function, decorators included.
    """

    what: str
    operator: str
    decorator: str
    original: str
    node: ast.FunctionDef

    def source(self, name: str) -> str:
        """Rename the function and return its source text."""
        self.node.name = name
        return ast.unparse(self.node)


class Implementation(NamedTuple):
    """Function decorated by ``@f.kernel(...)`` or another decorator of an operator.

    function: the function.
    decorator: the decorator.
    operator: the source text of ``f``.
    """

    function: ast.FunctionDef
    decorator: ast.expr
    operator: str

    @property
    def kind(self) -> str:
        """Return the name of the decorator, such as ``kernel`` or ``meta``."""
        callee = _callee(self.decorator)
        assert isinstance(callee, ast.Attribute)
        return callee.attr

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the string arguments of the decorator."""
        args = self.decorator.args if isinstance(self.decorator, ast.Call) else []
        return tuple(str(arg.value) for arg in args if isinstance(arg, ast.Constant))

    @property
    def names(self) -> list[str]:
        """Return the names of the parameters."""
        return [arg.arg for arg in self.function.args.args]

    @property
    def has_key_set(self) -> bool:
        """Return whether the first parameter is the dispatch key set of the call."""
        annotation = self.function.args.args[0].annotation if self.names else None
        return isinstance(annotation, ast.Name) and annotation.id in ("KeySet", "DispatchKeySet")

    @property
    def is_compiled(self) -> bool:
        """Return whether numba compiles the function."""
        options = self.decorator.keywords if isinstance(self.decorator, ast.Call) else []
        written = {option.arg: ast.unparse(option.value) for option in options}
        return self.kind == "out_kernel" and written.get("compiled", str(self.texts == ("CPU",))) == "True"


def implementations(text: str) -> Iterator[Implementation]:
    """Yield the implementations of a module: decorated functions, and those attached by
    ``f.kernel("CPU")(function)``.
    """
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield from (
                Implementation(node, decorator, _operator(decorator))
                for decorator in node.decorator_list
                if _attaches(decorator)
            )
        call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        if call is not None and _attaches(call.func) and call.args and isinstance(call.args[0], ast.Name):
            function = copy.deepcopy(functions.get(call.args[0].id))
            if function is not None:
                function.decorator_list = [call.func]
                yield Implementation(function, call.func, _operator(call.func))


def _callee(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _attaches(decorator: ast.expr) -> bool:
    """Return whether a decorator attaches an implementation with the operator's arguments; launchers of CUDA C++ have
    others.
    """
    callee = _callee(decorator)
    launches = isinstance(decorator, ast.Call) and any(keyword.arg == "source" for keyword in decorator.keywords)
    return isinstance(callee, ast.Attribute) and callee.attr in IMPLEMENTING and not launches


def _operator(decorator: ast.expr) -> str:
    callee = _callee(decorator)
    assert isinstance(callee, ast.Attribute)
    return ast.unparse(callee.value)


def mutants_of(implementation: Implementation) -> Iterator[Mutant]:
    """Yield every change of an implementation that makes it not fit."""
    for what, change in CHANGES.items():
        changed = copy.deepcopy(implementation)
        if change(changed):
            yield Mutant(what, changed.operator, changed.kind, changed.function.name, changed.function)


# ------------------------------------------------------------------------------------------------------------- changes


def _first(implementation: Implementation) -> int:
    """Return the index of the first parameter that is an argument of the operator."""
    return int(implementation.kind == "meta" or implementation.has_key_set)


def _rename(implementation: Implementation) -> bool:
    parameters = implementation.function.args.args
    if implementation.kind == "derivative":
        chosen = next((index for index, name in enumerate(implementation.names) if name in ("grad", "grads")), 0)
    else:
        chosen = _first(implementation)
    if chosen >= len(parameters):
        return False
    name = parameters[chosen].arg
    parameters[chosen].arg = f"{name}_renamed"
    for node in ast.walk(implementation.function):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = f"{name}_renamed"
    return True


def _drop(implementation: Implementation) -> bool:
    """Drop a required parameter; derivatives, kernels and formulas may omit the other ones."""
    parameters = implementation.function.args.args
    if implementation.kind == "derivative":
        place = next((place for place, name in enumerate(implementation.names) if name in ("grad", "grads")), -1)
        if place < 0:
            return False
    elif implementation.kind in ("formula", "kernel", "out_kernel") or not parameters:
        return False  # other changes cover the output
    else:
        place = 0 if implementation.kind in ("meta", "view_kernel") else len(parameters) - 1
    del parameters[place]
    return not implementation.function.args.defaults


def _retype(implementation: Implementation) -> bool:
    """Annotate a parameter by a type that no argument has."""
    parameters = implementation.function.args.args
    if len(parameters) <= _first(implementation):
        return False
    parameters[_first(implementation)].annotation = ast.Name("frozenset")
    return True


def _drop_out(implementation: Implementation) -> bool:
    if implementation.kind != "out_kernel":
        return False
    del implementation.function.args.args[-1]
    return True


def _wrong_backend(implementation: Implementation) -> bool:
    """Annotate ``self`` as a tensor of another backend, or as a tensor where the kernel takes arrays."""
    if implementation.kind not in ("kernel", "out_kernel") or "self" not in implementation.names:
        return False
    own = "CPU" if set(implementation.texts) == {"CPU"} else "CUDA" if set(implementation.texts) == {"CUDA"} else ""
    wrong = "CPUTensor" if own != "CPU" or implementation.is_compiled else "CUDATensor"
    implementation.function.args.args[implementation.names.index("self")].annotation = ast.Name(wrong)
    return True


def _results(implementation: Implementation) -> bool:
    """Return one value more from a derivative or formula, in every ``return``."""
    if implementation.kind not in ("derivative", "formula"):
        return False
    returns = [
        node for node in ast.walk(implementation.function) if isinstance(node, ast.Return) and node.value is not None
    ]
    for node in returns:
        assert node.value is not None
        several = isinstance(node.value, ast.Tuple)
        items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if implementation.kind == "derivative" and len(implementation.texts) > 1 and not several:
            return False  # a call that returns all gradients
        node.value = ast.Tuple([*items, copy.deepcopy(items[-1])], ast.Load())
    return bool(returns)


CHANGES: dict[str, Callable[[Implementation], bool]] = {
    "rename": _rename,
    "drop": _drop,
    "retype": _retype,
    "drop_out": _drop_out,
    "wrong_backend": _wrong_backend,
    "results": _results,
}
"""Changes by name; each changes an implementation in place and returns whether it was applicable."""
