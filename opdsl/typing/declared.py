"""Checks of declarations from their source text, which is parsed again because mypy drops the arguments of
``Alias(...)``.

A schema is built from each declaration, as ``@op`` does, and errors are reported at the declaration. A declaration with
a name that is unknown here (a type alias, a constant as a default) is left to the decorator.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import GenericAlias
from typing import Annotated, Any, NamedTuple

from opdsl.errors import AnnotationError, SchemaError
from opdsl.schema import MISSING, Alias, OperatorName, ParameterSpec, from_signature, parse_operator_name, vocabulary
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.typing.syntax import DECLARING


class Reported(NamedTuple):
    """Error in a declaration.

    line: of its ``def``.
    message: the fault, and how to fix it.
    """

    line: int
    message: str


class _Unknown(Exception):
    """Raised for a name that is unknown here."""


class _Tensor:
    """Stand-in for ``Tensor`` in annotations."""

    __schema_type__ = "Tensor"

    def __class_getitem__(cls, item: object) -> object:
        return Annotated[cls, item]


def _standing_for(text: str) -> type:
    """Return a stand-in for a class of the runtime, which the plugin does not import."""
    return type(text, (), {"__schema_type__": text})


NAMES: Mapping[str, Any] = {
    **{name: value for name, value in vars(vocabulary).items() if not name.startswith("_") and name != "Any"},
    **{
        function.__name__: function
        for function in (int, float, bool, str, complex, list, tuple, dict, set, object, Alias)
    },
    **{
        python_type.name: _standing_for(kind.value)
        for kind, python_type in PYTHON_TYPES.items()
        if python_type.is_of_runtime
    },
    **dict.fromkeys(("Tensor", "CPUTensor", "CUDATensor"), _Tensor),
    "Annotated": Annotated,
    "None": None,
}
"""Objects by the names that annotations of a declaration may use."""

_MARKERS = ("Alias", "Size", "Name", "SchemaType")


@lru_cache(maxsize=1)  # mypy calls this several times in succession for one module
def faults_in(text: str) -> tuple[Reported, ...]:
    """Return the errors in the declarations of a file that can be found from its text.

    Args:
        text: of the file; a syntax error is not reported here.
    """
    try:
        blocks = list(_blocks(ast.parse(text)))
    except (SyntaxError, ValueError):
        return ()
    classes = {node.name: node for block in blocks for node in block if isinstance(node, ast.ClassDef)}
    faults: list[Reported] = []
    for block in blocks:
        functions = {node.name: node for node in block if isinstance(node, ast.FunctionDef)}
        for function in functions.values():
            for decorator in filter(_decorates, function.decorator_list):
                faults += _faults(function, decorator, functions, classes)
    return tuple(faults)


_BLOCKS = ("body", "orelse", "finalbody")
_PARTS = ("handlers", "cases")  # of ``try`` and ``match``: each has a body


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks inside a statement, a module or a part of a statement; expressions hold none."""
    for name in _BLOCKS:
        block: list[ast.stmt] = getattr(node, name, [])
        if block:
            yield block
        for statement in block:
            yield from _blocks(statement)
    for name in _PARTS:
        for part in getattr(node, name, []):
            yield from _blocks(part)


def _callee(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _decorates(decorator: ast.expr) -> bool:
    callee = _callee(decorator)
    decorator_name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return decorator_name in DECLARING


def _faults(
    function: ast.FunctionDef,
    decorator: ast.expr,
    functions: Mapping[str, ast.FunctionDef],
    classes: Mapping[str, ast.ClassDef],
) -> Iterator[Reported]:
    try:
        name = _name_of(function, decorator, functions)
        parameters = list(_parameters(function.args))
        returns = _returns(function.returns, classes)
        from_signature(name, parameters, returns)
    except _Unknown:
        return
    except (AnnotationError, SchemaError) as error:
        message, *schema = str(error).splitlines()
        shown = f". The schema is {schema[0]}" if schema else ""
        yield Reported(function.lineno, message + shown)
    except Exception:  # mypy reports errors raised by typing itself
        return


# ------------------------------------------------------------------------------------------------------------- the name


def _name_of(function: ast.FunctionDef, decorator: ast.expr, functions: Mapping[str, ast.FunctionDef]) -> OperatorName:
    """Return the operator name that a decorator declares; for a variant, it is derived from the name of its
    operator.
    """
    callee, given_name = _callee(decorator), _given_name(decorator)
    kind = callee.attr if isinstance(callee, ast.Attribute) else "op"
    if kind == "op":
        return parse_operator_name(given_name or function.name)
    assert isinstance(callee, ast.Attribute), "variants and overloads are attributes of an operator"
    packet = functions.get(callee.value.id) if isinstance(callee.value, ast.Name) else None
    declaring = None if packet is None else next(filter(_decorates, packet.decorator_list), None)
    if packet is None or declaring is None or packet is function:
        raise _Unknown
    own = _name_of(packet, declaring, functions)
    if kind == "overload":
        return OperatorName(own.namespace, own.base, given_name or "")
    if given_name is not None:
        return parse_operator_name(given_name)
    return _VARIANTS[kind](own)


def _inplace(name: OperatorName) -> OperatorName:
    base = f"__i{name.base[2:]}" if name.is_dunder else f"{name.base}_"
    return OperatorName(name.namespace, base, name.overload)


def _out(name: OperatorName) -> OperatorName:
    return OperatorName(name.namespace, name.base, f"{name.overload}_out" if name.overload else "out")


_VARIANTS: dict[str, Callable[[OperatorName], OperatorName]] = {"inplace_variant": _inplace, "out_variant": _out}


def _given_name(decorator: ast.expr) -> str | None:
    arguments = decorator.args if isinstance(decorator, ast.Call) else []
    if not arguments:
        return None
    if isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
        return arguments[0].value
    raise _Unknown


# -------------------------------------------------------------------------------------------------------- the signature


def _parameters(arguments: ast.arguments) -> Iterator[ParameterSpec]:
    if arguments.vararg or arguments.kwarg:
        raise _Unknown
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(positional) - len(arguments.defaults))
    for parameter, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        yield _parameter(parameter, default, "positional")
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(parameter, default, "keyword_only")


def _parameter(parameter: ast.arg, default: ast.expr | None, kind: Any) -> ParameterSpec:
    if parameter.annotation is None:
        raise _Unknown
    value = MISSING if default is None else _default(default)
    return ParameterSpec(parameter.arg, evaluated(parameter.annotation), value, kind)


def _default(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return evaluated(node)


def _returns(annotation: ast.expr | None, classes: Mapping[str, ast.ClassDef]) -> object:
    """Return the return annotation; a NamedTuple of the file becomes the tuple of its fields."""
    if annotation is None:
        raise _Unknown
    declared = classes.get(annotation.id) if isinstance(annotation, ast.Name) else None
    if declared is None:
        return evaluated(annotation)
    fields = [statement.annotation for statement in declared.body if isinstance(statement, ast.AnnAssign)]
    return GenericAlias(tuple, tuple(map(evaluated, fields)))


def evaluated(node: ast.expr) -> Any:
    """Evaluate an annotation: names, subscripts, unions and the markers in ``Annotated`` are supported."""
    if isinstance(node, ast.Constant):
        return evaluated(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name not in NAMES:
            raise _Unknown
        return NAMES[name]
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        values = [_item(part) for part in parts]
        return evaluated(node.value)[values[0] if len(values) == 1 else tuple(values)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return evaluated(node.left) | evaluated(node.right)
    raise _Unknown


def _item(node: ast.expr) -> Any:
    """Evaluate an element in brackets: an annotation, a size, or a marker with its arguments."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.Call):
        return evaluated(node)
    marker = evaluated(node.func)
    if marker not in [NAMES[marker] for marker in _MARKERS]:
        raise _Unknown
    values = [ast.literal_eval(arg) for arg in node.args]
    return marker(*values, **{str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords})
