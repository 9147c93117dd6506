"""Formulas whose body consists of calls of primitives: they become scalar functions directly, without tracing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType

from opdsl import primitives
from opdsl.declare.attachment import Attachment, options_of
from opdsl.declare.declaration import Declaration
from opdsl.declare.definitions import attach_definition
from opdsl.declare.formulas import dtypes_of
from opdsl.declare.signature import is_of_library, location
from opdsl.errors import FormulaError, OpdslError
from opdsl.primitives import Call, Loop, LoopCall, Parameter, Primitive
from opdsl.runtime import Tensor
from opdsl.scalar.primitives import Expression, Operand, Rule, scalar_function, substituted
from opdsl.schema import BaseType, FunctionSchema
from opdsl.schema.kinds import KINDS

__all__ = ["attach_loop", "attach_primitives", "rule_of_body"]

_NAMES = frozenset(name for name, var in vars(primitives).items() if isinstance(var, Primitive))
_NUMBERS = (BaseType.Scalar, BaseType.float, BaseType.int)


def rule_of_body(function: FunctionType, schema: FunctionSchema) -> Rule | None:
    """Return the scalar rule of a library formula whose body only calls primitives; None for other formulas.

    The rule's operands are the function's parameters, by position.

    Args:
        function: the formula.
        schema: of its operator.
    """
    names = function.__code__.co_names
    if not is_of_library(function) or names[:1] != ("primitives",) or not _NAMES.issuperset(names[1:]):
        return None
    if not all(argument.type is BaseType.Tensor or argument.type in _NUMBERS for argument in schema.arguments):
        return None  # optional and text arguments choose between formulas
    parameters = [Parameter(at) for at in range(len(schema.arguments))]
    count = function.__code__.co_argcount
    named = dict(zip([argument.python_name for argument in schema.arguments[count:]], parameters[count:], strict=True))
    try:
        called = function(*parameters[:count], **named)
    except (TypeError, AttributeError):  # the body does more than call primitives
        return None
    return _rule_of(called) if isinstance(called, Call) else None


def _rule_of(call: Call) -> Rule | None:
    """Return one scalar rule for nested calls of primitives; None if intermediate results need dtype promotion of their
    own.
    """
    operands: list[Expression] = []
    inner: list[Rule] = []
    places: dict[int, int] = {}
    for position, operand in enumerate(call.operands):
        if isinstance(operand, Parameter):
            places[position] = operand.at
            operands.append(Operand(operand.at))
        elif isinstance(operand, Call):
            rule = _rule_of(operand)
            if rule is None:
                return None
            inner.append(rule)
            operands.append(rule.expression)
        elif isinstance(operand, (int, float)):
            operands.append(operand)
        else:
            return None
    own = call.rule
    if inner and (places or any(rule != Rule(rule.expression, own.promote) for rule in (own, *inner))):
        return None

    def parameters(positions: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([places[at] for at in positions if at in places])

    return own._replace(
        expression=substituted(own.expression, tuple(operands)),
        keep=parameters(own.keep),
        nonzero=parameters(own.nonzero),
        rounded=parameters(own.rounded),
        numbers=parameters(own.numbers),
    )


def attach_loop(attachment: Attachment) -> bool:
    """Attach a formula that consists of one call of a loop over scalar functions, for every variant and backend.

    Args:
        attachment: the formula, and the dtypes and values of arguments that it is for.

    Returns:
        Whether the formula is such a call; otherwise nothing is attached.

    Raises:
        FormulaError: the loop's operands are not arguments of the operator, in their order; the formula does more than
            call the loop.
        ScalarFunctionError: a function contains code that a scalar graph cannot represent.
        KernelSignatureError: a function does not fit the operator, or an option is unknown.
    """
    function, schema = attachment.function, attachment.declaration.main.schema
    if not any(isinstance(value, Loop) for _, value in _names_called(function)):
        return False
    code = function.__code__
    known = [argument.python_name for argument in schema.arguments]
    attachment.checks().require_names(known)
    attachment.checks().require_types(Tensor)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    parameters = {name: Parameter(known.index(name)) for name in names}
    try:
        called = function(
            *[parameters[name] for name in names[: code.co_argcount]],
            **{name: parameters[name] for name in names[code.co_argcount :]},
        )
    except (TypeError, AttributeError, OpdslError):  # the body does more than call a loop
        called = None
    if not isinstance(called, LoopCall):
        if not _reads_loop(function):
            return False
        raise FormulaError(
            f"{location(function)}: {attachment.declaration.name}: the formula does more than call a loop of "
            "opdsl.primitives, which has to be the whole body. Declare a separate operator for the loop, and call it."
        )
    _require_order(attachment, called, parameters)
    kind, chosen = KINDS[called.loop.kind], {option: value for option, value in attachment.options.items() if value}
    where = f"{location(function)}: {attachment.declaration.name}: {called.loop!r}"
    options = options_of(kind, {**called.loop.options, **chosen}, where)
    attach_definition(Attachment(attachment.declaration, kind, called.loop.function, called.loop.keys, options))
    return True


def _reads_loop(function: FunctionType) -> bool:
    """Return whether a function reads a loop object as a global or closure variable, and not just an attribute of that
    name.
    """
    import dis  # rarely needed: only for functions that are no single loop

    names = {step.argval for step in dis.get_instructions(function) if step.opname in ("LOAD_GLOBAL", "LOAD_DEREF")}
    return any(isinstance(value, Loop) for name, value in _names_called(function) if name in names)


def _names_called(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the names that a function reads, with the closure variable or global found for each."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the variable is not assigned yet
            yield name, cell.cell_contents
    yield from ((name, function.__globals__.get(name)) for name in function.__code__.co_names)


def _require_order(attachment: Attachment, called: LoopCall, parameters: dict[str, Parameter]) -> None:
    operands = [*called.operands, *called.named.values()]
    places = [operand.at for operand in operands if isinstance(operand, Parameter)]
    named = all(parameters.get(name) is value for name, value in called.named.items())
    if len(places) < len(operands) or places != sorted(places) or not named:
        raise FormulaError(
            f"{location(attachment.function)}: {attachment.declaration.name}: the operands of {called.loop!r} have to "
            f"be {', '.join(parameters)}, in this order. Pass the parameters unchanged, and change them in a formula "
            "that calls this operator."
        )


def attach_primitives(declaration: Declaration) -> bool:
    """Attach a formula that consists of one loop or one scalar function, for every variant and backend.

    Returns:
        Whether the formula is such; otherwise nothing is attached.
    """
    schema, function = declaration.main.schema, declaration.function
    dtypes = dtypes_of(function)
    if attach_loop(Attachment(declaration, KINDS["formula"], function, (), {"dtypes": dtypes})):
        return True
    rule = rule_of_body(function, schema)
    if rule is None:
        return False
    names = tuple(argument.python_name for argument in schema.arguments)
    numbers = [at for at, argument in enumerate(schema.arguments) if argument.type in _NUMBERS]
    options = {
        "promote": rule.promote,
        "keep": tuple(names[at] for at in rule.keep),
        "nonzero": tuple(names[at] for at in rule.nonzero),
        "rounded": tuple(names[at] for at in rule.rounded),
        "wrapped": tuple(names[at] for at in numbers if at not in rule.numbers),
        "dtypes": dtypes or rule.dtypes,
    }
    scalar = scalar_function(rule.expression, names, function)
    attach_definition(Attachment(declaration, KINDS["pointwise"], function, (), options, scalar))
    return True
