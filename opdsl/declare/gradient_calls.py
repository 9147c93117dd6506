"""Derivative formulas that are calls of other operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from opdsl.declare.adapting import adapted, parameter_names
from opdsl.declare.declaration import Declaration
from opdsl.declare.forwarding import Forward, declaration_behind
from opdsl.declare.signature import location
from opdsl.errors import KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.schema.implementation import GRADIENTS, OUTPUT_MASK, result_names
from opdsl.schema.model import FunctionSchema, python_name


def formula_of(declaration: Declaration, candidate: Any) -> FunctionType | None:
    """Return a derivative formula that calls an operator, a ``forward`` or a partial function; None for other objects.

    A called operator takes the gradient first, then, by name, arguments and results of the differentiated operator.

    Raises:
        KernelSignatureError: one of its arguments is neither of these and has no value.
    """
    if isinstance(candidate, partial) and isinstance(candidate.func, FunctionType) and not candidate.args:
        names = {name: f"fixed_{name}" for name in candidate.keywords}
        fixed = {names[name]: value for name, value in candidate.keywords.items()}
        return adapted(
            candidate.func,
            [parameter_name for parameter_name in parameter_names(candidate.func) if parameter_name not in names],
            names,
            fixed,
        )
    if getattr(candidate, "operator", None) is None and not isinstance(candidate, Forward):
        return None
    call = candidate if isinstance(candidate, Forward) else Forward(declaration_behind(candidate))
    taken = [argument.python_name for argument in arguments_of(call.target.main.schema)]
    values: dict[str, object] = {name: name for name in taken}
    values |= dict(zip(taken, call.order or ("grad",), strict=False))
    constants = {name: value for name, value in call.arguments.items() if not isinstance(value, FunctionType)}
    schema = declaration.main.schema
    known = (
        *GRADIENTS,
        OUTPUT_MASK,
        *(argument.python_name for argument in arguments_of(schema)),
        *result_names(schema),
    )

    def unfit(name: str, lost: str) -> KernelSignatureError:
        return KernelSignatureError(
            f"{location(declaration.function)}: {call.target.name} is no formula of {declaration.name}: there is no "
            f"{lost!r} from which its {name!r} follows. Supply it: "
            f"forward({python_name(call.target.main.schema.name.base)}, {name}=lambda ...: ...), a function of "
            "arguments and results by name."
        )

    return calling(declaration, call.target, known, {**values, **call.arguments}, unfit, constants, call.result)


def calling(
    declaration: Declaration,
    target: Declaration,
    known: Sequence[str],
    values: Mapping[str, object],
    unfit: Callable[[str, str], KernelSignatureError],
    constants: Mapping[str, object] | None = None,
    result: int | tuple[int, ...] | None = None,
) -> FunctionType:
    """Generate a derivative formula that calls another operator.

    Args:
        declaration: of the operator that the formula differentiates.
        target: of the operator that is called.
        known: names that the formula may read.
        values: by the target's arguments: a known name, an expression of one, or a function of known names; an unknown
            name leaves an argument at its default.
        unfit: makes the error for an argument that reads an unknown name.
        constants: constant arguments of the target.
        result: index or indices of the target's results to return; None for all.
    """
    reads: dict[str, None] = {}
    called = python_name(target.main.schema.name.base)
    namespace: dict[str, Any] = {called: target.functions[next(iter(target.operators))], "__name__": __name__}
    passed = []
    for argument in arguments_of(target.main.schema):
        name = argument.python_name
        value, needs = values[name], []
        if constants and name in constants:
            namespace[f"{name}_is"], text = constants[name], f"{name}_is"
        elif isinstance(value, FunctionType):
            namespace[f"{name}_of"], needs = value, list(parameter_names(value))
            text = f"{name}_of({', '.join(needs)})"
        else:
            text, needs = str(value), [str(value).partition(".")[0]]
            if needs[0] not in known and argument.default is not None:
                continue
        for lost in (read for read in needs if read not in known):
            raise unfit(name, lost)
        reads |= dict.fromkeys(needs)
        passed.append(f"{name}={text}")
    picked = "" if result is None else f"[{result}]"
    return formula(declaration, reads, f"{called}({', '.join(passed)}){picked}", namespace)


def formula(
    declaration: Declaration, reads: Mapping[str, None], returned: str, namespace: dict[str, Any]
) -> FunctionType:
    """Generate a derivative formula with the parameters ``reads`` that returns an expression."""
    name = f"{python_name(declaration.main.schema.name.base)}_derivative"
    source = f"def {name}({', '.join(reads)}):\n    return {returned}\n"
    return function_from_source(name, source, namespace, title=f"derivative of {declaration.name}")


def arguments_of(schema: FunctionSchema) -> tuple[Any, ...]:
    """Return the arguments of an operator, without its outputs."""
    return (*schema.positional, *schema.keyword_only)
