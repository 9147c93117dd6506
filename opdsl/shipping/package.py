"""Files of a package of compiled operators: functions, tables of plans, the run time, and shared libraries."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from opdsl.dispatch import Operator
from opdsl.schema import Argument, FunctionSchema, SchemaKind
from opdsl.schema.model import Symbol
from opdsl.shipping.plans import Function, Gradient, ShippedOperator
from opdsl.shipping.runtime.keys import FLOAT, SCALAR, TENSOR, TENSORS
from opdsl.shipping.tracing import NotShippedError

__all__ = ["files_of"]

_RUNTIME = Path(__file__).parent / "runtime"

# A step of a plan; many plans have equal ones.
_STEP = re.compile(r"arrays\.step\((Entry\(.*\))\)$", re.MULTILINE)

_ANNOTATIONS = {TENSOR: "Array", TENSORS: "Sequence[Array]", FLOAT: "float", SCALAR: "complex"}


def files_of(
    package: str, namespace: str, operators: Sequence[ShippedOperator], libraries: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the files of a package, by their paths.

    Args:
        package: its name.
        namespace: of the operators in torch.
        operators: those that are compiled.
        libraries: the shared library of each target.
    """
    texts = {
        "__init__.py": _init(package, operators),
        "torch.py": _torch(package, namespace, operators),
        "_operators/__init__.py": f'"""Plans of the operators of {package}."""\n',
        "py.typed": "",
    }
    texts |= {f"_operators/{_module(shipped.operator)}.py": _table(shipped) for shipped in operators}
    texts |= {f"_runtime/{file.name}": file.read_text(encoding="utf-8") for file in sorted(_RUNTIME.glob("*.py"))}
    files = {f"{package}/{path}": text.encode() for path, text in texts.items()}
    return files | {f"{package}/_code/{target}.so": library for target, library in libraries.items()}


def _module(operator: Operator) -> str:
    """Return the name of the module, and of the function, of an overload."""
    name = operator.schema.name
    return f"{name.base}__{name.overload}" if name.overload else name.base


# ----------------------------------------------------------------------------------------------------------- functions


def _init(package: str, operators: Sequence[ShippedOperator]) -> str:
    """Return the module that defines the operators' functions."""
    overloads: dict[str, list[ShippedOperator]] = {}
    outputs = {shipped.functional: shipped for shipped in operators if _is_out(shipped)}
    for shipped in operators:
        if not _is_out(shipped):
            overloads.setdefault(shipped.operator.schema.name.base, []).append(shipped)
    parts = [
        f'"""Compiled operators, which take NumPy arrays; ``{package}.torch`` has them in torch."""\n\n'
        "from __future__ import annotations\n\n"
        "import pathlib as _pathlib\n"
        "from collections.abc import Sequence\n"
        "from typing import Any as _Any\n\n"
        "from ._runtime.calls import Package as _Package\n"
        "from ._runtime.calls import overloaded as _overloaded\n\n"
        f"__all__ = {sorted(overloads)!r}\n\n"
        "Array = _Any\n"
        f'_package = _Package("{package}", _pathlib.Path(__file__).parent)'
    ]
    for base, several in overloads.items():
        prefix = "" if len(several) == 1 else "_"
        parts += [part for shipped in several for part in _definition(shipped, outputs.get(shipped.operator), prefix)]
        if len(several) > 1:
            names = ", ".join(f"(_{_module(shipped.operator)}, _op_{_module(shipped.operator)})" for shipped in several)
            parts.append(f"{base} = _overloaded({base!r}, [{names}])")
    return "\n\n\n".join(parts) + "\n"


def _is_out(shipped: ShippedOperator) -> bool:
    return shipped.operator.schema.kind is SchemaKind.out


def _definition(shipped: ShippedOperator, into: ShippedOperator | None, prefix: str) -> Iterator[str]:
    """Yield the operator's object, and the function that users call; ``into`` is its variant with outputs."""
    operator = shipped.operator
    name, kinds = _module(operator), dict(shipped.function.parameters)
    keywords = operator.schema.keyword_only
    parameters = [_parameter(argument, kinds) for argument in operator.schema.positional]
    parameters += ["*"] * bool(keywords or into) + [_parameter(keyword, kinds) for keyword in keywords]
    called = name if prefix else operator.schema.name.base
    passed = ", ".join(argument.python_name for argument in operator.schema.arguments)
    returns = "Array" if len(operator.schema.returns) == 1 else "tuple[Array, ...]"
    documentation = (getattr(operator.declaration, "function", None) or _init).__doc__ or name
    yield f'_op_{name} = _package.operator("{name}")'
    body = [_quoted(documentation), f"return _op_{name}({passed})"]
    if into is not None:
        outputs = _module(into.operator)
        yield f'_op_{outputs} = _package.operator("{outputs}")'
        parameters.append(f"out: {returns} | None = None")
        body.insert(1, f"if out is not None:\n    return _op_{outputs}.into(out, {passed})")
    head = f"def {prefix}{called}({', '.join(parameters)}) -> {returns}:"
    yield "\n".join([head, textwrap.indent("\n".join(body), "    ")])


def _parameter(argument: Argument, kinds: Mapping[str, str]) -> str:
    name, default = argument.python_name, argument.default
    text = f"{name}: {_ANNOTATIONS.get(kinds[name], '_Any')}"
    if default is None:
        return text
    if isinstance(default.value, Symbol):
        raise NotShippedError(f"the default of {name} is a {argument.type}")
    return f"{text} = {default.value!r}"


def _quoted(text: str) -> str:
    """Return a docstring as source."""
    lines = textwrap.dedent(text).strip()
    return f'"""{lines}"""' if '"""' not in lines and "\\" not in lines else repr(lines)


# -------------------------------------------------------------------------------------------------------------- tables


def _table(shipped: ShippedOperator) -> str:
    """Return the module with the plans of an operator."""
    functions: list[str] = []
    tables = [f"TABLE = {_table_text(shipped.function, shipped.forms, functions)}"]
    gradient = shipped.gradient
    if gradient is None:
        tables.append("GRADIENT = None")
    else:
        table = _table_text(gradient.function, shipped.forms, functions)
        tables.append(f"GRADIENT = Gradient({gradient.names!r}, {gradient.results!r}, {gradient.reads!r}, {table})")
    head = [
        f'"""Plans of {shipped.operator.name}, written by `opdsl build`."""',
        "import math\n\n"
        "from .._runtime import numbers\n"
        "from .._runtime.calls import Gradient, Table\n"
        "from .._runtime.code import Entry",
    ]
    entries: dict[str, int] = {}

    def entry(match: re.Match[str]) -> str:
        return f"arrays.step(ENTRIES[{entries.setdefault(match[1], len(entries))}])"

    body = _STEP.sub(entry, "\n\n\n".join([*functions, *tables]))
    lines = ["ENTRIES = (", *(f"    {text}," for text in entries), ")"]
    return "\n\n\n".join([*head, "\n".join(lines), body]) + "\n"


def _table_text(function: Function, forms: Iterable[str], functions: list[str]) -> str:
    """Return the source of a table, and add the functions that it names."""
    plans, shapes = (
        "{" + ", ".join(f"{key!r}: ({_named(texts, functions)})" for key, texts in table.items()) + "}"
        for table in (function.plans, function.shapes)
    )
    writes = f", {function.writes!r}" if function.writes else ""
    return f"Table({function.name!r}, {function.parameters!r}, {plans}, {shapes}, {tuple(forms)!r}{writes})"


def _named(texts: Sequence[str], functions: list[str]) -> str:
    """Return the names of functions, which are added unless they are there."""
    names = ""
    for text in texts:
        place = next((at for at, function in enumerate(functions) if function.endswith(text)), len(functions))
        if place == len(functions):
            functions.append(f"def plan{place}{text}")
        names += f"plan{place}, "
    return names


# --------------------------------------------------------------------------------------------------------------- torch


def _torch(package: str, namespace: str, operators: Sequence[ShippedOperator]) -> str:
    """Return the module that registers the operators in torch."""
    entries, variants = [], []
    for shipped in operators:
        name = _module(shipped.operator)
        if shipped.functional is shipped.operator:
            backward = "" if shipped.gradient is None else _backward_schema(shipped, shipped.gradient)
            entries.append(f"({_schema(shipped.operator.schema)!r}, {name}.TABLE, {backward!r}, {name}.GRADIENT),")
        else:
            schemas = _schema(shipped.operator.schema), _schema(_writer_schema(shipped.operator.schema))
            functional = shipped.functional.schema.name.base, shipped.functional.schema.name.overload
            variants.append(f"Declaration({schemas[0]!r}, {schemas[1]!r}, {name}.TABLE, {functional!r}),")
    lines = [
        f'"""Operators in torch: after ``import {package}.torch`` they are ``torch.ops.{namespace}``."""',
        "",
        "from . import _package",
        f"from ._operators import {', '.join(_module(shipped.operator) for shipped in operators)}",
        *["from ._runtime.mutations import Declaration, register_variants"] * bool(variants),
        "from ._runtime.tensors import register",
        "",
        "_OPERATORS = (",
        *(f"    {entry}" for entry in entries),
        ")",
        f'_registered = register("{namespace}", _package.library, _OPERATORS)',
    ]
    if variants:
        lines += ["_VARIANTS = (", *(f"    {variant}" for variant in variants), ")"]
        lines.append("_variants = register_variants(*_registered[:2], _VARIANTS)")
    return "\n".join([*lines, ""])


def _schema(schema: FunctionSchema) -> str:
    """Return a schema in torch's syntax, without the namespace."""
    return str(schema).partition("::")[2]


def _writer_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of the operator that writes the arguments of a variant, and returns nothing."""
    taken = {argument.name for argument in schema.arguments}
    # torch warns about operators that write an argument named self.
    other = next(name for name in ("input", "written", "_self") if name not in taken)
    positional = [
        attrs.evolve(argument, name=other) if argument.name == "self" else argument for argument in schema.positional
    ]
    name = attrs.evolve(schema.name, base=f"_write_{schema.name.base}")
    return attrs.evolve(schema, name=name, positional=tuple(positional), returns=())


def _backward_schema(shipped: ShippedOperator, gradient: Gradient) -> str:
    """Return the schema of the operator that computes gradients."""
    arguments = {argument.python_name: argument for argument in shipped.operator.schema.arguments}
    parts = [f"Tensor gradient{at}" for at in gradient.results]
    parts += [f"{arguments[name].type if name in arguments else 'Tensor'} {name}" for name in gradient.reads]
    parts.append("str form")
    returns = ["Tensor"] * len(gradient.names)
    result = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    return f"{_module(shipped.operator)}_backward({', '.join(parts)}) -> {result}"
