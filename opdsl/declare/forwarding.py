"""Operators that are a call of another one, variant by variant: aliases, and those with some arguments fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType

from opdsl.declare.signature import location
from opdsl.dispatch import Operator, Packet
from opdsl.errors import KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.schema.model import python_name


def forwarding(
    function: FunctionType,
    operator: Operator,
    packet: Packet,
    target: Operator,
    order: Sequence[str],
    constants: Mapping[str, object],
) -> FunctionType:
    """The composite kernel of an operator that calls another one.

    Args:
        function: the declared function, for its place in tracebacks.
        operator: whose arguments the kernel takes.
        packet: of the target.
        target: what is called; what it is not given is its default.
        order: arguments of the operator that the target takes in the places of its first ones; others are handed on by
            name.
        constants: the target's other arguments.

    Returns:
        A Python function of the operator's arguments.

    Raises:
        KernelSignatureError: there is no argument of that name, or one of the target's is given twice or not at all.
    """
    taken = [each.python_name for each in target.schema.arguments]
    names = [each.python_name for each in operator.schema.arguments]
    placed = dict(zip(taken, order, strict=False))
    by_name = [each for each in names if each not in order]
    given = [*placed, *by_name, *constants]
    needed = [each.python_name for each in target.schema.arguments if each.default is None]
    faults = (
        (order[len(taken) :], "it has fewer arguments than are in order, '{}' is too many"),
        ([each for each in order if each not in names], f"{operator.schema} has no argument '{{}}'"),
        ([each for each in given if each not in taken], "it has no argument '{}'"),
        ([each for each in given if given.count(each) > 1], "its '{}' is given twice"),
        ([each for each in needed if each not in given], "its '{}' is not given"),
    )
    fault = next((problem.format(found[0]) for found, problem in faults if found), "")
    if fault:
        raise KernelSignatureError(
            f"{location(function)}: {operator.name} cannot be forwarded to {target.schema}: {fault}. Name arguments of "
            "both alike, give those of this one in the order of the other's, or write a body."
        )
    passed = [f"{name}={own}" for name, own in (*placed.items(), *((each, each) for each in by_name))]
    passed += [f"{name}=forwarded_{name}" for name in constants]
    namespace: dict[str, object] = {f"forwarded_{name}": value for name, value in constants.items()}
    namespace["__name__"] = __name__  # it is ours, and calls nothing but the operator
    namespace["forwarded_to"] = packet.operator_function(target)
    name = python_name(operator.schema.name.base)
    source = f"def {name}({', '.join(names)}):\n    return forwarded_to({', '.join(passed)})\n"
    code = function.__code__
    return function_from_source(name, source, namespace, location=(code.co_filename, code.co_firstlineno))


def renamed(function: FunctionType, name: str, module: str) -> FunctionType:
    """A declared function under another name, as if it stood in a module."""
    made = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__module__, made.__qualname__ = module, name
    made.__doc__ = f"Another name of ``{function.__name__}``: {function.__doc__ or ''}"
    return made
