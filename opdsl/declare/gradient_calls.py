"""Formulas for gradients that are a call of another operator."""

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
    """The formula that an operator is, a ``forward`` to one, or a partial function; None for anything else.

    An operator takes the gradient first, then by name arguments and results of the one that has the formula.

    Raises:
        KernelSignatureError: one of its arguments is nothing of the sort.
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
            f"{location(declaration.function)}: {call.target.name} is no formula of {declaration.name}: its {name!r} "
            f"follows from no {lost!r}. Say what it is: forward({python_name(call.target.main.schema.name.base)}, "
            f"{name}=lambda ...: ...), a function of arguments and results by name."
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
    """A formula that calls another operator.

    Args:
        declaration: of the operator whose formula it is.
        target: of the one that is called.
        known: what the formula may read.
        values: what the target's arguments are: something known, the text of an expression of it, or a function of
            it; those that have defaults may be nothing of the sort.
        unfit: the error for an argument that reads what is not known.
        constants: of the target's arguments.
        result: which of the target's results are returned; None for all.
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
    """A formula that returns an expression of what it reads."""
    name = f"{python_name(declaration.main.schema.name.base)}_derivative"
    source = f"def {name}({', '.join(reads)}):\n    return {returned}\n"
    return function_from_source(name, source, namespace, title=f"derivative of {declaration.name}")


def arguments_of(schema: FunctionSchema) -> tuple[Any, ...]:
    """The arguments of an operator, without those that are written for it."""
    return (*schema.positional, *schema.keyword_only)
